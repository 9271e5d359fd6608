//! Compares the work tree with a commit, by content, without git's own comparison.
//!
//! Only names and ids are taken from the index. A file's content is known from vplan's own table,
//! or by reading it. Other fields of the index (times, sizes, "assume unchanged", "skip the work
//! tree") are ignored, and so are settings that change how git compares files (`core.trustctime`,
//! `core.checkStat`, `core.fileMode`, `core.ignoreCase`).

use super::convert::Converter;
use super::error::{GitError, failed};
use super::index::{self, GitIndex, IndexEntry, SUBMODULE, SYMLINK};
use super::listing::{Listed, Listing};
use super::memory::Learned;
use super::object::{Oid, blob_id};
use super::observed::{FileStatus, IndexStamp, Observed, SeenFile, WorkTreeFile};
use super::skipped::{HiddenBy, HiddenFiles, Unseen};
use super::{Git, is_record, others, split_nul};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, OFlags, ResolveFlags, fstat, readlinkat, statat};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use vplan_base::change::{ChangedFile, Status};
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_os::retry_eintr::{open, openat2};
use vplan_os::stat_cache::{StatCacheStats, StatStamp as FileStamp, now};
use vplan_os::{files, parallel};

/// Submodules inside submodules are followed this deep.
pub(super) const MAX_DEPTH: usize = 8;
/// Size limit of the index, in bytes.
const MAX_INDEX: u64 = 1 << 30;
/// Above this size of the index, in bytes, the table is read in parallel with it.
const LARGE_INDEX: u64 = 1 << 20;
/// A tracked file above this many bytes is read for a comparison only if its size leaves open
/// whether it is the same.
pub(super) const LARGE: u64 = 64 << 20;
/// Below this many entries, threads cost more than they bring.
const SMALL: usize = 500;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// The bits of a mode that distinguish file, symlink and submodule.
const KIND: u32 = 0o170_000;

/// Lists everything in the work tree that differs from a tree: tracked files, deleted ones,
/// untracked ones. Not sorted; a path can occur as deleted and as added.
pub(super) fn changes(git: &Git, tree: &Oid, depth: usize) -> Result<Vec<ChangedFile>, GitError> {
    for _ in 0..3 {
        if depth == 0 {
            git.memory.forget_unseen();
        }
        let before = index_stamp(git);
        let (listing, observed) = parallel::both(
            || git.listing(tree),
            || look_at_all(git, tree.length(), LARGE),
        );
        let (listing, observed) = (listing?, observed?);
        if index_stamp(git) != before {
            continue;
        }
        let Observed {
            entries,
            seen,
            others,
            git_names,
            ..
        } = &observed;
        let mut records = entries.iter().filter(|entry| is_record(&entry.path));
        if let Some(record) = records.next().filter(|_| depth == 0) {
            return Err(GitError::TrackedRecord(visible(&record.path)));
        }
        let mut comparison = Comparison::new(git, &listing, depth);
        comparison.compare(entries, seen)?;
        let (mut changed, left_out, line_ends) = comparison.finish();
        // A submodule is verified as its own repository tracks it, but hidden files in it are not
        // reported.
        let hides = if depth == 0 {
            git.hidden(others, entries)?
        } else {
            BTreeMap::new()
        };
        let names = git_names.iter();
        let names = names.filter_map(|path| RepoPath::from_exact(&git.key(path)));
        let mut hidden: HiddenFiles = names.map(|path| (path, HiddenBy::Repository)).collect();
        for path in others {
            match hides.get(path.as_slice()) {
                Some(by) => {
                    let mut files = Vec::new();
                    add_untracked(git.root(), path, &mut files)?;
                    hidden.extend(files.into_iter().map(|file| (file.path, *by)));
                }
                None => add_untracked(git.root(), path, &mut changed)?,
            }
        }
        let whole = |paths: Vec<RepoPath>| -> Vec<RepoPath> {
            let whole = |path: &RepoPath| RepoPath::from_exact(&git.key(path.as_bytes()));
            paths.iter().filter_map(whole).collect()
        };
        git.memory.add_unseen(Unseen {
            hidden,
            left_out: whole(left_out),
            line_ends: whole(line_ends),
        });
        if depth == 0 {
            git.memory.observe(before, observed);
        }
        return Ok(changed);
    }
    Err(GitError::Unsteady)
}

