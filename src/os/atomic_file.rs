//! Replaces files atomically: a reader gets the old content or the new one, even if the writer is
//! killed, the disk is full, or (except for caches) power is lost.
//!
//! The new content is written to a new file in the same folder. The folder is held open, so that
//! renaming it or putting a symlink in its place has no effect.

use crate::retry_eintr::{fsync, open, open_folder, openat, read_dir};
use crate::stale_temp;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, Mode, OFlags, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The part after the target's name in the name of a file that is being written.
pub const NEW: &str = ".new-";

/// How a file is written and synced.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    mode: Mode,
    durability: Durability,
    /// Whether files of killed writers of the same target are removed before. Without, their owner
    /// removes them.
    cleans_up: bool,
}

/// The parts of a new file that are synced before it counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Sync nothing: its content shows whether it is complete.
    Nothing,
    /// Sync the content before the rename. The caller syncs the folder.
    Content,
    /// Sync the content before the rename, and the folder after it.
    Everything,
}

/// A file that anyone may read, as far as the umask allows.
pub const DOCUMENT: Keeping = Keeping {
    mode: Mode::from_raw_mode(0o644),
    durability: Durability::Everything,
    cleans_up: true,
};

/// A file for its user.
pub const PRIVATE: Keeping = Keeping {
    mode: Mode::from_raw_mode(0o600),
    durability: Durability::Everything,
    cleans_up: true,
};

/// A file in a folder with a single writer, which syncs the folder later. Under its name is the
/// whole content, or nothing.
pub const RECORDED: Keeping = Keeping {
    durability: Durability::Content,
    cleans_up: false,
    ..DOCUMENT
};

/// A file in such a folder that is synced later, or may be lost: its content shows whether it is
/// complete.
pub const RECORDED_LATER: Keeping = Keeping {
    durability: Durability::Nothing,
    ..RECORDED
};

/// A file for its user that may be lost: its content shows whether it is complete. Its owner
/// removes the files of killed writers.
pub const CACHED: Keeping = Keeping {
    durability: Durability::Nothing,
    cleans_up: false,
    ..PRIVATE
};

/// Such a file in a folder with many others, whose owner removes nothing: files of killed writers
/// are removed first.
pub const REMEMBERED: Keeping = Keeping {
    cleans_up: true,
    ..CACHED
};

/// A cached file that anyone may read, as far as the umask allows.
pub const CACHED_FOR_ALL: Keeping = Keeping {
    mode: DOCUMENT.mode,
    ..REMEMBERED
};

/// A file on its way to its name. Dropped before it has got it, it is removed.
pub struct NewFile<'f> {
    folder: BorrowedFd<'f>,
    target: &'f OsStr,
    /// `None` once it is renamed.
    name: Option<Vec<u8>>,
    file: Arc<File>,
    durability: Durability,
}

impl<'f> NewFile<'f> {
    /// Makes an empty file in the folder of its target. If writers clean up, it is locked: a killed
    /// writer loses the lock, and the next one removes the file.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(folder: BorrowedFd<'f>, target: &'f OsStr, keeping: Keeping) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let prefix = prefix_of(target);
        if keeping.cleans_up {
            remove_abandoned(folder, &prefix)?;
        }
        let mut name;
        loop {
            // The time too: another container may have this process's number.
            let (process, now) = (std::process::id(), crate::stat_cache::now());
            let nth = NEXT.fetch_add(1, Ordering::Relaxed);
            name = [&prefix, format!("{process:x}-{nth:x}-{now:x}").as_bytes()].concat();
            let file = match create(folder, &*name, keeping.mode) {
                Ok(file) => file,
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            };
            if !keeping.cleans_up || stale_temp::claim(&file)? {
                return Ok(Self {
                    folder,
                    target,
                    name: Some(name),
                    file: Arc::new(file),
                    durability: keeping.durability,
                });
            }
        }
    }

    /// Returns the file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, unless a file has it.
    ///
    /// # Errors
    /// Errors of the system; `AlreadyExists`.
    pub fn link(self) -> io::Result<()> {
        if let Some(name) = &self.name {
            let none = AtFlags::empty();
            rustix::fs::linkat(self.folder, &**name, self.folder, self.target, none)?;
        }
        Ok(())
    }

    /// Gives it its final name, replacing a file with that name. Returns the file if the caller
    /// must sync it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn rename(mut self) -> io::Result<Arc<File>> {
        if self.durability != Durability::Nothing {
            self.file.sync_all()?;
        }
        if let Some(name) = &self.name {
            renameat(self.folder, &**name, self.folder, self.target)?;
        }
        self.name = None;
        if self.durability == Durability::Everything {
            sync_folder(self.folder)?;
        }
        Ok(Arc::clone(&self.file))
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = unlinkat(self.folder, &*name, AtFlags::empty());
        }
    }
}

/// Replaces the file of this name in a folder, or adds it.
///
/// # Errors
/// Errors of the system.
pub fn replace(
    folder: impl AsFd,
    name: impl AsRef<OsStr>,
    content: &[u8],
    keeping: Keeping,
) -> io::Result<()> {
    replaced(folder, name, content, keeping).map(drop)
}

/// Replaces the file of this name in a folder, or adds it, and returns the new one.
///
/// # Errors
/// Errors of the system.
pub fn replaced(
    folder: impl AsFd,
    name: impl AsRef<OsStr>,
    content: &[u8],
    keeping: Keeping,
) -> io::Result<Arc<File>> {
    let new = NewFile::create(folder.as_fd(), name.as_ref(), keeping)?;
    new.file().write_all(content)?;
    new.rename()
}

