//! Properties of `run`.

use crate::reference::run::sequentially;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan::arbitrary::config;
use vplan::arbitrary::run::{
    Case, Happening, Incidents, Played, cases, chooser, evidence, incidents, journal_of, picks,
    play, play_in_places, side_by_side,
};
use vplan::base::index::Index as _;
use vplan::base::jobs::Jobs;
use vplan::base::vocabulary::Exit;
use vplan::check::outcome::{Cause, Outcome, Status};
use vplan::check::{Kind, Severity};
use vplan::plan::parallel::ParallelPairs;
use vplan::plan::parallel::known::KnownEffects;
use vplan::plan::{Coverage, StepIndex};
use vplan::run::event::{Action, Event, Interrupt};
use vplan::run::journal::replay;
use vplan::run::record::StepRecord;
use vplan::run::remote::Elsewhere;
use vplan::run::report::{Circumstances, report};
use vplan::run::state::{CLEAN_UP_MS, RunState, SideBySide, StateBeginning, StateEnding};
use vplan::run::verdict::{Require, RunFacts, Verdict, judge};

fn played(case: &Case, incidents: &Incidents, picks: &[usize]) -> Played {
    play(case, incidents, &mut chooser(picks.to_vec())).unwrap_or_else(|why| panic!("{why}"))
}

fn report_text(case: &Case, played: &Played) -> String {
    let circumstances = Circumstances {
        attempt: 1,
        retries: 3,
        run_id: "r".into(),
        ..Circumstances::default()
    };
    serde_json::to_string(&report(
        &case.plan,
        played.records.clone(),
        &played.ending,
        circumstances,
    ))
    .unwrap()
}

fn ends(played: &Played) -> Vec<(Status, Option<Cause>)> {
    played
        .records
        .iter()
        .map(|r| (r.status, r.reason))
        .collect()
}

/// The same case without anything that depends on time.
pub fn timeless(mut case: Case) -> Case {
    case.plan.policy.budget_ms = None;
    case.plan
        .steps
        .iter_mut()
        .for_each(|s| s.timeout_ms = 1_000_000);
    case
}

/// Runs a case in which every end comes late by some delay: real time is not the sum of durations.
/// Reports each step that starts, with those that run then.
pub fn drive_late(
    case: &Case,
    beginning: StateBeginning,
    delays: &[u64],
    starts: &mut dyn FnMut(&BTreeSet<StepIndex>, StepIndex),
) -> Result<RunState, TestCaseError> {
    let (mut state, mut actions) = RunState::begin(Arc::new(case.plan.clone()), beginning);
    let mut queue: BTreeSet<(u64, StepIndex, u32)> = BTreeSet::new();
    let mut now = 0;
    let mut delay = delays.iter().cycle();
    while !state.is_done() {
        let mut wake = None;
        for action in actions.drain(..) {
            match action {
                Action::Spawn { step, attempt, .. } => {
                    starts(&queue.iter().map(|(_, step, _)| *step).collect(), step);
                    queue.insert((now + delay.next().unwrap(), step, attempt));
                }
                Action::WakeAt { at } => wake = Some(at),
                _ => {}
            }
        }
        let next = queue.first().copied();
        let event = match (next, wake) {
            (Some((at, step, attempt)), wake) if wake.is_none_or(|w| at <= w) => {
                queue.pop_first();
                now = now.max(at);
                let behaviour = case.script[step.position()][attempt as usize - 1];
                let evidence = Box::new(evidence(behaviour));
                Event::Finished {
                    step,
                    attempt,
                    at: now,
                    evidence,
                }
            }
            (_, Some(at)) => {
                now = now.max(at);
                Event::Time { at: now }
            }
            _ => return Err(TestCaseError::fail("the machine waits for nothing")),
        };
        actions = state.handle(event);
    }
    Ok(state)
}

