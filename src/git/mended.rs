//! Applies the fixes made in a view of the repository to its index and its work tree: all of them,
//! or none.
//!
//! A journal in the git directory records the planned changes before the first one. If the process
//! is killed meanwhile, the next one completes them. It has all contents among git's objects: the
//! new ones, and also the old ones, because only files in their staged state are fixed.

use super::error::{GitError, failed};
use super::index::mode_of;
use super::object::{Oid, blob_id};
use super::snapshot::{Snapshot, id_length};
use super::worktree::read_entries;
use super::{Git, words};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_os::atomic_file::{DOCUMENT, NewFile, replace};
use vplan_os::files;
use vplan_os::files::beneath::{Beneath, ReadError};
use vplan_os::process::input::memory;
use vplan_os::retry_eintr::{open, open_folder};

/// The file in the git directory that lists the changes in progress.
pub(super) const JOURNAL: &str = "vplan-mended";
/// Size limit of the journal, in bytes.
const MOST: u64 = 256 << 20;
/// Files of one call of git.
const AT_ONCE: usize = 500;

/// A regular file's mode and content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Blob {
    mode: u32,
    id: String,
}

impl Blob {
    fn new((mode, id): (u32, Oid)) -> Self {
        let id = id.to_string();
        Self { mode, id }
    }

    fn oid(&self) -> Result<Oid, GitError> {
        Oid::parse(self.id.as_bytes()).ok_or(GitError::Unreadable(JOURNAL))
    }
}

/// A fixed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedFile {
    path: RepoPath,
    before: Option<Blob>,
    after: Option<Blob>,
}

impl ReplacedFile {
    /// Returns the changes of files between two snapshots.
    pub fn between(paths: &[RepoPath], before: &Snapshot, after: &Snapshot) -> Vec<Self> {
        let mended = |path: &RepoPath| Self {
            path: path.clone(),
            before: before.file(path).map(Blob::new),
            after: after.file(path).map(Blob::new),
        };
        paths.iter().map(mended).collect()
    }
}

