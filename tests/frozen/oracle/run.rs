//! Runs: the machine, the journal, and what an edited record may say.

use super::choices::{Choices, mutated};
use crate::reference::run::sequentially;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan::arbitrary::drawn;
use vplan::arbitrary::run::{
    Case, Incidents, Played, cases, chooser, incidents, journal_of, play, side_by_side,
};
use vplan::base::index::{Dense, Index as _};
use vplan::base::jobs::Jobs;
use vplan::check::evidence::{Captured, Evidence};
use vplan::check::outcome::{Cause, Status};
use vplan::plan::StepIndex;
use vplan::plan::digest::seal;
use vplan::run::authenticity::{AspectState, examine};
use vplan::run::event::{Action, Event, Interrupt};
use vplan::run::journal::{lines, replay};
use vplan::run::merge::read;
use vplan::run::report::{Circumstances, Report, report};
use vplan::run::state::RunState;
use vplan::run::verdict::{Require, RunFacts, judge};

thread_local! {
    static CASES: RefCell<BoxedStrategy<Case>> = RefCell::new(cases().boxed());
    static INCIDENTS: RefCell<BoxedStrategy<Incidents>> = RefCell::new(incidents().boxed());
}

/// Any bytes as a journal: reading is total, a prefix is never better than the whole, and never a
/// pass without its end.
pub fn journal(bytes: &[u8]) {
    journal_laws(bytes).unwrap();
}

/// Checks the laws of reading any bytes as a journal, for property tests and fuzzing.
///
/// # Errors
/// The law that is broken, with the input that broke it.
pub fn journal_laws(bytes: &[u8]) -> Result<(), String> {
    let whole = replay(bytes);
    let valid = bytes
        .get(..whole.bytes)
        .ok_or("more bytes are valid than there are")?;
    if !valid.is_empty() && !valid.ends_with(b"\n") {
        return Err("the valid prefix ends within a line".to_owned());
    }
    if replay(valid) != whole {
        return Err("the valid prefix says something else than the whole".to_owned());
    }
    if lines(bytes).count() != valid.iter().filter(|b| **b == b'\n').count() {
        return Err("a valid line is not counted".to_owned());
    }
    // Cut anywhere, it is no pass; at the end of any line, the result is the one of that line.
    let ends = valid
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(i, _)| i);
    for cut in ends.rev().take(64) {
        for cut in [cut, cut.saturating_sub(1)] {
            let torn = replay(valid.get(..cut).unwrap_or_default());
            if torn.is_pass() {
                return Err(format!("a pass although the end is cut off at {cut}"));
            }
        }
    }
    for garbage in [
        &b"x\n"[..],
        b"\n",
        b"{}\n",
        b"\xff",
        b"{\"seq\":0,\"t\":0,\"type\":\"run.started\"}\n",
    ] {
        if replay(&[valid, garbage].concat()) != whole {
            return Err(format!(
                "what follows the valid prefix changes it: {}",
                String::from_utf8_lossy(garbage)
            ));
        }
    }
    Ok(())
}

/// A plan, drawn by the first eight bytes, and any decisions. Played in virtual time, it ends as a
/// loop would say, whatever the order of what is simultaneous; and whatever events come, sensible
/// or not, nothing is started that runs, ends twice, or begins after the end.
pub fn runner(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let Some(mut case) = CASES.with_borrow(|all| drawn(all, choices.take(8))) else {
        return;
    };
    let how = choices.byte();
    let seed = choices.take(4);
    if how % 4 == 0 {
        any_events(&case, choices);
        return;
    }
    if how % 4 == 1 {
        case.plan.policy.jobs = Jobs::ONE;
    }
    let picks: Vec<usize> = choices
        .0
        .iter()
        .map(|b| usize::from(*b))
        .chain([1])
        .collect();
    let other: Vec<usize> = picks.iter().rev().map(|p| p ^ 0x55).collect();
    let calm = Incidents::default();
    let [one, two] = [&picks, &other].map(|picks| played(&case, &calm, picks));
    assert_eq!(
        said(&case, &one),
        said(&case, &two),
        "the order of what is simultaneous: {case:?}\n{:?}\n{:?}",
        one.trace,
        two.trace
    );
    for running in side_by_side(&one.trace) {
        assert!(
            running.len() <= case.plan.policy.jobs.most(1),
            "{running:?} at once"
        );
        let tiers: BTreeSet<u8> = running.iter().map(|i| case.plan.steps[*i].tier).collect();
        assert!(tiers.len() <= 1, "{running:?} of different tiers");
    }
    if case.plan.policy.jobs == Jobs::ONE {
        // The loop knows nothing of output.
        let unread = |(status, cause): (Status, Option<Cause>)| {
            (
                status,
                cause.filter(|c| (status, *c) != (Status::Passed, Cause::OutputUnread)),
            )
        };
        let ended: Vec<_> = one
            .records
            .iter()
            .map(|r| unread((r.status, r.reason)))
            .collect();
        assert_eq!(ended, sequentially(&case), "{case:?}");
    }
    let Some(incidents) = INCIDENTS.with_borrow(|all| drawn(all, seed)) else {
        return;
    };
    let hit = played(&case, &incidents, &picks);
    let judgement = judge(
        &case.plan,
        &hit.records,
        &hit.ending,
        &RunFacts::default(),
        Require::default(),
    );
    if hit.ending.cancelled.is_some() || hit.ending.storage.is_some() {
        assert!(!judgement.verdict.is_pass(), "{judgement:?}");
    }
    for (step, record) in case.plan.steps.iter().zip(&hit.records) {
        let needed = |id: &String| {
            hit.records
                .iter()
                .find(|r| r.id == *id)
                .is_some_and(|r| r.status.is_pass())
        };
        assert!(
            !record.status.is_pass() || step.always || step.needs.iter().all(needed),
            "{} passed without its needs",
            step.id
        );
    }
}

