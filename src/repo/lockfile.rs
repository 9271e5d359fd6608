//! Finds, reads and replaces a contract's lock.

use crate::beside::{self, Beside, BesideError};
use crate::load::Site;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};
use vplan_base::diagnostic::{Diagnostic, Severity};
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_git::object::Oid;
use vplan_lock::error::NEWER;
use vplan_lock::{Lock, MAX_BYTES, decode, encode, update};
use vplan_os::files;
use vplan_os::retry_eintr::{flock, openat};

/// A contract's lock, with its text and diagnostics.
#[derive(Debug, Default)]
pub struct LockFile {
    /// Its text; `None` if the file does not exist.
    pub text: Option<String>,
    /// Its content, without the entries that are wrong.
    pub lock: Lock,
    /// The text with its name, for the messages.
    pub sources: Sources,
    /// The errors in it.
    pub diagnostics: Vec<Diagnostic>,
}

impl LockFile {
    /// Whether there are errors in it.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }

    /// Whether a newer vplan wrote it, so that this one must not replace it.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.diagnostics.iter().any(|d| d.code == NEWER)
    }

    fn of(path: &RepoPath, text: String) -> Self {
        let mut sources = Sources::default();
        let id = sources.add(Source::new(path.to_string(), &text));
        let added = &sources;
        let (lock, found) = decode(added[id].text(), id);
        Self {
            lock,
            diagnostics: found.sorted(),
            sources,
            text: Some(text),
        }
    }
}

/// Returns the path of the lock next to a contract: `verify.vplan` has `verify.lock.kdl`.
#[must_use]
pub fn path_for(contract: &RepoPath) -> RepoPath {
    contract.with_ending(b".lock.kdl")
}

/// Reads a lock: from a revision, or from the work tree. A missing one is empty.
///
/// # Errors
/// It exists, but is not a regular UTF-8 file of at most [`MAX_BYTES`].
pub fn read(site: &Site, path: &RepoPath, revision: Option<&Oid>) -> Result<LockFile, BesideError> {
    let text = beside::read(site, Beside::Lock, path, revision, MAX_BYTES)?;
    Ok(text.map_or_else(LockFile::default, |text| LockFile::of(path, text)))
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
        what: Beside::Lock,
        path: path.clone(),
        message: e.to_string(),
    };
    let target = site.root.join(path.to_os());
    let directory = target.parent().unwrap_or(&site.root);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = openat(rustix::fs::CWD, directory, flags, Mode::empty())
        .map_err(|e| unwritable(e.into()))?;
    let deadline = Instant::now() + limit;
    loop {
        match flock(&held, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5))
            }
            Err(Errno::WOULDBLOCK) => return Err(BesideError::Busy(path.clone()).into()),
            // The file system has no locks: the rename alone keeps the file complete.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => break,
            Err(e) => return Err(unwritable(e.into()).into()),
        }
    }
    let found = read(site, path, None)?;
    let lock = change(&found)?;
    let text = match &found.text {
        None if lock.is_empty() => return Ok(false),
        Some(_) if !found.has_errors() && found.lock == lock => return Ok(false),
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
