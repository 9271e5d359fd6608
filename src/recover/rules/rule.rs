//! A rewrite rule, its input and its example.

use crate::change::Change;
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
    pub rewrite: fn(&Case<'_>) -> Option<Result<Change, Obstacle>>,
    /// An example of its use, which is its test and its documentation.
    pub example: fn() -> Example,
}

/// The input of a rule.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub plan: &'a Plan,
    /// The index of the failed step.
    pub index: StepIndex,
    /// The failed step.
    pub step: &'a Step,
    /// All failures, in any order; also those of steps outside of the plan, whose ids mean
    /// something.
    pub failures: &'a [Failure],
    /// The known facts about the repository.
    pub facts: &'a Facts,
    /// All rules, in the order in which they are tried.
    pub rules: &'a [&'static Rule],
    /// The steps that the failures would drop together, computed on demand; the same for each of
    /// them.
    pub together: &'a OnceCell<BTreeSet<&'a str>>,
}

/// An example of a rule's use.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The plan before.
    pub before: Plan,
    pub failure: Failure,
    /// The steps after.
    pub after: Vec<Step>,
}
