//! Writes the feedback for the agent or person who repairs a failure.
//!
//! Everything in it is bounded and inert, because output of commands is foreign text.

mod check;
mod scope;
mod share;
mod suggestion;

use super::record::StepRecord;
use super::report::Report;
use crate::base::change::ChangedFile;
use crate::base::path::RepoPath;
use crate::base::vocabulary::{FailureCode, Open};
use crate::base::word::{and_more, visible};
use crate::check::Severity;
use crate::check::outcome::{Cause, Status};
use crate::check::reading::{FailedTest, Finding, TestCounts};
use crate::plan::caveat::{self, Caveat, Effect};
use crate::plan::scope::{List, OUTSIDE};
use crate::plan::{Plan, Step};
use check::{ALONE, AMONG_OTHERS, cut};
pub use check::{EXCERPT_BYTES, Excerpt, FINDINGS_SHOWN, FailedCheck, TEXT_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use share::CAVEATS_SHOWN;
pub use share::{Size, json_size};
use std::collections::BTreeMap;

/// The largest feedback of a report in bytes of canonical JSON, besides the names of the failing
/// checks.
pub const FEEDBACK_BYTES: usize = 64 * 1024;
/// The smallest budget that can be asked for, in bytes.
pub const LEAST_BYTES: usize = 1024;
/// The most changed files that are named.
pub const FILES_SHOWN: usize = 50;

/// The blocking failures of a run, made for their repair: the first one in plan order, and the
/// others behind it. All foreign text in it is inert, and all of it but the names of the checks
/// bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// Changes outside the scope that a step of the plan explains, as globs that the owner of the
    /// contract could allow. A hint; vplan allows nothing by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_paths_needed: Vec<AllowedPath>,
    /// The number of this round, from 1.
    pub attempt_number: u32,
    /// The caveats: why a pass means less than was requested, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// The first changed files, in byte order.
    pub changed_files: Vec<ChangedFile>,
    /// The number of changed files.
    pub changed_files_count: usize,
    /// Whether some of what is known of the first failure was left out for want of space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The outcome, on one line.
    pub detail: String,
    /// The first findings: those that the baseline does not list, errors before warnings, those with
    /// a place before those without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Finding>,
    /// The number of errors in its output, where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// Its exit code, if it exited by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The command that failed; empty when nothing was run.
    pub failed_command: String,
    /// The first tests that failed, by its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<FailedTest>,
    /// The ids of all blocking failures: the first one, then the others in plan order. Complete,
    /// whatever was left out elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// The failure code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<Open<FailureCode>>,
    /// The format in which its output was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The number of its findings and failed tests that the baseline lists: they come last, and do
    /// not make it fail.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known: usize,
    /// Its whole output, relative to the run's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The blocking failures behind this one, in plan order: those whose details fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_failures: Vec<FailedCheck>,
    /// The number of other failures.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_failures_count: usize,
    /// The first changes outside the contract's scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_scope: Vec<OutsideScope>,
    /// The number of changes outside the scope.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub outside_scope_count: u64,
    /// The signs of failure in its output besides its counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The cause of the status.
    pub reason: Option<Cause>,
    /// The number of rounds left.
    pub retries_remaining: u32,
    /// Whether rounds are counted, so that attempt and retries mean something: the run has a
    /// subject, or is a round of a loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rounds_counted: bool,
    /// The run that this is about.
    #[serde(default)]
    pub run_id: String,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The status of the step; `not_run` when the change itself was refused.
    pub status: Option<Status>,
    /// Its standard error.
    pub stderr: Excerpt,
    /// Its standard output.
    pub stdout: Excerpt,
    /// Its id; empty when the change itself was refused.
    pub step_id: String,
    /// The advice for this kind of failure.
    pub suggestion: String,
    /// The number of tests that it ran, where its output was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// The number of warnings in its output, where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none_at_all(count: &u64) -> bool {
    *count == 0
}

