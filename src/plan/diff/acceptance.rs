//! The text by which a person accepts a difference.

use vplan_base::canon::Digest;
use vplan_base::word::visible;
/// What a maintainer accepts: the value of `--accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The name of a check of the newer contract, or of another statement, such as `judge-with`.
    pub name: String,
    /// The digest of its new words.
    pub words: Digest,
}

impl std::str::FromStr for Accept {
    type Err = AcceptError;

    fn from_str(text: &str) -> Result<Self, AcceptError> {
        let (name, digest) = text.rsplit_once('=').ok_or(AcceptError::Unreadable)?;
        let words = digest
            .parse()
            .map_err(|_| AcceptError::NoDigest(digest.to_owned()))?;
        let name = name.to_owned();
        (!name.is_empty())
            .then_some(Self { name, words })
            .ok_or(AcceptError::Unreadable)
    }
}

impl std::fmt::Display for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.words)
    }
}

/// Why something cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// A text of another form.
    #[error("expected NAME=sha256:…, as `vplan diff` prints it")]
    Unreadable,
    /// A name without a digest.
    #[error("`{}` is no digest: {}", visible(.0), Self::Unreadable)]
    NoDigest(String),
    /// The words are others.
    #[error("`{}` is now {now}, accepted is {accepted}: look at it again", visible(.name.as_bytes()))]
    Other {
        /// The accepted name.
        name: String,
        /// What was accepted.
        accepted: Digest,
        /// The digest of the present words.
        now: Digest,
    },
    /// One name twice.
    #[error("`{}` is accepted twice", visible(.0.as_bytes()))]
    Twice(String),
    /// There is nothing of this name.
    #[error("there is no check `{}` in the newer contract, and nothing else of this name is undecided", visible(.0.as_bytes()))]
    Unknown(String),
}
