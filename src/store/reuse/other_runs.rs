//! Tells whether other runs of vplan went on in the same repository while a step ran: what these
//! wrote is not its output.
//!
//! Each run has its own file, locked for as long as it lasts. The file stays until a later run
//! begins, so a run that began and ended meanwhile is detected, too.

use super::results::FOLDER;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use vplan_os::atomic_file::create;
use vplan_os::retry_eintr::{self, flock, read_dir};
use vplan_os::stale_temp::{claim, reap};
use vplan_os::state_dir::StateDir;
use vplan_os::state_files;

/// The folder of the marks, in that of the kept passes.
const RUNS: &str = "runs";
/// How often a mark is tried: another run may look at it before it is locked.
const TRIES: u32 = 8;

/// The mark of a run that goes on, until it is dropped.
#[derive(Debug)]
pub struct RunMark {
    folder: OwnedFd,
    name: String,
    /// Holds the lock.
    _file: File,
}

/// The other runs detected at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRuns {
    names: BTreeSet<String>,
    /// Whether one of them goes on.
    active: bool,
}

impl OtherRuns {
    /// Whether no other run went on at any time between this moment and a later one.
    pub(crate) fn is_alone_until(&self, later: &OtherRuns) -> bool {
        !self.active && !later.active && later.names.is_subset(&self.names)
    }
}

impl RunMark {
    /// Marks a run, where passes are kept, and removes the marks of runs that are over.
    ///
    /// # Errors
    /// Errors of the system; that no pass was ever kept.
    pub fn set(state: &StateDir, run_id: &str) -> io::Result<Self> {
        let folder = state_files::folder(state_files::find(&state.folder, FOLDER)?, RUNS)?;
        for name in names(&folder)? {
            if let Ok(file) = open(&folder, &name) {
                reap(file, || {
                    Ok(unlinkat(&folder, name.as_str(), AtFlags::empty())?)
                });
            }
        }
        for nth in 0..TRIES {
            let name = format!("{run_id}.{nth}");
            let file = create(&folder, name.as_str(), Mode::from_raw_mode(0o600))?;
            if claim(&file)? {
                return Ok(Self {
                    folder,
                    name,
                    _file: file,
                });
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Looks for other runs.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn others(&self) -> io::Result<OtherRuns> {
        let mut names = names(&self.folder)?;
        names.remove(&self.name);
        // One that cannot be opened is over, and a later run has begun.
        let is_locked = |name: &String| {
            let lock = FlockOperation::NonBlockingLockShared;
            open(&self.folder, name).is_ok_and(|file| flock(&file, lock) == Err(Errno::WOULDBLOCK))
        };
        let active = names.iter().any(is_locked);
        Ok(OtherRuns { names, active })
    }
}

fn open(folder: &OwnedFd, name: &str) -> rustix::io::Result<File> {
    retry_eintr::open(folder, name, OFlags::NOFOLLOW | OFlags::NONBLOCK).map(File::from)
}

fn names(folder: &OwnedFd) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        if !matches!(&*name, "." | "..") {
            names.insert(name.into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::super::results::StoredResults;
    use super::*;

    #[test]
    fn who_ran_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        let state = StateDir::open(&dir.path().join("state"), &dir.path().join("repo")).unwrap();
        assert!(RunMark::set(&state, "a").is_err(), "nothing is kept here");
        StoredResults::open(&state).unwrap();
        let a = RunMark::set(&state, "a").unwrap();
        let alone = a.others().unwrap();
        assert!(alone.is_alone_until(&a.others().unwrap()));

        let b = RunMark::set(&state, "b").unwrap();
        assert!(!alone.is_alone_until(&a.others().unwrap()), "it goes on");
        let beside = b.others().unwrap();
        assert!(!beside.is_alone_until(&beside), "so did this one");
        drop(b);
        let later = a.others().unwrap();
        assert!(!alone.is_alone_until(&later), "it began and ended");
        assert!(later.is_alone_until(&a.others().unwrap()), "and is over");

        let c = RunMark::set(&state, "c").unwrap();
        assert_eq!(names(&c.folder).unwrap().len(), 2, "that of b is gone");
        drop(c);
        assert!(!later.is_alone_until(&a.others().unwrap()));
        drop(a);
        let d = RunMark::set(&state, "d").unwrap();
        assert_eq!(names(&d.folder).unwrap().len(), 1);
    }
}
