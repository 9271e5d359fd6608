//! Decides which evidence is kept after a rewrite, and which steps run again.

use super::record::StepRecord;
use std::collections::{BTreeMap, BTreeSet};
use vplan_check::Kind;
use vplan_check::outcome::Status;
use vplan_plan::{Plan, Step, StepIndex};

/// The evidence after a rewrite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarryOver {
    /// Records that still count, by step id, for `RunState::new`.
    pub kept: BTreeMap<String, StepRecord>,
    /// Records that no longer count, in the order of the plan before, for the report.
    pub superseded: Vec<StepRecord>,
}

/// Divides the records of a run of `before` for a run of `after`.
///
/// Evidence stays up to the first step that is new, or has other predecessors, or another place
/// among those that stay. A change of order also invalidates the steps before it: a cleanup that
/// now comes later has already removed what a step before it made, and no plan says for certain
/// which one. Linters, `file` checks and judges make nothing, so theirs stays.
pub fn carry_over(before: &Plan, after: &Plan, records: Vec<StepRecord>) -> CarryOver {
    let old = before.positions();
    let places: Vec<Option<(StepIndex, bool)>> = after
        .steps
        .iter()
        .map(|step| {
            let place = *old.get(step.id.as_str())?;
            Some((place, is_same(before.step(place), step)))
        })
        .collect();
    let reordered = !places.iter().flatten().map(|(place, _)| place).is_sorted();
    let first_other = places
        .iter()
        .position(|place| !matches!(place, Some((_, true))))
        .unwrap_or(places.len());
    let first_moved = before
        .steps
        .iter()
        .zip(&after.steps)
        .position(|(a, b)| reordered && a.id != b.id);
    let mut stays: BTreeSet<&str> = BTreeSet::new();
    for step in after
        .steps
        .iter()
        .take(first_moved.unwrap_or(first_other).min(first_other))
    {
        let makes_nothing = matches!(step.kind, Kind::Lint | Kind::File | Kind::Judge);
        if !reordered
            || (makes_nothing
                && step
                    .after
                    .iter()
                    .chain(&step.needs)
                    .all(|id| stays.contains(id.as_str())))
        {
            stays.insert(&step.id);
        }
    }
    let mut result = CarryOver::default();
    for record in records {
        if record.status == Status::NotRun {
            continue;
        }
        if stays.contains(record.id.as_str()) {
            result.kept.insert(record.id.clone(), record);
        } else {
            result.superseded.push(record);
        }
    }
    result
}

/// Whether two steps do the same after the same predecessors; their reasons and predecessors that
/// only prepare do not matter.
fn is_same(a: &Step, b: &Step) -> bool {
    let bare = |s: &Step| Step {
        after: s.bound_to().cloned().collect(),
        describe: None,
        prepared_by: Vec::new(),
        reasons: Vec::new(),
        source: None,
        ..s.clone()
    };
    bare(a) == bare(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::{plan, step};
    use vplan_check::outcome::Outcome;

    fn records(plan: &Plan) -> Vec<StepRecord> {
        plan.steps
            .iter()
            .map(|s| StepRecord {
                tries: 1,
                ..StepRecord::without_evidence(s, Outcome::PASSED)
            })
            .collect()
    }

    #[test]
    fn what_stays() {
        let named = |names: &[&str]| plan(names.iter().map(|n| step(n)).collect());
        let mut lint = step("lint");
        lint.kind = Kind::Lint;
        let with_lint = |names: &[&str]| {
            let mut plan = named(names);
            plan.steps.insert(0, lint.clone());
            plan
        };
        let mut ordered = named(&["a", "c"]);
        ordered.steps[1].after = vec!["a".into()];
        for (name, before, after, kept, superseded) in [
            (
                "nothing changed",
                named(&["a", "b"]),
                named(&["a", "b"]),
                vec!["a", "b"],
                vec![],
            ),
            (
                "one dropped",
                named(&["a", "b", "c"]),
                named(&["a", "c"]),
                vec!["a", "c"],
                vec!["b"],
            ),
            (
                "one in the place of another",
                named(&["a", "b", "c"]),
                named(&["a", "b-1", "b-2", "c"]),
                vec!["a"],
                vec!["b", "c"],
            ),
            (
                "other predecessors",
                named(&["a", "c"]),
                ordered,
                vec!["a"],
                vec!["c"],
            ),
            (
                "a cleanup moved back",
                with_lint(&["make", "clean", "check"]),
                with_lint(&["make", "check", "clean"]),
                vec!["lint"],
                vec!["make", "clean", "check"],
            ),
        ] {
            let result = carry_over(&before, &after, records(&before));
            assert_eq!(
                result.kept.keys().map(String::as_str).collect::<Vec<_>>(),
                kept,
                "{name}"
            );
            assert_eq!(
                result
                    .superseded
                    .iter()
                    .map(|r| r.id.as_str())
                    .collect::<Vec<_>>(),
                superseded,
                "{name}"
            );
        }
    }
}
