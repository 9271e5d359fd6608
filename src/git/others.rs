//! Lists the files of the work tree that are neither tracked nor ignored by a tracked `.gitignore`.
//!
//! It includes files that only other rules hide ([`super::hidden`]).

use super::error::{GitError, failed};
use super::index::{IndexEntry, SUBMODULE};
use super::observed::{Listings, SearchedFolder};
use super::rules::{self, Rules};
use super::{Git, is_record, pattern, repository};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, OFlags, StatFs, fstat, fstatfs, statat};
use rustix::io::Errno;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use vplan_base::word::visible;
use vplan_os::files;
use vplan_os::parallel::{self, SharedWork};
use vplan_os::retry_eintr::{FolderEntries, open};
use vplan_os::stat_cache::{StatStamp, now};

const GIT: &[u8] = b".git";
/// After that many folders, threads for the others save more time than they cost.
const MANY: usize = 500;
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW);

/// A directory that is still to be searched.
struct Open<'e> {
    /// With a slash at its end, unless it is the root.
    path: Vec<u8>,
    rules: Option<Arc<Rules>>,
    /// The entries of the index in it.
    tracked: &'e [IndexEntry],
}

impl<'e> Open<'e> {
    /// Returns the entry of a name in it.
    fn entry(&self, name: &[u8]) -> Option<&'e IndexEntry> {
        let in_it = |entry: &IndexEntry| entry.path.get(self.path.len()..).map(|n| n.cmp(name));
        let order = |entry: &IndexEntry| in_it(entry).unwrap_or(Ordering::Less);
        let at = self.tracked.binary_search_by(order).ok()?;
        self.tracked.get(at)
    }

    /// Returns the entries below a directory in it.
    fn below(&self, dir: &[u8]) -> &'e [IndexEntry] {
        let begin = self.tracked.partition_point(|entry| &*entry.path < dir);
        let rest = self.tracked.get(begin..).unwrap_or_default();
        let end = rest.partition_point(|entry| entry.path.starts_with(dir));
        rest.get(..end).unwrap_or_default()
    }
}

/// The result of a search of the work tree.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// Untracked files, symlinks, and repositories of their own, which end in `/`.
    pub files: Vec<Vec<u8>>,
    /// Nested files and folders `.git` that belong to no repository, or to one around tracked
    /// files: git never lists their content.
    pub git_names: Vec<Vec<u8>>,
    /// The folders that were searched.
    pub folders: Vec<SearchedFolder>,
}

/// Searches the work tree on other threads while this one runs `meanwhile`; then it helps.
/// `entries`: the index, in byte order.
pub(super) fn others_while<T>(
    git: &Git,
    entries: &[IndexEntry],
    meanwhile: impl FnOnce() -> T,
) -> (Result<Others, GitError>, T) {
    let since = now();
    let top = match open(CWD, git.root(), DIRECTORY) {
        Ok(top) => top,
        Err(error) => return (Err(failed(".", error)), meanwhile()),
    };
    // A repository inside would take the place of the one around it.
    let memory = git.below.is_empty().then_some(&git.memory);
    let before = memory.map(|memory| memory.take_listings());
    let place = Place {
        git,
        since,
        volume: volume(&top),
        top,
        before: (before.iter().flatten().flat_map(Listings::iter)).collect(),
    };
    let open = SharedWork::new(vec![Open {
        path: Vec::new(),
        rules: None,
        tracked: entries,
    }]);
    let search = |most| {
        let mut search = Search::new(&place);
        open.work(most, |dir, found| search.search(dir, found))?;
        Ok((search.found, search.listings))
    };
    let aside = || {
        let mut parts = vec![search(MANY)];
        let is_whole = |(found, _): &(Others, Listings)| found.folders.len() < MANY;
        if !parts.iter().flatten().all(is_whole) {
            let threads = vec![usize::MAX; parallel::parts()];
            parts.extend(parallel::each(threads, search));
        }
        parts
    };
    let (mut parts, (part, done)) = parallel::both(aside, || {
        let done = meanwhile();
        (search(usize::MAX), done)
    });
    parts.push(part);
    let found = together(parts).map(|(found, listings)| {
        if let Some(memory) = memory {
            memory.keep_listings(listings);
        }
        found
    });
    (found, done)
}

