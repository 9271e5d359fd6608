//! Groups files by which of many selections select them.

use super::super::change::ChangeSet;
use super::super::glob::Selection;
use super::matcher::{Matcher, SeenBlock};
use std::collections::BTreeMap;

/// Returns for each file the number of its group: two files are in one group when the same
/// selections select them. Groups are numbered in the order of their first files. Takes the time of
/// [`match_all`](super::match_all).
#[must_use]
pub fn group_files(selections: &[&Selection], changes: &ChangeSet) -> Vec<u32> {
    let blocks = Matcher::new(selections).watch(changes);
    // The lists of all files one after another: the list of a file ends where the next one begins.
    let mut ends = vec![0_usize; changes.len() + 1];
    for file in blocks.iter().flat_map(SeenBlock::files) {
        if let Some(count) = ends.get_mut(file) {
            *count += 1;
        }
    }
    let mut all = 0;
    for end in &mut ends {
        all += std::mem::replace(end, all);
    }
    let mut lists = vec![0_u32; all];
    for block in &blocks {
        for file in block.files() {
            if let Some(end) = ends.get_mut(file) {
                if let Some(list) = lists.get_mut(*end) {
                    *list = block.list;
                }
                *end += 1;
            }
        }
    }
    number_groups(&mut lists, ends.get(..changes.len()).unwrap_or_default())
}

/// Numbers the groups of files, each with its lists, which end here.
fn number_groups(lists: &mut [u32], ends: &[usize]) -> Vec<u32> {
    let mut start = 0;
    for end in ends {
        if let Some(own) = lists.get_mut(start..*end) {
            own.sort_unstable();
        }
        start = *end;
    }
    let mut known: BTreeMap<&[u32], u32> = BTreeMap::new();
    let mut groups = Vec::with_capacity(ends.len());
    let mut last: Option<(&[u32], u32)> = None;
    start = 0;
    for end in ends {
        let own = lists.get(start..*end).unwrap_or_default();
        start = *end;
        // Neighbours are often alike.
        let group = match last {
            Some((before, group)) if before == own => group,
            _ => {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(own).or_insert(next)
            }
        };
        last = Some((own, group));
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::config;
    use crate::arbitrary::glob::{changes_like, globs_of, selections};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(config(256))]

        #[test]
        fn files_are_in_one_group_when_the_same_selections_select_them(
            (lists, changes) in selections()
                .prop_flat_map(|lists| (changes_like(globs_of(&lists)), Just(lists)))
                .prop_map(|(changes, lists)| (lists, changes)),
        ) {
            let borrowed: Vec<&Selection> = lists.iter().collect();
            let groups = group_files(&borrowed, &changes);
            let selected = |n: usize| -> Vec<bool> {
                lists.iter().map(|list| list.selects(&changes.files()[n].path)).collect()
            };
            prop_assert_eq!(groups.len(), changes.len());
            for (a, one) in groups.iter().enumerate() {
                for (b, other) in groups.iter().enumerate().take(a) {
                    prop_assert_eq!(one == other, selected(a) == selected(b), "{} {}", a, b);
                }
            }
        }
    }
}
