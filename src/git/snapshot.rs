//! Snapshots the work tree: the content id of every file that is tracked, or untracked and not
//! ignored by a tracked `.gitignore`.
//!
//! Only content counts: committing, staging or checking out the same files elsewhere gives the same
//! snapshot. A file counts with the id of its unconverted bytes, from vplan's own table or by
//! reading it.

mod touched;

use super::error::{GitError, failed};
use super::index::{IndexEntry, SUBMODULE, SYMLINK, mode_of};
use super::memory::Learned;
use super::object::{Oid, blob_id};
use super::observed::{FileStatus, Observed, SearchedFolder, SeenFile, WorkTreeFile};
use super::repository::{self, Layout};
use super::{Git, is_record, others, worktree};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::cell::OnceCell;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use vplan_base::canon::{Digest, Hasher};
use vplan_base::path::RepoPath;
use vplan_os::files;
use vplan_os::stat_cache::{StatStamp, now};

/// Limit of untracked content that is read, in bytes; above it, the content of the tree is unknown.
/// Tracked files are always read.
const MAX_READ: u64 = 256 << 20;
/// Entries are read and added in batches of this size. A single batch would need twice the memory
/// of the snapshot.
const AT_ONCE: usize = 1 << 15;

/// The content of a work tree.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// In byte order of the paths, each once.
    files: Vec<SnapshotFile>,
    /// The folders that were searched, in byte order.
    folders: Vec<SearchedFolder>,
    /// A time before the scan began, in nanoseconds since 1970.
    since: i128,
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Eq for Snapshot {}

#[derive(Clone, Debug)]
struct SnapshotFile {
    path: Arc<[u8]>,
    mode: u32,
    id: Oid,
    is_tracked: bool,
    status: Option<FileStatus>,
}

/// Content alone: neither the index nor times count.
impl PartialEq for SnapshotFile {
    fn eq(&self, other: &Self) -> bool {
        (self.mode, self.id) == (other.mode, other.id) && self.path == other.path
    }
}

impl Eq for SnapshotFile {}

impl Snapshot {
    /// Makes it of files in the order in which they were found: the last one of a path counts.
    fn new(mut files: Vec<SnapshotFile>, mut folders: Vec<SearchedFolder>, since: i128) -> Self {
        if !files.is_sorted_by(|a, b| a.path < b.path) {
            files.reverse();
            files.sort_by(|a, b| a.path.cmp(&b.path));
            files.dedup_by(|later, first| later.path == first.path);
        }
        folders.sort();
        Self {
            files,
            folders,
            since,
        }
    }

    /// Whether a file that has this metadata later has the content that it had in the snapshot with
    /// it: any write since then gives it other times.
    pub fn tells(&self, stamp: &StatStamp) -> bool {
        stamp.is_settled(self.since)
    }

    fn position(&self, path: &[u8]) -> Option<usize> {
        let found = self.files.binary_search_by(|file| (*file.path).cmp(path));
        found.ok()
    }

    fn find(&self, path: &[u8]) -> Option<&SnapshotFile> {
        self.files.get(self.position(path)?)
    }

    /// Returns its digest, without the files that `leave_out` selects.
    pub fn digest(&self, leave_out: Option<&dyn Fn(&RepoPath) -> bool>) -> Digest {
        let mut hasher = io::BufWriter::with_capacity(1 << 16, Hasher::default());
        for SnapshotFile { path, mode, id, .. } in &self.files {
            // To most plans every file matters, so that 100,000 paths are not tested.
            if leave_out
                .is_some_and(|is_out| RepoPath::from_exact(path).is_some_and(|p| is_out(&p)))
            {
                continue;
            }
            // Writing into a hasher cannot fail. Paths contain no NUL, and the id's length marks
            // its end.
            let _ = write!(hasher, "{mode:o} {id} ");
            let _ = hasher.write_all(path);
            let _ = hasher.write_all(b"\0");
        }
        hasher.into_inner().unwrap_or_default().finish()
    }

    /// Whether the file is there and in the index.
    pub fn is_tracked(&self, path: &RepoPath) -> bool {
        self.find(path.as_bytes())
            .is_some_and(|file| file.is_tracked)
    }

