//! Which one status does each step get? In plan order, from what all of them did.
//!
//! Nothing here depends on when something became known: only on what was known when everything had ended.

use super::record::StepRecord;
use super::state::{Ending, RunState, Track};
use crate::base::word::visible;
use crate::check::outcome::{Cause, Outcome, Status};
use crate::plan::Step;

/// One record a step, in plan order.
pub(super) fn records(state: &RunState) -> Vec<StepRecord> {
    let mut records: Vec<StepRecord> = Vec::with_capacity(state.tracks.len());
    for (index, (step, track)) in state.plan.steps.iter().zip(&state.tracks).enumerate() {
        let record = match counted(state, index, step, track) {
            Some(record) => record,
            None => StepRecord::without_evidence(step, never(state, index, step, track, &records)),
        };
        records.push(record);
    }
    records
}

/// The same for one step that is over, as far as is known now.
pub(super) fn provisional(state: &RunState, index: usize) -> Outcome {
    let Some((step, track)) = state.plan.steps.get(index).zip(state.tracks.get(index)) else { return Outcome::PASSED };
    match counted(state, index, step, track) {
        Some(record) => record.outcome(),
        None => never(state, index, step, track, &[]),
    }
}

/// What the step itself says, if that counts.
fn counted(state: &RunState, index: usize, step: &Step, track: &Track) -> Option<StepRecord> {
    if !step.always && state.is_behind_failure(index) {
        return None;
    }
    let mut record = track.last.clone()?;
    let denied = match track.denied {
        Some(Cause::Budget) => "the budget left no time for another try",
        Some(Cause::Cancelled) => "the run was interrupted before another try",
        Some(Cause::Storage) => "the record could not be written, so there was no other try",
        _ => return Some(record),
    };
    record.detail = Some(record.detail.map_or_else(|| denied.to_owned(), |detail| format!("{detail}; {denied}")));
    Some(record)
}

/// Why the step did not run, or why what it did does not count.
fn never(state: &RunState, index: usize, step: &Step, track: &Track, before: &[StepRecord]) -> Outcome {
    let name = |i: usize| state.plan.steps.get(i).map_or_else(String::new, |s| visible(s.id.as_bytes()));
    let not_run = |cause, detail: String| Outcome::new(Status::NotRun, cause, detail);
    if !step.always {
        if let Some(first) = state.first_failure.filter(|_| state.is_behind_failure(index)) {
            return not_run(Cause::FailFast, format!("`{}` failed before it", name(first)));
        }
        let unmet = track.needs.iter().find_map(|i| {
            let (status, reason) = match before.get(*i) {
                Some(record) => (record.status, record.reason),
                None => state.so_far(*i).map_or((Status::NotRun, None), |o| (o.status, o.cause)),
            };
            (!status.is_pass()).then_some((*i, status, reason))
        });
        match unmet {
            // What it needs shares its fate; the root says more than "needs".
            None | Some((_, Status::NotRun, Some(Cause::Budget | Cause::Cancelled | Cause::Storage))) => {}
            Some((needed, status, _)) => {
                let how = if status == Status::NotRun { "did not run" } else { "did not pass" };
                return not_run(Cause::Needs, format!("`{}`, which it needs, {how}", name(needed)));
            }
        }
    }
    match state.ended_by(step) {
        Cause::Storage => {
            let message = state.storage.as_ref().map_or("", |(_, message)| message.as_str());
            not_run(Cause::Storage, format!("the record could not be written: {}", visible(message.as_bytes())))
        }
        Cause::Cancelled => not_run(Cause::Cancelled, "the run was interrupted".to_owned()),
        _ => not_run(Cause::Budget, "the budget was used up".to_owned()),
    }
}

/// How the run ended, beside its steps.
pub(super) fn ending(state: &RunState, now: u64) -> Ending {
    let records = records(state);
    // A refused try counts only where the tries before it do.
    let denied = |r: &StepRecord, t: &Track| if r.status == Status::NotRun { None } else { t.denied };
    let ends_with =
        |cause| records.iter().zip(&state.tracks).any(|(r, t)| r.reason == Some(cause) || denied(r, t) == Some(cause));
    let went_on_after = |moment: u64| state.tracks.iter().any(|t| t.ended_at.is_some_and(|at| at > moment));
    let cancelled = state.cancel.filter(|(at, _)| went_on_after(*at) || ends_with(Cause::Cancelled));
    let storage = state.storage.as_ref().filter(|(at, _)| went_on_after(*at) || ends_with(Cause::Storage));
    Ending {
        budget_used: ends_with(Cause::Budget),
        cancelled: cancelled.map(|(_, signal)| signal),
        duration_ms: now,
        // An interrupt says more: what a full disk would have kept from running, it has cancelled.
        storage: storage.filter(|_| cancelled.is_none()).map(|(_, message)| message.clone()),
    }
}
