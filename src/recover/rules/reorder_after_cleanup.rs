//! When does a cleanup belong behind the checks that it stands before?

use super::{Case, Example, Rule};
use crate::plan::{Coverage, Step};
use crate::recover::bare::plan_of_words;
use crate::recover::failure::sequence::{Misplaced, misplaced};
use crate::recover::rewrite::Change;
use crate::recover::{Failure, FailureCode};

/// The cleanups between a producer and the presence checks of what it makes move behind all of those checks, and stay
/// behind them when steps run side by side.
pub const RULE: Rule = Rule {
    name: "reorder-after-cleanup",
    fires_on: FailureCode::SequenceIssue,
    coverage: Coverage::Full,
    reason: "verification_command_sequence_adjusted",
    rewrite,
    example,
};

fn rewrite(case: &Case<'_>) -> Option<Result<Change, String>> {
    let found = misplaced(case.plan, case.index)?;
    Some(contradiction(case, &found).map_or_else(|| moved(case, &found), Err))
}

/// A constraint of the contract that asks for the present order.
fn contradiction(case: &Case<'_>, found: &Misplaced) -> Option<String> {
    let steps = &case.plan.steps;
    let (first, last) = (*found.cleanups.first()?, *found.checks.last()?);
    let between = || steps.iter().enumerate().take(last + 1).skip(first).filter(|(i, _)| !found.cleanups.contains(i));
    found.cleanups.iter().filter_map(|c| steps.get(*c)).find_map(|cleanup| {
        between().find_map(|(_, step)| {
            if step.after.contains(&cleanup.id) || step.needs.contains(&cleanup.id) {
                Some(format!("the contract wants `{}` behind `{}`", step.id, cleanup.id))
            } else if step.tier != cleanup.tier {
                Some(format!("`{}` and `{}` are of different tiers", step.id, cleanup.id))
            } else {
                None
            }
        })
    })
}

fn moved(case: &Case<'_>, found: &Misplaced) -> Result<Change, String> {
    let steps = &case.plan.steps;
    let last = *found.checks.last().ok_or("there is no check")?;
    let mut order = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        if !found.cleanups.contains(&i) {
            order.push(step.clone());
        }
        if i == last {
            order.extend(found.cleanups.iter().filter_map(|c| Some(behind_checks(*c, steps.get(*c)?, steps, found))));
        }
    }
    Ok(Change { dropped: Vec::new(), steps: order })
}

/// The cleanup with the constraint that keeps it behind the checks it used to stand before. Its predecessors stay in front.
fn behind_checks(index: usize, cleanup: &Step, steps: &[Step], found: &Misplaced) -> Step {
    let mut cleanup = cleanup.clone();
    let passed = found.checks.iter().filter(|c| **c > index).filter_map(|c| steps.get(*c)).map(|s| s.id.clone());
    let new: Vec<String> = passed.filter(|id| !cleanup.after.contains(id)).collect();
    cleanup.after.extend(new);
    cleanup
}

fn example() -> Example {
    let before = plan_of_words(&["make", "make clean", "test -f build/app", "pnpm lint", "test -s build/map"]);
    let mut after = before.steps.clone();
    if let [_, cleanup @ .., _] = after.as_mut_slice() {
        cleanup.rotate_left(1);
    }
    if let [_, _, _, cleanup, check] = after.as_mut_slice() {
        cleanup.after = vec!["command-3".to_owned(), "command-5".to_owned()];
        std::mem::swap(cleanup, check);
    }
    let failure = Failure {
        step: "command-3".to_owned(),
        code: FailureCode::SequenceIssue,
        rule: "check-behind-cleanup".to_owned(),
        evidence: "`make clean` stands before it".to_owned(),
    };
    Example { before, failure, after }
}
