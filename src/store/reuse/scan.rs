//! Digests the files that a step depends on, whether git knows them or not.

use super::content::{Read, Unread, permissions, read_one};
use super::unsteady::{MOST_FILES, Unsteady};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_git::observed::FileStatus;
use vplan_git::snapshot::Snapshot;
use vplan_os::files::beneath::{Beneath, ReadError};
use vplan_os::parallel;
use vplan_os::retry_eintr::FolderEntries;
use vplan_os::stat_cache::{StatCacheStats, StatStamp};
use vplan_os::watches::ToldChange;
use vplan_reuse::key::{FileSet, Print};
use vplan_reuse::own_output::TouchedFile;

/// Below this many files, threads cost more than they bring.
const SMALL: usize = 64;
/// Once so many files were found, what is left is walked in parallel.
const MANY: usize = 2_000;
/// The parts of a parallel walk for each thread: some are larger than others.
const SHARES: usize = 8;

/// One file, as it was scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedFile {
    pub print: Print,
    /// The metadata that shows that it was not written since; for a symlink, that of its target.
    pub stamp: Option<StatStamp>,
}

/// All files that some selections select.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputScan {
    /// In byte order of the paths, each once.
    files: Vec<(RepoPath, ScannedFile)>,
}

/// A scan, and what was found on its way.
#[derive(Debug)]
pub struct Scanned {
    pub scan: InputScan,
    /// The folders that were listed, with their metadata before.
    pub folders: BTreeMap<RepoPath, StatStamp>,
    /// Whether any content of the tree was scanned after the snapshot.
    pub is_later: bool,
    /// Whether any file was taken from the snapshot because no watch reported a change.
    pub is_believed: bool,
}

impl InputScan {
    /// Makes it of files in the order in which they were found: the last one of a path counts.
    fn new(mut files: Vec<(RepoPath, ScannedFile)>) -> Self {
        if !files.is_sorted_by(|(a, _), (b, _)| a < b) {
            files.reverse();
            files.sort_by(|(a, _), (b, _)| a.cmp(b));
            files.dedup_by(|(later, _), (first, _)| later == first);
        }
        Self { files }
    }

    /// Returns the files in byte order of their paths.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&RepoPath, &ScannedFile)> {
        self.files.iter().map(|(path, seen)| (path, seen))
    }

    /// Returns how many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns a file, if it was scanned.
    pub fn get(&self, path: &RepoPath) -> Option<&ScannedFile> {
        self.get_near(path, &mut 0)
    }

    /// Returns a file as [`Scan::get`] does, for paths requested in byte order: `near` is the
    /// position of the last one, at first 0.
    fn get_near(&self, path: &RepoPath, near: &mut usize) -> Option<&ScannedFile> {
        let at = match self.files.get(*near) {
            Some((known, _)) if known == path => *near,
            _ => (self.files.binary_search_by(|(known, _)| known.cmp(path))).ok()?,
        };
        *near = at + 1;
        self.files.get(at).map(|(_, seen)| seen)
    }

    /// Returns all of them as one set.
    pub fn set(&self) -> FileSet {
        FileSet::from_files(self.files().map(|(path, seen)| (path, &seen.print)))
    }

    /// Whether a symlink is among them: what it leads to lies elsewhere.
    pub(crate) fn has_links(&self) -> bool {
        self.files().any(|(_, seen)| seen.print.link.is_some())
    }

    /// Returns the files that differ from the scan: by metadata and, if that differs or may be that
    /// of two writes, by content. `tree`: a snapshot of the current state; `since`: a moment before
    /// the scan.
    pub fn changed(
        &self,
        beneath: &Beneath,
        tree: Option<&Snapshot>,
        since: i128,
    ) -> Vec<&RepoPath> {
        let mut near = 0;
        let mut is_same = |path: &RepoPath, seen: &ScannedFile| {
            let status = tree.and_then(|tree| tree.status_near(path, &mut near));
            let now = status.or_else(|| beneath.status(path).ok().map(|s| FileStatus::from(&s)));
            let is_known =
                |now: FileStatus| Some(now.stamp) == seen.stamp && now.stamp.is_settled(since);
            if now.is_some_and(is_known) {
                return true;
            }
            // To link a file elsewhere gives it another time of change, and writes nothing.
            let unread = Unread {
                path: path.clone(),
                then: None,
                link: None,
            };
            read_one(beneath, &unread).is_ok_and(|now| {
                Some(&now.content) == seen.print.content.as_ref()
                    && now.mode == seen.print.mode
                    && seen.stamp.is_some_and(|then| then.is_unwritten(&now.stamp))
            })
        };
        let changed = self.files().filter(|(path, seen)| !is_same(path, seen));
        changed.map(|(path, _)| path).collect()
    }

    /// Returns the files that were written, made, removed or replaced until `later`, in byte order.
    pub fn touched(&self, later: &InputScan) -> Vec<TouchedFile> {
        let is_steady = |a: &ScannedFile, b: &ScannedFile| {
            a.print == b.print
                && match (&a.stamp, &b.stamp) {
                    (Some(a), Some(b)) => a.is_unwritten(b),
                    (a, b) => a == b,
                }
        };
        // Files that are the same in both are omitted.
        let (mut near, mut other_near) = (0, 0);
        let mut paths: BTreeSet<&RepoPath> = BTreeSet::new();
        paths.extend(self.files().filter_map(|(path, seen)| {
            let now = later.get_near(path, &mut near);
            (!now.is_some_and(|now| is_steady(seen, now))).then_some(path)
        }));
        paths.extend(later.files().filter_map(|(path, _)| {
            let was_there = self.get_near(path, &mut other_near).is_some();
            (!was_there).then_some(path)
        }));
        let print = |scan: &InputScan, path| scan.get(path).map(|seen| seen.print.clone());
        let touched = paths.into_iter().map(|path| TouchedFile {
            path: path.clone(),
            before: print(self, path),
            after: print(later, path),
        });
        touched.collect()
    }
}

