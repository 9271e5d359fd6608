//! Caches the digests of files, valid as long as a file's status shows that it was not written.
//!
//! A file that is written twice within one tick of the clock may have the same times. So a digest
//! is only remembered if the file's times were old enough when it was read: any later write gives
//! it other times (git calls the others "racily clean"). The times of change (`ctime`), which no
//! program can set, count like those of modification.

use rustix::fs::Stat;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use vplan_base::canon::{Digest, Hasher};

/// Minimum age of a file's times, in nanoseconds: more than the coarsest clock of a file system.
const SETTLED: i128 = 2_500_000_000;
/// The time by which a kernel's clock of files lags at most, in nanoseconds.
const TICK: i128 = 20_000_000;
/// Maximum number of remembered files.
const MOST: usize = 1_000_000;
/// The cost of opening a file, in bytes that could be read meanwhile.
pub const OPENING: u64 = 8 << 10;
const MAGIC: &[u8; 16] = b"vplan stats 2\n\0\0";
/// The size of the data before the records, in bytes: [`MAGIC`] and their digest.
const HEAD: usize = MAGIC.len() + 32;
/// The encoded length of device, inode, size and two times, in bytes.
const STAMP: usize = 8 + 8 + 8 + 12 + 12;
/// The size of the data after a path, in bytes: a stamp and a digest.
const FIXED: usize = STAMP + 32;

/// The metadata that shows that a file is the one that was read, and was not written since. Small:
/// there is one for every file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatStamp {
    dev: u64,
    ino: u64,
    size: u64,
    modified: Time,
    changed: Time,
}

/// A time of a file: seconds since 1970, and nanoseconds. Packed, or each would take as much again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(4))]
struct Time {
    seconds: i64,
    nanos: u32,
}

impl Time {
    /// Returns the nanoseconds since 1970.
    fn nanos(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the fields have other types on other systems"
)]
impl From<&Stat> for StatStamp {
    fn from(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos: u32| Time { seconds, nanos };
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u32),
        }
    }
}

impl StatStamp {
    /// Returns the time of the last write, in nanoseconds since 1970.
    pub fn modified(&self) -> i128 {
        self.modified.nanos()
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the file's last write was long enough before a moment: any later one gives it other
    /// times.
    pub fn is_settled(&self, at: i128) -> bool {
        self.modified.max(self.changed).nanos() < at - SETTLED
    }

    /// Whether the file was not changed after a moment, as far as its times show. Allows for a file
    /// clock that is coarser than the system's.
    pub fn is_before(&self, at: i128) -> bool {
        self.modified.max(self.changed).nanos() < at - TICK
    }

    /// Whether both are of the same file system.
    pub fn is_beside(&self, other: &StatStamp) -> bool {
        self.dev == other.dev
    }

    fn bytes(&self) -> [u8; STAMP] {
        let mut bytes = [0; STAMP];
        let mut rest = &mut bytes[..];
        // The buffer is large enough, so writing cannot fail.
        for whole in [self.dev, self.ino, self.size] {
            let _ = rest.write_all(&whole.to_le_bytes());
        }
        for Time { seconds, nanos } in [self.modified, self.changed] {
            let _ = rest.write_all(&seconds.to_le_bytes());
            let _ = rest.write_all(&nanos.to_le_bytes());
        }
        bytes
    }

    /// Whether both are of one file that was not written in between. Linking or renaming is
    /// not writing.
    pub fn is_unwritten(&self, later: &StatStamp) -> bool {
        let of = |s: &StatStamp| (s.dev, s.ino, s.size, s.modified);
        of(self) == of(later)
    }
}

/// Returns the wall clock's time, in nanoseconds since 1970: the clock of the files' times.
pub fn now() -> i128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i128::try_from(d.as_nanos()).unwrap_or(0))
}

/// The known digests.
#[derive(Debug, Default)]
pub struct StatCacheStats {
    /// The file that was read: [`HEAD`] bytes, then the records in byte order of their paths.
    bytes: Vec<u8>,
    /// The position of each record.
    starts: Vec<usize>,
    /// For each digest, whether it was requested and valid.
    used: Vec<AtomicBool>,
    learned: BTreeMap<Vec<u8>, (StatStamp, Digest)>,
    /// Whether there is more to remember than was read.
    pub grown: bool,
}

impl StatCacheStats {
    /// Returns the digest of a file's content, if it is known.
    pub fn digest(&self, path: &[u8], stamp: &StatStamp) -> Option<Digest> {
        self.digest_near(path, stamp, &mut 0)
    }

