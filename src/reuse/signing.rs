//! Signs shared passes, and decides whose signatures are trusted.

use data_encoding::HEXLOWER as HEX;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::collections::BTreeMap;
use vplan_base::canon::Digest;

/// The name of the procedure, in the line of a signature.
const PROCEDURE: &str = "ed25519";
/// The start and the end of a PEM block.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// A private key for signing.
#[derive(Debug)]
pub struct Signer(SigningKey);

/// Whose signatures count: public keys, by their ids.
#[derive(Clone, Debug, Default)]
pub struct Trust(BTreeMap<String, VerifyingKey>);

/// The reason why something signed does not count. For people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// The line of the signature is missing.
    #[error("it is not signed")]
    Unsigned,
    /// The key is not trusted.
    #[error("the key {0} that signed it is not trusted")]
    UnknownKey(String),
    /// The signature is another text's.
    #[error("its signature is not one of this text")]
    Forged,
}

/// The reason why a text holds no usable key. Reveals nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error(
        "it holds no private ed25519 key in PKCS8 PEM, as `openssl genpkey -algorithm ed25519` makes it"
    )]
    NotPrivate,
    /// The number of the block.
    #[error("block {0} of it is no public ed25519 key in PEM, as `openssl pkey -pubout` makes it")]
    NotPublic(usize),
    #[error("its last key has no end")]
    Unfinished,
    #[error("it holds no public key")]
    Empty,
}

impl Signer {
    /// Reads a private key: PKCS8, PEM.
    ///
    /// # Errors
    /// It is not such a key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let key = SigningKey::from_pkcs8_pem(text.trim());
        key.map(Self).map_err(|_| KeyError::NotPrivate)
    }

    /// Returns a text, of whole lines, followed by the line of its signature.
    pub fn sign(&self, text: &str) -> String {
        let signature = self.0.sign(text.as_bytes());
        let signature = HEX.encode(&signature.to_bytes());
        let key = id_of(&self.0.verifying_key());
        format!("{text}{PROCEDURE} {key} {signature}\n")
    }
}

impl Trust {
    /// Reads public keys: PEM blocks, with any lines of text between them.
    ///
    /// # Errors
    /// A block is not a key, or there is none.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let mut keys = BTreeMap::new();
        let mut block: Option<String> = None;
        for line in text.lines().map(str::trim) {
            if line.starts_with(BEGIN) {
                block = Some(String::new());
            }
            let Some(lines) = &mut block else {
                continue;
            };
            lines.push_str(line);
            lines.push('\n');
            if line.starts_with(END) {
                let key = VerifyingKey::from_public_key_pem(lines.trim_end());
                let key = key.ok().filter(|key| !key.is_weak());
                let key = key.ok_or(KeyError::NotPublic(keys.len() + 1))?;
                keys.insert(id_of(&key), key);
                block = None;
            }
        }
        if block.is_some() {
            return Err(KeyError::Unfinished);
        }
        if keys.is_empty() {
            return Err(KeyError::Empty);
        }
        Ok(Self(keys))
    }

    /// Returns the text that was signed, and the id of the key.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn signed<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str), Untrusted> {
        let lines = text.strip_suffix('\n').ok_or(Untrusted::Unsigned)?;
        let start = lines.rfind('\n').map_or(0, |at| at + 1);
        let (signed, line) = lines.split_at_checked(start).ok_or(Untrusted::Unsigned)?;
        let line = line
            .strip_prefix(PROCEDURE)
            .and_then(|line| line.strip_prefix(' '));
        let (id, signature) = line
            .and_then(|line| line.split_once(' '))
            .filter(|(id, _)| id.len() == ID && id.bytes().all(|b| b.is_ascii_hexdigit()))
            .ok_or(Untrusted::Unsigned)?;
        let key = self.0.get(id);
        let key = key.ok_or_else(|| Untrusted::UnknownKey(id.to_owned()))?;
        let bytes = HEX.decode(signature.as_bytes()).ok();
        let bytes: Option<[u8; 64]> = bytes.and_then(|bytes| bytes.try_into().ok());
        let signature = Signature::from_bytes(&bytes.ok_or(Untrusted::Forged)?);
        key.verify_strict(signed.as_bytes(), &signature)
            .map_err(|_| Untrusted::Forged)?;
        Ok((signed, id))
    }
}

/// The digits of the id of a key.
const ID: usize = 16;

/// Returns the id of a key: the first digits of its digest.
fn id_of(key: &VerifyingKey) -> String {
    let mut id = Digest::hash(key.as_bytes()).hex();
    id.truncate(ID);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`, for tests alone.
    const PRIVATE: &str = include_str!("keys/private.pem");
    const PUBLIC: &str = include_str!("keys/public.pem");
    const OTHER: &str = include_str!("keys/other.pem");

    #[test]
    fn what_a_trusted_key_has_signed_counts() {
        let signer = Signer::from_pem(PRIVATE).unwrap();
        let trust = Trust::from_pem(&format!("# ours\n{OTHER}\nand\n{PUBLIC}")).unwrap();
        for text in ["", "a\n", "a\nb\n", "ed25519 a b\n"] {
            let signed = signer.sign(text);
            assert_eq!(trust.signed(&signed).unwrap().0, text);
            // Any other byte, and any byte less.
            for at in 0..signed.len() {
                let mut other = signed.clone().into_bytes();
                other[at] ^= 1;
                let other = String::from_utf8(other).unwrap();
                assert!(trust.signed(&other).is_err(), "{at}: {other}");
                assert!(trust.signed(&signed[..at]).is_err(), "{at}");
            }
            let others = Trust::from_pem(OTHER).unwrap();
            assert!(matches!(
                others.signed(&signed),
                Err(Untrusted::UnknownKey(_))
            ));
        }
        assert_eq!(trust.signed(""), Err(Untrusted::Unsigned));
        assert_eq!(trust.signed("text\n"), Err(Untrusted::Unsigned));
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        assert!(Signer::from_pem("").is_err());
        assert!(Signer::from_pem(PUBLIC).is_err());
        for text in [
            "",
            "text",
            PRIVATE,
            &PUBLIC.replace("-----END PUBLIC KEY-----", ""),
            &PUBLIC.replace("MCowBQYDK2Vw", "MCowBQYDK2Vx"),
            &format!("{PUBLIC}{PRIVATE}"),
        ] {
            assert!(Trust::from_pem(text).is_err(), "{text}");
        }
    }
}
