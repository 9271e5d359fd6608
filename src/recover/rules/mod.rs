//! The rewrite rules, in the order in which they are tried.

mod carrying;
mod conjunction;
pub mod drop_missing_make_target;
pub mod drop_missing_script;
pub mod drop_no_test_files;
pub mod drop_unsupported_format;
mod dropping;
pub mod hoist_directory;
pub mod reorder_after_cleanup;
pub mod split_conjunction;

use super::rewrite::Change;
use super::{Failure, FailureCode};
use crate::plan::facts::Facts;
use crate::plan::{Coverage, Plan, Step};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A way to repair a plan.
pub struct Rule {
    /// Its name for people and contracts.
    pub name: &'static str,
    /// The failure that it repairs.
    pub fires_on: FailureCode,
    /// How much is still verified after it.
    pub coverage: Coverage,
    /// The reason in the trace.
    pub reason: &'static str,
    /// Returns the change, or why it is refused. `None` when the rule does not apply.
    pub rewrite: fn(&Case<'_>) -> Option<Result<Change, String>>,
    /// A use of it, which is its test and its documentation.
    pub example: fn() -> Example,
}

/// The input of a rule.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Which step failed.
    pub index: usize,
    /// That step.
    pub step: &'a Step,
    /// All failures, in any order; also those of steps that the plan does not have, whose ids mean
    /// something.
    pub failures: &'a [Failure],
    /// What is known of the repository.
    pub facts: &'a Facts,
    /// The steps that the failures would drop together, computed on demand; the same for each of
    /// them.
    pub together: &'a OnceCell<BTreeSet<&'a str>>,
}

/// A use of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The plan before.
    pub before: Plan,
    /// The failure.
    pub failure: Failure,
    /// The steps after.
    pub after: Vec<Step>,
}

/// All rules, in the order in which they are tried. `contract::RECOVERY_RULES` names them in this
/// order.
pub const ALL: [&Rule; 7] = [
    &split_conjunction::RULE,
    &hoist_directory::RULE,
    &reorder_after_cleanup::RULE,
    &drop_missing_script::RULE,
    &drop_missing_make_target::RULE,
    &drop_no_test_files::RULE,
    &drop_unsupported_format::RULE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover::{Recovery, recover, rewrite};

    #[test]
    fn examples() {
        for rule in ALL {
            let example = (rule.example)();
            assert_eq!(example.failure.code, rule.fires_on, "{}", rule.name);
            let before = crate::plan::digest::seal(example.before);
            let Recovery::Rewritten { plan, rewrite } = recover(
                &before,
                std::slice::from_ref(&example.failure),
                &Facts::default(),
            ) else {
                panic!("{} does not apply to its own example", rule.name);
            };
            assert_eq!(plan.steps, example.after, "{}", rule.name);
            assert_eq!(
                (rewrite.recovery_rule.as_str(), rewrite.coverage),
                (rule.name, rule.coverage)
            );
            assert_eq!(rewrite::well_formed(&plan), Ok(()));
            assert_eq!(rewrite.previous_digest, before.digest);
            assert_eq!(rewrite.next_digest, plan.digest);
            assert_ne!(plan.digest, before.digest);
        }
    }
}
