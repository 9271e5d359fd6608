//! Which of many selections select which of many files? One pass over the files, an index in front of the globs.

use super::change::ChangeSet;
use super::glob::Selection;

/// How many files are named in a reason.
pub const SHOWN: usize = 20;

/// Files that were selected: how many, and the first [`SHOWN`] as indices into the change set (which is in byte order).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Vec<u32>,
}

/// What one selection selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Files that the whole selection selects.
    pub all: Hits,
    /// For each item in order: files that this (positive) item selects and no exclusion of the list takes away. Empty for
    /// excluding items.
    pub items: Vec<Hits>,
}

/// Matches all selections against all changed files; the answer has one entry per selection, in order.
#[must_use]
pub fn match_all(_selections: &[&Selection], _changes: &ChangeSet) -> Vec<Selected> {
    Vec::new()
}