/// The reason why no fix was applied.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    /// A file differs from the state before the fix: changed meanwhile, or never staged in that
    /// state.
    #[error("`{0}` is not as it was when the fix began")]
    Differs(RepoPath),
    /// Another process brings something in.
    #[error("another vplan is at it")]
    Busy,
    /// Git, or the system.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Git {
    /// Adds the new contents of files of this work tree to git's objects.
    ///
    /// # Errors
    /// Errors of git; a file that has changed since the snapshot.
    pub fn keep_contents(&self, mended: &[ReplacedFile]) -> Result<(), MendError> {
        let new: Vec<(&RepoPath, &Blob)> = mended
            .iter()
            .filter_map(|file| Some((&file.path, file.after.as_ref()?)))
            .collect();
        for part in new.chunks(AT_ONCE) {
            let paths = part.iter().map(|(path, _)| path.to_os());
            let ids = self.ask(&words("hash-object -w --no-filters --", paths))?;
            let ids = String::from_utf8_lossy(&ids).into_owned();
            let mut ids = ids.lines();
            for (path, blob) in part {
                if ids.next() != Some(&blob.id) {
                    return Err(MendError::Differs((*path).clone()));
                }
            }
        }
        Ok(())
    }

    /// Makes a copy of the index with the fixed files in it, and returns git at that index.
    ///
    /// # Errors
    /// Errors of git; a file that differs from the staged content, for example because git converts
    /// it.
    pub fn at_mended_index(&self, file: &Path, mended: &[ReplacedFile]) -> Result<Self, MendError> {
        self.is_staged(mended)?;
        if let Err(error) = std::fs::copy(&self.layout.index, file)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(failed("index", error).into());
        }
        let other = self.clone().with_index(file);
        other.stage(mended)?;
        Ok(other)
    }

    /// Checks that the index has the content that the fixes started from.
    fn is_staged(&self, mended: &[ReplacedFile]) -> Result<(), MendError> {
        let staged = self.staged_blobs()?;
        match mended
            .iter()
            .find(|file| staged.get(file.path.as_bytes()) != file.before.as_ref())
        {
            Some(file) => Err(MendError::Differs(file.path.clone())),
            None => Ok(()),
        }
    }

    fn staged_blobs(&self) -> Result<BTreeMap<Vec<u8>, Blob>, GitError> {
        let entries = read_entries(self, id_length(self)?)?;
        let blob = |e: &super::index::IndexEntry| (e.path.to_vec(), Blob::new((e.mode, e.id)));
        Ok(entries.iter().map(blob).collect())
    }

    /// Puts the fixed files into the index, all at once.
    fn stage(&self, mended: &[ReplacedFile]) -> Result<(), GitError> {
        let none = "0".repeat(2 * id_length(self)?);
        let line = |file: &ReplacedFile| {
            let head = match &file.after {
                Some(blob) => format!("{:o} {}\t", blob.mode, blob.id),
                None => format!("0 {none}\t"),
            };
            [head.as_bytes(), file.path.as_bytes(), b"\0"].concat()
        };
        let lines: Vec<u8> = mended.iter().flat_map(line).collect();
        let given = memory(&lines).map_err(|e| failed("index", e))?;
        let words = ["update-index", "-z", "--index-info"];
        self.start_with(&words, given.into())?.answer().map(drop)
    }

    /// Applies fixed files, whose contents are among git's objects, to the index and to the work
    /// tree at `root`, which is the repository's own.
    ///
    /// # Errors
    /// Nothing was changed: a file has changed since, or cannot be written.
    pub fn bring_in(&self, root: &Path, mended: &[ReplacedFile]) -> Result<(), MendError> {
        if mended.is_empty() {
            return Ok(());
        }
        let git_dir = self.alone()?;
        let tree = Tree::open(self, root)?;
        self.is_staged(mended)?;
        for file in mended {
            if tree.blob(&file.path)? != file.before {
                return Err(MendError::Differs(file.path.clone()));
            }
        }
        let contents = self.contents(mended, |file| file.after.as_ref())?;
        let journal = serde_json::to_vec(mended).unwrap_or_default();
        replace(&git_dir, JOURNAL, &journal, DOCUMENT).map_err(|e| failed(JOURNAL, e))?;
        let written = tree
            .write_all(mended, |file| file.after.as_ref(), &contents)
            .and_then(|()| self.stage(mended));
        if let Err(error) = written {
            // Files that are already written are restored.
            let contents = self.contents(mended, |file| file.before.as_ref())?;
            let changed: Vec<ReplacedFile> = mended
                .iter()
                .filter(|file| tree.blob(&file.path).is_ok_and(|now| now == file.after))
                .cloned()
                .collect();
            tree.write_all(&changed, |file| file.before.as_ref(), &contents)?;
            remove_journal(&git_dir)?;
            return Err(error.into());
        }
        remove_journal(&git_dir)?;
        Ok(())
    }

    /// Completes the changes that a killed process began. A file that was changed since stays
    /// unchanged. Returns whether there were any.
    ///
    /// # Errors
    /// It cannot be read or completed.
    pub fn complete_mended(&self) -> Result<bool, MendError> {
        let place = self.layout.git_dir.join(JOURNAL);
        if place.symlink_metadata().is_err() {
            return Ok(false);
        }
        let git_dir = self.alone()?;
        let text = match files::read_plain(&place, MOST) {
            Ok(text) => text,
            // The process that was at it has completed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(JOURNAL, error).into()),
        };
        let mended: Vec<ReplacedFile> =
            serde_json::from_slice(&text).map_err(|_| GitError::Unreadable(JOURNAL))?;
        let tree = Tree::open(self, self.root())?;
        let contents = self.contents(&mended, |file| file.after.as_ref())?;
        let mut open = Vec::new();
        for file in &mended {
            if tree.blob(&file.path)? == file.before {
                open.push(file.clone());
            }
        }
        tree.write_all(&open, |file| file.after.as_ref(), &contents)?;
        let staged = self.staged_blobs()?;
        let is_open =
            |file: &&ReplacedFile| staged.get(file.path.as_bytes()) == file.before.as_ref();
        let open: Vec<ReplacedFile> = mended.iter().filter(is_open).cloned().collect();
        self.stage(&open)?;
        remove_journal(&git_dir)?;
        Ok(true)
    }

    /// Opens the git directory, for this process alone.
    fn alone(&self) -> Result<OwnedFd, MendError> {
        let dir = open_folder(&self.layout.git_dir).map_err(|e| failed(".git", e))?;
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(MendError::Busy),
            Err(error) => Err(failed(".git", error).into()),
            Ok(()) => Ok(dir),
        }
    }

    /// Returns the contents of one side of fixed files, by id.
    fn contents<'m>(
        &self,
        mended: &'m [ReplacedFile],
        side: fn(&'m ReplacedFile) -> Option<&'m Blob>,
    ) -> Result<BTreeMap<&'m str, Vec<u8>>, GitError> {
        let blobs: Vec<&Blob> = mended.iter().filter_map(side).collect();
        let ids: Vec<Oid> = blobs.iter().map(|b| b.oid()).collect::<Result<_, _>>()?;
        let contents = self.blobs(&ids)?;
        Ok(blobs.iter().map(|b| b.id.as_str()).zip(contents).collect())
    }
}

