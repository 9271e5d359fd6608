//! Finds, reads and replaces a contract's lock.

use crate::base::diagnostic::{Diagnostic, Severity};
use crate::base::path::RepoPath;
use crate::base::source::{Source, Sources};
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::os::files;
use crate::effect::os::retry_eintr::{flock, openat};
use crate::effect::repo::beside::{self, UnreadBeside};
use crate::effect::repo::load::Site;
use crate::lock::error::NEWER;
use crate::lock::{Lock, MAX_BYTES, decode, encode, update};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};

/// A contract's lock as it was found.
#[derive(Debug, Default)]
pub struct LockFile {
    /// Its text; `None` where there is no such file.
    pub text: Option<String>,
    /// Its content, without the entries that are wrong.
    pub lock: Lock,
    /// The text with its name, for the messages.
    pub sources: Sources,
    /// The errors in it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The reason why there is no lock. One with mistakes in it is none of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockFileError {
    /// It exists and cannot be read.
    #[error("the lock `{path}` cannot be read: {message}")]
    Unreadable {
        /// The file.
        path: RepoPath,
        /// The reason.
        message: String,
    },
    /// It cannot be replaced.
    #[error("the lock `{path}` cannot be written: {message}")]
    Unwritable {
        /// The file.
        path: RepoPath,
        /// The reason.
        message: String,
    },
    /// Another `vplan lock` takes too long.
    #[error("another `vplan lock` has been writing `{0}` all the time")]
    Busy(RepoPath),
    /// Git cannot read the revision.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl LockFileError {
    /// Returns its stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            LockFileError::Unreadable { .. } => "vplan::lock::unreadable",
            LockFileError::Unwritable { .. } => "vplan::lock::unwritable",
            LockFileError::Busy(_) => "vplan::lock::busy",
            LockFileError::Git(e) => e.code(),
        }
    }

    /// Returns the way out, where there is one.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            LockFileError::Unreadable { .. } => Some(
                "a lock is a regular file of the repository: take away what is there, then `vplan lock`".to_owned(),
            ),
            LockFileError::Unwritable { .. } => None,
            LockFileError::Busy(_) => Some("try again".to_owned()),
            LockFileError::Git(e) => e.help(),
        }
    }
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
/// It exists and is no regular UTF-8 file of at most [`MAX_BYTES`].
pub fn read(
    site: &Site,
    path: &RepoPath,
    revision: Option<&Oid>,
) -> Result<LockFile, LockFileError> {
    let text = beside::read(site, path, revision, MAX_BYTES).map_err(|unread| match unread {
        UnreadBeside::Git(error) => LockFileError::Git(error),
        UnreadBeside::File(message) => LockFileError::Unreadable {
            path: path.clone(),
            message,
        },
    })?;
    Ok(text.map_or_else(LockFile::default, |text| LockFile::of(path, text)))
}

/// Replaces a lock by what `change` makes of the one that is there then. Two writers take turns,
/// and a reader sees the old one or the new one. Returns the old lock and whether a new one was
/// written: an unchanged one is not.
///
/// # Errors
/// It cannot be read or written; another writer takes longer than `limit`; an error of `change`.
pub fn replace<E: From<LockFileError>>(
    site: &Site,
    path: &RepoPath,
    limit: Duration,
    change: impl FnOnce(&LockFile) -> Result<Lock, E>,
) -> Result<bool, E> {
    let unwritable = |e: io::Error| LockFileError::Unwritable {
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
            Err(Errno::WOULDBLOCK) => return Err(LockFileError::Busy(path.clone()).into()),
            // A file system without locks: the rename alone keeps the file whole.
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
