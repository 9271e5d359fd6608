//! Steps that are executed elsewhere, from the state machine's side: places of their own, and what becomes
//! of those without an answer.

use std::borrow::Cow;
use vplan_base::index::Dense;
use vplan_check::evidence::Evidence;
use vplan_plan::StepIndex;

/// The time that an answer may come later than its step's limit, in milliseconds: the limit is enforced
/// where the step is executed.
pub(crate) const OVERTIME_MS: u64 = 30_000;
/// So many steps in a row without an answer, and no further one is sent.
pub(crate) const MOST_UNANSWERED: u32 = 3;

/// Which steps are executed elsewhere, and how many at a time.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Whether a step is to be sent.
    pub sent: Dense<StepIndex, bool>,
    /// Maximum number of sent steps in parallel.
    pub most: usize,
    /// Whether those without an answer are executed here.
    pub fall_back: bool,
    /// The steps without an answer since the last one that had one.
    unanswered: u32,
}

impl Elsewhere {
    /// Makes the beginning.
    pub fn new(sent: Dense<StepIndex, bool>, most: usize, fall_back: bool) -> Self {
        Self {
            sent,
            most,
            fall_back,
            unanswered: 0,
        }
    }

    /// Whether sending has stopped.
    pub fn is_given_up(&self) -> bool {
        self.unanswered >= MOST_UNANSWERED
    }

    /// Takes note of a try that was sent and has ended. Returns whether the step is to be executed here.
    pub(super) fn ended(&mut self, index: StepIndex, evidence: &Evidence) -> bool {
        if !evidence.is_unanswered() {
            self.unanswered = 0;
            return false;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if self.fall_back {
            self.sent[index] = false;
        }
        self.fall_back
    }
}

/// Returns the evidence of a sent try as if it had run here. After the end of the budget, a missing
/// answer is not an error; otherwise only an answer can report a timeout.
pub(super) fn as_here(evidence: &Evidence, by_budget: bool) -> Cow<'_, Evidence> {
    if !evidence.is_unanswered() || !evidence.timed_out {
        return Cow::Borrowed(evidence);
    }
    let mut evidence = evidence.clone();
    if by_budget {
        evidence.spawn_error = None;
    } else {
        evidence.timed_out = false;
    }
    Cow::Owned(evidence)
}
