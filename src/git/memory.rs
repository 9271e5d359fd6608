//! Caches facts about a repository: a stat table of the work tree, and the listings of commits.
//!
//! Both are in the state directory, outside the work tree; without one, everything is read again.
//! Only vplan writes the table, while any process may have written the times and sizes in git's
//! index.

use super::index::IndexEntry;
use super::object::Oid;
use super::observed::{IndexStamp, Listings, Observed};
use super::skipped::Unseen;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, statat, unlinkat};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use vplan_base::canon::Digest;
use vplan_os::atomic_file::{CACHED, replace};
use vplan_os::parallel::locked;
use vplan_os::retry_eintr::read_dir;
use vplan_os::stat_cache::{OPENING, StatCacheStats, StatStamp, is_worth_writing};
use vplan_os::state_dir::StateDir;
use vplan_os::state_files;

/// The folder in the state directory.
const FOLDER: &str = "contents";
const TABLE: &str = "files";
/// Size limit of the table, and of a listing, in bytes.
const MOST: u64 = 512 << 20;
const LISTING: &str = "tree-";
const MAGIC: &[u8; 16] = b"vplan listing 2\n";
/// Maximum number of stored listings.
const LISTINGS: usize = 16;

/// A content that was read, with the file's metadata that shows that it is unchanged.
#[derive(Debug)]
pub(super) struct Learned {
    pub path: Vec<u8>,
    pub stamp: StatStamp,
    pub id: Oid,
    /// The time before it was read.
    pub since: i128,
    pub size: u64,
}

/// The cache of one repository, and of those inside it.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The place of the state of all repositories, and the root of this one.
    place: Option<(PathBuf, PathBuf)>,
    table: OnceLock<RwLock<StatCacheStats>>,
    /// Whether new entries are stored: a read-only command writes nothing.
    keeps: AtomicBool,
    /// The number of bytes read that the stored table would have saved.
    unsaved: Mutex<u64>,
    /// Listings that were made before storing was allowed.
    listings: Mutex<BTreeMap<Oid, Vec<u8>>>,
    /// The paths that the last comparison of the work tree skipped.
    unseen: Mutex<Unseen>,
    /// The work tree as the last comparison found it, with the index that it was found with.
    observed: Mutex<Option<(IndexStamp, Observed)>>,
    /// The listings of the work tree's folders in the last search.
    folders: Mutex<Vec<Listings>>,
    /// The last parsed index, if it was not changing.
    entries: Mutex<Option<(IndexStamp, Arc<Vec<IndexEntry>>)>>,
}

impl Memory {
    pub(super) fn at(base: &Path, root: &Path) -> Self {
        Self {
            place: Some((base.to_owned(), root.to_owned())),
            ..Self::default()
        }
    }

    /// Clears the skipped paths, at the start of a comparison.
    pub(super) fn forget_unseen(&self) {
        *locked(&self.unseen) = Unseen::default();
    }

    /// Adds the paths that a comparison of this repository, or of one inside it, skipped.
    pub(super) fn add_unseen(&self, more: Unseen) {
        let mut unseen = locked(&self.unseen);
        let Unseen {
            hidden,
            left_out,
            line_ends,
        } = &mut *unseen;
        hidden.extend(more.hidden);
        for (all, more) in [(left_out, more.left_out), (line_ends, more.line_ends)] {
            all.extend(more);
            all.sort();
        }
    }

    pub(super) fn skipped_paths(&self) -> Unseen {
        locked(&self.unseen).clone()
    }

    /// Keeps the work tree as a comparison has found it.
    pub(super) fn observe(&self, index: IndexStamp, observed: Observed) {
        *locked(&self.observed) = Some((index, observed));
    }

    /// Takes the work tree as the last comparison found it, once.
    pub(super) fn take_observed(&self) -> Option<(IndexStamp, Observed)> {
        locked(&self.observed).take()
    }

    /// Whether the result of a comparison with this index is cached.
    pub(super) fn has_observed(&self, index: IndexStamp) -> bool {
        locked(&self.observed)
            .as_ref()
            .is_some_and(|(then, _)| *then == index)
    }

    /// Shows the work tree as the last comparison found it, if that was with this index.
    pub(super) fn with_observed<T>(
        &self,
        index: IndexStamp,
        look: impl FnOnce(&Observed) -> T,
    ) -> Option<T> {
        let seen = locked(&self.observed);
        let (_, observed) = seen.as_ref().filter(|(then, _)| *then == index)?;
        Some(look(observed))
    }

    /// Takes the listings of the last search.
    pub(super) fn take_listings(&self) -> Vec<Listings> {
        std::mem::take(&mut *locked(&self.folders))
    }

    /// Remembers the listings of a search.
    pub(super) fn keep_listings(&self, listings: Vec<Listings>) {
        *locked(&self.folders) = listings;
    }

