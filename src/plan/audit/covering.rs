//! The fewest globs that select some files, and hardly any that was not read.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::automaton::{AutomatonLimits, Region, atoms};
use vplan_base::glob::{Glob, Selection, escape};
use vplan_base::path::RepoPath;

/// The files that git tracks, by what globs ask of them.
#[derive(Debug)]
pub struct TrackedFiles<'a> {
    all: &'a [RepoPath],
    by_ending: BTreeMap<Option<&'a str>, Vec<&'a RepoPath>>,
    by_folder: BTreeMap<RepoPath, Vec<&'a RepoPath>>,
}

impl<'a> TrackedFiles<'a> {
    /// Takes the tracked files, sorted.
    pub fn new(all: &'a [RepoPath]) -> Self {
        let mut by_ending: BTreeMap<_, Vec<&RepoPath>> = BTreeMap::new();
        let mut by_folder: BTreeMap<_, Vec<&RepoPath>> = BTreeMap::new();
        for path in all {
            by_ending.entry(ending(path)).or_default().push(path);
            by_folder.entry(path.folder()).or_default().push(path);
        }
        Self {
            all,
            by_ending,
            by_folder,
        }
    }

    /// Counts the files below a folder.
    pub(super) fn below(&self, dir: &RepoPath) -> usize {
        within(dir, self.all).len()
    }

    /// Counts the files with an ending below a folder.
    fn below_of(&self, dir: &RepoPath, by: &str) -> usize {
        let files = self.by_ending.get(&Some(by));
        files.map_or(0, |files| within(dir, files).len())
    }

    /// Counts the files directly in a folder; with an ending, if one is given.
    pub(super) fn directly_in(&self, dir: &RepoPath, by: Option<&str>) -> usize {
        let files = self.by_folder.get(dir).into_iter().flatten();
        files
            .filter(|path| by.is_none() || ending(path) == by)
            .count()
    }
}

/// Returns globs that select all of these paths, sorted. `read`: the tracked files that were read,
/// `listed`: the folders that were listed. The lists are sorted.
///
/// Globs select only tracked files that were read. If their folder was listed, they may select
/// others, at most half as many as were read. A path that is not UTF-8 is omitted.
pub fn cover(
    wanted: &[&RepoPath],
    read: &[&RepoPath],
    tracked: &TrackedFiles<'_>,
    listed: &BTreeSet<&RepoPath>,
) -> Vec<String> {
    let wanted = wanted.iter().copied();
    let wanted: Vec<&RepoPath> = wanted.filter(|path| text(path).is_some()).collect();
    let covering = Covering {
        tracked,
        listed,
        selected: BTreeSet::new(),
    };
    let mut globs = covering.folder(&RepoPath::root(), &wanted, read);
    globs.sort();
    globs.dedup();
    globs
}

/// Returns the globs without those that select nothing that another one does not select, sorted.
pub fn fewest(mut globs: Vec<String>) -> Vec<String> {
    globs.sort();
    globs.dedup();
    let is_superfluous = |glob: &&String| {
        let mut others = globs.iter().filter(|other| other != glob);
        others.any(|other| selects_all_of(other, glob))
    };
    let kept = globs.iter().filter(|glob| !is_superfluous(glob));
    kept.cloned().collect()
}

/// Whether one glob selects all that another one does, and more.
fn selects_all_of(one: &str, other: &str) -> bool {
    let plain = one.split(['*', '?', '[', '{', '\\']).next();
    if plain.is_none_or(|plain| plain.len() == one.len() || !other.starts_with(plain)) {
        return false;
    }
    let (Ok(one), Ok(other)) = (Glob::parse(one), Glob::parse(other)) else {
        return false;
    };
    let [one, other] = [one, other].map(|glob| [glob].into_iter().collect::<Selection>());
    let regions = [Region::Selected(&one), Region::Selected(&other)];
    let atoms = atoms(&regions, &AutomatonLimits::default());
    atoms.is_some_and(|atoms| {
        let are = |inside: [bool; 2]| atoms.iter().any(|atom| atom.inside == inside);
        are([true, false]) && !are([false, true])
    })
}

