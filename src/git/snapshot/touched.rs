//! Compares the work tree with a snapshot without taking another one: only files and folders whose
//! metadata has changed are read or listed.
//!
//! The content of submodules is not compared.

use super::{Reader, SYMLINK, Snapshot, SnapshotFile, id_length};
use crate::error::{GitError, failed};
use crate::index::SUBMODULE;
use crate::observed::{FileStatus, SearchedFolder};
use crate::rules::{NAME, Rules};
use crate::{Git, is_record, pattern};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_os::files::beneath::Beneath;
use vplan_os::files::walk;
use vplan_os::parallel;
use vplan_os::retry_eintr::open_folder;
use vplan_os::stat_cache::StatStamp;

/// The fewest files for which a thread is worth its start.
const LEAST: usize = 2_000;

impl Snapshot {
    /// Returns the files that differ from the snapshot now.
    ///
    /// # Errors
    /// A touched file cannot be read.
    pub fn differing(&self, git: &Git) -> Result<BTreeSet<RepoPath>, GitError> {
        let top = open_folder(git.root()).map_err(|e| failed(".", e))?;
        let share = self.files.len().div_ceil(parallel::parts()).max(LEAST);
        let shares = self.files.chunks(share).collect();
        let touched = parallel::each(shares, |share: &[SnapshotFile]| {
            let is_touched = |file: &&SnapshotFile| self.is_file_touched(&top, file);
            share.iter().filter(is_touched).collect::<Vec<_>>()
        });
        let mut differing = self.changed(git, touched.into_iter().flatten())?;
        let folders = self.folders.iter();
        let folders: Vec<&SearchedFolder> = folders
            .filter(|folder| self.is_folder_touched(&top, folder))
            .collect();
        if !folders.is_empty() {
            let beneath = Beneath::open(git.root()).map_err(|e| failed(".", e))?;
            for folder in folders {
                self.add_new(git, &beneath, folder, &mut differing);
            }
        }
        Ok(differing)
    }

    fn is_file_touched(&self, top: &OwnedFd, file: &SnapshotFile) -> bool {
        match (status(top, &file.path), &file.status) {
            (Ok(_), None) if file.mode == SUBMODULE => false,
            (Ok(now), Some(then)) => FileStatus::from(&now) != *then,
            (Ok(now), None) => !StatStamp::from(&now).is_before(self.since),
            // A removed symlink, or one outside a sparse checkout; or a submodule that is not checked
            // out.
            (Err(Errno::NOENT), None) => {
                file.mode == SYMLINK && self.is_in_touched(top, &file.path)
            }
            (Err(_), _) => true,
        }
    }

    /// Whether the folder of a file was touched.
    fn is_in_touched(&self, top: &OwnedFd, path: &[u8]) -> bool {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let folder = path.get(..end).unwrap_or_default();
        let found = self
            .folders
            .binary_search_by(|known| (*known.path).cmp(folder));
        let found = found.ok().and_then(|at| self.folders.get(at));
        found.is_some_and(|folder| self.is_folder_touched(top, folder))
    }

    fn is_folder_touched(&self, top: &OwnedFd, folder: &SearchedFolder) -> bool {
        match (status(top, &folder.path), folder.stamp) {
            (Ok(now), Some(then)) => StatStamp::from(&now) != then,
            (Ok(now), None) => !StatStamp::from(&now).is_before(self.since),
            // Its files are gone, too.
            (Err(_), _) => false,
        }
    }

    /// Returns which of the touched files have another content.
    fn changed<'s>(
        &self,
        git: &Git,
        touched: impl Iterator<Item = &'s SnapshotFile>,
    ) -> Result<BTreeSet<RepoPath>, GitError> {
        let mut touched = touched.peekable();
        let mut changed = BTreeSet::new();
        if touched.peek().is_none() {
            return Ok(changed);
        }
        let mut reader = Reader::new(git, id_length(git)?, 0, 0);
        reader.left = u64::MAX;
        for file in touched {
            let now = match reader.file(&file.path) {
                Ok(()) => reader.files.pop(),
                // A folder above it became another kind of file.
                Err(GitError::File { .. }) => None,
                Err(error) => return Err(error),
            };
            let is_same = now.is_some_and(|now| {
                let regular = [0o100_644, 0o100_755];
                let has_mode = now.mode == file.mode
                    || regular.contains(&now.mode)
                        && regular.contains(&file.mode)
                        && !git.has_file_modes();
                now.id == file.id && has_mode
            });
            let path = (!is_same).then(|| RepoPath::from_shared(&file.path));
            changed.extend(path.flatten());
        }
        Ok(changed)
    }

    /// Adds the files of a folder that the snapshot does not have and no tracked `.gitignore` ignores.
    fn add_new(
        &self,
        git: &Git,
        beneath: &Beneath,
        folder: &SearchedFolder,
        differing: &mut BTreeSet<RepoPath>,
    ) {
        let Some(dir) = folder.path() else { return };
        let mut rules = None;
        for (name, kind) in beneath.list(&dir) {
            let Ok(path) = dir.join(&name) else { continue };
            let is_folder = kind == FileType::Directory;
            let is_file = matches!(kind, FileType::RegularFile | FileType::Symlink);
            let is_known = self.find(path.as_bytes()).is_some()
                || is_folder && self.has_folder(path.as_bytes());
            if is_known || name == b".git" || dir.is_root() && is_record(&name) {
                continue;
            }
            let rules = rules
                .get_or_insert_with(|| self.rules_of(beneath, &dir))
                .as_ref();
            let is_ignored =
                |path: &RepoPath| Rules::ignores(rules, path.as_bytes(), false).is_some();
            if is_file && !is_ignored(&path) {
                differing.insert(path);
            } else if is_folder && Rules::ignores(rules, path.as_bytes(), true).is_none() {
                let below = walk(git.root(), &path).unwrap_or_default();
                differing.extend(below.into_iter().filter(|path| !is_ignored(path)));
            }
        }
    }

    /// Whether a folder was searched, or has files of the snapshot.
    fn has_folder(&self, path: &[u8]) -> bool {
        let searched = self
            .folders
            .binary_search_by(|known| (*known.path).cmp(path));
        searched.is_ok() || self.has_below(path, |_| true)
    }

    /// Returns the rules of the tracked `.gitignore` files of a folder and those above it.
    fn rules_of(&self, beneath: &Beneath, folder: &RepoPath) -> Option<Arc<Rules>> {
        let mut rules = None;
        for dir in [RepoPath::root()].into_iter().chain(folder.ancestors()) {
            let Ok(file) = dir.join(NAME) else { continue };
            if !self.is_tracked(&file) {
                continue;
            }
            let text = beneath.read(&file, pattern::MOST).unwrap_or_default();
            let at = match dir.is_root() {
                true => Vec::new(),
                false => [dir.as_bytes(), b"/"].concat(),
            };
            rules = Some(Rules::read(rules, &at, &text));
        }
        rules
    }
}

fn status(top: &OwnedFd, path: &[u8]) -> Result<Stat, Errno> {
    let path = if path.is_empty() { b"." } else { path };
    statat(top, path, AtFlags::SYMLINK_NOFOLLOW)
}
