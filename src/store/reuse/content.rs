//! Reads the content of single files, for its digest.

use super::unsteady::Unsteady;
use rustix::fs::Stat;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use vplan_base::canon::{Digest, Hasher};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_os::files::beneath::Beneath;
use vplan_os::stat_cache::{StatStamp, now};

/// A file whose content is not known yet.
pub(super) struct Unread {
    pub path: RepoPath,
    /// The metadata with which its content is that of the snapshot, if there is such a thing.
    pub then: Option<StatStamp>,
    /// The target, when it is a symlink.
    pub link: Option<Word>,
}

/// The result of reading a file.
pub(super) struct Read {
    pub content: Digest,
    pub mode: u32,
    pub stamp: StatStamp,
    /// A moment before it was read.
    pub since: i128,
}

/// Reads one file.
pub(super) fn read_one(beneath: &Beneath, file: &Unread) -> Result<Read, Unsteady> {
    let path = || file.path.clone();
    let since = now();
    let opened = beneath.file(&file.path);
    let opened = opened.map_err(|e| Unsteady::Unreadable(path(), e))?;
    let (content, stat) = digest(opened).map_err(|e| Unsteady::Refused(path(), "read", e))?;
    let stat = stat.ok_or_else(|| Unsteady::BeingWritten(path()))?;
    Ok(Read {
        content,
        mode: permissions(stat.st_mode),
        stamp: StatStamp::from(&stat),
        since,
    })
}

/// Copies a file's content. Returns its digest and its size in bytes.
///
/// # Errors
/// Errors of the system.
pub fn copy(mut from: File, to: &mut File) -> io::Result<(Digest, u64)> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    loop {
        let count = from.read(&mut buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        if read.is_empty() {
            return Ok((hasher.finish(), size));
        }
        hasher.write_all(read)?;
        to.write_all(read)?;
        size += count as u64;
    }
}

/// Digests a file's content, and returns its status unless that changed while it was read.
///
/// # Errors
/// Errors of the system.
pub fn digest(mut file: File) -> io::Result<(Digest, Option<Stat>)> {
    let before = rustix::fs::fstat(&file)?;
    let mut hasher = Hasher::default();
    io::copy(&mut file, &mut hasher)?;
    let after = rustix::fs::fstat(&file)?;
    let steady = StatStamp::from(&before).is_unwritten(&StatStamp::from(&after));
    Ok((hasher.finish(), steady.then_some(after)))
}

/// Returns the permissions of a mode.
pub(super) fn permissions(mode: u32) -> u32 {
    mode & 0o7777
}
