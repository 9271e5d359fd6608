//! Divides paths into the sets that globs distinguish. Exact: all globs run as automata in
//! parallel, as far as paths lead.
//!
//! The automata read characters, not bytes. That loses nothing: a path is a sequence of characters
//! and stray bytes, and no glob distinguishes stray bytes. 0xff, which is always stray, represents
//! all of them. Characters that no glob distinguishes are one letter.

mod alphabet;
mod atom;
pub(super) mod machine;
mod search;

use super::{Glob, Item, ItemContent, Selection};
use crate::index::Dense;
use crate::path::RepoPath;
use atom::Set;
pub use atom::{Atom, AutomatonLimits};
use machine::{GlobIndex, Machine};
use std::collections::BTreeMap;

/// A set of paths.
#[derive(Clone, Debug, PartialEq)]
pub enum Region<'a> {
    /// The paths that a selection selects.
    Selected(&'a Selection),
    /// The paths that one positive item of a list selects and the list does not exclude.
    Item(&'a Selection, &'a Item),
    /// The paths below a directory.
    Below(&'a RepoPath),
}

impl Region<'_> {
    /// Whether the region contains a path.
    pub fn holds(&self, path: &RepoPath) -> bool {
        match self {
            Region::Selected(selection) => selection.selects(path),
            Region::Item(selection, item) => {
                let excluded = |item: &Item| item.not && item.selects(path);
                item.selects(path) && !selection.items.iter().any(excluded)
            }
            Region::Below(dir) => path.below(dir).is_some(),
        }
    }
}

/// Returns all atoms of some regions, the most readable first. `None` when a limit is reached.
pub fn atoms(regions: &[Region<'_>], limits: &AutomatonLimits) -> Option<Vec<Atom>> {
    let mut globs = Globs::default();
    let sets: Vec<Set> = regions.iter().map(|region| globs.region(region)).collect();
    search::explore(
        &globs.machine(limits.nodes)?,
        &sets,
        globs.all.len(),
        limits,
    )
}

/// Every distinct glob, once.
#[derive(Default)]
struct Globs<'a> {
    all: Dense<GlobIndex, Source<'a>>,
    known: BTreeMap<&'a str, GlobIndex>,
}

