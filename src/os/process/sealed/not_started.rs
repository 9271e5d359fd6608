//! Why a sealed step was not started, as its first process hands it over.

use super::message::Message;
use crate::process::confine::Unconfined;
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// Why a step was not started.
#[derive(Debug)]
pub(in crate::process) struct NotStarted {
    /// It could not be confined ([`Unconfined::of_error`]), or its program could not be executed.
    pub error: io::Error,
    /// The path that could not be built, if that was the problem.
    pub place: Option<PathBuf>,
}

impl NotStarted {
    /// Makes it from the values of [`Message::Failed`].
    pub(super) fn new(number: i32, place: Vec<u8>) -> Self {
        Self {
            error: io::Error::from_raw_os_error(number),
            place: (!place.is_empty()).then(|| OsString::from_vec(place).into()),
        }
    }
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self { error, place: None }
    }
}

impl From<Errno> for NotStarted {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<Unconfined> for NotStarted {
    fn from(why: Unconfined) -> Self {
        why.to_error().into()
    }
}

impl From<NotStarted> for Message {
    fn from(why: NotStarted) -> Self {
        let place = why.place.unwrap_or_default().into_os_string();
        Message::Failed(why.error.raw_os_error().unwrap_or(0), place.into_vec())
    }
}
