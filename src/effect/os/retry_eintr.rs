//! Retries system calls that a signal interrupted. The standard library does so itself; these are
//! rustix's: on a network or user-space file system, opening, locking and syncing may take long
//! enough.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, FallocateFlags, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::{Result, retry_on_intr};
use rustix::path::Arg;

pub(in crate::effect) fn openat(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    retry_on_intr(|| rustix::fs::openat(folder.as_fd(), path, flags, mode))
}

/// Returns the entries of a folder, which is opened once more for that.
pub(in crate::effect) fn read_dir(folder: impl AsFd) -> Result<Dir> {
    retry_on_intr(|| Dir::read_from(folder.as_fd()))
}

pub(in crate::effect) fn openat2(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd> {
    retry_on_intr(|| rustix::fs::openat2(folder.as_fd(), path, flags, mode, resolve))
}

pub(in crate::effect) fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    retry_on_intr(|| rustix::fs::flock(file.as_fd(), operation))
}

pub(in crate::effect) fn fsync(file: impl AsFd) -> Result<()> {
    retry_on_intr(|| rustix::fs::fsync(file.as_fd()))
}

pub(in crate::effect) fn fallocate(
    file: impl AsFd,
    mode: FallocateFlags,
    offset: u64,
    length: u64,
) -> Result<()> {
    retry_on_intr(|| rustix::fs::fallocate(file.as_fd(), mode, offset, length))
}
