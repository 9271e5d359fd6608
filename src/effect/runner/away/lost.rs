//! Why a try elsewhere has no answer that counts.

use crate::effect::os::process::program::message_of;
use std::io;

/// The reason why a try has no answer that counts. For people.
#[derive(Debug)]
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
