//! A folder that several machines can write to: `ac/KEY` holds passes, `cas/DIGEST` contents.

use super::kind::Kind;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use vplan_base::canon::Digest;
use vplan_os::atomic_file::{CACHED_FOR_ALL, replace};
use vplan_os::{retry_eintr, state_files};

/// The two folders in it.
#[derive(Debug)]
pub(super) struct Folder {
    passes: OwnedFd,
    contents: OwnedFd,
}

impl Folder {
    /// Opens an existing folder and makes the two in it, for everyone whom the umask permits.
    ///
    /// # Errors
    /// Errors of the system.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let folder = retry_eintr::openat(CWD, path, flags, Mode::empty())?;
        let for_all = Mode::from_raw_mode(0o777);
        let inner = |kind: Kind| state_files::folder_of(&folder, kind.name(), for_all);
        Ok(Self {
            passes: inner(Kind::Pass)?,
            contents: inner(Kind::Content)?,
        })
    }

    fn kind_folder(&self, kind: Kind) -> &OwnedFd {
        match kind {
            Kind::Pass => &self.passes,
            Kind::Content => &self.contents,
        }
    }

    pub(super) fn get(&self, kind: Kind, key: &Digest, most: u64) -> io::Result<Option<Vec<u8>>> {
        match state_files::read(self.kind_folder(kind), &key.hex(), most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn put(&self, kind: Kind, key: &Digest, bytes: &[u8]) -> io::Result<()> {
        replace(
            self.kind_folder(kind),
            OsStr::new(&key.hex()),
            bytes,
            CACHED_FOR_ALL,
        )
    }
}
