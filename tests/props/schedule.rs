//! Laws of running, one by one, on played runs: a virtual clock, processes that are only told of.

use proptest::prelude::*;
use std::collections::BTreeMap;
use vplan::arbitrary::config;
use vplan::arbitrary::run::{
    Case, Happening, Incidents, Played, cases, chooser, incidents, picks, play, side_by_side,
};
use vplan::base::vocabulary::Exit;
use vplan::check::Severity;
use vplan::check::outcome::{Cause, Status};
use vplan::run::event::Interrupt;
use vplan::run::journal::{Journal, JournalEntry, PlannedStep, lines, replay};
use vplan::run::state::CLEAN_UP_MS;
use vplan::run::verdict::{Require, RunFacts, judge};

fn played(case: &Case, incidents: &Incidents, picks: &[usize]) -> Played {
    play(case, incidents, &mut chooser(picks.to_vec())).unwrap_or_else(|why| panic!("{why}"))
}

/// The time that a plan has for a step to begin and end in.
fn allowance(case: &Case, step: usize) -> Option<u64> {
    let clean_up = if case.plan.steps[step].always {
        CLEAN_UP_MS
    } else {
        0
    };
    Some(case.plan.policy.budget_ms? + clean_up)
}

/// The longest that a step that was asked to end is waited for, in milliseconds.
const GRACE_MS: u64 = 10_000;

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn each_planned_step_exactly_one_terminal_status(case in cases(), incidents in incidents(), picks in picks()) {
        let played = played(&case, &incidents, &picks);
        let ids: Vec<&String> = played.records.iter().map(|r| &r.id).collect();
        prop_assert_eq!(ids, case.plan.steps.iter().map(|s| &s.id).collect::<Vec<_>>());
    }

    /// What ended with its last try neither starts again nor is told to end.
    #[test]
    fn no_status_after_terminal(case in cases(), incidents in incidents(), picks in picks()) {
        let played = played(&case, &incidents, &picks);
        let (mut starts, mut running) = (BTreeMap::<usize, u32>::new(), BTreeMap::<usize, bool>::new());
        for (_, happening) in &played.trace {
            match happening {
                Happening::Started(step, ..) => {
                    prop_assert!(running.insert(*step, true) != Some(true), "it runs already");
                    *starts.entry(*step).or_default() += 1;
                }
                Happening::Ended(step) => prop_assert_eq!(running.insert(*step, false), Some(true)),
                Happening::Terminated(step) | Happening::Killed(step) => {
                    prop_assert_eq!(running.get(step), Some(&true), "it does not run");
                }
                Happening::Done => prop_assert!(running.values().all(|r| !r), "something runs on"),
            }
        }
        for (step, record) in played.records.iter().enumerate() {
            // What was discarded, or cancelled before it could say anything, tells of no try.
            let started = starts.get(&step).copied().unwrap_or(0);
            prop_assert!(record.tries <= started && (record.tries == started || !record.status.is_pass()), "{}", record.id);
        }
    }

    #[test]
    fn never_more_than_jobs_running(case in cases(), incidents in incidents(), picks in picks()) {
        let played = played(&case, &incidents, &picks);
        prop_assert!(side_by_side(&played.trace).iter().all(|running| running.len() <= case.plan.policy.jobs.most(1)));
    }

    #[test]
    fn dependency_started_after_success(case in cases(), incidents in incidents(), picks in picks()) {
        let played = played(&case, &incidents, &picks);
        let mut ended: Vec<usize> = Vec::new();
        for (_, happening) in &played.trace {
            match happening {
                Happening::Ended(step) => ended.push(*step),
                Happening::Started(step, ..) if !case.plan.steps[*step].always => {
                    for need in &case.plan.steps[*step].needs {
                        let at = case.plan.steps.iter().position(|s| s.id == *need).unwrap();
                        // What passed may be discarded later, by a failure that stands before it.
                        let record = &played.records[at];
                        let discarded = record.status == Status::NotRun && record.reason == Some(Cause::FailFast);
                        let passed = record.status.is_pass() || discarded;
                        prop_assert!(ended.contains(&at) && passed, "{} before {}", step, need);
                    }
                }
                _ => {}
            }
        }
    }

    /// Once it is known that a blocking step failed, nothing that stands behind it starts.
    #[test]
    fn fail_fast_no_start_after_failure(mut case in cases(), picks in picks()) {
        case.plan.policy.fail_fast = true;
        let played = played(&case, &Incidents::default(), &picks);
        let last_end = |step: usize| played.trace.iter().rposition(|(_, h)| *h == Happening::Ended(step));
        for (failed, record) in played.records.iter().enumerate() {
            let blocking = case.plan.steps[failed].severity == Severity::Blocking;
            let Some(known) = last_end(failed).filter(|_| blocking && record.status.is_failure() && !record.is_cut()) else { continue };
            let (ended_at, _) = played.trace[known];
            for (at, happening) in &played.trace[known..] {
                // What the millisecond before has decided starts in the one in which the failure becomes known.
                if let Happening::Started(step, ..) = happening
                    && *at > ended_at
                {
                    prop_assert!(*step < failed || case.plan.steps[*step].always, "{} after {}", step, failed);
                }
            }
        }
    }

    /// What is left only shrinks, and no step gets more of it than there is.
    #[test]
    fn budget_monotone(case in cases(), incidents in incidents(), picks in picks()) {
        let played = played(&case, &incidents, &picks);
        let mut left = u64::MAX;
        for (at, happening) in &played.trace {
            if let (Happening::Started(step, _, limit_ms), Some(budget)) = (happening, case.plan.policy.budget_ms) {
                let now = (budget + CLEAN_UP_MS).saturating_sub(*at);
                prop_assert!(now <= left);
                left = now;
                prop_assert!(at + limit_ms <= allowance(&case, *step).unwrap());
            }
        }
    }

    /// No time left is no time, and not as much as one likes.
    #[test]
    fn no_zero_means_infinite(mut case in cases(), picks in picks()) {
        let limits = |p: &Played| p.trace.iter().filter_map(|(_, h)| match h {
            Happening::Started(step, _, limit) => Some((*step, *limit)),
            _ => None,
        }).collect::<Vec<_>>();
        prop_assert!(limits(&played(&case, &Incidents::default(), &picks)).iter().all(|(_, limit)| *limit >= 1));
        case.plan.policy.budget_ms = Some(0);
        let without = played(&case, &Incidents::default(), &picks);
        prop_assert!(limits(&without).iter().all(|(step, limit)| case.plan.steps[*step].always && *limit <= CLEAN_UP_MS));
        let judgement = judge(&case.plan, &without.records, &without.ending, &RunFacts::default(), Require::default());
        let asks = case.plan.steps.iter().any(|s| s.is_effective() && !s.always);
        prop_assert!(!asks || judgement.exit != Exit::Success);
    }

    /// The limit of a try: its own, what is left of the budget, and for a clean-up its own allowance behind that.
    #[test]
    fn deadline_is_min_of_three(case in cases(), picks in picks()) {
        for (at, happening) in &played(&case, &Incidents::default(), &picks).trace {
            if let Happening::Started(step, _, limit_ms) = happening {
                let left = allowance(&case, *step).map_or(u64::MAX, |a| a - at);
                prop_assert_eq!(*limit_ms, case.plan.steps[*step].timeout_ms.min(left));
            }
        }
    }

    /// After the first signal whatever runs is asked to end at once, and is gone when the grace is over.
    #[test]
    fn cancel_reaches_all_within_grace(case in cases(), at in 0..40_u64, term in any::<bool>(), picks in picks()) {
        let signal = if term { Interrupt::Term } else { Interrupt::Int };
        let played = played(&case, &Incidents { interrupts: vec![(at, signal)], record_fails: None }, &picks);
        let mut running: BTreeMap<usize, u64> = BTreeMap::new();
        let mut asked: BTreeMap<usize, u64> = BTreeMap::new();
        for (now, happening) in &played.trace {
            match happening {
                Happening::Started(step, ..) => {
                    prop_assert!(*now <= at || case.plan.steps[*step].always, "started after the signal");
                    running.insert(*step, *now);
                    asked.remove(step);
                }
                Happening::Terminated(step) => { asked.insert(*step, *now); }
                Happening::Ended(step) => {
                    let started = running.remove(step).unwrap();
                    // What ran when the signal came, and no clean-up: asked at that time, and gone in time.
                    if started < at && *now > at && !case.plan.steps[*step].always {
                        prop_assert!(asked.get(step).is_some_and(|t| *t <= at), "not asked to end");
                        prop_assert!(*now <= at + GRACE_MS + 1, "{} ms", now - at);
                    }
                }
                _ => {}
            }
        }
    }

    /// The second signal ends what runs in that very moment, and nothing starts any more.
    #[test]
    fn second_signal_is_immediate(case in cases(), first in 0..20_u64, later in 1..20_u64, picks in picks()) {
        let interrupts = vec![(first, Interrupt::Int), (first + later, Interrupt::Int)];
        let played = played(&case, &Incidents { interrupts, record_fails: None }, &picks);
        for (now, happening) in &played.trace {
            prop_assert!(*now <= first + later + 1, "{:?} at {}", happening, now);
            if let Happening::Started(..) = happening {
                prop_assert!(*now <= first + later);
            }
        }
    }

    /// A fault of vplan's own, such as a record that cannot be written, is never a success.
    #[test]
    fn internal_error_never_zero_exit(case in cases(), at in 0..40_u64, picks in picks()) {
        prop_assert!(Exit::ALL.iter().all(|e| (*e == Exit::Success) == (e.code() == 0)));
        let played = played(&case, &Incidents { interrupts: Vec::new(), record_fails: Some(at) }, &picks);
        let judgement = judge(&case.plan, &played.records, &played.ending, &RunFacts::default(), Require::default());
        prop_assert_eq!(played.ending.storage.is_some() && judgement.exit == Exit::Success, false);
    }

    /// Nobody asked for anything, so nothing was verified: that is said, and is no plain pass.
    #[test]
    fn empty_contract_is_flagged(mut case in cases(), some in any::<bool>(), omitted in any::<bool>()) {
        use vplan::plan::Omitted;
        use vplan::run::verdict::Verdict;
        case.plan.steps.clear();
        case.plan.omitted.clear();
        if omitted {
            case.plan.omitted.push(Omitted { each: Default::default(), file: None, id: "x".into(), line: None, narrows: false, reason: "no change".into(), reasons: Vec::new() });
        }
        let ending = played(&Case { plan: case.plan.clone(), script: Vec::new() }, &Incidents::default(), &[]).ending;
        let judgement = judge(&case.plan, &[], &ending, &RunFacts::default(), Require { full: false, some });
        prop_assert_ne!(judgement.verdict, Verdict::Passed);
        prop_assert!(judgement.reason.is_some());
        prop_assert!(!some || judgement.exit != Exit::Success);
    }

    /// Numbers without a gap; a line that is missing, or comes from elsewhere, is where the journal ends.
    #[test]
    fn journal_seq_gapless(case in cases(), picks in picks(), gone in any::<prop::sample::Index>()) {
        let played = played(&case, &Incidents::default(), &picks);
        let mut journal = Journal::default();
        let steps = case.plan.steps.iter().map(|s| PlannedStep { command: s.command.clone(), id: s.id.clone() }).collect();
        let mut text = vec![
            journal.line(0, JournalEntry::RunStarted { environment: None, run_id: "r".into(), started_at: None, version: 1 }),
            journal.line(0, JournalEntry::PlanCompiled { changed_files_count: None, digest: None, steps }),
        ];
        for (at, happening) in &played.trace {
            if let Happening::Started(step, attempt, limit_ms) = happening {
                let id = case.plan.steps[*step].id.clone();
                text.push(journal.line(*at, JournalEntry::StepStarted { attempt: *attempt, id, limit_ms: *limit_ms }));
            }
        }
        let whole = text.concat();
        let numbers: Vec<u64> = lines(whole.as_bytes()).map(|l| l.seq).collect();
        prop_assert_eq!(numbers, (0..text.len() as u64).collect::<Vec<_>>());
        let gone = gone.index(text.len());
        text.remove(gone);
        let torn = text.concat();
        prop_assert_eq!(lines(torn.as_bytes()).count(), gone);
        prop_assert!(!replay(torn.as_bytes()).is_pass());
    }

    /// Steps and statuses only: a step never has a status that does not say how it ended.
    #[test]
    fn statuses_are_of_the_list(case in cases(), incidents in incidents(), picks in picks()) {
        let known = [
            Status::Passed, Status::PassedWithWarnings, Status::Flaky, Status::Failed, Status::TimedOut, Status::Errored,
            Status::Skipped, Status::NotRun, Status::Cached,
        ];
        prop_assert!(played(&case, &incidents, &picks).records.iter().all(|r| known.contains(&r.status)));
    }
}
