//! Defines how a step ended (status and cause), and the terms that decide it.

use super::Kind;

/// The time between SIGTERM and SIGKILL, in milliseconds, unless the budget leaves less.
pub const GRACE_MS: u64 = 10_000;

vplan_base::vocabulary! {
    /// The terminal status of a step. Every planned step gets exactly one.
    #[derive(Default)]
    Status {
        /// It passed.
        Passed = "passed",
        /// It passed, with warnings within the limits.
        PassedWithWarnings = "passed_with_warnings",
        /// It passed on a later try, or some of its tests did.
        Flaky = "flaky",
        /// It failed.
        Failed = "failed",
        /// Its time was up.
        TimedOut = "timed_out",
        /// It could not be run.
        Errored = "errored",
        /// It was waived, said so itself, or has no judge.
        Skipped = "skipped",
        /// Its turn never came: fail fast, budget, needs, cancelled.
        #[default]
        NotRun = "not_run",
        /// An earlier pass on the same inputs replaces it.
        Cached = "cached",
    }
}

impl Status {
    /// Whether what `needs` this step may run.
    pub fn is_pass(self) -> bool {
        matches!(
            self,
            Status::Passed | Status::PassedWithWarnings | Status::Flaky | Status::Cached
        )
    }

    /// Whether the step was tried and did not pass.
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimedOut | Status::Errored)
    }
}

vplan_base::vocabulary! {
    /// The cause of a status: a stable word, the `reason` of a report. Words never change their
    /// meaning.
    Cause {
        /// failed: an exit code that is not accepted.
        ExitCode = "exit_code",
        /// failed: a signal that vplan did not send.
        Signal = "signal",
        /// failed: an assertion of a `file` check.
        Assertion = "assertion",
        /// failed: a file that `unchanged` selects differs.
        Mutated = "mutated",
        /// failed: tracked files changed while it ran alone, which nothing lets it change.
        TreeChanged = "tree_changed",
        /// failed: it says how its output is to be read, and nothing in it can be read so.
        NoEvidence = "no_evidence",
        /// failed: its output says that tests failed.
        TestsFailed = "tests_failed",
        /// failed: fewer tests ran than must, or none.
        TooFewTests = "too_few_tests",
        /// failed: more errors than are allowed.
        Errors = "errors",
        /// failed: more warnings than are allowed.
        Warnings = "warnings",
        /// failed: its exit code and its output do not say the same.
        Contradiction = "contradiction",
        /// failed: the judge said so.
        Judged = "judged",
        /// errored: the judge gave no answer that can be used.
        BadAnswer = "bad_answer",
        /// `timed_out`: its own limit.
        TimeLimit = "time_limit",
        /// `timed_out`: the budget ended while it ran; `not_run`: the budget was used up before.
        Budget = "budget",
        /// errored: the program or the directory is missing, or is not to be used.
        Missing = "missing",
        /// errored: a service that it needs was never ready, or died.
        Service = "service",
        /// errored: it could not be confined as it asks to be.
        Sandbox = "sandbox",
        /// errored: it was sent elsewhere, and no answer that counts came back.
        Away = "away",
        /// errored: the machine has no descriptor, process, memory or room for it.
        Machine = "machine",
        /// errored: the system could not start it for another reason.
        SpawnError = "spawn_error",
        /// errored: the command needs a shell that there is not.
        Unsupported = "unsupported",
        /// errored: how it ended is not known.
        Lost = "lost",
        /// skipped: one of its own skip codes.
        SkipExit = "skip_exit",
        /// skipped: there is no judge.
        NoJudge = "no judge",
        /// `not_run`: a step before it failed.
        FailFast = "fail_fast",
        /// `not_run`: a step that it needs did not pass.
        Needs = "needs",
        /// `not_run`: the run was interrupted.
        Cancelled = "cancelled",
        /// `not_run`: the record could not be written.
        Storage = "storage",
        /// `not_run`: the change is outside the contract's scope.
        Policy = "policy",
        /// `not_run`: the report of the shard that it belongs to is missing.
        Shard = "shard",
        /// flaky: it passed on a later try, or its tool tried tests again and they passed.
        Retried = "retried",
        /// cached: it passed in an earlier run, and all that it depends on is as it was.
        SameInputs = "same_inputs",
        /// `passed_with_warnings`: what it found is known, by the baseline that counts.
        Known = "known",
        /// passed: by exit code alone, because its output, or a part of it, is in no format that is
        /// known.
        OutputUnread = "output_unread",
    }
}

/// A status, what decided it, and the same for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The cause of the status; absent only for a pass.
    pub cause: Option<Cause>,
    /// One line for people, safe to show; absent only for a plain pass.
    pub detail: Option<String>,
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
    pub kind: Kind,
    /// The limit of this try in milliseconds.
    pub limit_ms: u64,
    /// The contract's terms for the output.
    pub output: Output<'a>,
    /// Codes that mean "does not apply here".
    pub skip_exit: &'a [i32],
}

/// The terms of a contract for a step's output, for `compile`, `test` and `lint` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output<'a> {
    /// `format`, unless it is `auto`: what it says must be found.
    pub format: Option<&'a str>,
    /// Whether the contract defines that format.
    pub is_defined: bool,
    /// Limit of errors (`max-errors`).
    pub max_errors: u64,
    /// Limit of warnings (`max-warnings`); `None`: any number.
    pub max_warnings: Option<u64>,
    /// Minimum number of tests that must have run (`min-tests`), if set; otherwise one if the
    /// output has a count of tests.
    pub min_tests: Option<u64>,
    /// The glob of `report`: what it selects must have been written.
    pub report: Option<&'a str>,
}

impl Terms<'_> {
    /// Whether an exit code is accepted.
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
