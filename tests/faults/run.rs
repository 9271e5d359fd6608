//! What is left of a run that is interrupted, killed, cut off from its terminal, its disk or its
//! reader?

use super::harness::{Guard, eventually, exists};
use crate::support::Project;
use crate::support::process::Bounded as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use vplan::check::outcome::Status;
use vplan::run::journal::{JournalEnd, StepState, replay};

fn run(project: &Project) -> PathBuf {
    std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
}

/// The program in the background; what it says goes to files beside the project.
fn start(project: &Project, args: &[&str]) -> Guard {
    let out = |name: &str| std::fs::File::create(project.parent().join(name)).unwrap();
    let mut command = project
        .vplan(&[&["run", "--changed-none", "--format", "json"], args].concat())
        .command();
    Guard(
        command
            .stdin(Stdio::null())
            .stdout(out("out"))
            .stderr(out("err"))
            .spawn()
            .unwrap(),
    )
}

fn report(project: &Project) -> Value {
    serde_json::from_slice(&std::fs::read(project.parent().join("out")).unwrap()).unwrap()
}

fn end(vplan: &mut Guard) -> Option<i32> {
    vplan.0.ended().code()
}

/// The first step says that it is there and stays; it leaves when it is asked to.
const STAYS: &str = r#"vplan 1
check first: true
check stays: sh -c 'sleep 600 & echo $! > pid; : > ready; wait'
check later: touch later
check always {
  run touch always
  always
}
"#;

fn is_gone(project: &Project) -> bool {
    let pid = project.read("pid");
    std::fs::read(format!("/proc/{}/environ", pid.trim())).is_ok_and(|e| e.is_empty())
        || !exists(&PathBuf::from(format!("/proc/{}", pid.trim())))
}

#[test]
fn interrupted_in_order() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
        let project = Project::contract(STAYS);
        let mut vplan = start(&project, &[]);
        eventually("the step runs", || project.exists("ready"));
        kill_process(Pid::from_child(&vplan.0), signal).unwrap();
        assert_eq!(end(&mut vplan), Some(exit));
        let report = report(&project);
        let statuses: Vec<&str> = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["status"].as_str().unwrap())
            .collect();
        assert_eq!(statuses, ["passed", "not_run", "not_run", "passed"]);
        assert_eq!(
            (&report["verdict"], &report["exitCode"]),
            (&json!("cancelled"), &json!(exit))
        );
        assert!(project.exists("always") && !project.exists("later") && is_gone(&project));
        let replayed = replay(&std::fs::read(run(&project).join("events.jsonl")).unwrap());
        assert!(
            matches!(replayed.end, JournalEnd::Finished { exit_code, .. } if i32::from(exit_code) == exit)
        );
    }
}

/// Who insists is not kept waiting, neither by a deaf step nor by what always runs.
#[test]
fn interrupted_at_once() {
    let project = Project::contract(
        "vplan 1\ncheck deaf: perl -e '$SIG{TERM} = sub { open F, \">asked\" }; open F, \">ready\"; sleep 1 while 1'\ncheck always {\n  run touch always\n  always\n}\n",
    );
    let mut vplan = start(&project, &[]);
    eventually("the step runs", || project.exists("ready"));
    let pid = Pid::from_child(&vplan.0);
    kill_process(pid, Signal::INT).unwrap();
    eventually("it was asked", || project.exists("asked"));
    let insisted = Instant::now();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(end(&mut vplan), Some(130));
    assert!(
        insisted.elapsed() < Duration::from_secs(10),
        "the grace was waited for: {}",
        report(&project)
    );
    assert!(!project.exists("always"));
}

