//! Git object ids, and the id that a file's content would have.
//!
//! vplan computes ids itself, of the bytes as they are: `git hash-object` and everything that
//! refreshes the index would run the clean filter that the repository's own configuration names.

use crate::base::canon::Hasher;
use data_encoding::HEXLOWER;
use std::io::{self, Read, Write};

/// An object id: SHA-1 or SHA-256, by the repository's object format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oid {
    /// In bytes: 20 or 32.
    length: u8,
    bytes: [u8; 32],
}

/// Returns the length of an id in bytes, if there are such ids.
fn length(bytes: usize) -> Option<u8> {
    u8::try_from(bytes).ok().filter(|n| matches!(n, 20 | 32))
}

impl Oid {
    /// Takes raw bytes: 20 or 32 of them.
    #[must_use]
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let length = length(raw.len())?;
        let mut bytes = [0; 32];
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        Some(Self { length, bytes })
    }

    /// Reads 40 or 64 lower case hexadecimal digits.
    #[must_use]
    pub fn parse(hex: &[u8]) -> Option<Self> {
        let length = length(HEXLOWER.decode_len(hex.len()).ok()?)?;
        let mut bytes = [0; 32];
        let own = bytes.get_mut(..usize::from(length))?;
        HEXLOWER.decode_mut(hex, own).ok()?;
        Some(Self { length, bytes })
    }

    /// Returns its bytes.
    pub(super) fn raw(&self) -> &[u8] {
        self.bytes.get(..self.length()).unwrap_or_default()
    }

    /// Returns its bytes, followed by zeros up to 32.
    pub(super) fn padded(&self) -> [u8; 32] {
        self.bytes
    }

    /// Returns the id of so many bytes that [`Oid::padded`] gave.
    pub(super) fn from_padded(of: usize, bytes: [u8; 32]) -> Option<Self> {
        let length = length(of)?;
        let ends = |from: usize| {
            bytes
                .get(from..)
                .is_some_and(|rest| rest.iter().all(|b| *b == 0))
        };
        (if ends(20) { of == 20 } else { of == 32 }).then_some(Self { length, bytes })
    }

    /// Returns the id of the tree without entries, which git knows also where no such object is
    /// stored.
    #[must_use]
    pub fn empty_tree(length: usize) -> Option<Self> {
        let mut hash = ObjectHasher::new(length, "tree", 0)?;
        hash.flush().ok()?;
        hash.finish()
    }

    /// Returns its length in bytes: 20 or 32.
    #[must_use]
    pub fn length(&self) -> usize {
        usize::from(self.length)
    }

    /// Returns the first 12 digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl std::fmt::Display for Oid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        HEXLOWER.encode_write(self.raw(), f)
    }
}

impl std::fmt::Debug for Oid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Computes the id that a blob of this content has. `length`: that of the repository's ids; `size`:
/// of the content, in bytes.
///
/// # Errors
/// Errors of the reader, and a content that is not `size` bytes long (the file is being written).
pub fn blob_id(length: usize, size: u64, mut content: impl Read) -> io::Result<Oid> {
    let wrong = || io::Error::other("the file is being written");
    let mut hash = ObjectHasher::new(length, "blob", size).ok_or_else(wrong)?;
    let copied = io::copy(&mut content, &mut hash)?;
    if copied != size {
        return Err(wrong());
    }
    hash.finish().ok_or_else(wrong)
}

/// Computes the id that an object of this kind and content has. `length`: that of the repository's
/// ids.
#[must_use]
pub fn object_id(length: usize, kind: &str, content: &[u8]) -> Option<Oid> {
    let mut hash = ObjectHasher::new(length, kind, content.len() as u64)?;
    hash.write_all(content).ok()?;
    hash.finish()
}

enum ObjectHasher {
    Sha1(Box<Sha1>),
    Sha256(Hasher),
}

impl ObjectHasher {
    fn new(length: usize, kind: &str, size: u64) -> Option<Self> {
        let mut hash = match length {
            20 => Self::Sha1(Box::default()),
            32 => Self::Sha256(Hasher::default()),
            _ => return None,
        };
        hash.write_all(format!("{kind} {size}\0").as_bytes()).ok()?;
        Some(hash)
    }