/// Whether a glob that selects these numbers of tracked files, and of files that were read, selects
/// few enough that were not. `counted`: how many of those that were read justify another glob.
pub(super) fn is_narrow(tracked: usize, read: usize, counted: usize, is_listed: bool) -> bool {
    tracked == read || is_listed && 2 * tracked + counted <= 3 * read
}

/// Returns the ending of a file's name, without the dot.
pub(super) fn ending(path: &RepoPath) -> Option<&str> {
    let name = std::str::from_utf8(path.name()).ok()?;
    let (stem, ending) = name.rsplit_once('.')?;
    (!stem.is_empty() && !ending.is_empty()).then_some(ending)
}

/// Returns the glob for what is in a folder: `what` is a glob itself.
pub(super) fn in_folder(dir: &RepoPath, what: &str) -> Option<String> {
    if dir.is_root() {
        return Some(what.to_owned());
    }
    Some(format!("{}/{what}", escape(text(dir)?)))
}

fn text(path: &RepoPath) -> Option<&str> {
    std::str::from_utf8(path.as_bytes()).ok()
}

/// What all folders have in common.
#[derive(Clone)]
struct Covering<'a> {
    tracked: &'a TrackedFiles<'a>,
    listed: &'a BTreeSet<&'a RepoPath>,
    /// The endings that globs of folders above select.
    selected: BTreeSet<String>,
}

/// Some sorted paths.
type Paths<'p> = [&'p RepoPath];

impl Covering<'_> {
    /// Returns the fewest globs for the wanted files below a folder; of equally many the narrower
    /// ones. Recursion is bounded by the length of a path.
    fn folder(&self, dir: &RepoPath, wanted: &Paths<'_>, read: &Paths<'_>) -> Vec<String> {
        if let [only] = wanted {
            return literal(only).into_iter().collect();
        }
        let apart = self.by_place(dir, wanted, read);
        if apart.len() <= 1 {
            return apart;
        }
        let tracked = self.tracked.below(dir);
        if self.is_narrow(dir, tracked, read)
            && let Some(glob) = in_folder(dir, "**")
        {
            return vec![glob];
        }
        match self.by_ending(dir, wanted, read) {
            Some(globs) if globs.len() < apart.len() => globs,
            _ => apart,
        }
    }

    /// Covers what is directly in a folder, and each folder in it.
    fn by_place(&self, dir: &RepoPath, wanted: &Paths<'_>, read: &Paths<'_>) -> Vec<String> {
        let (mut globs, mut direct) = (Vec::new(), Vec::new());
        let mut rest = wanted;
        while let [first, behind @ ..] = rest {
            let Some(child) = child(dir, first) else {
                direct.push(*first);
                rest = behind;
                continue;
            };
            let own = within(&child, rest);
            globs.extend(self.folder(&child, own, within(&child, read)));
            rest = rest.get(own.len()..).unwrap_or_default();
        }
        globs.extend(self.in_one(dir, &direct, read));
        globs
    }

    /// Covers files that are directly in a folder.
    fn in_one(&self, dir: &RepoPath, wanted: &Paths<'_>, read: &Paths<'_>) -> Vec<String> {
        if let [] | [_] = wanted {
            return wanted.iter().filter_map(|path| literal(path)).collect();
        }
        let read = read.iter().filter(|path| child(dir, path).is_none());
        let read: Vec<&RepoPath> = read.copied().collect();
        let narrow = |by: Option<&str>| {
            let read = read.iter();
            let read = read.filter(|path| by.is_none() || ending(path) == by);
            let read: Vec<&RepoPath> = read.copied().collect();
            self.is_narrow(dir, self.tracked.directly_in(dir, by), &read)
        };
        let mut globs = Vec::new();
        for (by, paths) in by_own_ending(wanted) {
            let glob = by.filter(|by| paths.len() > 1 && narrow(Some(by)));
            match glob.and_then(|by| in_folder(dir, &format!("*.{}", escape(by)))) {
                Some(glob) => globs.push(glob),
                None => globs.extend(paths.iter().filter_map(|path| literal(path))),
            }
        }
        if globs.len() > 1 && narrow(None) {
            return in_folder(dir, "*").into_iter().collect();
        }
        globs
    }

    /// Covers a folder's file endings by one glob each, if all files below it with that ending were
    /// read, and the other files by place.
    fn by_ending(
        &self,
        dir: &RepoPath,
        wanted: &Paths<'_>,
        read: &Paths<'_>,
    ) -> Option<Vec<String>> {
        let narrow = |by: &&str| {
            let read = read.iter().filter(|path| ending(path) == Some(by));
            let read: Vec<&RepoPath> = read.copied().collect();
            self.is_narrow(dir, self.tracked.below_of(dir, by), &read)
        };
        let (mut globs, mut rest) = (Vec::new(), Vec::new());
        let mut behind = self.clone();
        for (by, paths) in by_own_ending(wanted) {
            let glob = by.filter(|_| paths.len() > 1).filter(narrow);
            match glob.and_then(|by| in_folder(dir, &format!("**/*.{}", escape(by)))) {
                Some(glob) => {
                    globs.push(glob);
                    behind.selected.extend(by.map(str::to_owned));
                }
                None => rest.extend(paths),
            }
        }
        if globs.is_empty() {
            return None;
        }
        rest.sort_unstable();
        globs.extend(behind.by_place(dir, &rest, read));
        Some(globs)
    }

    /// Whether a glob in a folder that selects this number of tracked files, and these that were read,
    /// is narrow.
    fn is_narrow(&self, dir: &RepoPath, tracked: usize, read: &Paths<'_>) -> bool {
        let is_selected = |by| self.selected.contains::<str>(by);
        let counted = read
            .iter()
            .filter(|path| ending(path).is_some_and(is_selected));
        let is_listed = self.listed.contains(dir);
        is_narrow(tracked, read.len(), counted.count(), is_listed)
    }
}

