//! What the contract says that steps write, and finds those that meet in it: with what others were
//! seen to use, and with what others are said to write or to want unchanged.

use super::Effects;
use super::known::Knowledge;
use super::paths::{Meets, UsedFiles};
use crate::base::bits::Bits;
use crate::base::change::{ChangeSet, ChangedFile, Status};
use crate::base::glob::automaton::{Limits, Region, atoms};
use crate::base::glob::overlap::{Shape, groups};
use crate::base::glob::{Glob, Item, ItemContent, Selection};
use crate::base::index::Dense;
use crate::base::matching::Matcher;
use crate::base::path::RepoPath;
use crate::plan::field::FieldValue;
use crate::plan::{MAY_CHANGE, Step, StepIndex};
use std::collections::BTreeMap;

/// What the contract says of the files of a step. Its `inputs` are no part of it: what it reads is
/// believed as it was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// The files that it writes.
    pub written: Vec<Selection>,
    /// The files that vplan looks at for it, before it and after it.
    pub wanted: Vec<Selection>,
}

/// Returns what the contract says of the files of a step.
pub(super) fn declared(step: &Step) -> Declared {
    let report = step.report.iter().map(|report| &report.glob);
    let products = step.produces.iter().chain(&step.cleans).chain(report);
    let mut declared = Declared {
        written: any_of(products),
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
    let item = |glob: &Glob| Item {
        not: false,
        what: ItemContent::Glob(glob.clone()),
    };
    let items: Vec<Item> = globs.map(item).collect();
    let is_any = !items.is_empty();
    is_any.then_some(Selection { items }).into_iter().collect()
}

/// A selection of a step.
#[derive(Clone, Copy)]
struct Area<'a> {
    step: StepIndex,
    is_write: bool,
    selection: &'a Selection,
}

/// Finds who meets whom; it is noted for those who write.
pub(super) fn meet(steps: &Dense<StepIndex, Effects<'_>>, used: &UsedFiles<'_>, meets: &mut Meets) {
    let known = steps
        .numbered()
        .filter(|(_, step)| matches!(step.seen, Knowledge::All(_)));
    let areas: Vec<Area<'_>> = known.flat_map(|(index, step)| areas(index, step)).collect();
    meet_in_files(&areas, used, meets);
    meet_in_listings(&areas, used, meets);
    meet_in_areas(&areas, meets);
}

fn areas<'a>(step: StepIndex, effects: &'a Effects<'_>) -> impl Iterator<Item = Area<'a>> {
    let area = move |is_write| {
        move |selection| Area {
            step,
            is_write,
            selection,
        }
    };
    let Declared { written, wanted } = &effects.declared;
    let written = written.iter().map(area(true));
    written.chain(wanted.iter().map(area(false)))
}