pub(super) fn index_stamp(git: &Git) -> IndexStamp {
    let status = rustix::fs::stat(&git.layout.index).ok()?;
    Some(FileStamp::from(&status))
}

/// Reads the tracked files that were too large for a comparison.
pub(super) fn read_large(git: &Git, length: usize, observed: &mut Observed) {
    for (entry, seen) in observed.entries.iter().zip(&mut observed.seen) {
        if matches!(seen.file, WorkTreeFile::Large { .. }) {
            let (again, learned) = look_at(git, std::slice::from_ref(entry), length, u64::MAX);
            again.into_iter().for_each(|now| *seen = now);
            git.memory.learn(learned);
        }
    }
}

/// Reads the state of the whole work tree. Tracked files of more than `large` bytes are not read.
pub(super) fn look_at_all(git: &Git, length: usize, large: u64) -> Result<Observed, GitError> {
    let since = now();
    let entries = read_entries_and_table(git, length)?;
    let look = || look_at(git, &entries, length, large);
    let (others, (seen, learned)) = others::others_while(git, &entries, look);
    git.memory.learn(learned);
    let others::Others {
        files,
        git_names,
        folders,
    } = others?;
    Ok(Observed {
        since,
        others: files,
        git_names,
        folders,
        seen,
        entries,
    })
}

/// Returns the entries of the index; for a large one, the table is read in parallel.
pub(super) fn read_entries_and_table(
    git: &Git,
    length: usize,
) -> Result<Arc<Vec<IndexEntry>>, GitError> {
    let index = git.layout.index.metadata();
    if index.is_ok_and(|index| index.len() > LARGE_INDEX) {
        parallel::both(|| drop(git.memory.table()), || read_entries(git, length)).1
    } else {
        read_entries(git, length)
    }
}

/// Returns the file for each entry, and the new facts about files that were read. Files above
/// `large` bytes are not read.
pub(super) fn look_at(
    git: &Git,
    entries: &[IndexEntry],
    length: usize,
    large: u64,
) -> (Vec<SeenFile>, Vec<Learned>) {
    let table = git.memory.table();
    let look = |(entries, seen): (&[IndexEntry], &mut [SeenFile])| {
        let mut eyes = Eyes {
            parents: Parents::new(git.root()),
            git,
            length,
            large,
            table: &table,
            near: 0,
            learned: vec![],
        };
        for (entry, seen) in entries.iter().zip(seen) {
            *seen = eyes.see(&entry.path);
        }
        eyes.learned
    };
    let threads = if entries.len() < SMALL {
        1
    } else {
        parallel::parts()
    };
    let nothing = SeenFile {
        file: WorkTreeFile::Missing,
        status: None,
    };
    let mut seen = vec![nothing; entries.len()];
    let part = entries.len().div_ceil(threads).max(1);
    let parts = entries.chunks(part).zip(seen.chunks_mut(part)).collect();
    let learned = parallel::each(parts, look);
    (seen, learned.into_iter().flatten().collect())
}

/// Reads the state of files in the order of their paths.
struct Eyes<'a> {
    parents: Parents<'a>,
    git: &'a Git,
    length: usize,
    /// Size limit of a file that is read, in bytes.
    large: u64,
    table: &'a StatCacheStats,
    /// The last file's position in the table.
    near: usize,
    learned: Vec<Learned>,
}

impl Eyes<'_> {
    fn see(&mut self, path: &[u8]) -> SeenFile {
        let mut status = None;
        let file = self.examine(path, &mut status);
        SeenFile { file, status }
    }

    fn examine(&mut self, path: &[u8], status: &mut Option<FileStatus>) -> WorkTreeFile {
        let Some((dir, name)) = self.parents.open(path) else {
            return WorkTreeFile::Missing;
        };
        let name = &*name;
        let Ok(stat) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return WorkTreeFile::Missing;
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let executable = stat.st_mode & 0o100 != 0;
                let stamp = FileStamp::from(&stat);
                let seen = FileStatus::from(&stat);
                let known = self.git.key(path);
                let id = self.table.digest_near(&known, &stamp, &mut self.near);
                let id = id.and_then(|id| Oid::from_padded(self.length, *id.as_bytes()));
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                if id.is_none() && size > self.large {
                    return WorkTreeFile::Large { executable, size };
                }
                *status = id.is_some().then_some(seen);
                let id = id.or_else(|| {
                    let read = open_file(dir, name)
                        .and_then(|file| read_id(file, self.length, known.into_owned()));
                    let (learned, id) = read.ok()?;
                    let same = learned.as_ref().is_some_and(|l| l.stamp == stamp);
                    *status = same.then_some(seen);
                    self.learned.extend(learned);
                    Some(id)
                });
                WorkTreeFile::Regular { executable, id }
            }
            FileType::Symlink => {
                let target = readlinkat(dir, name, Vec::new()).ok();
                WorkTreeFile::Symlink(target.and_then(|t| {
                    let bytes = t.as_bytes();
                    blob_id(self.length, bytes.len() as u64, bytes).ok()
                }))
            }
            FileType::Directory => WorkTreeFile::Directory,
            _ => WorkTreeFile::Special,
        }
    }
}

