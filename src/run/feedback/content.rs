//! The content of feedback, and how to derive it from a stored report.

use super::check::{Excerpt, FailedCheck};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::is_default;
use vplan_base::change::ChangedFile;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::{FailureCode, Open};
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::{FailedTest, Finding, TestCounts};
use vplan_plan::scope::List;
/// Maximum number of listed changed files.
pub const FILES_SHOWN: usize = 50;

/// The blocking failures of a run, made for their repair: the first one in plan order, and the
/// others behind it. All foreign text in it is inert, and all of it but the names of the checks
/// bounded.
#[serde_with::skip_serializing_none]
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
    pub errors: Option<u64>,
    /// Its exit code, if it exited by itself.
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
    pub failure_code: Option<Open<FailureCode>>,
    /// The format in which its output was read.
    pub format: Option<String>,
    /// The number of its findings and failed tests that the baseline lists: they come last, and do
    /// not make it fail.
    #[serde(default, skip_serializing_if = "is_default")]
    pub known: usize,
    /// Its whole output, relative to the run's directory.
    pub log: Option<String>,
    /// The blocking failures behind this one, in plan order: those whose details fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_failures: Vec<FailedCheck>,
    /// The number of other failures.
    #[serde(default, skip_serializing_if = "is_default")]
    pub other_failures_count: usize,
    /// The first changes outside the contract's scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_scope: Vec<OutsideScope>,
    /// The number of changes outside the scope.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outside_scope_count: u64,
    /// The signs of failure in its output besides its counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The cause of the status.
    #[serialize_always]
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
    pub signal: Option<String>,
    /// The status of the step; `not_run` when the change itself was refused.
    #[serialize_always]
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
    pub tests: Option<TestCounts>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// The number of warnings in its output, where it was read.
    pub warnings: Option<u64>,
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
