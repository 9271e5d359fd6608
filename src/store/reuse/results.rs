//! Stores passes in `results/` of the state directory: one small file per pass, named by its key,
//! written whole or not at all. A file per step names the pass that was kept last and the list of
//! files that it left, which is named by its digest.
//!
//! No process waits for another: two runs that keep the same pass at once leave one of them.
//! Nothing is synced to disk, because a file that a loss of power damages is recognised by its
//! digest and ignored.

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, statat, unlinkat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use vplan_base::canon::Digest;
use vplan_base::word::framed;
use vplan_os::atomic_file::{CACHED, NEW, NewFile, replace};
use vplan_os::process::program::message_of;
use vplan_os::retry_eintr::read_dir;
use vplan_os::stat_cache::{self, StatStamp};
use vplan_os::state_dir::StateDir;
use vplan_os::state_files;
use vplan_reuse::entry::KeptPass;
use vplan_reuse::listing::Listing;

/// The folder in the state directory.
pub const FOLDER: &str = "results";
/// Size limit of a kept pass, in bytes.
const MOST_ENTRY: u64 = 8 << 20;
/// Size limit of a table of digests that is read, in bytes.
const MOST_STATS: u64 = 512 << 20;
/// Size limit of a list of files that is read, in bytes.
const MOST_LISTING: u64 = 64 << 20;
/// The age at which an unfinished file is removed, in nanoseconds: its run may still go on before.
const ABANDONED: i128 = 3_600_000_000_000;
const STATS: &str = "files";
const SALT: &str = "salt";
const LAST: &str = "last-";
const LISTING: &str = "files-";

/// The limits of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// All passes together, in bytes; as many again for all lists of files.
    pub bytes: u64,
    /// Passes.
    pub entries: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bytes: 128 << 20,
            entries: 20_000,
        }
    }
}

/// The files that a collection removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectedResults {
    /// In bytes.
    pub bytes: u64,
    /// The number of passes.
    pub entries: usize,
}

/// The passes of one repository.
#[derive(Debug)]
pub struct StoredResults {
    folder: OwnedFd,
    salt: [u8; 32],
}

/// A file of the store: the time of its last write, in nanoseconds since 1970, its size in bytes,
/// its name.
type StoredFile = (i128, u64, String);

/// The result of a look-up.
#[derive(Debug)]
pub enum StoredPass {
    /// No entry exists.
    Nothing,
    /// The entry is not a pass of this key.
    Damaged,
    Pass(Box<KeptPass>),
}