    /// Returns a file's mode and the id of its content, if it is there.
    pub fn entry(&self, path: &RepoPath) -> Option<String> {
        self.file(path).map(|(mode, id)| format!("{mode:o} {id}"))
    }

    /// Returns a file's mode and the id of its content, if it is there.
    pub fn file(&self, path: &RepoPath) -> Option<(u32, Oid)> {
        let found = self.find(path.as_bytes());
        found.map(|SnapshotFile { mode, id, .. }| (*mode, *id))
    }

    /// Returns the metadata of a regular file at the time its content was read, if it is known. For
    /// paths requested in byte order: `near` is the position of the last one, 0 at first.
    pub fn status_near(&self, path: &RepoPath, near: &mut usize) -> Option<FileStatus> {
        let path = path.as_bytes();
        let is = |at: &usize| self.files.get(*at).is_some_and(|file| *file.path == *path);
        let at = if is(near) {
            *near
        } else {
            self.position(path)?
        };
        *near = at + 1;
        self.files.get(at)?.status
    }

    /// Returns the folders of the tree, in byte order.
    pub fn folders(&self) -> impl Iterator<Item = RepoPath> {
        self.folders.iter().filter_map(SearchedFolder::path)
    }

    /// Returns the folders of the tree, in byte order, each with its metadata if all files in it are
    /// part of the tree, and it was at rest.
    pub fn whole_folders(&self) -> impl Iterator<Item = (RepoPath, Option<StatStamp>)> {
        let folder = |folder: &SearchedFolder| {
            let stamp = folder.stamp.filter(|_| folder.is_whole);
            Some((folder.path()?, stamp))
        };
        self.folders.iter().filter_map(folder)
    }

    /// Returns all files in byte order of their paths, each with the metadata at the time its
    /// content was read, if it is known.
    pub fn files(&self) -> impl Iterator<Item = (RepoPath, Option<FileStatus>)> {
        let file = |file: &SnapshotFile| Some((RepoPath::from_shared(&file.path)?, file.status));
        self.files.iter().filter_map(file)
    }

    /// Returns the files that are not in the index, in byte order.
    pub fn untracked(&self) -> Vec<RepoPath> {
        let others = self.files.iter().filter(|file| !file.is_tracked);
        others
            .filter_map(|file| RepoPath::from_shared(&file.path))
            .collect()
    }

    /// Whether a folder that has this metadata now lists the same files of the tree as before.
    pub fn lists_the_same(&self, folder: &RepoPath, now: &StatStamp) -> bool {
        let at: &[u8] = if folder.is_root() {
            b""
        } else {
            folder.as_bytes()
        };
        let found = self.folders.binary_search_by(|known| (*known.path).cmp(at));
        match found.ok().and_then(|at| self.folders.get(at)) {
            Some(known) => known.stamp.as_ref() == Some(now),
            // It is ignored, unless it is a submodule or a nested repository.
            None => !self.holds(folder) && !self.has_below(folder.as_bytes(), |_| true),
        }
    }

    /// Whether a file, or a submodule around it, is part of the tree. Existing files outside of the
    /// tree are ignored.
    pub fn holds(&self, path: &RepoPath) -> bool {
        let bytes = path.as_bytes();
        let is_end = |at: &usize| bytes.get(*at).is_none_or(|byte| *byte == b'/');
        (1..=bytes.len())
            .filter(is_end)
            .filter_map(|end| bytes.get(..end))
            .any(|prefix| self.find(prefix).is_some())
    }

    /// Whether a file below a folder is in the index.
    pub fn has_tracked_below(&self, folder: &[u8]) -> bool {
        self.has_below(folder, |file| file.is_tracked)
    }

    fn has_below(&self, folder: &[u8], is: impl Fn(&SnapshotFile) -> bool) -> bool {
        let first = [folder, b"/"].concat();
        let begin = self.files.partition_point(|file| *file.path < *first);
        let rest = self.files.get(begin..).unwrap_or_default();
        rest.iter()
            .take_while(|file| file.path.starts_with(&first))
            .any(is)
    }