/// The snapshots that a run has of its tree.
pub trait Snapshots {
    /// Returns the newest one, if there is one.
    fn newest(&self) -> Option<Arc<Snapshot>>;

    /// Returns the newest one if no process of a step has run since.
    fn at_rest(&self) -> Option<Arc<Snapshot>>;
}

impl<T: Snapshots> Snapshots for Option<&T> {
    fn newest(&self) -> Option<Arc<Snapshot>> {
        self.and_then(T::newest)
    }

    fn at_rest(&self) -> Option<Arc<Snapshot>> {
        self.and_then(T::at_rest)
    }
}

/// Where files are scanned.
#[derive(Clone, Copy)]
pub struct ScanPlace<'p> {
    /// The real path of what `beneath` holds.
    pub root: &'p Path,
    /// The repository's root.
    pub beneath: &'p Beneath,
    /// A snapshot of the tree.
    pub tree: Option<&'p Snapshot>,
    /// The files that are as in the snapshot, and are not looked at again: all, or by what watches
    /// have told since.
    pub same: Same<'p>,
}

/// The files that are as in a snapshot.
#[derive(Clone, Copy)]
pub enum Same<'p> {
    /// All: nothing has run since.
    All,
    /// Those in folders that have been watched since, except for reported changes.
    Watched(&'p ToldFiles),
}

/// Changes reported by watches.
#[derive(Debug, Default)]
pub struct ToldFiles {
    /// The folders that are watched.
    pub folders: BTreeSet<RepoPath>,
    /// The files and folders that were reported.
    pub told: BTreeSet<RepoPath>,
    /// The folders that may list others now, or have other metadata.
    pub listings: BTreeSet<RepoPath>,
}

impl ToldFiles {
    /// Whether a folder is watched, and nothing told that it may list others.
    fn lists_the_same(&self, folder: &RepoPath) -> bool {
        self.folders.contains(folder) && !self.listings.contains(folder)
    }

    /// Adds a change.
    pub fn add(&mut self, change: &ToldChange) {
        self.listings.insert(change.path.folder());
        if change.is_folder {
            self.listings.insert(change.path.clone());
        }
        self.told.insert(change.path.clone());
    }
}

