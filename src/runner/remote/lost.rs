//! Why a try elsewhere has no answer that counts.

use std::io;
use vplan_os::process::program::message_of;

/// The reason why a try has no answer that counts. For people.
#[derive(Clone, Debug)]
pub(super) enum Lost {
    /// Another order may have one.
    Again(String),
    /// No other order has one.
    Never(String),
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Lost::Never(message_of(&error))
    }
}
