//! Drops a step whose package script does not exist.

use super::dropping;
use super::rule::{Case, Example, Rule};
use crate::change::Change;
use crate::obstacle::Obstacle;
use vplan_base::vocabulary::{FailureCode, RewriteRule};
use vplan_plan::Coverage;

/// The rule: the step is dropped, unless `dropping` forbids it.
pub const RULE: Rule = Rule {
    name: RewriteRule::DropMissingScript,
    fires_on: FailureCode::MissingScript,
    coverage: Coverage::Narrowed,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, Obstacle>> {
    Some(dropping::drop(case, RULE.fires_on))
}

fn example() -> Example {
    dropping::example(
        &["pnpm run nope", "pnpm test"],
        RULE.fires_on,
        "pnpm-missing-script",
    )
}