/// Merges the findings and listings of the threads.
fn together(
    parts: Vec<Result<(Others, Listings), GitError>>,
) -> Result<(Others, Vec<Listings>), GitError> {
    let mut all = Others::default();
    let mut listings = Vec::new();
    for part in parts {
        let (mut found, listed) = part?;
        all.files.append(&mut found.files);
        all.git_names.append(&mut found.git_names);
        all.folders.append(&mut found.folders);
        listings.push(listed);
    }
    are_few(&all)?;
    Ok((all, listings))
}

fn are_few(found: &Others) -> Result<(), GitError> {
    if found.files.len() > files::MAX_FILES {
        return Err(failed(".", Errno::TOOBIG));
    }
    Ok(())
}

/// Returns the metadata of a folder if its file system changes a folder's times whenever its
/// listing changes. For other file systems that is unknown; FAT does not do it for its root.
fn volume(folder: &OwnedFd) -> Option<StatStamp> {
    // ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs (statfs(2)).
    const KNOWN: [u32; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
    ];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the numbers have 32 bits"
    )]
    let is_known = |found: StatFs| KNOWN.contains(&(found.f_type as u32));
    let is_known = cfg!(target_os = "linux") && fstatfs(folder).is_ok_and(is_known);
    (is_known.then(|| fstat(folder).ok()).flatten()).map(|stat| StatStamp::from(&stat))
}

/// The work tree that is searched.
struct Place<'e> {
    git: &'e Git,
    /// A moment before the search began.
    since: i128,
    top: OwnedFd,
    /// The root's metadata, if the times of folders show whether their listings are unchanged.
    volume: Option<StatStamp>,
    /// The listings of an earlier search.
    before: BTreeMap<&'e [u8], (StatStamp, &'e [u8])>,
}

/// A search of some of the folders.
struct Search<'e> {
    place: &'e Place<'e>,
    /// The folder that was listed last.
    listed: FolderEntries,
    listings: Listings,
    found: Others,
}

impl<'e> Search<'e> {
    fn new(place: &'e Place<'e>) -> Self {
        Self {
            place,
            listed: FolderEntries::default(),
            listings: Listings::default(),
            found: Others::default(),
        }
    }

