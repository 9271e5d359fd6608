//! Resolves a git import to bytes: those that the lock pins, or those that will be pinned.

use crate::adjacent_file::BesideError;
use crate::load::Site;
use crate::lockfile::{self, LockFile};
use std::collections::BTreeSet;
use vplan_base::canon::Digest;
use vplan_base::diagnostic::Code;
use vplan_base::origin::{GitOrigin, GitRef};
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_git::error::GitError;
use vplan_git::fetch::Fetcher;
use vplan_git::pins::{PinError, Pins, error, helped};
use vplan_lock::{Lock, PinnedImport, PinnedRef};
use vplan_store::import_cache::{Store, StoreError};

/// The lock does not have the import.
pub const NOT_PINNED: Code = Code("vplan::lock::not_pinned");
/// The cache lacks the pinned bytes.
pub(crate) const NOT_CACHED: Code = Code("vplan::lock::not_cached");
/// The cache has other bytes under the digest.
pub(crate) const CACHE_TAMPERED: Code = Code("vplan::lock::cache_tampered");
/// The cache cannot be read or written.
pub const CACHE: Code = Code("vplan::lock::cache");
/// The fetched bytes are not the pinned ones.
pub const CHANGED: Code = Code("vplan::lock::changed");
/// It must be fetched, which `--offline` forbids.
pub(crate) const OFFLINE: Code = Code("vplan::lock::offline");
/// The lock has mistakes.
pub(crate) const INVALID: Code = Code("vplan::lock::invalid");
/// All codes of this file.
pub const CODES: [Code; 7] = [
    NOT_PINNED,
    NOT_CACHED,
    CACHE_TAMPERED,
    CACHE,
    CHANGED,
    OFFLINE,
    INVALID,
];

/// Reads pinned bytes and no other: for every command but `vplan lock`.
#[derive(Debug)]
pub struct Pinned<'a> {
    pub lock: &'a Lock,
    /// The cache; `None` if the user has none.
    pub store: Option<&'a Store>,
    /// `--max-file`, in bytes.
    pub max_file: u64,
}

impl Pins for Pinned<'_> {
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError> {
        let Some(pin) = self.lock.import(origin) else {
            let message = format!("`{}` is not pinned by the lock", origin.url);
            let help = "`vplan lock` fetches and pins it";
            return Err(helped(NOT_PINNED, message, help));
        };
        let store = self.store.ok_or_else(no_cache)?;
        match cached(store, pin, self.max_file)? {
            Some(bytes) => Ok(bytes),
            None => {
                let message = format!("`{}` is pinned, but not in the cache", origin.url);
                Err(helped(NOT_CACHED, message, "`vplan lock` fetches it"))
            }
        }
    }

    fn commit(&mut self, at: &GitRef) -> Result<String, PinError> {
        let pinned = self.lock.commit(at).map(|pinned| pinned.commit.clone());
        pinned.ok_or_else(|| {
            let message = format!("`{}` of `{}` is not pinned by the lock", at.name, at.url);
            let help = "`vplan lock` finds its commit and pins it";
            helped(NOT_PINNED, message, help)
        })
    }
}

/// Reads the bytes that the lock next to a contract pins. The lock is read on the first import,
/// since most contracts have none.
#[derive(Debug)]
pub struct PinnedImports<'a> {
    site: &'a Site,
    path: RepoPath,
    revision: Option<&'a str>,
    store: Option<&'a Store>,
    max_file: u64,
    found: Option<Result<LockFile, BesideError>>,
    /// The imports that were requested.
    pub requested: BTreeSet<GitOrigin>,
    /// The branches and tags whose commits were requested.
    pub requested_refs: BTreeSet<GitRef>,
}

impl<'a> PinnedImports<'a> {
    /// Makes it without reading. `path`: the lock; `revision`: its source, if not the work tree.
    pub fn new(
        site: &'a Site,
        path: RepoPath,
        revision: Option<&'a str>,
        store: Option<&'a Store>,
        max_file: u64,
    ) -> Self {
        Self {
            site,
            path,
            revision,
            store,
            max_file,
            found: None,
            requested: BTreeSet::new(),
            requested_refs: BTreeSet::new(),
        }
    }

