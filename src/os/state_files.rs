//! Opens the folders of the state directory, and reads the small files in them.

use crate::files::read_plain_at;
use crate::retry_eintr::open;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, mkdirat};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// Opens a folder in a folder; makes it if it is not there.
///
/// # Errors
/// Errors of the system.
pub fn folder(state: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    folder_of(state, name, Mode::RWXU)
}

/// Opens a folder in a folder; makes it with these permissions, as far as the umask lets it, if it is not there.
///
/// # Errors
/// Errors of the system.
pub fn folder_of(parent: impl AsFd, name: &str, mode: Mode) -> io::Result<OwnedFd> {
    match mkdirat(&parent, name, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(find(parent, name)?)
}

/// Opens a folder in a folder, if it is there.
///
/// # Errors
/// Errors of the system.
pub fn find(state: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    open(state, name, OFlags::DIRECTORY | OFlags::NOFOLLOW)
}

/// Reads a regular file, limited to a number of bytes.
///
/// # Errors
/// Errors of the system; a file of another kind or size.
pub fn read(folder: impl AsFd, name: &str, cap: u64) -> io::Result<Vec<u8>> {
    read_plain_at(folder, Path::new(name), cap)
}
