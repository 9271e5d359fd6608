//! Settles the one status of each step, in plan order, from the results of all of them.
//!
//! Nothing here depends on when something became known: only on what was known when everything had
//! ended.

use super::record::{INTERRUPTED, StepRecord};
use super::state::{RunState, StateEnding};
use super::verdict::UNRECORDED;
use vplan_base::index::Dense;
use vplan_base::word::visible;
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_plan::{Step, StepIndex};

/// The state of a needed step that determines why a step did not run.
type Need = (Status, Option<Cause>);

impl RunState {
    /// Returns how a step that is over ended, as far as is known now, for progress. The report may
    /// differ: a failure before it in plan order can still come. `None` while it waits or runs.
    pub fn provisional_outcome(&self, index: StepIndex) -> Option<Outcome> {
        let before = |i| match self.provisional_outcome(i) {
            Some(outcome) => (outcome.status, outcome.cause),
            None => (Status::NotRun, None),
        };
        let step = self.plan.step(index);
        self.is_over(index)
            .then(|| match self.counted(index, step) {
                Some(record) => record.outcome(),
                None => self.never(index, step, &before),
            })
    }

    /// Returns one record a step, in plan order; final when [`RunState::is_done`].
    pub fn records(&self) -> Vec<StepRecord> {
        let mut records: Dense<StepIndex, StepRecord> = Dense::default();
        for (index, step) in self.plan.numbered_steps() {
            let before = |i: StepIndex| (records[i].status, records[i].reason);
            let never = || {
                let outcome = self.never(index, step, &before);
                StepRecord::without_evidence(step, outcome)
            };
            let record = self.counted(index, step).unwrap_or_else(never);
            records.push(record);
        }
        records.into_vec()
    }

    /// Returns how the run ended, without its steps; final when [`RunState::is_done`].
    pub fn ending(&self) -> StateEnding {
        let records = self.records();
        let ends_with = |cause| {
            // A refused try counts only where the tries before it do.
            records.iter().zip(&self.tracks).any(|(record, track)| {
                let is_denied = record.status != Status::NotRun && track.denied == Some(cause);
                record.reason == Some(cause) || is_denied
            })
        };
        let counts = |moment: u64, cause| {
            let mut ends = self.tracks.iter().filter_map(|track| track.ended_at);
            ends.any(|at| at > moment) || ends_with(cause)
        };
        let cancelled = self.cancel.filter(|(at, _)| counts(*at, Cause::Cancelled));
        let storage = self.storage.as_ref();
        // An interrupt comes first: steps that a full disk would have kept from running are
        // cancelled.
        let storage = storage.filter(|(at, _)| counts(*at, Cause::Storage) && cancelled.is_none());
        StateEnding {
            budget_used: ends_with(Cause::Budget),
            cancelled: cancelled.map(|(_, signal)| signal),
            duration_ms: self.now,
            storage: storage.map(|(_, message)| message.clone()),
        }
    }

    /// Returns the step's own outcome, if that counts.
    fn counted(&self, index: StepIndex, step: &Step) -> Option<StepRecord> {
        if !step.always && self.is_behind_failure(index) {
            return None;
        }
        let track = &self.tracks[index];
        let mut record = track.last.clone()?;
        let denied = match track.denied {
            Some(Cause::Budget) => "the budget left no time for another try",
            Some(Cause::Cancelled) => "the run was interrupted before another try",
            Some(Cause::Storage) => "the record could not be written, so there was no other try",
            _ => return Some(record),
        };
        record.detail = Some(match record.detail {
            Some(detail) => format!("{detail}; {denied}"),
            None => denied.to_owned(),
        });
        Some(record)
    }

    /// Returns why the step did not run, or why its outcome does not count; `before` tells of a
    /// step that it needs.
    fn never(&self, index: StepIndex, step: &Step, before: &dyn Fn(StepIndex) -> Need) -> Outcome {
        let name = |i: StepIndex| visible(&self.plan.step(i).id);
        let not_run = |cause, detail: String| Outcome::new(Status::NotRun, cause, detail);
        if !step.always {
            if let Some(first) = self.first_failure
                && self.is_behind_failure(index)
            {
                let detail = format!("`{}` failed before it", name(first));
                return not_run(Cause::FailFast, detail);
            }
            let mut needs = self.tracks[index].needs.iter().map(|i| (*i, before(*i)));
            let unmet = needs.find(|(_, (status, _))| !status.is_pass());
            let how = match unmet {
                // It has the same cause then, which tells more than "needs".
                Some((
                    _,
                    (Status::NotRun, Some(Cause::Budget | Cause::Cancelled | Cause::Storage)),
                )) => None,
                Some((needed, (Status::NotRun, _))) => Some((needed, "did not run")),
                Some((needed, _)) => Some((needed, "did not pass")),
                None => None,
            };
            if let Some((needed, how)) = how {
                let detail = format!("`{}`, which it needs, {how}", name(needed));
                return not_run(Cause::Needs, detail);
            }
        }
        let (cause, detail) = match self.ended_by(step) {
            Cause::Storage => {
                let message = self.storage.as_ref().map_or("", |(_, message)| message);
                let detail = format!("{UNRECORDED}{}", visible(message));
                return not_run(Cause::Storage, detail);
            }
            Cause::Cancelled if self.tracks[index].was_interrupted => {
                (Cause::Cancelled, INTERRUPTED)
            }
            Cause::Cancelled => (Cause::Cancelled, "the run was interrupted"),
            _ => (Cause::Budget, "the budget was used up"),
        };
        not_run(cause, detail.to_owned())
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

    /// Checks an interrupt while one of two steps runs: its detail differs from the waiting one's.
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

    /// Checks an interrupt between two steps, while nothing runs.
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
