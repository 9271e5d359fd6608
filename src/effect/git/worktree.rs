//! Which files of the work tree differ from a commit? Compared by vplan itself, by status and then by content.
//!
//! The answer is a superset of git's: a file that git would call equal only after a clean filter or a conversion of line
//! ends, and whose time stamp or inode is not the one in the index, counts as modified. A file whose status is the one in
//! the index, and older than the index, is the one that git compared; a new time stamp on the same bytes is no change.

use super::error::GitError;
use super::index::{self, Entry, Index, Stat};
use super::object::{Oid, blob_id};
use super::{Git, RawChange, is_record, read_staged, split_nul};
use crate::base::change::{ChangedFile, Status};
use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::effect::patient::{openat, openat2};
use crate::effect::{beside, files};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat as Found, lstat, statat};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Submodules inside submodules are followed this deep.
pub(super) const MAX_DEPTH: usize = 8;
/// The largest index that is read.
const MAX_INDEX: u64 = 1 << 30;
/// Below this many entries, threads cost more than they bring.
const SMALL: usize = 2_000;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

pub(super) const SYMLINK: u32 = 0o120_000;
pub(super) const SUBMODULE: u32 = 0o160_000;

/// Everything in the work tree that differs from a tree: tracked files, deleted ones, untracked ones. Not sorted; a path
/// can occur as deleted and as added.
pub(super) fn changes(git: &Git, tree: &Oid, depth: usize) -> Result<Vec<ChangedFile>, GitError> {
    for _ in 0..3 {
        let before = index_stamp(git);
        // Both are started before there is other work, which would keep a thread from starting them.
        let (staged, untracked) = (git.ask_for_staged(tree)?, git.ask_for_untracked()?);
        let observed = || observe_all(git, tree.length(), &before, depth == 0);
        let (staged, (untracked, observed)) =
            beside::both(|| staged.answer(), || beside::both(|| untracked.answer(), observed));
        let (staged, untracked, observed) = (read_staged(&staged?)?, split_nul(&untracked?), observed?);
        if index_stamp(git) != before {
            continue;
        }
        let mut changed = compare(git, staged, observed, depth)?;
        for path in untracked {
            add_untracked(git.root(), &path, &mut changed)?;
        }
        return Ok(changed);
    }
    Err(GitError::Unsteady)
}

/// Identity of the index file: what changes when git replaces it.
pub(super) type Stamp = Option<(u64, u64, i64, i64, i64, i64)>;

pub(super) fn index_stamp(git: &Git) -> Stamp {
    let meta = git.layout.git_dir.join("index").metadata().ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()))
}

/// A tracked file whose status is not the one in the index.
struct Observed {
    entry: Entry,
    seen: Seen,
}

/// What stands where the index has an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The very file that git compared last.
    Same,
    Missing,
    Regular {
        executable: bool,
        size: u64,
    },
    Symlink,
    Directory,
    /// A pipe, a socket, a device.
    Special,
}

fn observe_all(git: &Git, length: usize, stamp: &Stamp, top: bool) -> Result<Vec<Observed>, GitError> {
    let entries = read_entries(git, length)?;
    if let Some(record) = entries.iter().find(|e| top && is_record(&e.path)) {
        return Err(GitError::TrackedRecord(visible(&record.path)));
    }
    let written = stamp.map_or((0, 0), |(_, _, sec, nsec, _, _)| (sec, nsec));
    // Git does not check out what lies outside a sparse checkout.
    let is_expected = |entry: &Entry, seen| seen == Seen::Same || (seen == Seen::Missing && entry.skip_worktree);
    let found =
        |entry: Entry, seen| (entry.stage != 0 || !is_expected(&entry, seen)).then_some(Observed { entry, seen });
    Ok(look_at(git.root(), entries, written, found))
}