#[test]
fn killed() {
    let project = Project::contract(STAYS);
    let mut vplan = start(&project, &[]);
    eventually("the step runs", || project.exists("ready"));
    vplan.0.kill().unwrap();
    vplan.0.ended();
    eventually("nothing is left", || is_gone(&project));
    let run = run(&project);
    let replayed = replay(&std::fs::read(run.join("events.jsonl")).unwrap());
    assert_eq!(replayed.end, JournalEnd::Interrupted);
    let stands: Vec<StepState> = replayed.steps.iter().map(|s| s.state).collect();
    assert_eq!(
        stands,
        [
            StepState::Ended(Status::Passed, None),
            StepState::Running,
            StepState::Waiting,
            StepState::Waiting
        ]
    );
    assert_eq!(run.file_name().unwrap().to_str(), Some(&*replayed.run_id));
    assert!(!run.join("report.json").exists() && run.join("plan.json").exists());
    // The next run is not in its way.
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    project.run(&["run", "--changed-none"]).exits(0);
}

#[test]
fn side_by_side() {
    let project = Project::contract("vplan 1\ncheck a: sh -c 'echo hi'\n");
    let mut all: Vec<Guard> = (0..6)
        .map(|_| start(&project, &["--progress", "none"]))
        .collect();
    assert!(all.iter_mut().all(|vplan| end(vplan) == Some(0)));
    let mut runs = 0;
    for run in std::fs::read_dir(project.path(".vplan/runs")).unwrap() {
        let run = run.unwrap().path();
        assert!(replay(&std::fs::read(run.join("events.jsonl")).unwrap()).is_pass());
        assert_eq!(std::fs::read(run.join("logs/a.1.log")).unwrap(), b"hi\n");
        runs += 1;
    }
    assert_eq!(runs, 6);
}

/// Nobody reads what it says: the run goes on, and its end counts. A full disk behind standard
/// output is another thing.
#[test]
fn nobody_listens() {
    let project = Project::contract("vplan 1\ncheck a: touch ran\n");
    for (args, redirect, exit) in [
        ("", "| :", 0),
        ("--events -", "| :", 0),
        ("", ">&- 2>&-", 0),
        ("", "> /dev/full", 1),
        ("", "2> /dev/full", 0),
        ("--format json", "> /dev/full", 1),
    ] {
        let plain = project.vplan(&["run"]).command();
        let script =
            format!("{{ \"$0\" run --changed-none {args}; echo $? > ../code; }} {redirect}");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .arg(plain.get_program())
            .current_dir(project.root())
            .env_clear();
        shell
            .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))))
            .stdin(Stdio::null());
        assert!(
            shell
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
                .ended()
                .code()
                .is_some()
        );
        assert_eq!(
            project.read("../code").trim(),
            exit.to_string(),
            "{args} {redirect}"
        );
        assert!(project.exists("ran"));
        std::fs::remove_file(project.path("ran")).unwrap();
    }
}

/// Runs a script in a mount namespace of its own, as root, if that is permitted here; says so if
/// not.
fn with_mounts(project: &Project, script: &str) -> Option<i32> {
    let possible = Command::new("unshare")
        .args(["-m", "sh", "-c", "mount -t tmpfs none /mnt"])
        .output();
    if !possible.is_ok_and(|o| o.status.success()) {
        eprintln!("SKIPPED: no mount namespace for this user on this machine");
        return None;
    }
    let plain = project.vplan(&["run"]).command();
    let mut shell = Command::new("unshare");
    shell
        .args(["-m", "sh", "-c", script])
        .arg(plain.get_program())
        .current_dir(project.root())
        .env_clear();
    shell
        .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))))
        .stdin(Stdio::null());
    shell.stdout(std::fs::File::create(project.parent().join("out")).unwrap());
    shell.stderr(std::fs::File::create(project.parent().join("err")).unwrap());
    shell.status().unwrap().code()
}

