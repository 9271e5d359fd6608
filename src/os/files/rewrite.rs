//! Replaces a file atomically; preserves its mode and owner, and never overwrites a concurrent
//! edit.

use super::{open_plain, read_bounded, read_plain};
use crate::atomic_file::{NewFile, PRIVATE, open_parent};
use rustix::fd::AsFd as _;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A file that was read, and may be rewritten.
#[derive(Debug)]
pub struct Editable {
    /// The path of the file itself, symlinks resolved.
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Editable {
    /// Reads a regular file, following symlinks: the target is changed later, and the symlink
    /// stays. With `within`, the file must be inside this directory, given as a real path.
    ///
    /// # Errors
    /// A missing file, one that is not regular, one outside, one with more than `cap` bytes, any
    /// other error of the system.
    pub fn read(path: &Path, within: Option<&Path>, cap: u64) -> io::Result<Self> {
        let path = path.canonicalize().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if path.is_symlink() => {
                io::Error::new(e.kind(), "it is a symlink to nothing")
            }
            io::ErrorKind::NotFound => io::Error::new(e.kind(), "there is no such file"),
            _ => e,
        })?;
        if within.is_some_and(|root| !path.starts_with(root)) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it leads out of the repository",
            ));
        }
        if path.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory",
            ));
        }
        let file = open_plain(&path).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidInput => io::Error::new(e.kind(), "it is no regular file"),
            _ => e,
        })?;
        let bytes = read_bounded(&file, cap)?;
        Ok(Self { path, bytes })
    }

    /// Returns the content that was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the path of the file itself: equal for two names of one file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content. A reader gets the old content or the new one.
    ///
    /// # Errors
    /// A file that is marked read-only, or was changed since it was read; an error of the system.
    pub fn rewrite(&self, content: &[u8]) -> io::Result<()> {
        let meta = self.path.symlink_metadata()?;
        if meta.permissions().readonly() {
            // Its directory may well allow to replace it, but its owner marked it read-only.
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is read-only",
            ));
        }
        let folder = open_parent(&self.path)?;
        let name = self.path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let new = NewFile::create(folder.as_fd(), name, PRIVATE)?;
        let mut file = new.file();
        file.write_all(content)?;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (meta.uid(), meta.gid()) {
            let (uid, gid) = (
                rustix::fs::Uid::from_raw(meta.uid()),
                rustix::fs::Gid::from_raw(meta.gid()),
            );
            // Only root can give a file away; another user's file becomes this user's then, as with
            // any editor.
            let _ = rustix::fs::fchown(file, Some(uid), Some(gid));
        }
        file.set_permissions(std::fs::Permissions::from_mode(meta.mode() & 0o7777))?;
        file.sync_all()?;
        // Not a lock, but it shortens the time in which an edit could be lost.
        let now = read_plain(&self.path, self.bytes.len() as u64);
        if now.map_or(true, |now| now != self.bytes) {
            return Err(io::Error::other("it was changed in the meantime"));
        }
        new.rename().map(drop)
    }
}

/// Lists the files of a directory whose names have this ending, sorted by name.
///
/// # Errors
/// Errors of the system.
pub fn list_by_suffix(directory: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let ends = |name: &std::ffi::OsStr| name.as_bytes().ends_with(ending.as_bytes());
        if path.file_name().is_some_and(ends) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_and_symlink_stay() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let file = root.join("file");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("file", root.join("link")).unwrap();
        let editable = Editable::read(&root.join("link"), Some(&root), 3).unwrap();
        assert_eq!(
            (editable.bytes(), editable.path()),
            (&b"old"[..], file.as_path())
        );
        editable.rewrite(b"new").unwrap();
        assert!(root.join("link").is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o750);
        assert_eq!(list_by_suffix(&root, "le").unwrap(), [file]);
        assert_eq!(
            std::fs::read_dir(&root).unwrap().count(),
            2,
            "nothing is left behind"
        );
    }

    #[test]
    fn what_is_not_rewritten() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let file = root.join("file");
        std::fs::write(&file, "old").unwrap();
        let editable = Editable::read(&file, None, 10).unwrap();
        std::fs::write(&file, "an edit").unwrap();
        assert!(
            editable
                .rewrite(b"new")
                .unwrap_err()
                .to_string()
                .contains("meantime")
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        let editable = Editable::read(&file, None, 10).unwrap();
        assert!(
            editable
                .rewrite(b"new")
                .unwrap_err()
                .to_string()
                .contains("read-only")
        );
        assert_eq!(std::fs::read(&file).unwrap(), b"an edit");
        assert_eq!(
            std::fs::read_dir(&root).unwrap().count(),
            1,
            "nothing is left behind"
        );
        std::os::unix::fs::symlink("/etc/passwd", root.join("out")).unwrap();
        std::os::unix::fs::symlink("none", root.join("broken")).unwrap();
        for (name, want) in [
            ("out", "out of"),
            ("broken", "symlink to nothing"),
            ("none", "no such"),
            (".", "directory"),
        ] {
            let error = Editable::read(&root.join(name), Some(&root), 10)
                .unwrap_err()
                .to_string();
            assert!(error.contains(want), "{name}: {error}");
        }
        assert_eq!(
            Editable::read(&file, None, 3).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
    }
}