fn played(case: &Case, incidents: &Incidents, picks: &[usize]) -> Played {
    play(case, incidents, &mut chooser(picks.to_vec()))
        .unwrap_or_else(|why| panic!("{why}\n{case:?}"))
}

fn reported(case: &Case, played: &Played) -> Report {
    let circumstances = Circumstances {
        attempt: 1,
        retries: 3,
        run_id: "r".into(),
        ..Circumstances::default()
    };
    report(
        &case.plan,
        played.records.clone(),
        &played.ending,
        circumstances,
    )
}

fn said(case: &Case, played: &Played) -> String {
    serde_json::to_string(&reported(case, played)).unwrap()
}

/// Events in any order, about any step, at any time, against a count of what runs.
fn any_events(case: &Case, mut choices: Choices<'_>) {
    let plan = &case.plan;
    let count = plan.steps.len();
    let (mut state, actions) = RunState::new(Arc::new(plan.clone()), BTreeMap::new(), 0);
    let mut running: BTreeMap<StepIndex, u32> = BTreeMap::new();
    let mut tries: Dense<StepIndex, u32> = Dense::filled(0, count);
    let mut now: u64 = 0;
    let mut seen = |actions: Vec<Action>, running: &mut BTreeMap<StepIndex, u32>, is_done: bool| {
        let mut dones = 0;
        for action in actions {
            match action {
                Action::Spawn {
                    step,
                    attempt,
                    limit_ms,
                    elsewhere,
                } => {
                    assert!(!elsewhere, "nothing is executed elsewhere");
                    assert!(
                        !running.contains_key(&step),
                        "{step:?} is started while it runs"
                    );
                    assert!(
                        limit_ms >= 1 && limit_ms <= plan.step(step).timeout_ms,
                        "a limit of {limit_ms}"
                    );
                    tries[step] += 1;
                    assert_eq!(attempt, tries[step], "tries are counted from 1");
                    assert!(
                        attempt <= plan.step(step).retries + 1,
                        "{step:?} is tried {attempt} times"
                    );
                    running.insert(step, attempt);
                    assert!(
                        running.len() <= plan.policy.jobs.most(1),
                        "{running:?} at once"
                    );
                }

                Action::Terminate { step, .. } | Action::Kill { step, .. } => {
                    assert!(
                        running.contains_key(&step),
                        "{step:?} is stopped and does not run"
                    );
                }
                Action::WakeAt { .. } => {}
                Action::Done => dones += 1,
            }
        }
        assert_eq!(
            dones,
            usize::from(is_done),
            "done is said once, when it is so"
        );
    };
    seen(actions, &mut running, state.is_done());
    for _ in 0..200 {
        if choices.is_over() {
            break;
        }
        let (what, value) = (choices.byte(), choices.byte());
        // Time goes back now and then; it must not matter.
        let at = if what & 0x40 == 0 {
            now + u64::from(value)
        } else {
            now.saturating_sub(u64::from(value))
        };
        now = now.max(at);
        let index = StepIndex::new(usize::from(value) % count.max(1));
        // The end of a try that there never was, too; not of one that this very event makes the
        // machine start.
        let more = u32::from(what & 0x20 != 0);
        let attempt = running
            .get(&index)
            .map_or(9 * more, |attempt| attempt + more);
        let event = match what % 8 {
            0..=3 => {
                let exit = [Some(0), Some(1), Some(77), None][usize::from(what % 4)];
                let signal = exit.is_none().then(|| "SIGKILL".to_owned());
                let evidence = Evidence {
                    exit,
                    signal,
                    stdout: Captured::from(&b"x\n"[..]),
                    ..Evidence::default()
                };
                if running.get(&index) == Some(&attempt) && !state.is_done() {
                    running.remove(&index);
                }
                Event::Finished {
                    step: index,
                    attempt,
                    at,
                    evidence: Box::new(evidence),
                }
            }
            4 => Event::Began {
                step: index,
                attempt,
                at,
            },
            5 => Event::Interrupt {
                at,
                signal: Interrupt::Term,
            },
            6 if what & 0x10 != 0 => Event::RecordFailed {
                at,
                message: "no space left".to_owned(),
            },
            6 => Event::InstantComplete { at },
            _ => Event::Time { at },
        };
        let was_done = state.is_done();
        let before = state.records();
        let actions = state.handle(event);
        assert_eq!(state.records().len(), count);
        if was_done {
            assert!(actions.is_empty(), "{actions:?} after the end");
            assert_eq!(state.records(), before, "the end is the end");
        } else {
            seen(actions, &mut running, state.is_done());
        }
        assert!(
            !state.is_done() || running.is_empty(),
            "done while {running:?} run"
        );
    }
    let judgement = judge(
        plan,
        &state.records(),
        &state.ending(),
        &RunFacts::default(),
        Require::default(),
    );
    let blocked = running
        .keys()
        .any(|i| plan.step(*i).severity == vplan::check::Severity::Blocking);
    assert!(
        !(blocked && judgement.verdict.is_pass()),
        "a pass while {running:?} run"
    );
}