#[test]
fn a_read_only_tree() {
    let project = Project::contract("vplan 1\ncheck a: touch ../ran\n");
    let mount = "mount --bind . . && cd . && cd \"$PWD\" && mount -o remount,bind,ro .";
    let Some(exit) = with_mounts(&project, &format!("{mount} && \"$0\" run --changed-none")) else {
        return;
    };
    assert_eq!(exit, 5, "{}", project.read("../err"));
    assert!(
        project.read("../err").contains("read-only")
            && project.read("../err").contains("--records DIR")
    );
    assert!(
        !project.exists("../ran"),
        "what cannot be recorded is not run"
    );
    let exit = with_mounts(
        &project,
        &format!("{mount} && \"$0\" run --changed-none --records ../records"),
    );
    assert_eq!(exit, Some(0), "{}", project.read("../err"));
    assert!(project.exists("../ran"));
}

/// The disk fills up while a run goes on: it stops before its next step, says so, and is no pass.
#[test]
fn a_full_disk() {
    let project = Project::contract(
        "vplan 1\ncheck a: true\ncheck fills: sh -c 'cat /dev/zero > \"$RECORDS/fill\"; touch filled'\ncheck b: touch later\ncheck c {\n  run touch always\n  always\n}\ndefaults {\n  pass-env RECORDS\n}\n",
    )
    .env("RECORDS", "/mnt");
    let script = "mount -t tmpfs -o size=400k none /mnt && \"$0\" run --changed-none --format json --records /mnt; \
                  code=$?; cp /mnt/runs/*/events.jsonl /mnt/runs/*/report.json ..; exit $code";
    let Some(exit) = with_mounts(&project, script) else {
        return;
    };
    assert!(project.exists("filled"), "{}", project.read("../err"));
    let report = report(&project);
    assert_eq!(
        (exit, &report["exitCode"], &report["verdict"]),
        (44, &json!(44), &json!("incomplete")),
        "{report}"
    );
    assert!(
        report["reason"].as_str().unwrap().contains("no space left"),
        "{report}"
    );
    let by_id = |id: &str| {
        report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["id"] == id)
            .unwrap()["status"]
            .clone()
    };
    assert_eq!(
        (by_id("a"), by_id("b")),
        (json!("passed"), json!("not_run"))
    );
    assert!(!project.exists("later"));
    // What was set aside was enough to say how it ended.
    let stored: Value = serde_json::from_slice(project.read("../report.json").as_bytes()).unwrap();
    assert_eq!(stored["verdict"], "incomplete");
    assert!(!replay(project.read("../events.jsonl").as_bytes()).is_pass());
}

/// Whose reader does not read is waited for, but not in a way that nothing can end.
#[test]
fn a_reader_that_does_not_read() {
    let mut contract = "vplan 1\n".to_owned();
    for i in 0..60 {
        contract += &format!("check c{i}: perl -e 'print \"x\" x 3000; exit 1'\n");
    }
    let project = Project::contract(&contract);
    let mut command = project
        .vplan(&["run", "--changed-none", "--keep-going", "--format", "json"])
        .command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut vplan = Guard(command.spawn().unwrap());
    let ended = || {
        let runs = std::fs::read_dir(project.path(".vplan/runs")).ok()?;
        let events = std::fs::read(runs.flatten().next()?.path().join("events.jsonl")).ok()?;
        Some(matches!(replay(&events).end, JournalEnd::Finished { .. }))
    };
    eventually("the run has ended", || ended() == Some(true));
    eventually("vplan ends", || {
        let _ = kill_process(Pid::from_child(&vplan.0), Signal::TERM);
        vplan.0.try_wait().unwrap().is_some()
    });
}

/// There is no room for a record from the outset: that is a matter of setup, and nothing runs.
#[test]
fn no_room_for_a_record() {
    let project = Project::contract("vplan 1\ncheck a: touch ran\n");
    let script = "mount -t tmpfs -o size=64k none /mnt && cat /dev/zero > /mnt/fill; \"$0\" run --changed-none --records /mnt";
    let Some(exit) = with_mounts(&project, script) else {
        return;
    };
    assert_eq!(exit, 5, "{}", project.read("../err"));
    assert!(project.read("../err").contains("no space left") && !project.exists("ran"));
}
