//! A rewrite rule and its input.

use crate::change::PlanChange;
use crate::failure::Failure;
use crate::obstacle::Obstacle;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use vplan_base::vocabulary::{FailureCode, RewriteRule};
use vplan_plan::facts::Facts;
use vplan_plan::{Coverage, Plan, Step, StepIndex};

/// A rewrite rule.
pub struct Rule {
    /// Its name for people and contracts.
    pub name: RewriteRule,
    /// The failure that it repairs.
    pub fires_on: FailureCode,
    /// The coverage that is left after it.
    pub coverage: Coverage,
    /// Returns the change, or why it is refused. `None` when the rule does not apply.
    pub rewrite: Rewrites,
}

/// The function of a rule.
pub type Rewrites = fn(&RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>>;

/// The input of a rule.
#[derive(Clone, Copy)]
pub struct RepairCase<'a> {
    pub plan: &'a Plan,
    /// The index of the failed step.
    pub index: StepIndex,
    /// The failed step.
    pub step: &'a Step,
    /// Why it failed.
    pub code: FailureCode,
    /// All failures, in any order; also those of steps outside of the plan, whose ids mean
    /// something.
    pub failures: &'a [Failure],
    /// The known facts about the repository.
    pub facts: &'a Facts,
    /// All rules, in the order in which they are tried.
    pub rules: &'a [Rule],
    /// The steps that the failures would drop together, computed on demand; the same for each of
    /// them.
    pub together: &'a OnceCell<BTreeSet<&'a str>>,
}
