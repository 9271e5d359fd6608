//! Finds, reads and replaces a contract's lock.

use crate::adjacent_file::{self, AdjacentFile, BesideError, FileBeside};
use crate::load::Site;
use rustix::io::Errno;
use std::io;
use std::time::Duration;
use vplan_base::path::RepoPath;
use vplan_git::object::Oid;
use vplan_lock::error::NEWER;
use vplan_lock::{Lock, MAX_BYTES, decode, encode, update};
use vplan_os::files;
use vplan_os::retry_eintr::{flock_within, open_folder};

/// A contract's lock, with its text and diagnostics.
pub type LockFile = FileBeside<Lock>;

impl LockFile {
    /// Whether a newer vplan wrote it, so that this one must not replace it.
    pub fn is_newer(&self) -> bool {
        self.diagnostics.iter().any(|d| d.code == NEWER)
    }
}

/// Returns the path of the lock next to a contract: `verify.vplan` has `verify.lock.kdl`.
pub fn path_for(contract: &RepoPath) -> RepoPath {
    contract.with_ending(b".lock.kdl")
}

/// Reads a lock: from a revision, or from the work tree. A missing one is empty.
///
/// # Errors
/// It exists, but is not a regular UTF-8 file of at most [`MAX_BYTES`].
pub fn read(site: &Site, path: &RepoPath, revision: Option<&Oid>) -> Result<LockFile, BesideError> {
    let text = adjacent_file::read(site, AdjacentFile::Lock, path, revision, MAX_BYTES)?;
    Ok(LockFile::decode(path, text, decode))
}

/// Replaces a lock by the result of `change` for the present one. Two writers take turns, and a
/// reader gets the old one or the new one. Returns the old lock, and whether a new one was written:
/// an unchanged one is not.
///
/// # Errors
/// It cannot be read or written; another writer takes longer than `limit`; an error of `change`.
pub fn replace<E: From<BesideError>>(
    site: &Site,
    path: &RepoPath,
    limit: Duration,
    change: impl FnOnce(&LockFile) -> Result<Lock, E>,
) -> Result<bool, E> {
    let unwritable = |e: io::Error| BesideError::Unwritable {
        what: AdjacentFile::Lock,
        path: path.clone(),
        message: e.to_string(),
    };
    let target = site.root.join(path.to_os());
    let directory = target.parent().unwrap_or(&site.root);
    let held = open_folder(directory).map_err(|e| unwritable(e.into()))?;
    match flock_within(&held, limit) {
        Ok(true) => {}
        Ok(false) => return Err(BesideError::Busy(path.clone()).into()),
        // The file system has no locks: the rename alone keeps the file complete.
        Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => {}
        Err(e) => return Err(unwritable(e.into()).into()),
    }
    let found = read(site, path, None)?;
    let lock = change(&found)?;
    let text = match &found.text {
        None if lock.is_empty() => return Ok(false),
        Some(_) if !found.has_errors() && found.content == lock => return Ok(false),
        Some(text) => update(text, &lock),
        None => encode(&lock),
    };
    files::replace(&target, text.as_bytes()).map_err(unwritable)?;
    drop(held);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (contract, lock) in [
            ("contracts/verify.vplan", "contracts/verify.lock.kdl"),
            ("verify.vplan", "verify.lock.kdl"),
            ("a.b/verify", "a.b/verify.lock.kdl"),
            ("a/.hidden", "a/.hidden.lock.kdl"),
            ("verify.contract.json", "verify.contract.lock.kdl"),
        ] {
            assert_eq!(
                path_for(&RepoPath::parse(contract.as_bytes()).unwrap()).to_string(),
                lock
            );
        }
    }
}
