//! Rewrites `cd d && a` to the command `a` with `dir d`, and handles a `cd` that is a separate
//! command.

use super::rule::{Case, Example, Rule};
use super::{carrying, conjunction};
use crate::change::Change;
use crate::failure::Failure;
use crate::obstacle::Obstacle;
use vplan_base::command::{Command, Link, Unsupported, UnsupportedReason};
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_base::vocabulary::RewriteRule;
use vplan_base::word::Word;
use vplan_plan::Coverage;
use vplan_plan::bare::{bare_plan, plan_of_words};

/// A leading `cd` inside the repository moves into the `dir` of the commands after it, and an
/// `export` into their `env`. Several commands become one step each, as with `split-conjunction`.
/// In a bare list, a `cd` or an `export` alone moves into all commands after it.
pub const RULE: Rule = Rule {
    name: RewriteRule::HoistDirectory,
    fires_on: FailureCode::UnsupportedFormat,
    coverage: Coverage::Full,
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, Obstacle>> {
    if !conjunction::begins_with_carried(case.step)? {
        return None;
    }
    if let Some(done) = carrying::carry(case) {
        return Some(done);
    }
    if let Some(reason) = carrying::blocked_by_earlier(case) {
        return Some(Err(reason));
    }
    let parts = conjunction::parts(case.step)?;
    Some(Ok(conjunction::put_in_place(case, parts)))
}

fn example() -> Example {
    let unsupported = Unsupported {
        chain: vec![
            Link::ChangeDirectory {
                cd: Word::from("apps/web"),
            },
            Link::Run {
                argv: ["./try", "all"].map(Word::from).to_vec(),
                env: Default::default(),
            },
        ],
        changes_shell: false,
        offset: 12,
        reason: UnsupportedReason::Operator,
        text: "&&".to_owned(),
    };
    let before = bare_plan(&[Command::Unsupported {
        text: "cd apps/web && ./try all".to_owned(),
        unsupported,
    }]);
    let mut after = plan_of_words(&["./try all"]).steps;
    for step in &mut after {
        step.dir = RepoPath::from_exact(b"apps/web").unwrap_or_else(RepoPath::root);
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