    /// Returns the digest as [`StatCacheStats::digest`] does, for paths requested in byte order: `near` is
    /// the position of the last one, at first 0.
    pub fn digest_near(&self, path: &[u8], stamp: &StatStamp, near: &mut usize) -> Option<Digest> {
        if let Some((known, digest)) = self.learned.get(path) {
            return (known == stamp).then(|| digest.clone());
        }
        let at = self.place(path, *near)?;
        *near = at + 1;
        let (_, fixed) = self.record(at)?;
        let (known, digest) = fixed.split_first_chunk::<STAMP>()?;
        if *known != stamp.bytes() {
            return None;
        }
        self.used.get(at)?.store(true, Ordering::Relaxed);
        Some(Digest::from_bytes(*digest.first_chunk()?))
    }

    /// Finds the record of a path; tries the one at `near` first.
    fn place(&self, path: &[u8], near: usize) -> Option<usize> {
        let is = |at: &usize| self.record(*at).is_some_and(|(known, _)| known == path);
        if is(&near) {
            return Some(near);
        }
        let begins_before =
            |start: &usize| read_record(&self.bytes, *start).is_some_and(|(known, _)| known < path);
        Some(self.starts.partition_point(begins_before)).filter(is)
    }

    fn record(&self, at: usize) -> Option<(&[u8], &[u8; FIXED])> {
        read_record(&self.bytes, *self.starts.get(at)?)
    }

    /// Remembers the digest of a file that had this stamp before and after it was read; `since` is
    /// a time before that.
    pub fn learn(&mut self, path: &[u8], stamp: StatStamp, digest: Digest, since: i128) {
        if stamp.is_settled(since) && self.len() < MOST {
            self.learned.insert(path.to_vec(), (stamp, digest));
            self.grown = true;
        }
    }

    /// Returns a lower bound of the number of known digests.
    pub fn len(&self) -> usize {
        self.starts.len().max(self.learned.len())
    }

    /// Returns how many have been learned since it was read, and how many were requested and valid.
    pub fn news(&self) -> (usize, usize) {
        (
            self.learned.len(),
            self.used
                .iter()
                .filter(|used| used.load(Ordering::Relaxed))
                .count(),
        )
    }

    /// Whether reading the new files again would cost more than writing the table.
    pub fn is_worth_writing(&self) -> bool {
        let news = self.learned.values().map(|(stamp, _)| stamp.size + OPENING);
        is_worth_writing(news.sum(), self.len())
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty() && self.learned.is_empty()
    }

    /// Encodes all records.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_those(|_| true)
    }

    /// Encodes the records that are new, or were requested and valid: the others belong to files
    /// that are gone.
    pub fn encode_used(&self) -> Vec<u8> {
        self.encode_those(|at| {
            self.used
                .get(at)
                .is_some_and(|used| used.load(Ordering::Relaxed))
        })
    }

    fn encode_those(&self, wanted: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.bytes.len() + self.learned.len() * (FIXED + 48));
        let mut write = |path: &[u8], stamp: &[u8], digest: &[u8]| {
            let Ok(length) = u32::try_from(path.len()) else {
                return;
            };
            [&length.to_le_bytes()[..], path, stamp, digest]
                .iter()
                .for_each(|part| body.extend_from_slice(part));
        };
        let mut learned = self.learned.iter().peekable();
        for (path, fixed) in (0..self.starts.len())
            .filter(|at| wanted(*at))
            .filter_map(|at| self.record(at))
        {
            while let Some((new, (stamp, digest))) =
                learned.next_if(|(new, _)| new.as_slice() < path)
            {
                write(new, &stamp.bytes(), digest.as_bytes());
            }
            // The later digest counts; it comes next.
            if learned.peek().is_none_or(|(new, _)| new.as_slice() != path) {
                write(path, fixed, &[]);
            }
        }
        learned.for_each(|(path, (stamp, digest))| write(path, &stamp.bytes(), digest.as_bytes()));
        [&MAGIC[..], Digest::hash(&body).as_bytes(), &body].concat()
    }

    /// Decodes a file; an incomplete one is read as empty. Total.
    pub fn decode(bytes: Vec<u8>) -> Self {
        Self::parse(bytes).unwrap_or_default()
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (digest, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        let mut hasher = Hasher::default();
        hasher.write_all(body).ok()?;
        if hasher.finish() != Digest::from_bytes(*digest) {
            return None;
        }
        let (mut starts, mut at) = (Vec::with_capacity(bytes.len() / (FIXED + 48)), HEAD);
        while at < bytes.len() {
            let (path, _) = read_record(&bytes, at)?;
            starts.push(at);
            at += 4 + path.len() + FIXED;
        }
        let used = starts.iter().map(|_| AtomicBool::new(false)).collect();
        Some(Self {
            bytes,
            starts,
            used,
            learned: BTreeMap::new(),
            grown: false,
        })
    }
}

/// Whether reading `bytes`, which includes [`OPENING`] for each file, costs more than writing a
/// table of that many files.
pub fn is_worth_writing(bytes: u64, files: usize) -> bool {
    bytes > 0 && bytes / 32 >= files as u64
}