impl StoredResults {
    /// Opens the folder; makes it if it is not there.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open(state: &StateDir) -> io::Result<Self> {
        let mut results = Self {
            folder: state_files::folder(&state.folder, FOLDER)?,
            salt: [0; 32],
        };
        results.salt = results.secret()?;
        Ok(results)
    }

    /// Opens the folder for reading only; `None` if nothing was ever kept.
    pub fn find(state: &StateDir) -> Option<Self> {
        let folder = state_files::find(&state.folder, FOLDER).ok()?;
        let salt = state_files::read(&folder, SALT, 32).ok()?.try_into().ok()?;
        Some(Self { folder, salt })
    }

    /// Digests a value of the environment, so that a reader of the store cannot guess values.
    pub(crate) fn conceal(&self, name: &[u8], value: &[u8]) -> Digest {
        let mut bytes = self.salt.to_vec();
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name);
        bytes.extend(value);
        Digest::hash(&bytes)
    }

    /// Returns the pass under a key.
    pub fn get(&self, key: &Digest) -> StoredPass {
        match self.read(&key.hex(), MOST_ENTRY) {
            Ok(bytes) => match KeptPass::decode(key, &bytes) {
                Some(entry) => StoredPass::Pass(Box::new(entry)),
                None => StoredPass::Damaged,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => StoredPass::Nothing,
            Err(_) => StoredPass::Damaged,
        }
    }

    /// Makes the entry of a key the newest: it was used.
    pub fn touch(&self, key: &Digest) {
        self.renew(&key.hex());
    }

    fn renew(&self, name: &str) {
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let times = rustix::fs::Timestamps {
            last_access: now,
            last_modification: now,
        };
        let _ = rustix::fs::utimensat(&self.folder, name, &times, AtFlags::SYMLINK_NOFOLLOW);
    }

    /// Keeps a pass as the last one of its step. `listing`: the list of the files that it left.
    ///
    /// # Errors
    /// Errors of the system; a pass that is too large.
    pub fn put(&self, entry: &KeptPass, listing: Option<&Digest>) -> io::Result<()> {
        self.put_left(entry)?;
        let last = format!("{}{}", entry.key, framed("\n", listing, ""));
        self.replace(&last_name(&entry.pass.step), last.as_bytes())
    }

    /// Keeps a pass for the state that it left, in addition to the one of [`Results::put`].
    ///
    /// # Errors
    /// As [`Results::put`].
    pub(crate) fn put_left(&self, entry: &KeptPass) -> io::Result<()> {
        let bytes = entry.encode();
        if bytes.len() as u64 > MOST_ENTRY {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.replace(&entry.key.hex(), &bytes)
    }

    /// Keeps a list of files, and returns its digest.
    ///
    /// # Errors
    /// Errors of the system; a list that is too large.
    pub(crate) fn put_listing(&self, listing: &Listing) -> io::Result<Digest> {
        let bytes = listing.encode();
        if bytes.len() as u64 > MOST_LISTING {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let digest = Digest::hash(&bytes);
        let name = listing_name(&digest);
        let there = self.read(&name, MOST_LISTING);
        if there.is_ok_and(|there| there == bytes) {
            self.renew(&name);
        } else {
            self.replace(&name, &bytes)?;
        }
        Ok(digest)
    }

    /// Removes the entry of a key, and the same pass under its other key.
    pub fn remove(&self, key: &Digest) {
        if let StoredPass::Pass(entry) = self.get(key)
            && let Some(other) = &entry.counterpart
        {
            let _ = unlinkat(&self.folder, other.hex(), AtFlags::empty());
        }
        let _ = unlinkat(&self.folder, key.hex(), AtFlags::empty());
    }

    /// Returns the pass of a step that was kept last, under any key, and the list of the files that
    /// it left, if that is kept: to report what has changed since.
    pub fn last(&self, step: &str) -> Option<(KeptPass, Option<Listing>)> {
        let (key, listing) = self.last_digests(&last_name(step))?;
        let entry = KeptPass::decode(&key, &self.read(&key.hex(), MOST_ENTRY).ok()?)?;
        Some((entry, listing.and_then(|digest| self.listing(&digest))))
    }

    /// Whether a pass of a step is kept, under any key.
    pub(crate) fn has_last(&self, step: &str) -> bool {
        self.has(&last_name(step))
    }

    fn last_digests(&self, name: &str) -> Option<(Digest, Option<Digest>)> {
        let text = String::from_utf8(self.read(name, 256).ok()?).ok()?;
        let mut digests = text.lines().map(str::parse);
        let key = digests.next()?.ok()?;
        Some((key, digests.next().and_then(Result::ok)))
    }

    fn listing(&self, digest: &Digest) -> Option<Listing> {
        let bytes = self.read(&listing_name(digest), MOST_LISTING).ok()?;
        Listing::decode(digest, &bytes)
    }

    /// Reads the table of digests.
    pub fn stats(&self) -> vplan_os::stat_cache::StatCacheStats {
        self.read(STATS, MOST_STATS)
            .map(vplan_os::stat_cache::StatCacheStats::decode)
            .unwrap_or_default()
    }

    /// Writes the table of digests.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn write_stats(
        &self,
        stats: &vplan_os::stat_cache::StatCacheStats,
    ) -> io::Result<()> {
        self.replace(STATS, &stats.encode())
    }

    /// Removes the least recently used entries until the bounds are met, and abandoned files.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn collect(&self, bounds: Bounds) -> io::Result<CollectedResults> {
        let is_abandoned = |file: &StoredFile| file.0 < stat_cache::now() - ABANDONED;
        let (mut passes, mut listings, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for entry in read_dir(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let Ok(stat) = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            let file = (StatStamp::from(&stat).modified(), size, name.to_owned());
            if name.len() == 64 {
                passes.push(file);
            } else if name.starts_with(LISTING) {
                listings.push(file);
            } else if name.starts_with(LAST) {
                last.push(name.to_owned());
            } else if name.starts_with('.') && name.contains(NEW) && is_abandoned(&file) {
                let _ = unlinkat(&self.folder, name, AtFlags::empty());
            }
        }
        let collected = self.remove_oldest(passes, bounds.bytes, bounds.entries);
        // References to a removed pass are removed with it, and lists without a reference.
        let mut referenced = BTreeSet::new();
        for name in last {
            match self.last_digests(&name) {
                Some((key, listing)) if collected.entries == 0 || self.has(&key.hex()) => {
                    referenced.extend(listing.map(|digest| listing_name(&digest)));
                }
                _ => drop(unlinkat(&self.folder, name, AtFlags::empty())),
            }
        }
        listings.retain(|file| {
            let stays = referenced.contains(&file.2);
            // The run that wrote it may be about to refer to it.
            if !stays && is_abandoned(file) {
                let _ = unlinkat(&self.folder, &file.2, AtFlags::empty());
            }
            stays
        });
        self.remove_oldest(listings, bounds.bytes, usize::MAX);
        Ok(collected)
    }

    fn has(&self, name: &str) -> bool {
        statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Removes the oldest of these files until they are within these bounds.
    fn remove_oldest(
        &self,
        mut files: Vec<StoredFile>,
        most: u64,
        number: usize,
    ) -> CollectedResults {
        files.sort();
        let (mut bytes, mut count) = (files.iter().map(|f| f.1).sum::<u64>(), files.len());
        let mut collected = CollectedResults::default();
        for (_, size, name) in files {
            if bytes <= most && count <= number {
                break;
            }
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
            bytes = bytes.saturating_sub(size);
            count -= 1;
            collected.bytes += size;
            collected.entries += 1;
        }
        collected
    }

    /// Returns thirty-two random bytes that only this store knows.
    fn secret(&self) -> io::Result<[u8; 32]> {
        for _ in 0..8 {
            match self.read(SALT, 32) {
                Ok(bytes) => {
                    if let Ok(salt) = <[u8; 32]>::try_from(bytes) {
                        return Ok(salt);
                    }
                    // Damaged: with a new secret, no stored pass is found again, which is safe.
                    let _ = unlinkat(&self.folder, SALT, AtFlags::empty());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let mut salt = [0; 32];
            File::open("/dev/urandom")?.read_exact(&mut salt)?;
            let new = NewFile::create(self.folder.as_fd(), OsStr::new(SALT), CACHED)?;
            new.file().write_all(&salt)?;
            // Of two that are made at the same time, the first one counts.
            match new.link() {
                Ok(()) => return Ok(salt),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(
            "another program removes what vplan writes",
        ))
    }

    fn read(&self, name: &str, cap: u64) -> io::Result<Vec<u8>> {
        state_files::read(&self.folder, name, cap)
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        replace(&self.folder, name, content, CACHED)
    }
}

fn last_name(step: &str) -> String {
    format!("{LAST}{}", Digest::hash(step.as_bytes()).hex())
}

fn listing_name(digest: &Digest) -> String {
    format!("{LISTING}{}", digest.hex())
}

/// Explains to people why there is no store.
pub fn unavailable(error: &io::Error) -> String {
    format!("earlier results cannot be used: {}", message_of(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_check::evidence::EarlierPass;
    use vplan_reuse::key::{FileSet, Parts};

    fn state() -> (tempfile::TempDir, StateDir) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        let state = StateDir::open(&dir.path().join("state"), &dir.path().join("repo")).unwrap();
        (dir, state)
    }

    fn entry(step: &str, inputs: &str) -> KeptPass {
        let parts = Parts {
            enforced: Vec::new(),
            environment: Vec::new(),
            files: FileSet {
                count: 1,
                digest: Digest::hash(inputs.as_bytes()),
            },
            judging: 1,
            place: Digest::hash(b""),
            platform: String::new(),
            predecessors: Digest::hash(b""),
            reads: None,
            toolchains: None,
            settings: Digest::hash(b""),
            tools: Vec::new(),
            vplan: String::new(),
        };
        KeptPass::new(
            parts,
            Vec::new(),
            EarlierPass {
                step: step.to_owned(),
                ..EarlierPass::default()
            },
        )
    }

    #[test]
    fn what_is_kept_and_forgotten() {
        let (_dir, state) = state();
        let results = StoredResults::open(&state).unwrap();
        let (one, two) = (entry("a", "1"), entry("a", "2"));
        assert!(matches!(results.get(&one.key), StoredPass::Nothing));
        results.put(&one, None).unwrap();
        results.put(&two, None).unwrap();
        assert!(matches!(results.get(&one.key), StoredPass::Pass(found) if *found == one));
        assert_eq!(results.last("a"), Some((two.clone(), None)));
        results.remove(&two.key);
        assert!(matches!(results.get(&two.key), StoredPass::Nothing));
        assert_eq!(results.last("a"), None);
        std::fs::write(state.path.join(FOLDER).join(one.key.hex()), "{}").unwrap();
        assert!(matches!(results.get(&one.key), StoredPass::Damaged));
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let (_dir, state) = state();
        let results = StoredResults::open(&state).unwrap();
        let entries: Vec<KeptPass> = (0..20)
            .map(|i| entry(&format!("s{i}"), &i.to_string()))
            .collect();
        for (i, entry) in (0..).zip(&entries) {
            results.put(entry, None).unwrap();
            let path = state.path.join(FOLDER).join(entry.key.hex());
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(i))
                .unwrap();
        }
        // The oldest is used, and so is the newest now.
        results.touch(&entries[0].key);
        let collected = results
            .collect(Bounds {
                entries: 5,
                ..Bounds::default()
            })
            .unwrap();
        assert_eq!(collected.entries, 15);
        let left = |e: &&KeptPass| matches!(results.get(&e.key), StoredPass::Pass(_));
        let left: Vec<&str> = entries
            .iter()
            .filter(left)
            .map(|e| e.pass.step.as_str())
            .collect();
        assert_eq!(left, ["s0", "s16", "s17", "s18", "s19"]);
        assert_eq!(results.last("s3"), None);
        results
            .collect(Bounds {
                bytes: 0,
                ..Bounds::default()
            })
            .unwrap();
        assert!(matches!(results.get(&entries[0].key), StoredPass::Nothing));
    }

    #[test]
    fn a_pass_in_two_states() {
        let (_dir, state) = state();
        let results = StoredResults::open(&state).unwrap();
        let mut began = entry("a", "1");
        let left = began.left(entry("a", "2").parts);
        let path = vplan_base::path::RepoPath::from_exact(b"a").unwrap();
        let listing = Listing::from_files([(path, Digest::hash(b"1"))]);
        let digest = results.put_listing(&listing).unwrap();
        assert_eq!(results.put_listing(&listing).unwrap(), digest);
        results.put(&began, Some(&digest)).unwrap();
        results.put_left(&left).unwrap();
        assert_eq!(
            results.last("a"),
            Some((began.clone(), Some(listing.clone())))
        );
        results.remove(&left.key);
        assert!(matches!(results.get(&began.key), StoredPass::Nothing));
        assert_eq!(results.last("a"), None);

        results.put(&began, Some(&digest)).unwrap();
        std::fs::write(state.path.join(FOLDER).join(listing_name(&digest)), "vplan").unwrap();
        assert_eq!(results.last("a"), Some((began.clone(), None)), "damaged");
        assert_eq!(results.put_listing(&listing).unwrap(), digest);
        assert_eq!(results.last("a"), Some((began, Some(listing))), "mended");
        let none = Bounds {
            bytes: 0,
            entries: 0,
        };
        results.collect(none).unwrap();
        let left = std::fs::read_dir(state.path.join(FOLDER)).unwrap();
        let names = left.map(|e| e.unwrap().file_name().into_string().unwrap());
        // What no pass refers to is removed when no run can be about to refer to it.
        let names: Vec<String> = names.filter(|n| !n.starts_with(LISTING)).collect();
        assert_eq!(names, [SALT]);
    }

    #[test]
    fn nothing_is_made_to_read() {
        let (_dir, state) = state();
        assert!(StoredResults::find(&state).is_none());
        assert!(!state.path.join(FOLDER).exists());
        let results = StoredResults::open(&state).unwrap();
        results.put(&entry("a", "1"), None).unwrap();
        let found = StoredResults::find(&state).unwrap();
        assert_eq!(found.salt, results.salt);
        assert!(found.last("a").is_some());
    }

    #[test]
    fn one_secret_a_store() {
        let (_dir, state) = state();
        let salts: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| StoredResults::open(&state).unwrap().salt))
                .collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(
            salts.iter().all(|s| *s == salts[0] && *s != [0; 32]),
            "whoever comes first makes it"
        );
        let results = StoredResults::open(&state).unwrap();
        assert_ne!(results.conceal(b"A", b"BC"), results.conceal(b"AB", b"C"));
        assert_ne!(results.conceal(b"A", b"x"), Digest::hash(b"x"));
    }
}
