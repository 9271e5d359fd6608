//! What if processes, descriptors, memory, time or the terminal misbehave? Asked of the real
//! program.

mod clock;
mod escape;
mod flood;
mod inherit;
mod limits;
mod peers;
mod served;
mod signals;
mod stack;
mod start;
mod terminal;
mod together;

use super::harness::{Guard, carrying, eventually};
use super::sweep::{Case, Sweep};
use crate::support::Project;
use crate::support::process::Bounded as _;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use vplan::run::journal::{ReplayedRun, replay};

/// A project whose steps carry a mark in their environment, so that none of them can hide.
struct World {
    project: Project,
    mark: String,
}

impl World {
    /// With these checks, and one that is called `fine`.
    fn new(checks: &str) -> Self {
        let contract =
            format!("vplan 1\ndefaults {{\n  pass-env WORLD_MARK\n}}\n{checks}check fine: true\n");
        let project = Project::contract(&contract);
        let name = project
            .parent()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let mark = format!("WORLD_MARK={name}");
        Self {
            project: project.env("WORLD_MARK", name),
            mark,
        }
    }

    /// `vplan run` with these arguments, and a report as JSON.
    fn run(&self, args: &[&str]) -> Command {
        self.through(&[], args)
    }

    /// The same, started by another program. What it says goes to files beside the project.
    fn through(&self, wrap: &[&str], args: &[&str]) -> Command {
        self.wrapped(
            wrap,
            &[&["run", "--changed-none", "--format", "json"], args].concat(),
        )
    }

    /// Any subcommand, started by another program.
    fn wrapped(&self, wrap: &[&str], args: &[&str]) -> Command {
        let plain = self.project.vplan(args).command();
        let mut command = Command::new(
            wrap.first()
                .copied()
                .map_or(plain.get_program(), AsRef::as_ref),
        );
        command.args(wrap.get(1..).unwrap_or_default());
        if !wrap.is_empty() {
            command.arg(plain.get_program());
        }
        command
            .args(plain.get_args())
            .current_dir(self.project.root())
            .env_clear();
        command.envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
        let file = |name: &str| std::fs::File::create(self.project.parent().join(name)).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"));
        command
    }

    fn said(&self) -> String {
        self.project.read("../out") + &self.project.read("../err")
    }

    fn report(&self) -> Value {
        serde_json::from_str(&self.project.read("../out"))
            .unwrap_or_else(|e| panic!("no report ({e}): {}", self.said()))
    }

    fn survivors(&self) -> Vec<String> {
        carrying(&self.mark)
            .into_iter()
            .map(|(_, shown)| shown)
            .collect()
    }

    fn nobody_is_left(&self) {
        eventually("nobody is left", || self.survivors().is_empty());
    }

    /// Ends what carries the mark, which was started by this very test.
    fn clear_away(&self) {
        eventually("they are gone", || {
            let all = carrying(&self.mark);
            for pid in all.iter().filter_map(|(pid, _)| Pid::from_raw(*pid)) {
                // A chain that forks and exits is only caught as a group.
                let group = group(&pid.to_string()).filter(|found| Some(*found) != group("self"));
                let _ = group.map_or_else(
                    || kill_process(pid, Signal::KILL),
                    |group| kill_process_group(group, Signal::KILL),
                );
            }
            all.is_empty()
        });
    }

    /// The folders of all runs, oldest first.
    fn runs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.project.path(".vplan/runs"))
            .into_iter()
            .flatten();
        let mut runs: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
        runs.sort();
        runs
    }

    /// What the journal of the newest run says; none where no run began.
    fn recorded(&self) -> Option<ReplayedRun> {
        Some(replay(
            &std::fs::read(self.runs().last()?.join("events.jsonl")).unwrap_or_default(),
        ))
    }

    /// Whoever has no exit code 0 has not passed, and nobody has passed without evidence.
    fn is_honest(&self, exit: Option<i32>) {
        let passed = self.recorded().is_some_and(|run| run.is_pass());
        if exit == Some(0) {
            assert!(passed, "a pass without a record of it: {}", self.said());
        } else if exit.is_some() {
            assert!(
                !passed,
                "{exit:?}, but a pass by its record: {}",
                self.said()
            );
        }
    }

    /// What is left of earlier runs is in nobody's way.
    fn works(&self) {
        self.project.run(&["runs"]).exits(0);
        self.project
            .run(&["run", "--changed-none", "--only", "fine"])
            .exits(0);
        self.project
            .run(&["status"])
            .exits(0)
            .says("passed: 1 of 1");
        self.project.run(&["verify"]).exits(0);
    }
}

