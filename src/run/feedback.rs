//! Writes the feedback for the agent or person who repairs a failure.
//!
//! Everything in it is bounded and inert, because output of commands is foreign text.

mod scope;
mod suggestion;

use super::record::{StepRecord, head, tail};
use crate::base::canon::to_canonical;
use crate::base::change::ChangedFile;
use crate::base::inert::inert;
use crate::base::path::RepoPath;
use crate::base::vocabulary::{FailureCode, Open};
use crate::base::word::{and_more, visible};
use crate::check::Severity;
use crate::check::evidence::{Captured, Evidence};
use crate::check::outcome::{Cause, Status};
use crate::check::reading::{FailedTest, Finding, Level, TestCounts};
use crate::plan::caveat::{self, Caveat};
use crate::plan::scope::{List, OUTSIDE};
use crate::plan::{Plan, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest feedback in bytes of canonical JSON. A larger one is shortened evenly.
pub const FEEDBACK_BYTES: usize = 64 * 1024;
/// The most bytes of each end of a stream that are shown.
pub const EXCERPT_BYTES: usize = 4096;
/// The most changed files that are named.
pub const FILES_SHOWN: usize = 50;
/// The most findings, failed tests and problems that are shown, each.
pub const FINDINGS_SHOWN: usize = 10;
/// The most further failures that are named.
pub const OTHERS_SHOWN: usize = 20;
/// The most bytes of a message, a name or a command that are shown.
pub const TEXT_BYTES: usize = 1024;

/// The first blocking failure in plan order, made for its repair. All foreign text in it is inert,
/// and all of it together bounded to 64 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// Changes outside the scope that a step of the plan explains, as globs that whoever owns the
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
    /// The outcome, on one line.
    pub detail: String,
    /// The first findings, errors before warnings, those with a place before those without.
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
    /// The failure code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<Open<FailureCode>>,
    /// The format in which its output was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Its whole output, relative to the run's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The blocking failures behind this one, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_failures: Vec<OtherFailure>,
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

/// A blocking failure behind the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherFailure {
    /// Its command.
    pub command: String,
    /// The outcome, on one line.
    pub detail: String,
    /// The failure code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<Open<FailureCode>>,
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: Status,
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

/// Beginning and end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Excerpt {
    /// The beginning, or everything when it is short.
    pub head: String,
    /// The number of bytes left out between both.
    pub omitted_bytes: u64,
    /// The end, unless `head` is everything.
    pub tail: String,
}

impl Excerpt {
    /// Returns both ends of a stream, at most `most` bytes each.
    #[must_use]
    pub fn of(captured: &Captured, most: usize) -> Self {
        let kept = captured.head.as_bytes().len() + captured.tail.as_bytes().len();
        let complete = u64::try_from(kept).is_ok_and(|kept| kept >= captured.total);
        if complete && kept <= 2 * most {
            return Self {
                head: head(captured, 2 * most),
                omitted_bytes: 0,
                tail: String::new(),
            };
        }
        let shown = u64::try_from(kept.min(2 * most)).unwrap_or(u64::MAX);
        Self {
            head: head(captured, most.min(kept)),
            omitted_bytes: captured.total.saturating_sub(shown),
            tail: tail(captured, most.min(kept.saturating_sub(most))),
        }
    }
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

/// Makes the feedback for a run: of changes outside the contract's scope, or else of its first
/// blocking failure. `None` when nothing failed.
#[must_use]
pub fn feedback(plan: &Plan, records: &[StepRecord], round: &Round<'_>) -> Option<Feedback> {
    (0..=Bounds::NOTHING)
        .map(Bounds::halved)
        .find_map(|bounds| {
            let made = make(plan, records, round, bounds);
            let fits = made
                .as_ref()
                .is_none_or(|f| to_canonical(f).len() <= FEEDBACK_BYTES);
            (fits || bounds == Bounds::halved(Bounds::NOTHING)).then_some(made)
        })?
}

/// The limits on the parts of a feedback.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bounds {
    excerpt: usize,
    files: usize,
    findings: usize,
    others: usize,
    text: usize,
}

impl Bounds {
    /// Halving the limits this often leaves nothing.
    const NOTHING: u32 = 16;

    fn halved(times: u32) -> Self {
        let half = |most: usize| most.checked_shr(times).unwrap_or(0);
        Self {
            excerpt: half(EXCERPT_BYTES),
            files: half(FILES_SHOWN),
            findings: half(FINDINGS_SHOWN),
            others: half(OTHERS_SHOWN),
            text: half(TEXT_BYTES),
        }
    }
}

