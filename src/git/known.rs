//! Recognises files that git has, or once had: paths that a caller names and the work tree lacks.

use super::checked::FOLDER;
use super::error::GitError;
use super::object::Oid;
use super::{Git, words};
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;

/// Number of paths of one call of git: its arguments have a limit.
const AT_ONCE: usize = 1000;
/// Maximum number of commits that are examined for deleted files.
const MAX_COMMITS: &str = "--max-count=100";
/// Minimum length, in bytes, of a path that no checkout can have. Git does not look up anything
/// longer than `PATH_MAX`, with a commit's id before it.
const TOO_LONG: usize = 4000;

/// The other side of a comparison in a shallow clone.
const OTHER_SIDES: [&str; 2] = ["FETCH_HEAD", "refs/remotes/origin/HEAD"];

impl Git {
    /// Returns the paths among these that are files of the index, of HEAD, or of the default branch,
    /// or that a commit on HEAD's first-parent line deleted.
    ///
    /// # Errors
    /// Errors of git.
    pub fn known_files(&self, paths: &[RepoPath]) -> Result<BTreeSet<RepoPath>, GitError> {
        let mut known = BTreeSet::new();
        let tracked = self.tracked()?;
        let mut pending: Vec<RepoPath> = Vec::new();
        for path in paths {
            if tracked.binary_search(path).is_ok() {
                known.insert(path.clone());
            } else if path.as_bytes().len() < TOO_LONG {
                pending.push(path.clone());
            }
        }
        let Some(head) = self.head()?.filter(|_| !pending.is_empty()) else {
            return Ok(known);
        };
        self.take_known(&head, &mut pending, &mut known)?;
        for chunk in pending.chunks(AT_ONCE) {
            known.extend(self.deleted_before(&head, chunk)?);
        }
        pending.retain(|path| !known.contains(path));
        for name in OTHER_SIDES {
            if pending.is_empty() {
                break;
            }
            // A clone may lack some of these; they are skipped.
            let commit = self.resolve(name).ok();
            let taken = commit.map(|commit| self.take_known(&commit, &mut pending, &mut known));
            if let Some(Err(error)) = taken {
                tracing::debug!(%error, name, "not compared");
            }
        }
        Ok(known)
    }

    /// Returns the paths that are not files of a commit, but were files of an earlier one.
    fn deleted_before(
        &self,
        head: &Oid,
        paths: &[RepoPath],
    ) -> Result<BTreeSet<RepoPath>, GitError> {
        let list = format!("rev-list --first-parent {MAX_COMMITS} {head} --");
        let commits = self.ask(&words(&list, paths.iter().map(RepoPath::to_os)))?;
        let (mut pending, mut known) = (paths.to_vec(), BTreeSet::new());
        for commit in commits.split(|b| *b == b'\n').filter_map(Oid::parse) {
            if pending.is_empty() {
                break;
            }
            if let Some(parent) = self.parents(&commit)?.first() {
                match self.take_known(parent, &mut pending, &mut known) {
                    // The end of a shallow clone: the parent is not here.
                    Err(_) if self.layout().is_shallow() => break,
                    taken => taken?,
                }
            }
        }
        Ok(known)
    }

    /// Moves the paths that are files of a commit.
    fn take_known(
        &self,
        commit: &Oid,
        pending: &mut Vec<RepoPath>,
        known: &mut BTreeSet<RepoPath>,
    ) -> Result<(), GitError> {
        let there = self.at_paths(commit, pending)?;
        let files = there.into_iter().filter(|(_, entry)| entry.mode != FOLDER);
        known.extend(files.map(|(path, _)| path));
        pending.retain(|path| !known.contains(path));
        Ok(())
    }
}
