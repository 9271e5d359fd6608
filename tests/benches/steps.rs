//! What does a supervised, limited, recorded step cost? Against a bare loop that spawns, reads two
//! pipes and waits, and against the same loop with a journal that is synced at each end. `cargo
//! bench --bench steps`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::panic
)]

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vplan::effect::os::environment::{Environment, Grants};
use vplan::effect::os::process::program::Root;
use vplan::effect::runner::background::{GroupCommit, IoJob};
use vplan::effect::runner::context::Context;
use vplan::effect::runner::executor::{Driver, Executor as _, ExecutorMessage};
use vplan::effect::store::records::RunRecord;
use vplan::plan::Plan;
use vplan::run::event::Event;
use vplan::run::journal::{Journal, JournalEntry};
use vplan::run::state::RunState;

const STEPS: usize = 1_000;
const ROUNDS: usize = 7;

fn plan(jobs: usize) -> Plan {
    let step = |i: usize| {
        serde_json::json!({
            "after": [], "argv": ["true"], "command": "true", "dir": ".", "env": {}, "exit": [0], "id": format!("s{i}"),
            "kind": "run", "origin": "contract", "reasons": [], "retries": 0, "severity": "blocking", "tier": 0,
            "timeoutMs": 60_000,
        })
    };
    serde_json::from_value(serde_json::json!({
        "facts": [], "omitted": [], "policy": {"failFast": true, "jobs": jobs, "recover": [], "recoverContract": false},
        "request": {"boundaries": [], "changed": [], "explicit": [], "minTier": 0, "mode": "contract", "only": [],
                    "risk": "medium", "role": "worker", "skip": []},
        "rewrites": [], "steps": (0..STEPS).map(step).collect::<Vec<_>>(), "tiers": [], "version": 1,
    }))
    .unwrap()
}

fn supervised(root: &Root, jobs: usize) -> Duration {
    let plan = Arc::new(plan(jobs));
    let start = Instant::now();
    let mut record = RunRecord::create(root, None, None).unwrap();
    let logs = record.logs().try_clone_to_owned().unwrap();
    let (mut journal, mut commit) = (Journal::default(), GroupCommit::default());
    let environment = Environment::of_this_process(root, Grants::default());
    let mut driver = Driver::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_vplan"))), false).unwrap();
    let context = Context {
        logs: Some(logs.as_fd()),
        max_output: 1 << 26,
        ..Context::new(root, &environment)
    };
    let (mut state, first) = RunState::new(Arc::clone(&plan), BTreeMap::new(), 0);
    driver
        .drive(&plan, &context, first, &mut |message| match message {
            ExecutorMessage::Starting {
                step,
                attempt,
                limit_ms,
                at,
            } => {
                let id = plan.step(step).id.clone();
                record
                    .append(&journal.line(
                        at,
                        JournalEntry::StepStarted {
                            attempt,
                            id,
                            limit_ms,
                        },
                    ))
                    .unwrap();
                Vec::new()
            }
            ExecutorMessage::Event(event, finished) => {
                let ended = match &event {
                    Event::Finished {
                        step,
                        attempt,
                        at,
                        evidence,
                    } => Some((*step, *attempt, *at, evidence.duration_ms)),
                    _ => None,
                };
                let actions = state.handle(event);
                if let Some((step, attempt, at, duration_ms)) = ended {
                    let last = state.last_try(step).unwrap();
                    let entry = JournalEntry::StepFinished {
                        attempt,
                        cached_from: None,
                        detail: None,
                        duration_ms,
                        exit_code: last.exit_code,
                        id: last.id.clone(),
                        kind: None,
                        leaked: last.leaked,
                        log: finished.and_then(|f| f.log.clone()),
                        program: None,
                        reason: last.reason,
                        signal: None,
                        status: last.status,
                        tests: None,
                    };
                    record.append(&journal.line(at, entry)).unwrap();
                    commit.wrote(at);
                }
                actions
            }
            ExecutorMessage::IoWanted { at, work, again } => {
                if commit.take(at, false) {
                    *work = Some(IoJob {
                        record: Some((record.unsynced(), 0)),
                        ..IoJob::default()
                    });
                }
                *again = commit.due();
                Vec::new()
            }
            ExecutorMessage::IoFinished { done, .. } => panic!("not kept: {:?}", done.fault),
            _ => Vec::new(),
        })
        .unwrap();
    drop(driver);
    record.release();
    record.sync().unwrap();
    let took = start.elapsed();
    assert!(
        state.records().iter().all(|r| r.status.is_pass()),
        "a step failed"
    );
    took
}

fn bare(dir: &Path, jobs: usize, journal: bool) -> Duration {
    use std::io::Write as _;
    let start = Instant::now();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let file = std::sync::Mutex::new(std::fs::File::create(dir.join("journal")).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < STEPS {
                    let out = Command::new("true").stdin(Stdio::null()).output().unwrap();
                    assert!(out.status.success());
                    if journal {
                        let mut file = file.lock().unwrap();
                        file.write_all(&[b'x'; 150]).unwrap();
                        file.sync_data().unwrap();
                    }
                }
            });
        }
    });
    start.elapsed()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let rounds = if std::env::args().any(|a| a == "--bench") {
        ROUNDS
    } else {
        1
    };
    let dir = tempfile::Builder::new()
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    let root = Root::open(dir.path()).unwrap();
    for jobs in [1, 2] {
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..rounds {
            let round = [
                bare(dir.path(), jobs, false),
                bare(dir.path(), jobs, true),
                supervised(&root, jobs),
            ];
            times
                .iter_mut()
                .zip(round)
                .for_each(|(all, one)| all.push(one.as_secs_f64() * 1e6 / STEPS as f64));
        }
        let ratio = |i: usize| median(times[2].iter().zip(&times[i]).map(|(a, b)| a / b).collect());
        let over = |i: usize| median(times[2].iter().zip(&times[i]).map(|(a, b)| a - b).collect());
        println!(
            "{jobs} at a time, {STEPS} x `true`: bare {:.0} us, bare + synced journal {:.0} us, vplan {:.0} us a step; \
             {:.2} x and {:+.0} us over bare, {:.2} x and {:+.0} us over the journal",
            median(times[0].clone()),
            median(times[1].clone()),
            median(times[2].clone()),
            ratio(0),
            over(0),
            ratio(1),
            over(1),
        );
    }
}
