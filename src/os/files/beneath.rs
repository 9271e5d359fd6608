//! Resolves and reads paths of the repository, which may contain symlinks.
//!
//! Nothing outside the root is ever opened: the kernel resolves the path (`openat2` with
//! `RESOLVE_BENEATH`), because resolving first and opening later is a race with a process that
//! swaps a symlink in between.

use crate::retry_eintr::{open, openat2, read_dir};
use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, OFlags, RenameFlags, ResolveFlags, Stat, fstat, linkat,
    readlinkat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_base::unit::show_size;

/// The reason why a file of the repository was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The file does not exist, or a symlink leads nowhere or to itself.
    #[error("there is no such file")]
    Missing,
    /// A symlink on the way leads out of the repository.
    #[error("it leads out of the repository")]
    Outside,
    /// It is a directory, a pipe, a device.
    #[error("it is no regular file")]
    NotRegular,
    /// It is larger than the requested limit.
    #[error("it is larger than {}", show_size(*.0))]
    TooLarge(u64),
    /// The system refuses.
    #[error("{0}")]
    System(String),
}

/// A directory within which all paths are resolved.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Whether the path itself is a symlink.
    pub symlink: bool,
    /// The target file, after following symlinks.
    pub target: Result<OpenTarget, ReadError>,
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTarget {
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it has an executable bit.
    pub executable: bool,
}

/// The identity of a file's state: it differs once the file has been written, replaced or made to
/// point elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    own: Print,
    behind: Option<Print>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Print {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// Whether the path is the file itself: no symlink.
    pub fn is_direct(&self) -> bool {
        self.behind.is_none()
    }

    /// Returns device and number of the file, symlinks followed.
    pub fn file(&self) -> (u64, u64) {
        let file = self.behind.unwrap_or(self.own);
        (file.device, file.inode)
    }

    /// Returns when the content was last written, symlinks followed: seconds and nanoseconds since
    /// 1970.
    pub fn modified(&self) -> (i64, i64) {
        self.behind.unwrap_or(self.own).modified
    }

    /// Returns the time of the last change: seconds and nanoseconds since 1970.
    pub fn changed(&self) -> (i64, i64) {
        self.behind.map_or(self.own.changed, |behind| {
            behind.changed.max(self.own.changed)
        })
    }
}

impl Print {
    #[allow(
        clippy::cast_possible_wrap,
        clippy::useless_conversion,
        reason = "the types differ between architectures"
    )]
    fn from_stat(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

/// Types of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    Dir,
    /// A pipe, a socket, a device.
    Special,
}

