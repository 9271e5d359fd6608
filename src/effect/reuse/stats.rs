//! Which contents are known without reading them? Digests by file, as long as its status shows that nobody wrote to it.
//!
//! A file that is written twice within one tick of the clock may look the same both times. So a digest is only remembered when
//! the file's times lay back for a while before it was read: whoever writes to it later gives it other times (git calls the
//! others "racily clean"). The times of change (`ctime`), which no program can set, count like those of modification.

use crate::base::canon::{Digest, Hasher};
use rustix::fs::Stat;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// How far back a file's times must lie: more than the coarsest clock of a file system, in nanoseconds.
const SETTLED: i128 = 2_500_000_000;
/// How many files are remembered at most.
const MOST: usize = 1_000_000;
const MAGIC: &[u8; 16] = b"vplan stats 1\n\0\0";
/// Behind the path: device, inode, size, two times, digest.
const FIXED: usize = 8 + 8 + 8 + 16 + 16 + 32;

/// What shows that a file is the one that was read, and that nobody wrote to it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    modified: i128,
    changed: i128,
}

#[expect(clippy::unnecessary_cast, clippy::cast_lossless, reason = "the fields have other types on other systems")]
impl From<&Stat> for Stamp {
    fn from(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos: i128| i128::from(seconds) * 1_000_000_000 + nanos;
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i128),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i128),
        }
    }
}

impl Stamp {
    /// Whether the file was at rest at a moment.
    fn is_settled(&self, at: i128) -> bool {
        self.modified.max(self.changed) < at - SETTLED
    }

    /// Whether both are of one file that nobody has written to in between. What was linked or renamed meanwhile was not.
    #[must_use]
    pub fn is_unwritten(&self, later: &Stamp) -> bool {
        let of = |s: &Stamp| (s.dev, s.ino, s.size, s.modified);
        of(self) == of(later)
    }
}

/// Now, by the wall clock, in nanoseconds since 1970: the clock of the files' times.
#[must_use]
pub fn now() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i128::try_from(d.as_nanos()).unwrap_or(0))
}

/// The digests that are known.
#[derive(Debug, Default)]
pub struct Stats {
    known: BTreeMap<Vec<u8>, (Stamp, Digest)>,
    /// Whether there is more to remember than was read.
    pub grown: bool,
}

impl Stats {
    /// The digest of a file's content.
    #[must_use]
    pub fn digest(&self, path: &[u8], stamp: &Stamp) -> Option<Digest> {
        self.known.get(path).filter(|(known, _)| known == stamp).map(|(_, digest)| digest.clone())
    }

    /// Remembers what was read of a file that had this stamp before and after; `since` is from before.
    pub fn learn(&mut self, path: &[u8], stamp: Stamp, digest: Digest, since: i128) {
        if stamp.is_settled(since) && self.known.len() < MOST {
            self.known.insert(path.to_vec(), (stamp, digest));
            self.grown = true;
        }
    }

    /// How many are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// As a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.known.len() * (FIXED + 48));
        for (path, (stamp, digest)) in &self.known {
            let Ok(length) = u32::try_from(path.len()) else { continue };
            body.extend(length.to_le_bytes());
            body.extend(path);
            for field in [stamp.dev, stamp.ino, stamp.size] {
                body.extend(field.to_le_bytes());
            }
            body.extend(stamp.modified.to_le_bytes());
            body.extend(stamp.changed.to_le_bytes());
            body.extend(digest.as_bytes());
        }
        [&MAGIC[..], Digest::of(&body).as_bytes(), &body].concat()
    }

    /// Reads a file; nothing is known by one that is not whole. Total.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        Self::parse(bytes).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (digest, mut body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        let mut hasher = Hasher::default();
        hasher.write_all(body).ok()?;
        if hasher.finish() != Digest::from_bytes(*digest) {
            return None;
        }
        let mut known = Vec::new();
        while !body.is_empty() {
            let (length, rest) = body.split_first_chunk::<4>()?;
            let (path, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
            let (dev, rest) = rest.split_first_chunk()?;
            let (ino, rest) = rest.split_first_chunk()?;
            let (size, rest) = rest.split_first_chunk()?;
            let (modified, rest) = rest.split_first_chunk()?;
            let (changed, rest) = rest.split_first_chunk()?;
            let (digest, rest) = rest.split_first_chunk::<32>()?;
            let stamp = Stamp {
                dev: u64::from_le_bytes(*dev),
                ino: u64::from_le_bytes(*ino),
                size: u64::from_le_bytes(*size),
                modified: i128::from_le_bytes(*modified),
                changed: i128::from_le_bytes(*changed),
            };
            known.push((path.to_vec(), (stamp, Digest::from_bytes(*digest))));
            body = rest;
        }
        Some(Self { known: known.into_iter().collect(), grown: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(modified: i128, changed: i128) -> Stamp {
        Stamp { dev: 1, ino: 2, size: 3, modified, changed }
    }

    #[test]
    fn only_what_was_at_rest_is_remembered() {
        let second = 1_000_000_000;
        let now = 1000 * second;
        for (name, modified, changed, want) in [
            ("old", now - 10 * second, now - 10 * second, true),
            ("just written", now - second, now - second, false),
            ("written, with an old time", now - 10 * second, now - second, false),
            ("of the future", now + second, now - 10 * second, false),
        ] {
            let mut stats = Stats::default();
            let stamp = stamp(modified, changed);
            stats.learn(b"a", stamp, Digest::of(b"x"), now);
            assert_eq!(stats.digest(b"a", &stamp), want.then(|| Digest::of(b"x")), "{name}");
            assert_eq!(stats.grown, want, "{name}");
        }
    }

    #[test]
    fn any_other_status_is_unknown() {
        let mut stats = Stats::default();
        let was = stamp(1, 1);
        stats.learn(b"a", was, Digest::of(b"x"), i128::MAX);
        for other in [
            Stamp { dev: 9, ..was },
            Stamp { ino: 9, ..was },
            Stamp { size: 9, ..was },
            Stamp { modified: 9, ..was },
            Stamp { changed: 9, ..was },
        ] {
            assert_eq!(stats.digest(b"a", &other), None, "{other:?}");
        }
        assert_eq!(stats.digest(b"b", &was), None);
    }

    #[test]
    fn as_a_file_and_back() {
        let mut stats = Stats::default();
        for i in 0..100_u8 {
            stats.learn(&vec![i; usize::from(i)], stamp(i.into(), 1), Digest::of(&[i]), i128::MAX);
        }
        let bytes = stats.encode();
        assert_eq!(Stats::decode(&bytes).known, stats.known);
        for end in (0..bytes.len()).step_by(7) {
            assert!(Stats::decode(&bytes[..end]).is_empty(), "torn at {end}");
        }
        for at in (0..bytes.len()).step_by(11) {
            let mut other = bytes.clone();
            other[at] ^= 4;
            assert!(Stats::decode(&other).is_empty(), "damaged at {at}");
        }
    }
}
