//! Caches the bytes of fetched imports, in the user's cache directory, by their digest.
//!
//! Entries are not trusted: every file that is read is hashed again, so a torn or changed file is
//! never used. Writers need no lock: each writes its own file and names it by its digest.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use vplan_base::canon::Digest;
use vplan_base::word::visible_path;
use vplan_os::atomic_file::{PRIVATE, replace_at};
use vplan_os::files;

/// A content-addressed cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

/// The reason why the cache cannot return or store bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The bytes do not have the digest of the file's name.
    #[error("the cached file `{0}` is not what it was when it was fetched")]
    Tampered(String),
    /// It is larger than `--max-file` allows.
    #[error("the cached file `{path}` is larger than {}", vplan_base::unit::show_size(*.cap))]
    TooLarge {
        path: String,
        /// The limit, in bytes.
        cap: u64,
    },
    /// It is a directory, a pipe, a symlink, or the system refuses.
    #[error("the cached file `{path}` cannot be read: {message}")]
    Unreadable { path: String, message: String },
    /// It could not be written.
    #[error("the cache `{path}` cannot be written: {message}")]
    Unwritable { path: String, message: String },
}

impl Store {
    /// Makes the cache below a directory, which need not be there yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the user's cache: `$XDG_CACHE_HOME/vplan`, or `~/.cache/vplan`. None without either.
    /// Relative values do not count (XDG Base Directory Specification).
    pub fn of_user(lookup: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(Self::at(base.join("vplan")))
    }

    /// Returns its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the bytes with this digest.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.root
            .join("sha256")
            .join(hex.get(..2).unwrap_or_default())
            .join(hex)
    }

    /// Reads the bytes with this digest; `None` when they are not here.
    ///
    /// # Errors
    /// The file has other content, or more than `cap` bytes, or cannot be read.
    pub fn read(&self, digest: &Digest, cap: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(digest);
        match files::read_plain(&path, cap) {
            Ok(bytes) if Digest::hash(&bytes) == *digest => Ok(Some(bytes)),
            Ok(_) => Err(StoreError::Tampered(visible_path(&path))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::FileTooLarge => Err(StoreError::TooLarge {
                path: visible_path(&path),
                cap,
            }),
            Err(e) => Err(StoreError::Unreadable {
                path: visible_path(&path),
                message: e.to_string(),
            }),
        }
    }

    /// Stores bytes, in place of anything else that has their name. Returns their digest.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::hash(bytes);
        let unwritable = |e: io::Error| StoreError::Unwritable {
            path: visible_path(&self.root),
            message: e.to_string(),
        };
        self.put(&self.path(&digest), bytes).map_err(unwritable)?;
        Ok(digest)
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        files::make_folders(directory)?;
        if path.symlink_metadata().is_ok_and(|m| m.is_dir()) {
            // A rename does not replace a directory. Only an empty one goes.
            std::fs::remove_dir(path)?;
        }
        replace_at(path, bytes, PRIVATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_given_back_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().join("cache"));
        let digest = Digest::hash(b"content");
        assert_eq!(store.read(&digest, 100), Ok(None));
        assert_eq!(store.write(b"content"), Ok(digest.clone()));
        assert_eq!(store.write(b"content"), Ok(digest.clone()));
        assert_eq!(store.read(&digest, 100), Ok(Some(b"content".to_vec())));
        assert!(matches!(
            store.read(&digest, 6),
            Err(StoreError::TooLarge { .. })
        ));
        let path = store.path(&digest);
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );

        std::fs::remove_file(&path).unwrap();
        for tampered in ["contenT", "", "content\n", "conten"] {
            std::fs::write(&path, tampered).unwrap();
            assert!(
                matches!(store.read(&digest, 100), Err(StoreError::Tampered(_))),
                "{tampered}"
            );
        }
        // The next writer replaces whatever is in the way.
        store.write(b"content").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(
            store.read(&digest, 100),
            Err(StoreError::Unreadable { .. })
        ));
        store.write(b"content").unwrap();
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(matches!(
            store.read(&digest, 100),
            Err(StoreError::Unreadable { .. })
        ));
        store.write(b"content").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(
            store.read(&digest, 100),
            Err(StoreError::Unreadable { .. })
        ));
        store.write(b"content").unwrap();
        assert_eq!(store.read(&digest, 100), Ok(Some(b"content".to_vec())));
    }

    #[test]
    fn many_writers() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for i in 0..50_u8 {
                        let digest = store.write(&[i; 1000]).unwrap();
                        assert_eq!(store.read(&digest, 1000), Ok(Some(vec![i; 1000])));
                    }
                });
            }
        });
    }

    #[test]
    fn the_users_cache() {
        let of = |pairs: &[(&str, &str)]| {
            let found = |name: &str| {
                pairs
                    .iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, v)| v.into())
            };
            Store::of_user(found).map(|s| s.root)
        };
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]),
            Some("/c/vplan".into())
        );
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "c")]),
            Some("/h/.cache/vplan".into())
        );
        assert_eq!(of(&[("HOME", "h")]), None);
    }
}