proptest! {
    #![proptest_config(config(512))]

    /// INVARIANT (interleaving), with everything that depends on time.
    #[test]
    fn simultaneous_events_in_any_order_give_the_same_report(case in cases(), one in picks(), two in picks()) {
        let calm = Incidents::default();
        let (one, two) = (played(&case, &calm, &one), played(&case, &calm, &two));
        prop_assert_eq!(report_text(&case, &one), report_text(&case, &two), "{:?}\n{:?}", one.trace, two.trace);
        prop_assert_eq!(one.ending, two.ending);
    }

    /// The same when a signal comes or the disk fills up; only how long the clearing up takes may differ (and with it, what
    /// a second incident still finds, so there is one only). Every try takes some time here: what begins and ends in the very
    /// millisecond of a signal has either run before it, or not at all.
    #[test]
    fn incidents_in_any_order_give_the_same_report(
        mut case in cases(), mut incidents in incidents(), one in picks(), two in picks()
    ) {
        incidents.interrupts.truncate(usize::from(incidents.record_fails.is_none()));
        case.script.iter_mut().flatten().for_each(|b| b.duration_ms = b.duration_ms.max(1));
        let mut one = played(&case, &incidents, &one);
        let mut two = played(&case, &incidents, &two);
        for played in [&mut one, &mut two] {
            played.ending.duration_ms = 0;
            // Asked to end and killed in one millisecond: which of the two signals did it is not for the machine to say.
            played.records.iter_mut().filter(|r| r.signal.is_some()).for_each(|r| r.signal = Some("SIGTERM".into()));
        }
        prop_assert_eq!(report_text(&case, &one), report_text(&case, &two), "{:?}\n{:?}", one.trace, two.trace);
        prop_assert_eq!(one.ending, two.ending);
    }

    /// A plan ends alike wherever its steps are executed: here, elsewhere, or some of each.
    #[test]
    fn elsewhere_equals_here(
        mut case in cases(), sent in proptest::collection::vec(any::<bool>(), 24), most in 1..5_usize, picks in picks()
    ) {
        case.plan.policy.budget_ms = None;
        case.plan.policy.jobs = Jobs::ONE;
        let here = played(&case, &Incidents::default(), &picks);
        let sent = case.plan.steps.iter().zip(sent).map(|(_, sent)| sent).collect();
        let elsewhere = Elsewhere::new(sent, most, false);
        let mixed = play_in_places(&case, &Incidents::default(), Some(elsewhere), &mut chooser(picks))
            .unwrap_or_else(|why| panic!("{why}"));
        prop_assert_eq!(&mixed.records, &here.records, "{:?}\n{:?}", mixed.trace, here.trace);
        prop_assert_eq!(StateEnding { duration_ms: 0, ..mixed.ending }, StateEnding { duration_ms: 0, ..here.ending });
    }

    /// Without limits on time, not even the order of events that are far apart has a say, nor how many run at once.
    #[test]
    fn parallel_equals_serial_report(
        case in cases(), delays in proptest::collection::vec(0..1000_u64, 24), picks in picks(),
        jobs in prop_oneof![5 => (1..6_u32).prop_map(Jobs::Number), 1 => Just(Jobs::Auto)]
    ) {
        let case = timeless(case);
        let calm = Incidents::default();
        let mut alone = case.clone();
        alone.plan.policy.jobs = Jobs::ONE;
        let expected = played(&alone, &calm, &picks);
        let mut other = case;
        other.plan.policy.jobs = jobs;
        let beside = ParallelPairs::decide(&other.plan, &KnownEffects::new(&other.plan));
        let beginning = StateBeginning { beside: Some(SideBySide { processors: 4, beside }), ..StateBeginning::default() };
        let state = drive_late(&other, beginning, &delays, &mut |_, _| {})?;
        prop_assert_eq!(&state.records(), &expected.records);
        // Nor is anything else in the report another: digest, verdict, exit code, reason. How long it took is.
        let text = |plan: &vplan::plan::Plan, records: Vec<StepRecord>, ending: StateEnding| {
            let plan = vplan::plan::digest::seal(plan.clone());
            let circumstances = Circumstances { attempt: 1, retries: 3, run_id: "r".into(), ..Circumstances::default() };
            serde_json::to_string(&report(&plan, records, &StateEnding { duration_ms: 0, ..ending }, circumstances)).unwrap()
        };
        prop_assert_eq!(
            text(&other.plan, state.records(), state.ending()),
            text(&alone.plan, expected.records, expected.ending)
        );
    }

    #[test]
    fn one_after_another_is_a_loop(mut case in cases(), picks in picks()) {
        case.plan.policy.jobs = Jobs::ONE;
        let played = played(&case, &Incidents::default(), &picks);
        // The loop knows nothing of output; that a pass by exit code alone is called so is tested elsewhere.
        let unread = |(status, cause): (Status, Option<Cause>)| (status, cause.filter(|c| (status, *c) != (Status::Passed, Cause::OutputUnread)));
        let ended: Vec<_> = ends(&played).into_iter().map(unread).collect();
        prop_assert_eq!(ended, sequentially(&case));
        let mut order: Vec<usize> = played.trace.iter().filter_map(|(_, h)| match h {
            Happening::Started(step, ..) => Some(*step),
            _ => None,
        }).collect();
        order.dedup();
        prop_assert!(order.is_sorted(), "in plan order: {:?}", order);
    }

    #[test]
    fn run_state_machine(case in cases(), incidents in incidents(), picks in picks()) {
        let plan = &case.plan;
        let played = played(&case, &incidents, &picks);
        prop_assert_eq!(played.records.len(), plan.steps.len());
        for running in side_by_side(&played.trace) {
            prop_assert!(running.len() <= plan.policy.jobs.most(1), "{:?} at once", running);
            let tiers: BTreeSet<u8> = running.iter().map(|i| plan.steps[*i].tier).collect();
            prop_assert!(tiers.len() == 1, "{:?} of different tiers", running);
            let names: Vec<&String> = running.iter().filter_map(|i| plan.steps[*i].exclusive.as_ref()).collect();
            prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{:?} at once", running);
            let beside = running.iter().filter(|i| !plan.steps[**i].with.is_empty()).count();
            prop_assert!(beside <= 1, "{:?} beside one service at once", running);
        }
        let mut ended: BTreeMap<usize, u64> = BTreeMap::new();
        let mut attempts: BTreeMap<usize, u32> = BTreeMap::new();
        let mut stopped: BTreeSet<usize> = BTreeSet::new();
        let mut killed: BTreeSet<usize> = BTreeSet::new();
        let urgent = incidents.interrupts.len() == 2;
        for (position, (at, happening)) in played.trace.iter().enumerate() {
            match happening {
                Happening::Started(index, attempt, limit_ms) => {
                    let step = &plan.steps[*index];
                    prop_assert!((1..=step.timeout_ms).contains(limit_ms), "a limit of {}", limit_ms);
                    prop_assert_eq!(*attempt, attempts.get(index).map_or(1, |a| a + 1), "tries are counted from 1");
                    prop_assert!(*attempt <= step.retries + 1);
                    attempts.insert(*index, *attempt);
                    stopped.remove(index);
                    killed.remove(index);
                    if let Some(budget) = plan.policy.budget_ms {
                        let clean_up = if step.always { CLEAN_UP_MS } else { 0 };
                        prop_assert!(at + limit_ms <= budget + clean_up, "longer than the budget");
                    }
                    prop_assert!(step.unsupported.is_none() && step.kind != Kind::Judge, "it cannot be started");
                    for (earlier, other) in plan.steps.iter().enumerate().take(*index) {
                        let before = step.after.contains(&other.id) || other.tier < step.tier;
                        if before && attempts.contains_key(&earlier) {
                            prop_assert!(ended.get(&earlier).is_some_and(|e| e <= at), "{} before {}", other.id, step.id);
                        }
                    }
                    for (later, other) in plan.steps.iter().enumerate().skip(index + 1) {
                        let after = other.after.contains(&step.id) || other.tier > step.tier;
                        prop_assert!(!(after && attempts.contains_key(&later)), "{} after {}", other.id, step.id);
                    }
                }
                Happening::Ended(index) => {
                    ended.insert(*index, *at);
                }
                Happening::Terminated(index) => prop_assert!(stopped.insert(*index), "asked once"),
                Happening::Killed(index) => {
                    prop_assert!(killed.insert(*index), "killed once");
                    prop_assert!(urgent || stopped.contains(index), "asked before it is killed");
                }
                Happening::Done => prop_assert_eq!(position + 1, played.trace.len(), "the last word"),
            }
        }
        prop_assert_eq!(played.trace.last().map(|(_, h)| *h), Some(Happening::Done));
        for (index, record) in played.records.iter().enumerate() {
            let plain = record.status == Status::Passed && record.reason != Some(Cause::OutputUnread);
            prop_assert_eq!(record.reason.is_none(), plain, "a reason for all but a plain pass");
            prop_assert_eq!(record.reason.is_none(), record.detail.is_none());
            if !attempts.contains_key(&index) {
                prop_assert!(record.tries == 0 && !record.status.is_pass(), "a pass without a try");
            }
            if record.status.is_pass() {
                prop_assert!(record.tries >= 1);
            }
        }
    }

    #[test]
    fn the_first_failure_in_plan_order_ends_the_run(case in cases(), picks in picks()) {
        let played = played(&case, &Incidents::default(), &picks);
        let failed = |(i, r): (usize, &StepRecord)| {
            let blocking = case.plan.steps[i].severity == Severity::Blocking;
            (blocking && r.status.is_failure() && !r.is_cut()).then_some(i)
        };
        let first = played.records.iter().enumerate().find_map(failed);
        for (index, record) in played.records.iter().enumerate() {
            let behind = case.plan.policy.fail_fast && first.is_some_and(|f| index > f);
            let discarded = behind && !case.plan.steps[index].always;
            prop_assert_eq!(record.reason == Some(Cause::FailFast), discarded, "{}", record.id);
            if discarded {
                prop_assert_eq!((record.tries, record.duration_ms, record.exit_code), (0, 0, None));
            }
        }
    }

    /// A clean-up step runs unless a second signal, a full disk or the end of its own allowance keeps it from running.
    #[test]
    fn always_steps_run(case in cases(), mut incidents in incidents(), picks in picks()) {
        incidents.record_fails = None;
        incidents.interrupts.truncate(1);
        let played = played(&case, &incidents, &picks);
        let allowance = case.plan.policy.budget_ms.map_or(u64::MAX, |b| b + CLEAN_UP_MS);
        for (_, record) in case.plan.steps.iter().zip(&played.records).filter(|(s, _)| s.always) {
            let too_late = record.is_cut() && played.ending.duration_ms >= allowance;
            prop_assert!(record.status != Status::NotRun || too_late, "{:?}", record);
        }
    }

    #[test]
    fn verdict_passed_iff_all_blocking_passed(case in cases(), incidents in incidents(), picks in picks()) {
        let played = played(&case, &incidents, &picks);
        let judgement = judge(&case.plan, &played.records, &played.ending, &RunFacts::default(), Require::default());
        let steps = || case.plan.steps.iter().zip(&played.records);
        let blocking = || steps().filter(|(s, _)| s.severity == Severity::Blocking);
        let fine = |r: &StepRecord| r.status.is_pass() || r.reason == Some(Cause::SkipExit);
        let passed = blocking().all(|(_, r)| fine(r))
            && steps().any(|(s, r)| s.is_effective() && r.status.is_pass())
            && !played.ending.budget_used && played.ending.cancelled.is_none() && played.ending.storage.is_none();
        prop_assert_eq!(judgement.verdict == Verdict::Passed, passed, "{:?}", judgement);
        prop_assert_eq!(judgement.exit == Exit::Success, passed);
        prop_assert_eq!(judgement.reason.is_none(), passed);
        if played.ending.budget_used && played.ending.cancelled.is_none() {
            prop_assert_eq!(judgement.exit, Exit::Time);
        }
        if played.ending.cancelled.is_some() {
            prop_assert_eq!(judgement.verdict, Verdict::Cancelled);
        } else {
            prop_assert!(blocking().all(|(_, r)| r.reason != Some(Cause::Cancelled)), "cancelled, but not said so");
        }
    }

    /// Whatever the records say, possible or not: an exit code of a run, 0 only for a pass that nobody asks more of.
    #[test]
    fn exit_code_total_function(
        case in cases(),
        ends in proptest::collection::vec((0..9_usize, 0..20_usize), 0..9),
        flags in proptest::array::uniform8(proptest::bool::weighted(0.3))
    ) {
        let [budget_used, cancelled, storage, violated, full, some, narrows, no_steps] = flags;
        let mut plan = case.plan;
        if no_steps {
            plan.steps.clear();
        }
        if narrows {
            plan.omitted.push(vplan::plan::Omitted {
                each: Default::default(),
                file: None, id: "x".into(), line: None, narrows: true, reason: "waived".into(), reasons: Vec::new(),
            });
        }
        let records: Vec<StepRecord> = plan.steps.iter().zip(&ends).map(|(step, (status, cause))| {
            StepRecord::without_evidence(step, Outcome::new(Status::ALL[*status], CAUSES[*cause], "so it is"))
        }).collect();
        let ending = StateEnding {
            budget_used,
            cancelled: cancelled.then_some(Interrupt::Term),
            duration_ms: 1,
            storage: storage.then(|| "no space left".to_owned()),
        };
        let violations = if violated { vec!["`x` is outside the scope".to_owned()] } else { Vec::new() };
        let judgement = judge(&plan, &records, &ending, &RunFacts { violations: &violations, ..RunFacts::default() }, Require { full, some });
        let enough = judgement.verdict.is_pass()
            && !(full && judgement.coverage == Coverage::Narrowed)
            && !(some && judgement.verdict == Verdict::NothingToVerify);
        prop_assert_eq!(judgement.exit == Exit::Success, enough, "{:?}", judgement);
        let of_a_run = [0, 5, 40, 41, 42, 43, 44, 143];
        prop_assert!(of_a_run.contains(&judgement.exit.code()), "{:?}", judgement);
        prop_assert!(judgement.exit != Exit::Internal && Exit::Internal.code() != 0);
        if narrows {
            prop_assert_eq!(judgement.coverage, Coverage::Narrowed);
        }
        if records.len() < plan.steps.iter().filter(|s| s.severity == Severity::Blocking).count() {
            prop_assert!(judgement.verdict != Verdict::Passed, "a step without a record has not passed");
        }
    }

    /// A journal that ends anywhere is a readable, interrupted run, unless its last line is whole.
    #[test]
    fn every_prefix_of_a_journal_is_readable(case in cases(), picks in picks(), cut in any::<prop::sample::Index>(), noise: u8) {
        let played = played(&case, &Incidents::default(), &picks);
        let report = report(&case.plan, played.records.clone(), &played.ending, Circumstances::default());
        let text = journal_of(&case, &played, &report);
        let whole = replay(text.as_bytes());
        let judgement = judge(&case.plan, &played.records, &played.ending, &RunFacts::default(), Require::default());
        prop_assert_eq!(whole.bytes, text.len());
        prop_assert_eq!(whole.is_pass(), judgement.verdict.is_pass());
        prop_assert_eq!(whole.steps.len(), case.plan.steps.len());
        let cut = cut.index(text.len());
        let torn = replay(&text.as_bytes()[..cut]);
        prop_assert!(!torn.is_pass());
        prop_assert!(torn.bytes <= cut && (torn.bytes == 0 || text.as_bytes()[torn.bytes - 1] == b'\n'));
        prop_assert!(cut - torn.bytes <= text[torn.bytes..].find('\n').map_or(0, |i| i + 1), "the longest prefix");
        let mut damaged = text.clone().into_bytes();
        damaged[cut] ^= noise | 1;
        prop_assert!(replay(&damaged).bytes <= damaged.len());
        prop_assert!(replay(&[noise]).run_id.is_empty());
    }
}

const CAUSES: [Cause; 24] = [
    Cause::ExitCode,
    Cause::Signal,
    Cause::Assertion,
    Cause::Mutated,
    Cause::NoEvidence,
    Cause::TimeLimit,
    Cause::Budget,
    Cause::Missing,
    Cause::Service,
    Cause::Sandbox,
    Cause::Away,
    Cause::SpawnError,
    Cause::Unsupported,
    Cause::Lost,
    Cause::SkipExit,
    Cause::NoJudge,
    Cause::FailFast,
    Cause::Needs,
    Cause::Cancelled,
    Cause::Storage,
    Cause::Policy,
    Cause::Shard,
    Cause::Retried,
    Cause::OutputUnread,
];
