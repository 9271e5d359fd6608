//! The use cases without a command line: planned, verified and repaired in this process, with an
//! executor that is played, so that no step and no other vplan is started.

use crate::support::Project;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use vplan::base::index::Index as _;
use vplan::check::evidence::Evidence;
use vplan::effect::repo::changes::ChangeSource;
use vplan::effect::runner::context::Context;
use vplan::effect::runner::executor::{DriveError, Executor, ExecutorMessage, Played};
use vplan::effect::runner::fixer::{Fixed, FixerEnd};
use vplan::engine::propose::ProposerUse;
use vplan::engine::repair_loop::{
    FixerCommand, LoopCaller, LoopOutcome, LoopProgress, LoopRequest, Stop,
};
use vplan::engine::verify::{Caller, Progress, Verified};
use vplan::engine::{Engine, Failure, Observer, PlanRequest, VerifyRequest, repair_loop, verify};
use vplan::plan::{Plan, StepIndex};
use vplan::run::event::{Action, Event};
use vplan::run::journal::{JournalEnd, replay};
use vplan::run::report::Decision;
use vplan::run::verdict::Verdict;

/// An executor that starts nothing: each try of a step ends as it was told.
#[derive(Default)]
struct Script {
    /// By step, the exit codes of its tries, in order; without one, 0.
    exits: BTreeMap<String, VecDeque<i32>>,
    /// Which steps were started, in order.
    started: Vec<String>,
    /// Whether steps were to be observed.
    observed: bool,
    now: u64,
}

impl Script {
    fn failing(step: &str, exits: &[i32]) -> Self {
        let exits = exits.iter().copied().collect();
        Self {
            exits: BTreeMap::from([(step.to_owned(), exits)]),
            ..Self::default()
        }
    }

    /// The end of a try.
    fn end(&mut self, plan: &Plan, step: StepIndex, attempt: u32) -> Event {
        let id = plan.step(step).id.clone();
        let exit = self.exits.get_mut(&id).and_then(VecDeque::pop_front);
        self.started.push(id);
        self.now += 1;
        let evidence = Evidence {
            exit: Some(exit.unwrap_or(0)),
            duration_ms: 1,
            ..Evidence::default()
        };
        Event::Finished {
            step,
            attempt,
            at: self.now,
            evidence: Box::new(evidence),
        }
    }
}

impl Executor for Script {
    fn now(&self) -> u64 {
        self.now
    }

    fn drive(
        &mut self,
        plan: &Plan,
        context: &Context<'_>,
        first: Vec<Action>,
        tell: &mut dyn FnMut(ExecutorMessage<'_>) -> Vec<Action>,
    ) -> Result<(), DriveError> {
        self.observed = context.observe;
        let (mut actions, mut ends) = (VecDeque::from(first), VecDeque::new());
        let mut is_instant_open = true;
        loop {
            match actions.pop_front() {
                Some(Action::Done) => return Ok(()),
                Some(Action::Spawn {
                    step,
                    attempt,
                    limit_ms,
                    elsewhere,
                }) => {
                    assert!(!elsewhere, "nothing is executed elsewhere");
                    let at = self.now;
                    actions.extend(tell(ExecutorMessage::Starting {
                        step,
                        attempt,
                        limit_ms,
                        at,
                    }));
                    let began = Event::Began { step, attempt, at };
                    actions.extend(tell(ExecutorMessage::Event(began, None)));
                    ends.push_back((step, attempt));
                }

                Some(Action::Terminate { .. } | Action::Kill { .. } | Action::WakeAt { .. }) => {}
                None if std::mem::take(&mut is_instant_open) => {
                    let at = self.now;
                    actions.extend(tell(ExecutorMessage::Event(
                        Event::InstantComplete { at },
                        None,
                    )));
                }
                None => {
                    let (step, attempt) = ends.pop_front().unwrap();
                    let end = self.end(plan, step, attempt);
                    is_instant_open = true;
                    actions.extend(tell(ExecutorMessage::Event(end, None)));
                }
            }
        }
    }
}

const CONTRACT: &str = "vplan 1\ncheck lint: ./lint\ncheck test: ./test\nsequence lint -> test\n";

fn project() -> Project {
    Project::git_with(&[("contracts/verify.vplan", CONTRACT), ("flag", "bad\n")])
}

/// The engine of a project, whose state is kept beside the repository. It is not in CI, whatever
/// the environment of the tests says.
fn engine<'e>(root: &'e Path, state: &'e Path) -> Engine<'e> {
    Engine {
        state_dir: Some(state),
        is_ci: false,
        ..Engine::at(root)
    }
}

fn everything() -> PlanRequest {
    PlanRequest {
        changes: Some(ChangeSource::All),
        ..PlanRequest::default()
    }
}

fn verified(project: &Project, asked: &VerifyRequest, played: &mut Script) -> Verified {
    let (root, state) = (project.root(), project.parent().join("state"));
    let caller = Caller {
        played: Some(Played::new(played)),
        ..Caller::default()
    };
    verify(&engine(&root, &state), asked, caller).unwrap()
}

fn all() -> VerifyRequest {
    VerifyRequest {
        plan: everything(),
        ..VerifyRequest::default()
    }
}

#[test]
fn a_change_is_planned_without_a_terminal() {
    let project = project();
    project.write("flag", "good\n");
    let (root, state) = (project.root(), project.parent().join("state"));
    let mut session = engine(&root, &state).open(&PlanRequest::default()).unwrap();
    let changed = session.request.changed.files();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].path.to_string(), "flag");
    let (plan, _) = session
        .plan(&PlanRequest::default(), ProposerUse::Recorded)
        .unwrap();
    let steps: Vec<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(steps, ["lint", "test"]);
    // The same plan as the command line's.
    let printed = project.run(&["plan", "--format", "json"]).json();
    assert_eq!(printed["digest"], plan.digest.unwrap().to_string());
}

