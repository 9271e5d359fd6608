//! Compares the work tree with the index, and writes the index's content to files that differ.

use super::error::{GitError, failed};
use super::index::{IndexEntry, SUBMODULE, SYMLINK};
use super::listing::Listing;
use super::skipped::{HiddenBy, HiddenFiles};
use super::snapshot::id_length;
use super::worktree::{Comparison, LARGE, add_untracked, exact, look_at_all};
use super::{Git, Lookup, is_record};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;

/// The differences between the work tree and the index.
#[derive(Debug)]
pub struct IndexDifferences {
    /// Tracked files that differ, with their entries of the index.
    entries: BTreeMap<RepoPath, IndexEntry>,
    /// Files that are not in the index and not ignored, ascending. A nested repository is its
    /// folder and all files in it.
    pub untracked: Vec<RepoPath>,
    /// Files that are not in the index and that rules of this machine hide.
    pub hidden: HiddenFiles,
    /// Paths with a conflict, ascending.
    pub conflicts: Vec<RepoPath>,
}

impl IndexDifferences {
    /// Returns the tracked files that differ, ascending.
    pub fn tracked(&self) -> impl Iterator<Item = &RepoPath> {
        self.entries.keys()
    }
}

impl Git {
    /// Uses the index that `GIT_INDEX_FILE` names, if it is one of the repository's own: git sets
    /// it for the hooks of `commit -a` and `commit FILE`.
    pub fn with_index_of(mut self, lookup: Lookup<'_>) -> Self {
        let named = lookup("GIT_INDEX_FILE").map(|path| self.layout.root.join(path));
        let own = named.filter(|path| {
            let is_in = |(file, dir): (PathBuf, PathBuf)| file.starts_with(dir);
            let real = |path: &Path| path.canonicalize().ok();
            real(path)
                .zip(real(&self.layout.git_dir))
                .is_some_and(is_in)
        });
        if let Some(path) = own {
            self.layout.index = path;
        }
        self
    }

    /// Uses another file as its index.
    pub fn with_index(mut self, file: &Path) -> Self {
        file.clone_into(&mut self.layout.index);
        self
    }

    /// Compares the work tree with the index. `changed`: the staged changes since HEAD. A file
    /// outside a sparse checkout counts as missing only if it is among them.
    ///
    /// # Errors
    /// Errors of git, and files that cannot be read.
    pub fn apart_from_index(&self, changed: &ChangeSet) -> Result<IndexDifferences, GitError> {
        let found = look_at_all(self, id_length(self)?, LARGE)?;
        let (mut entries, mut seen) = (Vec::new(), Vec::new());
        let (mut conflicts, mut untracked) = (BTreeSet::new(), Vec::new());
        for (entry, file) in found.entries.iter().zip(found.seen) {
            let path = exact(&entry.path)?;
            if entry.stage != 0 {
                conflicts.insert(path);
            } else if entry.intent_to_add {
                // Nothing in it would be committed.
                let is_there = self.root().join(path.to_os()).symlink_metadata().is_ok();
                untracked.extend(is_there.then_some(path));
            } else {
                entries.push(entry.clone());
                seen.push(file);
            }
        }
        let listing = Listing::of_index(&entries);
        let mut comparison = Comparison::new(self, &listing, 0);
        comparison.compare(&entries, &seen)?;
        let (differing, left_out, _) = comparison.finish();
        let differing = differing.into_iter().map(|file| file.path);
        let left_out = left_out.into_iter().filter(|path| changed.contains(path));
        let with_entry = |path: RepoPath| {
            let at = entries
                .binary_search_by(|e| (*e.path).cmp(path.as_bytes()))
                .ok()?;
            Some((path, entries.get(at)?.clone()))
        };
        let entries = differing.chain(left_out).filter_map(with_entry).collect();
        let hides = self.hidden(&found.others, &found.entries)?;
        let names = found.git_names.iter();
        let names = names.filter_map(|path| RepoPath::from_exact(path));
        let mut hidden: HiddenFiles = names.map(|path| (path, HiddenBy::Repository)).collect();
        for path in found.others.iter().filter(|path| !is_record(path)) {
            let mut files = Vec::new();
            add_untracked(self.root(), path, &mut files)?;
            let files = files.into_iter().map(|file| file.path);
            match hides.get(path.as_slice()) {
                Some(by) => hidden.extend(files.map(|path| (path, *by))),
                None => untracked.extend(files),
            }
        }
        untracked.sort();
        Ok(IndexDifferences {
            entries,
            untracked,
            hidden,
            conflicts: conflicts.into_iter().collect(),
        })
    }

    /// Writes the content of the index to the work tree: writes the tracked files that differ, and
    /// removes files that are not in the index. Files left by tools, and those that the user's own
    /// ignore file hides, stay. Only for a copy of the work tree, where nothing can be lost except
    /// in the folders `kept`, which are not touched. Filters of the repository's configuration do
    /// not run, so files that need them differ afterwards, too.
    ///
    /// # Errors
    /// Errors of git, and files that cannot be written.
    pub fn write_index(&self, apart: &IndexDifferences, kept: &[PathBuf]) -> Result<(), GitError> {
        let is_kept = |path: &RepoPath| {
            let file = self.root().join(path.to_os());
            kept.iter()
                .any(|folder| file.starts_with(folder) || folder.starts_with(&file))
        };
        let hidden = apart.hidden.iter();
        let hidden = hidden.filter(|(_, by)| **by == HiddenBy::Repository);
        let removed: BTreeSet<&RepoPath> = apart
            .untracked
            .iter()
            .chain(hidden.map(|(path, _)| path))
            .collect();
        for path in removed.into_iter().rev().filter(|path| !is_kept(path)) {
            let file = self.root().join(path.to_os());
            remove(&file).map_err(|e| failed(path, e))?;
        }
        let wanted: Vec<(&RepoPath, &IndexEntry)> = apart
            .entries
            .iter()
            .filter(|(path, entry)| entry.mode != SUBMODULE && !is_kept(path))
            .collect();
        let ids: Vec<_> = wanted.iter().map(|(_, entry)| entry.id).collect();
        for ((path, entry), content) in wanted.into_iter().zip(self.blobs(&ids)?) {
            let file = self.root().join(path.to_os());
            put(self.root(), &file, entry.mode, content).map_err(|e| failed(path, e))?;
        }
        Ok(())
    }
}

/// Removes the entry at a path; a missing one is not an error.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(()),
        _ => Err(error),
    })
}

/// Writes a file below `root` with the mode of its entry, replacing an existing entry.
pub(super) fn put(root: &Path, file: &Path, mode: u32, content: Vec<u8>) -> io::Result<()> {
    // A file or link in place of a folder is removed first: nothing is written through a link.
    let above = file.ancestors().skip(1).take_while(|dir| *dir != root);
    for dir in above.collect::<Vec<_>>().into_iter().rev() {
        if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            remove(dir)?;
            std::fs::create_dir(dir)?;
        }
    }
    remove(file)?;
    if mode == SYMLINK {
        return std::os::unix::fs::symlink(std::ffi::OsString::from_vec(content), file);
    }
    std::fs::write(file, content)?;
    std::fs::set_permissions(file, Permissions::from_mode(mode & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "own").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("d")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), root.join("e")).unwrap();
        put(&root, &root.join("d/file"), 0o100_755, b"1".to_vec()).unwrap();
        put(&root, &root.join("e"), 0o100_644, b"2".to_vec()).unwrap();
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(outside.join("file")), "own");
        assert_eq!(read(root.join("d/file")) + &read(root.join("e")), "12");
    }
}
