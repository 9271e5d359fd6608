//! Settles the one status of each step, in plan order, from the results of all of them.
//!
//! Nothing here depends on when something became known: only on what was known when everything had
//! ended.

use super::record::{INTERRUPTED, StepRecord};
use super::state::{Ending, RunState, Track};
use vplan_base::index::Dense;
use vplan_base::word::visible;
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_plan::{Step, StepIndex};

/// The state of a needed step that determines why a step did not run.
type Need = (Status, Option<Cause>);

impl RunState {
    /// Returns how a step that is over ended, as far as is known now, for progress. The report may
    /// differ: a failure before it in plan order can still come. `None` while it waits or runs.
    #[must_use]
    pub fn provisional_outcome(&self, step: StepIndex) -> Option<Outcome> {
        self.is_over(step).then(|| provisional(self, step))
    }

    /// Returns one record a step, in plan order; final when [`RunState::is_done`].
    #[must_use]
    pub fn records(&self) -> Vec<StepRecord> {
        records(self)
    }

    /// Returns how the run ended, without its steps; final when [`RunState::is_done`].
    #[must_use]
    pub fn ending(&self) -> Ending {
        ending(self, self.now)
    }
}

/// Returns one record a step, in plan order.
fn records(state: &RunState) -> Vec<StepRecord> {
    let mut records: Dense<StepIndex, StepRecord> = Dense::default();
    for (index, step) in state.plan.numbered_steps() {
        let before = |i| {
            let record: &StepRecord = &records[i];
            (record.status, record.reason)
        };
        let record = counted(state, index, step).unwrap_or_else(|| {
            StepRecord::without_evidence(step, never(state, index, step, &before))
        });
        records.push(record);
    }
    records.into_vec()
}

/// Returns the provisional outcome of one step that is over, as far as is known now.
fn provisional(state: &RunState, index: StepIndex) -> Outcome {
    let step = state.plan.step(index);
    let before = |i| match state.provisional_outcome(i) {
        Some(outcome) => (outcome.status, outcome.cause),
        None => (Status::NotRun, None),
    };
    match counted(state, index, step) {
        Some(record) => record.outcome(),
        None => never(state, index, step, &before),
    }
}

/// Returns the step's own outcome, if that counts.
fn counted(state: &RunState, index: StepIndex, step: &Step) -> Option<StepRecord> {
    if !step.always && state.is_behind_failure(index) {
        return None;
    }
    let track = &state.tracks[index];
    let mut record = track.last.clone()?;
    let denied = match track.denied {
        Some(Cause::Budget) => "the budget left no time for another try",
        Some(Cause::Cancelled) => "the run was interrupted before another try",
        Some(Cause::Storage) => "the record could not be written, so there was no other try",
        _ => return Some(record),
    };
    record.detail = Some(
        record
            .detail
            .map_or_else(|| denied.to_owned(), |detail| format!("{detail}; {denied}")),
    );
    Some(record)
}

/// Returns why the step did not run, or why its outcome does not count; `before` tells of a step that
/// it needs.
fn never(
    state: &RunState,
    index: StepIndex,
    step: &Step,
    before: &dyn Fn(StepIndex) -> Need,
) -> Outcome {
    let name = |i: StepIndex| visible(state.plan.step(i).id.as_bytes());
    let not_run = |cause, detail: String| Outcome::new(Status::NotRun, cause, detail);
    if !step.always {
        if let Some(first) = state
            .first_failure
            .filter(|_| state.is_behind_failure(index))
        {
            return not_run(
                Cause::FailFast,
                format!("`{}` failed before it", name(first)),
            );
        }
        let unmet = state.tracks[index].needs.iter().find_map(|i| {
            let (status, reason) = before(*i);
            (!status.is_pass()).then_some((*i, status, reason))
        });
        match unmet {
            // A needed step that did not run has the same cause, which tells more than "needs".
            None
            | Some((_, Status::NotRun, Some(Cause::Budget | Cause::Cancelled | Cause::Storage))) => {
            }
            Some((needed, status, _)) => {
                let how = if status == Status::NotRun {
                    "did not run"
                } else {
                    "did not pass"
                };
                return not_run(
                    Cause::Needs,
                    format!("`{}`, which it needs, {how}", name(needed)),
                );
            }
        }
    }
    match state.ended_by(step) {
        Cause::Storage => {
            let message = state
                .storage
                .as_ref()
                .map_or("", |(_, message)| message.as_str());
            not_run(
                Cause::Storage,
                format!(
                    "the record could not be written: {}",
                    visible(message.as_bytes())
                ),
            )
        }
        Cause::Cancelled if state.tracks[index].was_interrupted => {
            not_run(Cause::Cancelled, INTERRUPTED.to_owned())
        }
        Cause::Cancelled => not_run(Cause::Cancelled, "the run was interrupted".to_owned()),
        _ => not_run(Cause::Budget, "the budget was used up".to_owned()),
    }
}

