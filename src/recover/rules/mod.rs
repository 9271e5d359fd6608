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
mod rule;
pub mod split_conjunction;

pub use rule::{Case, Example, Rule};
use vplan_base::vocabulary::RewriteRule;

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
    RewriteRule::ALL.into_iter().map(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recovery, recover, rewrite};
    use vplan_plan::facts::Facts;

    #[test]
    fn examples() {
        for (rule, name) in all().zip(RewriteRule::ALL) {
            assert_eq!(rule.name, name, "the rule of another name");
            let example = (rule.example)();
            assert_eq!(example.failure.code, rule.fires_on, "{}", rule.name);
            let before = vplan_plan::digest::seal(example.before);
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
