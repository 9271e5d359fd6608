//! Finds the file at a path of a commit: the one that would be there if the commit were checked
//! out.
//!
//! So a symlink is followed as in the work tree, as long as it stays inside. Otherwise the work
//! tree would have a contract that a symlink leads to, and the base revision would not: removing
//! statements from that contract would go unnoticed.

use super::checked::{FOLDER, TreeEntry, check, find};
use super::error::GitError;
use super::index::{SUBMODULE, SYMLINK};
use super::object::Oid;
use super::{CAP_MIB, Git};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;

/// Maximum number of symlinks on the way to a file, as on Linux.
const MAX_LINKS: usize = 40;
/// Size limit of a symlink's target, in bytes.
const MAX_TARGET: u64 = 4096;

impl Git {
    /// Reads the content of a regular file in a commit, following symlinks inside the repository;
    /// `None` if the file does not exist.
    ///
    /// # Errors
    /// Errors of git, and a content of more than `cap` bytes.
    pub fn file_at(
        &self,
        commit: &Oid,
        path: &RepoPath,
        cap: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let large = || GitError::TooLarge {
            path: path.to_string(),
            cap,
        };
        match self.entry(commit, path.as_bytes())? {
            Some(entry) if is_file(&entry) => {
                return self.blob(&entry, cap)?.ok_or_else(large).map(Some);
            }
            Some(entry) if entry.mode != SYMLINK => return Ok(None),
            None if !path.as_bytes().contains(&b'/') => return Ok(None),
            _ => {}
        }
        let mut pending: Vec<Vec<u8>> = parts(path.as_bytes());
        let mut walked: Vec<Vec<u8>> = Vec::new();
        let mut links = 0;
        while let Some(part) = pending.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." if walked.pop().is_some() => continue,
                b".." => return Ok(None),
                _ => walked.push(part),
            }
            let Some(entry) = self.entry(commit, &walked.join(&b'/'))? else {
                return Ok(None);
            };
            if entry.mode == SYMLINK {
                links += 1;
                let target = self
                    .blob(&entry, MAX_TARGET)?
                    .filter(|t| !t.starts_with(b"/") && links <= MAX_LINKS);
                let Some(target) = target else {
                    return Ok(None);
                };
                walked.pop();
                pending.extend(parts(&target));
            } else if is_file(&entry) && pending.is_empty() {
                return self.blob(&entry, cap)?.ok_or_else(large).map(Some);
            } else if entry.mode != FOLDER {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns the ids of the regular files that a commit has at these paths, in one call; other
    /// paths are skipped.
    ///
    /// # Errors
    /// Errors of git.
    pub fn files_at(
        &self,
        commit: &Oid,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, Oid>, GitError> {
        let found = self.at_paths(commit, paths)?;
        Ok(found
            .into_iter()
            .filter(|(_, entry)| is_file(entry))
            .map(|(path, entry)| (path, entry.id))
            .collect())
    }

    /// Reads the regular files that a commit has at these paths; other paths are skipped.
    ///
    /// # Errors
    /// Errors of git.
    pub fn contents_at(
        &self,
        commit: &Oid,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, Vec<u8>>, GitError> {
        let files = self.files_at(commit, paths)?;
        let ids: Vec<Oid> = files.values().copied().collect();
        let contents = self.blobs(&ids)?;
        Ok(files.into_keys().zip(contents).collect())
    }

    /// Returns the submodule of a commit that a path is in, or equals.
    ///
    /// # Errors
    /// Errors of git.
    pub fn submodule_around(
        &self,
        commit: &Oid,
        path: &RepoPath,
    ) -> Result<Option<RepoPath>, GitError> {
        let found = self.at_paths(commit, &path.ancestors())?;
        Ok(found
            .into_iter()
            .find(|(_, entry)| entry.mode == SUBMODULE)
            .map(|(path, _)| path))
    }

    /// Returns the entries that a commit has at these paths.
    pub(super) fn at_paths(
        &self,
        commit: &Oid,
        paths: &[RepoPath],
    ) -> Result<Vec<(RepoPath, TreeEntry)>, GitError> {
        let bytes: Vec<&[u8]> = paths.iter().map(RepoPath::as_bytes).collect();
        let folders = self.folders(commit, &bytes)?;
        let at = |path: &RepoPath| Some((path.clone(), find(&folders, path.as_bytes())?.clone()));
        Ok(paths.iter().filter_map(at).collect())
    }

    fn entry(&self, commit: &Oid, path: &[u8]) -> Result<Option<TreeEntry>, GitError> {
        Ok(find(&self.folders(commit, &[path])?, path).cloned())
    }

    /// Reads a blob; `None` when it is larger than `cap`.
    fn blob(&self, entry: &TreeEntry, cap: u64) -> Result<Option<Vec<u8>>, GitError> {
        let id = entry.id.to_string();
        match self.start(&["cat-file", "blob", &id])?.at_most(cap) {
            Ok(content) => {
                check(&entry.id, "blob", &content)?;
                Ok(Some(content))
            }
            Err(GitError::TooMuchOutput { .. }) if cap < CAP_MIB << 20 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_file(entry: &TreeEntry) -> bool {
    entry.mode & 0o170_000 == 0o100_000
}

/// Returns the parts of a path, the last one first.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.rsplit(|b| *b == b'/').map(<[u8]>::to_vec).collect()
}
