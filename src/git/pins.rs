//! Supplies the bytes of git imports, which the lock pins.

use vplan_base::diagnostic::Code;
use vplan_base::origin::{GitOrigin, GitRef};
use vplan_base::word::visible;

/// Supplies the bytes of git imports. Loading a contract requests each file once; the source is the
/// content-addressed cache, checked against the lock, or, for `vplan lock` alone, the repository
/// itself.
pub trait Pins {
    /// Reads the file's bytes, which have the pinned digest.
    ///
    /// # Errors
    /// Not pinned, not in the cache, other bytes than those pinned, or a repository that cannot be
    /// read.
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError>;

    /// Returns the commit that a branch or tag names.
    ///
    /// # Errors
    /// Not pinned, or the repository cannot be read.
    fn commit(&mut self, at: &GitRef) -> Result<String, PinError>;
}

/// A source without pins: every git import must still be locked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingPinned;

impl Pins for NothingPinned {
    fn read(&mut self, origin: &GitOrigin) -> Result<Vec<u8>, PinError> {
        Err(not_pinned(&origin.to_string()))
    }

    fn commit(&mut self, at: &GitRef) -> Result<String, PinError> {
        Err(not_pinned(&at.to_string()))
    }
}

fn not_pinned(what: &str) -> PinError {
    let message = format!("`{}` is not pinned", visible(what));
    helped(NOT_PINNED, message, "run `vplan lock`")
}

/// The lock has no entry for a git import.
pub const NOT_PINNED: Code = Code("vplan::lock::not_pinned");

/// The reason why there are no bytes. It is reported at the `import`, and the command ends with
/// exit 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinError {
    /// Its stable code: `vplan::lock::not_pinned`, …
    pub code: Code,
    /// One line.
    pub message: String,
    /// The next step for the user.
    pub help: Option<String>,
}

/// Makes a reason without help.
pub fn error(code: Code, message: String) -> PinError {
    PinError {
        code,
        message,
        help: None,
    }
}

/// Makes a reason with help.
pub fn helped(code: Code, message: String, help: &str) -> PinError {
    PinError {
        help: Some(help.to_owned()),
        ..error(code, message)
    }
}
