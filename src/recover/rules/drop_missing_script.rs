//! Drops a step whose package script does not exist.

use super::{Case, Example, Rule, dropping};
use crate::base::vocabulary::{FailureCode, RewriteRule};
use crate::plan::Coverage;
use crate::recover::rewrite::Change;

/// The rule: the step is dropped, unless `dropping` forbids it.
pub const RULE: Rule = Rule {
    name: RewriteRule::DropMissingScript,
    fires_on: FailureCode::MissingScript,
    coverage: Coverage::Narrowed,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, String>> {
    Some(dropping::drop(case, RULE.fires_on))
}

fn example() -> Example {
    dropping::example(
        &["pnpm run nope", "pnpm test"],
        RULE.fires_on,
        "pnpm-missing-script",
    )
}