    /// Reads the lock, if it was not read yet.
    pub fn read(&mut self) -> &Result<LockFile, BesideError> {
        let Self {
            site,
            path,
            revision,
            ..
        } = self;
        self.found.get_or_insert_with(|| {
            let git = || site.git.as_ref().map_err(GitError::clone);
            let commit = revision.map(|revision| git()?.resolve_name(revision));
            lockfile::read(site, path, commit.transpose()?.as_ref())
        })
    }

    /// Returns what the lock pins, unless there are mistakes in it.
    fn pinned(&mut self) -> Result<Pinned<'_>, PinError> {
        let (path, store, max_file) = (self.path.clone(), self.store, self.max_file);
        match self.read() {
            Ok(found) if found.has_errors() => {
                let message =
                    format!("the lock `{path}` has mistakes, so that nothing is taken from it");
                Err(helped(INVALID, message, "`vplan lock --check` shows them"))
            }
            Ok(found) => Ok(Pinned {
                lock: &found.content,
                store,
                max_file,
            }),
            Err(e) => Err(PinError {
                help: e.help(),
                ..error(Code(e.code()), e.to_string())
            }),
        }
    }

    /// Returns the lock, if it was read.
    pub fn into_found(self) -> Option<Result<LockFile, BesideError>> {
        self.found
    }
}

impl Pins for PinnedImports<'_> {
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError> {
        self.requested.insert(origin.clone());
        let revision = self.revision;
        // The present pins are not those of the revision.
        let of_revision = |e: PinError| match revision {
            Some(revision) if e.code == NOT_CACHED || e.code == CACHE_TAMPERED => {
                let revision = visible(revision);
                PinError {
                    help: Some(format!(
                        "`vplan lock --contract-from {revision}` fetches it"
                    )),
                    ..e
                }
            }
            _ => e,
        };
        self.pinned()?.read(origin).map_err(of_revision)
    }

    fn commit(&mut self, at: &GitRef) -> Result<String, PinError> {
        self.requested_refs.insert(at.clone());
        self.pinned()?.commit(at)
    }
}

/// Reads pinned bytes if there are any, or fetches them: for `vplan lock` alone.
#[derive(Debug)]
pub struct Fetching<'a> {
    /// The lock before.
    pub lock: &'a Lock,
    pub store: &'a Store,
    /// The fetcher; `None` with `--offline`, or the reason why git cannot fetch.
    pub fetcher: Option<Result<Fetcher, PinError>>,
    /// `--max-file`, in bytes.
    pub max_file: u64,
    /// The pins now, one for each requested import.
    pub pinned: Lock,
    /// The imports that were fetched, for the summary.
    pub fetched: BTreeSet<GitOrigin>,
    /// The branches and tags that are looked up again, even if they are pinned.
    pub moved: BTreeSet<GitRef>,
}

impl Pins for Fetching<'_> {
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError> {
        let known = self
            .lock
            .import(origin)
            .or_else(|| self.pinned.import(origin))
            .cloned();
        let found = match &known {
            // Bytes that are not as they were fetched are fetched again.
            Some(pin) => match cached(self.store, pin, self.max_file) {
                Err(e) if !matches!(e.code, CACHE_TAMPERED | CACHE) => return Err(e),
                found => found.ok().flatten(),
            },
            None => None,
        };
        if let (Some(pin), Some(bytes)) = (&known, found) {
            self.pinned.pin(pin.clone());
            return Ok(bytes);
        }
        let offline = || format!("`{}` is not in the cache", origin.url);
        let bytes = self.fetcher(offline)?.fetch(origin, self.max_file)?;
        let pin = PinnedImport {
            origin: origin.clone(),
            digest: Digest::hash(&bytes),
            bytes: bytes.len() as u64,
        };
        if let Some(before) = known
            && before != pin
        {
            let message = format!(
                "`{}` gives `{}`, but the lock pins `{}`",
                origin.url, pin.digest, before.digest
            );
            let help = "the same commit must have the same bytes: find out which of both is wrong; \
                        without its entry in the lock, `vplan lock` pins what is there now";
            return Err(helped(CHANGED, message, help));
        }
        self.store.write(&bytes).map_err(|e| store_error(&e))?;
        self.pinned.pin(pin);
        self.fetched.insert(origin.clone());
        Ok(bytes)
    }

    fn commit(&mut self, at: &GitRef) -> Result<String, PinError> {
        let before = self.lock.commit(at).filter(|_| !self.moved.contains(at));
        let pinned = match before.or_else(|| self.pinned.commit(at)).cloned() {
            Some(pinned) => pinned,
            None => {
                let offline = || format!("the commit of `{at}` is not known");
                PinnedRef {
                    at: at.clone(),
                    commit: self.fetcher(offline)?.commit_of(at)?,
                    accepted: None,
                }
            }
        };
        let commit = pinned.commit.clone();
        self.pinned.pin_ref(pinned);
        Ok(commit)
    }
}

