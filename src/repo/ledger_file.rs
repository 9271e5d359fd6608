//! Stores a ledger: whole at any moment, one writer at a time, and never taken for empty when
//! damaged.
//!
//! A writer locks a file next to the ledger, reads, decides, writes a new file, and renames it over
//! the old one. A killed writer leaves the old ledger or the new one, and its lock is released. A
//! reader needs no lock.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, renameat};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use vplan_base::word::visible_path;
use vplan_ledger::Ledger;
use vplan_ledger::document::{UnusableLedger, decode, encode};
use vplan_os::atomic_file::{PRIVATE, replace};
use vplan_os::process::program::message_of;
use vplan_os::retry_eintr::{flock_within, openat};
use vplan_os::state_dir::StateDir;
use vplan_os::state_files;

/// Its name in the state directory.
const NAME: &str = "ledger.json";
/// The file that a writer locks. It is never removed: a lock on a file that is removed and made
/// again is two locks.
const LOCK: &str = "ledger.lock";
/// The name to which a damaged ledger is renamed.
const ASIDE: &str = "ledger.damaged";
/// Size limit of the ledger, in bytes.
const MOST: u64 = 64 << 20;
/// The time that a writer waits for others. One that reads many files locks the ledger for seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The reason why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It was not written by vplan, or is empty.
    #[error("the ledger `{}` cannot be used: {why}", visible_path(.path))]
    Unusable { path: PathBuf, why: UnusableLedger },
    /// Others have been writing all the time.
    #[error("the ledger `{}` has been locked by other writers for {}s", visible_path(.0), .1.as_secs())]
    Busy(PathBuf, Duration),
    /// The system refuses.
    #[error("the ledger `{}` cannot be {what}: {}", visible_path(.path), message_of(.source))]
    Io {
        path: PathBuf,
        /// `read`, `locked`, `written`
        what: &'static str,
        source: io::Error,
    },
}

impl LedgerError {
    /// Returns its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            LedgerError::Unusable {
                why: UnusableLedger::Damaged(_),
                ..
            } => "vplan::ledger::damaged",
            LedgerError::Unusable {
                why: UnusableLedger::Newer(_),
                ..
            } => "vplan::ledger::newer",
            LedgerError::Busy(..) => "vplan::ledger::busy",
            LedgerError::Io { .. } => "vplan::ledger::io",
        }
    }

    /// Returns the help for the message.
    pub fn help(&self) -> &'static str {
        match self {
            LedgerError::Unusable {
                why: UnusableLedger::Damaged(_),
                ..
            } => {
                "`vplan gate reset --all` puts it aside and begins anew: every subject is then unconfirmed"
            }
            LedgerError::Unusable {
                why: UnusableLedger::Newer(_),
                ..
            } => "use that vplan, or keep another ledger with `--state-dir DIR`",
            LedgerError::Busy(..) => {
                "try again; `fuser` on the file beside it, `ledger.lock`, names who holds it"
            }
            LedgerError::Io { .. } => "`--state-dir DIR` keeps it in another place",
        }
    }
}

/// The ledger of a repository.
#[derive(Debug)]
pub struct LedgerFile {
    place: StateDir,
}

impl LedgerFile {
    /// Makes the ledger of a state directory. Nothing is read yet.
    pub fn new(place: StateDir) -> Self {
        Self { place }
    }

