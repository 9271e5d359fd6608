//! Decides whether a temporary file or folder is still in use. Its writer holds a lock on it; one
//! without a lock was left by a process that was killed.
//!
//! If the system has no such locks, nothing is removed.

use crate::retry_eintr::flock;
use rustix::fd::AsFd;
use rustix::fs::{FlockOperation, fstat};
use rustix::io::Errno;
use std::io;

/// Locks a file or folder that was just made. `false` when another process has taken it for
/// abandoned before that: it has locked it to remove it, or has removed it.
///
/// # Errors
/// Errors of the system.
pub fn claim(made: impl AsFd) -> io::Result<bool> {
    let taken = flock(&made, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    Ok(!taken && fstat(&made)?.st_nlink > 0)
}

/// Removes a file or folder that no process has locked. It is locked during the removal: a process
/// that has made it and not locked it yet must find it locked or gone.
pub fn reap(found: impl AsFd, remove: impl FnOnce() -> io::Result<()>) {
    if flock(&found, FlockOperation::NonBlockingLockExclusive).is_ok() {
        // A file that cannot be removed does no harm.
        let _ = remove();
    }
    drop(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn whoever_claims_too_late_goes_without() {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("file"), dir.path().join("folder"));
        std::fs::write(&file, "").unwrap();
        std::fs::create_dir(&folder).unwrap();
        for path in [&file, &folder] {
            let made = File::open(path).unwrap();
            reap(File::open(path).unwrap(), || {
                assert!(!claim(&made)?, "locked until it is removed");
                if path.is_dir() {
                    std::fs::remove_dir(path)
                } else {
                    std::fs::remove_file(path)
                }
            });
            assert!(!path.exists());
            assert!(!claim(&made).unwrap(), "gone");
        }
    }

    #[test]
    fn what_is_claimed_stays() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(claim(&file).unwrap());
        reap(File::open(file.path()).unwrap(), || {
            panic!("it is somebody's")
        });
        assert!(!claim(File::open(file.path()).unwrap()).unwrap());
    }
}
