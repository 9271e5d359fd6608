//! The state of a work tree in a scan.

use super::index::IndexEntry;
use super::object::Oid;
use rustix::fs::Stat;
use std::ops::Range;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_os::retry_eintr::FolderEntries;
use vplan_os::stat_cache::StatStamp;

/// The metadata of the index file, which changes when git replaces it.
pub(super) type IndexStamp = Option<StatStamp>;

/// The file that the work tree has for an entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkTreeFile {
    Missing,
    Regular {
        executable: bool,
        /// The id of its content; `None` when that cannot be read, or is being written.
        id: Option<Oid>,
    },
    /// A file that is not in the table and too large to be read without need.
    Large {
        executable: bool,
        /// In bytes.
        size: u64,
    },
    /// The id of its target.
    Symlink(Option<Oid>),
    Directory,
    /// A pipe, a socket, a device.
    Special,
}

/// The metadata of a regular file with which its content was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Shows that it was not written since.
    pub stamp: StatStamp,
    /// Its type and permissions.
    pub mode: u32,
}

impl From<&Stat> for FileStatus {
    fn from(stat: &Stat) -> Self {
        Self {
            stamp: StatStamp::from(stat),
            mode: stat.st_mode,
        }
    }
}

/// The file of an entry of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenFile {
    pub file: WorkTreeFile,
    /// For a regular file whose content is known.
    pub status: Option<FileStatus>,
}

/// A folder that was searched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SearchedFolder {
    /// Without a slash at its end.
    pub path: Arc<[u8]>,
    /// The metadata that shows that it lists the same; `None` if it was written just before.
    pub stamp: Option<StatStamp>,
    /// Whether the whole folder belongs to the tree: without ignored files, and without a
    /// repository.
    pub is_whole: bool,
}

impl SearchedFolder {
    /// Makes an entry that is known to exist, without any details. A slash at the path's end is
    /// removed.
    pub(super) fn unknown(path: &[u8]) -> Self {
        Self {
            path: path.strip_suffix(b"/").unwrap_or(path).into(),
            stamp: None,
            is_whole: false,
        }
    }

    /// Returns its path; `None` if it is not a valid path.
    pub(super) fn path(&self) -> Option<RepoPath> {
        match &*self.path {
            b"" => Some(RepoPath::root()),
            _ => RepoPath::from_shared(&self.path),
        }
    }
}

/// The scanned work tree.
#[derive(Debug)]
pub(super) struct Observed {
    /// A time before the scan began, in nanoseconds since 1970.
    pub since: i128,
    /// The index, in byte order of the paths.
    pub entries: Arc<Vec<IndexEntry>>,
    /// The file for each entry.
    pub seen: Vec<SeenFile>,
    /// The files that are neither tracked nor ignored by a tracked `.gitignore`.
    pub others: Vec<Vec<u8>>,
    /// Nested files and folders `.git` of no repository, or of one around tracked files.
    pub git_names: Vec<Vec<u8>>,
    /// The folders that were searched, in no order.
    pub folders: Vec<SearchedFolder>,
}

/// The listings of folders, with the metadata that shows that they are still valid. Cheap to make,
/// since most are never used.
#[derive(Debug, Default)]
pub(super) struct Listings {
    packed: Vec<u8>,
    /// By path, each with the range of its listing.
    folders: Vec<(Arc<[u8]>, StatStamp, Range<usize>)>,
}

impl Listings {
    pub(super) fn add(&mut self, path: &Arc<[u8]>, stamp: StatStamp, listed: &FolderEntries) {
        if let Some(range) = listed.pack(&mut self.packed) {
            self.folders.push((Arc::clone(path), stamp, range));
        }
    }

    /// Returns each folder's path, its metadata, and its packed listing.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], (StatStamp, &[u8]))> {
        self.folders.iter().filter_map(|(path, stamp, range)| {
            let packed = self.packed.get(range.clone())?;
            Some((&**path, (*stamp, packed)))
        })
    }
}