    /// Searches a folder; adds those in it to `open`.
    fn search<'t>(&mut self, dir: Open<'t>, open: &mut Vec<Open<'t>>) -> Result<(), GitError> {
        match self.look_into(dir, open) {
            Ok(()) => {}
            // The directory is gone, or has become something else; a later lookup reports that.
            Err((path, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {
                self.found.folders.push(SearchedFolder::unknown(&path));
            }
            // No other process of this user can read it either, so only its existence is known.
            Err((path, Errno::ACCESS)) if is_closed(&self.place.top, &path) => {
                self.found.folders.push(SearchedFolder::unknown(&path));
                let path = path.strip_suffix(b"/").unwrap_or(&path);
                self.found.files.push(path.to_vec());
            }
            Err((path, error)) => return Err(failed(visible(&path), error)),
        }
        are_few(&self.found)
    }

    /// Lists a folder. If an earlier search has listed it, it is read again only if its metadata
    /// differs. Returns its metadata if that lets a later search detect changes.
    fn list(&mut self, path: &[u8]) -> Result<Option<StatStamp>, Errno> {
        let Place {
            since,
            top,
            volume,
            before,
            ..
        } = self.place;
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let name = if path.is_empty() { b"." } else { path };
        if let Some((stamp, packed)) = before.get(path)
            && StatStamp::from(&statat(top, name, AtFlags::SYMLINK_NOFOLLOW)?) == *stamp
        {
            self.listed.unpack(packed);
            return Ok(Some(*stamp));
        }
        let folder = open(top, name, DIRECTORY)?;
        let stamp = StatStamp::from(&fstat(&folder)?);
        self.listed.read(&folder)?;
        self.listed.tell_kinds(&folder);
        let tells = |volume: &StatStamp| stamp.is_beside(volume) && stamp.is_settled(*since);
        Ok(volume.as_ref().is_some_and(tells).then_some(stamp))
    }

    /// Adds the folder that was listed last.
    fn add(&mut self, folder: SearchedFolder) {
        if let Some(stamp) = folder.stamp {
            self.listings.add(&folder.path, stamp, &self.listed);
        }
        self.found.folders.push(folder);
    }

    fn look_into<'t>(
        &mut self,
        mut dir: Open<'t>,
        open: &mut Vec<Open<'t>>,
    ) -> Result<(), (Vec<u8>, Errno)> {
        let is_root = dir.path.is_empty();
        let stamp = self.list(&dir.path);
        let stamp = stamp.map_err(|error| (dir.path.clone(), error))?;
        let has = |wanted: &[u8]| self.listed.iter().any(|(name, _)| name == wanted);
        if !is_root && has(GIT) && is_repository(self.place.git, &dir.path) {
            self.found.folders.push(SearchedFolder::unknown(&dir.path));
            // In a folder with tracked files, a nested repository has no honest use.
            if !dir.tracked.is_empty() {
                self.found.git_names.push([&dir.path, GIT].concat());
            }
            self.found.files.push(dir.path);
            return Ok(());
        }
        if has(rules::NAME) {
            dir.rules = with_rules(self.place.git, &dir);
        }
        let mut is_whole = true;
        for (name, kind) in self.listed.iter() {
            if name == GIT || is_root && is_record(name) {
                if name == GIT && !is_root {
                    self.found.git_names.push([&dir.path, name].concat());
                }
                continue;
            }
            let tracked = dir.entry(name);
            let is_file = matches!(kind, FileType::RegularFile | FileType::Symlink);
            if is_file && tracked.is_some() {
                continue;
            }
            let mut path = [&dir.path, name].concat();
            match kind {
                // The content of a submodule is compared with the submodule's own commit.
                FileType::Directory
                    if tracked.is_none_or(|entry| entry.mode != SUBMODULE)
                        && Rules::ignores(dir.rules.as_ref(), &path, true).is_none() =>
                {
                    path.push(b'/');
                    let below = dir.below(&path);
                    open.push(Open {
                        path,
                        rules: dir.rules.clone(),
                        tracked: below,
                    });
                }
                _ if is_file && Rules::ignores(dir.rules.as_ref(), &path, false).is_none() => {
                    self.found.files.push(path);
                }
                // Ignored, or without content.
                _ => is_whole = false,
            }
        }
        self.add(SearchedFolder {
            stamp,
            is_whole,
            ..SearchedFolder::unknown(&dir.path)
        });
        Ok(())
    }
}

/// Whether this user may not enter or read a folder below the root: any other refusal is an error,
/// or the files in it would be missed.
fn is_closed(top: &OwnedFd, path: &[u8]) -> bool {
    let inside = [path, b"."].concat();
    !path.is_empty() && open(top, inside.as_slice(), DIRECTORY).err() == Some(Errno::ACCESS)
}

fn is_repository(git: &Git, path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    repository::at(&git.root().join(std::ffi::OsStr::from_bytes(path))).is_some()
}

/// Adds the rules of this directory, if its file is tracked, to those above.
fn with_rules(git: &Git, dir: &Open<'_>) -> Option<Arc<Rules>> {
    let path = [&dir.path, rules::NAME].concat();
    let text = dir.entry(rules::NAME).and_then(|_| {
        files::read_plain(
            &git.root().join(std::ffi::OsStr::from_bytes(&path)),
            pattern::MOST,
        )
        .ok()
    });
    let Some(text) = text else {
        return dir.rules.clone();
    };
    Some(Rules::read(dir.rules.clone(), &dir.path, &text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_times_of_a_folder_tell_nothing_where_that_is_not_known() {
        let open = |path| open(CWD, path, DIRECTORY).unwrap();
        assert_eq!(volume(&open("/proc")), None);
        let (root, own) = (open("/proc"), tempfile::tempdir().unwrap());
        let stamp = |folder: &OwnedFd| StatStamp::from(&fstat(folder).unwrap());
        assert!(!stamp(&root).is_beside(&stamp(&open(own.path().to_str().unwrap()))));
    }
}
