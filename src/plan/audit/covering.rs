//! The fewest globs that select some files, and hardly any that was not read.

use crate::base::glob::escape;
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// Returns globs that select all of these paths, sorted. `read`: the tracked files that were read,
/// `tracked`: all of them, `listed`: the folders that were listed; all are sorted.
///
/// Globs select no tracked file that was not read, unless their folder was listed: then at most half
/// as many as were read. A path that is not UTF-8 cannot be selected, and is left out.
#[must_use]
pub fn cover(
    wanted: &[&RepoPath],
    read: &[&RepoPath],
    tracked: &[RepoPath],
    listed: &BTreeSet<&RepoPath>,
) -> Vec<String> {
    let wanted: Vec<&RepoPath> = wanted
        .iter()
        .copied()
        .filter(|path| text(path).is_some())
        .collect();
    let tracked: Vec<&RepoPath> = tracked.iter().collect();
    let root = RepoPath::root();
    let files = Files {
        wanted: &wanted,
        read,
        tracked: &tracked,
    };
    let mut globs = folder(&root, files, listed);
    globs.sort();
    globs.dedup();
    globs
}

/// Whether a glob that selects these numbers of tracked files, and of files that were read, selects
/// few enough that were not.
pub(super) fn is_narrow(tracked: usize, read: usize, is_listed: bool) -> bool {
    tracked == read || is_listed && 2 * tracked <= 3 * read
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

/// Files in or below one folder, sorted.
#[derive(Clone, Copy)]
struct Files<'a> {
    wanted: &'a [&'a RepoPath],
    read: &'a [&'a RepoPath],
    tracked: &'a [&'a RepoPath],
}

type Listed<'a> = BTreeSet<&'a RepoPath>;

/// Returns the fewest globs for the wanted files below a folder; of equally many the narrower ones.
/// Recursion is bounded by the length of a path.
fn folder(dir: &RepoPath, files: Files<'_>, listed: &Listed<'_>) -> Vec<String> {
    if let [only] = files.wanted {
        return literal(only).into_iter().collect();
    }
    let is_listed = listed.contains(dir);
    let apart = by_place(dir, files, listed);
    if apart.len() <= 1 {
        return apart;
    }
    if is_narrow(files.tracked.len(), files.read.len(), is_listed)
        && let Some(glob) = in_folder(dir, "**")
    {
        return vec![glob];
    }
    let by_ending = by_ending(dir, files, listed);
    match by_ending {
        Some(globs) if globs.len() < apart.len() => globs,
        _ => apart,
    }
}

/// Covers what is directly in a folder, and each folder in it.
fn by_place(dir: &RepoPath, files: Files<'_>, listed: &Listed<'_>) -> Vec<String> {
    let mut below: BTreeMap<RepoPath, Vec<&RepoPath>> = BTreeMap::new();
    let mut direct = Vec::new();
    for path in files.wanted {
        match child(dir, path) {
            Some(child) => below.entry(child).or_default().push(path),
            None => direct.push(*path),
        }
    }
    let mut globs = in_one(dir, &direct, files, listed.contains(dir));
    for (child, wanted) in &below {
        let files = Files {
            wanted,
            read: within(child, files.read),
            tracked: within(child, files.tracked),
        };
        globs.extend(folder(child, files, listed));
    }
    globs
}

/// Covers files that are directly in a folder.
fn in_one(dir: &RepoPath, wanted: &[&RepoPath], files: Files<'_>, is_listed: bool) -> Vec<String> {
    let direct = |all: &[&RepoPath], by: Option<&str>| {
        let own = all.iter().filter(|path| child(dir, path).is_none());
        own.filter(|path| by.is_none_or(|by| ending(path) == Some(by)))
            .count()
    };
    let narrow =
        |by: Option<&str>| is_narrow(direct(files.tracked, by), direct(files.read, by), is_listed);
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

/// Covers the endings of which a folder's files were all read, wherever they are below it, and the
/// other files by place.
fn by_ending(dir: &RepoPath, files: Files<'_>, listed: &Listed<'_>) -> Option<Vec<String>> {
    let is_listed = listed.contains(dir);
    let of =
        |all: &[&RepoPath], by: &str| all.iter().filter(|path| ending(path) == Some(by)).count();
    let (mut globs, mut rest) = (Vec::new(), Vec::new());
    for (by, paths) in by_own_ending(files.wanted) {
        let narrow = |by: &&str| is_narrow(of(files.tracked, by), of(files.read, by), is_listed);
        let glob = by.filter(|_| paths.len() > 1).filter(narrow);
        match glob.and_then(|by| in_folder(dir, &format!("**/*.{}", escape(by)))) {
            Some(glob) => globs.push(glob),
            None => rest.extend(paths),
        }
    }
    if globs.is_empty() {
        return None;
    }
    rest.sort_unstable();
    let rest = Files {
        wanted: &rest,
        ..files
    };
    globs.extend(by_place(dir, rest, listed));
    Some(globs)
}

fn by_own_ending<'a, 'p>(paths: &[&'p RepoPath]) -> BTreeMap<Option<&'p str>, Vec<&'p RepoPath>>
where
    'p: 'a,
{
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
fn within<'a, 'p>(dir: &RepoPath, all: &'a [&'p RepoPath]) -> &'a [&'p RepoPath] {
    let prefix = [dir.as_bytes(), b"/"].concat();
    let from = all.partition_point(|path| path.as_bytes() < prefix.as_slice());
    let rest = all.get(from..).unwrap_or_default();
    let count = rest.partition_point(|path| path.as_bytes().starts_with(&prefix));
    rest.get(..count).unwrap_or_default()
}
