//! Splits `a && b` into two steps.

use super::rule::{Case, Example, Rule};
use super::{carrying, conjunction};
use crate::change::Change;
use crate::failure::Failure;
use crate::obstacle::Obstacle;
use vplan_base::command::{Command, Link, Unsupported, UnsupportedReason};
use vplan_base::vocabulary::FailureCode;
use vplan_base::vocabulary::RewriteRule;
use vplan_base::word::Word;
use vplan_plan::Coverage;
use vplan_plan::bare::{bare_plan, plan_of_words};

/// Each part of a conjunction becomes a separate step that needs the one before. A later `cd` moves
/// into the `dir` of the parts after it.
pub const RULE: Rule = Rule {
    name: RewriteRule::SplitConjunction,
    fires_on: FailureCode::UnsupportedFormat,
    coverage: Coverage::Full,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, Obstacle>> {
    if conjunction::begins_with_carried(case.step)? {
        return None;
    }
    if let Some(reason) = carrying::blocked_by_earlier(case) {
        return Some(Err(reason));
    }
    let parts = conjunction::parts(case.step)?;
    Some(Ok(conjunction::put_in_place(case, parts)))
}

fn example() -> Example {
    let run = |words: [&str; 2]| Link::Run {
        argv: words.map(Word::from).to_vec(),
        env: Default::default(),
    };
    let unsupported = Unsupported {
        chain: vec![run(["./make", "all"]), run(["./try", "all"])],
        changes_shell: false,
        offset: 11,
        reason: UnsupportedReason::Operator,
        text: "&&".to_owned(),
    };
    let before = bare_plan(&[Command::Unsupported {
        text: "./make all && ./try all".to_owned(),
        unsupported,
    }]);
    let mut after = plan_of_words(&["./make all", "./try all"]).steps;
    if let [first, second] = after.as_mut_slice() {
        first.id = "command-1-1".to_owned();
        second.id = "command-1-2".to_owned();
        second.after = vec![first.id.clone()];
        second.needs = vec![first.id.clone()];
    }
    let failure = Failure {
        step: "command-1".to_owned(),
        code: FailureCode::UnsupportedFormat,
        rule: "unsupported-command".to_owned(),
        evidence: "&&".to_owned(),
    };
    Example {
        before,
        failure,
        after,
    }
}