/// Replaces the file at a path, or adds it.
///
/// # Errors
/// Errors of the system.
pub fn replace_at(path: &Path, content: &[u8], keeping: Keeping) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    replace(open_parent(path)?, name, content, keeping)
}

/// Opens the folder of a path.
///
/// # Errors
/// Errors of the system.
pub(crate) fn open_parent(path: &Path) -> io::Result<rustix::fd::OwnedFd> {
    Ok(open_folder(parent(path)?)?)
}

/// Returns the folder of a path.
///
/// # Errors
/// The path has no folder.
pub fn parent(path: &Path) -> io::Result<&Path> {
    match path.parent().ok_or(io::ErrorKind::InvalidInput)? {
        here if here.as_os_str().is_empty() => Ok(Path::new(".")),
        parent => Ok(parent),
    }
}

/// Makes a file that is not there yet; a symlink in its place is refused.
///
/// # Errors
/// Errors of the system.
pub fn create(
    folder: impl AsFd,
    name: impl rustix::path::Arg + Copy,
    mode: Mode,
) -> Result<File, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, mode).map(File::from)
}

/// Syncs the names in a folder, so that they survive a loss of power, if its file system supports
/// that.
///
/// # Errors
/// Errors of the system.
pub fn sync_folder(folder: impl AsFd) -> io::Result<()> {
    match fsync(folder) {
        Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns how the name of a file begins that is to become the target: hidden, with as much of its
/// name as leaves space for the rest.
fn prefix_of(target: &OsStr) -> Vec<u8> {
    let name = target.as_bytes();
    let name = name.get(..name.len().min(200)).unwrap_or_default();
    [b".", name, NEW.as_bytes()].concat()
}

/// Removes files that killed writers of the same target have left.
fn remove_abandoned(folder: BorrowedFd<'_>, prefix: &[u8]) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    for entry in read_dir(folder)?.flatten() {
        let name = entry.file_name();
        if !name.to_bytes().starts_with(prefix) {
            continue;
        }
        let found = open(folder, name, flags).map(File::from);
        if let Ok(found) = found.map_err(io::Error::from)
            && found.metadata().is_ok_and(|about| about.is_file())
        {
            stale_temp::reap(found, || Ok(unlinkat(folder, name, AtFlags::empty())?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_all_of_it_or_what_it_had() {
        let dir = tempfile::tempdir().unwrap();
        let folder = File::open(dir.path()).unwrap();
        let path = dir.path().join("file");
        for (keeping, mode) in [
            (DOCUMENT, 0o644),
            (RECORDED, 0o644),
            (RECORDED_LATER, 0o644),
            (PRIVATE, 0o600),
            (CACHED, 0o600),
            (REMEMBERED, 0o600),
            (CACHED_FOR_ALL, 0o644),
        ] {
            replace(&folder, "file", b"whole", keeping).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            let found = path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(found & !mode, 0, "{found:o}");
            assert_eq!(found & 0o600, 0o600);
        }
        let half = NewFile::create(folder.as_fd(), OsStr::new("file"), PRIVATE).unwrap();
        half.file().write_all(b"half").unwrap();
        assert_eq!(names(dir.path()).len(), 2);
        drop(half);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(dir.path()), ["file"], "nothing is left beside it");
    }

    #[test]
    fn the_folder_is_the_one_that_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (real, aside) = (dir.path().join("real"), dir.path().join("aside"));
        fs::create_dir(&real).unwrap();
        let folder = File::open(&real).unwrap();
        fs::rename(&real, &aside).unwrap();
        symlink("elsewhere", &real).unwrap();
        symlink(dir.path().join("victim"), aside.join("file")).unwrap();
        replace(&folder, "file", b"x", PRIVATE).unwrap();
        assert!(!aside.join("file").is_symlink(), "it replaces a symlink");
        assert_eq!(names(dir.path()), ["aside", "real"]);
    }

    #[test]
    fn the_files_of_killed_writers_go_and_those_of_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let folder = File::open(dir.path()).unwrap();
        let living = NewFile::create(folder.as_fd(), OsStr::new("a"), PRIVATE).unwrap();
        living.file().write_all(b"of a living writer").unwrap();
        for left in [".a.new-1-2-3", ".b.new-1-2-3", ".a.new", "a.new-1"] {
            fs::write(dir.path().join(left), "").unwrap();
        }
        symlink("nowhere", dir.path().join(".a.new-link")).unwrap();
        replace(&folder, "a", b"next", PRIVATE).unwrap();
        let stay = [".a.new", ".a.new-link", ".b.new-1-2-3", "a", "a.new-1"];
        assert_eq!(names(dir.path()).len(), stay.len() + 1);
        living.rename().unwrap();
        assert_eq!(names(dir.path()), stay);
        assert_eq!(
            fs::read(dir.path().join("a")).unwrap(),
            b"of a living writer"
        );
    }

    #[test]
    fn what_cannot_be_replaced_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("full/of")).unwrap();
        for (name, kind) in [
            ("full", io::ErrorKind::IsADirectory),
            ("none/file", io::ErrorKind::NotFound),
            ("..", io::ErrorKind::InvalidInput),
        ] {
            let error = replace_at(&dir.path().join(name), b"x", DOCUMENT).unwrap_err();
            assert_eq!(error.kind(), kind, "{name}");
        }
        let long = "x".repeat(255);
        replace_at(&dir.path().join(&long), b"x", DOCUMENT).unwrap();
        assert_eq!(names(dir.path()), ["full".to_owned(), long]);
    }
}