enum Source<'a> {
    Glob(&'a Glob),
    /// Everything below a directory.
    Below(&'a RepoPath),
}

impl<'a> Globs<'a> {
    fn machine(&self, most: usize) -> Option<Machine<'a>> {
        let mut machine = Machine::default();
        for (index, source) in self.all.numbered() {
            match source {
                Source::Glob(glob) => machine.add_glob(glob, index, most)?,
                Source::Below(dir) => machine.add_below(dir, index, most)?,
            }
        }
        machine.finish();
        Some(machine)
    }

    fn region(&mut self, region: &Region<'a>) -> Set {
        match region {
            Region::Selected(selection) => self.selection(selection),
            Region::Item(selection, item) => {
                Set::But(vec![self.item(item)], self.items(selection, true))
            }
            Region::Below(dir) if dir.is_root() => Set::All,
            Region::Below(dir) => Set::Glob(self.all.push(Source::Below(dir))),
        }
    }

    fn selection(&mut self, selection: &'a Selection) -> Set {
        Set::But(self.items(selection, false), self.items(selection, true))
    }

    fn items(&mut self, selection: &'a Selection, not: bool) -> Vec<Set> {
        selection
            .items
            .iter()
            .filter(|item| item.not == not)
            .map(|item| self.item(item))
            .collect()
    }

    fn item(&mut self, item: &'a Item) -> Set {
        match &item.what {
            ItemContent::Paths { items, .. } => self.selection(items),
            ItemContent::Glob(glob) => {
                let add = || self.all.push(Source::Glob(glob));
                Set::Glob(*self.known.entry(glob.text()).or_insert_with(add))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(items: &[&str]) -> Selection {
        let item = |text: &&str| {
            let (not, text) = text
                .strip_prefix('!')
                .map_or((false, *text), |text| (true, text));
            Item {
                not,
                what: ItemContent::Glob(Glob::parse(text).unwrap()),
            }
        };
        Selection {
            items: items.iter().map(item).collect(),
        }
    }

    /// Returns the atoms of two selections. They tell whether there are paths in both, in the first
    /// alone, in the second alone, and in none, with an example of each.
    fn compared(a: &[&str], b: &[&str]) -> [Option<String>; 4] {
        let (a, b) = (selection(a), selection(b));
        let found = atoms(
            &[Region::Selected(&a), Region::Selected(&b)],
            &AutomatonLimits::default(),
        )
        .unwrap();
        for atom in &found {
            assert_eq!(
                atom.inside,
                [a.selects(&atom.example), b.selects(&atom.example)],
                "{}",
                atom.example
            );
        }
        [[true, true], [true, false], [false, true], [false, false]].map(|inside| {
            found
                .iter()
                .find(|atom| atom.inside == inside)
                .map(|atom| atom.example.to_string())
        })
    }

    #[test]
    fn what_two_selections_share() {
        let some = |text: &str| Some(text.to_owned());
        for (a, b, want) in [
            (
                &["src/**"][..],
                &["src/**"][..],
                [some("src"), None, None, some("a")],
            ),
            (
                &["src/**"],
                &["src/**", "!**/*.md"],
                [some("src"), some("src/a.md"), None, some("a")],
            ),
            (&["**"], &["a/**", "!a/**"], [None, some("a"), None, None]),
            (&["**/*"], &["**"], [some("a"), None, None, None]),
            (&["*"], &["?*"], [some("a"), None, None, some("a/a")]),
            (
                &["{a,b}/c"],
                &["a/c", "b/c"],
                [some("a/c"), None, None, some("a")],
            ),
            (
                &["[ab]"],
                &["[!a]"],
                [some("b"), some("a"), some("c"), some("aa")],
            ),
            (
                &["x[!a]"],
                &["x[b-é]"],
                [some("xb"), some("x-"), None, some("a")],
            ),
            (
                &["*.ts"],
                &["*.test.ts"],
                [some("a.test.ts"), some("a.ts"), None, some("a")],
            ),
            (
                &["a/**/b"],
                &["a/b", "a/*/**/b"],
                [some("a/b"), None, None, some("a")],
            ),
            (
                &["?"],
                &["[\u{0}-\u{10ffff}]"],
                [some("a"), some("\\xff"), None, some("aa")],
            ),
        ] {
            assert_eq!(compared(a, b), want, "{a:?} {b:?}");
        }
    }

    #[test]
    fn only_names_that_paths_have() {
        // No path has `.`, `..` or empty names; `??` minus `..` is not empty, `.` minus everything
        // is.
        let dots = compared(&["[.]"], &["**"]);
        assert_eq!(dots[0], None);
        let two = compared(&["[.][.]", "[.]?"], &["[.][!.]"]);
        assert_eq!(two[1], None, "`..` is no path");
        assert!(two[0].is_some());
    }

    #[test]
    fn items_and_directories() {
        let list = selection(&["src/**", "lib/**", "!**/*.md"]);
        let dir = RepoPath::parse(b"src/[a]").unwrap();
        let regions = [
            Region::Item(&list, &list.items[0]),
            Region::Item(&list, &list.items[1]),
            Region::Below(&dir),
            Region::Selected(&list),
        ];
        let found = atoms(&regions, &AutomatonLimits::default()).unwrap();
        for atom in &found {
            let want: Vec<bool> = regions.iter().map(|r| r.holds(&atom.example)).collect();
            assert_eq!(atom.inside, want, "{}", atom.example);
        }
        let shown: Vec<String> = found.iter().map(|a| a.example.to_string()).collect();
        assert_eq!(shown, ["a", "lib", "src", "src/[a]/a", "src/[a]/a.md"]);
    }

    #[test]
    fn limits_are_kept() {
        // A state for each subset of the last twenty characters that are `a`: a million states.
        let text = format!("*a{}", "?".repeat(20));
        let hard = selection(&[&text]);
        assert_eq!(
            atoms(&[Region::Selected(&hard)], &AutomatonLimits::default()),
            None
        );
        let few = AutomatonLimits {
            atoms: 1,
            ..AutomatonLimits::default()
        };
        assert_eq!(atoms(&[Region::Selected(&selection(&["a"]))], &few), None);
        let small = AutomatonLimits {
            nodes: 3,
            ..AutomatonLimits::default()
        };
        assert_eq!(
            atoms(&[Region::Selected(&selection(&["abcdef"]))], &small),
            None
        );
    }
}
