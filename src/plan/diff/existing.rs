//! Finds files for what a request asks to exist and not to exist.

use std::collections::BTreeMap;
use vplan_base::glob::automaton::{AutomatonLimits, Region, atoms};
use vplan_base::glob::{Glob, Item, Selection, escape};
use vplan_base::path::RepoPath;
use vplan_contract::Sought;

/// Existing and missing paths that satisfy all of a request's conditions on existence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Existing {
    /// The requested paths, and one for each glob that none of them matches.
    pub paths: BTreeMap<RepoPath, bool>,
    /// The globs that no file may match.
    pub unmatched: Vec<Glob>,
}

/// Finds these files. `None` where there are none, or where they are too hard to find.
pub(super) fn existing(asked: &BTreeMap<Sought, bool>) -> Option<Existing> {
    let mut found = Existing::default();
    let mut matched = Vec::new();
    for (sought, is) in asked {
        match (sought, is) {
            (Sought::Path(path), is) => {
                found.paths.insert(path.clone(), *is);
            }
            (Sought::Glob(glob), true) => matched.push(glob),
            (Sought::Glob(glob), false) => found.unmatched.push(glob.clone()),
        }
    }
    let there = |found: &Existing, glob: &Glob| {
        let mut paths = found.paths.iter();
        paths.any(|(path, is)| *is && glob.matches(path))
    };
    if found.unmatched.iter().any(|glob| there(&found, glob)) {
        return None;
    }
    for glob in matched {
        if !there(&found, glob) {
            let file = file_of(glob, &found)?;
            found.paths.insert(file, true);
        }
    }
    Some(found)
}

/// Returns a file that matches a glob and no unmatched glob, and that is neither a missing path nor
/// below one.
fn file_of(glob: &Glob, found: &Existing) -> Option<RepoPath> {
    let gone = found.paths.iter().filter(|(_, is)| !**is);
    let gone = gone.filter_map(|(path, _)| {
        let text = std::str::from_utf8(path.as_bytes()).ok()?;
        Glob::parse(&format!("{}/**", escape(text))).ok()
    });
    let without = found.unmatched.iter().cloned().chain(gone);
    let without = without.map(|glob| Item {
        not: true,
        ..glob.into()
    });
    let files = Selection {
        items: [glob.clone().into()].into_iter().chain(without).collect(),
    };
    let atoms = atoms(&[Region::Selected(&files)], &AutomatonLimits::default())?;
    let mut atoms = atoms.into_iter();
    Some(atoms.find(|atom| atom.inside == [true])?.example)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(all: &[(&str, bool)]) -> BTreeMap<Sought, bool> {
        let sought = |text: &str| match Sought::glob(text) {
            Some(glob) => Sought::Glob(glob),
            None => Sought::Path(RepoPath::parse(text.as_bytes()).unwrap()),
        };
        all.iter().map(|(text, is)| (sought(text), *is)).collect()
    }

    #[test]
    fn there_are_files_for_it() {
        for (all, count) in [
            (&[][..], 0),
            (&[("a", true), ("b", false)], 1),
            // One of the paths is a file of the glob already.
            (&[("a.x", true), ("*.x", true)], 1),
            (&[("{a,b}.x", true), ("b.*", false)], 1),
            (&[("{a,b}.x", true), ("a.x", false)], 1),
            (&[("{a,b}/x", true), ("a", false)], 1),
            (&[("c/*.x", true), ("{a,b}.?", true), ("b.*", false)], 2),
        ] {
            let found = existing(&asked(all)).unwrap();
            let there = || {
                found
                    .paths
                    .iter()
                    .filter(|(_, is)| **is)
                    .map(|(path, _)| path)
            };
            let is_so = |(sought, is): (&Sought, &bool)| sought.is_among(there()) == *is;
            assert!(asked(all).iter().all(is_so), "{all:?} {found:?}");
            assert_eq!(there().count(), count, "{all:?} {found:?}");
        }
    }

    #[test]
    fn there_are_none() {
        for all in [
            &[("a.x", true), ("*.x", false)][..],
            &[("{a,b}.x", true), ("a.x", false), ("b.x", false)],
            &[("a/*.x", true), ("a", false)],
            &[("a.*", true), ("*", false)],
        ] {
            assert_eq!(existing(&asked(all)), None, "{all:?}");
        }
    }
}
