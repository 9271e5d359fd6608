//! Drops a step whose test runner finds no tests.

use super::dropping;
use super::rule::{Case, Example, Rule};
use crate::change::Change;
use crate::obstacle::Obstacle;
use vplan_base::vocabulary::{FailureCode, RewriteRule};
use vplan_plan::Coverage;

/// The rule: the step is dropped, unless `dropping` forbids it.
pub const RULE: Rule = Rule {
    name: RewriteRule::DropNoTestFiles,
    fires_on: FailureCode::NoTestFiles,
    coverage: Coverage::Narrowed,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, Obstacle>> {
    Some(dropping::drop(case, RULE.fires_on))
}

fn example() -> Example {
    dropping::example(
        &["npx vitest run", "pnpm lint"],
        RULE.fires_on,
        "vitest-no-test-files",
    )
}
