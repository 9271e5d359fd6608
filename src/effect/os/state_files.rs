//! Reads the small files of a folder in the state directory, and replaces them as a whole.
//!
//! Nothing is synced to disk: a file that a loss of power damages is recognised by its digest and
//! ignored.

use crate::effect::os::files::read_bounded;
use crate::effect::os::retry_eintr::openat;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU32, Ordering};

/// Opens a folder in a folder; makes it if it is not there.
///
/// # Errors
/// What the system reports.
pub(in crate::effect) fn folder(state: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    match mkdirat(&state, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(find(state, name)?)
}

/// Opens a folder in a folder, if it is there.
///
/// # Errors
/// What the system reports.
pub(in crate::effect) fn find(state: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(state, name, flags, Mode::empty())
}

/// Reads a regular file of at most so many bytes.
///
/// # Errors
/// What the system reports; a file of another kind or size.
pub(in crate::effect) fn read(folder: impl AsFd, name: &str, cap: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty())?);
    let about = file.metadata()?;
    if !about.is_file() || about.len() > cap {
        return Err(io::ErrorKind::InvalidData.into());
    }
    read_bounded(&file, cap)
}

/// Makes a file that is not there yet.
///
/// # Errors
/// What the system reports.
pub(in crate::effect) fn create(folder: impl AsFd, name: &str) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Replaces a file: a reader sees the old one or the new one.
///
/// # Errors
/// What the system reports.
pub(in crate::effect) fn replace(folder: impl AsFd, name: &str, content: &[u8]) -> io::Result<()> {
    let new = temporary();
    let mut file = create(&folder, &new)?;
    let done = file
        .write_all(content)
        .and_then(|()| Ok(renameat(&folder, &new, &folder, name)?));
    if done.is_err() {
        let _ = unlinkat(&folder, &new, AtFlags::empty());
    }
    done
}

/// Makes a name that no other file of this machine's runs has.
pub(in crate::effect) fn temporary() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(
        ".new-{}-{}-{nth}",
        std::process::id(),
        crate::effect::os::stat_cache::now()
    )
}