/// Opens a file for [`read_id`].
fn open_file(dir: BorrowedFd<'_>, name: &[u8]) -> std::io::Result<std::fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(open(dir, name, flags)?.into())
}

/// Returns the fact to remember about a file's content, and its id.
///
/// # Errors
/// The file is not regular, or cannot be read as a whole.
pub(super) fn read_id(
    file: std::fs::File,
    length: usize,
    path: Vec<u8>,
) -> std::io::Result<(Option<Learned>, Oid)> {
    let since = now();
    let before = fstat(&file)?;
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let size = u64::try_from(before.st_size).unwrap_or(0);
    let id = blob_id(length, size, &file)?;
    let (stamp, later) = (FileStamp::from(&before), fstat(&file)?);
    let steady = stamp == FileStamp::from(&later);
    let learned = Learned {
        path,
        stamp,
        id,
        since,
        size,
    };
    Ok((steady.then_some(learned), id))
}

/// Returns the index as vplan parses it, or as git lists it if its form is unusual, in byte order
/// of the paths. While the file is unchanged, it is read only once.
pub(super) fn read_entries(git: &Git, length: usize) -> Result<Arc<Vec<IndexEntry>>, GitError> {
    let (since, stamp) = (now(), index_stamp(git));
    if let Some(known) = git.memory.entries(stamp) {
        return Ok(known);
    }
    let (mut entries, is_usual) = list_entries(git, length)?;
    if !entries.is_sorted_by(|a, b| (&a.path, a.stage) <= (&b.path, b.stage)) {
        entries.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
    }
    let entries = Arc::new(entries);
    // An index that was just written can change again within the same time stamp. An unusual one
    // depends on other files. A submodule's would replace this one.
    let is_settled = stamp.is_some_and(|stamp| stamp.is_settled(since));
    if is_usual && is_settled && git.below.is_empty() && index_stamp(git) == stamp {
        git.memory.keep_entries(stamp, Arc::clone(&entries));
    }
    Ok(entries)
}

/// Lists the entries of the index; with them, whether vplan has read the file itself.
fn list_entries(git: &Git, length: usize) -> Result<(Vec<IndexEntry>, bool), GitError> {
    match files::read_plain(&git.layout.index, MAX_INDEX) {
        Ok(bytes) => match index::parse(&bytes, length) {
            GitIndex::Entries(entries) => return Ok((entries, true)),
            GitIndex::Unusual => {}
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), false)),
        // Git may be able to read an index that vplan does not open, such as a symlink.
        Err(_) => {}
    }
    let output = git.ask(&["ls-files", "-z", "--cached", "--stage", "-t"])?;
    let records = split_nul(&output);
    let entries: Option<_> = records.iter().map(|record| listed_entry(record)).collect();
    let entries = entries.ok_or(GitError::Unreadable("ls-files"))?;
    Ok((entries, false))
}

/// Reads `TAG MODE ID STAGE<tab>PATH`.
pub(super) fn listed_entry(record: &[u8]) -> Option<IndexEntry> {
    let tab = record.iter().position(|b| *b == b'\t')?;
    let (head, path) = (record.get(..tab)?, record.get(tab + 1..)?);
    let fields: Vec<&[u8]> = head.split(|b| *b == b' ').collect();
    let [tag, mode, id, stage] = fields.as_slice() else {
        return None;
    };
    Some(IndexEntry {
        path: path.into(),
        mode: u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?,
        id: Oid::parse(id)?,
        stage: stage.first()?.checked_sub(b'0')?,
        skip_worktree: tag == b"S",
        intent_to_add: false,
    })
}

