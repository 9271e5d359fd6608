//! Concrete paths as witnesses, for selections that cannot be compared exactly: what they show
//! holds, what they do not show is unknown.

use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::automaton::{Atom, Region};
use vplan_base::glob::{Glob, ItemContent, Selection};
use vplan_base::path::RepoPath;

/// Maximum number of globs from which paths are made.
const MOST_GLOBS: usize = 128;
/// Maximum number of paths that are made.
const MOST_MADE: usize = 4_000;
/// Maximum number of repository paths that are tried.
const MOST_TRACKED: usize = 20_000;
/// Maximum number of atoms.
const MOST_ATOMS: usize = 256;
/// Maximum number of tests whether a path lies in a region.
const WORK: usize = 2_000_000;
/// The parts of paths that fill what a glob leaves open.
const FILLERS: [&str; 4] = ["x", "a", "m/n", "z.md"];

/// Returns some of the atoms of these regions: those of paths that are made of the globs, and of
/// files of the repository.
pub(super) fn atoms(regions: &[Region<'_>], tracked: &[RepoPath]) -> Vec<Atom> {
    let mut globs = Vec::new();
    for region in regions {
        if let Region::Selected(selection) | Region::Item(selection, _) = region {
            collect(selection, &mut globs);
        }
    }
    let below = regions.iter().filter_map(|region| match region {
        Region::Below(dir) => Some(dir.to_string()),
        _ => None,
    });
    let made = made(&globs, below);
    let tracked = tracked.iter().take(MOST_TRACKED).cloned();
    let mut found: BTreeMap<Vec<bool>, RepoPath> = BTreeMap::new();
    let most = WORK / regions.len().max(1);
    for path in made.into_iter().chain(tracked).take(most) {
        let inside: Vec<bool> = regions.iter().map(|region| region.holds(&path)).collect();
        if found.len() < MOST_ATOMS || found.contains_key(&inside) {
            let example = found.entry(inside).or_insert_with(|| path.clone());
            if (path.as_bytes().len(), &path) < (example.as_bytes().len(), example) {
                *example = path;
            }
        }
    }
    let atom = |(inside, example)| Atom { inside, example };
    let mut atoms: Vec<Atom> = found.into_iter().map(atom).collect();
    atoms.sort_by(|a, b| {
        let key = |atom: &Atom| (atom.example.as_bytes().len(), atom.example.clone());
        key(a).cmp(&key(b))
    });
    atoms
}

/// Returns a path that some of the first selections select and none of the others.
pub(super) fn only_in(
    some: &[&Selection],
    none: &[&Selection],
    tracked: &[RepoPath],
) -> Option<RepoPath> {
    let regions: Vec<Region> = some
        .iter()
        .chain(none)
        .map(|s| Region::Selected(s))
        .collect();
    let differs = |atom: &Atom| {
        let (a, b) = atom.inside.split_at_checked(some.len()).unwrap_or_default();
        a.contains(&true) && !b.contains(&true)
    };
    atoms(&regions, tracked)
        .into_iter()
        .find(differs)
        .map(|atom| atom.example)
}

fn collect<'a>(selection: &'a Selection, globs: &mut Vec<&'a Glob>) {
    for item in &selection.items {
        match &item.what {
            ItemContent::Glob(glob) if globs.len() < MOST_GLOBS => globs.push(glob),
            ItemContent::Glob(_) => {}
            ItemContent::Paths { items, .. } => collect(items, globs),
        }
    }
}

/// Makes paths of globs: examples of each, and the folder of one with the file of another.
fn made(globs: &[&Glob], below: impl Iterator<Item = String>) -> BTreeSet<RepoPath> {
    let examples: BTreeSet<String> = globs
        .iter()
        .flat_map(|glob| glob.examples(&FILLERS))
        .take(MOST_MADE)
        .collect();
    let mut folders: BTreeSet<String> = below.collect();
    let mut names: BTreeSet<String> = FILLERS.map(str::to_owned).into();
    for example in &examples {
        let (folder, name) = example.rsplit_once('/').unwrap_or(("", example));
        folders.insert(folder.to_owned());
        names.insert(name.to_owned());
    }
    let joined = folders.iter().flat_map(|folder| {
        names.iter().map(move |name| match folder.as_str() {
            "" => name.clone(),
            folder => format!("{folder}/{name}"),
        })
    });
    let texts = examples.iter().cloned().chain(joined).take(MOST_MADE);
    texts
        .filter_map(|text| RepoPath::parse(text.as_bytes()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::glob::Item;

    fn selection(text: &str) -> Selection {
        let item = |word: &str| {
            let (not, glob) = word
                .strip_prefix('!')
                .map_or((false, word), |glob| (true, glob));
            Item {
                not,
                what: ItemContent::Glob(Glob::parse(glob).unwrap()),
            }
        };
        Selection {
            items: text.split(' ').map(item).collect(),
        }
    }

    #[test]
    fn a_path_decides() {
        let hard = "**/*a????????????????????x*";
        for (some, none, want) in [
            ("src/**", hard, Some("src/a")),
            ("src/*.rs", hard, Some("src/a.rs")),
            ("src/** !src/a", hard, Some("src/n")),
            ("src/a", "**", None),
        ] {
            let found = only_in(&[&selection(some)], &[&selection(none)], &[]);
            assert_eq!(
                found.map(|p| p.to_string()).as_deref(),
                want,
                "{some} {none}"
            );
        }
        // Where the globs do not show it, the repository's files may.
        let (some, none) = (selection("**"), selection("**/*[a-z]* **/*[a-z]*/**"));
        let real = RepoPath::parse(b"0/1").unwrap();
        assert_eq!(only_in(&[&some], &[&none], &[]), None);
        assert_eq!(
            only_in(&[&some], &[&none], std::slice::from_ref(&real)),
            Some(real)
        );
    }
}
