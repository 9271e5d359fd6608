//! Reads and writes files safely: regular files only, bounded in size, without waiting for a
//! writer.

pub mod beneath;
pub mod rewrite;

use crate::atomic_file;
use crate::retry_eintr::open;
use rustix::fd::AsFd;
use rustix::fs::{CWD, OFlags, statfs};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};
use std::time::UNIX_EPOCH;
use vplan_base::path::RepoPath;

/// Maximum number of files that a walk lists.
pub const MAX_FILES: usize = 1_000_000;
/// `OVERLAYFS_SUPER_MAGIC` (statfs(2)).
const OVERLAY: u64 = 0x794c_7630;

/// Whether a path is in an overlay.
pub(crate) fn is_overlay(path: &Path) -> bool {
    #[expect(clippy::cast_sign_loss, reason = "the numbers have 32 bits")]
    let is_it = statfs(path).is_ok_and(|found| found.f_type as u64 == OVERLAY);
    is_it
}

/// Returns the identity of a directory: its inode and its creation time, because a file system may
/// reuse the number of a removed directory. On an overlay only the number counts: copying a
/// directory changes its creation time.
pub fn directory_identity(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    let made = found.created().ok().filter(|_| !is_overlay(path));
    let made = made.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let made = made.map(|since| since.as_nanos().to_string());
    Some(format!("{}-{}", found.ino(), made.unwrap_or_default()))
}

/// Opens a regular file; a symlink is refused. Never blocks, as a pipe would, and opens no device.
///
/// # Errors
/// Errors of the system; `InvalidInput` for anything but a regular file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    Ok(plain(CWD, path)?.0)
}

/// Opens as [`open_plain`] does, relative to a folder; returns the size too.
fn plain(folder: impl AsFd, path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open(folder, path, flags)?);
    let about = file.metadata()?;
    if about.is_file() {
        return Ok((file, about.len()));
    }
    let error = io::ErrorKind::InvalidInput;
    Err(io::Error::new(error, "no regular file"))
}

/// Writes a file atomically: readers get all of it or none. Creates the directories above it.
///
/// # Errors
/// Errors of the system.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    make_folders(atomic_file::parent(path)?)?;
    atomic_file::replace_at(path, content, atomic_file::DOCUMENT)
}

/// Makes a directory with all above it that are not there, so that they survive a loss of power.
///
/// # Errors
/// Errors of the system.
pub fn make_folders(path: &Path) -> io::Result<()> {
    let is_missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    std::fs::create_dir_all(path)?;
    let mut above = missing.into_iter().flat_map(atomic_file::parent);
    above.try_for_each(sync_folder)
}

/// Syncs the names in a directory, so that they survive a loss of power, if its file system
/// supports that.
///
/// # Errors
/// Errors of the system.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path) {
        // A process that may write into a directory may not be allowed to read it.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        folder => atomic_file::sync_folder(folder?),
    }
}

