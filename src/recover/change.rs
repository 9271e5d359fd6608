//! A rule's changes to the steps of a plan.

use std::collections::{BTreeMap, BTreeSet};
use vplan_plan::{Step, StepIndex};

/// The steps of a plan after a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// Ids of removed steps, in the order of the earlier plan.
    pub dropped: Vec<String>,
    /// All steps, in their new order.
    pub steps: Vec<Step>,
}

/// Replaces `gone` by `ids` among the predecessors of a step, in the order of the plan. Those in
/// `prepare` only prepare; all of them do if `gone` only did.
pub(super) fn replace_predecessor(
    step: &mut Step,
    gone: &str,
    [ids, prepare]: [&[String]; 2],
    order: &BTreeMap<&str, StepIndex>,
) {
    if !step.after.iter().chain(&step.needs).any(|id| id == gone) {
        return;
    }
    let mut bound: BTreeSet<String> = step.bound_to().filter(|id| *id != gone).cloned().collect();
    if !step.prepared_by.iter().any(|id| id == gone) {
        bound.extend(ids.iter().filter(|id| !prepare.contains(id)).cloned());
    }
    for list in [&mut step.after, &mut step.needs] {
        replace_id(list, gone, ids, order);
    }
    step.prepared_by = step
        .after
        .iter()
        .filter(|id| !bound.contains(*id))
        .cloned()
        .collect();
}

fn replace_id(
    list: &mut Vec<String>,
    gone: &str,
    ids: &[String],
    order: &BTreeMap<&str, StepIndex>,
) {
    if list.iter().any(|id| id == gone) {
        list.retain(|id| id != gone);
        list.extend(ids.iter().cloned());
        list.sort_by_key(|id| order.get(id.as_str()));
        list.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::plan_of_words;

    #[test]
    fn predecessors() {
        let plan = plan_of_words(&["a", "b", "c", "d"]);
        let order = plan.positions();
        let id = |n: &usize| format!("command-{n}");
        for (list, ids, want) in [
            (&[1, 4][..], &[][..], &[1, 4][..]),
            (&[2], &[], &[]),
            (&[2, 4], &[1, 3], &[1, 3, 4]),
            (&[2, 3], &[3], &[3]),
            (&[4, 1, 2], &[3], &[1, 3, 4]),
            (&[4, 1], &[3], &[4, 1]),
        ] {
            let mut step = plan_of_words(&["x"]).steps.remove(0);
            step.after = list.iter().map(id).collect();
            replace_predecessor(
                &mut step,
                "command-2",
                [&ids.iter().map(id).collect::<Vec<_>>(), &[]],
                &order,
            );
            assert_eq!(
                step.after,
                want.iter().map(id).collect::<Vec<_>>(),
                "{list:?} {ids:?}"
            );
            assert!(step.prepared_by.is_empty() && step.needs.is_empty());
        }
    }

    /// Checks that a predecessor that only prepared still only prepares, and that a binding one
    /// stays binding.
    #[test]
    fn predecessors_that_prepare() {
        let plan = plan_of_words(&["a", "b", "c", "d", "e"]);
        let order = plan.positions();
        let ids = |numbers: &[usize]| {
            numbers
                .iter()
                .map(|n| format!("command-{n}"))
                .collect::<Vec<String>>()
        };
        type Case<'c> = (
            &'c [usize],
            &'c [usize],
            &'c [usize],
            &'c [usize],
            &'c [usize],
            &'c [usize],
        );
        let cases: [Case<'_>; 6] = [
            // `after`, and those of it that prepare; the replacements of 2, and those that prepare;
            // the results.
            (&[2], &[2], &[1], &[], &[1], &[1]),
            (&[2], &[], &[1], &[1], &[1], &[1]),
            (&[2], &[], &[1], &[], &[1], &[]),
            (&[1, 2], &[2], &[1], &[1], &[1], &[]),
            (&[1, 2], &[1], &[1], &[], &[1], &[]),
            (&[2, 4], &[4], &[1, 3], &[3], &[1, 3, 4], &[3, 4]),
        ];
        for (after, prepare, instead, preparing, want, still) in cases {
            let mut step = plan_of_words(&["x"]).steps.remove(0);
            (step.after, step.prepared_by) = (ids(after), ids(prepare));
            replace_predecessor(
                &mut step,
                "command-2",
                [&ids(instead), &ids(preparing)],
                &order,
            );
            assert_eq!(
                (step.after, step.prepared_by),
                (ids(want), ids(still)),
                "{after:?} {prepare:?} {instead:?}"
            );
        }
    }
}
