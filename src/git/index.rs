//! Parses git's index, versions 2, 3 and 4 (git's `Documentation/gitformat-index.txt`).
//!
//! vplan reads it itself because every git command that compares the work tree with it may run the
//! clean filter that the repository's configuration names (for entries whose time stamp is not
//! older than the index). For vplan it is a list of names and ids: its times and sizes can be
//! forged by any process that may write it.

use super::object::Oid;
use std::sync::Arc;

/// The mode of a symlink.
pub(super) const SYMLINK: u32 = 0o120_000;

/// Returns the mode of a regular file.
pub(super) const fn mode_of(executable: bool) -> u32 {
    if executable { 0o100_755 } else { 0o100_644 }
}
/// The mode of a submodule.
pub(super) const SUBMODULE: u32 = 0o160_000;

/// The result of reading an index.
#[derive(Debug, PartialEq, Eq)]
pub enum GitIndex {
    /// Its entries, in byte order of their paths.
    Entries(Vec<IndexEntry>),
    /// A form that is not read here: a split or a sparse index, a later version, a damaged file.
    Unusual,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The path, as git stores it.
    pub path: Arc<[u8]>,
    /// `0o100644`, `0o100755`, `0o120000` or `0o160000`.
    pub mode: u32,
    /// The id of its content; of a submodule's commit.
    pub id: Oid,
    /// 0, or 1 to 3 in a conflict.
    pub stage: u8,
    /// Outside a sparse checkout.
    pub skip_worktree: bool,
    /// `git add --intent-to-add`: the path is known, the content is not.
    pub intent_to_add: bool,
}

/// Reads an index whose ids have `length` bytes.
pub fn parse(bytes: &[u8], length: usize) -> GitIndex {
    read(bytes, length).map_or(GitIndex::Unusual, GitIndex::Entries)
}

fn read(bytes: &[u8], length: usize) -> Option<Vec<IndexEntry>> {
    let body = bytes.get(..bytes.len().checked_sub(length)?)?;
    let mut cursor = Cursor(body);
    (cursor.take(4)? == b"DIRC").then_some(())?;
    let version = cursor.u32()?;
    (2..=4).contains(&version).then_some(())?;
    let count = usize::try_from(cursor.u32()?).ok()?;
    // An entry takes more than 62 bytes (in version 4 as well), so a count that does not fit is
    // forged.
    (count <= body.len() / 40).then_some(())?;
    let mut entries = Vec::with_capacity(count);
    let mut previous: Vec<u8> = Vec::new();
    for _ in 0..count {
        let entry = read_entry(&mut cursor, version, length, &mut previous)?;
        entries.push(entry);
    }
    while !cursor.0.is_empty() {
        let signature = cursor.take(4)?;
        // Git: "if the first byte is 'A'..'Z' the extension is optional and can be ignored".
        signature.first()?.is_ascii_uppercase().then_some(())?;
        let size = usize::try_from(cursor.u32()?).ok()?;
        cursor.take(size)?;
    }
    Some(entries)
}

fn read_entry(
    cursor: &mut Cursor<'_>,
    version: u32,
    length: usize,
    previous: &mut Vec<u8>,
) -> Option<IndexEntry> {
    let before = cursor.0.len();
    // Two times, device and inode; after the mode: owner, group, size. Any process may have written
    // them, so they are ignored.
    cursor.take(24)?;
    let mode = cursor.u32()?;
    cursor.take(12)?;
    let id = Oid::from_bytes(cursor.take(length)?)?;
    let flags = cursor.u16()?;
    let more = if flags & 0x4000 != 0 {
        cursor.u16()?
    } else {
        0
    };
    if version == 4 {
        let strip = cursor.varint()?;
        previous.truncate(previous.len().checked_sub(strip)?);
        previous.extend_from_slice(cursor.until_nul()?);
    } else {
        previous.clear();
        previous.extend_from_slice(cursor.until_nul()?);
        // Entries are padded to a multiple of eight with one to eight NULs. The first NUL is
        // already consumed.
        let used = before - cursor.0.len();
        cursor.take(used.next_multiple_of(8) - used)?;
    }
    // A directory as an entry exists in a sparse index only; any other mode does not exist at all.
    matches!(
        mode,
        0o100_644 | 0o100_755 | 0o100_664 | 0o120_000 | 0o160_000
    )
    .then_some(())?;
    let mode = if mode == 0o100_664 { 0o100_644 } else { mode };
    Some(IndexEntry {
        path: Arc::from(previous.as_slice()),
        mode,
        id,
        stage: u8::try_from((flags >> 12) & 3).ok()?,
        skip_worktree: more & 0x4000 != 0,
        intent_to_add: more & 0x2000 != 0,
    })
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (now, later) = self.0.split_at_checked(count)?;
        self.0 = later;
        Some(now)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|b| u32::from_be_bytes(*b))
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|b| u16::from_be_bytes(*b))
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|b| *b == 0)?;
        let name = self.take(end)?;
        self.take(1)?;
        Some(name)
    }

    /// Reads git's variable width encoding of offsets: big endian, seven bits a byte, one added for
    /// each byte that follows.
    fn varint(&mut self) -> Option<usize> {
        let mut value: usize = 0;
        loop {
            let byte = usize::from(*self.take(1)?.first()?);
            value = value.checked_add(byte & 0x7f)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_unusual() {
        let mut good = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        good.extend([0; 24]);
        good.extend(0o100_644_u32.to_be_bytes());
        good.extend([0; 12]);
        good.extend([7; 20]);
        good.extend([0, 1, b'a', 0]);
        good.extend([0; 6]);
        good.extend([0; 20]);
        // 62 bytes of header and name, padded to 64; then the checksum.
        good.truncate(12 + 72);
        good.truncate(12 + 64);
        good.extend([0; 20]);
        let GitIndex::Entries(entries) = parse(&good, 20) else {
            panic!("not read")
        };
        assert_eq!(
            (entries.len(), &*entries[0].path, entries[0].mode),
            (1, &b"a"[..], 0o100_644)
        );
        for end in 0..good.len() - 1 {
            let cut = &good[..end];
            // A cut inside the checksum leaves a body that is shorter than its entries need.
            assert_eq!(parse(cut, 20), GitIndex::Unusual, "{end}");
        }
        for (at, byte) in [(0, b'X'), (7, 5), (11, 255), (12 + 24, 0xff)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(parse(&bad, 20), GitIndex::Unusual, "{at}");
        }
    }

    #[test]
    fn varints() {
        // Git's `Documentation/gitformat-pack.txt`, "offset encoding".
        for (bytes, value) in [
            (&b"\x00"[..], 0),
            (b"\x7f", 127),
            (b"\x80\x00", 128),
            (b"\x81\x01", 257),
        ] {
            assert_eq!(Cursor(bytes).varint(), Some(value));
        }
        assert_eq!(Cursor(&[0xff; 40]).varint(), None);
    }
}