impl Beneath {
    /// Opens the root.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = open(CWD, root, OFlags::PATH | OFlags::DIRECTORY)?;
        Ok(Self { root })
    }

    fn resolve(&self, path: &RepoPath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..16 {
            match openat2(&self.root, path.as_bytes(), flags, resolve) {
                // The tree was renamed while the kernel walked it.
                Err(Errno::AGAIN) => {}
                // A kernel or a container without the call.
                Err(Errno::NOSYS | Errno::PERM) => return self.resolve_stepwise(path, flags),
                answer => return answer,
            }
        }
        Err(Errno::AGAIN)
    }

    fn entries(&self, dir: &RepoPath) -> Result<Dir, Errno> {
        self.resolve(dir, OFlags::DIRECTORY).and_then(read_dir)
    }

    /// Resolves without `openat2`: every directory is opened from the one before, and symlinks are
    /// read and followed one by one.
    fn resolve_stepwise(&self, path: &RepoPath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut dirs: Vec<OwnedFd> = Vec::new();
        let mut todo: Vec<Vec<u8>> = path
            .as_bytes()
            .split(|b| *b == b'/')
            .map(<[u8]>::to_vec)
            .rev()
            .collect();
        let mut links = 0;
        while let Some(name) = todo.pop() {
            let here = dirs.last().map_or(self.root.as_fd(), AsFd::as_fd);
            match name.as_slice() {
                b"" | b"." if !todo.is_empty() => continue,
                b".." => {
                    dirs.pop().ok_or(Errno::XDEV)?;
                    if todo.is_empty() {
                        todo.push(b".".to_vec());
                    }
                    continue;
                }
                _ => {}
            }
            let name = if name.is_empty() { b".".to_vec() } else { name };
            let found = open(here, name.as_slice(), OFlags::PATH | OFlags::NOFOLLOW)?;
            let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
            let last = todo.is_empty();
            if kind == FileType::Symlink && !(last && flags.contains(OFlags::NOFOLLOW)) {
                links += 1;
                if links > 40 {
                    return Err(Errno::LOOP);
                }
                let target = readlinkat(&found, "", Vec::new())?.into_bytes();
                if target.first() == Some(&b'/') {
                    return Err(Errno::XDEV);
                }
                todo.extend(target.split(|b| *b == b'/').map(<[u8]>::to_vec).rev());
            } else if last {
                return open(here, name.as_slice(), flags | OFlags::NOFOLLOW);
            } else {
                dirs.push(found);
            }
        }
        Err(Errno::NOENT)
    }

    /// Inspects a path without opening the file.
    pub fn inspect(&self, path: &RepoPath) -> Inspection {
        let is_link = |fd: OwnedFd| {
            File::from(fd)
                .metadata()
                .is_ok_and(|m| m.file_type().is_symlink())
        };
        let symlink = self
            .resolve(path, OFlags::PATH | OFlags::NOFOLLOW)
            .is_ok_and(is_link);
        Inspection {
            symlink,
            target: self.target(path),
        }
    }

    fn target(&self, path: &RepoPath) -> Result<OpenTarget, ReadError> {
        let fd = self.resolve(path, OFlags::PATH).map_err(read_error)?;
        let meta = File::from(fd)
            .metadata()
            .map_err(|e| ReadError::System(e.to_string()))?;
        let file_type = meta.file_type();
        let kind = if file_type.is_file() {
            Kind::File
        } else if file_type.is_dir() {
            Kind::Dir
        } else {
            debug_assert!(file_type.is_fifo() || file_type.is_socket() || !file_type.is_symlink());
            Kind::Special
        };
        Ok(OpenTarget {
            kind,
            size: meta.len(),
            executable: meta.permissions().mode() & 0o111 != 0,
        })
    }

    /// Opens a regular file, symlinks inside the root followed.
    ///
    /// # Errors
    /// Any [`ReadError`].
    pub fn file(&self, path: &RepoPath) -> Result<File, ReadError> {
        // Opening a device can have side effects, so the type is checked before opening, and again
        // afterwards.
        if self.target(path)?.kind != Kind::File {
            return Err(ReadError::NotRegular);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.resolve(path, flags).map_err(read_error)?);
        match file.metadata() {
            Ok(meta) if meta.is_file() => Ok(file),
            Ok(_) => Err(ReadError::NotRegular),
            Err(e) => Err(ReadError::System(e.to_string())),
        }
    }

    /// Reads a regular file, symlinks inside the root followed.
    ///
    /// # Errors
    /// See [`ReadError`]; more than `cap` bytes.
    pub fn read(&self, path: &RepoPath, cap: u64) -> Result<Vec<u8>, ReadError> {
        super::read_bounded(&self.file(path)?, cap).map_err(|e| match e.kind() {
            io::ErrorKind::FileTooLarge => ReadError::TooLarge(cap),
            _ => ReadError::System(e.to_string()),
        })
    }

    /// Returns the names in a directory, following symlinks inside the root; empty if it cannot be
    /// listed.
    pub fn names(&self, dir: &RepoPath) -> Vec<Vec<u8>> {
        let entries = self.entries(dir).into_iter().flatten();
        entries
            .flatten()
            .map(|e| e.file_name().to_bytes().to_vec())
            .collect()
    }

    /// Returns the names in a directory with their types; empty if it cannot be listed. Symlinks
    /// inside the root are followed on the way to it, but not in it.
    pub fn list(&self, dir: &RepoPath) -> Vec<(Vec<u8>, FileType)> {
        let opened = self.resolve(dir, OFlags::DIRECTORY);
        let Ok((entries, fd)) = opened.and_then(|fd| Ok((read_dir(&fd)?, fd))) else {
            return Vec::new();
        };
        let typed = |entry: DirEntry| {
            let name = entry.file_name();
            let kind = match entry.file_type() {
                // A file system that does not report the type.
                FileType::Unknown => {
                    let stat = statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            Some((name.to_bytes().to_vec(), kind))
                .filter(|(name, _)| !matches!(name.as_slice(), b"." | b".."))
        };
        entries.flatten().filter_map(typed).collect()
    }

    /// Returns the metadata that changes when a file is written: its own stamp and, for a symlink,
    /// that of its target. `None` for a directory or a missing file.
    pub fn stamp(&self, path: &RepoPath) -> Option<FileStamp> {
        let stat = |flags| fstat(self.resolve(path, OFlags::PATH | flags).ok()?).ok();
        let own = stat(OFlags::NOFOLLOW)?;
        let kind = FileType::from_raw_mode(own.st_mode);
        let behind = (kind == FileType::Symlink)
            .then(|| stat(OFlags::empty()))
            .flatten();
        let last = behind.as_ref().unwrap_or(&own);
        if FileType::from_raw_mode(last.st_mode) == FileType::Directory {
            return None;
        }
        Some(FileStamp {
            own: Print::from_stat(&own),
            behind: behind.as_ref().map(Print::from_stat),
        })
    }

    /// Moves a file to a name in another folder of the same file system, in place of one there.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn move_out(
        &self,
        path: &RepoPath,
        (folder, name): (impl AsFd, &str),
    ) -> Result<(), Errno> {
        renameat(self.above(path)?, path.name(), folder, name)
    }

    /// Moves a file back to its path.
    ///
    /// # Errors
    /// Errors of the system; `EXIST` if there is another file now.
    pub fn move_in(&self, (folder, name): (impl AsFd, &str), path: &RepoPath) -> Result<(), Errno> {
        let above = self.above(path)?;
        match renameat_with(&folder, name, &above, path.name(), RenameFlags::NOREPLACE) {
            // A file system without the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(&folder, name, &above, path.name(), AtFlags::empty())?;
                unlinkat(&folder, name, AtFlags::empty())
            }
            done => done,
        }
    }

    /// Opens the folder of a path.
    fn above(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        let above = path.ancestors().into_iter().nth_back(1);
        let above = above.unwrap_or_else(RepoPath::root);
        self.resolve(&above, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// Opens a folder to list it. A symlink is refused.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn folder(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW)
    }

    /// Returns the metadata of the entry at a path, which may be a symlink.
    ///
    /// # Errors
    /// Errors of the system; a path that leads out of the root.
    pub fn status(&self, path: &RepoPath) -> Result<Stat, Errno> {
        fstat(self.resolve(path, OFlags::PATH | OFlags::NOFOLLOW)?)
    }

    /// Returns the target of a symlink.
    pub fn link(&self, path: &RepoPath) -> Option<Vec<u8>> {
        let fd = self.resolve(path, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
        readlinkat(fd, "", Vec::new())
            .ok()
            .map(std::ffi::CString::into_bytes)
    }

    /// Whether a file with exactly this name exists, following symlinks; a symlink to nothing does
    /// not count. On a file system where `cargo.toml` is `Cargo.toml`, only the name that a
    /// directory lists counts.
    pub fn exists(&self, path: &RepoPath, names: &mut DirectoryNames) -> bool {
        // Only the kernel may search for a file outside the repository.
        match self.target(path) {
            Ok(_) => {}
            Err(ReadError::Outside) if self.leads_somewhere(path) => {}
            Err(_) => return false,
        }
        if path.is_root() {
            return true;
        }
        let mut dir = RepoPath::root();
        path.segments().all(|segment| {
            let listed = names.lists(self, &dir, segment);
            if let Ok(next) = dir.join(segment) {
                dir = next;
            }
            listed
        })
    }

    /// Whether a path that leaves the root leads to a file. Only checks for existence.
    fn leads_somewhere(&self, path: &RepoPath) -> bool {
        statat(&self.root, path.as_bytes(), AtFlags::empty()).is_ok()
    }
}

fn read_error(errno: Errno) -> ReadError {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG => ReadError::Missing,
        Errno::XDEV => ReadError::Outside,
        other => ReadError::System(io::Error::from(other).to_string()),
    }
}