/// Tries with limits so many times as long, until it came to what is tested (else `None`): a busy
/// machine needs longer to get there.
fn patiently<T>(mut attempt: impl FnMut(u64) -> Option<T>) -> T {
    [1, 10, 100]
        .into_iter()
        .find_map(&mut attempt)
        .expect("it never came to what is tested")
}

/// Whether a step began before time was up.
fn began(report: &Value, id: &str) -> bool {
    status(report, id) != "not_run"
}

/// The status of a step in a report.
fn status<'a>(report: &'a Value, id: &str) -> &'a str {
    let mut steps = report["steps"].as_array().unwrap().iter();
    steps
        .find(|s| s["id"] == id)
        .unwrap_or_else(|| panic!("no {id}: {report}"))["status"]
        .as_str()
        .unwrap()
}

/// An exit code that `vplan run` documents, but that of a fault of its own.
fn is_documented(exit: Option<i32>) -> bool {
    exit.is_some_and(|code| [0, 2, 3, 4, 5, 40, 41, 42, 43, 44, 130, 143].contains(&code))
}

fn wait(child: &mut Guard) -> Option<i32> {
    child.0.ended().code()
}

/// The supervisors of a vplan.
fn supervisors(vplan: Pid) -> Vec<Pid> {
    let children = format!("/proc/{0}/task/{0}/children", vplan.as_raw_pid());
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let named = |pid: &i32| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.starts_with(b"vplan-superv"))
    };
    children
        .split(' ')
        .filter_map(|p| p.trim().parse().ok())
        .filter(named)
        .filter_map(Pid::from_raw)
        .collect()
}

/// What a case has to tell its sweep: how often something was seen, or how much of it there was at
/// most.
#[derive(Default)]
struct Tally {
    counts: Vec<(String, u64)>,
    most: Vec<(String, u64)>,
}

impl Tally {
    fn count(&mut self, what: &str) {
        self.counts.push((what.to_owned(), 1));
    }

    fn most(&mut self, what: &str, value: u64) {
        self.most.push((what.to_owned(), value));
    }
}

/// Tries all cases of a sweep, some of them side by side: most of their time they wait.
fn side_by_side(sweep: &mut Sweep, many: usize, attempt: impl Fn(&mut Case) -> Tally + Sync) {
    loop {
        let cases: Vec<Case> = std::iter::from_fn(|| sweep.next()).take(many).collect();
        if cases.is_empty() {
            return;
        }
        let attempt = &attempt;
        let tallies: Vec<_> = std::thread::scope(|scope| {
            let one = |mut case: Case| {
                scope.spawn(move || {
                    let tally = attempt(&mut case);
                    case.held();
                    tally
                })
            };
            let handles: Vec<_> = cases.into_iter().map(one).collect();
            handles
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect()
        });
        for tally in tallies {
            let tally = tally.unwrap_or_else(|fault| std::panic::resume_unwind(fault));
            tally
                .counts
                .iter()
                .for_each(|(what, times)| sweep.count(what, *times));
            tally
                .most
                .iter()
                .for_each(|(what, value)| sweep.most(what, *value));
        }
    }
}

/// The process group of a process. (getpgid gives 0 for a group from outside of this PID namespace,
/// and the binding stops there.)
fn group(pid: &str) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Pid::from_raw(fields.split_ascii_whitespace().nth(2)?.parse().ok()?)
}
