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

use super::Failure;
use super::rewrite::Change;
use crate::base::vocabulary::FailureCode;
use crate::base::vocabulary::RewriteRule;
use crate::plan::facts::Facts;
use crate::plan::{Coverage, Plan, Step, StepIndex};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A rewrite rule.
pub struct Rule {
    /// Its name for people and contracts.
    pub name: RewriteRule,
    /// The failure that it repairs.
    pub fires_on: FailureCode,
    /// The coverage that is left after it.
    pub coverage: Coverage,
    /// Returns the change, or why it is refused. `None` when the rule does not apply.
    pub rewrite: fn(&Case<'_>) -> Option<Result<Change, String>>,
    /// An example of its use, which is its test and its documentation.
    pub example: fn() -> Example,
}

/// The input of a rule.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The index of the failed step.
    pub index: StepIndex,
    /// The failed step.
    pub step: &'a Step,
    /// All failures, in any order; also those of steps that the plan does not have, whose ids mean
    /// something.
    pub failures: &'a [Failure],
    /// The known facts about the repository.
    pub facts: &'a Facts,
    /// The steps that the failures would drop together, computed on demand; the same for each of
    /// them.
    pub together: &'a OnceCell<BTreeSet<&'a str>>,
}

/// An example of a rule's use.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The plan before.
    pub before: Plan,
    /// The failure.
    pub failure: Failure,
    /// The steps after.
    pub after: Vec<Step>,
}

/// Returns the rule of this name.
#[must_use]
pub fn rule(name: RewriteRule) -> &'static Rule {
    match name {
        RewriteRule::SplitConjunction => &split_conjunction::RULE,
        RewriteRule::HoistDirectory => &hoist_directory::RULE,
        RewriteRule::ReorderAfterCleanup => &reorder_after_cleanup::RULE,
        RewriteRule::DropMissingScript => &drop_missing_script::RULE,
        RewriteRule::DropMissingMakeTarget => &drop_missing_make_target::RULE,
        RewriteRule::DropNoTestFiles => &drop_no_test_files::RULE,
        RewriteRule::DropUnsupportedFormat => &drop_unsupported_format::RULE,
    }
}

/// Returns all rules, in the order in which they are tried.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    RewriteRule::ALL.iter().map(|name| rule(*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover::{Recovery, recover, rewrite};

    #[test]
    fn examples() {
        for (rule, name) in all().zip(RewriteRule::ALL) {
            assert_eq!(rule.name, *name, "the rule of another name");
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
                (rewrite.recovery_rule.known(), rewrite.coverage),
                (Some(rule.name), rule.coverage)
            );
            assert_eq!(rewrite::well_formed(&plan), Ok(()));
            assert_eq!(rewrite.previous_digest, before.digest);
            assert_eq!(rewrite.next_digest, plan.digest);
            assert_ne!(plan.digest, before.digest);
        }
    }
}
