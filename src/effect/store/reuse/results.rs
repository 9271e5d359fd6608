//! Stores passes in `results/` of the state directory: one small file a pass, named by its key,
//! written whole or not at all.
//!
//! No process waits for another: two runs that keep the same pass at once leave one of them.
//! Nothing is synced to disk, because a file that a loss of power damages is recognised by its
//! digest and ignored.

use crate::base::canon::Digest;
use crate::effect::os::atomic_file::{CACHED, NEW, NewFile, replace};
use crate::effect::os::process::program::message_of;
use crate::effect::os::retry_eintr::read_dir;
use crate::effect::os::state_dir::StateDir;
use crate::effect::os::state_files;
use crate::reuse::entry::KeptPass;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, statat, unlinkat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};

/// The folder in the state directory.
pub const FOLDER: &str = "results";
/// The largest pass that is kept, in bytes.
const MOST_ENTRY: u64 = 8 << 20;
/// The largest table of digests that is read, in bytes.
const MOST_STATS: u64 = 512 << 20;
/// The age at which an unfinished file is removed, in seconds: its run may still go on before.
const ABANDONED: i64 = 3600;
const STATS: &str = "files";
const SALT: &str = "salt";

/// The limits of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// All passes together, in bytes.
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
pub struct Collected {
    /// In bytes.
    pub bytes: u64,
    /// The number of passes.
    pub entries: usize,
}

/// The passes of one repository.
#[derive(Debug)]
pub struct Results {
    folder: OwnedFd,
    salt: [u8; 32],
}

/// The result of a look-up.
#[derive(Debug)]
pub enum StoredPass {
    /// There is no entry.
    Nothing,
    /// The entry is no pass of this key.
    Damaged,
    /// A pass.
    Pass(Box<KeptPass>),
}

impl Results {
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

    /// Digests a value of the environment, so that a reader of the store cannot guess values.
    #[must_use]
    pub fn conceal(&self, name: &[u8], value: &[u8]) -> Digest {
        let mut bytes = self.salt.to_vec();
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name);
        bytes.extend(value);
        Digest::of(&bytes)
    }

    /// Returns the pass under a key. One that is used becomes the newest.
    #[must_use]
    pub fn get(&self, key: &Digest) -> StoredPass {
        let name = key.hex();
        match self.read(&name, MOST_ENTRY) {
            Ok(bytes) => match KeptPass::decode(key, &bytes) {
                Some(entry) => {
                    let now = rustix::fs::Timespec {
                        tv_sec: 0,
                        tv_nsec: rustix::fs::UTIME_NOW,
                    };
                    let times = rustix::fs::Timestamps {
                        last_access: now,
                        last_modification: now,
                    };
                    let _ = rustix::fs::utimensat(
                        &self.folder,
                        &name,
                        &times,
                        AtFlags::SYMLINK_NOFOLLOW,
                    );
                    StoredPass::Pass(Box::new(entry))
                }
                None => StoredPass::Damaged,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => StoredPass::Nothing,
            Err(_) => StoredPass::Damaged,
        }
    }

    /// Keeps a pass.
    ///
    /// # Errors
    /// Errors of the system; a pass that is too large.
    pub fn put(&self, entry: &KeptPass) -> io::Result<()> {
        let bytes = entry.encode();
        if bytes.len() as u64 > MOST_ENTRY {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.replace(&entry.key.hex(), &bytes)?;
        self.replace(
            &last_name(&entry.pass.step),
            entry.key.to_string().as_bytes(),
        )
    }

    /// Removes the entry of a key.
    pub fn remove(&self, key: &Digest) {
        let _ = unlinkat(&self.folder, key.hex(), AtFlags::empty());
    }

    /// Returns the pass of a step that was kept last, under any key: to report what has changed
    /// since.
    #[must_use]
    pub fn last(&self, step: &str) -> Option<KeptPass> {
        let key: Digest = String::from_utf8(self.read(&last_name(step), 256).ok()?)
            .ok()?
            .parse()
            .ok()?;
        KeptPass::decode(&key, &self.read(&key.hex(), MOST_ENTRY).ok()?)
    }

    /// Reads the table of digests.
    #[must_use]
    pub fn stats(&self) -> crate::effect::os::stat_cache::Stats {
        self.read(STATS, MOST_STATS)
            .map(crate::effect::os::stat_cache::Stats::decode)
            .unwrap_or_default()
    }

    /// Writes the table of digests.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write_stats(&self, stats: &crate::effect::os::stat_cache::Stats) -> io::Result<()> {
        self.replace(STATS, &stats.encode())
    }

    /// Removes the least recently used entries until the bounds are met, and abandoned files.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn collect(&self, bounds: Bounds) -> io::Result<Collected> {
        let now =
            i64::try_from(crate::effect::os::stat_cache::now() / 1_000_000_000).unwrap_or(i64::MAX);
        let (mut passes, mut left) = (Vec::new(), Vec::new());
        for entry in read_dir(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let Ok(stat) = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let (seconds, nanos) = (stat.st_mtime, stat.st_mtime_nsec);
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            if name.len() == 64 {
                passes.push((seconds, nanos, size, name.to_owned()));
            } else if name.starts_with("last-") {
                left.push(name.to_owned());
            } else if name.starts_with('.') && name.contains(NEW) && seconds < now - ABANDONED {
                let _ = unlinkat(&self.folder, name, AtFlags::empty());
            }
        }
        passes.sort();
        let (mut bytes, mut count) = (passes.iter().map(|p| p.2).sum::<u64>(), passes.len());
        let mut collected = Collected::default();
        for (_, _, size, name) in passes {
            if bytes <= bounds.bytes && count <= bounds.entries {
                break;
            }
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
            bytes = bytes.saturating_sub(size);
            count -= 1;
            collected.bytes += size;
            collected.entries += 1;
        }
        // References to a removed pass are removed with it.
        for name in left.into_iter().filter(|_| collected.entries > 0) {
            let key = self
                .read(&name, 256)
                .ok()
                .and_then(|b| String::from_utf8(b).ok()?.parse::<Digest>().ok());
            if key.is_none_or(|key| {
                statat(&self.folder, key.hex(), AtFlags::SYMLINK_NOFOLLOW).is_err()
            }) {
                let _ = unlinkat(&self.folder, name, AtFlags::empty());
            }
        }
        Ok(collected)
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
            let mut new = NewFile::beside(self.folder.as_fd(), OsStr::new(SALT), CACHED)?;
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
    format!("last-{}", Digest::of(step.as_bytes()).hex())
}