#[test]
fn a_contract_that_is_missing_is_a_failure_and_no_plan() {
    let project = Project::git_with(&[("a", "1\n")]);
    let (root, state) = (project.root(), project.parent().join("state"));
    let failure = engine(&root, &state)
        .open(&PlanRequest::default())
        .map(drop)
        .unwrap_err();
    assert_eq!(failure.exit.code(), 3);
    assert!(failure.code.starts_with("vplan::"), "{}", failure.code);
}

#[test]
fn an_empty_change_must_be_asked_for_in_ci() {
    let project = project();
    let (root, state) = (project.root(), project.parent().join("state"));
    let ci = Engine {
        is_ci: true,
        ..engine(&root, &state)
    };
    let failure = ci.open(&PlanRequest::default()).map(drop).unwrap_err();
    assert_eq!(failure.exit.code(), 2);
    assert_eq!(failure.code, "vplan::usage::empty_change_set");
    let nothing = PlanRequest {
        changes: Some(ChangeSource::None),
        ..PlanRequest::default()
    };
    assert!(ci.open(&nothing).is_ok());
    assert!(engine(&root, &state).open(&PlanRequest::default()).is_ok());
}

#[test]
fn an_observer_is_told_of_drift() {
    #[derive(Default)]
    struct Told(RefCell<Vec<String>>);
    impl Observer for Told {
        fn drift(&self, differences: &[vplan::plan::drift::Difference]) {
            let paths = differences.iter().map(|d| d.path.clone());
            self.0.borrow_mut().extend(paths);
        }
    }
    let project = project();
    project
        .run(&["plan", "--all", "-o", "../saved.json"])
        .exits(0);
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("./lint", "./lint --strict"),
    );
    let (root, state) = (project.root(), project.parent().join("state"));
    let (told, mut played) = (Told::default(), Script::default());
    let asked = VerifyRequest {
        file: Some(vplan::engine::request::PlanFile {
            path: project.parent().join("saved.json"),
            allow_drift: false,
            as_is: false,
        }),
        ..VerifyRequest::default()
    };
    let caller = Caller {
        played: Some(Played::new(&mut played)),
        ..Caller::default()
    };
    let failure = verify(&engine(&root, &state).with_observer(&told), &asked, caller)
        .map(drop)
        .unwrap_err();
    assert_eq!(
        (failure.exit.code(), failure.code.as_str()),
        (4, "vplan::plan::drift")
    );
    assert!(told.0.borrow().iter().any(|path| path == "contract.digest"));
    assert_eq!(played.started, [""; 0]);
}

#[test]
fn a_played_run_is_verified_recorded_and_observed() {
    let project = project();
    let (root, state) = (project.root(), project.parent().join("state"));
    let (mut played, mut seen) = (Script::default(), Vec::new());
    let mut see = |progress: Progress<'_>| {
        seen.push(match progress {
            Progress::Planned(plan) => format!("planned {}", plan.steps.len()),
            Progress::Ended { record, .. } => format!("ended {}", record.id),
            _ => "other".to_owned(),
        });
    };
    let caller = Caller {
        see: Some(&mut see),
        played: Some(Played::new(&mut played)),
        ..Caller::default()
    };
    let verified = verify(&engine(&root, &state), &all(), caller).unwrap();
    assert_eq!(verified.report.verdict, Verdict::Passed);
    assert_eq!(verified.report.exit_code, 0);
    assert!(verified.unrecorded.is_none());
    assert_eq!(played.started, ["lint", "test"]);
    assert_eq!(seen, ["planned 2", "ended lint", "ended test"]);
    // The record is one that the command line believes.
    assert!(verified.record.join("report.json").is_file());
    let state = state.to_str().unwrap();
    project
        .run(&[
            "--state-dir",
            state,
            "status",
            "--all",
            "--require",
            "verified",
        ])
        .exits(0);
}

