//! Where is the program tried, what is done to its calls, and what must hold of a run, however it
//! ended?

use crate::faults::harness::eventually;
use crate::faults::sweep::Sweep;
use crate::support::Project;
use crate::support::process::Bounded as _;
use crate::support::tree::have;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vplan::run::journal::{JournalEnd, ReplayedRun, replay};

/// A run of all checks that answers in JSON.
pub const RUN: [&str; 6] = [
    "run",
    "--changed-none",
    "--format",
    "json",
    "--progress",
    "none",
];

/// Three steps that leave a file each, and say something.
pub const THREE: &str = "vplan 1
check a: sh -c 'echo a && : >ran.a'
check b: sh -c 'echo b && : >ran.b'
check c: sh -c 'echo c && : >ran.c'
";
const EFFECTS: [&str; 3] = ["ran.a", "ran.b", "ran.c"];

/// The exit codes of `vplan run` without a subject; 1 is allowed, but not for a panic.
const CODES: [i32; 14] = [0, 1, 2, 3, 4, 5, 40, 41, 42, 43, 44, 45, 130, 143];

/// What is done to system calls.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which, as strace names them.
    pub calls: String,
    /// What becomes of them.
    pub what: String,
    /// Which of each thread's calls of a kind, from 1; all without it.
    pub nth: Option<u64>,
    /// Also to all that vplan executes.
    pub everyone: bool,
}

impl Fault {
    pub fn new(calls: &str, what: &str, nth: u64) -> Self {
        Self {
            calls: calls.to_owned(),
            what: what.to_owned(),
            nth: Some(nth),
            everyone: false,
        }
    }

    pub fn always(calls: &str, what: &str) -> Self {
        Self {
            calls: calls.to_owned(),
            what: what.to_owned(),
            nth: None,
            everyone: true,
        }
    }

    pub fn everywhere(self) -> Self {
        Self {
            everyone: true,
            ..self
        }
    }
}

/// What came of a traced run.
#[derive(Debug)]
pub struct Traced {
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    /// The calls that were made to fail, as strace shows them.
    pub hit: Vec<String>,
    pub out: String,
    pub err: String,
}

impl Traced {
    /// Whether the fault is one that no system has: an eventfd takes what it is told.
    pub fn impossible(&self) -> bool {
        let wakes =
            |line: &String| line.contains("write(") && line.contains(r#""\1\0\0\0\0\0\0\0", 8)"#);
        // Where the call was shown in two parts, the one with the fault does not say what was written.
        let resumed = self.hit.iter().any(|l| l.contains("<... write resumed>"));
        // The runtime's pair of sockets: there was room for one a moment before.
        self.hit.iter().any(wakes)
            || (resumed && self.err.contains("failed to wake I/O driver"))
            || (self.hit_any(&["socketpair"]) && self.err.contains("failed to create UnixStream"))
    }

    /// The system's loader had not even started it.
    pub fn not_loaded(&self) -> bool {
        let said = [
            "error while loading shared libraries",
            "cannot allocate TLS data",
        ];
        self.exit == Some(127) && said.iter().any(|said| self.err.contains(said))
    }

    pub fn hit_any(&self, names: &[&str]) -> bool {
        self.hit
            .iter()
            .any(|line| names.iter().any(|name| line.contains(&format!("{name}("))))
    }

    /// Neither a panic nor an abort.
    pub fn owns_up(&self) {
        assert!(self.signal.is_none(), "ended by a signal: {self:#?}");
        assert_ne!(self.exit, Some(101), "{self:#?}");
        for word in ["a bug in vplan", "panicked", "vplan::internal"] {
            assert!(!self.err.contains(word), "{self:#?}");
        }
    }
}

/// Whether strace can do here what is asked of it; says aloud when not.
pub fn able(name: &'static str) -> bool {
    if !have(&["strace"]) {
        return false;
    }
    let command = ["-f", "-qq", "-b", "execve", "-o", "/dev/null", "true"];
    let tried = Command::new("strace")
        .args(command)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if !tried.status.success() {
        Sweep::new(name, 0, 0).cannot(&format!(
            "no ptrace: {}",
            String::from_utf8_lossy(&tried.stderr).trim()
        ));
    }
    tried.status.success()
}

/// A project and a vplan of its own, by which everything that it leaves running is told from
/// everybody else's.
pub struct Place {
    pub project: Project,
    program: PathBuf,
}

impl Place {
    pub fn new(project: Project) -> Self {
        let program = project.parent().canonicalize().unwrap().join("vplan");
        let built = Path::new(env!("CARGO_BIN_EXE_vplan"));
        if std::fs::hard_link(built, &program).is_err() {
            // By another process: a program that this one has open for writing, and with it each child that
            // another test is starting, cannot be executed.
            let copied = Command::new("cp").arg(built).arg(&program).status();
            assert!(copied.unwrap().success());
        }
        Self { project, program }
    }

    /// The three steps.
    pub fn three() -> Self {
        Self::new(Project::git_with(&[
            ("contracts/verify.vplan", THREE),
            (".gitignore", "ran.*\n"),
        ]))
    }

