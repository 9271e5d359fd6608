//! Which evidence stays after a rewrite, and which must be won again? (engine.md section 6)

use super::record::StepRecord;
use crate::check::Kind;
use crate::check::outcome::Status;
use crate::plan::{Plan, Step};
use std::collections::BTreeMap;

/// What became of the evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarryOver {
    /// By step id: what still counts. For `RunState::new`.
    pub kept: BTreeMap<String, StepRecord>,
    /// What no longer does, in the order of the plan before. For the report.
    pub superseded: Vec<StepRecord>,
}

/// Divides the records of a run of `before` for a run of `after`.
///
/// Evidence stays up to the first step that is new, or has other predecessors, or another place among those that stay. A
/// change of order also takes away what stood before it: a cleanup that now comes later has already removed what a step
/// before it made, and no plan says for certain which one. Linters, `file` checks and judges make nothing, so theirs stays.
#[must_use]
pub fn carry_over(before: &Plan, after: &Plan, records: Vec<StepRecord>) -> CarryOver {
    let old: BTreeMap<&str, (usize, &Step)> =
        before.steps.iter().enumerate().map(|(i, s)| (s.id.as_str(), (i, s))).collect();
    let mut last = None;
    let mut reordered = false;
    let mut same = after.steps.len();
    for (position, step) in after.steps.iter().enumerate() {
        let place = old.get(step.id.as_str()).filter(|(_, was)| is_same(was, step)).map(|(i, _)| *i);
        let moved = place.is_some() && place < last;
        reordered |= moved || old.get(step.id.as_str()).is_some_and(|(i, _)| last.is_some_and(|l| *i < l));
        if (place.is_none() || moved) && position < same {
            same = position;
        }
        last = last.max(place);
    }
    if reordered {
        // The step that now stands where another stood before is the first one out of place.
        let differs = |(a, b): (&Step, &Step)| a.id != b.id;
        same = same.min(before.steps.iter().zip(&after.steps).position(differs).unwrap_or(same));
    }
    let stays: BTreeMap<&str, &Step> = after
        .steps
        .iter()
        .take(same)
        .filter(|s| !reordered || matches!(s.kind, Kind::Lint | Kind::File | Kind::Judge))
        .map(|s| (s.id.as_str(), s))
        .collect();
    let mut result = CarryOver::default();
    for record in records {
        if record.status == Status::NotRun {
            continue;
        }
        if stays.contains_key(record.id.as_str()) {
            result.kept.insert(record.id.clone(), record);
        } else {
            result.superseded.push(record);
        }
    }
    result
}

/// Whether two steps do the same after the same predecessors; why they are in the plan does not matter.
fn is_same(a: &Step, b: &Step) -> bool {
    let bare = |s: &Step| Step { describe: None, reasons: Vec::new(), source: None, ..s.clone() };
    bare(a) == bare(b)
}
