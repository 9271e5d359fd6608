//! Writes the feedback for the agent or person who repairs a failure.
//!
//! Everything in it is bounded and inert, because output of commands is foreign text.

pub(crate) mod check;
mod content;
mod scope;
mod share;
mod suggestion;

use super::record::StepRecord;
use check::{AMONG_OTHERS, cut};
pub use check::{EXCERPT_BYTES, Excerpt, FINDINGS_SHOWN, FailedCheck, TEXT_BYTES};
pub use content::{AllowedPath, FILES_SHOWN, Feedback, OutsideScope};
use share::CAVEATS_SHOWN;
pub use share::{Size, json_size};
use std::collections::BTreeMap;
use vplan_base::word::{and_more, visible};
use vplan_check::Severity;
use vplan_check::outcome::{Cause, Status};
use vplan_plan::caveat::{self, Caveat, Effect};
use vplan_plan::definition::{self, DEFINITION_CHANGED};
use vplan_plan::scope::OUTSIDE;
use vplan_plan::{Plan, Step};

/// Limit of a report's feedback in bytes of canonical JSON, without the names of the failing
/// checks.
pub const FEEDBACK_BYTES: usize = 64 * 1024;

/// Minimum budget that a caller can request, in bytes.
pub const LEAST_BYTES: usize = 1024;

/// The round that a feedback belongs to.
#[derive(Clone, Debug, Default)]
pub struct FeedbackRound<'a> {
    /// From 1.
    pub attempt: u32,
    /// Caveats: why a pass means less than was requested.
    pub caveats: &'a [Caveat],
    /// The number of rounds left.
    pub retries_remaining: u32,
    pub run_id: &'a str,
}

impl Feedback {
    /// The first failure as a failing check; without an id where no check is to blame.
    pub fn first(&self) -> FailedCheck {
        FailedCheck {
            command: self.failed_command.clone(),
            cut: self.cut,
            detail: self.detail.clone(),
            diagnostics: self.diagnostics.clone(),
            errors: self.errors,
            exit_code: self.exit_code,
            failed_tests: self.failed_tests.clone(),
            failure_code: self.failure_code.clone(),
            format: self.format.clone(),
            id: self.step_id.clone(),
            known: self.known,
            log: self.log.clone(),
            problems: self.problems.clone(),
            reason: self.reason,
            signal: self.signal.clone(),
            status: self.status.unwrap_or(Status::NotRun),
            stderr: self.stderr.clone(),
            stdout: self.stdout.clone(),
            suggestion: self.suggestion.clone(),
            tests: self.tests,
            warnings: self.warnings,
        }
    }

    /// Replaces the first failure, but for its status.
    pub(crate) fn set_first(&mut self, check: FailedCheck) {
        self.cut = check.cut;
        self.detail = check.detail;
        self.diagnostics = check.diagnostics;
        self.errors = check.errors;
        self.exit_code = check.exit_code;
        self.failed_command = check.command;
        self.failed_tests = check.failed_tests;
        self.failure_code = check.failure_code;
        self.format = check.format;
        self.known = check.known;
        self.log = check.log;
        self.problems = check.problems;
        self.reason = check.reason;
        self.signal = check.signal;
        self.stderr = check.stderr;
        self.stdout = check.stdout;
        self.step_id = check.id;
        self.suggestion = check.suggestion;
        self.tests = check.tests;
        self.warnings = check.warnings;
    }

    /// Returns the feedback on a failing check.
    pub fn get(&self, id: &str) -> Option<FailedCheck> {
        if self.step_id == id && !id.is_empty() {
            return Some(self.first());
        }
        self.other_failures.iter().find(|o| o.id == id).cloned()
    }

    /// Takes over what the shards of a plan say of the checks that each of them ran: they saw the
    /// output. The records of the shards have the logs, so that only those of the first failure's
    /// shard are named.
    pub(super) fn join(self, shards: Vec<Feedback>) -> Self {
        let own = shards.iter().position(|f| f.step_id == self.step_id);
        let mut known: BTreeMap<String, FailedCheck> = BTreeMap::new();
        let mut whole = self;
        for (at, shard) in shards.into_iter().enumerate() {
            let first = shard.first();
            for check in std::iter::once(first).chain(shard.other_failures) {
                let log = check.log.clone().filter(|_| Some(at) == own);
                known
                    .entry(check.id.clone())
                    .or_insert(FailedCheck { log, ..check });
            }
            if Some(at) == own {
                whole.run_id = shard.run_id;
            }
        }
        let mut better = |check: FailedCheck| {
            let log = check.log.clone().filter(|_| own.is_some());
            known
                .remove(&check.id)
                .filter(|found| !check.id.is_empty() && found.status == check.status)
                .unwrap_or(FailedCheck { log, ..check })
        };
        let first = better(whole.first());
        whole.set_first(first);
        whole.other_failures = std::mem::take(&mut whole.other_failures)
            .into_iter()
            .map(|other| {
                let other = FailedCheck { log: None, ..other };
                better(other)
            })
            .collect();
        whole.within(FEEDBACK_BYTES, &json_size)
    }
}

