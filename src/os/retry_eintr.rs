//! Retries system calls that a signal interrupted. The standard library does so itself; these are
//! rustix's: on a network or user-space file system, opening, locking and syncing may take long
//! enough.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags, RawDir, RawMode,
    ResolveFlags, statat,
};
use rustix::io::{Errno, Result, retry_on_intr};
use rustix::path::Arg;
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Buffer size for listing a directory, in bytes.
const LISTED: usize = 32 << 10;
/// A mode's bits below those of the kind of file.
const KIND_SHIFT: u32 = 12;

pub fn openat(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    retry_on_intr(|| rustix::fs::openat(folder.as_fd(), path, flags, mode))
}

/// Opens an existing path, for reading unless the flags say otherwise. Programs do not inherit it.
pub fn open(folder: impl AsFd, path: impl Arg + Copy, flags: OFlags) -> Result<OwnedFd> {
    openat(folder, path, flags | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a folder by its path.
pub fn open_folder(path: impl Arg + Copy) -> Result<OwnedFd> {
    open(CWD, path, OFlags::DIRECTORY)
}

/// Returns the entries of a folder, which is opened once more for that.
pub fn read_dir(folder: impl AsFd) -> Result<Dir> {
    retry_on_intr(|| Dir::read_from(folder.as_fd()))
}

/// The entries of a folder, without `.` and `..`.
#[derive(Default)]
pub struct FolderEntries {
    /// The buffer for one system call.
    buffer: Vec<u8>,
    names: Vec<u8>,
    /// The range of each name, and its kind.
    entries: Vec<(Range<usize>, FileType)>,
}

impl FolderEntries {
    /// Lists a newly opened folder, in place of the previous entries.
    pub fn read(&mut self, folder: impl AsFd) -> Result<()> {
        self.names.clear();
        self.entries.clear();
        self.buffer.reserve(LISTED);
        let mut entries = RawDir::new(folder, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => {
                    let start = self.names.len();
                    self.names.extend_from_slice(entry.file_name().to_bytes());
                    self.entries
                        .push((start..self.names.len(), entry.file_type()));
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Returns the entries: in the order of the folder, or of their names once they are sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        let entry = |(name, kind): &(Range<usize>, FileType)| (self.name(name), *kind);
        self.entries.iter().map(entry)
    }

    /// Determines the kinds of entries for which the system gave none.
    pub fn tell_kinds(&mut self, folder: impl AsFd) {
        for (name, kind) in &mut self.entries {
            let name = self.names.get(name.clone()).unwrap_or_default();
            if *kind == FileType::Unknown
                && let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
            {
                *kind = FileType::from_raw_mode(stat.st_mode);
            }
        }
    }

    /// Appends the entries to `packed` in a compact form, to be listed again later. Returns their
    /// range; `None` if the kind of an entry is unknown.
    pub fn pack(&self, packed: &mut Vec<u8>) -> Option<Range<usize>> {
        let start = packed.len();
        for (name, kind) in self.iter() {
            if kind == FileType::Unknown {
                packed.truncate(start);
                return None;
            }
            packed.push(u8::try_from(kind.as_raw_mode() >> KIND_SHIFT).ok()?);
            packed.extend_from_slice(name);
            packed.push(0);
        }
        Some(start..packed.len())
    }

    /// Lists packed entries, in place of the previous ones.
    pub fn unpack(&mut self, packed: &[u8]) {
        self.names.clear();
        self.entries.clear();
        for entry in packed.split(|byte| *byte == 0) {
            let Some((kind, name)) = entry.split_first() else {
                continue;
            };
            let start = self.names.len();
            self.names.extend_from_slice(name);
            let kind = FileType::from_raw_mode(RawMode::from(*kind) << KIND_SHIFT);
            self.entries.push((start..self.names.len(), kind));
        }
    }

    /// Sorts the entries by the bytes of their names.
    pub fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by(|(a, _), (b, _)| self.name(a).cmp(self.name(b)));
        self.entries = entries;
    }

    fn name(&self, name: &Range<usize>) -> &[u8] {
        self.names.get(name.clone()).unwrap_or_default()
    }
}

/// Opens as [`open`] does, by a way that is restricted.
pub fn openat2(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd> {
    let (flags, mode) = (flags | OFlags::CLOEXEC, Mode::empty());
    retry_on_intr(|| rustix::fs::openat2(folder.as_fd(), path, flags, mode, resolve))
}

pub fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    retry_on_intr(|| rustix::fs::flock(file.as_fd(), operation))
}

/// Locks a file or folder for this process alone, and waits for others within a time; returns
/// whether it is locked.
pub fn flock_within(file: impl AsFd, limit: Duration) -> Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        match flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => sleep(Duration::from_millis(5)),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            locked => return locked.map(|()| true),
        }
    }
}

pub fn fsync(file: impl AsFd) -> Result<()> {
    retry_on_intr(|| rustix::fs::fsync(file.as_fd()))
}

pub fn fallocate(file: impl AsFd, mode: FallocateFlags, offset: u64, length: u64) -> Result<()> {
    retry_on_intr(|| rustix::fs::fallocate(file.as_fd(), mode, offset, length))
}
