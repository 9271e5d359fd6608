//! Drops a step that cannot be expressed without a shell.

use super::rule::{Case, Example, Rule};
use super::{conjunction, dropping};
use crate::change::Change;
use crate::failure::Failure;
use crate::obstacle::Obstacle;
use vplan_base::command::{Command, Unsupported, UnsupportedReason};
use vplan_base::vocabulary::FailureCode;
use vplan_base::vocabulary::RewriteRule;
use vplan_plan::Coverage;
use vplan_plan::bare::{bare_plan, plan_of_words};

/// The rule: the step is dropped when no rule above can express it, unless `dropping` forbids it.
pub const RULE: Rule = Rule {
    name: RewriteRule::DropUnsupportedFormat,
    fires_on: FailureCode::UnsupportedFormat,
    coverage: Coverage::Narrowed,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, Obstacle>> {
    // A repaired step is no longer unsupported, even if an earlier failure reports that.
    case.step.unsupported.as_ref()?;
    match conjunction::parts(case.step) {
        Some(_) => None,
        None => Some(dropping::drop(case, RULE.fires_on)),
    }
}

fn example() -> Example {
    let unsupported = Unsupported {
        chain: Vec::new(),
        changes_shell: false,
        offset: 5,
        reason: UnsupportedReason::Operator,
        text: "|".to_owned(),
    };
    let piped = Command::Unsupported {
        text: "make | tee log".to_owned(),
        unsupported,
    };
    let mut before = plan_of_words(&["", "pnpm lint"]);
    if let (Some(first), Some(step)) = (before.steps.first_mut(), bare_plan(&[piped]).steps.first())
    {
        first.clone_from(step);
    }
    let after = before.steps.iter().skip(1).cloned().collect();
    let failure = Failure {
        step: "command-1".to_owned(),
        code: FailureCode::UnsupportedFormat,
        rule: "unsupported-command".to_owned(),
        evidence: "|".to_owned(),
    };
    Example {
        before,
        failure,
        after,
    }
}
