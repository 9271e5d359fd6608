//! An example of each rule, which is its test and its documentation.

use super::*;
use crate::bare::plan_of_words;
use crate::tests::plan_of_lines;
use crate::{Failure, Recovery, recover, rewrite};
use vplan_base::path::RepoPath;
use vplan_plan::Step;
use vplan_plan::facts::Facts;

/// Returns the commands of a rule's example, the number of the step that fails, what shows it, and
/// the steps after the rule.
fn example(name: RewriteRule) -> (&'static [&'static str], usize, &'static str, Vec<Step>) {
    let second = |commands| plan_of_lines(commands).steps.split_off(1);
    let dropped = |commands, rule| (commands, 1, rule, second(commands));
    match name {
        RewriteRule::SplitConjunction => {
            let mut after = plan_of_words(&["./make all", "./try all"]).steps;
            after[0].id = "command-1-1".to_owned();
            after[1].id = "command-1-2".to_owned();
            after[1].after = vec!["command-1-1".to_owned()];
            after[1].needs = vec!["command-1-1".to_owned()];
            (
                &["./make all && ./try all"],
                1,
                "unsupported-command",
                after,
            )
        }
        RewriteRule::HoistDirectory => {
            let mut after = plan_of_words(&["./try all"]).steps;
            after[0].dir = RepoPath::parse(b"apps/web").unwrap();
            (
                &["cd apps/web && ./try all"],
                1,
                "unsupported-command",
                after,
            )
        }
        RewriteRule::ReorderAfterCleanup => {
            let commands = &[
                "make",
                "make clean",
                "test -f build/app",
                "pnpm lint",
                "test -s build/map",
            ];
            let mut after = plan_of_words(commands).steps;
            after[1..4].rotate_left(1);
            after[3].after = vec!["command-3".to_owned(), "command-5".to_owned()];
            after.swap(3, 4);
            (commands, 3, "check-behind-cleanup", after)
        }
        RewriteRule::DropMissingScript => {
            dropped(&["pnpm run nope", "pnpm test"], "pnpm-missing-script")
        }
        RewriteRule::DropMissingMakeTarget => dropped(&["make nope", "make test"], "make-no-rule"),
        RewriteRule::DropNoTestFiles => {
            dropped(&["npx vitest run", "pnpm lint"], "vitest-no-test-files")
        }
        RewriteRule::DropUnsupportedFormat => {
            dropped(&["make | tee log", "pnpm lint"], "unsupported-command")
        }
    }
}

#[test]
fn examples() {
    for (rule, name) in all().zip(RewriteRule::ALL) {
        assert_eq!(rule.name, name, "the rule of another name");
        let (commands, number, cause, after) = example(name);
        let failure = Failure {
            step: format!("command-{number}"),
            code: rule.fires_on,
            rule: cause.to_owned(),
            evidence: String::new(),
        };
        let before = vplan_plan::digest::seal(plan_of_lines(commands));
        let Recovery::Rewritten { plan, rewrite } =
            recover(&before, std::slice::from_ref(&failure), &Facts::default())
        else {
            panic!("{} does not apply to its own example", rule.name);
        };
        assert_eq!(plan.steps, after, "{}", rule.name);
        assert_eq!(
            (rewrite.recovery_rule.to_known(), rewrite.coverage),
            (Some(rule.name), rule.coverage)
        );
        assert_eq!(rewrite::well_formed(&plan), Ok(()));
        assert_eq!(rewrite.previous_digest, before.digest);
        assert_eq!(rewrite.next_digest, plan.digest);
        assert_ne!(plan.digest, before.digest);
    }
}