/// Explains to people why there is no store.
#[must_use]
pub fn unavailable(error: &io::Error) -> String {
    format!("earlier results cannot be used: {}", message_of(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::evidence::EarlierPass;
    use crate::reuse::key::{FileSet, Parts};

    fn state() -> (tempfile::TempDir, StateDir) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        let state = StateDir::open(&dir.path().join("state"), &dir.path().join("repo")).unwrap();
        (dir, state)
    }

    fn entry(step: &str, inputs: &str) -> KeptPass {
        let parts = Parts {
            environment: Vec::new(),
            files: FileSet {
                count: 1,
                digest: Digest::of(inputs.as_bytes()),
            },
            judging: 1,
            place: Digest::of(b""),
            platform: String::new(),
            predecessors: Digest::of(b""),
            settings: Digest::of(b""),
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
        let results = Results::open(&state).unwrap();
        let (one, two) = (entry("a", "1"), entry("a", "2"));
        assert!(matches!(results.get(&one.key), StoredPass::Nothing));
        results.put(&one).unwrap();
        results.put(&two).unwrap();
        assert!(matches!(results.get(&one.key), StoredPass::Pass(found) if *found == one));
        assert_eq!(results.last("a"), Some(two.clone()));
        results.remove(&two.key);
        assert!(matches!(results.get(&two.key), StoredPass::Nothing));
        assert_eq!(results.last("a"), None);
        std::fs::write(state.path.join(FOLDER).join(one.key.hex()), "{}").unwrap();
        assert!(matches!(results.get(&one.key), StoredPass::Damaged));
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let (_dir, state) = state();
        let results = Results::open(&state).unwrap();
        let entries: Vec<KeptPass> = (0..20)
            .map(|i| entry(&format!("s{i}"), &i.to_string()))
            .collect();
        for (i, entry) in (0..).zip(&entries) {
            results.put(entry).unwrap();
            let path = state.path.join(FOLDER).join(entry.key.hex());
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(i))
                .unwrap();
        }
        // The oldest is used, and so is the newest now.
        assert!(matches!(results.get(&entries[0].key), StoredPass::Pass(_)));
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
    fn one_secret_a_store() {
        let (_dir, state) = state();
        let salts: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| Results::open(&state).unwrap().salt))
                .collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(
            salts.iter().all(|s| *s == salts[0] && *s != [0; 32]),
            "whoever comes first makes it"
        );
        let results = Results::open(&state).unwrap();
        assert_ne!(results.conceal(b"A", b"BC"), results.conceal(b"AB", b"C"));
        assert_ne!(results.conceal(b"A", b"x"), Digest::of(b"x"));
    }
}