fn make(
    plan: &Plan,
    records: &[StepRecord],
    round: &Round<'_>,
    bounds: Bounds,
) -> Option<Feedback> {
    let changed = plan.request.changed.files();
    let common = Feedback {
        attempt_number: round.attempt,
        caveats: shown(round.caveats, bounds),
        changed_files: changed.iter().take(bounds.files).cloned().collect(),
        changed_files_count: changed.len(),
        retries_remaining: round.retries_remaining,
        run_id: round.run_id.to_owned(),
        version: 1,
        ..Feedback::default()
    };
    if plan.notes.iter().any(|n| n.kind == OUTSIDE) {
        return Some(scope::violation(plan, common, bounds.files));
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
    let Some(first) = first else {
        return of_caveat(round.caveats, common, bounds);
    };
    let others: Vec<&StepRecord> = blocking()
        .map(|(_, r)| r)
        .filter(|r| (r.status.is_failure() || is_gap(r)) && !std::ptr::eq(*r, first.1))
        .collect();
    Some(of_step(first.0, first.1, &others, common, bounds))
}

/// Whether a blocking step has no result for a reason of its own: no time, or no judge.
fn is_gap(record: &StepRecord) -> bool {
    matches!(
        (record.status, record.reason),
        (Status::NotRun, Some(Cause::Budget)) | (Status::Skipped, Some(Cause::NoJudge))
    )
}

/// Lists the caveats on a line each, those first that decide.
fn shown(caveats: &[Caveat], bounds: Bounds) -> Vec<String> {
    let line = |c: &Caveat| {
        let files = c
            .files
            .iter()
            .take(bounds.others)
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let more = c.files_count.saturating_sub(files.len());
        let mut text = format!("{}: {}", c.code.name(), c.message);
        if !files.is_empty() {
            text.push_str(&format!(" ({}{})", files.join(", "), and_more(more)));
        }
        cut(&visible(text.as_bytes()), bounds.text)
    };
    caveat::sorted(caveats)
        .into_iter()
        .take(bounds.others)
        .map(line)
        .collect()
}

/// Makes the feedback where nothing failed and a caveat makes the verdict incomplete: the caveat is
/// to be resolved.
fn of_caveat(caveats: &[Caveat], common: Feedback, bounds: Bounds) -> Option<Feedback> {
    let first = caveat::blocking(caveats)?;
    Some(Feedback {
        detail: cut(&visible(first.message.as_bytes()), bounds.text),
        failure_code: Some(first.code.name().into()),
        suggestion: "no check failed, but the answer is incomplete: mend what is said here, then verify again"
            .to_owned(),
        ..common
    })
}

fn of_step(
    step: &Step,
    record: &StepRecord,
    others: &[&StepRecord],
    common: Feedback,
    bounds: Bounds,
) -> Feedback {
    let line = |text: &str| cut(&visible(text.as_bytes()), bounds.text);
    let lines = |text: &str| cut(&inert(text.as_bytes()), bounds.text);
    let excerpt = |of: fn(&Evidence) -> &Captured, fallback: &str| match &record.evidence {
        Some(evidence) => Excerpt::of(of(evidence), bounds.excerpt),
        None => Excerpt {
            head: cut(fallback, 2 * bounds.excerpt),
            ..Excerpt::default()
        },
    };
    let mut findings: Vec<&Finding> = record.diagnostics.iter().collect();
    findings.sort_by_key(|f| {
        (
            f.severity != Level::Error,
            f.file.is_none() || f.line.is_none(),
        )
    });
    let finding = |f: &Finding| Finding {
        code: f.code.as_deref().map(line),
        file: f.file.as_deref().map(line),
        message: lines(&f.message),
        ..f.clone()
    };
    let test = |t: &FailedTest| FailedTest {
        file: t.file.as_deref().map(line),
        line: t.line,
        message: t.message.as_deref().map(lines),
        name: line(&t.name),
    };
    let other = |r: &&StepRecord| OtherFailure {
        command: line(&r.command),
        detail: line(r.detail.as_deref().unwrap_or_default()),
        failure_code: r.failure_code.clone(),
        id: r.id.clone(),
        status: r.status,
    };
    Feedback {
        detail: cut(record.detail.as_deref().unwrap_or_default(), bounds.text),
        diagnostics: findings
            .into_iter()
            .take(bounds.findings)
            .map(finding)
            .collect(),
        errors: record.errors,
        exit_code: record.exit_code,
        failed_command: if bounds.text == TEXT_BYTES {
            cut(&record.command, EXCERPT_BYTES)
        } else {
            cut(&record.command, bounds.text)
        },
        failed_tests: record
            .failed_tests
            .iter()
            .take(bounds.findings)
            .map(test)
            .collect(),
        failure_code: record.failure_code.clone(),
        format: record.format.clone(),
        log: record.log.clone(),
        other_failures: others.iter().take(bounds.others).map(other).collect(),
        other_failures_count: others.len(),
        problems: record
            .problems
            .iter()
            .take(bounds.findings)
            .map(|p| line(p))
            .collect(),
        reason: record.reason,
        signal: record.signal.clone(),
        status: Some(record.status),
        stderr: excerpt(|e| &e.stderr, &record.stderr_tail),
        stdout: excerpt(|e| &e.stdout, &record.stdout_tail),
        step_id: record.id.clone(),
        suggestion: suggestion::suggestion(step, record),
        tests: record.tests,
        warnings: record.warnings,
        ..common
    }
}

/// Cuts a text to so many bytes, at a character, with a mark.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most)
        .rev()
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
