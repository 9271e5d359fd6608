//! Drops a step whose goal does not exist.

use super::{Case, Example, Rule, dropping};
use crate::base::vocabulary::FailureCode;
use crate::base::vocabulary::RewriteRule;
use crate::plan::Coverage;
use crate::recover::Failure;
use crate::recover::bare::plan_of_words;
use crate::recover::rewrite::Change;

/// The rule: the step is dropped, unless `dropping` forbids it.
pub const RULE: Rule = Rule {
    name: RewriteRule::DropMissingMakeTarget,
    fires_on: FailureCode::MissingMakeTarget,
    coverage: Coverage::Narrowed,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, String>> {
    Some(dropping::drop(case, RULE.fires_on))
}

fn example() -> Example {
    let before = plan_of_words(&["make nope", "make test"]);
    let after = before.steps.iter().skip(1).cloned().collect();
    let failure = Failure {
        step: "command-1".to_owned(),
        code: FailureCode::MissingMakeTarget,
        rule: "make-no-rule".to_owned(),
        evidence: String::new(),
    };
    Example {
        before,
        failure,
        after,
    }
}
