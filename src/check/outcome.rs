//! Defines how a step ended (status and cause), and the terms that decide it.

use super::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The terminal status of a step. Every planned step gets exactly one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It passed.
    Passed,
    /// It passed, with warnings within the limits.
    PassedWithWarnings,
    /// It passed on a later try.
    Flaky,
    /// It failed.
    Failed,
    /// Its time was up.
    TimedOut,
    /// It could not be run.
    Errored,
    /// It was waived, said so itself, or has no judge.
    Skipped,
    /// Its turn never came: fail fast, budget, needs, cancelled.
    NotRun,
    /// An earlier pass on the same inputs replaces it.
    Cached,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Status::Passed,
        Status::PassedWithWarnings,
        Status::Flaky,
        Status::Failed,
        Status::TimedOut,
        Status::Errored,
        Status::Skipped,
        Status::NotRun,
        Status::Cached,
    ];

    /// Whether what `needs` this step may run.
    #[must_use]
    pub fn is_pass(self) -> bool {
        matches!(
            self,
            Status::Passed | Status::PassedWithWarnings | Status::Flaky | Status::Cached
        )
    }

    /// Whether the step was tried and did not pass.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimedOut | Status::Errored)
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::PassedWithWarnings => "passed_with_warnings",
            Status::Flaky => "flaky",
            Status::Failed => "failed",
            Status::TimedOut => "timed_out",
            Status::Errored => "errored",
            Status::Skipped => "skipped",
            Status::NotRun => "not_run",
            Status::Cached => "cached",
        }
    }
}

/// The cause of a status: a stable word, the `reason` of a report. Words never change their
/// meaning.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// failed: an exit code that is not accepted.
    ExitCode,
    /// failed: a signal that vplan did not send.
    Signal,
    /// failed: an assertion of a `file` check.
    Assertion,
    /// failed: a file that `unchanged` selects differs.
    Mutated,
    /// failed: tracked files changed while it ran alone, which nothing lets it change.
    TreeChanged,
    /// failed: it says how its output is to be read, and nothing in it can be read so.
    NoEvidence,
    /// failed: its output says that tests failed.
    TestsFailed,
    /// failed: fewer tests ran than must, or none.
    TooFewTests,
    /// failed: more errors than are allowed.
    Errors,
    /// failed: more warnings than are allowed.
    Warnings,
    /// failed: its exit code and its output do not say the same.
    Contradiction,
    /// failed: the judge said so.
    Judged,
    /// errored: the judge gave no answer that can be used.
    BadAnswer,
    /// `timed_out`: its own limit.
    TimeLimit,
    /// `timed_out`: the budget ended while it ran; `not_run`: the budget was used up before.
    Budget,
    /// errored: the program or the directory is missing, or is not to be used.
    Missing,
    /// errored: a service that it runs beside was never ready, or died.
    Service,
    /// errored: it could not be confined as it asks to be.
    Sandbox,
    /// errored: it was sent elsewhere, and no answer that counts came back.
    Away,
    /// errored: the system could not start it for another reason.
    SpawnError,
    /// errored: the command needs a shell that there is not.
    Unsupported,
    /// errored: how it ended is not known.
    Lost,
    /// skipped: one of its own skip codes.
    SkipExit,
    /// skipped: there is no judge.
    #[serde(rename = "no judge")]
    NoJudge,
    /// `not_run`: a step before it failed.
    FailFast,
    /// `not_run`: a step that it needs did not pass.
    Needs,
    /// `not_run`: the run was interrupted.
    Cancelled,
    /// `not_run`: the record could not be written.
    Storage,
    /// `not_run`: the change is outside the contract's scope.
    Policy,
    /// `not_run`: the report of the shard that it belongs to is missing.
    Shard,
    /// flaky: it passed on a later try.
    Retried,
    /// cached: it passed in an earlier run, and all that it depends on is as it was.
    SameInputs,
    /// `passed_with_warnings`: what it found is known, by the baseline that counts.
    Known,
    /// passed: by exit code alone, because its output, or a part of it, is in no format that is
    /// known.
    OutputUnread,
}

