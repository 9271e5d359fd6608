//! Identifies values by their bytes: canonical JSON (RFC 8785) and SHA-256. No other module uses
//! `sha2`.

use data_encoding::HEXLOWER;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use sha2::Digest as _;
use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a field of a document has its default value, which is not written.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

/// The prefix of its text form.
const PREFIX: &str = "sha256:";

impl Digest {
    /// Returns the digest of some bytes.
    pub fn hash(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Returns the digest of a value's canonical form, without building that form in memory.
    pub fn of_value<T: Serialize>(value: &T) -> Self {
        let mut hasher = Hasher::default();
        // Writing into a hasher cannot fail, and the types of this crate have string keys only.
        let _ = write_canonical(value, &mut hasher);
        hasher.finish()
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Makes a digest of its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 64 digits without the prefix.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; PREFIX.len() + 64];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        HEXLOWER.encode_mut(&self.0, digits);
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A SHA-256 digest, of canonical JSON (RFC 8785) where it is that of a document.",
            "pattern": "^sha256:[0-9a-f]{64}$",
            "type": "string",
        })
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(PREFIX)?;
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl std::str::FromStr for Digest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a digest is `sha256:` and 64 lower case hexadecimal digits";
        let hex = text.strip_prefix(PREFIX).ok_or(WRONG)?;
        let bytes = HEXLOWER.decode(hex.as_bytes()).map_err(|_| WRONG)?;
        bytes.try_into().map(Self).map_err(|_| WRONG)
    }
}

/// A writer that computes the SHA-256 of its input, without storing it.
#[derive(Clone, Debug, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Returns the digest of all that was written.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a value in canonical form: no blanks, shortest escapes, keys in order, no final newline.
///
/// INVARIANT (canonical): every serialised type of this crate declares its fields in the order of
/// their JSON names and uses ordered maps with ASCII keys, and holds no number but integers below
/// 2^53; so the compact form is the canonical one. `tests/props/plan.rs` compares it with an
/// independent implementation of RFC 8785.
///
/// # Errors
/// Errors of the writer.
pub fn write_canonical<T: Serialize, W: Write>(value: &T, writer: W) -> io::Result<()> {
    serde_json::to_writer(writer, value).map_err(io::Error::from)
}

/// Returns the canonical form as text.
pub fn to_canonical<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests() {
        // FIPS 180-4, the empty message.
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::hash(b"").to_string(), empty);
        assert_eq!(empty.parse::<Digest>().unwrap(), Digest::hash(b""));
        assert!("sha256:00".parse::<Digest>().is_err());
        assert!(empty.to_uppercase().parse::<Digest>().is_err());
        assert_eq!(Digest::of_value(&"a"), Digest::hash(b"\"a\""));
    }

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = Digest::hash(b"a");
        assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
        assert_eq!(
            (format!("{digest:?}"), String::from(digest.clone())),
            (digest.to_string(), digest.to_string())
        );
        let spelled = |digits: &str| format!("sha256:{digits}").parse::<Digest>().is_ok();
        assert!(spelled(&"0f".repeat(32)));
        // Of which `from_str_radix` would take the first for a number, and the second has more than
        // there is place for.
        for wrong in [
            "+f".repeat(32),
            "0f".repeat(33),
            "0f".repeat(31),
            "0g".repeat(32),
            "0F".repeat(32),
        ] {
            assert!(!spelled(&wrong), "{wrong}");
        }
        assert!("0f".repeat(32).parse::<Digest>().is_err());
    }

    #[test]
    fn its_schema_takes_what_it_writes() {
        assert_eq!(Digest::schema_name(), "Digest");
        let schema = Digest::json_schema(&mut SchemaGenerator::default());
        assert_eq!(schema.get("pattern").unwrap(), "^sha256:[0-9a-f]{64}$");
        assert_eq!(schema.get("type").unwrap(), "string");
    }
}
