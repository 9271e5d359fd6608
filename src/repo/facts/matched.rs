//! Finds out which globs some file of the repository matches, in one pass over the files.

use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use vplan_base::change::ChangeSet;
use vplan_base::glob::{Glob, Selection};
use vplan_base::matching::{Hits, SHOWN, match_all};
use vplan_base::path::RepoPath;
use vplan_git::{Git, is_record};
use vplan_os::files::beneath::{Beneath, DirectoryNames};
use vplan_os::files::{MAX_FILES, walk};

/// Returns the globs that a file matches. A file counts if git tracks it, or neither tracks nor
/// ignores it. An ignored file counts only below a folder that the glob names literally at its
/// beginning. Without git all files count. `counts`: a filter for files.
///
/// # Errors
/// The files cannot be listed.
pub fn matched(
    globs: &BTreeSet<Glob>,
    root: &Path,
    git: Option<&Git>,
    counts: impl Fn(&RepoPath) -> bool,
) -> io::Result<BTreeSet<Glob>> {
    if globs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let beneath = Beneath::open(root)?;
    let mut names = DirectoryNames::default();
    // The index may list files that no longer exist.
    let mut is_there = |path: &RepoPath| {
        let is_dir = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode).is_dir();
        counts(path) && !beneath.status(path).is_ok_and(is_dir) && beneath.exists(path, &mut names)
    };
    let files = match git {
        Some(git) => Git::files_present(git).map_err(io::Error::other)?,
        None => walk(root, &RepoPath::root())?,
    };
    let mut found = matched_globs(globs, files, |_, path| is_there(path));
    let open: BTreeSet<Glob> = globs.difference(&found).cloned().collect();
    if git.is_some() && !open.is_empty() {
        let ignored = below_named(&open, &beneath)?;
        found.extend(matched_globs(&open, ignored, |glob, path| {
            let is_named = folders(glob).any(|folder| path.below(&folder).is_some());
            is_named && is_there(path)
        }));
    }
    Ok(found)
}

/// Returns the globs that match a file which counts for them.
fn matched_globs(
    globs: &BTreeSet<Glob>,
    files: Vec<RepoPath>,
    mut counts: impl FnMut(&Glob, &RepoPath) -> bool,
) -> BTreeSet<Glob> {
    let files = ChangeSet::modified(&files);
    let mut found = BTreeSet::new();
    for (glob, hits) in hits(globs, &files) {
        let all = files.files().iter().map(|file| &file.path);
        let mut matching = all.filter(|path| glob.matches(path));
        // Usually the first file exists.
        let first = first(&hits, &files).any(|path| counts(&glob, path));
        if first || (hits.count > SHOWN as u64 && matching.any(|path| counts(&glob, path))) {
            found.insert(glob);
        }
    }
    found
}

/// Returns the globs that match one of these files, each with its first file.
pub fn first_matches(
    globs: &BTreeSet<Glob>,
    files: Vec<RepoPath>,
) -> BTreeMap<Glob, Vec<RepoPath>> {
    let files = ChangeSet::modified(&files);
    let found =
        hits(globs, &files).map(|(glob, hits)| (glob, first(&hits, &files).cloned().collect()));
    found
        .filter(|(_, files): &(_, Vec<_>)| !files.is_empty())
        .collect()
}

fn hits(globs: &BTreeSet<Glob>, files: &ChangeSet) -> impl Iterator<Item = (Glob, Hits)> {
    let alone = |glob: &Glob| Selection::from_iter([glob.clone()]);
    let selections: Vec<Selection> = globs.iter().map(alone).collect();
    let selected = match_all(&selections.iter().collect::<Vec<_>>(), files);
    let hits = selected.into_iter().map(|selected| selected.all);
    globs.iter().cloned().zip(hits)
}

fn first<'f>(hits: &'f Hits, files: &'f ChangeSet) -> impl Iterator<Item = &'f RepoPath> {
    let files = hits
        .first
        .iter()
        .filter_map(|at| files.files().get(*at as usize));
    files.map(|file| &file.path)
}

/// Returns the folders that a glob names literally, before its first wildcard.
fn folders(glob: &Glob) -> impl Iterator<Item = RepoPath> {
    let folder = |(path, whole): (RepoPath, bool)| if whole { path.folder() } else { path };
    let named = glob.anchors().into_iter().map(folder);
    named.filter(|folder| !folder.is_root() && !is_kept(folder))
}

/// Whether a path belongs to git or to vplan itself.
fn is_kept(path: &RepoPath) -> bool {
    is_record(path.as_bytes()) || path.segments().any(|name| name == b".git")
}

/// Lists the files below the folders that these globs name literally, as far as one of the globs
/// may match there.
fn below_named(globs: &BTreeSet<Glob>, beneath: &Beneath) -> io::Result<Vec<RepoPath>> {
    let mut open: Vec<RepoPath> = globs.iter().flat_map(folders).collect();
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(dir) = open.pop() {
        if !globs.iter().any(|glob| glob.reaches_below(&dir)) || !seen.insert(dir.clone()) {
            continue;
        }
        for (name, kind) in beneath.list(&dir) {
            let path = dir
                .join(&name)
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            if is_kept(&path) {
                continue;
            }
            if kind.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
        if found.len() > MAX_FILES {
            return Err(io::Error::other("too many files"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vplan_arbitrary::config;
    use vplan_arbitrary::glob::{changes_like, globs_of, selections};

    proptest! {
        #![proptest_config(config(512))]

        /// One pass over the files gives the same result as testing every file with every glob,
        /// whichever files count.
        #[test]
        fn as_one_by_one(
            (globs, files) in selections().prop_flat_map(|lists| {
                let globs: BTreeSet<Glob> = globs_of(&lists).into_iter().collect();
                let files = if globs.is_empty() {
                    Just(ChangeSet::default()).boxed()
                } else {
                    changes_like(globs.iter().cloned().collect()).boxed()
                };
                (Just(globs), files)
            }),
            least in 0_usize..12,
        ) {
            let files: Vec<RepoPath> = files.files().iter().map(|file| file.path.clone()).collect();
            let counts = |_: &Glob, path: &RepoPath| path.as_bytes().len() > least;
            let obvious = |glob: &&Glob| files.iter().any(|path| glob.matches(path) && counts(glob, path));
            let want: BTreeSet<Glob> = globs.iter().filter(obvious).cloned().collect();
            prop_assert_eq!(matched_globs(&globs, files.clone(), counts), want);
            for (glob, first) in first_matches(&globs, files) {
                prop_assert!(!first.is_empty() && first.iter().all(|path| glob.matches(path)));
            }
        }
    }
}
