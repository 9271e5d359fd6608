//! Makes the standard input of a process.

use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

/// Returns a file in memory with these bytes, positioned at the start.
pub fn memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}