/// A change outside the contract's scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutsideScope {
    /// The list that it is against: it is not in `allow`, or it is in `deny`.
    pub list: List,
    /// The file.
    pub path: RepoPath,
}

/// A glob that a scope could allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedPath {
    /// The glob: a path without special characters.
    pub path: String,
    /// The step whose program works with that file.
    pub step_id: String,
}

/// The round that a feedback belongs to.
#[derive(Clone, Debug, Default)]
pub struct Round<'a> {
    /// From 1.
    pub attempt: u32,
    /// Caveats: why a pass means less than was requested.
    pub caveats: &'a [Caveat],
    /// The number of rounds left.
    pub retries_remaining: u32,
    /// The run.
    pub run_id: &'a str,
}

impl Feedback {
    /// The first failure as a failing check; without an id where no check is to blame.
    #[must_use]
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
            known: self.known,
            log: self.log.clone(),
            problems: self.problems.clone(),
            reason: self.reason,
            signal: self.signal.clone(),
            stderr: self.stderr.clone(),
            stdout: self.stdout.clone(),
            suggestion: self.suggestion.clone(),
            tests: self.tests,
            warnings: self.warnings,
            ..FailedCheck::named(&self.step_id, self.status.unwrap_or(Status::NotRun))
        }
    }

    /// Replaces the first failure, but for its status.
    fn set_first(&mut self, check: FailedCheck) {
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

    /// What is said of a failing check.
    #[must_use]
    pub fn of(&self, id: &str) -> Option<FailedCheck> {
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
#[must_use]
pub fn feedback(plan: &Plan, records: &[StepRecord], round: &Round<'_>) -> Option<Feedback> {
    let changed = plan.request.changed.files();
    let common = Feedback {
        attempt_number: round.attempt,
        caveats: shown(round.caveats),
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
    whole.set_first(FailedCheck::of(Some(step), record, AMONG_OTHERS));
    // What is said of the others is made one by one: of thousands only the first ones fit.
    let count = others.len();
    let told = others
        .into_iter()
        .map(|(step, record)| FailedCheck::of(Some(step), record, AMONG_OTHERS));
    Some(share::fit(
        &whole,
        (told, count),
        FEEDBACK_BYTES,
        &json_size,
    ))
}

/// Makes the feedback about one check of a run that is over, also about one that fails only as a
/// warning. `None` where it did not fail. `plan`: that of the run, for the advice.
#[must_use]
pub fn about(report: &Report, plan: Option<&Plan>, id: &str) -> Option<Feedback> {
    let record = report.steps.iter().find(|r| r.id == id && is_failing(r))?;
    let step = plan.and_then(|plan| plan.steps.iter().find(|step| step.id == id));
    let common = report.feedback.clone().unwrap_or_else(|| Feedback {
        attempt_number: report.attempt,
        retries_remaining: report.retries_remaining,
        run_id: report.run_id.clone(),
        version: 1,
        ..Feedback::default()
    });
    let check = FailedCheck::of(step, record, ALONE);
    let check = match common.of(id) {
        Some(told) => check.with_output_of(&told),
        None => check,
    };
    let others = common.failing.iter().filter(|name| *name != id).count();
    let mut told = Feedback {
        allowed_paths_needed: Vec::new(),
        other_failures: Vec::new(),
        other_failures_count: others,
        outside_scope: Vec::new(),
        outside_scope_count: 0,
        status: Some(record.status),
        ..common
    };
    told.set_first(check);
    Some(told.within(FEEDBACK_BYTES, &json_size))
}

/// Whether a step has no pass for a reason of its own.
#[must_use]
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

/// Lists the caveats on a line each, those first that decide.
fn shown(caveats: &[Caveat]) -> Vec<String> {
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
    caveat::sorted(caveats)
        .into_iter()
        .take(CAVEATS_SHOWN)
        .map(line)
        .collect()
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