    /// Returns the files that differ from another snapshot, or are in only one of both, in byte
    /// order.
    pub fn differences(&self, other: &Snapshot) -> Vec<RepoPath> {
        let (mut own, mut others) = (self.files.iter().peekable(), other.files.iter().peekable());
        let mut paths = Vec::new();
        while let Some(first) = match (own.peek(), others.peek()) {
            (Some(a), Some(b)) => Some((&a.path).min(&b.path)),
            (a, b) => a.or(b).map(|file| &file.path),
        } {
            let is_first = |file: &&SnapshotFile| file.path == *first;
            let (a, b) = (own.next_if(is_first), others.next_if(is_first));
            paths.extend((a != b).then(|| RepoPath::from_exact(first)).flatten());
        }
        paths
    }
}

impl Git {
    /// Takes a snapshot of the work tree, without vplan's own records.
    ///
    /// # Errors
    /// Errors of git; files that cannot be read or are being written, or that are too large
    /// together.
    pub fn snapshot(&self) -> Result<Snapshot, GitError> {
        snapshot(self, 0)
    }

    /// Returns a digest of the files of a submodule, or of a repository in this one, as they count
    /// in a snapshot.
    ///
    /// # Errors
    /// As [`Git::snapshot`].
    pub(super) fn nested_content(&self, path: &RepoPath) -> Result<Digest, GitError> {
        let length = id_length(self)?;
        let entries = worktree::read_entries(self, length)?;
        let entry = entries.binary_search_by(|entry| (*entry.path).cmp(path.as_bytes()));
        let layout = entry.ok().and_then(|_| layout_at(self, path));
        if let Some(layout) = layout {
            return Ok(snapshot(&self.nested(layout, path), 1)?.digest(None));
        }
        let mut reader = Reader::new(self, length, 0, 0);
        reader.untracked(&[path.as_bytes(), b"/"].concat())?;
        Ok(reader.finish(&[], Vec::new(), now())?.digest(None))
    }

    /// Returns the submodules of the index with their repositories, `None` for one that is not
    /// checked out.
    ///
    /// # Errors
    /// As [`Git::snapshot`].
    pub fn submodules(&self) -> Result<Vec<(RepoPath, Option<Self>)>, GitError> {
        let entries = worktree::read_entries(self, id_length(self)?)?;
        let all = entries.iter().filter(|entry| entry.mode == SUBMODULE);
        all.map(|entry| {
            let path = worktree::exact(&entry.path)?;
            let git = layout_at(self, &path).map(|layout| self.nested(layout, &path));
            Ok((path, git))
        })
        .collect()
    }

    /// Returns the snapshot from the last comparison of the work tree with a commit, if the index
    /// is unchanged; otherwise takes one. Each comparison gives one snapshot.
    ///
    /// # Errors
    /// As [`Git::snapshot`].
    pub fn snapshot_of_comparison(&self) -> Result<Snapshot, GitError> {
        let length = id_length(self)?;
        match self.memory.take_observed() {
            Some((index, mut observed)) if index == worktree::index_stamp(self) => {
                worktree::read_large(self, length, &mut observed);
                assemble(self, length, 0, observed)
            }
            _ => self.snapshot(),
        }
    }

    /// Returns the first tracked file below the folder of run records, where none may be tracked.
    /// An unreadable index counts as having none.
    pub fn tracked_record(&self) -> Option<RepoPath> {
        self.root().join(".vplan").symlink_metadata().ok()?;
        // A comparison with this index has already ruled that out.
        if self.memory.has_observed(worktree::index_stamp(self)) {
            return None;
        }
        let length = id_length(self).ok()?;
        let entries = worktree::read_entries(self, length).ok()?;
        let record = entries.iter().find(|entry| is_record(&entry.path))?;
        RepoPath::from_exact(&record.path)
    }

    /// Forgets the work tree as a comparison found it: time has passed since.
    pub fn forget_observed(&self) {
        self.memory.take_observed();
    }
    /// Whether a sparse checkout leaves a tracked file out of the work tree.
    pub fn is_left_out(&self, path: &RepoPath) -> bool {
        let entries = id_length(self).and_then(|length| worktree::read_entries(self, length));
        let is_it = |entry: &IndexEntry| *entry.path == *path.as_bytes() && entry.skip_worktree;
        entries.is_ok_and(|entries| entries.iter().any(is_it)) && self.is_sparse()
    }

    /// Whether the work tree is a sparse checkout.
    pub(super) fn is_sparse(&self) -> bool {
        let answer = self.call(&["config", "--type=bool", "--get", "core.sparseCheckout"]);
        matches!(answer, Ok(output) if output.stdout.trim_ascii_end() == b"true")
    }
}

