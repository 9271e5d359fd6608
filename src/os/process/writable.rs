//! The paths of the repository that a confined step may change, opened without following links; and
//! files that are copied there.

use super::confine::Writable;
use super::program::Root;
use crate::atomic_file::{NEW, NewFile, REMEMBERED};
use crate::files::open_plain;
use crate::retry_eintr::open;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, mkdirat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use vplan_base::path::RepoPath;

/// Opens a place that a step may change. A folder that is missing is made.
pub fn made(root: &Root, path: &RepoPath, is_file: bool) -> io::Result<Writable> {
    let cannot = |error: Errno| {
        io::Error::other(match error {
            Errno::LOOP | Errno::NOTDIR => format!("`{path}` leads over a link, or is no folder"),
            error => format!("`{path}` cannot be opened for it: {error}"),
        })
    };
    if is_file {
        let place = open(root, &path.to_os(), OFlags::PATH | OFlags::NOFOLLOW).map_err(cannot)?;
        return Ok(Writable {
            place,
            is_folder: false,
        });
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let mut folder = root.as_fd().try_clone_to_owned()?;
    for segment in path.segments() {
        let segment = Path::new(OsStr::from_bytes(segment));
        match mkdirat(&folder, segment, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(cannot(error)),
        }
        folder = open(&folder, segment, flags).map_err(cannot)?;
    }
    Ok(Writable {
        place: folder,
        is_folder: true,
    })
}

/// Copies a file to its place in the repository, with its mode.
///
/// # Errors
/// Errors of the system; a link on the way.
pub fn copy_in(root: &Root, path: &RepoPath, own: &Path) -> io::Result<()> {
    let mut from = open_plain(own)?;
    let mode = from.metadata()?.permissions().mode() & 0o777;
    let folder = made(root, &path.folder(), false)?;
    let name = OsStr::from_bytes(path.name());
    let new = NewFile::create(folder.place.as_fd(), name, REMEMBERED)?;
    io::copy(&mut from, &mut new.file())?;
    fchmod(new.file(), Mode::from_raw_mode(mode))?;
    new.rename()?;
    Ok(())
}

/// Makes a symlink at a path in the repository, replacing an existing entry.
///
/// # Errors
/// Errors of the system; a link on the way.
pub fn link_in(root: &Root, path: &RepoPath, target: &[u8]) -> io::Result<()> {
    let folder = made(root, &path.folder(), false)?.place;
    let new = [path.name(), NEW.as_bytes(), b"link"].concat();
    let begun = match symlinkat(target, &folder, &*new) {
        // A killed vplan has left it.
        Err(Errno::EXIST) => unlinkat(&folder, &*new, AtFlags::empty())
            .and_then(|()| symlinkat(target, &folder, &*new)),
        begun => begun,
    };
    let done = begun.and_then(|()| renameat(&folder, &*new, &folder, path.name()));
    if done.is_err() {
        let _ = unlinkat(&folder, &*new, AtFlags::empty());
    }
    Ok(done?)
}