/// Looks at what stands where the entries say, and gives what is made of it, in their order.
pub(super) fn look_at<T: Send>(
    root: &Path,
    entries: Vec<Entry>,
    written: (i64, i64),
    make: impl Fn(Entry, Seen) -> Option<T> + Sync,
) -> Vec<T> {
    let look = |entries: Vec<Entry>| -> Vec<T> {
        let mut parents = Parents::new(root);
        let look = |entry: Entry| {
            let seen = parents.look(&entry, written);
            make(entry, seen)
        };
        entries.into_iter().filter_map(look).collect()
    };
    let threads = beside::parts();
    if entries.len() < SMALL || threads == 1 {
        return look(entries);
    }
    let mut rest = entries;
    let size = rest.len().div_ceil(threads);
    let mut parts = Vec::new();
    while rest.len() > size {
        let tail = rest.split_off(size);
        parts.push(std::mem::replace(&mut rest, tail));
    }
    parts.push(rest);
    beside::each(parts, look).into_iter().flatten().collect()
}

/// The index as vplan reads it, or as git lists it when its form is unusual; then every file is compared by content.
pub(super) fn read_entries(git: &Git, length: usize) -> Result<Vec<Entry>, GitError> {
    let path = git.layout.git_dir.join("index");
    match files::read_plain(&path, MAX_INDEX) {
        Ok(bytes) => match index::parse(&bytes, length) {
            Index::Entries(entries) => return Ok(entries),
            Index::Unusual => {}
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // Git may have a way to read what vplan does not open, such as a symlink.
        Err(_) => {}
    }
    let output = git.ask(&["ls-files", "-z", "--cached", "--stage", "-t"])?;
    let entries: Option<Vec<Entry>> = split_nul(&output).iter().map(|record| listed_entry(record)).collect();
    entries.ok_or_else(|| GitError::Unreadable("ls-files".to_owned()))
}

/// Reads `TAG MODE ID STAGE<tab>PATH`.
pub(super) fn listed_entry(record: &[u8]) -> Option<Entry> {
    let tab = record.iter().position(|b| *b == b'\t')?;
    let (head, path) = (record.get(..tab)?, record.get(tab + 1..)?);
    let fields: Vec<&[u8]> = head.split(|b| *b == b' ').collect();
    let [tag, mode, id, stage] = fields.as_slice() else { return None };
    Some(Entry {
        path: path.into(),
        mode: u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?,
        id: Oid::parse(id)?,
        stage: stage.first()?.checked_sub(b'0')?,
        skip_worktree: tag == b"S",
        intent_to_add: false,
        stat: None,
    })
}

/// Remembers which directories are directories: a file behind a symlink is not the tracked one.
struct Parents<'a> {
    root: &'a Path,
    top: Option<OwnedFd>,
    /// The directory of the last entry; files are looked for in it by name, which spares the way from the root.
    dir: Option<OwnedFd>,
    verified: Vec<u8>,
    broken: Option<Vec<u8>>,
}

impl<'a> Parents<'a> {
    /// Knows nothing yet.
    fn new(root: &'a Path) -> Self {
        let top = openat(CWD, root, DIRECTORY, Mode::empty()).ok();
        Self { root, top, dir: None, verified: Vec::new(), broken: None }
    }