    /// Keeps the index that has this metadata.
    pub(super) fn keep_entries(&self, index: IndexStamp, entries: Arc<Vec<IndexEntry>>) {
        *locked(&self.entries) = Some((index, entries));
    }

    /// Returns the parsed index, if it still has this metadata.
    pub(super) fn entries(&self, index: IndexStamp) -> Option<Arc<Vec<IndexEntry>>> {
        let kept = locked(&self.entries);
        let (_, entries) = kept.as_ref().filter(|(then, _)| *then == index)?;
        Some(Arc::clone(entries))
    }

    /// Opens the folder, if it is there.
    fn find(&self) -> Option<OwnedFd> {
        let (base, root) = self.place.as_ref()?;
        state_files::find(StateDir::find(base, root).ok()??.folder, FOLDER).ok()
    }

    /// Opens the folder, and makes it if needed. `None` if it cannot be made.
    fn open(&self) -> Option<OwnedFd> {
        let (base, root) = self.place.as_ref()?;
        state_files::folder(StateDir::open(base, root).ok()?.folder, FOLDER).ok()
    }

    fn lock(&self) -> &RwLock<StatCacheStats> {
        self.table.get_or_init(|| {
            let bytes = self
                .find()
                .and_then(|folder| state_files::read(folder, TABLE, MOST).ok());
            RwLock::new(bytes.map(StatCacheStats::decode).unwrap_or_default())
        })
    }

    pub(super) fn table(&self) -> RwLockReadGuard<'_, StatCacheStats> {
        self.lock().read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers contents, and stores the table when reading them again would cost more than
    /// writing it.
    pub(super) fn learn(&self, news: Vec<Learned>) {
        if news.is_empty() {
            return;
        }
        let mut table = self.lock().write().unwrap_or_else(PoisonError::into_inner);
        let mut unsaved = locked(&self.unsaved);
        for Learned {
            path,
            stamp,
            id,
            since,
            size,
        } in news
        {
            let before = std::mem::take(&mut table.grown);
            table.learn(&path, stamp, Digest::from_bytes(id.padded()), since);
            *unsaved += if table.grown { size + OPENING } else { 0 };
            table.grown |= before;
        }
        if self.keeps.load(Ordering::Relaxed) {
            self.save(&table, &mut unsaved);
        }
    }

    fn save(&self, table: &StatCacheStats, unsaved: &mut u64) {
        if !is_worth_writing(*unsaved, table.len()) {
            return;
        }
        let (learned, used) = table.news();
        let encoded = if table.len() > 2 * (learned + used) + 1024 {
            table.encode_used()
        } else {
            table.encode()
        };
        if let Some(folder) = self.open() {
            let kept = replace(folder, TABLE, &encoded, CACHED);
            tracing::debug!(
                learned,
                bytes = encoded.len(),
                kept = kept.is_ok(),
                "the table of contents"
            );
        }
        *unsaved = 0;
    }

    /// Stores new entries so far, and from now on.
    pub(super) fn keep(&self) {
        self.keeps.store(true, Ordering::Relaxed);
        std::mem::take(&mut *locked(&self.listings))
            .iter()
            .for_each(|(tree, listing)| self.write_listing(tree, listing));
        let table = self.table();
        self.save(&table, &mut locked(&self.unsaved));
    }

    /// Returns git's listing of a commit or tree.
    pub(super) fn listing(&self, tree: &Oid) -> Option<Vec<u8>> {
        let folder = self.find()?;
        let name = format!("{LISTING}{tree}");
        let mut bytes = state_files::read(&folder, &name, MOST).ok()?;
        let (digest, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        if Digest::hash(body).as_bytes() != digest {
            return None;
        }
        bytes.drain(..MAGIC.len() + digest.len());
        Some(bytes)
    }

    /// Remembers git's listing.
    pub(super) fn keep_listing(&self, tree: &Oid, listing: &[u8]) {
        if self.keeps.load(Ordering::Relaxed) {
            self.write_listing(tree, listing);
        } else {
            let mut listings = locked(&self.listings);
            listings.insert(*tree, listing.to_vec());
        }
    }

    fn write_listing(&self, tree: &Oid, listing: &[u8]) {
        let Some(folder) = self.open() else { return };
        let bytes = [&MAGIC[..], Digest::hash(listing).as_bytes(), listing].concat();
        let _ = replace(&folder, format!("{LISTING}{tree}"), &bytes, CACHED);
        let Ok(entries) = read_dir(&folder) else {
            return;
        };
        let names = entries.flatten().map(|entry| entry.file_name().to_owned());
        let mut listings: Vec<_> = names
            .filter(|name| name.to_bytes().starts_with(LISTING.as_bytes()))
            .filter_map(|name| {
                let stat = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                Some((StatStamp::from(&stat).modified(), name))
            })
            .collect();
        listings.sort();
        let over = listings.len().saturating_sub(LISTINGS);
        for (_, name) in listings.iter().take(over) {
            let _ = unlinkat(&folder, name, AtFlags::empty());
        }
    }
}