/// Caches which directories are real ones: a file reached through a symlink is not the tracked one.
struct Parents<'a> {
    root: &'a Path,
    top: Option<OwnedFd>,
    /// The directory of the last entry. Its files are opened by name, without the path from the
    /// root.
    dir: Option<OwnedFd>,
    verified: Vec<u8>,
    broken: Option<Vec<u8>>,
}

impl<'a> Parents<'a> {
    /// Makes an empty cache.
    fn new(root: &'a Path) -> Self {
        let top = open(CWD, root, DIRECTORY).ok();
        Self {
            root,
            top,
            dir: None,
            verified: Vec::new(),
            broken: None,
        }
    }

    /// Opens the directory of a path, and returns it with the path relative to it; `None` if
    /// something above is not a directory.
    fn open<'p>(&mut self, path: &'p [u8]) -> Option<(BorrowedFd<'_>, Cow<'p, [u8]>)> {
        let (dir, name) = match path.iter().rposition(|b| *b == b'/') {
            Some(slash) => path.split_at(slash + 1),
            None => (&[][..], path),
        };
        if !self.is_real(dir.strip_suffix(b"/").unwrap_or(dir)) {
            return None;
        }
        let fd = if dir.is_empty() { &self.top } else { &self.dir };
        // No descriptor left, or no `openat2`.
        let Some(fd) = fd else {
            let whole = join_bytes(self.root, path).into_os_string().into_vec();
            return Some((CWD, Cow::Owned(whole)));
        };
        Some((fd.as_fd(), Cow::Borrowed(name)))
    }

    fn is_real(&mut self, dir: &[u8]) -> bool {
        if dir == self.verified.as_slice() {
            return true;
        }
        let is_below = |dir: &[u8], outer: &[u8]| {
            dir.strip_prefix(outer)
                .is_some_and(|r| r.is_empty() || r.starts_with(b"/"))
        };
        let broken = self.broken.as_deref();
        if broken.is_some_and(|outer| is_below(dir, outer)) {
            return false;
        }
        let way = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        self.dir = self
            .top
            .as_ref()
            .and_then(|top| openat2(top, dir, DIRECTORY, way).ok());
        if self.dir.is_none() {
            // It does not exist, or no descriptor is left, or the system lacks `openat2`. Entries
            // are sorted, so most of the path is usually known.
            let is_real = |dir: &[u8]| {
                let found = join_bytes(self.root, dir).symlink_metadata();
                found.is_ok_and(|found| found.is_dir())
            };
            let ends = (0..dir.len()).filter(|at| dir.get(*at) == Some(&b'/'));
            for end in ends.chain([dir.len()]) {
                let part = dir.get(..end).unwrap_or_default();
                if !is_below(&self.verified, part) && !is_real(part) {
                    self.broken = Some(part.to_vec());
                    return false;
                }
            }
        }
        self.verified = dir.to_vec();
        true
    }
}

fn join_bytes(root: &Path, path: &[u8]) -> std::path::PathBuf {
    root.join(std::ffi::OsStr::from_bytes(path))
}

