//! Groups files by which of many selections select them.

use super::super::change::ChangeSet;
use super::super::glob::Selection;
use super::list::ListIndex;
use super::matcher::Matcher;
use hashbrown::HashMap;

/// Returns for each file the number of its group: two files are in one group when the same
/// selections select them. Groups are numbered in the order of their first files. Takes the time of
/// [`match_all`](super::match_all).
pub fn group_files(selections: &[&Selection], changes: &ChangeSet) -> Vec<u32> {
    let mut lists: Vec<Vec<ListIndex>> = vec![Vec::new(); changes.len()];
    for block in Matcher::new(selections).watch(changes) {
        for file in block.files() {
            lists
                .get_mut(file)
                .into_iter()
                .for_each(|own| own.push(block.list));
        }
    }
    let mut known: HashMap<Vec<ListIndex>, u32> = HashMap::new();
    let number = |mut own: Vec<ListIndex>| {
        own.sort_unstable();
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(own).or_insert(next)
    };
    lists.into_iter().map(number).collect()
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
