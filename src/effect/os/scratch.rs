//! Temporary folders. A killed process leaves its folder behind; the next one that makes one of the
//! same kind removes it.

use crate::effect::os::retry_eintr::{openat, read_dir};
use crate::effect::os::stale_temp;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fstat};
use rustix::io::Errno;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
pub use tempfile::TempDir;

/// Makes a temporary folder that is removed on drop; that of a killed process stays.
///
/// # Errors
/// Errors of the system.
pub fn temporary() -> io::Result<TempDir> {
    tempfile::tempdir()
}

/// Temporary folders that are emptied one by one, and removed together: where a file system has just
/// removed many (ext4), it takes a millisecond to make one more.
#[derive(Debug)]
pub struct Folders {
    /// The path without links of the folder that holds them.
    path: PathBuf,
    made: AtomicU64,
    _parent: TempDir,
}

impl Folders {
    /// Makes the folder that holds them.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn new() -> io::Result<Self> {
        let parent = temporary()?;
        Ok(Self {
            path: parent.path().canonicalize()?,
            made: AtomicU64::new(0),
            _parent: parent,
        })
    }

    /// Makes one more, which only its user can use. No links lead to its path.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn make(&self) -> io::Result<Emptied> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(number.to_string());
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Emptied { path })
    }
}

/// A folder that is emptied on drop.
#[derive(Debug)]
pub struct Emptied {
    path: PathBuf,
}

impl Emptied {
    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn empty(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let (kind, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
            if !kind?.is_dir() {
                std::fs::remove_file(path)?;
            } else if std::fs::remove_dir(&path).is_err() {
                std::fs::remove_dir_all(path)?;
            }
        }
        Ok(())
    }
}

impl Drop for Emptied {
    fn drop(&mut self) {
        // What cannot be removed now is tried again with all of them.
        let _ = self.empty();
    }
}

/// A kind of temporary folder.
#[derive(Clone, Copy, Debug)]
pub(in crate::effect) struct Kind {
    /// The beginning of its name.
    pub prefix: &'static str,
    /// Removes it with all that is in it.
    pub remove: fn(&Path) -> io::Result<()>,
}

/// A folder that is removed on drop.
#[derive(Debug)]
pub(in crate::effect) struct Scratch {
    dir: TempDir,
    lock: OwnedFd,
}

impl Scratch {
    /// Makes one of a kind, and removes those that killed processes have left.
    ///
    /// # Errors
    /// Errors of the system.
    pub(in crate::effect) fn below(parent: &Path, kind: Kind) -> io::Result<Self> {
        remove_abandoned(parent, kind);
        loop {
            let dir = tempfile::Builder::new()
                .prefix(kind.prefix)
                .tempdir_in(parent)?;
            let lock = match open(dir.path()) {
                // Another process took it for abandoned and removed it.
                Err(Errno::NOENT) => continue,
                opened => opened?,
            };
            if stale_temp::claim(&lock)? {
                return Ok(Self { dir, lock });
            }
        }
    }

    pub(in crate::effect) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Leaves it, with its lock, to the caller.
    pub(in crate::effect) fn keep(self) -> (PathBuf, OwnedFd) {
        (self.dir.keep(), self.lock)
    }
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat(
        CWD,
        path,
        OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

fn remove_abandoned(parent: &Path, kind: Kind) {
    let Ok(entries) = openat(
        CWD,
        parent,
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .and_then(read_dir) else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    for entry in entries
        .flatten()
        .filter(|e| e.file_name().to_bytes().starts_with(kind.prefix.as_bytes()))
    {
        let path = parent.join(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()));
        let Ok(dir) = open(&path) else { continue };
        if fstat(&dir).is_ok_and(|stat| stat.st_uid == user) {
            stale_temp::reap(dir, || {
                tracing::debug!(path = %path.display(), "abandoned");
                (kind.remove)(&path)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        prefix: "vplan-fetch-",
        remove: |path| std::fs::remove_dir_all(path),
    };

    #[test]
    fn what_was_abandoned_goes_and_what_is_used_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        std::fs::create_dir_all(path("vplan-fetch-killed/objects/pack")).unwrap();
        std::fs::write(path("vplan-fetch-killed/objects/pack/tmp_pack"), "x").unwrap();
        std::fs::create_dir(path("vplan-other")).unwrap();
        std::fs::write(path("vplan-fetch-file"), "x").unwrap();
        std::os::unix::fs::symlink("vplan-other", path("vplan-fetch-link")).unwrap();
        let one = Scratch::below(parent.path(), KIND).unwrap();
        assert!(!path("vplan-fetch-killed").exists());
        std::fs::write(one.path().join("HEAD"), "x").unwrap();
        let other = Scratch::below(parent.path(), KIND).unwrap();
        assert!(one.path().join("HEAD").exists() && other.path() != one.path());
        drop(one);
        drop(other);
        let mut left: Vec<_> = std::fs::read_dir(parent.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(
            left,
            ["vplan-fetch-file", "vplan-fetch-link", "vplan-other"],
            "nothing else is touched"
        );
    }

    #[test]
    fn many_at_once() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let scratch = Scratch::below(parent.path(), KIND).unwrap();
                        std::fs::write(scratch.path().join("HEAD"), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