/// A comparison of the work tree with a tree.
pub(super) struct Comparison<'a> {
    git: &'a Git,
    listing: &'a Listing,
    depth: usize,
    result: BTreeMap<RepoPath, Status>,
    /// The changes inside submodules.
    inside: Vec<ChangedFile>,
    left_out: Vec<RepoPath>,
    line_ends: Vec<RepoPath>,
    converter: Converter<'a>,
    has_modes: OnceCell<bool>,
    is_sparse: OnceCell<bool>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(git: &'a Git, listing: &'a Listing, depth: usize) -> Self {
        let (result, inside, left_out, line_ends) =
            (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
        let (has_modes, is_sparse) = (OnceCell::new(), OnceCell::new());
        let converter = Converter::new(git, listing);
        Self {
            git,
            listing,
            depth,
            result,
            inside,
            left_out,
            line_ends,
            converter,
            has_modes,
            is_sparse,
        }
    }

    pub(super) fn compare(
        &mut self,
        entries: &[IndexEntry],
        seen: &[SeenFile],
    ) -> Result<(), GitError> {
        let mut base = self.listing.iter().peekable();
        for (entry, seen) in entries.iter().zip(seen.iter().map(|seen| seen.file)) {
            while let Some(gone) = base.next_if(|listed| listed.path < &*entry.path) {
                self.result.insert(exact(gone.path)?, Status::Deleted);
            }
            let old = base.next_if(|listed| listed.path == &*entry.path);
            if entry.stage != 0 {
                // A conflict is a change, whatever the content of the file.
                let status = if seen == WorkTreeFile::Missing {
                    Status::Deleted
                } else {
                    Status::Modified
                };
                self.result.insert(exact(&entry.path)?, status);
            } else if let Some(status) = self.decide(entry, seen, old)? {
                self.result.insert(exact(&entry.path)?, status);
            }
        }
        for gone in base {
            self.result.insert(exact(gone.path)?, Status::Deleted);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> (Vec<ChangedFile>, Vec<RepoPath>, Vec<RepoPath>) {
        self.git.memory.learn(self.converter.learned);
        let changed = self
            .result
            .into_iter()
            .map(|(path, status)| ChangedFile { path, status });
        (
            changed.chain(self.inside).collect(),
            self.left_out,
            self.line_ends,
        )
    }

    /// Decides the status of one file, `None` if it is unchanged.
    fn decide(
        &mut self,
        entry: &IndexEntry,
        seen: WorkTreeFile,
        old: Option<Listed<'_>>,
    ) -> Result<Option<Status>, GitError> {
        let git = self.git;
        if seen == WorkTreeFile::Missing
            && entry.skip_worktree
            && *self.is_sparse.get_or_init(|| git.is_sparse())
        {
            // Outside a sparse checkout: unchanged since the index.
            self.left_out.push(exact(&entry.path)?);
            let now = (entry.mode, entry.id);
            return Ok(match old {
                Some(old) => (now != (old.mode, old.id)).then_some(Status::Modified),
                None => Some(Status::Added),
            });
        }
        let Some(old) = old else {
            if entry.mode == SUBMODULE && seen == WorkTreeFile::Directory {
                self.everything_in(&exact(&entry.path)?, Status::Added)?;
            }
            return Ok((seen != WorkTreeFile::Missing).then_some(Status::Added));
        };
        Ok(match seen {
            WorkTreeFile::Missing => Some(Status::Deleted),
            WorkTreeFile::Special => Some(Status::TypeChanged),
            WorkTreeFile::Directory if old.mode == SUBMODULE => {
                self.submodule(&exact(&entry.path)?, &old.id)?
            }
            WorkTreeFile::Directory => {
                let path = exact(&entry.path)?;
                // If a directory has replaced a file, its content is untracked, unless it is a
                // repository itself.
                let is_repository = super::repository::at(&git.root().join(path.to_os())).is_some();
                if entry.mode == SUBMODULE {
                    self.everything_in(&path, Status::Added)?;
                }
                Some(if is_repository {
                    Status::TypeChanged
                } else {
                    Status::Deleted
                })
            }
            WorkTreeFile::Symlink(_) if old.mode != SYMLINK => Some(Status::TypeChanged),
            WorkTreeFile::Symlink(id) => (id != Some(old.id)).then_some(Status::Modified),
            WorkTreeFile::Regular { .. } | WorkTreeFile::Large { .. }
                if old.mode == SYMLINK || old.mode == SUBMODULE =>
            {
                Some(Status::TypeChanged)
            }
            WorkTreeFile::Regular { executable, id } => self.regular(entry, old, executable, id)?,
            WorkTreeFile::Large { executable, size } => {
                let id = self.large(&entry.path, size, &old.id);
                self.regular(entry, old, executable, id)?
            }
        })
    }

    /// Decides the status of a path that is a regular file in both.
    fn regular(
        &mut self,
        entry: &IndexEntry,
        old: Listed<'_>,
        executable: bool,
        id: Option<Oid>,
    ) -> Result<Option<Status>, GitError> {
        let git = self.git;
        let expected = old.mode & 0o100 != 0;
        let has_modes = || *self.has_modes.get_or_init(|| git.has_file_modes());
        // If files have no modes, the index records them (`git update-index --chmod`).
        let mode_differs = match executable != expected {
            true => has_modes() || entry.mode != old.mode,
            false => entry.mode != old.mode && !has_modes(),
        };
        // The file may be the same in its committed form, if the index has the same id.
        let converted = entry.id == old.id && !mode_differs && id != Some(old.id);
        let same = id == Some(old.id) || converted && self.converter.is_same(&entry.path, &old.id);
        if same && converted && self.converter.has_other_line_ends(&entry.path, &old.id) {
            self.line_ends.push(exact(&entry.path)?);
        }
        Ok((mode_differs || !same).then_some(Status::Modified))
    }

    /// Returns the id of a large file's content; `None` if its size shows that it is not the
    /// blob's.
    fn large(&mut self, path: &[u8], size: u64, blob: &Oid) -> Option<Oid> {
        let told = self.git.ask(&["cat-file", "-s", &blob.to_string()]);
        let is_other = told.is_ok_and(|text| {
            let text = std::str::from_utf8(&text).unwrap_or_default();
            text.trim_end()
                .parse::<u64>()
                .is_ok_and(|told| told != size)
        });
        if is_other {
            return None;
        }
        let mut parents = Parents::new(self.git.root());
        let (dir, name) = parents.open(path)?;
        let key = self.git.key(path).into_owned();
        let read = open_file(dir, &name).and_then(|file| read_id(file, blob.length(), key));
        let (learned, id) = read.ok()?;
        self.git.memory.learn(learned.into_iter().collect());
        Some(id)
    }

    /// Returns whether a submodule has another commit checked out, or changes inside, with a
    /// description. An unreadable submodule counts as changed. git's own command for that runs `git
    /// status` in the submodule, with the submodule's filters.
    fn submodule(&mut self, path: &RepoPath, recorded: &Oid) -> Result<Option<Status>, GitError> {
        let dir = self.git.root().join(path.to_os());
        let Some(layout) = super::repository::at(&dir) else {
            // Not populated; then it is empty.
            if std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none()) {
                return Ok(None);
            }
            self.everything_in(path, Status::Added)?;
            return Ok(Some(Status::Modified));
        };
        let nested = self.git.nested(layout, path);
        let changed = if self.depth < MAX_DEPTH {
            changes(&nested, recorded, self.depth + 1).ok()
        } else {
            None
        };
        let Some(changed) = changed else {
            self.everything_in(path, Status::Modified)?;
            return Ok(Some(Status::Modified));
        };
        let moved = nested.head().ok().flatten().as_ref() != Some(recorded);
        let same = !moved && changed.is_empty();
        let inside = changed.into_iter().filter_map(|file| {
            let path = path.join(file.path.as_bytes()).ok()?;
            Some(ChangedFile { path, ..file })
        });
        self.inside.extend(inside);
        Ok((!same).then_some(Status::Modified))
    }

    /// Adds all files in a directory that git shows as one path: a file that it hides from git is
    /// not hidden from a contract.
    fn everything_in(&mut self, path: &RepoPath, status: Status) -> Result<(), GitError> {
        let found = files::walk(self.git.root(), path).map_err(|e| failed(path, e))?;
        self.inside
            .extend(found.into_iter().map(|path| ChangedFile { path, status }));
        Ok(())
    }
}

pub(super) fn exact(path: &[u8]) -> Result<RepoPath, GitError> {
    RepoPath::from_exact(path).ok_or(GitError::Unreadable("index"))
}

/// Adds an untracked file. A nested repository, which git shows as one path, is that path and all
/// files in it: a file that it hides from git is not hidden from a contract.
pub(super) fn add_untracked(
    root: &Path,
    path: &[u8],
    changed: &mut Vec<ChangedFile>,
) -> Result<(), GitError> {
    let mut add = |path: RepoPath| {
        changed.push(ChangedFile {
            path,
            status: Status::Added,
        })
    };
    let exact = path.strip_suffix(b"/").unwrap_or(path);
    let exact = RepoPath::from_exact(exact).ok_or(GitError::Unreadable("ls-files"))?;
    if path.ends_with(b"/") {
        files::walk(root, &exact)
            .map_err(|e| failed(&exact, e))?
            .into_iter()
            .for_each(&mut add);
    }
    add(exact);
    Ok(())
}

impl Git {
    /// Lists all differences of the work tree from a commit (`None`: from an empty tree), staged or
    /// not, with untracked files one by one. Costs one process if there are untracked files, and
    /// one for a commit that was never listed.
    ///
    /// # Errors
    /// Errors of git, and files that cannot be read.
    pub fn worktree_against(&self, commit: Option<&Oid>) -> Result<Vec<ChangedFile>, GitError> {
        match commit {
            Some(commit) => changes(self, commit, 0),
            None => changes(self, &self.empty_tree()?, 0),
        }
    }

    /// Lists everything that is staged against HEAD (`None`: a branch without commits).
    ///
    /// # Errors
    /// Errors of git.
    pub fn staged(&self, head: Option<&Oid>) -> Result<Vec<ChangedFile>, GitError> {
        let tree = match head {
            Some(commit) => *commit,
            None => self.empty_tree()?,
        };
        let (listing, entries) =
            parallel::both(|| self.listing(&tree), || read_entries(self, tree.length()));
        let (listing, entries) = (listing?, entries?);
        let mut result = BTreeMap::new();
        for old in listing.iter() {
            result.insert(exact(old.path)?, Status::Deleted);
        }
        // An entry of `--intent-to-add` is not staged.
        for entry in entries.iter().filter(|entry| !entry.intent_to_add) {
            let path = exact(&entry.path)?;
            match listing.get(&entry.path) {
                Some(old) if entry.stage == 0 && (old.mode, old.id) == (entry.mode, entry.id) => {
                    result.remove(&path);
                }
                Some(old) if entry.stage == 0 && (old.mode ^ entry.mode) & KIND != 0 => {
                    result.insert(path, Status::TypeChanged);
                }
                None if entry.stage == 0 => {
                    result.insert(path, Status::Added);
                }
                _ => {
                    result.insert(path, Status::Modified);
                }
            }
        }
        Ok(result
            .into_iter()
            .map(|(path, status)| ChangedFile { path, status })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_symlink_is_not_there() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::create_dir_all(path("a/b")).unwrap();
        ["a/b/file", "top"]
            .iter()
            .for_each(|name| std::fs::write(path(name), "x").unwrap());
        ["ab", "a/link"]
            .iter()
            .for_each(|name| std::os::unix::fs::symlink("b", path(name)).unwrap());
        let id = |text: &str| blob_id(20, text.len() as u64, text.as_bytes()).unwrap();
        let file = WorkTreeFile::Regular {
            executable: false,
            id: Some(id("x")),
        };
        let link = WorkTreeFile::Symlink(Some(id("b")));
        let expected = [
            ("a/b", WorkTreeFile::Directory),
            ("a/b/file", file),
            ("a/b/none", WorkTreeFile::Missing),
            ("a/b/none/file", WorkTreeFile::Missing),
            ("a/b/none/file/file", WorkTreeFile::Missing),
            ("a/link", link),
            ("a/link/file", WorkTreeFile::Missing),
            ("a/b/file", file),
            ("ab", link),
            ("ab/file", WorkTreeFile::Missing),
            ("none/file", WorkTreeFile::Missing),
            ("top", file),
            ("top/file", WorkTreeFile::Missing),
            ("top", file),
        ];
        let root_path = root.path().to_owned();
        let layout = super::super::repository::Layout {
            root: root_path.clone(),
            git_dir: root_path.clone(),
            index: root_path.join("index"),
            common_dir: root_path,
        };
        // If no descriptors are left, files are opened by full path.
        for has_descriptors in [true, false] {
            let mut parents = Parents::new(root.path());
            parents.top = parents.top.filter(|_| has_descriptors);
            let (git, table) = (
                Git::at(layout.clone(), &|_| None),
                StatCacheStats::default(),
            );
            let mut eyes = Eyes {
                parents,
                git: &git,
                length: 20,
                large: LARGE,
                table: &table,
                near: 0,
                learned: Vec::new(),
            };
            for (name, seen) in expected {
                let entry =
                    listed_entry(format!("H 100644 {:040} 0\t{name}", 0).as_bytes()).unwrap();
                assert_eq!(eyes.see(&entry.path).file, seen, "{name} {has_descriptors}");
            }
        }
    }

    #[test]
    fn listed_entries() {
        let id = "1".repeat(40);
        let entry = listed_entry(format!("S 100755 {id} 0\ta\tb").as_bytes()).unwrap();
        assert_eq!(
            (&*entry.path, entry.mode, entry.skip_worktree),
            (&b"a\tb"[..], 0o100_755, true)
        );
        assert!(listed_entry(b"H 100644 1 0\ta").is_none());
    }
}