/// Makes the feedback for a run: of changes outside the contract's scope, or else of its blocking
/// failures. `None` when nothing failed.
pub fn feedback(
    plan: &Plan,
    records: &[StepRecord],
    round: &FeedbackRound<'_>,
) -> Option<Feedback> {
    let changed = plan.request.changed.files();
    let common = Feedback {
        attempt_number: round.attempt,
        caveats: format_caveats(round.caveats, plan),
        changed_files: changed.iter().take(FILES_SHOWN).cloned().collect(),
        changed_files_count: changed.len(),
        retries_remaining: round.retries_remaining,
        run_id: round.run_id.to_owned(),
        version: 1,
        ..Feedback::default()
    };
    if plan.notes.iter().any(|n| n.kind == OUTSIDE) {
        let told = scope::violation(plan, common, FILES_SHOWN);
        return Some(told.within(FEEDBACK_BYTES, &json_size));
    }
    let blocking = || {
        plan.steps
            .iter()
            .zip(records)
            .filter(|(s, _)| s.severity == Severity::Blocking)
    };
    // Steps that failed come before those that did not run.
    let first = blocking()
        .find(|(_, r)| r.status.is_failure())
        .or_else(|| blocking().find(|(_, r)| is_gap(r)));
    let Some((step, record)) = first else {
        let told = of_caveat(round.caveats, common)?;
        return Some(told.within(FEEDBACK_BYTES, &json_size));
    };
    let others: Vec<(&Step, &StepRecord)> = blocking()
        .filter(|(_, r)| is_failing(r) && !std::ptr::eq(*r, record))
        .collect();
    let names = std::iter::once(record).chain(others.iter().map(|(_, r)| *r));
    let mut whole = Feedback {
        failing: names.map(|r| r.id.clone()).collect(),
        other_failures_count: others.len(),
        status: Some(record.status),
        ..common
    };
    whole.set_first(FailedCheck::new(Some(step), record, AMONG_OTHERS));
    // The feedback on the others is made lazily: of thousands, only the first ones fit.
    let count = others.len();
    let told = others
        .into_iter()
        .map(|(step, record)| FailedCheck::new(Some(step), record, AMONG_OTHERS));
    Some(share::fit(
        &whole,
        (told, count),
        FEEDBACK_BYTES,
        &json_size,
    ))
}

/// Whether a step has no pass for a reason of its own.
pub fn is_failing(record: &StepRecord) -> bool {
    record.status.is_failure() || is_gap(record)
}

/// Whether a step has no result for a reason of its own: no time, or no judge.
fn is_gap(record: &StepRecord) -> bool {
    matches!(
        (record.status, record.reason),
        (Status::NotRun, Some(Cause::Budget)) | (Status::Skipped, Some(Cause::NoJudge))
    )
}

/// Lists the caveats on a line each, those first that decide; then what the change defines of the
/// steps.
fn format_caveats(caveats: &[Caveat], plan: &Plan) -> Vec<String> {
    let line = |c: &Caveat| {
        let files = c
            .files
            .iter()
            .take(CAVEATS_SHOWN)
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let more = c.files_count.saturating_sub(files.len());
        let mut text = format!("{}: {}", c.code.name(), c.message);
        if !files.is_empty() {
            text.push_str(&format!(" ({}{})", files.join(", "), and_more(more)));
        }
        cut(&visible(text.as_bytes()), TEXT_BYTES)
    };
    let defined = definition::lines(plan).into_iter();
    let defined = defined.map(|line| cut(&format!("{DEFINITION_CHANGED}: {line}"), TEXT_BYTES));
    let caveats = caveat::sorted(caveats).into_iter().map(line);
    caveats.chain(defined).take(CAVEATS_SHOWN).collect()
}

/// Makes the feedback where no check failed and a caveat keeps the run from having passed: the caveat
/// is to be resolved.
fn of_caveat(caveats: &[Caveat], common: Feedback) -> Option<Feedback> {
    let first = caveat::blocking(caveats)?;
    let suggestion = match first.effect {
        Effect::Fails => {
            "no check failed, but what they did is refused: mend what is said here, then verify again"
        }
        _ => {
            "no check failed, but the answer is incomplete: mend what is said here, then verify again"
        }
    };
    Some(Feedback {
        detail: cut(&visible(first.message.as_bytes()), TEXT_BYTES),
        failure_code: Some(first.code.name().into()),
        suggestion: suggestion.to_owned(),
        ..common
    })
}

#[cfg(test)]
mod tests;
