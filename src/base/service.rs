//! A service: a program that runs in parallel with checks, as long as one of them needs it.
//!
//! The service and its checks have placeholders for values known only after its start: its port,
//! and its folder for files. A plan holds the placeholder, never the number.

use super::command::{Env, Piece};
use super::hole::{Given, ServiceHole, replace, service_holes};
use super::path::RepoPath;
use super::word::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that runs beside checks.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// Its words, in which `{port}` and `{tmp}` are its own.
    pub argv: Vec<Word>,
    /// The same as text.
    pub command: String,
    /// The working directory.
    pub dir: RepoPath,
    /// Environment variables that are added.
    pub env: Env,
    /// Annotation: the file that defines it, if it is not the contract itself.
    pub file: Option<String>,
    /// Annotation: the line of its definition.
    pub line: Option<usize>,
    /// Its name.
    pub name: String,
    /// When it is ready; absent where it is as soon as it is started.
    pub ready: Option<Ready>,
    /// The time that it has to become ready, in milliseconds.
    pub timeout_ms: u64,
}

impl Service {
    /// The default time for a service to become ready, in milliseconds.
    pub const TIMEOUT_MS: u64 = 60_000;

    /// Returns each text that may have placeholders.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let ready: Vec<&[u8]> = match &self.ready {
            Some(Ready::Tcp(text) | Ready::File(text) | Ready::Line(text)) => vec![text.as_bytes()],
            Some(Ready::Run(run)) => {
                let words = run.argv.iter().chain(run.env.values());
                words.map(Word::as_bytes).collect()
            }
            None => Vec::new(),
        };
        let words = self.argv.iter().chain(self.env.values());
        words.map(Word::as_bytes).chain(ready)
    }

    /// Whether it has a placeholder for its port, which requires choosing one.
    pub fn wants_port(&self) -> bool {
        self.texts().any(|text| {
            let text = String::from_utf8_lossy(text);
            service_holes(&text).any(|hole| hole.what == Given::Port)
        })
    }
}

/// What shows that a service is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ready {
    /// This path exists; a relative one is below its directory.
    File(String),
    /// This text is in a line of its output.
    Line(String),
    /// This command exits with 0.
    Run(ReadyCommand),
    /// Something listens on this port of this machine.
    Tcp(String),
}

/// A command that exits with 0 when a service is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyCommand {
    /// Its words.
    pub argv: Vec<Word>,
    /// Environment variables that are added to those of the service.
    pub env: Env,
}

/// Replaces the placeholders of services in a word, as [`replace`]. A word that is not text has
/// none.
pub fn replace_in(word: &mut Word, with: &mut dyn FnMut(&ServiceHole<'_>) -> Option<String>) {
    if let Some(text) = word.as_str()
        && service_holes(text).next().is_some()
    {
        *word = Word::from(replace(text, with));
    }
}

/// Returns the words of a command's pieces, without `{changed}`.
pub fn words_mut(pieces: &mut [Piece]) -> impl Iterator<Item = &mut Word> {
    pieces.iter_mut().filter_map(|piece| match piece {
        Piece::Word(word) => Some(word),
        Piece::Changed => None,
    })
}
