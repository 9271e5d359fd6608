//! How did a step end?

use serde::{Deserialize, Serialize};

/// The terminal status of a step (engine.md section 7). Every planned step gets exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// An earlier pass on the same inputs stands for it.
    Cached,
}

impl Status {
    /// Whether what `needs` this step may run.
    #[must_use]
    pub fn is_pass(self) -> bool {
        matches!(self, Status::Passed | Status::PassedWithWarnings | Status::Flaky | Status::Cached)
    }

    /// Whether the step was tried and did not pass.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimedOut | Status::Errored)
    }
}
