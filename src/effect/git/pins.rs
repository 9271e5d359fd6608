//! The source of the bytes of git imports, which the lock pins.

use crate::base::diagnostic::Code;
use crate::base::origin::GitOrigin;
use crate::base::word::visible;

/// Gives the bytes of git imports. Loading a contract asks for each file once; what is behind it is
/// the content-addressed cache, held against the lock, or, for `vplan lock` alone, the repository
/// itself.
pub trait Pins {
    /// The file's bytes, which have the digest that is pinned.
    ///
    /// # Errors
    /// Not pinned, not in the cache, not what was pinned, not to be had.
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError>;
}

/// Pins nothing: every git import is still to be locked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingPinned;

impl Pins for NothingPinned {
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError> {
        let message = format!("`{}` is not pinned", visible(origin.to_string().as_bytes()));
        Err(PinError {
            code: NOT_PINNED,
            message,
            help: Some("run `vplan lock`".to_owned()),
        })
    }
}

/// A git import that the lock does not know.
pub const NOT_PINNED: Code = Code("vplan::lock::not_pinned");

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
