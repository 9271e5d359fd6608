//! Compares the files that a caller names with the repository: a name that is nowhere is reported,
//! one that could mean two files is refused.

use super::error::ChangeError;
use super::list::read_path;
use std::collections::BTreeSet;
use std::path::Path;
use vplan_base::change::{ChangeSet, Status, split_status};
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_git::Git;
use vplan_plan::caveat::{Caveat, Code, Effect};

/// The prefix of a path relative to the root, whatever the directory of the caller.
pub(crate) const FROM_ROOT: &[u8] = b":/";

/// Whether the work tree has a file at a path: anything but a directory, with no symlink on the way and
/// not one of git's own.
pub fn is_file(root: &Path, path: &RepoPath) -> bool {
    is_entry(root, path) && is_plain(root, &path.folder())
}

fn is_entry(root: &Path, path: &RepoPath) -> bool {
    let found = root.join(path.to_os()).symlink_metadata();
    found.is_ok_and(|found| !found.is_dir())
}

/// Whether no symlink is on the way into a folder, which is not in git's own.
fn is_plain(root: &Path, folder: &RepoPath) -> bool {
    let is_link = |dir: &RepoPath| root.join(dir.to_os()).is_symlink();
    !folder.segments().any(|name| name == b".git") && !folder.ancestors().iter().any(is_link)
}

/// Returns the changed files that neither the work tree has, nor the index, HEAD, or an earlier
/// commit that one of HEAD's history deleted.
///
/// # Errors
/// Errors of git, which is only called if the work tree lacks a file.
pub fn unknown(
    root: &Path,
    git: Option<&Git>,
    changes: &ChangeSet,
) -> Result<Vec<RepoPath>, ChangeError> {
    // The last missing directory: nothing below it exists.
    let mut gone: Option<RepoPath> = None;
    let mut lacking: Vec<RepoPath> = Vec::new();
    // The folder of the last path.
    let mut known = (RepoPath::root(), true);
    for file in changes.files() {
        let path = &file.path;
        let folder = path.folder();
        if known.0 != folder {
            known = (folder.clone(), is_plain(root, &folder));
        }
        let is_below = gone.as_ref().is_some_and(|dir| path.below(dir).is_some());
        // Without git, only the caller can know what was deleted.
        let is_known = git.is_none() && file.status == Status::Deleted;
        if is_known || !is_below && known.1 && is_entry(root, path) {
            continue;
        }
        if !is_below {
            let is_gone = root.join(folder.to_os()).symlink_metadata().is_err();
            gone = Some(folder).filter(|_| is_gone);
        }
        lacking.push(path.clone());
    }
    if let Some(git) = git.filter(|_| !lacking.is_empty()) {
        let known = git.known_files(&lacking)?;
        lacking.retain(|path| !known.contains(path));
    }
    Ok(lacking)
}

/// Makes the caveat about unknown files.
pub fn caveat(unknown: Vec<RepoPath>) -> Option<Caveat> {
    let message = match unknown.len() {
        0 => return None,
        1 => "a path of the change is neither a file of the work tree nor one at the base",
        _ => "paths of the change are neither files of the work tree nor at the base",
    };
    let caveat = Caveat::new(Code::UnknownFiles, Effect::Narrows, message);
    Some(caveat.with_files(unknown).way_out(
        "paths are relative to the repository's root, one for each file, as `git diff --name-only` prints them",
    ))
}

/// Checks the texts of `--changed`. `inside`: the caller's directory below the root; `unknown`: the
/// named files that are nowhere.
///
/// # Errors
/// A glob, and a path that could mean two files.
pub fn check(
    texts: &[Vec<u8>],
    root: &Path,
    inside: &RepoPath,
    unknown: &[RepoPath],
) -> Result<(), ChangeError> {
    let unknown: BTreeSet<&RepoPath> = unknown.iter().collect();
    for text in texts {
        if text.starts_with(b":") && (inside.is_root() || text.starts_with(FROM_ROOT)) {
            continue;
        }
        let (_, path) = split_status(text);
        let Ok(from_root) = read_path(path) else {
            continue;
        };
        if !inside.is_root()
            && let Ok(from_here) = inside.join(path)
            && is_file(root, &from_here)
        {
            return Err(ChangeError::Ambiguous {
                text: visible(path),
                from_here,
                from_root,
            });
        }
        let is_literal = text.starts_with(b":") || !unknown.contains(&from_root);
        if !is_literal && has_wildcards(root, &from_root) {
            return Err(ChangeError::Glob(visible(path)));
        }
    }
    Ok(())
}

/// Whether a path has wildcards in more than the names of directories that exist.
fn has_wildcards(root: &Path, path: &RepoPath) -> bool {
    let bytes = path.as_bytes();
    let Some(last) = bytes.iter().rposition(|b| b"*?[{".contains(b)) else {
        return false;
    };
    let rest = bytes.get(last..).unwrap_or_default();
    let end = rest.iter().position(|b| *b == b'/');
    let name = end.and_then(|end| RepoPath::from_exact(bytes.get(..last + end)?));
    !name.is_some_and(|name| root.join(name.to_os()).is_dir())
}