#[test]
fn a_check_that_fails_is_an_answer_and_no_error() {
    let project = project();
    let mut played = Script::failing("lint", &[1]);
    let verified = verified(&project, &all(), &mut played);
    assert_eq!(verified.report.verdict, Verdict::Failed);
    assert_eq!(verified.report.exit_code, 40);
    assert_eq!(played.started, ["lint"]);
    let feedback = verified.report.feedback.unwrap();
    assert!(format!("{feedback:?}").contains("lint"));
}

#[test]
fn rounds_of_a_subject_are_counted_in_its_ledger() {
    let project = project();
    project.write(
        "contracts/verify.vplan",
        format!("{CONTRACT}gate {{\n  confirmations 2\n}}\n"),
    );
    let begin = project.commit("two confirmations");
    project.pushed(&begin);
    let asked = VerifyRequest {
        subject: Some("M1".to_owned()),
        ..all()
    };
    for (counter, exit, decision) in [(1, 20, Decision::Reverify), (2, 0, Decision::Complete)] {
        let report = verified(&project, &asked, &mut Script::default()).report;
        assert_eq!(
            (report.counter, report.exit_code, report.decision),
            (Some(counter), exit, decision)
        );
    }
}

/// Has a loop repair; `fix` is the fixer's turn, in the repository.
fn repaired(
    project: &Project,
    played: &mut Script,
    fix: &mut dyn FnMut(&Path) -> FixerEnd,
) -> (Result<LoopOutcome, Failure>, Vec<String>) {
    let (root, state) = (project.root(), project.parent().join("state"));
    let asked = LoopRequest {
        verify: all(),
        fixer: Some(FixerCommand {
            shown: "played".to_owned(),
            argv: vec!["played".into()],
            env: BTreeMap::default(),
            timeout_ms: 1_000,
            sandbox: vplan::check::confine::SandboxLevel::None,
            ending: "txt",
        }),
        max_rounds: 5,
    };
    let mut told = Vec::new();
    let outcome = repair_loop(
        &engine(&root, &state),
        &asked,
        LoopCaller {
            see: &mut |progress| {
                told.push(match progress {
                    LoopProgress::Round(number) => format!("round {number}"),
                    LoopProgress::Verified(verified) => verified.report.verdict.name().to_owned(),
                    LoopProgress::Turn(turn, _) => format!("{turn:?}").to_lowercase(),
                    LoopProgress::Failed(failure) => failure.code.clone(),
                    LoopProgress::Verifying(_) | LoopProgress::Fixed(_) => return,
                });
            },
            feedback: &|report| format!("verdict: {}", report.verdict.name()),
            review: &|_| "review".to_owned(),
            tick: None,
            played: Some(Played::new(played)),
            fix: &mut |fixer| {
                assert_eq!(fixer.feedback, b"verdict: failed");
                let how = fix(&root);
                Ok(Fixed {
                    how,
                    ..Fixed::default()
                })
            },
        },
    );
    (outcome, told)
}

#[test]
fn a_loop_ends_when_the_repair_passes() {
    let project = project();
    let mut played = Script::failing("lint", &[1, 1, 0]);
    let mut turns = 0;
    let (outcome, told) = repaired(&project, &mut played, &mut |root| {
        turns += 1;
        std::fs::write(root.join("flag"), format!("turn {turns}\n")).unwrap();
        // What it says of itself decides nothing.
        FixerEnd::Exited(7)
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stop, outcome.exit), (Stop::Passed, 0));
    assert_eq!(outcome.decision, Decision::Advance);
    assert_eq!(turns, 2);
    assert_eq!(played.started, ["lint", "lint", "lint", "test"]);
    let rounds = [
        "round 1", "failed", "repair", "round 2", "failed", "repair", "round 3", "passed",
    ];
    assert_eq!(told, rounds);
    let fixes = outcome.rounds.iter().map(|round| round.fix.is_some());
    assert_eq!(fixes.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn a_fixer_that_changes_nothing_ends_the_loop() {
    let mut played = Script::failing("lint", &[1, 0]);
    let (outcome, told) = repaired(&project(), &mut played, &mut |_| FixerEnd::Exited(0));
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stop, outcome.exit), (Stop::NoChange, 22));
    assert_eq!(told, ["round 1", "failed", "repair"]);
    assert_eq!(played.started, ["lint"]);
}