/// A file that somebody uses, and that another one is said to write; or to want unchanged, where
/// somebody writes it.
fn meet_in_files(areas: &[Area<'_>], used: &UsedFiles<'_>, meets: &mut Meets) {
    let selections: Vec<&Selection> = areas.iter().map(|area| area.selection).collect();
    let matcher = Matcher::new(&selections);
    for (by, files) in &used.files {
        let file = |path: &&RepoPath| ChangedFile {
            path: (*path).clone(),
            status: Status::Modified,
        };
        let files = ChangeSet::new(files.iter().map(file).collect());
        let found = matcher.matches(&files);
        for area in found.iter().filter_map(|(area, _)| areas.get(*area)) {
            if area.is_write {
                by.users.iter().for_each(|user| meets[area.step].set(*user));
            } else {
                by.writers
                    .iter()
                    .for_each(|writer| meets[*writer].set(area.step));
            }
        }
    }
}

/// A folder that somebody lists, and in which another one is said to write.
fn meet_in_listings(areas: &[Area<'_>], used: &UsedFiles<'_>, meets: &mut Meets) {
    for area in areas.iter().filter(|area| area.is_write) {
        for (folder, listers) in &used.listed {
            if may_write_in(area.selection, folder) {
                listers
                    .iter()
                    .for_each(|lister| meets[area.step].set(*lister));
            }
        }
    }
}

/// Whether a selection of written files may select one in a folder; errs towards yes. That a folder
/// is made which everything selected is in was seen, where it happens.
pub(super) fn may_write_in(selection: &Selection, folder: &RepoPath) -> bool {
    let is_at = |(anchor, is_file): (RepoPath, bool)| match is_file {
        true => anchor.folder() == *folder,
        false => folder.below(&anchor).is_some() || anchor == *folder,
    };
    let leads = |glob: &&Glob| glob.anchors().into_iter().any(is_at) && glob.reaches_below(folder);
    positive(selection).iter().any(leads) && selection.may_hold(folder)
}

/// A file that one is said to write, and another one to write or to want unchanged.
fn meet_in_areas(areas: &[Area<'_>], meets: &mut Meets) {
    let writes = by_glob(areas.iter().filter(|area| area.is_write));
    let all = by_glob(areas.iter());
    for (some, others) in groups(&writes, &all) {
        let others: Vec<&Area<'_>> = others.into_iter().flatten().copied().collect();
        let mut plain = Bits::none(meets.len());
        let (excluding, simple): (Vec<&Area<'_>>, Vec<&Area<'_>>) = others
            .into_iter()
            .partition(|area| excludes(area.selection));
        simple.iter().for_each(|area| plain.set(area.step));
        for area in some.into_iter().flatten() {
            if excludes(area.selection) {
                let met = simple
                    .iter()
                    .filter(|other| overlap(area.selection, other.selection));
                met.for_each(|other| meets[area.step].set(other.step));
            } else {
                meets[area.step].add(&plain);
            }
            let met = excluding.iter().filter(|other| {
                !meets[area.step].has(other.step) && overlap(area.selection, other.selection)
            });
            let met: Vec<StepIndex> = met.map(|other| other.step).collect();
            met.into_iter()
                .for_each(|other| meets[area.step].set(other));
        }
    }
}

/// The positive globs of areas, with the areas that have each.
fn by_glob<'a>(areas: impl Iterator<Item = &'a Area<'a>>) -> Vec<(Shape<'a>, Vec<&'a Area<'a>>)> {
    let mut by_glob: BTreeMap<&Glob, Vec<&Area<'_>>> = BTreeMap::new();
    for area in areas {
        for glob in positive(area.selection) {
            by_glob.entry(glob).or_default().push(area);
        }
    }
    let shaped = by_glob.into_iter();
    shaped
        .map(|(glob, areas)| (Shape::new(glob), areas))
        .collect()
}

fn excludes(selection: &Selection) -> bool {
    selection.items.iter().any(|item| {
        item.not || matches!(&item.what, ItemContent::Paths { items, .. } if excludes(items))
    })
}

/// Returns the globs of which a selection's files match one.
fn positive(selection: &Selection) -> Vec<&Glob> {
    let items = selection.items.iter().filter(|item| !item.not);
    items
        .flat_map(|item| match &item.what {
            ItemContent::Glob(glob) => vec![glob],
            ItemContent::Paths { items, .. } => positive(items),
        })
        .collect()
}

/// Returns the first glob of which a selection's files match one.
pub(super) fn first_glob(selection: &Selection) -> Option<&str> {
    positive(selection).first().map(|glob| glob.text())
}

/// Whether two selections select the same path; yes where it is too much to find out.
pub(super) fn overlap(one: &Selection, other: &Selection) -> bool {
    let regions = [Region::Selected(one), Region::Selected(other)];
    let found = atoms(&regions, &Limits::default());
    found.is_none_or(|atoms| {
        atoms
            .iter()
            .any(|atom| atom.inside.iter().all(|is_in| *is_in))
    })
}