/// Returns how many bytes the repository's ids have.
pub(super) fn id_length(git: &Git) -> Result<usize, GitError> {
    Ok(match git.head()? {
        Some(head) => head.length(),
        None => git.empty_tree()?.length(),
    })
}

fn snapshot(git: &Git, depth: usize) -> Result<Snapshot, GitError> {
    let length = id_length(git)?;
    for _ in 0..3 {
        let (before, since) = (worktree::index_stamp(git), now());
        let entries = worktree::read_entries_and_table(git, length)?;
        let read = || {
            let mut reader = Reader::new(git, length, depth, entries.len());
            for entries in entries.chunks(AT_ONCE) {
                let (seen, learned) = worktree::look_at(git, entries, length, u64::MAX);
                reader.learned.extend(learned);
                reader.all_tracked(entries, seen)?;
            }
            Ok::<_, GitError>(reader)
        };
        let (others, reader) = others::others_while(git, &entries, read);
        if worktree::index_stamp(git) == before {
            let others::Others { files, folders, .. } = others?;
            return reader?.finish(&files, folders, since);
        }
    }
    Err(GitError::Unsteady)
}

fn assemble(
    git: &Git,
    length: usize,
    depth: usize,
    observed: Observed,
) -> Result<Snapshot, GitError> {
    let mut reader = Reader::new(git, length, depth, observed.entries.len());
    reader.all_tracked(&observed.entries, observed.seen)?;
    reader.finish(&observed.others, observed.folders, observed.since)
}

struct Reader<'a> {
    git: &'a Git,
    length: usize,
    depth: usize,
    /// The number of bytes that may still be read.
    left: u64,
    files: Vec<SnapshotFile>,
    learned: Vec<Learned>,
    /// Whether the files that are added are in the index.
    is_tracked: bool,
    has_modes: OnceCell<bool>,
    is_sparse: OnceCell<bool>,
}

impl<'a> Reader<'a> {
    fn new(git: &'a Git, length: usize, depth: usize, files: usize) -> Self {
        let (has_modes, is_sparse) = (OnceCell::new(), OnceCell::new());
        Self {
            git,
            length,
            depth,
            left: MAX_READ,
            files: Vec::with_capacity(files),
            learned: Vec::new(),
            is_tracked: true,
            has_modes,
            is_sparse,
        }
    }

    fn add(&mut self, path: Arc<[u8]>, mode: u32, id: Oid, status: Option<FileStatus>) {
        let is_tracked = self.is_tracked;
        self.files.push(SnapshotFile {
            path,
            mode,
            id,
            is_tracked,
            status,
        });
    }

    fn all_tracked(&mut self, entries: &[IndexEntry], seen: Vec<SeenFile>) -> Result<(), GitError> {
        let mut both = entries.iter().zip(seen);
        both.try_for_each(|(entry, seen)| self.tracked(entry, seen))
    }

    /// Adds the files that are not in the index.
    fn finish(
        mut self,
        others: &[Vec<u8>],
        folders: Vec<SearchedFolder>,
        since: i128,
    ) -> Result<Snapshot, GitError> {
        self.is_tracked = false;
        // A file that only rules of this machine hide is still part of the tree.
        others.iter().try_for_each(|path| self.untracked(path))?;
        self.git.memory.learn(self.learned);
        Ok(Snapshot::new(self.files, folders, since))
    }

