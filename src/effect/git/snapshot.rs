//! Snapshots the work tree: the content id of every file that is tracked, or untracked and not
//! ignored by a tracked `.gitignore`.
//!
//! Content alone: committing, staging or checking out the same files elsewhere gives the same
//! snapshot. A file counts with the id of its bytes as they are in the work tree, from vplan's own
//! table or by reading it.

use super::error::GitError;
use super::index::IndexEntry;
use super::index::{SUBMODULE, SYMLINK};
use super::object::{Oid, blob_id};
use super::worktree::{self, WorkTreeFile};
use super::{Git, is_record};
use crate::base::canon::{Digest, Hasher};
use crate::base::path::RepoPath;
use crate::effect::os::files;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

/// The most bytes of untracked files that are read; with more, the content of the tree is unknown.
/// Tracked files are read however many they are.
const MAX_READ: u64 = 256 << 20;

/// The content of a work tree.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Mode and id of each file, in byte order of the paths.
    files: BTreeMap<Box<[u8]>, (u32, Oid)>,
    /// Those of them that are not in the index.
    untracked: BTreeSet<Box<[u8]>>,
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Eq for Snapshot {}

impl Snapshot {
    /// Returns its digest, without the files that `leave_out` selects.
    #[must_use]
    pub fn digest(&self, leave_out: Option<&dyn Fn(&RepoPath) -> bool>) -> Digest {
        let mut hasher = std::io::BufWriter::with_capacity(1 << 16, Hasher::default());
        for (path, (mode, id)) in &self.files {
            // To most plans every file matters, so that 100,000 paths are not tested.
            if leave_out
                .is_some_and(|leave_out| RepoPath::from_exact(path).is_some_and(|p| leave_out(&p)))
            {
                continue;
            }
            // Writing into a hasher cannot fail. No path has a NUL, and the id's length says where
            // it ends.
            let _ = write!(hasher, "{mode:o} {id} ");
            let _ = hasher.write_all(path);
            let _ = hasher.write_all(b"\0");
        }
        hasher.into_inner().unwrap_or_default().finish()
    }

    /// Whether the file is there and in the index.
    #[must_use]
    pub fn is_tracked(&self, path: &RepoPath) -> bool {
        self.files.contains_key(path.as_bytes()) && !self.untracked.contains(path.as_bytes())
    }

    /// Returns a file's mode and the id of its content, if it is there.
    #[must_use]
    pub fn entry(&self, path: &RepoPath) -> Option<String> {
        self.files
            .get(path.as_bytes())
            .map(|(mode, id)| format!("{mode:o} {id}"))
    }

    /// Whether a file, or a submodule that it lies in, is part of the tree. What is there and is no
    /// part of it is ignored.
    #[must_use]
    pub fn holds(&self, path: &RepoPath) -> bool {
        let bytes = path.as_bytes();
        let is_end = |at: &usize| bytes.get(*at).is_none_or(|byte| *byte == b'/');
        (1..=bytes.len())
            .filter(is_end)
            .filter_map(|end| bytes.get(..end))
            .any(|prefix| self.files.contains_key(prefix))
    }

    /// Whether a file below a folder is in the index.
    #[must_use]
    pub fn has_tracked_below(&self, folder: &[u8]) -> bool {
        let first = [folder, b"/"].concat().into_boxed_slice();
        let below = self.files.range(first.clone()..).map(|(path, _)| path);
        below
            .take_while(|path| path.starts_with(&first))
            .any(|path| !self.untracked.contains(path))
    }

    /// Returns the files that differ from another snapshot, or are in only one of both, in byte
    /// order.
    #[must_use]
    pub fn differences(&self, other: &Snapshot) -> Vec<RepoPath> {
        if self == other {
            return Vec::new();
        }
        let changed = self
            .files
            .iter()
            .filter(|(path, what)| other.files.get(*path) != Some(*what));
        let added = other
            .files
            .iter()
            .filter(|(path, _)| !self.files.contains_key(*path));
        let mut paths: Vec<RepoPath> = changed
            .chain(added)
            .filter_map(|(path, _)| RepoPath::from_exact(path))
            .collect();
        paths.sort();
        paths
    }
}

impl Git {
    /// Takes a snapshot of the work tree, without vplan's own records.
    ///
    /// # Errors
    /// Errors of git; files that cannot be read, that are being written, or too many bytes of them.
    pub fn snapshot(&self) -> Result<Snapshot, GitError> {
        snapshot(self, 0)
    }
}

fn snapshot(git: &Git, depth: usize) -> Result<Snapshot, GitError> {
    let length = match git.head()? {
        Some(head) => head.length(),
        None => git.empty_tree()?.length(),
    };
    for _ in 0..3 {
        let before = worktree::index_stamp(git);
        let seen = worktree::look_at_all(git, length, u64::MAX)?;
        if worktree::index_stamp(git) != before {
            continue;
        }
        let mut reader = Reader::new(git, length, depth);
        for (entry, seen) in seen.entries.into_iter().zip(seen.seen) {
            reader.tracked(entry, seen)?;
        }
        let mut files = std::mem::take(&mut reader.files);
        // A file that only rules of this machine hide is still part of the tree.
        for path in &seen.others {
            reader.untracked(path)?;
        }
        let untracked = reader.files.keys().cloned().collect();
        files.append(&mut reader.files);
        return Ok(Snapshot { files, untracked });
    }
    Err(GitError::Unsteady)
}

struct Reader<'a> {
    git: &'a Git,
    length: usize,
    depth: usize,
    /// The number of bytes that may still be read.
    left: u64,
    files: BTreeMap<Box<[u8]>, (u32, Oid)>,
    has_modes: OnceCell<bool>,
    is_sparse: OnceCell<bool>,
}