/// The names that directories list, read once each.
#[derive(Debug, Default)]
pub struct DirectoryNames(
    std::collections::BTreeMap<RepoPath, Option<std::collections::BTreeSet<Vec<u8>>>>,
);

impl DirectoryNames {
    fn lists(&mut self, beneath: &Beneath, dir: &RepoPath, name: &[u8]) -> bool {
        let read = || {
            let entries = beneath.entries(dir).ok()?;
            entries
                .map(|e| e.ok().map(|e| e.file_name().to_bytes().to_vec()))
                .collect()
        };
        match self.0.entry(dir.clone()).or_insert_with(read) {
            Some(names) => names.contains(name),
            // A directory that may be entered but not listed, or one outside: the kernel decides.
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, Beneath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        std::fs::write(root.join("d/f"), "content").unwrap();
        for (path, target) in [
            ("in", "d/f"),
            ("d/up", "../d/f"),
            ("dir", "d"),
            ("out", "../secret"),
            ("d/out", "../../secret"),
            ("abs", "/etc/passwd"),
            ("none", "nothing"),
            ("self", "self"),
            ("root", "d/.."),
        ] {
            symlink(target, root.join(path)).unwrap();
        }
        let beneath = Beneath::open(&root).unwrap();
        (dir, beneath)
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn import_escape_refused() {
        let (_dir, beneath) = tree();
        for (text, want) in [
            ("d/f", Ok(&b"content"[..])),
            ("in", Ok(b"content")),
            ("d/up", Ok(b"content")),
            ("dir/f", Ok(b"content")),
            ("dir/up", Ok(b"content")),
            ("root/d/f", Ok(b"content")),
            ("out", Err(ReadError::Outside)),
            ("d/out", Err(ReadError::Outside)),
            ("abs", Err(ReadError::Outside)),
            ("none", Err(ReadError::Missing)),
            ("self", Err(ReadError::Missing)),
            ("d/f/x", Err(ReadError::Missing)),
            ("d", Err(ReadError::NotRegular)),
            ("root", Err(ReadError::NotRegular)),
            (".", Err(ReadError::NotRegular)),
        ] {
            let path = path(text);
            assert_eq!(beneath.read(&path, 100), want.map(<[u8]>::to_vec), "{text}");
            // The resolution for old kernels agrees with the kernel's.
            let ino = |fd: OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
            for flags in [OFlags::PATH, OFlags::PATH | OFlags::NOFOLLOW] {
                let (fast, slow) = (
                    beneath.resolve(&path, flags),
                    beneath.resolve_stepwise(&path, flags),
                );
                assert_eq!(fast.map(ino), slow.map(ino), "{text} {flags:?}");
            }
        }
        assert_eq!(beneath.read(&path("d/f"), 3), Err(ReadError::TooLarge(3)));
        assert!(beneath.inspect(&path("none")).symlink);
        assert!(!beneath.inspect(&path("d/f")).symlink);
    }

    #[test]
    fn existence_is_by_exact_bytes() {
        let (_dir, beneath) = tree();
        let mut names = DirectoryNames::default();
        for (text, want) in [
            ("d/f", true),
            ("D/f", false),
            ("d", true),
            ("in", true),
            ("none", false),
            ("self", false),
            ("out", true),
            ("dir/f", true),
            (".", true),
            ("d/e/x", false),
        ] {
            assert_eq!(beneath.exists(&path(text), &mut names), want, "{text}");
        }
    }
}