impl Cause {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Cause::ExitCode => "exit_code",
            Cause::Signal => "signal",
            Cause::Assertion => "assertion",
            Cause::Mutated => "mutated",
            Cause::TreeChanged => "tree_changed",
            Cause::NoEvidence => "no_evidence",
            Cause::TestsFailed => "tests_failed",
            Cause::TooFewTests => "too_few_tests",
            Cause::Errors => "errors",
            Cause::Warnings => "warnings",
            Cause::Contradiction => "contradiction",
            Cause::Judged => "judged",
            Cause::BadAnswer => "bad_answer",
            Cause::TimeLimit => "time_limit",
            Cause::Budget => "budget",
            Cause::Missing => "missing",
            Cause::Service => "service",
            Cause::Sandbox => "sandbox",
            Cause::Away => "away",
            Cause::SpawnError => "spawn_error",
            Cause::Unsupported => "unsupported",
            Cause::Lost => "lost",
            Cause::SkipExit => "skip_exit",
            Cause::NoJudge => "no judge",
            Cause::FailFast => "fail_fast",
            Cause::Needs => "needs",
            Cause::Cancelled => "cancelled",
            Cause::Storage => "storage",
            Cause::Policy => "policy",
            Cause::Shard => "shard",
            Cause::Retried => "retried",
            Cause::SameInputs => "same_inputs",
            Cause::Known => "known",
            Cause::OutputUnread => "output_unread",
        }
    }
}

/// A status, what decided it, and the same for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The cause of the status; absent only for a pass.
    pub cause: Option<Cause>,
    /// One line for people, safe to show; absent only for a plain pass.
    pub detail: Option<String>,
    /// The status.
    pub status: Status,
}

impl Outcome {
    /// A plain pass.
    pub const PASSED: Outcome = Outcome {
        cause: None,
        detail: None,
        status: Status::Passed,
    };

    /// A status with its cause.
    #[must_use]
    pub fn new(status: Status, cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            cause: Some(cause),
            detail: Some(detail.into()),
            status,
        }
    }
}

/// The terms by which a try is evaluated: the relevant settings of its step, and the limit that
/// this try had.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Whether `limit_ms` is what the budget left, not the step's own limit.
    pub by_budget: bool,
    /// Accepted exit codes; none means 0.
    pub exit: &'a [i32],
    /// The verb.
    pub kind: Kind,
    /// The limit of this try in milliseconds.
    pub limit_ms: u64,
    /// The contract's terms for the output.
    pub output: Output<'a>,
    /// Codes that mean "does not apply here".
    pub skip_exit: &'a [i32],
}

/// The terms of a contract for a step's output. Only `compile`, `test` and `lint` are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output<'a> {
    /// `format`, unless it is `auto`: what it says must be found.
    pub format: Option<&'a str>,
    /// Whether the contract defines that format.
    pub is_defined: bool,
    /// The most errors that are allowed (`max-errors`).
    pub max_errors: u64,
    /// The most warnings that are allowed (`max-warnings`); any number without.
    pub max_warnings: Option<u64>,
    /// The least number of tests that must have run (`min-tests`), where that is written; otherwise
    /// one, where tests are found at all.
    pub min_tests: Option<u64>,
    /// The glob of `report`: what it selects must have been written.
    pub report: Option<&'a str>,
}

impl Terms<'_> {
    /// Whether an exit code is accepted.
    #[must_use]
    pub fn accepts(&self, exit: i32) -> bool {
        if self.exit.is_empty() {
            exit == 0
        } else {
            self.exit.contains(&exit)
        }
    }
}

pub(super) fn wrong_exit(exit: i32, accepted: &[i32]) -> String {
    if matches!(accepted, [] | [0]) {
        return format!("exit code {exit}");
    }
    let codes: Vec<String> = accepted.iter().map(i32::to_string).collect();
    format!("exit code {exit}; accepted: {}", codes.join(", "))
}