fn remove_journal(git_dir: &OwnedFd) -> Result<(), GitError> {
    match unlinkat(git_dir, JOURNAL, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(failed(JOURNAL, error)),
    }
}

/// The work tree of the repository itself.
struct Tree {
    beneath: Beneath,
    /// Bytes of an id.
    length: usize,
}

impl Tree {
    fn open(git: &Git, root: &Path) -> Result<Self, GitError> {
        let beneath = Beneath::open(root).map_err(|e| failed(".", e))?;
        let length = id_length(git)?;
        Ok(Self { beneath, length })
    }

    /// Returns the file at a path; for other kinds of entries, one with a mode that no file has.
    fn blob(&self, path: &RepoPath) -> Result<Option<Blob>, GitError> {
        let (mode, id) = (0, String::new());
        let other = Some(Blob { mode, id });
        let failed = |e: io::Error| failed(path, e);
        let mode = match self.beneath.status(path) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(_) => return Ok(other),
            Ok(found) => found.st_mode,
        };
        if rustix::fs::FileType::from_raw_mode(mode) != rustix::fs::FileType::RegularFile {
            return Ok(other);
        }
        let file = match self.beneath.file(path) {
            Ok(file) => file,
            Err(ReadError::Missing) => return Ok(None),
            Err(error) => return Err(failed(io::Error::other(error.to_string()))),
        };
        let size = file.metadata().map_err(failed)?.len();
        let id = blob_id(self.length, size, file).map_err(failed)?;
        Ok(Some(Blob::new((mode_of(mode & 0o100 != 0), id))))
    }

    /// Writes one side of files, each as a whole.
    fn write_all<'m>(
        &self,
        mended: &'m [ReplacedFile],
        side: fn(&'m ReplacedFile) -> Option<&'m Blob>,
        contents: &BTreeMap<&str, Vec<u8>>,
    ) -> Result<(), GitError> {
        for file in mended {
            let done = match side(file) {
                None => self.remove(&file.path),
                Some(blob) => {
                    let content = contents.get(blob.id.as_str());
                    let content = content.map(Vec::as_slice).unwrap_or_default();
                    self.write(&file.path, blob.mode, content)
                }
            };
            done.map_err(|e| failed(&file.path, e))?;
        }
        Ok(())
    }

    fn remove(&self, path: &RepoPath) -> io::Result<()> {
        let removed = self
            .folder_of(path, false)
            .and_then(|folder| Ok(unlinkat(folder, path.name(), AtFlags::empty())?));
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn write(&self, path: &RepoPath, mode: u32, content: &[u8]) -> io::Result<()> {
        let folder = self.folder_of(path, true)?;
        // The file keeps its permissions.
        let own = self.beneath.status(path).ok().map(|found| found.st_mode);
        let name = OsStr::from_bytes(path.name());
        let new = NewFile::create(folder.as_fd(), name, DOCUMENT)?;
        let mut file = new.file();
        file.write_all(content)?;
        let bits = own.unwrap_or(file.metadata()?.permissions().mode()) & 0o777;
        let bits = match mode & 0o100 {
            0 => bits & !0o111,
            _ => bits | (bits & 0o444) >> 2,
        };
        file.set_permissions(Permissions::from_mode(bits))?;
        new.rename().map(drop)
    }

    /// Opens the folder of a path without following links; makes missing folders.
    fn folder_of(&self, path: &RepoPath, makes: bool) -> io::Result<OwnedFd> {
        let mut folder = self.beneath.folder(&RepoPath::root())?;
        let above = path.ancestors();
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        for dir in above.iter().take(above.len().saturating_sub(1)) {
            let name = dir.name();
            folder = match open(&folder, name, flags) {
                Err(Errno::NOENT) if makes => {
                    mkdirat(&folder, name, Mode::from_raw_mode(0o777))?;
                    open(&folder, name, flags)?
                }
                opened => opened?,
            };
        }
        Ok(folder)
    }
}
