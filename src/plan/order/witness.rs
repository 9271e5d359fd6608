//! Finds the reason why one step waits for another.

use crate::Step;
use vplan_base::glob::overlap;

/// The reason why one step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderReason {
    /// The later one `needs` the earlier one.
    Needs,
    /// The earlier one cleans what the later one produces, or produces what the later one requires.
    Artifacts,
    /// A `sequence` orders them.
    Sequence,
    /// The earlier one may change the tree.
    Writer,
    /// The earlier one prepares: it is `setup`, or a command of the request.
    Preparing,
}

/// Returns why a direct successor waits.
pub fn why(earlier: &Step, later: &Step) -> OrderReason {
    let meet = |a: &[_], b: &[_]| a.iter().any(|a| b.iter().any(|b| overlap::overlaps(a, b)));
    if later.needs.contains(&earlier.id) {
        OrderReason::Needs
    } else if later.prepared_by.contains(&earlier.id) {
        OrderReason::Preparing
    } else if meet(&earlier.cleans, &later.produces) || meet(&earlier.produces, &later.requires) {
        OrderReason::Artifacts
    } else if earlier.is_writer() && earlier.tier == later.tier {
        OrderReason::Writer
    } else {
        OrderReason::Sequence
    }
}
