//! The declared writes of steps, and their conflicts with the observed effects of others, and with
//! what others declare to write or need unchanged.

use crate::field::FieldValue;
use crate::{MAY_CHANGE, Step};
use vplan_base::glob::automaton::{AutomatonLimits, Region, atoms};
use vplan_base::glob::{Glob, ItemContent, Selection};
use vplan_base::path::RepoPath;

/// The contract's declarations about the files of a step. They do not include its `inputs`: for
/// reads, the observed effects count.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// The files that it writes.
    pub written: Vec<Selection>,
    /// The files that vplan looks at for it, before it and after it.
    pub wanted: Vec<Selection>,
}

/// Returns what the contract says of the files of a step.
pub(super) fn declared(step: &Step) -> Declared {
    let mut declared = Declared {
        written: any_of(step.products()),
        wanted: any_of(step.requires.iter()),
    };
    if let FieldValue::Selection(may_change) = step.held(MAY_CHANGE) {
        declared.written.push(may_change.clone());
    }
    declared.wanted.extend(step.unchanged.clone());
    declared
}

/// Returns the selection of globs; none of no glob.
fn any_of<'g>(globs: impl Iterator<Item = &'g Glob>) -> Vec<Selection> {
    let any: Selection = globs.cloned().collect();
    let any = Some(any).filter(|any| !any.items.is_empty());
    any.into_iter().collect()
}

/// Whether a selection of written files may select one in a folder; errs towards yes. The creation
/// of a parent folder of all selected files is left to observation.
pub(super) fn may_write_in(selection: &Selection, folder: &RepoPath) -> bool {
    let is_at = |(anchor, is_file): (RepoPath, bool)| match is_file {
        true => anchor.folder() == *folder,
        false => folder.below(&anchor).is_some() || anchor == *folder,
    };
    let leads = |glob: &&Glob| glob.anchors().into_iter().any(is_at) && glob.reaches_below(folder);
    selection.positive_globs().iter().any(leads) && selection.may_hold(folder)
}

pub(super) fn excludes(selection: &Selection) -> bool {
    selection.items.iter().any(|item| {
        item.not || matches!(&item.what, ItemContent::Paths { items, .. } if excludes(items))
    })
}

/// Returns the first positive glob of a selection.
pub(super) fn first_glob(selection: &Selection) -> Option<&str> {
    selection.positive_globs().first().map(|glob| glob.text())
}

/// Whether two selections select the same path; yes where it is too much to find out.
pub(super) fn overlap(one: &Selection, other: &Selection) -> bool {
    let regions = [Region::Selected(one), Region::Selected(other)];
    let found = atoms(&regions, &AutomatonLimits::default());
    found.is_none_or(|atoms| atoms.iter().any(|atom| atom.inside == [true, true]))
}