    fn tracked(&mut self, entry: &IndexEntry, seen: SeenFile) -> Result<(), GitError> {
        if is_record(&entry.path) && self.depth == 0 {
            return Ok(());
        }
        let git = self.git;
        match seen.file {
            // Outside a sparse checkout: the file is unchanged.
            WorkTreeFile::Missing
                if entry.skip_worktree
                    && entry.stage == 0
                    && *self.is_sparse.get_or_init(|| git.is_sparse()) =>
            {
                self.add(Arc::clone(&entry.path), entry.mode, entry.id, None);
            }
            // A submodule that is not checked out is an empty directory or missing.
            WorkTreeFile::Directory | WorkTreeFile::Missing if entry.mode == SUBMODULE => {
                let id = self.submodule(entry)?;
                self.add(Arc::clone(&entry.path), SUBMODULE, id, None);
            }
            WorkTreeFile::Missing | WorkTreeFile::Directory => {}
            WorkTreeFile::Regular {
                executable,
                id: Some(id),
            } => {
                let mode = mode_of(executable);
                // If files have no modes, the index records them.
                let known =
                    mode == entry.mode || *self.has_modes.get_or_init(|| git.has_file_modes());
                let mode = if known { mode } else { entry.mode };
                self.add(Arc::clone(&entry.path), mode, id, seen.status);
            }
            WorkTreeFile::Symlink(Some(id)) => self.add(Arc::clone(&entry.path), SYMLINK, id, None),
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
        let dir = RepoPath::from_exact(exact).ok_or(GitError::Unreadable("ls-files"))?;
        let found = files::walk(self.git.root(), &dir).map_err(|e| failed(&dir, e))?;
        found.iter().try_for_each(|path| self.file(path.as_bytes()))
    }

    /// Reads a file's bytes and adds its id.
    fn file(&mut self, path: &[u8]) -> Result<(), GitError> {
        let name = RepoPath::from_exact(path).ok_or(GitError::Unreadable("ls-files"))?;
        let place = self.git.root().join(std::ffi::OsStr::from_bytes(path));
        let failed = |e: io::Error| failed(&name, e);
        let stat = match rustix::fs::lstat(&place) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(failed(e.into())),
        };
        let mut status = None;
        let (mode, id) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = std::fs::read_link(&place).map_err(failed)?;
                let bytes = target.as_os_str().as_bytes();
                let id = blob_id(self.length, bytes.len() as u64, bytes).map_err(failed)?;
                (SYMLINK, id)
            }
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                let too_much = || io::Error::other("too many bytes are not in the index");
                let left = self.left.checked_sub(size);
                self.left = left.ok_or_else(|| failed(too_much()))?;
                let mode = mode_of(stat.st_mode & 0o100 != 0);
                let seen = FileStatus::from(&stat);
                let (id, is_steady) = self.content(path, &place, &seen).map_err(failed)?;
                status = is_steady.then_some(seen);
                (mode, id)
            }
            // A pipe, a socket, a device: present, without content.
            _ => (0, blob_id(self.length, 0, &b""[..]).map_err(failed)?),
        };
        self.add(path.into(), mode, id, status);
        Ok(())
    }

    /// Returns the id of a file's content, from the table or by reading it, and whether the file's
    /// status is still the given one.
    fn content(
        &mut self,
        path: &[u8],
        place: &std::path::Path,
        seen: &FileStatus,
    ) -> io::Result<(Oid, bool)> {
        let key = self.git.key(path);
        let known = self.git.memory.table().digest(&key, &seen.stamp);
        if let Some(id) = known.and_then(|id| Oid::from_padded(self.length, *id.as_bytes())) {
            return Ok((id, true));
        }
        let file = files::open_plain(place)?;
        let (learned, id) = worktree::read_id(file, self.length, key.into_owned())?;
        let is_steady = learned.as_ref().is_some_and(|l| l.stamp == seen.stamp);
        self.learned.extend(learned);
        Ok((id, is_steady))
    }

    /// Returns the id of a submodule: the recorded commit if it is checked out without changes,
    /// otherwise an id of its present content.
    fn submodule(&mut self, entry: &IndexEntry) -> Result<Oid, GitError> {
        let path = RepoPath::from_exact(&entry.path).ok_or(GitError::Unreadable("submodule"))?;
        let Some(layout) = layout_at(self.git, &path) else {
            // Not checked out; files that are there nevertheless count one by one.
            for file in files::walk(self.git.root(), &path).unwrap_or_default() {
                self.file(file.as_bytes())?;
            }
            return Ok(entry.id);
        };
        if self.depth >= worktree::MAX_DEPTH {
            return Err(GitError::Unreadable("submodule"));
        }
        let content = snapshot(&self.git.nested(layout, &path), self.depth + 1)?.digest(None);
        let content = content.to_string();
        blob_id(self.length, content.len() as u64, content.as_bytes())
            .map_err(|_| GitError::Unreadable("submodule"))
    }
}

/// Returns the layout of the repository in a folder, if there is one.
fn layout_at(git: &Git, path: &RepoPath) -> Option<Layout> {
    repository::at(&git.root().join(path.to_os()))
}