/// Checks that a requested output overwrites nothing else: it is new or empty, a file that `is_own`
/// recognises by its content, a pipe or a terminal.
///
/// # Errors
/// `AlreadyExists` with the reason; errors of the system; `IsADirectory`.
pub fn may_publish(path: &Path, is_own: impl FnOnce(&[u8]) -> bool) -> io::Result<()> {
    const LARGEST: u64 = 256 << 20;
    let refuse = |why| Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    let about = match path.metadata() {
        Ok(about) => about,
        Err(_) if path.is_symlink() => return refuse("it is a symlink to nothing"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let kind = about.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if kind.is_block_device() {
        return refuse("it is a disk");
    }
    if !kind.is_file() || about.len() == 0 {
        return Ok(());
    }
    let real = path.canonicalize();
    match real.and_then(|path| read_plain(&path, LARGEST)) {
        Ok(content) if is_own(&content) => Ok(()),
        _ => refuse("it is there, and this option has not written it"),
    }
}

/// Writes a requested output: a file as a whole, through symlinks; into a pipe or a device
/// directly.
///
/// # Errors
/// Errors of the system; `IsADirectory`.
pub fn publish(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    match path.metadata() {
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) if meta.is_file() => replace(&path.canonicalize()?, content),
        Ok(_) => File::options().write(true).open(path)?.write_all(content),
        Err(_) => replace(path, content),
    }
}

/// Truncates or creates a requested output file.
///
/// # Errors
/// Errors of the system.
pub fn create(path: &Path) -> io::Result<File> {
    File::create(path)
}

/// Reads a regular file, at most `cap` bytes; a symlink is refused.
///
/// # Errors
/// As [`open_plain`]; `FileTooLarge` when there is more.
pub fn read_plain(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    read_plain_at(CWD, path, cap)
}

/// Reads as [`read_plain`] does, relative to a folder.
///
/// # Errors
/// As [`read_plain`].
pub(crate) fn read_plain_at(folder: impl AsFd, path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let (file, size) = plain(folder, path)?;
    read_sized(&file, size, cap)
}

/// Reads the next bytes: `most`, or fewer at the end.
///
/// # Errors
/// Errors of the system.
pub fn read_start(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the rest of a file, at most `cap` bytes.
///
/// # Errors
/// Errors of the system; `FileTooLarge` when there is more.
pub fn read_bounded(file: &File, cap: u64) -> io::Result<Vec<u8>> {
    read_sized(file, file.metadata().map_or(0, |m| m.len()), cap)
}

fn read_sized(file: &File, size: u64, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = room_for(size.min(cap));
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        Err(io::ErrorKind::FileTooLarge.into())
    } else {
        Ok(bytes)
    }
}

/// Returns an empty vector with the capacity of a file's size, so that reading takes one call and
/// no more memory than the content.
fn room_for(size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // One byte more, because reading up to the end would grow the buffer otherwise. A wrong size
    // costs no memory; if memory is short, reading fails.
    let _ = bytes.try_reserve_exact(usize::try_from(size).unwrap_or(0).saturating_add(1));
    bytes
}

/// Whether this is a regular file (through symlinks) with an executable bit.
pub fn is_program(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Whether a folder of PATH may lead into a repository: now, or through `/proc` (where each process
/// finds its own working directory), or through a folder that does not exist yet.
pub fn may_lead_into(folder: &Path, root: &Path) -> bool {
    let mut around = folder.ancestors();
    let known = around
        .find_map(|above| Some((above.canonicalize().ok()?, folder.strip_prefix(above).ok()?)));
    let inside = known.is_some_and(|(real, rest)| {
        let mut parts = rest.components();
        real.join(rest).starts_with(root) || parts.any(|c| c == Component::ParentDir)
    });
    let mut own = [Path::new("/proc"), Path::new("/dev/fd"), root].into_iter();
    inside || own.any(|own| folder.starts_with(own))
}

/// Whether this process may write a file, or replace it.
pub fn is_writable(path: &Path) -> bool {
    let may = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    may(path) || path.parent().is_some_and(may)
}

/// Lists the names in a directory, sorted; empty if it cannot be read.
pub fn names_in(path: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name()).collect();
    names.sort();
    names
}

/// Removes a file.
///
/// # Errors
/// Errors of the system.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Lists all files below a directory of the repository, symlinks as themselves, sorted; without
/// `.git` directories and the root's `.vplan`. A directory that cannot be read is an error.
///
/// # Errors
/// Errors of the system; more than [`MAX_FILES`] files.
pub fn walk(root: &Path, dir: &RepoPath) -> io::Result<Vec<RepoPath>> {
    let mut found = Vec::new();
    let mut open = vec![dir.clone()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(root.join(dir.to_os()))? {
            let entry = entry?;
            let name = entry.file_name();
            let ours = dir.is_root() && name == ".vplan";
            if name == ".git" || ours {
                continue;
            }
            let path = dir.join(name.as_bytes());
            let path = path.map_err(|_| io::ErrorKind::InvalidData)?;
            if entry.file_type()?.is_dir() {
                open.push(path)
            } else {
                found.push(path)
            }
        }
        if found.len() > MAX_FILES {
            return Err(io::Error::other("too many files"));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_made_again_has_another_identity() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        let make = || {
            std::fs::create_dir(&path).unwrap();
            directory_identity(&path).unwrap()
        };
        let first = make();
        std::fs::write(path.join("file"), "").unwrap();
        assert_eq!(directory_identity(&path).unwrap(), first);
        let moved = dir.path().join("e");
        std::fs::rename(&path, &moved).unwrap();
        assert_eq!(directory_identity(&moved).unwrap(), first);
        std::fs::remove_dir_all(&moved).unwrap();
        let has_time = dir.path().metadata().unwrap().created().is_ok();
        if has_time && !is_overlay(dir.path()) {
            assert_ne!(make(), first);
        }
        assert_eq!(directory_identity(&moved), None);
    }

    #[test]
    fn only_regular_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(read_plain(&path("file"), 5).unwrap(), b"12345");
        assert_eq!(
            read_plain(&path("file"), 4).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        for name in ["link", "pipe", ".", "none"] {
            assert!(open_plain(&path(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn published_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        publish(&path("new/file"), b"1").unwrap();
        publish(&path("new/file"), b"22").unwrap();
        std::os::unix::fs::symlink("new/file", path("link")).unwrap();
        publish(&path("link"), b"333").unwrap();
        assert_eq!(std::fs::read(path("new/file")).unwrap(), b"333");
        assert!(path("link").is_symlink());
        publish(Path::new("/dev/null"), b"x").unwrap();
        assert_eq!(
            publish(dir.path(), b"x").unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
        assert!(publish(&path("new/file/below"), b"x").is_err());
        assert_eq!(
            std::fs::read_dir(path("new")).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn only_what_is_recognised_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("empty"), "").unwrap();
        std::fs::write(path("own"), "own 1").unwrap();
        std::fs::write(path("other"), "other").unwrap();
        std::os::unix::fs::symlink("own", path("to-own")).unwrap();
        std::os::unix::fs::symlink("other", path("to-other")).unwrap();
        std::os::unix::fs::symlink("nothing", path("to-nothing")).unwrap();
        let may = |path: &Path| may_publish(path, |content| content.starts_with(b"own"));
        for name in ["new", "empty", "own", "to-own"] {
            may(&path(name)).unwrap();
        }
        for name in ["other", "to-other", "to-nothing"] {
            let kind = may(&path(name)).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::AlreadyExists, "{name}");
        }
        may(Path::new("/dev/null")).unwrap();
        let kind = may(dir.path()).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::IsADirectory);
    }

    #[test]
    fn walks() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "b/x",
            "a",
            ".git/HEAD",
            ".vplan/run",
            "b/.git/HEAD",
            "b/.vplan/kept",
            ".env",
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("b", dir.path().join("link")).unwrap();
        let found: Vec<String> = walk(dir.path(), &RepoPath::root())
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, [".env", "a", "b/.vplan/kept", "b/x", "link"]);
    }
}