    /// Reads it. A missing ledger is empty; one that cannot be read is an error.
    ///
    /// # Errors
    /// It cannot be read, or is not a ledger.
    pub fn read(&self) -> Result<Ledger, LedgerError> {
        let bytes = match state_files::read(&self.place.folder, NAME, MOST) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Ledger::default()),
            Err(e) => return Err(self.failed("read", e)),
        };
        decode(&bytes).map_err(|why| LedgerError::Unusable {
            path: self.path(),
            why,
        })
    }

    /// Replaces the ledger by the result of `change`, without another writer in between. Waits at
    /// most `limit` for other writers.
    ///
    /// # Errors
    /// The ledger cannot be read, locked or written, and is unchanged; or an error of `change`.
    pub fn change<T, E: From<LedgerError>>(
        &self,
        limit: Duration,
        change: impl FnOnce(&Ledger) -> Result<(Ledger, T), E>,
    ) -> Result<T, E> {
        let held = self.lock(limit)?;
        let found = self.read()?;
        let (next, answer) = change(&found)?;
        if next != found {
            self.write(&next)?;
        }
        drop(held);
        Ok(answer)
    }

    /// Begins anew, in any case; a damaged ledger is renamed. Returns the old one, if it was a
    /// ledger, and the new name of a damaged one.
    ///
    /// # Errors
    /// It cannot be locked or written, or a newer vplan wrote it.
    pub fn begin_anew(&self, limit: Duration) -> Result<(Ledger, Option<PathBuf>), LedgerError> {
        let held = self.lock(limit)?;
        let (found, aside) = match self.read() {
            Ok(found) => (found, None),
            Err(LedgerError::Unusable {
                why: UnusableLedger::Damaged(_),
                ..
            }) => {
                renameat(&self.place.folder, NAME, &self.place.folder, ASIDE)
                    .map_err(|e| self.failed("put aside", e.into()))?;
                (Ledger::default(), Some(self.place.path.join(ASIDE)))
            }
            Err(error) => return Err(error),
        };
        self.write(&Ledger::default())?;
        drop(held);
        Ok((found, aside))
    }

    fn path(&self) -> PathBuf {
        self.place.path.join(NAME)
    }

    fn failed(&self, what: &'static str, source: io::Error) -> LedgerError {
        LedgerError::Io {
            path: self.path(),
            what,
            source,
        }
    }

    /// Locks the ledger until the result is dropped, or its process ends.
    fn lock(&self, limit: Duration) -> Result<OwnedFd, LedgerError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(&self.place.folder, LOCK, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|e| self.failed("locked", e.into()))?;
        match flock_within(&held, limit) {
            Ok(true) => Ok(held),
            Ok(false) => Err(LedgerError::Busy(self.path(), limit)),
            // Without a lock a round could be lost, and with it a failure.
            Err(error) => Err(self.failed("locked", error.into())),
        }
    }

    /// Writes the ledger; the caller holds the lock.
    fn write(&self, ledger: &Ledger) -> Result<(), LedgerError> {
        let text = encode(ledger);
        replace(&self.place.folder, NAME, text.as_bytes(), PRIVATE)
            .map_err(|e| self.failed("written", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn kept() -> (tempfile::TempDir, LedgerFile) {
        let dir = tempfile::tempdir().unwrap();
        let place = StateDir::open(&dir.path().join("state"), dir.path()).unwrap();
        (dir, LedgerFile::new(place))
    }

    fn count(file: &LedgerFile) -> Result<u64, LedgerError> {
        file.change(PATIENCE, |l| {
            let next = Ledger {
                rounds: l.rounds + 1,
                ..l.clone()
            };
            Ok::<_, LedgerError>((next.clone(), next.rounds))
        })
    }

    #[test]
    fn what_is_written_is_read() {
        let (_dir, file) = kept();
        assert_eq!(file.read().unwrap(), Ledger::default());
        assert_eq!((count(&file).unwrap(), count(&file).unwrap()), (1, 2));
        assert_eq!(file.read().unwrap().rounds, 2);
        let refused = file.change(PATIENCE, |_| {
            Err::<(Ledger, ()), _>(file.failed("read", io::Error::other("no")))
        });
        assert!(refused.is_err());
        assert_eq!(
            file.read().unwrap().rounds,
            2,
            "nothing is written when nothing was decided"
        );
    }

    #[test]
    fn what_a_killed_writer_leaves_is_no_ledger() {
        let (_dir, file) = kept();
        count(&file).unwrap();
        let new = file.place.path.join(".ledger.json.new-1-2-3");
        fs::write(&new, "{\"half").unwrap();
        assert_eq!(file.read().unwrap().rounds, 1);
        assert_eq!(count(&file).unwrap(), 2);
        assert!(!new.exists());
    }

    #[test]
    fn a_damaged_one_is_an_error_until_it_is_put_aside() {
        let (_dir, file) = kept();
        count(&file).unwrap();
        for damage in [
            "",
            "{}",
            "{\"digest\":\"sha256:0\",\"ledger\":{},\"version\":1}",
        ] {
            fs::write(file.path(), damage).unwrap();
            let error = file.read().unwrap_err();
            assert_eq!(error.code(), "vplan::ledger::damaged");
            assert!(error.help().contains("reset --all"));
            assert!(count(&file).is_err());
            assert_eq!(
                fs::read_to_string(file.path()).unwrap(),
                damage,
                "it is left as it is"
            );
            let (found, aside) = file.begin_anew(PATIENCE).unwrap();
            assert_eq!(found, Ledger::default());
            assert_eq!(fs::read_to_string(aside.unwrap()).unwrap(), damage);
            assert_eq!(file.read().unwrap(), Ledger::default());
        }
        fs::write(file.path(), "{\"version\":4}").unwrap();
        assert_eq!(
            file.begin_anew(PATIENCE).unwrap_err().code(),
            "vplan::ledger::newer"
        );
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(file.read().is_err());
        fs::remove_dir(file.path()).unwrap();
        std::os::unix::fs::symlink("/dev/null", file.path()).unwrap();
        assert!(file.read().is_err(), "a symlink is not followed");
    }

    #[test]
    fn writers_take_turns() {
        let (_dir, file) = kept();
        let held = file.lock(PATIENCE).unwrap();
        let busy = file.change(Duration::ZERO, |l| Ok::<_, LedgerError>((l.clone(), ())));
        assert_eq!(busy.unwrap_err().code(), "vplan::ledger::busy");
        assert!(file.read().is_ok(), "a reader needs no lock");
        drop(held);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..20).map(|_| count(&file).unwrap()).collect::<Vec<_>>()))
                .collect();
            let mut seen: Vec<u64> = threads
                .into_iter()
                .flat_map(|t| t.join().unwrap())
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, (1..=160).collect::<Vec<_>>());
        });
    }
}