/// Scans all files below the root that one of the selections selects: tracked or not, ignored or
/// not, but nothing in `.git` and the root's `.vplan`. A symlink counts with its target, and with
/// all that is in a folder it leads to.
///
/// # Errors
/// Why they cannot be scanned: a file that cannot be read, one that leads out of the
/// repository, a pipe, too many of them.
pub fn scan(
    place: ScanPlace<'_>,
    wanted: &[Selection],
    stats: &mut StatCacheStats,
) -> Result<Scanned, Unsteady> {
    at_most(MOST_FILES, place, wanted, stats)
}

fn at_most(
    most: usize,
    place: ScanPlace<'_>,
    wanted: &[Selection],
    stats: &mut StatCacheStats,
) -> Result<Scanned, Unsteady> {
    let left = AtomicUsize::new(most);
    let mut walk = Walk::new(place, wanted, stats, &left);
    let mut open = match place.tree {
        Some(tree) => walk.snapshot(tree)?,
        None => vec![(RepoPath::root(), false)],
    };
    let in_tree: BTreeSet<RepoPath> = open.iter().map(|(folder, _)| folder.clone()).collect();
    let enough = walk.file_count() + MANY;
    walk.below(&mut open, &|folder| in_tree.contains(folder), enough)?;
    if !open.is_empty() {
        let share = open.len().div_ceil(parallel::parts() * SHARES);
        let listed = &walk.folders;
        let is_open = |folder: &RepoPath| in_tree.contains(folder) || listed.contains_key(folder);
        let parts = parallel::each(open.chunks(share).collect(), |share| {
            let mut part = Walk::new(place, wanted, stats, &left);
            let walked = part.below(&mut share.to_vec(), &is_open, usize::MAX);
            walked.map(|()| part)
        });
        open.clear();
        for part in parts {
            walk.add(part?);
        }
    }
    let mut entered: BTreeSet<RepoPath> = BTreeSet::new();
    loop {
        let behind = std::mem::take(&mut walk.behind).into_iter();
        let behind = behind.filter(|real| entered.insert(real.clone()));
        open.extend(behind.map(|real| (real, true)));
        if open.is_empty() {
            break;
        }
        walk.below(&mut open, &|folder| in_tree.contains(folder), usize::MAX)?;
    }
    walk.are_few()?;
    let Walk {
        mut files,
        unread,
        is_later,
        is_believed,
        folders,
        ..
    } = walk;
    let is_later = read(place.beneath, unread, stats, &mut files)? || is_later;
    Ok(Scanned {
        scan: InputScan::new(files),
        folders,
        is_later,
        is_believed,
    })
}

struct Walk<'w> {
    place: ScanPlace<'w>,
    wanted: &'w [Selection],
    stats: &'w StatCacheStats,
    files: Vec<(RepoPath, ScannedFile)>,
    unread: Vec<Unread>,
    /// Folders reached through symlinks.
    behind: Vec<RepoPath>,
    /// Whether a file of the tree was scanned after the snapshot.
    is_later: bool,
    /// Whether any file was taken from the snapshot because no watch reported a change.
    is_believed: bool,
    /// The last file's positions in the snapshot and in the table of digests.
    near: (usize, usize),
    /// The folders that were listed.
    folders: BTreeMap<RepoPath, StatStamp>,
    listed: FolderEntries,
    /// So many files more may be found, by all parts of the walk together.
    left: &'w AtomicUsize,
    /// So many are taken off by this one.
    counted: usize,
}

impl<'w> Walk<'w> {
    fn new(
        place: ScanPlace<'w>,
        wanted: &'w [Selection],
        stats: &'w StatCacheStats,
        left: &'w AtomicUsize,
    ) -> Self {
        Self {
            place,
            wanted,
            stats,
            files: Vec::new(),
            unread: Vec::new(),
            behind: Vec::new(),
            is_later: false,
            is_believed: false,
            near: (0, 0),
            folders: BTreeMap::new(),
            listed: FolderEntries::default(),
            left,
            counted: 0,
        }
    }