    /// What stands where the index has an entry.
    fn look(&mut self, entry: &Entry, written: (i64, i64)) -> Seen {
        let (dir, name) = match entry.path.iter().rposition(|b| *b == b'/') {
            Some(slash) => entry.path.split_at(slash + 1),
            None => (&[][..], &*entry.path),
        };
        if !self.is_real(dir.strip_suffix(b"/").unwrap_or(dir)) {
            return Seen::Missing;
        }
        let stat = match if dir.is_empty() { &self.top } else { &self.dir } {
            Some(dir) => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW),
            None => lstat(join_bytes(self.root, &entry.path)),
        };
        stat.map_or(Seen::Missing, |stat| seen(entry, &stat, written))
    }

    fn is_real(&mut self, dir: &[u8]) -> bool {
        if dir == self.verified.as_slice() {
            return true;
        }
        let is_below =
            |dir: &[u8], outer: &[u8]| dir.strip_prefix(outer).is_some_and(|r| r.is_empty() || r.starts_with(b"/"));
        if self.broken.as_deref().is_some_and(|outer| is_below(dir, outer)) {
            return false;
        }
        let way = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        self.dir = self.top.as_ref().and_then(|top| openat2(top, dir, DIRECTORY, Mode::empty(), way).ok());
        if self.dir.is_none() {
            // Not there; or there is no descriptor left, or no `openat2`. Entries are sorted, so most of the way is usually known.
            let ends = dir.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i).chain([dir.len()]);
            for end in ends {
                let part = dir.get(..end).unwrap_or_default();
                let is_known = is_below(&self.verified, part);
                if !is_known && !join_bytes(self.root, part).symlink_metadata().is_ok_and(|m| m.is_dir()) {
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

fn seen(entry: &Entry, meta: &Found, written: (i64, i64)) -> Seen {
    let seen = match FileType::from_raw_mode(meta.st_mode) {
        FileType::RegularFile => {
            Seen::Regular { executable: meta.st_mode & 0o100 != 0, size: u64::try_from(meta.st_size).unwrap_or(0) }
        }
        FileType::Symlink => Seen::Symlink,
        FileType::Directory => Seen::Directory,
        _ => Seen::Special,
    };
    let right_kind = match seen {
        Seen::Regular { executable, .. } => entry.mode == if executable { 0o100_755 } else { 0o100_644 },
        Seen::Symlink => entry.mode == SYMLINK,
        _ => false,
    };
    let stat_is_same = entry.stat.is_some_and(|stat| is_same(&stat, meta) && !is_racy(&stat, written));
    if right_kind && stat_is_same && !entry.intent_to_add { Seen::Same } else { seen }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "git keeps 32 bits of each")]
fn is_same(stat: &Stat, meta: &Found) -> bool {
    let now = Stat {
        ctime: (meta.st_ctime as u32, meta.st_ctime_nsec as u32),
        mtime: (meta.st_mtime as u32, meta.st_mtime_nsec as u32),
        ino: meta.st_ino as u32,
        uid: meta.st_uid,
        gid: meta.st_gid,
        size: meta.st_size as u32,
    };
    *stat == now
}

/// Whether the file could have changed after it was compared without a new time stamp.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "git keeps 32 bits of each")]
fn is_racy(stat: &Stat, written: (i64, i64)) -> bool {
    let (sec, nsec) = (written.0 as u32, written.1 as u32);
    stat.mtime.0 > sec || (stat.mtime.0 == sec && (stat.mtime.1 == 0 || stat.mtime.1 >= nsec))
}

/// One side of a comparison: a mode and an id.
type Side = (u32, Oid);

fn compare(
    git: &Git,
    staged: Vec<RawChange>,
    observed: Vec<Observed>,
    depth: usize,
) -> Result<Vec<ChangedFile>, GitError> {
    let mut before: BTreeMap<RepoPath, Option<Side>> = BTreeMap::new();
    let mut result: BTreeMap<RepoPath, Status> = BTreeMap::new();
    for change in staged {
        result.insert(change.path.clone(), change.status);
        before.insert(change.path, change.old);
    }
    let mut modes = None;
    for Observed { entry, seen } in observed {
        let Some(path) = RepoPath::from_exact(&entry.path) else {
            return Err(GitError::Unreadable("index".to_owned()));
        };
        if entry.stage != 0 {
            // A conflict is a change, whatever the file looks like.
            let status = if seen == Seen::Missing { Status::Deleted } else { Status::Modified };
            result.insert(path, status);
            continue;
        }
        let unknown = entry.intent_to_add && !before.contains_key(&path);
        let old = if unknown { None } else { before.get(&path).copied().unwrap_or(Some((entry.mode, entry.id))) };
        match decide(git, &path, &entry, seen, old, depth, &mut modes)? {
            Some(status) => result.insert(path, status),
            None => result.remove(&path),
        };
    }
    Ok(result.into_iter().map(|(path, status)| ChangedFile { path, status }).collect())
}

/// What became of one file, `None` for nothing.
fn decide(
    git: &Git,
    path: &RepoPath,
    entry: &Entry,
    seen: Seen,
    old: Option<Side>,
    depth: usize,
    modes: &mut Option<bool>,
) -> Result<Option<Status>, GitError> {
    let Some((old_mode, old_id)) = old else {
        return Ok((seen != Seen::Missing).then_some(Status::Added));
    };
    let status = match seen {
        Seen::Missing => Some(Status::Deleted),
        Seen::Special => Some(Status::TypeChanged),
        Seen::Directory if old_mode == SUBMODULE => {
            submodule_changed(git, path, &old_id, depth).then_some(Status::Modified)
        }
        // A file that became a directory: what is in it is untracked, unless it is a repository of its own.
        Seen::Directory if super::repository::at(&git.root().join(path.to_os())).is_some() => Some(Status::TypeChanged),
        Seen::Directory => Some(Status::Deleted),
        Seen::Symlink if old_mode != SYMLINK => Some(Status::TypeChanged),
        Seen::Symlink => {
            let id = symlink_id(git.root(), path, old_id.length())?;
            (id != old_id).then_some(Status::Modified)
        }
        Seen::Regular { .. } if old_mode == SYMLINK || old_mode == SUBMODULE => Some(Status::TypeChanged),
        Seen::Regular { executable, size } => {
            let expected = old_mode & 0o100 != 0;
            let mut has_modes = || *modes.get_or_insert_with(|| git.has_file_modes());
            // Where files have no modes, the index is what says so (`git update-index --chmod`).
            let mode_differs = match executable != expected {
                true => has_modes() || entry.mode != old_mode,
                false => entry.mode != old_mode && !has_modes(),
            };
            // The index knows the size of the content that it names; another size is another content.
            let known = entry.id == old_id;
            let sizes_differ =
                known && entry.stat.is_some_and(|s| s.size != 0 && u64::from(s.size) != size & 0xffff_ffff);
            let differs =
                mode_differs || sizes_differ || file_id(git.root(), path, size, old_id.length())? != Some(old_id);
            differs.then_some(Status::Modified)
        }
        Seen::Same => None,
    };
    Ok(status)
}

fn symlink_id(root: &Path, path: &RepoPath, length: usize) -> Result<Oid, GitError> {
    let target = std::fs::read_link(root.join(path.to_os())).map_err(|e| unreadable(path, &e))?;
    let bytes = target.as_os_str().as_bytes();
    blob_id(length, bytes.len() as u64, bytes).map_err(|e| unreadable(path, &e))
}

/// The id of a file's content; `None` while it is being written, which is a difference.
fn file_id(root: &Path, path: &RepoPath, size: u64, length: usize) -> Result<Option<Oid>, GitError> {
    match files::open_plain(&root.join(path.to_os())) {
        Ok(file) => Ok(blob_id(length, size, file).ok()),
        // A file that nobody may read cannot be known to be the same.
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(unreadable(path, &e)),
    }
}

fn unreadable(path: &RepoPath, error: &std::io::Error) -> GitError {
    GitError::File { path: path.to_string(), message: error.to_string() }
}

/// Whether a submodule has another commit checked out, or anything changed inside. What cannot be looked into counts as
/// changed; git's own answer to that question runs `git status` in the submodule, with the submodule's filters.
fn submodule_changed(git: &Git, path: &RepoPath, recorded: &Oid, depth: usize) -> bool {
    let dir = git.root().join(path.to_os());
    let Some(layout) = super::repository::at(&dir) else {
        // Not populated; then it is empty.
        return std::fs::read_dir(&dir).map_or(true, |mut entries| entries.next().is_some());
    };
    let nested = git.nested(layout);
    match nested.head() {
        Ok(Some(head)) if head == *recorded && depth < MAX_DEPTH => {
            changes(&nested, &head, depth + 1).map_or(true, |c| !c.is_empty())
        }
        _ => true,
    }
}

/// An untracked file. A nested repository, which git shows as one path, is that path and all files in it: what it hides
/// from git it does not hide from a contract.
fn add_untracked(root: &Path, path: &[u8], changed: &mut Vec<ChangedFile>) -> Result<(), GitError> {
    let mut add = |path: RepoPath| changed.push(ChangedFile { path, status: Status::Added });
    let exact = path.strip_suffix(b"/").unwrap_or(path);
    let exact = RepoPath::from_exact(exact).ok_or_else(|| GitError::Unreadable("ls-files".to_owned()))?;
    if path.ends_with(b"/") {
        files::walk(root, &exact).map_err(|e| unreadable(&exact, &e))?.into_iter().for_each(&mut add);
    }
    add(exact);
    Ok(())
}

impl Git {
    /// Everything in the work tree that differs from a commit (`None`: from nothing at all), staged or not, with untracked
    /// files one by one. Two processes, side by side with the comparison of files.
    ///
    /// # Errors
    /// What git says, and files that cannot be read.
    pub fn worktree_against(&self, commit: Option<&Oid>) -> Result<Vec<ChangedFile>, GitError> {
        match commit {
            Some(commit) => changes(self, commit, 0),
            None => changes(self, &self.empty_tree()?, 0),
        }
    }

    /// Everything that is staged against HEAD (`None`: a branch without commits).
    ///
    /// # Errors
    /// What git says.
    pub fn staged(&self, head: Option<&Oid>) -> Result<Vec<ChangedFile>, GitError> {
        let tree = match head {
            Some(commit) => *commit,
            None => self.empty_tree()?,
        };
        let changes = self.staged_against(&tree)?;
        Ok(changes.into_iter().map(|c| ChangedFile { path: c.path, status: c.status }).collect())
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
        ["a/b/file", "top"].iter().for_each(|name| std::fs::write(path(name), "x").unwrap());
        ["ab", "a/link"].iter().for_each(|name| std::os::unix::fs::symlink("b", path(name)).unwrap());
        let file = Seen::Regular { executable: false, size: 1 };
        let expected = [
            ("a/b", Seen::Directory),
            ("a/b/file", file),
            ("a/b/none", Seen::Missing),
            ("a/b/none/file", Seen::Missing),
            ("a/b/none/file/file", Seen::Missing),
            ("a/link", Seen::Symlink),
            ("a/link/file", Seen::Missing),
            ("a/b/file", file),
            ("ab", Seen::Symlink),
            ("ab/file", Seen::Missing),
            ("none/file", Seen::Missing),
            ("top", file),
            ("top/file", Seen::Missing),
            ("top", file),
        ];
        // With no descriptor left, everything is looked for by its path.
        for has_descriptors in [true, false] {
            let mut parents = Parents::new(root.path());
            parents.top = parents.top.filter(|_| has_descriptors);
            for (name, seen) in expected {
                let entry = listed_entry(format!("H 100644 {:040} 0\t{name}", 0).as_bytes()).unwrap();
                assert_eq!(parents.look(&entry, (0, 0)), seen, "{name} {has_descriptors}");
            }
        }
    }

    #[test]
    fn racy_entries() {
        let stat = |sec, nsec| Stat { mtime: (sec, nsec), ..Stat::default() };
        for (entry, written, racy) in [
            ((5, 1), (6, 0), false),
            ((5, 1), (5, 2), false),
            ((5, 2), (5, 2), true),
            ((5, 3), (5, 2), true),
            ((5, 0), (5, 2), true),
            ((7, 0), (6, 0), true),
        ] {
            assert_eq!(is_racy(&stat(entry.0, entry.1), written), racy, "{entry:?} {written:?}");
        }
    }

    #[test]
    fn listed_entries() {
        let id = "1".repeat(40);
        let entry = listed_entry(format!("S 100755 {id} 0\ta\tb").as_bytes()).unwrap();
        assert_eq!((&*entry.path, entry.mode, entry.skip_worktree), (&b"a\tb"[..], 0o100_755, true));
        assert!(listed_entry(b"H 100644 1 0\ta").is_none());
    }
}
