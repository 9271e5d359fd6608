//! How is the part of vplan that runs steps driven without its command line? By this very test
//! binary, once more, in a process of its own: what is tested changes signal dispositions and
//! inherits orphans, and gets killed.

use crate::support::process::{Bounded as _, usual_signals};
pub use crate::support::process::{PATIENCE, eventually};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use vplan::base::index::Index as _;
use vplan::check::evidence::Evidence;
use vplan::check::observed::Observed;
use vplan::effect::os::environment::{Environment, Grants};
use vplan::effect::os::process::program::Root;
use vplan::effect::runner::context::Context;
use vplan::effect::runner::executor::{Driver, Executor as _, ExecutorMessage};
use vplan::plan::{Plan, StepIndex};
use vplan::run::event::{Action, Event};

/// What a driver is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub root: PathBuf,
    pub out: PathBuf,
    pub logs: PathBuf,
    pub steps: Vec<StepSpec>,
    pub grace_ms: u64,
    pub max_output: u64,
    pub jobs: usize,
    pub grants: Vec<String>,
    /// Ask each to end (SIGTERM) at the limit, rather than kill it at once.
    pub gentle: bool,
    /// Observe what steps do.
    pub observe: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepSpec {
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub limit_ms: u64,
    pub dir: String,
    pub pass_env: Vec<String>,
}

/// What a driver saw of a step.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seen {
    pub step: usize,
    pub evidence: Evidence,
    pub log: Option<String>,
    pub log_error: Option<String>,
    pub program: Option<PathBuf>,
    pub withheld: Vec<String>,
}

/// A directory with a root, a folder for logs, and a mark that whatever runs in it carries in its
/// environment.
pub struct Bench {
    dir: tempfile::TempDir,
    pub mark: String,
    pub job: Job,
}