#[test]
fn a_fixer_that_rewrites_the_contract_ends_the_loop() {
    let mut played = Script::failing("lint", &[1]);
    let (outcome, told) = repaired(&project(), &mut played, &mut |root| {
        let contract: PathBuf = root.join("contracts/verify.vplan");
        std::fs::write(contract, "vplan 1\ncheck test: ./test\n").unwrap();
        FixerEnd::Exited(0)
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stop, outcome.exit), (Stop::ContractChanged, 22));
    assert_eq!(told.last().unwrap(), "vplan::loop::contract_changed");
    // The second round ran nothing.
    assert_eq!(played.started, ["lint"]);
}

#[test]
fn a_fixer_that_cannot_be_started_ends_the_loop() {
    let mut played = Script::failing("lint", &[1]);
    let (outcome, told) = repaired(&project(), &mut played, &mut |_| {
        FixerEnd::NotStarted("no such file".to_owned())
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stop, outcome.exit), (Stop::FixerNotStarted, 5));
    assert_eq!(told, ["round 1", "failed", "repair", "vplan::loop::fixer"]);
}

/// An executor that tells what cannot be, and then does its work as if nothing had happened.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// A step has ended that the plan does not have.
    EndOfNoStep,
    /// Such a step is about to start.
    StartOfNoStep,
    /// A try of such a step has begun.
    BeginOfNoStep,
    /// Everything is over, and nothing was done.
    AllIsOver,
}

impl Executor for Lie {
    fn now(&self) -> u64 {
        0
    }

    fn drive(
        &mut self,
        plan: &Plan,
        context: &Context<'_>,
        first: Vec<Action>,
        tell: &mut dyn FnMut(ExecutorMessage<'_>) -> Vec<Action>,
    ) -> Result<(), DriveError> {
        let (step, attempt, at) = (StepIndex::new(plan.steps.len()), 1, 0);
        let evidence = Evidence {
            exit: Some(0),
            ..Evidence::default()
        };
        let message = match self {
            Self::EndOfNoStep => {
                let evidence = Box::new(evidence);
                ExecutorMessage::Event(
                    Event::Finished {
                        step,
                        attempt,
                        at,
                        evidence,
                    },
                    None,
                )
            }
            Self::StartOfNoStep => ExecutorMessage::Starting {
                step,
                attempt,
                limit_ms: 1,
                at,
            },
            Self::BeginOfNoStep => ExecutorMessage::Event(Event::Began { step, attempt, at }, None),
            Self::AllIsOver => return Ok(()),
        };
        tell(message);
        Script::default().drive(plan, context, first, tell)
    }
}

#[test]
fn a_run_that_contradicts_itself_is_a_bug_and_no_pass() {
    let lies = [
        (Lie::EndOfNoStep, "a bug in vplan: step"),
        (Lie::StartOfNoStep, "a bug in vplan: step"),
        (Lie::BeginOfNoStep, "a bug in vplan: step"),
        (
            Lie::AllIsOver,
            "a bug in vplan: the executor ends before the run is over",
        ),
    ];
    for (mut lie, said) in lies {
        let project = project();
        let (root, state) = (project.root(), project.parent().join("state"));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let caller = Caller {
                played: Some(Played::new(&mut lie)),
                ..Caller::default()
            };
            verify(&engine(&root, &state), &all(), caller).map(|v| v.report.verdict)
        }));
        let why = ended.expect_err("it must not have an answer");
        assert_eq!(why.downcast_ref::<String>().unwrap(), said, "{lie:?}");
        // The record is there up to that moment, and says of no end.
        let runs: Vec<PathBuf> = std::fs::read_dir(root.join(".vplan/runs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("events.jsonl").is_file())
            .collect();
        let [run] = runs.as_slice() else {
            panic!("{lie:?}: {runs:?}")
        };
        assert!(!run.join("report.json").exists(), "{lie:?}");
        let events = std::fs::read(run.join("events.jsonl")).unwrap();
        let replayed = replay(&events);
        assert_eq!(
            (replayed.bytes, replayed.steps.len(), &replayed.end),
            (events.len(), 2, &JournalEnd::Interrupted),
            "{lie:?}"
        );
        let state = state.to_str().unwrap();
        let status = ["status", "--all", "--require", "verified"];
        project
            .run(&[&["--state-dir", state][..], &status[..]].concat())
            .exits(44);
        // The next run is none of its business.
        let verified = verified(&project, &all(), &mut Script::default());
        assert_eq!(verified.report.verdict, Verdict::Passed, "{lie:?}");
    }
}

#[test]
fn a_verification_observes_where_it_is_asked_to() {
    for observe in [false, true] {
        let asked = VerifyRequest { observe, ..all() };
        let mut played = Script::default();
        let verified = verified(&project(), &asked, &mut played);
        assert_eq!(verified.report.verdict, Verdict::Passed);
        assert_eq!(played.observed, observe);
    }
}
