//! Drops a step whose test runner finds no tests.

use super::{Case, Example, Rule, dropping};
use crate::base::vocabulary::{FailureCode, RewriteRule};
use crate::plan::Coverage;
use crate::recover::rewrite::Change;

/// The rule: the step is dropped, unless `dropping` forbids it.
pub const RULE: Rule = Rule {
    name: RewriteRule::DropNoTestFiles,
    fires_on: FailureCode::NoTestFiles,
    coverage: Coverage::Narrowed,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, String>> {
    Some(dropping::drop(case, RULE.fires_on))
}

fn example() -> Example {
    dropping::example(
        &["npx vitest run", "pnpm lint"],
        RULE.fires_on,
        "vitest-no-test-files",
    )
}
