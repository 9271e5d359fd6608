//! Moves a cleanup after the checks that the files it removes exist.

use super::rule::RepairCase;
use crate::change::{PlanChange, replace_predecessor};
use crate::failure::sequence::{Misplaced, misplaced};
use crate::obstacle::Obstacle;
use std::collections::BTreeSet;
use vplan_plan::{Plan, Step, StepIndex};

/// The cleanups between a producer and the checks for its outputs move after all of those checks,
/// and stay after them when steps run in parallel.
pub(super) fn rewrite(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    let found = misplaced(case.plan, case.index)?;
    Some(contradiction(case, &found).map_or_else(|| moved(case, &found), Err))
}

/// Returns a constraint of the contract that requires the present order.
fn contradiction(case: &RepairCase<'_>, found: &Misplaced) -> Option<Obstacle> {
    let (first, last) = (*found.cleanups.first()?, *found.checks.last()?);
    let between = || {
        case.plan
            .numbered_steps()
            .filter(|(i, _)| (first..=last).contains(i) && !found.cleanups.contains(i))
    };
    let mut cleanups = found.cleanups.iter().map(|c| case.plan.step(*c));
    cleanups.find_map(|cleanup| {
        between().find_map(|(_, step)| {
            if step.bound_to().any(|id| *id == cleanup.id) {
                Some(Obstacle::OrderOfContract {
                    step: step.id.clone(),
                    cleanup: cleanup.id.clone(),
                })
            } else if step.tier != cleanup.tier {
                Some(Obstacle::Tiers {
                    step: step.id.clone(),
                    cleanup: cleanup.id.clone(),
                })
            } else {
                None
            }
        })
    })
}

fn moved(case: &RepairCase<'_>, found: &Misplaced) -> Result<PlanChange, Obstacle> {
    let plan = case.plan;
    let last = *found.checks.last().ok_or(Obstacle::NoCheck)?;
    let cleanups = || found.cleanups.iter().map(|c| plan.step(*c));
    let positions = plan.positions();
    let mut order = Vec::with_capacity(plan.steps.len());
    for (i, step) in plan.numbered_steps() {
        if !found.cleanups.contains(&i) {
            let mut step = step.clone();
            if i <= last {
                // It now waits for the predecessors of the cleanups.
                for gone in cleanups().rev() {
                    let ids = [gone.after.as_slice(), &gone.prepared_by];
                    replace_predecessor(&mut step, &gone.id, ids, &positions);
                }
            }
            order.push(step);
        }
        if i == last {
            let behind = |c: &StepIndex| behind_checks(*c, plan, found);
            order.extend(found.cleanups.iter().map(behind));
        }
    }
    for cleanup in cleanups().rev() {
        stay_behind(&cleanup.id, &plan.steps, &mut order);
    }
    Ok(PlanChange {
        dropped: Vec::new(),
        steps: order,
    })
}

/// Keeps every successor of the cleanup after it, except those that now come before it.
fn stay_behind(cleanup: &str, before: &[Step], steps: &mut [Step]) {
    let waits = |step: &Step, for_one_of: &BTreeSet<String>| {
        let mut bound = step.after.iter().chain(&step.needs);
        bound.any(|id| for_one_of.contains(id))
    };
    let start = || BTreeSet::from([cleanup.to_owned()]);
    let mut behind = start();
    for step in before {
        if waits(step, &behind) {
            behind.insert(step.id.clone());
        }
    }
    let mut still = start();
    for step in steps.iter_mut().skip_while(|s| s.id != cleanup) {
        if behind.contains(&step.id) && step.id != cleanup && !waits(step, &still) {
            step.after.push(cleanup.to_owned());
            step.prepared_by.push(cleanup.to_owned());
        }
        if waits(step, &still) {
            still.insert(step.id.clone());
        }
    }
}

/// Adds the constraint that keeps the cleanup after the checks that used to follow it. Its
/// predecessors stay before it.
fn behind_checks(index: StepIndex, plan: &Plan, found: &Misplaced) -> Step {
    let mut cleanup = plan.step(index).clone();
    let passed = found.checks.iter().filter(|c| **c > index);
    let passed = passed.map(|c| &plan.step(*c).id);
    let new = passed.filter(|id| !cleanup.after.contains(id));
    let new: Vec<String> = new.cloned().collect();
    cleanup.after.extend(new);
    cleanup
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{plan_of_words, reported_failure};
    use crate::{Recovery, recover};
    use vplan_base::vocabulary::FailureCode;

    type Edit = fn(&mut Plan);

    #[test]
    fn the_contract_may_ask_for_this_order() {
        let behind = Some("the contract wants `command-3` behind `command-2`");
        let tiers = |id| Some(format!("`{id}` and `command-2` are of different tiers"));
        for (what, edit, want) in [
            ("nothing asks for it", (|_| ()) as Edit, None),
            (
                "after",
                |p| p.steps[2].after = vec!["command-2".into()],
                behind.map(str::to_owned),
            ),
            (
                "needs",
                |p| p.steps[2].needs = vec!["command-2".into()],
                behind.map(str::to_owned),
            ),
            (
                "a tier of the check",
                |p| p.steps[2].tier = 1,
                tiers("command-3"),
            ),
            (
                "a tier of all",
                |p| p.steps.iter_mut().for_each(|s| s.tier = 1),
                None,
            ),
            (
                "behind the producer",
                |p| p.steps[2].needs = vec!["command-1".into()],
                None,
            ),
        ] {
            let mut plan = plan_of_words(&["make", "make clean", "test -f build/a"]);
            edit(&mut plan);
            match recover(
                &plan,
                &[reported_failure(3, FailureCode::SequenceIssue)],
                &Default::default(),
            ) {
                Recovery::Rewritten { plan, .. } => {
                    assert_eq!(want, None, "{what}");
                    let ids: Vec<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
                    assert_eq!(ids, ["command-1", "command-3", "command-2"], "{what}");
                }
                Recovery::Refused(refusals) => {
                    let reasons: Vec<String> = refusals.into_iter().map(|r| r.reason).collect();
                    assert_eq!(Some(reasons), want.map(|w| vec![w]), "{what}");
                }
                Recovery::NotApplicable => panic!("{what}: no rule"),
            }
        }
    }

    /// Checks that a step between a cleanup and the last check may require this order too.
    #[test]
    fn a_step_in_between_may_ask_for_this_order() {
        let mut plan = plan_of_words(&["make", "make clean", "pnpm lint", "test -f build/a"]);
        plan.steps[2].after = vec!["command-2".into()];
        let got = recover(
            &plan,
            &[reported_failure(4, FailureCode::SequenceIssue)],
            &Default::default(),
        );
        assert!(
            matches!(got, Recovery::Refused(list) if list[0].reason.contains("`command-3` behind `command-2`"))
        );
    }
}