    fn finish(self) -> Option<Oid> {
        match self {
            Self::Sha1(hash) => Oid::from_bytes(&hash.finish()),
            Self::Sha256(hash) => Oid::from_bytes(hash.finish().as_bytes()),
        }
    }
}

impl Write for ObjectHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => return hash.write(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// SHA-1 (FIPS 180-4, section 6.1): git's older object format. It names contents here and protects
/// nothing.
struct Sha1 {
    state: [u32; 5],
    block: Vec<u8>,
    length: u64,
}

impl Default for Sha1 {
    fn default() -> Self {
        Self {
            state: [
                0x6745_2301,
                0xefcd_ab89,
                0x98ba_dcfe,
                0x1032_5476,
                0xc3d2_e1f0,
            ],
            block: Vec::with_capacity(64),
            length: 0,
        }
    }
}

impl Sha1 {
    fn update(&mut self, mut bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if !self.block.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(64 - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if let Some(full) = self.block.first_chunk::<64>() {
                compress(&mut self.state, full);
                self.block.clear();
            }
        }
        if self.block.is_empty() {
            let (full, rest) = bytes.as_chunks::<64>();
            full.iter()
                .for_each(|chunk| compress(&mut self.state, chunk));
            self.block.extend_from_slice(rest);
        }
    }

    fn finish(mut self) -> [u8; 20] {
        let bits = self.length.wrapping_mul(8);
        let zeros = (119 - self.block.len()) % 64;
        let mut padding = vec![0x80];
        padding.resize(1 + zeros, 0);
        padding.extend(bits.to_be_bytes());
        self.update(&padding);
        let mut out = [0; 20];
        for (slot, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(self.state) {
            *slot = word.to_be_bytes();
        }
        out
    }
}

fn compress(state: &mut [u32; 5], block: &[u8; 64]) {
    // The message schedule as a ring of 16 words: word t takes the place of word t - 16.
    let mut ring = [0_u32; 16];
    for (word, bytes) in ring.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    let at = |ring: &[u32; 16], i: usize| ring.get(i % 16).copied().unwrap_or(0);
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for t in 0..80_usize {
        if t >= 16 {
            let next = (at(&ring, t + 13) ^ at(&ring, t + 8) ^ at(&ring, t + 2) ^ at(&ring, t))
                .rotate_left(1);
            if let Some(slot) = ring.get_mut(t % 16) {
                *slot = next;
            }
        }
        let (f, k) = match t / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(f)
            .wrapping_add(e)
            .wrapping_add(k)
            .wrapping_add(at(&ring, t));
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha1(bytes: &[u8]) -> String {
        let mut hash = Sha1::default();
        // In pieces of odd sizes, so that every way through the buffer is taken.
        bytes.chunks(37).for_each(|piece| hash.update(piece));
        Oid::from_bytes(&hash.finish()).unwrap().to_string()
    }

    #[test]
    fn sha1_as_in_the_standard() {
        // FIPS 180-4, examples; NIST's "SHA-1 examples".
        assert_eq!(sha1(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(sha1(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(
            sha1(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        );
        assert_eq!(
            sha1(&vec![b'a'; 1_000_000]),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f"
        );
    }

    #[test]
    fn ids_as_git_gives_them() {
        for (length, content, id) in [
            (20, "", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (20, "hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
            (
                32,
                "",
                "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
            ),
        ] {
            let got = blob_id(length, content.len() as u64, content.as_bytes()).unwrap();
            assert_eq!(got.to_string(), id);
            assert_eq!(Oid::parse(id.as_bytes()), Some(got));
        }
        assert_eq!(
            Oid::empty_tree(20).unwrap().to_string(),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
        assert!(
            blob_id(20, 3, &b"four"[..]).is_err(),
            "a file that grows has no id"
        );
        assert_eq!(Oid::parse(b"xyz"), None);
        assert_eq!(Oid::parse(&[b'A'; 40]), None);
    }
}
