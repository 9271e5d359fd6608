//! The result of formatting, as a document.

use super::text::diff;
use crate::render::diagnostic::{self, Message};
use schemars::JsonSchema;
use serde::Serialize;
use vplan_engine::layout::{Formatting, Text};

/// The result of formatting.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FmtDocument<'a> {
    /// The errors of invalid files.
    pub diagnostics: Vec<Message<'a>>,
    /// The files, in the order in which they were named.
    pub files: Vec<FormattedFile>,
}

/// A file.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(crate) struct FormattedFile {
    /// The differences from the standard layout, as a unified diff; absent when there are none.
    pub diff: Option<String>,
    /// Its name; `-` is standard input.
    pub path: String,
    /// Its state.
    pub status: State,
    /// Of standard input: the text in the one layout.
    pub text: Option<String>,
}

/// The state of a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FormatState")]
pub enum State {
    /// It had the one layout already.
    Formatted,
    /// It has it now.
    Changed,
    /// It has another layout, and was not written.
    Differs,
    /// It has an error.
    Invalid,
}

impl<'a> FmtDocument<'a> {
    pub(super) fn of(done: &'a Formatting, check: bool) -> Self {
        let sound = done.texts.iter().all(|i| i.new.is_some());
        let file = |text: &Text| FormattedFile {
            diff: text.differs().then(|| diff(text, false)),
            path: text.name.clone(),
            status: match (&text.new, text.differs()) {
                (None, _) => State::Invalid,
                (_, false) => State::Formatted,
                (_, true) if check || !sound => State::Differs,
                (_, true) => State::Changed,
            },
            text: text.new.clone().filter(|_| text.file.is_none()),
        };
        Self {
            diagnostics: diagnostic::messages(&done.sources, &done.faults),
            files: done.texts.iter().map(file).collect(),
        }
    }
}
