//! Temporary folders for fetches. A killed process leaves its folder behind; the next one removes
//! it.

use crate::effect::os::retry_eintr::{openat, read_dir};
use crate::effect::os::stale_temp;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fstat};
use rustix::io::Errno;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "vplan-fetch-";

/// A folder that is removed on drop.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: TempDir,
    _lock: OwnedFd,
}

impl Scratch {
    /// Makes one below the system's folder for temporary files.
    ///
    /// # Errors
    /// Errors of the system.
    pub(super) fn new() -> io::Result<Self> {
        Self::below(&tempfile::env::temp_dir())
    }

    fn below(parent: &Path) -> io::Result<Self> {
        remove_abandoned(parent);
        loop {
            let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let lock = match open(dir.path()) {
                // Another process took it for abandoned and removed it.
                Err(Errno::NOENT) => continue,
                opened => opened?,
            };
            if stale_temp::claim(&lock)? {
                return Ok(Self { dir, _lock: lock });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
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

fn remove_abandoned(parent: &Path) {
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
        .filter(|e| e.file_name().to_bytes().starts_with(PREFIX.as_bytes()))
    {
        let path = parent.join(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()));
        let Ok(dir) = open(&path) else { continue };
        if fstat(&dir).is_ok_and(|stat| stat.st_uid == user) {
            stale_temp::reap(dir, || {
                tracing::debug!(path = %path.display(), "abandoned");
                std::fs::remove_dir_all(&path)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_abandoned_goes_and_what_is_used_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        std::fs::create_dir_all(path("vplan-fetch-killed/objects/pack")).unwrap();
        std::fs::write(path("vplan-fetch-killed/objects/pack/tmp_pack"), "x").unwrap();
        std::fs::create_dir(path("vplan-other")).unwrap();
        std::fs::write(path("vplan-fetch-file"), "x").unwrap();
        std::os::unix::fs::symlink("vplan-other", path("vplan-fetch-link")).unwrap();
        let one = Scratch::below(parent.path()).unwrap();
        assert!(!path("vplan-fetch-killed").exists());
        std::fs::write(one.path().join("HEAD"), "x").unwrap();
        let other = Scratch::below(parent.path()).unwrap();
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
                        let scratch = Scratch::below(parent.path()).unwrap();
                        std::fs::write(scratch.path().join("HEAD"), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