/// Returns how the run ended, without its steps.
fn ending(state: &RunState, now: u64) -> Ending {
    let records = records(state);
    // A refused try counts only where the tries before it do.
    let denied = |r: &StepRecord, t: &Track| {
        if r.status == Status::NotRun {
            None
        } else {
            t.denied
        }
    };
    let ends_with = |cause| {
        records
            .iter()
            .zip(&state.tracks)
            .any(|(r, t)| r.reason == Some(cause) || denied(r, t) == Some(cause))
    };
    let went_on_after = |moment: u64| {
        state
            .tracks
            .iter()
            .any(|t| t.ended_at.is_some_and(|at| at > moment))
    };
    let cancelled = state
        .cancel
        .filter(|(at, _)| went_on_after(*at) || ends_with(Cause::Cancelled));
    let storage = state
        .storage
        .as_ref()
        .filter(|(at, _)| went_on_after(*at) || ends_with(Cause::Storage));
    Ending {
        budget_used: ends_with(Cause::Budget),
        cancelled: cancelled.map(|(_, signal)| signal),
        duration_ms: now,
        // An interrupt comes first: steps that a full disk would have kept from running are
        // cancelled.
        storage: storage
            .filter(|_| cancelled.is_none())
            .map(|(_, message)| message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{Behaviour, Case, Finish, Incidents, Played, plan, play, step};
    use crate::event::Interrupt;

    /// Plays two steps in parallel, or one after the other; `tries` are exit codes and durations in
    /// milliseconds.
    fn played(
        tries: [&[(i32, u64)]; 2],
        jobs: u32,
        budget_ms: Option<u64>,
        incidents: &Incidents,
    ) -> Played {
        let mut plan = plan(vec![step("a"), step("b")]);
        (
            plan.policy.jobs,
            plan.policy.budget_ms,
            plan.policy.fail_fast,
        ) = (jobs.into(), budget_ms, false);
        let behaviour = |(exit, duration_ms): &(i32, u64)| Behaviour {
            duration_ms: *duration_ms,
            finish: Finish::Exit(*exit),
            stop_ms: Some(1),
        };
        for (step, tries) in plan.steps.iter_mut().zip(tries) {
            step.retries = u32::try_from(tries.len()).unwrap() - 1;
        }
        let script = tries
            .iter()
            .map(|tries| tries.iter().map(behaviour).collect())
            .collect();
        play(&Case { plan, script }, incidents, &mut |_| 1).unwrap()
    }

    fn details(played: &Played) -> Vec<Option<&str>> {
        played.records.iter().map(|r| r.detail.as_deref()).collect()
    }

    #[test]
    fn a_try_that_there_was_no_more_time_for() {
        let none = Incidents {
            interrupts: Vec::new(),
            record_fails: None,
        };
        let again: &[(i32, u64)] = &[(1, 10), (0, 5000)];
        let plain = [again, &[(0, 1)]];
        // The budget ends with the first try.
        let budget = played([&[(1, 100), (0, 5000)], &[(0, 1)]], 1, Some(100), &none);
        assert_eq!(
            details(&budget),
            [
                Some("exit code 1; the budget left no time for another try"),
                Some("the budget was used up")
            ]
        );
        assert!(budget.ending.budget_used);
        let interrupt = Incidents {
            interrupts: vec![(50, Interrupt::Term)],
            record_fails: None,
        };
        let cancelled = played(plain, 1, None, &interrupt);
        assert_eq!(
            details(&cancelled),
            [
                Some("exit code 1; the run was interrupted before another try"),
                Some("the run was interrupted")
            ]
        );
        assert_eq!(cancelled.ending.cancelled, Some(Interrupt::Term));
        let full = played(
            plain,
            1,
            None,
            &Incidents {
                interrupts: Vec::new(),
                record_fails: Some(5),
            },
        );
        let [Some(first), Some(second)] = details(&full)[..] else {
            panic!("{:?}", details(&full))
        };
        assert_eq!(
            first,
            "exit code 1; the record could not be written, so there was no other try"
        );
        assert!(
            second.starts_with("the record could not be written: "),
            "{second}"
        );
        assert_eq!(full.records[1].reason, Some(Cause::Storage));
        assert!(full.ending.storage.is_some() && full.ending.cancelled.is_none());
    }

    #[test]
    fn what_needs_a_step_says_what_became_of_it() {
        let mut three = plan(vec![step("a"), step("b"), step("c")]);
        three.policy.fail_fast = false;
        three.steps[1].needs = vec!["a".into()];
        three.steps[2].needs = vec!["b".into()];
        let quick = |exit| {
            vec![Behaviour {
                duration_ms: 1,
                finish: Finish::Exit(exit),
                stop_ms: Some(1),
            }]
        };
        let script = vec![quick(1), quick(0), quick(0)];
        let none = Incidents {
            interrupts: Vec::new(),
            record_fails: None,
        };
        let ended = play(
            &Case {
                plan: three,
                script,
            },
            &none,
            &mut |_| 1,
        )
        .unwrap();
        assert_eq!(
            details(&ended)[1..],
            [
                Some("`a`, which it needs, did not pass"),
                Some("`b`, which it needs, did not run")
            ]
        );
    }

    /// Checks that a signal, or a full disk, after the last step has ended does not belong to the
    /// run.
    #[test]
    fn what_comes_after_the_end_is_not_said() {
        let steps: [&[(i32, u64)]; 2] = [&[(0, 100)], &[(0, 200)]];
        for (at, counts) in [(50, true), (150, true), (199, true), (200, false)] {
            let interrupt = Incidents {
                interrupts: vec![(at, Interrupt::Int)],
                record_fails: None,
            };
            assert_eq!(
                played(steps, 2, None, &interrupt)
                    .ending
                    .cancelled
                    .is_some(),
                counts,
                "{at}"
            );
            let full = Incidents {
                interrupts: Vec::new(),
                record_fails: Some(at),
            };
            assert_eq!(
                played(steps, 2, None, &full).ending.storage.is_some(),
                counts,
                "{at}"
            );
            // An interrupt precedes a full disk.
            let both = Incidents {
                interrupts: vec![(at, Interrupt::Int)],
                record_fails: Some(at),
            };
            let ending = played(steps, 2, None, &both).ending;
            assert!(
                ending.cancelled.is_some() == counts && ending.storage.is_none(),
                "{at}"
            );
        }
    }

    /// Checks an interrupt while one of two steps runs: that one is told from the one that waits.
    #[test]
    fn what_was_running_is_said() {
        let steps: [&[(i32, u64)]; 2] = [&[(0, 10)], &[(0, 10)]];
        let interrupt = Incidents {
            interrupts: vec![(5, Interrupt::Int)],
            record_fails: None,
        };
        let waits = Some("the run was interrupted");
        assert_eq!(
            details(&played(steps, 1, None, &interrupt)),
            [Some(INTERRUPTED), waits]
        );
        assert_eq!(
            details(&played(steps, 2, None, &interrupt)),
            [Some(INTERRUPTED); 2]
        );
    }

    /// Checks an interrupt at a moment when nothing was running any more, but there was more to do.
    #[test]
    fn what_comes_between_two_steps_is_said() {
        let steps: [&[(i32, u64)]; 2] = [&[(0, 10)], &[(0, 10)]];
        let interrupt = Incidents {
            interrupts: vec![(10, Interrupt::Int)],
            record_fails: None,
        };
        let cancelled = played(steps, 1, None, &interrupt);
        assert_eq!(details(&cancelled), [None, Some("the run was interrupted")]);
        assert_eq!(cancelled.ending.cancelled, Some(Interrupt::Int));
        let full = played(
            steps,
            1,
            None,
            &Incidents {
                interrupts: Vec::new(),
                record_fails: Some(10),
            },
        );
        assert!(full.ending.storage.is_some());
    }

    /// Checks a run without time for another try, and with nothing else left to do.
    #[test]
    fn the_last_try_that_there_was_no_more_time_for() {
        let none = Incidents {
            interrupts: Vec::new(),
            record_fails: None,
        };
        let played = played([&[(1, 100), (0, 5000)], &[(0, 1)]], 2, Some(100), &none);
        assert_eq!(
            details(&played),
            [
                Some("exit code 1; the budget left no time for another try"),
                None
            ]
        );
        assert!(played.ending.budget_used);
    }
}
