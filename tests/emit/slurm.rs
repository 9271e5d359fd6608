//! Runs the emitted script with a Slurm of three nodes, all of them processes of this machine.

use super::{changed, emitted, path_with_vplan, project};
use crate::support::process::Bounded as _;
use crate::support::tree::have;
use crate::support::{Project, eventually};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The nodes of the cluster.
const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// A cluster, whose processes end with it.
struct Cluster {
    folder: tempfile::TempDir,
    processes: Vec<Child>,
}

/// How long a daemon may take to end by itself, with what it started.
const GRACE: Duration = Duration::from_secs(30);

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &self.processes {
            let _ = kill_process(Pid::from_child(process), Signal::TERM);
        }
        let begin = Instant::now();
        for process in &mut self.processes {
            while matches!(process.try_wait(), Ok(None)) && begin.elapsed() < GRACE {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The words that a program prints in a line.
fn line(program: &str, words: &[&str]) -> String {
    let ran = Command::new(program).args(words).output().unwrap();
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("vplan-slurm-")
            .tempdir()
            .unwrap();
        let here = folder.path().to_str().unwrap().to_owned();
        let (host, user) = (line("hostname", &["-s"]), line("id", &["-un"]));
        // Ports that nobody has; all are held until each is known.
        let held: Vec<TcpListener> = (0..=NODES.len())
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let port = |n: usize| held[n].local_addr().unwrap().port();
        let mut text = format!(
            "ClusterName=shards\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser={user}\n\
             SlurmdUser={user}\nAuthType=auth/none\nCredType=cred/none\nStateSaveLocation={here}/state\n\
             SlurmdSpoolDir={here}/spool-%n\nSlurmctldPidFile={here}/ctld.pid\n\
             SlurmdPidFile={here}/%n.pid\nSlurmctldLogFile={here}/ctld.log\nSlurmdLogFile={here}/%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nMpiDefault=none\nReturnToService=2\n\
             SlurmdParameters=config_overrides\nSchedulerParameters=sched_interval=1,sched_min_interval=0\n",
            port(0)
        );
        for (n, node) in NODES.iter().enumerate() {
            let port = port(n + 1);
            writeln!(text, "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=100").unwrap();
        }
        writeln!(
            text,
            "PartitionName=all Nodes={} Default=YES",
            NODES.join(",")
        )
        .unwrap();
        std::fs::create_dir(folder.path().join("state")).unwrap();
        std::fs::write(folder.path().join("slurm.conf"), text).unwrap();
        drop(held);
        let mut cluster = Self {
            folder,
            processes: Vec::new(),
        };
        cluster.launch("slurmctld", &["-D", "-c"]);
        for node in NODES {
            cluster.launch("slurmd", &["-D", "-N", node]);
        }
        eventually("three nodes are idle", || {
            cluster.asked("sinfo", &["-h", "-o", "%D %T"]) == "3 idle"
        });
        cluster
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn launch(&mut self, daemon: &str, words: &[&str]) {
        let mut command = Command::new(place(daemon));
        let command = command
            .args(words)
            .env("SLURM_CONF", self.conf())
            .stdin(Stdio::null());
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push(command.spawn().unwrap());
    }

    fn asked(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        let ran = command
            .args(words)
            .env("SLURM_CONF", self.conf())
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Starts a script in a project.
    fn submit(&self, project: &Project, script: &str) -> Child {
        project.write("../verify.sh", script);
        let home = project.parent().join("home");
        let mut command = Command::new("bash");
        let command = command
            .arg("../verify.sh")
            .current_dir(project.root())
            .env_clear();
        let command = command
            .env("PATH", path_with_vplan())
            .env("SLURM_CONF", self.conf());
        let command = command
            .env("XDG_STATE_HOME", home.join("state"))
            .env("HOME", home);
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Waits until a task of the array runs, and gives its id.
    fn running(&self, task: &str) -> String {
        let mut id = String::new();
        eventually("the task runs", || {
            let all = self.asked(
                "squeue",
                &["-h", "-t", "R", "-n", "vplan-shard", "-o", "%i"],
            );
            let own = all.lines().find(|id| id.ends_with(&format!("_{task}")));
            id = own.unwrap_or_default().to_owned();
            !id.is_empty()
        });
        id
    }
}

/// A daemon, which may be where only an administrator looks.
fn place(daemon: &str) -> String {
    let own = format!("/usr/sbin/{daemon}");
    match Path::new(&own).exists() {
        true => own,
        false => daemon.to_owned(),
    }
}

/// The end of a script, and what it said.
fn ended(script: Child) -> (Option<i32>, String) {
    let ran = script.finished();
    let said =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    (ran.status.code(), said)
}

#[test]
#[ignore = "needs Slurm: `.ci/long emit` installs it and runs this"]
fn slurm_runs_the_script() {
    if !have(&["sbatch", &place("slurmctld"), &place("slurmd")]) {
        return;
    }
    let cluster = Cluster::start();
    let words = [
        "slurm",
        "--shards",
        "3",
        "--base-from",
        "all",
        "--sbatch-args",
        "--partition=all",
    ];
    let text = emitted(&project(), &words);
    let run = |project: &Project, text: &str| ended(cluster.submit(project, text));
    let good = project();
    let (exit, said) = run(&good, &text);
    assert!(
        exit == Some(0) && said.contains("passed: 3 passed"),
        "{exit:?}: {said}"
    );
    // The next one knows how long steps took.
    let (exit, said) = run(&good, &text);
    assert!(
        exit == Some(0) && said.contains("weighed by 3 runs"),
        "{exit:?}: {said}"
    );

    let broken = project();
    broken.write("src/b", "broken\n").commit("broken");
    let (exit, said) = run(&broken, &text);
    assert!(
        exit == Some(40) && said.contains("`b` failed"),
        "{exit:?}: {said}"
    );

    let in_turn = changed(&text, "--division \"$2/division.json\" --shard", "--shard");
    let (exit, said) = run(&project(), &in_turn);
    assert!(
        exit == Some(4) && said.contains("vplan::merge::division"),
        "{exit:?}: {said}"
    );

    // No partition takes it: nothing was submitted.
    let nowhere = changed(
        &text,
        "options=(--partition=all)",
        "options=(--partition=none)",
    );
    let (exit, said) = run(&project(), &nowhere);
    assert!(exit != Some(0), "{said}");

    // One task is killed: nobody tells of its shard.
    let killed = changed(
        &text,
        "exec \"$1\" run",
        "[ \"$SLURM_ARRAY_TASK_ID\" != 1 ] || kill -KILL $$\n  exec \"$1\" run",
    );
    let (exit, said) = run(&project(), &killed);
    assert!(
        exit == Some(44) && said.contains("shard 1 of 3 is missing"),
        "{exit:?}: {said}"
    );

    // One task is cancelled while its step runs.
    let slow = || {
        let project = project();
        let step = "sh -c 'touch ../began; exec sleep 600'";
        let contract = format!("vplan 1\ncheck a: {step}\ncheck b: true\ncheck c: true\n");
        project
            .write("contracts/verify.vplan", &contract)
            .commit("slow");
        project
    };
    let project = slow();
    let script = cluster.submit(&project, &text);
    let began = project.parent().join("began");
    eventually("the step runs", || began.exists());
    cluster.asked("scancel", &[&cluster.running("1")]);
    let (exit, said) = ended(script);
    assert!(
        exit == Some(143) && said.contains("interrupted by SIGTERM"),
        "{exit:?}: {said}"
    );

    // The script is interrupted: its jobs are gone.
    let project = slow();
    let script = cluster.submit(&project, &text);
    cluster.running("1");
    let verdict = || cluster.asked("squeue", &["-h", "-n", "vplan-verdict", "-o", "%i"]);
    eventually("the job that merges waits", || !verdict().is_empty());
    kill_process(Pid::from_child(&script), Signal::TERM).unwrap();
    let (exit, said) = ended(script);
    assert_eq!(exit, Some(143), "{said}");
    eventually("no job is left", || {
        cluster.asked("squeue", &["-h", "-o", "%i"]).is_empty()
    });
}