impl Bench {
    pub fn new() -> Self {
        usual_signals();
        let dir = tempfile::Builder::new()
            .prefix("vplan-faults-")
            .tempdir()
            .unwrap();
        for name in ["root", "logs"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let mark = format!(
            "VPLAN_TEST_MARK={}",
            dir.path().file_name().unwrap().to_str().unwrap()
        );
        let job = Job {
            root: dir.path().join("root"),
            out: dir.path().join("out.jsonl"),
            logs: dir.path().join("logs"),
            steps: Vec::new(),
            grace_ms: 200,
            max_output: 1 << 26,
            jobs: 1,
            grants: Vec::new(),
            gentle: true,
            observe: false,
        };
        Self { dir, mark, job }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Adds a step that carries the mark.
    pub fn step(&mut self, argv: &[&str]) -> &mut StepSpec {
        let (name, value) = self.mark.split_once('=').unwrap();
        let own = self.dir.path().to_str().unwrap().to_owned();
        self.job.steps.push(StepSpec {
            argv: argv.iter().map(|s| (*s).to_owned()).collect(),
            env: BTreeMap::from([
                (name.to_owned(), value.to_owned()),
                ("BENCH".to_owned(), own),
            ]),
            limit_ms: PATIENCE.as_millis() as u64,
            dir: ".".to_owned(),
            pass_env: Vec::new(),
        });
        self.job.steps.last_mut().unwrap()
    }

    /// The command that starts the driver.
    pub fn command(&self) -> Command {
        let job = self.path("job.json");
        std::fs::write(&job, serde_json::to_vec(&self.job).unwrap()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "faults::harness::driver",
                "--exact",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env("VPLAN_TEST_JOB", job)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    /// Runs all steps to their end and gives what was seen.
    pub fn run(&self) -> Vec<Seen> {
        let status = self.command().spawn().unwrap().ended();
        assert!(status.success(), "the driver failed: {status}");
        self.seen()
    }

    pub fn seen(&self) -> Vec<Seen> {
        let text = std::fs::read_to_string(&self.job.out).unwrap_or_default();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }

    /// The most memory that the driver ever used, in KiB.
    pub fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(self.job.out.with_extension("status")).unwrap();
        let line = status
            .lines()
            .find_map(|l| l.strip_prefix("VmHWM:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// The log of a step.
    pub fn log(&self, step: usize) -> Vec<u8> {
        std::fs::read(self.job.logs.join(format!("s{step}.1.log"))).unwrap_or_default()
    }

    /// What a step was seen to do, if that was recorded.
    pub fn observed(&self, step: usize) -> Option<Observed> {
        let text = std::fs::read(self.job.logs.join(format!("s{step}.1.reads"))).ok()?;
        Some(Observed::read(&text).unwrap())
    }

    /// The command that starts the driver through a shell, which says what is to happen before
    /// `exec "$@"`.
    pub fn through_shell(&self, script: &str) -> Command {
        let plain = self.command();
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .arg(plain.get_program())
            .args(plain.get_args());
        command.envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Who still carries the mark.
    pub fn survivors(&self) -> Vec<String> {
        carrying(&self.mark)
            .into_iter()
            .map(|(_, shown)| shown)
            .collect()
    }
}

/// Who has this variable, `NAME=VALUE`, in its environment: its number, and what is known of it.
pub fn carrying(mark: &str) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(environ) = std::fs::read(entry.path().join("environ")) else {
            continue;
        };
        if environ.split(|b| *b == 0).any(|v| v == mark.as_bytes()) {
            let name = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let state = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            found.push((
                pid,
                format!(
                    "{} {state}",
                    String::from_utf8_lossy(&name).replace('\0', " ")
                ),
            ));
        }
    }
    found
}

/// A child that is killed when the test ends before it.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn plan(job: &Job) -> Plan {
    let steps: Vec<serde_json::Value> = job
        .steps
        .iter()
        .enumerate()
        .map(|(i, s)| {
            serde_json::json!({
                "after": [], "argv": s.argv, "command": "x", "dir": s.dir, "env": s.env, "exit": [0], "id": format!("s{i}"),
                "kind": "run", "origin": "contract", "passEnv": s.pass_env, "reasons": [], "retries": 0, "severity": "blocking",
                "tier": 0, "timeoutMs": s.limit_ms,
            })
        })
        .collect();
    serde_json::from_value(serde_json::json!({
        "facts": [], "omitted": [], "policy": {"failFast": false, "jobs": job.jobs, "recover": [], "recoverContract": false},
        "request": {"boundaries": [], "changed": [], "explicit": [], "minTier": 0, "mode": "contract", "only": [],
                    "risk": "medium", "role": "worker", "skip": []},
        "rewrites": [], "steps": steps, "tiers": [], "version": 1,
    }))
    .unwrap()
}

/// The least machine that there can be: steps in order, a limit, a grace, a kill.
struct Machine<'a> {
    job: &'a Job,
    next: usize,
    running: BTreeMap<usize, (u64, bool)>,
    interrupted: u32,
}

impl Machine<'_> {
    fn fill(&mut self, at: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        while self.running.len() < self.job.jobs
            && self.next < self.job.steps.len()
            && self.interrupted == 0
        {
            let limit_ms = self.job.steps[self.next].limit_ms;
            self.running.insert(self.next, (at + limit_ms, false));
            actions.push(Action::Spawn {
                step: StepIndex::new(self.next),
                attempt: 1,
                limit_ms,
                elsewhere: false,
            });
            self.next += 1;
        }
        actions.push(match self.running.values().map(|(at, _)| *at).min() {
            Some(at) => Action::WakeAt { at },
            None => Action::Done,
        });
        actions
    }

    fn handle(&mut self, event: &Event) -> Vec<Action> {
        let at = event.at();
        let mut actions = Vec::new();
        match event {
            Event::Finished { step, .. } => drop(self.running.remove(&step.position())),
            Event::Interrupt { .. } => {
                self.interrupted += 1;
                for (step, (limit, asked)) in &mut self.running {
                    actions.push(if self.interrupted == 1 {
                        (*limit, *asked) = (at + self.job.grace_ms, true);
                        Action::Terminate {
                            step: StepIndex::new(*step),
                            timed_out: false,
                        }
                    } else {
                        Action::Kill {
                            step: StepIndex::new(*step),
                            timed_out: false,
                        }
                    });
                }
            }
            Event::Began { .. }
            | Event::Time { .. }
            | Event::InstantComplete { .. }
            | Event::RecordFailed { .. } => {}
        }
        for (step, (limit, asked)) in &mut self.running {
            if *limit <= at {
                if *asked || !self.job.gentle {
                    *limit = u64::MAX / 2;
                    actions.push(Action::Kill {
                        step: StepIndex::new(*step),
                        timed_out: true,
                    });
                } else {
                    (*limit, *asked) = (at + self.job.grace_ms, true);
                    actions.push(Action::Terminate {
                        step: StepIndex::new(*step),
                        timed_out: true,
                    });
                }
            }
        }
        actions.extend(self.fill(at));
        actions
    }
}

/// Not a test: see [`Bench::command`].
#[test]
#[ignore = "started by other tests, in a process of its own"]
fn driver() {
    let job: Job =
        serde_json::from_slice(&std::fs::read(std::env::var("VPLAN_TEST_JOB").unwrap()).unwrap())
            .unwrap();
    let root = Root::open(&job.root).unwrap();
    let grants = Grants {
        names: job.grants.iter().cloned().collect(),
        inherit: false,
        ..Grants::default()
    };
    let environment = Environment::of_this_process(&root, grants);
    let logs = std::fs::File::open(&job.logs).unwrap();
    let plan = plan(&job);
    let mut driver = Driver::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_vplan"))), false).unwrap();
    let context = Context {
        logs: Some(std::os::fd::AsFd::as_fd(&logs)),
        max_output: job.max_output,
        observe: job.observe,
        ..Context::new(&root, &environment)
    };
    let mut out = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&job.out)
        .unwrap();
    let mut machine = Machine {
        job: &job,
        next: 0,
        running: BTreeMap::new(),
        interrupted: 0,
    };
    let first = machine.fill(0);
    let told = Cell::new(0_u32);
    driver
        .drive(&plan, &context, first, &mut |message| match message {
            ExecutorMessage::Event(event, finished) => {
                if let (Event::Finished { step, evidence, .. }, Some(finished)) = (&event, finished)
                {
                    let seen = Seen {
                        step: step.position(),
                        evidence: (**evidence).clone(),
                        log: finished.log.clone(),
                        log_error: finished.log_error.clone(),
                        program: finished.program.as_ref().map(|p| p.path.clone()),
                        withheld: finished.withheld.iter().map(|w| w.name.clone()).collect(),
                    };
                    use std::io::Write as _;
                    writeln!(out, "{}", serde_json::to_string(&seen).unwrap()).unwrap();
                }
                told.set(told.get() + 1);
                machine.handle(&event)
            }
            _ => Vec::new(),
        })
        .unwrap();
    assert!(told.get() > 0);
    std::fs::copy("/proc/self/status", job.out.with_extension("status")).unwrap();
}