    /// Adds what another walk has found.
    fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.unread.extend(other.unread);
        self.behind.extend(other.behind);
        self.is_later |= other.is_later;
        self.is_believed |= other.is_believed;
        self.folders.extend(other.folders);
        self.counted += other.counted;
    }

    /// Lists folders and all below them but what `is_open` or was listed, until none is left, or `enough`
    /// files were found. With each folder: whether all in it counts.
    fn below(
        &mut self,
        open: &mut Vec<(RepoPath, bool)>,
        is_open: &dyn Fn(&RepoPath) -> bool,
        enough: usize,
    ) -> Result<(), Unsteady> {
        while self.file_count() < enough
            && let Some((folder, all)) = open.pop()
        {
            let mut below = Vec::new();
            self.folder(&folder, all, &mut below)?;
            let is_open = |below: &RepoPath| is_open(below) || self.folders.contains_key(below);
            let new = below
                .into_iter()
                .filter(|(below, all)| *all || !is_open(below));
            open.extend(new);
        }
        Ok(())
    }

    fn file_count(&self) -> usize {
        self.files.len() + self.unread.len()
    }

    /// Checks that not too many were found, by all parts together.
    fn are_few(&mut self) -> Result<(), Unsteady> {
        let new = self.file_count() - self.counted;
        self.counted += new;
        let less = |left: usize| left.checked_sub(new);
        let order = Ordering::Relaxed;
        match self.left.fetch_update(order, order, less) {
            Ok(_) => Ok(()),
            Err(_) => Err(Unsteady::TooManyFiles),
        }
    }

    /// Adds the files of the folders that the snapshot knows completely, and returns its other
    /// folders, to be listed. Ignored files are not part of it.
    fn snapshot(&mut self, tree: &Snapshot) -> Result<Vec<(RepoPath, bool)>, Unsteady> {
        let mut open = Vec::new();
        for (folder, stamp) in tree.whole_folders() {
            if !folder.is_root() && !self.wanted.iter().any(|s| s.may_hold(&folder)) {
                continue;
            }
            let is_same = match self.place.same {
                Same::All => true,
                Same::Watched(heard) => heard.lists_the_same(&folder),
            };
            match stamp.filter(|_| is_same) {
                Some(stamp) => drop(self.folders.insert(folder, stamp)),
                None => open.push((folder, false)),
            }
        }
        let root = RepoPath::root();
        let is_whole = self.folders.contains_key(&root);
        let mut last = (root, is_whole);
        for (path, status) in tree.files() {
            let in_last = path.below(&last.0);
            if in_last.is_none_or(|name| name.contains(&b'/')) {
                let folder = path.folder();
                let is_whole = self.folders.contains_key(&folder);
                last = (folder, is_whole);
            }
            if !last.1 {
                continue;
            }
            let counts = self.wanted.iter().any(|s| s.selects(&path));
            let status = match self.place.same {
                Same::Watched(heard) => status.filter(|_| !heard.told.contains(&path)),
                Same::All => status,
            };
            match status {
                Some(status) if counts => self.file(path, &status, counts)?,
                None if counts || self.wanted.iter().any(|s| s.may_hold(&path)) => {
                    self.add_file(path, counts)?;
                }
                _ => {}
            }
        }
        let believes = matches!(self.place.same, Same::Watched(_));
        self.is_believed |= believes && !self.folders.is_empty();
        Ok(open)
    }

    /// Adds a file for which the snapshot has no metadata: a symlink, or one that was just written.
    fn add_file(&mut self, path: RepoPath, counts: bool) -> Result<(), Unsteady> {
        match self.place.beneath.status(&path) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Ok(()),
            Ok(stat) => {
                self.is_later = true;
                self.file(path, &FileStatus::from(&stat), counts)
            }
            Err(e) if e == Errno::NOENT => Ok(()),
            Err(e) => Err(Unsteady::Refused(path, "looked at", e.into())),
        }
    }

    fn folder(
        &mut self,
        folder: &RepoPath,
        all: bool,
        open: &mut Vec<(RepoPath, bool)>,
    ) -> Result<(), Unsteady> {
        let failed = |e: Errno| Unsteady::Refused(folder.clone(), "listed", e.into());
        let dir = self.place.beneath.folder(folder).map_err(failed)?;
        let stamp = StatStamp::from(&rustix::fs::fstat(&dir).map_err(failed)?);
        let same = |tree: &Snapshot| tree.lists_the_same(folder, &stamp);
        self.is_later |= !self.place.tree.is_some_and(same);
        self.folders.insert(folder.clone(), stamp);
        let mut listed = std::mem::take(&mut self.listed);
        listed.read(&dir).map_err(failed)?;
        listed.sort();
        for (name, kind) in listed.iter() {
            if name == b".git" || (folder.is_root() && name == b".vplan") {
                continue;
            }
            let path = folder.join(name);
            let path = path.map_err(|_| Unsteady::BadName(folder.clone()))?;
            let counts = all || self.wanted.iter().any(|s| s.selects(&path));
            let leads = all
                || (kind != FileType::RegularFile && self.wanted.iter().any(|s| s.may_hold(&path)));
            // Files that are neither selected nor on the way to a selected one are skipped.
            if counts || leads {
                if kind == FileType::RegularFile
                    && let Some(status) = self.known_status(folder, &path)
                {
                    self.file(path, &status, counts)?;
                    continue;
                }
                match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                        open.extend(leads.then_some((path, all)));
                    }
                    Ok(stat) => {
                        self.is_later |= self.place.tree.is_none_or(|tree| tree.holds(&path));
                        self.file(path, &FileStatus::from(&stat), counts)?;
                    }
                    // Another process is removing files; the next scan finds out.
                    Err(Errno::NOENT) => {}
                    Err(e) => return Err(Unsteady::Refused(path, "looked at", e.into())),
                }
            }
        }
        self.listed = listed;
        self.are_few()
    }

    /// Returns a file's metadata, if it is as in the snapshot.
    fn known_status(&mut self, folder: &RepoPath, path: &RepoPath) -> Option<FileStatus> {
        let tree = self.place.tree?;
        if let Same::Watched(heard) = self.place.same {
            let is_quiet = heard.folders.contains(folder) && !heard.told.contains(path);
            return is_quiet
                .then(|| tree.status_near(path, &mut self.near.0))?
                .inspect(|_| self.is_believed = true);
        }
        tree.status_near(path, &mut self.near.0)
    }

    fn file(&mut self, path: RepoPath, status: &FileStatus, counts: bool) -> Result<(), Unsteady> {
        match FileType::from_raw_mode(status.mode) {
            FileType::RegularFile if counts => {
                let stamp = status.stamp;
                let near = &mut self.near.1;
                match self.stats.digest_near(path.as_bytes(), &stamp, near) {
                    Some(content) => {
                        let print = Print {
                            content: Some(content),
                            link: None,
                            mode: permissions(status.mode),
                        };
                        let stamp = Some(stamp);
                        self.files.push((path, ScannedFile { print, stamp }));
                    }
                    None => {
                        let tells = |tree: &Snapshot| tree.tells(&stamp);
                        let then = self.place.tree.is_some_and(tells).then_some(stamp);
                        let link = None;
                        self.unread.push(Unread { path, then, link });
                    }
                }
                Ok(())
            }
            FileType::Symlink => self.symlink(path, counts),
            _ if counts => Err(Unsteady::NotRegular(path)),
            _ => Ok(()),
        }
    }

    fn symlink(&mut self, path: RepoPath, counts: bool) -> Result<(), Unsteady> {
        let Some(link) = self.place.beneath.link(&path).map(Word::new) else {
            return Ok(());
        };
        match self.place.beneath.file(&path) {
            Ok(_) => {
                let (then, link) = (None, Some(link));
                self.unread
                    .extend(counts.then_some(Unread { path, then, link }));
                return Ok(());
            }
            // A symlink that leads nowhere counts with nothing more.
            Err(ReadError::Missing) if counts => {}
            Err(ReadError::Missing) => return Ok(()),
            // Only a folder has something below it.
            Err(ReadError::Outside) if !counts && !self.place.root.join(path.to_os()).is_dir() => {
                return Ok(());
            }
            Err(ReadError::Outside) => return Err(Unsteady::LeadsOut(path)),
            Err(ReadError::NotRegular) => match self.real_folder(&path) {
                Some(real) => self.behind.push(real),
                None => return Err(Unsteady::LeadsToNoFile(path)),
            },
            Err(e) => return Err(Unsteady::Unreadable(path, e)),
        }
        let print = Print {
            content: None,
            link: Some(link),
            mode: 0o777,
        };
        self.files.push((path, ScannedFile { print, stamp: None }));
        Ok(())
    }

    /// Returns the real path of a folder reached through symlinks.
    fn real_folder(&self, path: &RepoPath) -> Option<RepoPath> {
        let real = self.place.root.join(path.to_os()).canonicalize().ok()?;
        let inside = real.strip_prefix(self.place.root).ok()?.as_os_str();
        match inside.as_bytes() {
            _ if !real.is_dir() => None,
            b"" => Some(RepoPath::root()),
            inside => RepoPath::from_exact(inside),
        }
    }
}

