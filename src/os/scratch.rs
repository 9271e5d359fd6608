//! Temporary folders. If a process is killed, its folder stays; the next process that makes a
//! folder of the same kind removes it.

use crate::parallel::locked;
use crate::retry_eintr::{self, open_folder, read_dir};
use crate::stale_temp;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, OFlags, fstat, llistxattr};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
pub use tempfile::TempDir;

/// Makes a temporary folder that is removed on drop; if the process is killed, it stays.
///
/// # Errors
/// Errors of the system.
pub fn temporary() -> io::Result<TempDir> {
    tempfile::tempdir()
}

/// Temporary folders that are emptied and used again, and removed together. Making one takes the
/// system forty microseconds, and a millisecond if it has just removed many (ext4).
#[derive(Debug)]
pub struct ScratchFolders {
    /// The path, without links, of the folder around them.
    path: PathBuf,
    made: AtomicU64,
    /// Those that are empty and as new.
    free: Arc<Mutex<Vec<PathBuf>>>,
    _parent: TempDir,
}

impl ScratchFolders {
    /// Makes the folder around them.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn new() -> io::Result<Self> {
        let parent = temporary()?;
        Ok(Self {
            path: parent.path().canonicalize()?,
            made: AtomicU64::new(0),
            free: Arc::default(),
            _parent: parent,
        })
    }

    /// Gives one, which only its user can use. No links lead to its path.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn make(&self) -> io::Result<Emptied> {
        let free = Arc::clone(&self.free);
        let last = locked(&free).pop();
        if let Some(path) = last {
            return Ok(Emptied { path, free });
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(number.to_string());
        DirBuilder::new().mode(OWN).create(&path)?;
        Ok(Emptied { path, free })
    }
}

/// Only its user can use it.
const OWN: u32 = 0o700;

/// A folder that is emptied on drop.
#[derive(Debug)]
pub struct Emptied {
    path: PathBuf,
    free: Arc<Mutex<Vec<PathBuf>>>,
}

impl Emptied {
    /// Returns its path.
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

    /// Whether its user left the folder itself unchanged: owner, permissions, attributes.
    fn is_as_new(&self) -> bool {
        let is_own = self.path.symlink_metadata().is_ok_and(|found| {
            found.is_dir()
                && found.mode() & 0o7777 == OWN
                && found.uid() == geteuid().as_raw()
                && found.gid() == getegid().as_raw()
        });
        let mut names = [0; 256];
        let is_usual = match llistxattr(&self.path, &mut names) {
            // SELinux gives every file this one.
            Ok(length) => [&b""[..], b"security.selinux\0"]
                .into_iter()
                .any(|usual| names.get(..length) == Some(usual)),
            Err(error) => error == Errno::NOTSUP,
        };
        is_own && is_usual
    }
}

impl Drop for Emptied {
    fn drop(&mut self) {
        // If it cannot be emptied now, it is removed later with all others.
        if self.empty().is_ok() && self.is_as_new() {
            locked(&self.free).push(std::mem::take(&mut self.path));
        }
    }
}

/// A kind of temporary folder.
#[derive(Clone, Copy, Debug)]
pub struct ScratchKind {
    /// The beginning of its name.
    pub prefix: &'static str,
    /// Removes it with all that is in it.
    pub remove: fn(&Path) -> io::Result<()>,
}

/// A folder that is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    lock: OwnedFd,
}

impl Scratch {
    /// Makes one of a kind, and removes those that killed processes have left.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn below(parent: &Path, kind: ScratchKind) -> io::Result<Self> {
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

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Leaves it, with its lock, to the caller.
    pub fn keep(self) -> (PathBuf, OwnedFd) {
        (self.dir.keep(), self.lock)
    }
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    retry_eintr::open(CWD, path, OFlags::DIRECTORY | OFlags::NOFOLLOW)
}

fn remove_abandoned(parent: &Path, kind: ScratchKind) {
    let Ok(entries) = open_folder(parent).and_then(read_dir) else {
        return;
    };
    let user = geteuid().as_raw();
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

    const KIND: ScratchKind = ScratchKind {
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
    fn an_emptied_folder_is_used_again_if_it_is_as_new() {
        let folders = ScratchFolders::new().unwrap();
        let one = folders.make().unwrap();
        let path = one.path().to_owned();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/c"), "x").unwrap();
        let other = folders.make().unwrap();
        assert_ne!(other.path(), path);
        drop(one);
        let again = folders.make().unwrap();
        assert_eq!(again.path(), path);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        for mode in [0o755, 0o1700, 0o500] {
            let one = folders.make().unwrap();
            let changed = one.path().to_owned();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&changed, mode).unwrap();
            drop(one);
            assert_ne!(folders.make().unwrap().path(), changed);
        }
        let named = folders.make().unwrap();
        let changed = named.path().to_owned();
        let flags = rustix::fs::XattrFlags::empty();
        // Not every file system has attributes.
        if rustix::fs::setxattr(&changed, "user.vplan", b"x", flags).is_ok() {
            drop(named);
            assert_ne!(folders.make().unwrap().path(), changed);
        }
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
