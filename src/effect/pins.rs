//! Who gives the bytes of an import that is pinned by the lock?

use crate::base::diagnostic::Code;
use crate::base::origin::GitOrigin;

/// Gives the bytes of git imports. Loading a contract asks for each file once; what is behind it is the content-addressed
/// cache, held against the lock, or, for `vplan lock` alone, the repository itself.
pub trait Pins {
    /// The file's bytes, which have the digest that is pinned.
    ///
    /// # Errors
    /// Not pinned, not in the cache, not what was pinned, not to be had.
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError>;
}

/// Why there are no bytes. It is reported at the `import`, and the command ends with exit 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinError {
    /// A stable name for it: `vplan::lock::not_pinned`, …
    pub code: Code,
    /// One line.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}