impl Fetching<'_> {
    /// Returns the fetcher; `offline` gives the message if fetching is not allowed.
    fn fetcher(&self, offline: impl Fn() -> String) -> Result<&Fetcher, PinError> {
        match &self.fetcher {
            Some(Ok(fetcher)) => Ok(fetcher),
            Some(Err(e)) => Err(e.clone()),
            None => {
                let message = format!("{}, and `--offline` fetches nothing", offline());
                let help = "run `vplan lock` with a connection";
                Err(helped(OFFLINE, message, help))
            }
        }
    }
}

fn cached(store: &Store, pin: &PinnedImport, max_file: u64) -> Result<Option<Vec<u8>>, PinError> {
    store
        .read(&pin.digest, max_file)
        .map_err(|e| store_error(&e))
}

fn store_error(e: &StoreError) -> PinError {
    let (code, help) = match e {
        StoreError::Tampered(_) => (CACHE_TAMPERED, "`vplan lock` fetches it again"),
        StoreError::TooLarge { .. } => (
            vplan_git::fetch::TOO_LARGE,
            "raise the limit with `--max-file`",
        ),
        StoreError::Unreadable { .. } => (
            CACHE,
            "`vplan lock` puts it right, or use another `--cache-dir`",
        ),
        StoreError::Unwritable { .. } => (CACHE, "use another `--cache-dir`"),
    };
    helped(code, e.to_string(), help)
}

fn no_cache() -> PinError {
    let message = "there is no cache: neither `XDG_CACHE_HOME` nor `HOME` says where".to_owned();
    helped(CACHE, message, "name a directory with `--cache-dir`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> GitOrigin {
        GitOrigin::parse(&format!(
            "git+https://example.org/x?rev={}#a",
            "1a".repeat(20)
        ))
        .unwrap()
    }

    #[test]
    fn only_what_is_pinned_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        let digest = Digest::hash(b"vplan 1\n");
        let code = |lock: &Lock, max: u64| {
            Pinned {
                lock,
                store: Some(&store),
                max_file: max,
            }
            .read(&origin())
            .map_err(|e| e.code)
        };
        let mut lock = Lock::default();
        assert_eq!(code(&lock, 100), Err(NOT_PINNED));
        lock.pin(PinnedImport {
            origin: origin(),
            digest: digest.clone(),
            bytes: 8,
        });
        assert_eq!(code(&lock, 100), Err(NOT_CACHED));
        store.write(b"vplan 1\n").unwrap();
        assert_eq!(code(&lock, 100), Ok(b"vplan 1\n".to_vec()));
        assert_eq!(code(&lock, 7), Err(vplan_git::fetch::TOO_LARGE));
        std::fs::write(store.path(&digest), "vplan 2\n").unwrap();
        assert_eq!(code(&lock, 100), Err(CACHE_TAMPERED));
        let mut none = Pinned {
            lock: &lock,
            store: None,
            max_file: 100,
        };
        assert_eq!(none.read(&origin()).unwrap_err().code, CACHE);
    }

    #[test]
    fn offline_fetches_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        let mut lock = Lock::default();
        let read = |lock: &Lock| {
            let (pinned, fetched) = (Lock::default(), BTreeSet::new());
            let mut pins = Fetching {
                lock,
                store: &store,
                fetcher: None,
                max_file: 100,
                pinned,
                fetched,
                moved: BTreeSet::new(),
            };
            pins.read(&origin()).map_err(|e| e.code)
        };
        assert_eq!(read(&lock), Err(OFFLINE));
        lock.pin(PinnedImport {
            origin: origin(),
            digest: Digest::hash(b"x"),
            bytes: 1,
        });
        assert_eq!(read(&lock), Err(OFFLINE));
        store.write(b"x").unwrap();
        assert_eq!(read(&lock), Ok(b"x".to_vec()));
    }
}
