//! Defines a format of output and what reads one: a [`Reader`] takes lines and ends as a
//! [`Reading`].

use crate::base::vocabulary::FormatName;
use crate::check::Kind;
use crate::check::reading::Reading;
use crate::check::tool::Invocation;

/// A format of output.
pub struct Format {
    /// Its id, the name of its file, in kebab case.
    pub id: &'static str,
    /// Whether it is one document, which may contain anything that a test has printed.
    pub is_document: bool,
    /// The names by which a contract may ask for it (`format NAME`, `report "NAME"`). Formats may
    /// share one: the output shows which it is.
    pub names: &'static [FormatName],
    /// The kinds of checks whose output may have it.
    pub kinds: &'static [Kind],
    /// Whether a command writes it, as far as its words show (`format auto`): the words without
    /// environment and directory.
    pub written_by: fn(&Invocation) -> bool,
    /// A fresh reader.
    pub reader: fn() -> Box<dyn Reader>,
}

/// One of a step's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output; also the content of a report file.
    Out,
    /// Standard error.
    Err,
}

/// Whether a line is part of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// It is not.
    #[default]
    None,
    /// It is if what comes shows that there is one.
    Perhaps,
    /// It is.
    Own,
}

/// Reads one output. `Send`, because a step may be read on another thread.
pub trait Reader: Send {
    /// Takes the next line of a stream: without its end (`\n`, `\r\n`), without terminal sequences
    /// (colours), invalid UTF-8 replaced. Lines of the two streams come in the order in which
    /// they were read, which is an approximation.
    fn line(&mut self, stream: Stream, line: &str);

    /// Whether the last line is part of a document, so that no other format reads it.
    fn claim(&self) -> Claim {
        Claim::None
    }

    /// The output is over. `None` when it is not this format: nothing in it that only this format
    /// has. A document that can be told but not be read (torn XML) is a reading with a problem.
    fn finish(self: Box<Self>) -> Option<Reading>;
}
