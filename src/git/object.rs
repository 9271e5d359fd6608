//! Git object ids, and the id that a file's content would have.
//!
//! vplan computes ids itself, from the unconverted bytes: `git hash-object` and everything that
//! refreshes the index would run the clean filter that the repository's own configuration names.

use data_encoding::HEXLOWER;
use sha1::{Digest as _, Sha1};
use std::io::{self, Read, Write};
use vplan_base::canon::Hasher;

/// An object id: SHA-1 or SHA-256, by the repository's object format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oid {
    /// In bytes: 20 or 32.
    length: u8,
    bytes: [u8; 32],
}

/// Returns the length of an id in bytes, if it is valid.
fn length(bytes: usize) -> Option<u8> {
    u8::try_from(bytes).ok().filter(|n| matches!(n, 20 | 32))
}

impl Oid {
    /// Takes 20 or 32 raw bytes.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let length = length(raw.len())?;
        let mut bytes = [0; 32];
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        Some(Self { length, bytes })
    }

    /// Reads 40 or 64 lower case hexadecimal digits.
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

    /// Returns the id of the given length from the bytes of [`Oid::padded`].
    pub(super) fn from_padded(of: usize, bytes: [u8; 32]) -> Option<Self> {
        let length = length(of)?;
        let ends = |from: usize| {
            bytes
                .get(from..)
                .is_some_and(|rest| rest.iter().all(|b| *b == 0))
        };
        (if ends(20) { of == 20 } else { of == 32 }).then_some(Self { length, bytes })
    }

    /// Whether this is the id of the empty tree.
    pub fn is_empty_tree(&self) -> bool {
        Self::empty_tree(self.length()).as_ref() == Some(self)
    }

    /// Returns the id of the empty tree, which git knows even if no such object is stored.
    pub fn empty_tree(length: usize) -> Option<Self> {
        let mut hash = ObjectHasher::new(length, "tree", 0)?;
        hash.flush().ok()?;
        hash.finish()
    }

    /// Returns its length in bytes: 20 or 32.
    pub fn length(&self) -> usize {
        usize::from(self.length)
    }

    /// Returns the first 12 digits, for people.
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
pub(crate) fn object_id(length: usize, kind: &str, content: &[u8]) -> Option<Oid> {
    let mut hash = ObjectHasher::new(length, kind, content.len() as u64)?;
    hash.write_all(content).ok()?;
    hash.finish()
}

enum ObjectHasher {
    /// git's older format. Here it identifies contents, and protects nothing.
    Sha1(Sha1),
    Sha256(Hasher),
}

impl ObjectHasher {
    fn new(length: usize, kind: &str, size: u64) -> Option<Self> {
        let mut hash = match length {
            20 => Self::Sha1(Sha1::default()),
            32 => Self::Sha256(Hasher::default()),
            _ => return None,
        };
        hash.write_all(format!("{kind} {size}\0").as_bytes()).ok()?;
        Some(hash)
    }

    fn finish(self) -> Option<Oid> {
        match self {
            Self::Sha1(hash) => Oid::from_bytes(&hash.finalize()),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let long = vec![b'a'; 1_000_000];
        let got = blob_id(20, 1_000_000, long.as_slice()).unwrap();
        assert_eq!(got.to_string(), "de1fbf0c2f34f67f01f355f31ed0cf7319643c5e");
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