fn read_record(body: &[u8], start: usize) -> Option<(&[u8], &[u8; FIXED])> {
    let (length, rest) = body.get(start..)?.split_first_chunk::<4>()?;
    let (path, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((path, rest.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(nanos: i128) -> Time {
        Time {
            seconds: i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap(),
            nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap(),
        }
    }

    fn stamp(modified: i128, changed: i128) -> StatStamp {
        StatStamp {
            dev: 1,
            ino: 2,
            size: 3,
            modified: time(modified),
            changed: time(changed),
        }
    }

    #[test]
    fn only_what_was_at_rest_is_remembered() {
        let second = 1_000_000_000;
        let now = 1000 * second;
        for (name, modified, changed, want) in [
            ("old", now - 10 * second, now - 10 * second, true),
            ("just written", now - second, now - second, false),
            (
                "written, with an old time",
                now - 10 * second,
                now - second,
                false,
            ),
            ("of the future", now + second, now - 10 * second, false),
        ] {
            let mut stats = StatCacheStats::default();
            let stamp = stamp(modified, changed);
            stats.learn(b"a", stamp, Digest::hash(b"x"), now);
            assert_eq!(
                stats.digest(b"a", &stamp),
                want.then(|| Digest::hash(b"x")),
                "{name}"
            );
            assert_eq!(stats.grown, want, "{name}");
        }
    }

    #[test]
    fn any_other_status_is_unknown() {
        let mut stats = StatCacheStats::default();
        let was = stamp(1, 1);
        stats.learn(b"a", was, Digest::hash(b"x"), i128::MAX);
        for other in [
            StatStamp { dev: 9, ..was },
            StatStamp { ino: 9, ..was },
            StatStamp { size: 9, ..was },
            StatStamp {
                modified: time(9),
                ..was
            },
            StatStamp {
                changed: time(9),
                ..was
            },
            StatStamp {
                changed: time(1_000_000_001),
                ..was
            },
        ] {
            assert_eq!(stats.digest(b"a", &other), None, "{other:?}");
        }
        assert_eq!(stats.digest(b"b", &was), None);
    }

    #[test]
    fn as_a_file_and_back() {
        let mut stats = StatCacheStats::default();
        let stamp_of = |i: u8| stamp(i.into(), 1);
        for i in 0..100_u8 {
            stats.learn(
                &vec![i; usize::from(i)],
                stamp_of(i),
                Digest::hash(&[i]),
                i128::MAX,
            );
        }
        let bytes = stats.encode();
        let read = StatCacheStats::decode(bytes.clone());
        let mut near = 0;
        for i in 0..100_u8 {
            let path = vec![i; usize::from(i)];
            assert_eq!(
                read.digest_near(&path, &stamp_of(i), &mut near),
                Some(Digest::hash(&[i])),
                "{i}"
            );
            assert_eq!(read.digest(&path, &stamp(i.into(), 2)), None, "{i}");
        }
        assert_eq!(read.digest(b"none", &stamp_of(1)), None);
        assert_eq!((read.encode(), read.news()), (bytes.clone(), (0, 100)));
        for end in (0..bytes.len()).step_by(7) {
            assert!(
                StatCacheStats::decode(bytes[..end].to_vec()).is_empty(),
                "torn at {end}"
            );
        }
        for at in (0..bytes.len()).step_by(11) {
            let mut other = bytes.clone();
            other[at] ^= 4;
            assert!(StatCacheStats::decode(other).is_empty(), "damaged at {at}");
        }
    }

    #[test]
    fn what_was_learned_later_counts() {
        let mut stats = StatCacheStats::default();
        for path in ["a", "c", "e"] {
            stats.learn(
                path.as_bytes(),
                stamp(1, 1),
                Digest::hash(b"old"),
                i128::MAX,
            );
        }
        let mut read = StatCacheStats::decode(stats.encode());
        for path in ["0", "c", "d"] {
            read.learn(
                path.as_bytes(),
                stamp(2, 2),
                Digest::hash(b"new"),
                i128::MAX,
            );
        }
        assert_eq!(read.digest(b"c", &stamp(1, 1)), None);
        let again = StatCacheStats::decode(read.encode());
        for (path, of) in [("0", 2), ("a", 1), ("c", 2), ("d", 2), ("e", 1)] {
            let want = Digest::hash(if of == 1 { b"old" } else { b"new" });
            assert_eq!(
                again.digest(path.as_bytes(), &stamp(of, of)),
                Some(want),
                "{path}"
            );
        }
        assert!(read.digest(b"a", &stamp(1, 1)).is_some());
        let used = StatCacheStats::decode(read.encode_used());
        assert!(
            used.digest(b"e", &stamp(1, 1)).is_none(),
            "asked for by nobody"
        );
        assert!(
            used.digest(b"a", &stamp(1, 1)).is_some() && used.digest(b"d", &stamp(2, 2)).is_some()
        );
    }
}
