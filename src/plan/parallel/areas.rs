//! Conflicts of declared effects.

use super::declared::{Declared, excludes, may_write_in, overlap};
use super::effects::StepEffects;
use super::known::Knowledge;
use super::paths::{Meets, UsedFiles};
use crate::StepIndex;
use std::collections::BTreeMap;
use vplan_base::bits::Bits;
use vplan_base::change::ChangeSet;
use vplan_base::glob::overlap::{Shape, groups};
use vplan_base::glob::{Glob, Selection};
use vplan_base::index::Dense;
use vplan_base::matching::Matcher;

/// A selection of a step.
#[derive(Clone, Copy)]
pub(super) struct Area<'a> {
    pub(super) step: StepIndex,
    pub(super) is_write: bool,
    pub(super) selection: &'a Selection,
}

/// Finds who meets whom; it is noted for those who write.
pub(crate) fn meet(
    steps: &Dense<StepIndex, StepEffects<'_>>,
    used: &UsedFiles<'_>,
    meets: &mut Meets,
) {
    let is_known = |step: &StepEffects<'_>| matches!(step.seen, Knowledge::All(_));
    let known = steps.numbered().filter(|(_, step)| is_known(step));
    let areas: Vec<Area<'_>> = known.flat_map(|(index, step)| areas(index, step)).collect();
    meet_in_files(&areas, used, meets);
    meet_in_listings(&areas, used, meets);
    meet_in_areas(&areas, meets);
}

pub(super) fn areas<'a>(
    step: StepIndex,
    effects: &'a StepEffects<'_>,
) -> impl Iterator<Item = Area<'a>> {
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

/// Adds the conflicts in used files: a declared write of a file that another step uses, and an
/// observed write of a file that another step needs unchanged.
pub(super) fn meet_in_files(areas: &[Area<'_>], used: &UsedFiles<'_>, meets: &mut Meets) {
    let selections: Vec<&Selection> = areas.iter().map(|area| area.selection).collect();
    let matcher = Matcher::new(&selections);
    for (by, files) in &used.files {
        let files = ChangeSet::modified(files.iter().copied());
        let found = matcher.matches(&files);
        for area in found.iter().filter_map(|(area, _)| areas.get(*area)) {
            if area.is_write {
                by.users.iter().for_each(|user| meets[area.step].set(*user));
            } else {
                let writers = by.writers.iter();
                writers.for_each(|writer| meets[*writer].set(area.step));
            }
        }
    }
}

/// Adds the conflicts in listed folders: a declared write in a folder that another step lists.
pub(super) fn meet_in_listings(areas: &[Area<'_>], used: &UsedFiles<'_>, meets: &mut Meets) {
    for area in areas.iter().filter(|area| area.is_write) {
        for (folder, listers) in &used.listed {
            if may_write_in(area.selection, folder) {
                listers.iter().for_each(|l| meets[area.step].set(*l));
            }
        }
    }
}

/// Adds the conflicts of declarations: a write of a file that another writes or needs unchanged.
pub(super) fn meet_in_areas(areas: &[Area<'_>], meets: &mut Meets) {
    let writes = by_glob(areas.iter().filter(|area| area.is_write));
    let all = by_glob(areas.iter());
    for (some, others) in groups(&writes, &all) {
        let others: Vec<&Area<'_>> = others.into_iter().flatten().copied().collect();
        let mut plain = Bits::none(meets.len());
        let others = others.into_iter();
        let (excluding, simple): (Vec<&Area<'_>>, Vec<&Area<'_>>) =
            others.partition(|area| excludes(area.selection));
        simple.iter().for_each(|area| plain.set(area.step));
        for area in some.into_iter().flatten() {
            if excludes(area.selection) {
                let meets_it = |other: &&&Area<'_>| overlap(area.selection, other.selection);
                let met = simple.iter().filter(meets_it);
                met.for_each(|other| meets[area.step].set(other.step));
            } else {
                meets[area.step].add(&plain);
            }
            for other in &excluding {
                if !meets[area.step].has(other.step) && overlap(area.selection, other.selection) {
                    meets[area.step].set(other.step);
                }
            }
        }
    }
}

/// The positive globs of areas, with the areas that have each.
pub(super) fn by_glob<'a>(
    areas: impl Iterator<Item = &'a Area<'a>>,
) -> Vec<(Shape<'a>, Vec<&'a Area<'a>>)> {
    let mut by_glob: BTreeMap<&Glob, Vec<&Area<'_>>> = BTreeMap::new();
    for area in areas {
        for glob in area.selection.positive_globs() {
            by_glob.entry(glob).or_default().push(area);
        }
    }
    let by_glob = by_glob.into_iter();
    by_glob
        .map(|(glob, areas)| (Shape::new(glob), areas))
        .collect()
}