    /// The program, started by what stands before it; what it says goes to the files `out` and
    /// `err` beside the project.
    pub fn command(&self, before: &[&str], args: &[&str]) -> Command {
        let plain = self.project.vplan(args).command();
        let mut command = match before.split_first() {
            None => Command::new(&self.program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.program);
                command
            }
        };
        let file = |name: &str| std::fs::File::create(self.beside(name)).unwrap();
        command
            .args(plain.get_args())
            .current_dir(plain.get_current_dir().unwrap())
            .env_clear();
        command.envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"));
        command
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.project.parent().join(name)
    }

    pub fn said(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.beside(name)).unwrap_or_default()).into_owned()
    }

    /// Runs the program with a fault.
    pub fn traced(&self, fault: &Fault, args: &[&str]) -> Traced {
        let trace = self.beside("trace");
        let _ = std::fs::remove_file(&trace);
        let mut inject = format!("inject={}:{}", fault.calls, fault.what);
        if let Some(nth) = fault.nth {
            inject += &format!(":when={nth}");
        }
        let chosen = format!("trace={}", fault.calls);
        let trace = trace.to_str().unwrap().to_owned();
        let mut before = vec![
            "strace",
            "-f",
            "-qq",
            "-o",
            &trace,
            "-e",
            "signal=none",
            "-e",
            &chosen,
            "-e",
            &inject,
        ];
        if !fault.everyone {
            before.extend(["-b", "execve"]);
        }
        let mut command = self.command(&before, args);
        let mut child = command.spawn().unwrap();
        let held = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        let patience = Timespec {
            tv_sec: 180,
            tv_nsec: 0,
        };
        let ended = poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&patience)).unwrap();
        if ended == 0 {
            let alive = self.survivors();
            child.kill().unwrap();
            // Whoever was traced goes on without its tracer.
            for pid in alive
                .iter()
                .filter_map(|who| Pid::from_raw(who.split('"').nth(1)?.parse().ok()?))
            {
                let _ = kill_process(pid, Signal::KILL);
            }
            panic!(
                "{fault:?}: vplan {args:?} hangs: {alive:?}\n{}",
                self.said("trace")
            );
        }
        let status = child.ended();
        let hit = self
            .said("trace")
            .lines()
            .filter(|l| l.contains("INJECTED"))
            .map(str::to_owned)
            .collect();
        Traced {
            exit: status.code(),
            signal: status.signal(),
            hit,
            out: self.said("out"),
            err: self.said("err"),
        }
    }

    /// The most calls of each kind that one thread makes when nothing is wrong.
    pub fn counts(
        &self,
        kinds: &str,
        everyone: bool,
        args: &[&str],
        exit: i32,
    ) -> BTreeMap<String, u64> {
        let what = "delay_enter=0";
        let fault = Fault {
            calls: kinds.to_owned(),
            what: what.to_owned(),
            nth: Some(1),
            everyone,
        };
        let ran = self.traced(&fault, args);
        assert_eq!(ran.exit, Some(exit), "{ran:#?}");
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        for line in self.said("trace").lines() {
            let Some((pid, call)) = line.split_once(' ') else {
                continue;
            };
            let Some((name, _)) = call.trim_start().split_once('(') else {
                continue;
            };
            if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                *counts.entry((pid.to_owned(), name.to_owned())).or_default() += 1;
            }
        }
        let mut most = BTreeMap::new();
        for ((_, name), count) in counts {
            let entry: &mut u64 = most.entry(name).or_default();
            *entry = (*entry).max(count);
        }
        assert!(!most.is_empty(), "no call was seen: {}", self.said("trace"));
        most
    }

    /// Each call of these kinds that can be hit, and one more of each kind, which is not there.
    pub fn points(
        &self,
        kinds: &str,
        everyone: bool,
        args: &[&str],
        exit: i32,
    ) -> Vec<(String, u64)> {
        let counts = self.counts(kinds, everyone, args, exit);
        let each = |(name, most): (String, u64)| (1..=most + 1).map(move |n| (name.clone(), n));
        counts.into_iter().flat_map(each).collect()
    }

    /// Who runs this vplan, or works in its project.
    pub fn survivors(&self) -> Vec<String> {
        let root = self.project.root().canonicalize().unwrap();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let link = |name: &str| std::fs::read_link(entry.path().join(name));
            let ours = link("exe").is_ok_and(|p| p == self.program)
                || link("cwd").is_ok_and(|p| p == root);
            if ours
                && entry
                    .file_name()
                    .as_encoded_bytes()
                    .iter()
                    .all(u8::is_ascii_digit)
            {
                let name = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!(
                    "{:?} {}",
                    entry.file_name(),
                    String::from_utf8_lossy(&name).replace('\0', " ")
                ));
            }
        }
        found
    }

    /// Waits until nobody is left.
    pub fn is_left_alone(&self) {
        eventually("nobody is left", || self.survivors().is_empty());
    }

    /// Takes away what steps left; of the records only when there are many.
    pub fn clear(&self) {
        for name in EFFECTS {
            let _ = std::fs::remove_file(self.project.path(name));
        }
        if self.runs().len() > 20 {
            std::fs::remove_dir_all(self.project.path(".vplan")).unwrap();
        }
    }

    /// Whether each step did what it was there for.
    pub fn all_ran(&self) -> bool {
        EFFECTS.iter().all(|name| self.project.exists(name))
    }

    /// The folders of all recorded runs.
    pub fn runs(&self) -> BTreeSet<PathBuf> {
        let entries = std::fs::read_dir(self.project.path(".vplan/runs"));
        entries
            .into_iter()
            .flatten()
            .map(|e| e.unwrap().path())
            .collect()
    }

    /// What holds of the records of a run that was begun since `before` was looked at. Gives what
    /// its journal says, if there is one.
    pub fn records_hold(&self, before: &BTreeSet<PathBuf>, about: &str) -> Option<ReplayedRun> {
        let new: Vec<PathBuf> = self.runs().difference(before).cloned().collect();
        assert!(new.len() <= 1, "{about}: {new:?}");
        let run = new.first()?;
        let events = match std::fs::read(run.join("events.jsonl")) {
            Ok(events) => events,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{about}");
                assert!(
                    !run.join("report.json").exists(),
                    "{about}: a report without a journal"
                );
                return None;
            }
        };
        let replayed = replay(&events);
        let torn = events.get(replayed.bytes..).unwrap();
        assert!(
            !torn.contains(&b'\n'),
            "{about}: damaged: {}",
            String::from_utf8_lossy(&events)
        );
        if !events.is_empty() && replayed.bytes > 0 {
            assert_eq!(
                run.file_name().unwrap().to_str(),
                Some(&*replayed.run_id),
                "{about}"
            );
        }
        let whole = |name: &str| -> Option<Value> {
            let bytes = std::fs::read(run.join(name)).ok()?;
            Some(
                serde_json::from_slice(&bytes)
                    .unwrap_or_else(|e| panic!("{about}: {name} is damaged: {e}")),
            )
        };
        let (plan, report) = (whole("plan.json"), whole("report.json"));
        if replayed.is_pass() {
            assert!(self.all_ran(), "{about}: a false pass: {replayed:?}");
            assert!(
                plan.is_some() && report.is_some(),
                "{about}: a pass without its report"
            );
        }
        if let Some(report) = report {
            assert!(
                report["verdict"] != "passed" || self.all_ran(),
                "{about}: a false pass: {report}"
            );
            if let JournalEnd::Finished {
                verdict, exit_code, ..
            } = &replayed.end
            {
                assert_eq!(report["verdict"], verdict.name(), "{about}");
                assert_eq!(report["exitCode"], *exit_code, "{about}");
            }
        }
        Some(replayed)
    }

    /// What holds of a `vplan run --format json` whatever failed in it: no pass unless all is
    /// there, and a word about what is not.
    pub fn run_holds(&self, ran: &Traced, before: &BTreeSet<PathBuf>, about: &str) {
        let about = format!("{about}: {ran:#?}");
        self.is_left_alone();
        let exit = ran.exit.unwrap_or_else(|| panic!("no exit code: {about}"));
        assert!(CODES.contains(&exit) || ran.not_loaded(), "{about}");
        let replayed = self.records_hold(before, &about);
        let said: Option<Value> = serde_json::from_str(&ran.out).ok();
        if exit == 0 {
            let report = said.unwrap_or_else(|| panic!("no report: {about}"));
            assert_eq!(report["verdict"], "passed", "{about}");
            assert!(self.all_ran(), "a false pass: {about}");
            let replayed = replayed.unwrap_or_else(|| panic!("a pass without a record: {about}"));
            assert!(replayed.is_pass(), "a pass that is not recorded: {about}");
        } else {
            assert!(
                said.as_ref().is_none_or(|r| r["verdict"] != "passed") || exit == 1,
                "{about}"
            );
            let silent = said.is_none() && ran.err.trim().is_empty();
            assert!(
                !silent || ran.hit_any(&["write", "writev"]),
                "not a word: {about}"
            );
        }
    }

    /// The records are read by vplan itself, and its next run works.
    pub fn goes_on(&self, about: &str) {
        let records = self.runs();
        if !records.is_empty() {
            for args in [&["status"][..], &["runs"], &["report"], &["verify"]] {
                let ran = self.project.run(args);
                let said = ran.out();
                // Killed between its report and the end of its journal, which verify tells.
                let no_end = ran.exit == Some(4) && said.contains("the events have no end");
                // 2: no run that was recorded has such a thing.
                assert!(
                    matches!(ran.exit, Some(0 | 2)) || no_end,
                    "{about}: {args:?}: {}: {said}",
                    ran.err()
                );
            }
        }
        self.clear();
        let before = self.runs();
        let ran = self
            .project
            .run(&["run", "--changed-none", "--format", "json"]);
        ran.exits(0);
        assert!(self.all_ran(), "{about}");
        assert!(
            self.records_hold(&before, about)
                .is_some_and(|run| run.is_pass()),
            "{about}"
        );
        self.project.run(&["verify"]).exits(0);
        self.clear();
    }
}
