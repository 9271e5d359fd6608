//! When does a condition hold?
//!
//! The obviously right answer, one file and one glob at a time. The planner matches all selections in one pass
//! (`base::matching`); tests hold it against this.

use super::Test;
use crate::base::change::ChangeSet;
use crate::base::glob::Selection;
use crate::base::path::RepoPath;

/// Whether a condition holds for a role and a change. `exists` answers whether a path exists.
pub fn holds(test: &Test, role: &str, changes: &ChangeSet, exists: impl Fn(&RepoPath) -> bool) -> bool {
    let selected = |selection: &Selection| changes.files().iter().filter(|f| selection.selects(&f.path)).count();
    match test {
        Test::Role(roles) => roles.iter().any(|r| r == role),
        Test::ChangedAny(selection) => selected(selection) > 0,
        Test::ChangedAll(selection) => all_items(selection, changes),
        Test::ChangedOnly(selection) => !changes.is_empty() && selected(selection) == changes.len(),
        Test::ChangedNone(selection) => selected(selection) == 0,
        Test::Exists(paths) => paths.iter().all(exists),
    }
}

/// Whether every positive item selects a changed file that the list does not exclude.
fn all_items(selection: &Selection, changes: &ChangeSet) -> bool {
    let excluded = |path: &RepoPath| selection.items.iter().any(|i| i.not && i.selects(path));
    selection
        .items
        .iter()
        .filter(|item| !item.not)
        .all(|item| changes.files().iter().any(|f| item.selects(&f.path) && !excluded(&f.path)))
}
