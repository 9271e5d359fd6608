//! No step answers for its neighbour, and none gets around its time limit: what a step may do to
//! the process that supervises it.

use crate::support::{Project, Ran};
use std::process::{Command, Stdio};

/// Tries everything that reaches another process of the same user, and says what came of it.
const FORGER: &str = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
PIDFD_OPEN, PIDFD_GETFD = 434, 438
target = os.getppid()
pidfd = libc.syscall(PIDFD_OPEN, target, 0)
answers = [
    struct.pack("<I", 13) + b"e" + struct.pack("<iII", 0, 0, 0),
    *[struct.pack("<I", 38) + struct.pack("<Q", n) + bytes(16) + b"e" + struct.pack("<iIIB", 0, 0, 0, 0) for n in range(4)],
]
taken = 0
for number in range(64):
    fd = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
    if fd < 0:
        continue
    taken += 1
    for answer in answers:
        try:
            os.write(fd, answer)
        except OSError:
            pass
try:
    os.open(f"/proc/{target}/mem", os.O_RDWR)
    memory = "open"
except OSError as error:
    memory = error.strerror
traced = libc.ptrace(16, target, 0, 0)
reason = os.strerror(ctypes.get_errno()) if traced else "traced"
print(f"descriptors {taken}, memory {memory}, trace {reason}")
"#;

/// Runs vplan as root, or as another user, in the project.
fn run_as(project: &Project, user: bool, args: &[&str]) -> Ran {
    let run = project.vplan(args);
    if !user {
        return run.run();
    }
    let mut command = Command::new("chown");
    assert!(
        command
            .args(["-R", "64123:64123"])
            .arg(project.parent())
            .status()
            .unwrap()
            .success()
    );
    run.under(&[
        "setpriv",
        "--reuid=64123",
        "--regid=64123",
        "--clear-groups",
    ])
    .run()
}

fn users() -> Vec<bool> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: as another user, and as root: it needs root");
    }
    if is_root {
        vec![false, true]
    } else {
        vec![false]
    }
}

pub fn python() -> bool {
    Command::new("/usr/bin/python3")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

#[test]
fn a_step_cannot_forge_the_end_of_its_neighbour() {
    assert!(python(), "python3 is needed");
    for user in users() {
        for jobs in ["1", "2"] {
            let project = Project::contract(
                "vplan 1\ncheck forger {\n  run /usr/bin/python3 forge.py\n  severity warning\n}\ncheck unit: false\ncheck other: sh -c \"exit 3\"\n",
            );
            project.write("forge.py", FORGER).commit("forger");
            let ran = run_as(
                &project,
                user,
                &[
                    "run",
                    "--all",
                    "--keep-going",
                    "--jobs",
                    jobs,
                    "--format",
                    "json",
                ],
            );
            ran.exits(40);
            let report = ran.json();
            for step in report["steps"].as_array().unwrap() {
                let status = step["status"].as_str().unwrap();
                if step["id"] == "forger" {
                    assert_eq!(
                        step["stdoutTail"].as_str().unwrap().trim(),
                        "descriptors 0, memory Permission denied, trace Operation not permitted",
                        "user {user}"
                    );
                } else {
                    assert_eq!(status, "failed", "user {user}, jobs {jobs}: {step}");
                }
            }
        }
    }
}

/// The process that runs vplan, seen from a step.
const VPLAN: &str = "$(cut -d' ' -f4 /proc/$PPID/stat)";

#[test]
fn a_step_that_stops_vplan_does_not_get_around_its_time_limit() {
    for user in users() {
        let project =
            Project::contract("vplan 1\ncheck slow {\n  run ./slow.sh\n  timeout 1s\n}\n");
        project.script(
            "slow.sh",
            &format!("#!/bin/sh\nkill -STOP {VPLAN}\nwhile :; do sleep 1000; done\n"),
        );
        let project = project;
        project.commit("slow");
        let ran = run_as(&project, user, &["run", "--all", "--format", "json"]);
        ran.exits(43);
        assert_eq!(ran.json()["steps"][0]["status"], "timed_out", "user {user}");
    }
}

#[test]
fn a_step_that_ends_while_vplan_stands_still_wakes_it_in_the_end() {
    let project = Project::contract("vplan 1\ncheck quick {\n  run ./quick.sh\n  timeout 1s\n}\n");
    project
        .script("quick.sh", &format!("#!/bin/sh\nkill -STOP {VPLAN}\n"))
        .commit("quick");
    // For how long it stood still it cannot say; that it ends, and as no pass, is what counts.
    project.run(&["run", "--all"]).exits(43);
}

#[test]
fn a_step_that_traces_its_supervisor_does_not_get_around_its_time_limit() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can trace here");
    }
    let trace = "import ctypes, os, time\nassert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0\nprint('traced', flush=True)\ntime.sleep(1000)\n";
    // A busy machine needs longer until it traces.
    let mut attempts = ["1s", "10s", "100s"].into_iter().map(|limit| {
        let check = format!(
            "vplan 1\ncheck slow {{\n  run /usr/bin/python3 trace.py\n  timeout {limit}\n}}\n"
        );
        let project = Project::contract(&check);
        project.write("trace.py", trace).commit("trace");
        let ran = project.run(&["run", "--all", "--keep-capabilities", "--format", "json"]);
        assert_ne!(ran.exit, Some(0));
        ran.json()
    });
    let traced = |report: &serde_json::Value| {
        report["steps"][0]["stdoutTail"]
            .as_str()
            .is_some_and(|t| t.starts_with("traced"))
    };
    let report = attempts.find(traced).expect("it never traced");
    assert_eq!(report["environment"]["capabilitiesKept"], true);
    assert!(
        ["timed_out", "errored"].contains(&report["steps"][0]["status"].as_str().unwrap()),
        "{report}"
    );
}

#[test]
fn steps_lose_what_reaches_beyond_their_own_processes_and_nothing_else() {
    let status = "import re\nprint(int(re.search('CapBnd:\\t(.*)', open('/proc/self/status').read()).group(1), 16) >> 19 & 1)\n";
    let own = "import ctypes, os, time\nchild = os.fork()\nif child == 0:\n    time.sleep(1000)\nlibc = ctypes.CDLL(None)\nassert libc.ptrace(16, child, 0, 0) == 0\nos.kill(child, 9)\n";
    let project = Project::contract(
        "vplan 1\ncheck bound: /usr/bin/python3 bound.py\ncheck debugger: /usr/bin/python3 own.py\ncheck core: sh -c \"ulimit -Sc; ulimit -Hc\"\n",
    );
    project
        .write("bound.py", status)
        .write("own.py", own)
        .commit("steps");
    let said = |args: &[&str]| {
        let ran = project.run(args);
        ran.exits(0);
        let report = ran.json();
        let tail = |i: usize| {
            report["steps"][i]["stdoutTail"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        (
            tail(0),
            tail(2),
            report["environment"]["capabilitiesKept"].clone(),
        )
    };
    let is_root = rustix::process::geteuid().is_root();
    let (bound, core, kept) = said(&["run", "--all", "--format", "json"]);
    assert_eq!(
        (bound.as_str(), core.as_str(), kept),
        (
            if is_root { "0\n" } else { "1\n" },
            "0\n0\n",
            serde_json::Value::Null
        )
    );
    let (bound, _, kept) = said(&["run", "--all", "--format", "json", "--keep-capabilities"]);
    assert_eq!((bound.as_str(), kept), ("1\n", true.into()));
}