/// A run, drawn by the first twelve bytes, and any changes to its records: the journal and the
/// report never say better than before what happened, unless `vplan verify` sees it.
pub fn tamper(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let Some(case) = CASES.with_borrow(|all| drawn(all, choices.take(8))) else {
        return;
    };
    let Some(incidents) = INCIDENTS.with_borrow(|all| drawn(all, choices.take(4))) else {
        return;
    };
    let case = Case {
        plan: seal(case.plan.clone()),
        ..case
    };
    let picks: Vec<usize> = choices
        .take(4)
        .iter()
        .map(|b| usize::from(*b))
        .chain([1])
        .collect();
    let played = played(&case, &incidents, &picks);
    let report = reported(&case, &played);
    let text = journal_of(&case, &played, &report);
    let good = replay(text.as_bytes());
    assert_eq!(
        (good.bytes, good.is_pass()),
        (text.len(), report.verdict.is_pass())
    );
    let holds = |report: &Report, run| {
        examine(report, Some(&case.plan), Some(run))
            .iter()
            .all(|a| a.holds != AspectState::No)
    };
    assert!(
        holds(&report, &good),
        "{:?}",
        examine(&report, Some(&case.plan), Some(&good))
    );

    let how = choices.byte();
    if how % 2 == 0 {
        let edited = mutated(text.as_bytes(), &mut choices);
        journal_laws(&edited).unwrap();
        let run = replay(&edited);
        assert!(
            good.is_pass() || !run.is_pass(),
            "an edit made it a pass:\n{}",
            String::from_utf8_lossy(&edited)
        );
        for (one, other) in run.steps.iter().zip(&good.steps) {
            if one.id == other.id
                && run.end != good.end
                && run.end != vplan::run::journal::JournalEnd::Interrupted
            {
                assert!(!holds(&report, &run), "another end, and nobody sees it");
            }
        }
    } else {
        let mut document = serde_json::to_string(&report).unwrap();
        // Or somebody puts one word for another, and knows which.
        for _ in 0..choices.byte() % 4 {
            const BAD: [&str; 8] = [
                "failed",
                "not_run",
                "errored",
                "timed_out",
                "cancelled",
                "incomplete",
                "skipped",
                "narrowed",
            ];
            let (bad, good) = (choices.one(&BAD), choices.one(&["passed", "flaky", "full"]));
            let places: Vec<usize> = document
                .match_indices(&format!("\"{bad}\""))
                .map(|(at, _)| at + 1)
                .collect();
            if !places.is_empty() {
                let at = places[usize::from(choices.byte()) % places.len()];
                document.replace_range(at..at + bad.len(), good);
            }
        }
        let edited = mutated(document.as_bytes(), &mut choices);
        let Ok(part) = read("report.json", &edited) else {
            return;
        };
        let (was, is) = (report.verdict.is_pass(), part.report.verdict.is_pass());
        if is && !was
            || part.report.verdict != report.verdict
            || part.report.exit_code != report.exit_code
        {
            assert!(
                !holds(&part.report, &good),
                "another verdict, and nobody sees it:\n{}",
                String::from_utf8_lossy(&edited)
            );
        }
        let statuses = |r: &Report| {
            r.steps
                .iter()
                .map(|s| (s.id.clone(), s.status))
                .collect::<Vec<_>>()
        };
        if statuses(&part.report) != statuses(&report) {
            assert!(
                !holds(&part.report, &good),
                "another status, and nobody sees it:\n{}",
                String::from_utf8_lossy(&edited)
            );
        }
    }
}