fn by_own_ending<'p>(paths: &Paths<'p>) -> BTreeMap<Option<&'p str>, Vec<&'p RepoPath>> {
    let mut by: BTreeMap<Option<&str>, Vec<&RepoPath>> = BTreeMap::new();
    for path in paths {
        by.entry(ending(path)).or_default().push(path);
    }
    by
}

fn literal(path: &RepoPath) -> Option<String> {
    Some(escape(text(path)?))
}

/// Returns the folder directly in `dir` that a path is below; none of a path that is directly in it.
fn child(dir: &RepoPath, path: &RepoPath) -> Option<RepoPath> {
    let below = path.below(dir)?;
    let end = below.iter().position(|byte| *byte == b'/')?;
    let from = path.as_bytes().len() - below.len();
    RepoPath::from_exact(path.as_bytes().get(..from + end)?)
}

/// Returns the part of a sorted list that is below a folder.
fn within<'a, P: Borrow<RepoPath>>(dir: &RepoPath, all: &'a [P]) -> &'a [P] {
    if dir.is_root() {
        return all;
    }
    let prefix = [dir.as_bytes(), b"/"].concat();
    let from = all.partition_point(|path| path.borrow().as_bytes() < prefix.as_slice());
    let rest = all.get(from..).unwrap_or_default();
    let count = rest.partition_point(|path| path.borrow().as_bytes().starts_with(&prefix));
    rest.get(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_read_justifies_one_glob() {
        let path = |text: &&str| RepoPath::parse(text.as_bytes()).unwrap();
        let read = ["ab/1.x", "ab/2.x", "ab/b", "ab/c", "c/3.x", "d/5.x"];
        let other = ["ab/d", "ab/e", "e/6.x", "e/7.x"];
        let read: Vec<RepoPath> = read.iter().map(path).collect();
        let other: Vec<RepoPath> = other.iter().map(path).collect();
        let mut tracked = [read.clone(), other].concat();
        tracked.sort();
        let read: Vec<&RepoPath> = read.iter().collect();
        let (root, ab) = (RepoPath::root(), path(&"ab"));
        let listed = BTreeSet::from([&root, &ab]);
        // `**/*.x` and `ab/**` are fewer, and each is narrow: both select four files that were read
        // and two that were not. The two of `ab` are the same.
        let globs = cover(&read, &read, &TrackedFiles::new(&tracked), &listed);
        assert_eq!(globs, ["ab/*", "c/3.x", "d/5.x"]);
    }
}