/// Reads the files whose digest is not known, on several threads when there are many. Returns whether
/// any of them may have another content than in the snapshot.
fn read(
    beneath: &Beneath,
    unread: Vec<Unread>,
    stats: &mut StatCacheStats,
    files: &mut Vec<(RepoPath, ScannedFile)>,
) -> Result<bool, Unsteady> {
    let is_small = unread.len() < SMALL;
    let threads = if is_small { 1 } else { parallel::parts() };
    let chunk = unread.len().div_ceil(threads).max(1);
    let work = |part| Vec::from_iter(<[Unread]>::iter(part).map(|file| read_one(beneath, file)));
    let results = parallel::each(unread.chunks(chunk).collect(), work);
    let mut is_later = false;
    for (file, result) in unread.into_iter().zip(results.into_iter().flatten()) {
        let Read {
            content,
            mode,
            stamp,
            since,
        } = result?;
        is_later |= file.then != Some(stamp);
        // A symlink may lead elsewhere while its own metadata stays: its target is read every time.
        if file.link.is_none() {
            stats.learn(file.path.as_bytes(), stamp, content.clone(), since);
        }
        let print = Print {
            content: Some(content),
            link: file.link,
            mode,
        };
        let stamp = Some(stamp);
        files.push((file.path, ScannedFile { print, stamp }));
    }
    Ok(is_later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use vplan_base::canon::Digest;
    use vplan_base::glob::Glob;

    struct Tree(tempfile::TempDir, Beneath);

    impl Tree {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let beneath = Beneath::open(dir.path()).unwrap();
            Self(dir, beneath)
        }

        fn write(&self, path: &str, text: &str) -> &Self {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            self
        }

        fn link(&self, path: &str, to: &str) -> &Self {
            symlink(to, self.0.path().join(path)).unwrap();
            self
        }

        fn scan(&self, globs: &[&str]) -> Result<InputScan, Unsteady> {
            self.scan_at_most(MOST_FILES, globs)
        }

        fn scan_at_most(&self, most: usize, globs: &[&str]) -> Result<InputScan, Unsteady> {
            let wanted: Vec<Selection> = vec![vplan_reuse::key::all_of(
                &globs
                    .iter()
                    .map(|g| Glob::parse(g).unwrap())
                    .collect::<Vec<_>>(),
            )];
            let root = self.0.path().canonicalize().unwrap();
            let place = ScanPlace {
                root: &root,
                beneath: &self.1,
                tree: None,
                same: Same::All,
            };
            at_most(most, place, &wanted, &mut StatCacheStats::default())
                .map(|scanned| scanned.scan)
        }

        fn names(&self, globs: &[&str]) -> String {
            self.scan(globs)
                .unwrap()
                .files()
                .map(|(path, _)| path.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        }
    }

    #[test]
    fn which_files() {
        let tree = Tree::new();
        tree.write("a", "1")
            .write("src/a", "1")
            .write("src/deep/b", "2")
            .write("src/.hidden", "")
            .write("out/c", "3");
        tree.write(".git/HEAD", "x")
            .write("src/.git/HEAD", "x")
            .write(".vplan/runs/x", "")
            .write("src/.vplan/y", "");
        for (globs, want) in [
            (
                &["**"][..],
                "a out/c src/.hidden src/.vplan/y src/a src/deep/b",
            ),
            (&["src/**"], "src/.hidden src/.vplan/y src/a src/deep/b"),
            (&["*"], "a"),
            (&["**/a", "out/c"], "a out/c src/a"),
            (&["nothing/**"], ""),
        ] {
            assert_eq!(tree.names(globs), want, "{globs:?}");
        }
    }

    #[test]
    fn what_is_behind_symlinks() {
        let tree = Tree::new();
        tree.write("real/deep/x", "1")
            .write("real/y", "1")
            .write("z", "1");
        tree.link("file", "z")
            .link("nowhere", "gone")
            .link("dir", "real")
            .link("real/up", "..");
        assert_eq!(tree.names(&["file"]), "file", "with the content behind it");
        assert_eq!(
            tree.names(&["dir/y"]),
            "dir file nowhere real/deep/x real/up real/y z",
            "all that may be behind it"
        );
        let before = tree.scan(&["file", "nowhere"]).unwrap();
        tree.write("z", "2");
        let after = tree.scan(&["file", "nowhere"]).unwrap();
        assert_ne!(before.set(), after.set(), "the content behind a symlink");
        tree.write("gone", "");
        assert_ne!(
            tree.scan(&["file", "nowhere"]).unwrap().set(),
            after.set(),
            "now it leads somewhere"
        );
        tree.link("away", "/etc/hostname").link("up", "..");
        for path in ["away", "up", "up/x"] {
            assert!(tree.scan(&[path]).is_err(), "{path}");
        }
    }

    #[test]
    fn many_files_are_found_as_few_are() {
        let tree = Tree::new();
        let folders = 2 * MANY / 100;
        let paths = (0..folders).flat_map(|folder| {
            let flat = (0..99).map(move |file| format!("src/{folder}/{file}"));
            flat.chain([format!("src/{folder}/deep/er/x")])
        });
        let mut paths: Vec<String> = paths.collect();
        for path in &paths {
            tree.write(path, path);
        }
        // One that few files lead to, and one that leads to what is walked in parallel.
        tree.link("src/0/link", "../1/deep")
            .link("src/39/file", "deep/er/x");
        paths.extend(["src/0/link", "src/39/file"].map(str::to_owned));
        paths.sort();
        let found = tree.scan(&["src/**"]).unwrap();
        let names: Vec<String> = found.files().map(|(path, _)| path.to_string()).collect();
        assert_eq!(names, paths);
        for (path, file) in found.files() {
            let want = match path.to_string().as_str() {
                "src/0/link" => None,
                "src/39/file" => Some(Digest::hash(b"src/39/deep/er/x")),
                path => Some(Digest::hash(path.as_bytes())),
            };
            assert_eq!(file.print.content, want, "{path}");
        }
        let few = tree.scan(&["src/7/**"]).unwrap();
        assert_eq!(few.len(), 100);
        let is_refused = |most: usize| tree.scan_at_most(most, &["src/**"]).is_err();
        // What a link leads to is found once more.
        let all = paths.len() + 1;
        assert_eq!([all - 1, all].map(is_refused), [true, false]);
    }

    #[test]
    fn what_is_no_file() {
        let tree = Tree::new();
        tree.write("a", "1");
        let pipe = tree.0.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            pipe,
            FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(
            tree.scan(&["*"])
                .unwrap_err()
                .to_string()
                .contains("`pipe` is no regular file")
        );
        assert!(tree.scan(&["a"]).is_ok());
    }

    #[test]
    fn what_was_written() {
        let tree = Tree::new();
        tree.write("a", "1").write("b", "1");
        let before = tree.scan(&["*"]).unwrap();
        assert_eq!(before.touched(&tree.scan(&["*"]).unwrap()), []);
        tree.write("b", "2").write("b", "1");
        let file = File::options()
            .append(true)
            .open(tree.0.path().join("b"))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let later = tree.scan(&["*"]).unwrap();
        assert_eq!(before.set(), later.set(), "the same content");
        let touched = before.touched(&later);
        let names: Vec<String> = touched.iter().map(|t| t.path.to_string()).collect();
        assert_eq!(names, ["b"], "but written");
        assert!(!touched[0].is_changed());
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(tree.0.path().join("a"), mode).unwrap();
        assert_ne!(
            before.set(),
            tree.scan(&["*"]).unwrap().set(),
            "permissions count"
        );
    }
}