impl<'a> Reader<'a> {
    fn new(git: &'a Git, length: usize, depth: usize) -> Self {
        let (has_modes, is_sparse) = (OnceCell::new(), OnceCell::new());
        Self {
            git,
            length,
            depth,
            left: MAX_READ,
            files: BTreeMap::new(),
            has_modes,
            is_sparse,
        }
    }

    fn tracked(&mut self, entry: IndexEntry, seen: WorkTreeFile) -> Result<(), GitError> {
        if is_record(&entry.path) && self.depth == 0 {
            return Ok(());
        }
        let git = self.git;
        match seen {
            // Outside a sparse checkout: the file is unchanged.
            WorkTreeFile::Missing
                if entry.skip_worktree
                    && entry.stage == 0
                    && *self.is_sparse.get_or_init(|| git.is_sparse()) =>
            {
                self.files.insert(entry.path, (entry.mode, entry.id));
            }
            // A submodule that is not checked out is an empty directory or missing.
            WorkTreeFile::Directory | WorkTreeFile::Missing if entry.mode == SUBMODULE => {
                let id = self.submodule(&entry)?;
                self.files.insert(entry.path, (SUBMODULE, id));
            }
            WorkTreeFile::Missing | WorkTreeFile::Directory => {}
            WorkTreeFile::Regular {
                executable,
                id: Some(id),
            } => {
                let mode = if executable { 0o100_755 } else { 0o100_644 };
                // Where files have no modes, the index records them.
                let known =
                    mode == entry.mode || *self.has_modes.get_or_init(|| git.has_file_modes());
                self.files
                    .insert(entry.path, (if known { mode } else { entry.mode }, id));
            }
            WorkTreeFile::Symlink(Some(id)) => {
                self.files.insert(entry.path, (SYMLINK, id));
            }
            WorkTreeFile::Regular { id: None, .. }
            | WorkTreeFile::Large { .. }
            | WorkTreeFile::Symlink(None)
            | WorkTreeFile::Special => self.file(&entry.path)?,
        }
        Ok(())
    }

    fn untracked(&mut self, path: &[u8]) -> Result<(), GitError> {
        let exact = path.strip_suffix(b"/").unwrap_or(path);
        if is_record(exact) && self.depth == 0 {
            return Ok(());
        }
        if !path.ends_with(b"/") {
            return self.file(exact);
        }
        // A repository in the repository: a file that it hides from git is not hidden from a
        // contract.
        let dir = RepoPath::from_exact(exact)
            .ok_or_else(|| GitError::Unreadable("ls-files".to_owned()))?;
        let found = files::walk(self.git.root(), &dir).map_err(|e| unreadable(&dir, &e))?;
        found.iter().try_for_each(|path| self.file(path.as_bytes()))
    }

    /// Reads a file's bytes and adds its id.
    fn file(&mut self, path: &[u8]) -> Result<(), GitError> {
        let name = RepoPath::from_exact(path)
            .ok_or_else(|| GitError::Unreadable("ls-files".to_owned()))?;
        let place = self.git.root().join(std::ffi::OsStr::from_bytes(path));
        let failed = |e: std::io::Error| unreadable(&name, &e);
        let meta = match place.symlink_metadata() {
            Ok(meta) => meta,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(failed(e)),
        };
        let (mode, id) = if meta.is_symlink() {
            let target = std::fs::read_link(&place).map_err(failed)?;
            let bytes = target.as_os_str().as_bytes();
            (
                SYMLINK,
                blob_id(self.length, bytes.len() as u64, bytes).map_err(failed)?,
            )
        } else if meta.is_file() {
            self.left = self
                .left
                .checked_sub(meta.len())
                .ok_or_else(|| failed(too_much()))?;
            let file = files::open_plain(&place).map_err(failed)?;
            let mode = if meta.permissions().mode() & 0o100 == 0 {
                0o100_644
            } else {
                0o100_755
            };
            (
                mode,
                blob_id(self.length, meta.len(), file).map_err(failed)?,
            )
        } else {
            // A pipe, a socket, a device: present, without content.
            (0, blob_id(self.length, 0, &b""[..]).map_err(failed)?)
        };
        self.files.insert(path.into(), (mode, id));
        Ok(())
    }

    /// Returns the id of a submodule: the recorded commit if it is checked out and nothing differs
    /// from it, else an id of the content that is there.
    fn submodule(&mut self, entry: &IndexEntry) -> Result<Oid, GitError> {
        let path = RepoPath::from_exact(&entry.path)
            .ok_or_else(|| GitError::Unreadable("submodule".to_owned()))?;
        let Some(layout) = super::repository::at(&self.git.root().join(path.to_os())) else {
            // Not checked out; files that are there nevertheless count one by one.
            for file in files::walk(self.git.root(), &path).unwrap_or_default() {
                self.file(file.as_bytes())?;
            }
            return Ok(entry.id);
        };
        if self.depth >= worktree::MAX_DEPTH {
            return Err(GitError::Unreadable("submodule".to_owned()));
        }
        let content = snapshot(&self.git.nested(layout, &path), self.depth + 1)?.digest(None);
        let content = content.to_string();
        blob_id(self.length, content.len() as u64, content.as_bytes())
            .map_err(|_| GitError::Unreadable("submodule".to_owned()))
    }
}

fn too_much() -> std::io::Error {
    std::io::Error::other("too many bytes are not in the index")
}

fn unreadable(path: &RepoPath, error: &std::io::Error) -> GitError {
    GitError::File {
        path: path.to_string(),
        message: error.to_string(),
    }
}
