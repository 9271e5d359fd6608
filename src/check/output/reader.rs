//! Defines a format of output and what reads one: a [`Reader`] takes lines and ends as a
//! [`Reading`].

use crate::Kind;
use crate::definition::FormatDefinition;
use crate::results::Reading;
use crate::tool::Invocation;
use std::sync::Arc;
pub use vplan_base::vocabulary::FormatName;

/// A format of output.
pub struct Format {
    /// Its id, the name of its file, in kebab case.
    pub id: &'static str,
    /// The extent of its tool's output.
    pub extent: Extent,
    /// The names by which a contract may ask for it (`format NAME`, `report "NAME"`). Formats may
    /// share one: the output shows which it is.
    pub names: &'static [FormatName],
    /// The kinds of checks whose output may have it.
    pub kinds: &'static [Kind],
    /// The values of a command's options that ask for it (`--reporter tap`); which tools write it by
    /// themselves is in the table of tools.
    pub asked_by: &'static [&'static str],
    /// A fresh reader.
    pub reader: fn() -> Box<dyn Reader>,
}

impl Format {
    /// A compiler's, whose findings are on lines of their own, between any other output.
    pub const fn compiler<R: Reader + Default + 'static>(
        id: &'static str,
        names: &'static [FormatName],
    ) -> Self {
        Self {
            id,
            extent: Extent::Lines,
            names,
            kinds: &[Kind::Compile, Kind::Lint],
            asked_by: &[],
            reader: || Box::<R>::default(),
        }
    }

    /// A linter's, whose findings are on lines of their own.
    pub const fn linter<R: Reader + Default + 'static>(
        id: &'static str,
        names: &'static [FormatName],
    ) -> Self {
        Self {
            kinds: &[Kind::Lint],
            ..Self::compiler::<R>(id, names)
        }
    }

    /// A format of one document.
    pub const fn document<R: Reader + Default + 'static>(
        id: &'static str,
        names: &'static [FormatName],
        kinds: &'static [Kind],
    ) -> Self {
        Self {
            extent: Extent::Document,
            kinds,
            ..Self::compiler::<R>(id, names)
        }
    }

    /// A test runner's, with the beginnings of lines that begin a run and what ends one.
    pub const fn run<R: Reader + Default + 'static>(
        id: &'static str,
        names: &'static [FormatName],
        begins: &'static [&'static str],
        ends: fn(&str) -> bool,
    ) -> Self {
        Self {
            extent: Extent::Run { begins, ends },
            kinds: &[Kind::Test],
            ..Self::compiler::<R>(id, names)
        }
    }

    /// The same, which options of a command may ask for.
    pub const fn asked_by(self, asked_by: &'static [&'static str]) -> Self {
        Self { asked_by, ..self }
    }

    /// Whether it is one document, which may contain anything that a test has printed.
    pub fn is_document(&self) -> bool {
        matches!(self.extent, Extent::Document)
    }

    /// Whether a command writes it, as far as its words show (`format auto`).
    pub fn is_written_by(&self, command: &Invocation) -> bool {
        command.formats().contains(&self.id) || command.asks(self.asked_by)
    }
}

/// The formats that the output of a command may have.
#[derive(Clone)]
pub struct Expected {
    pub(super) formats: Vec<&'static Format>,
    /// Whether all tools that the command starts are known: what is of no format of theirs was
    /// printed by a test.
    pub is_sure: bool,
    /// The ids of the formats whose tools it is known to start.
    pub(super) ran: Vec<&'static str>,
    /// The format that the contract defines, with its name; then it is the only one.
    pub(super) defined: Option<(String, Arc<FormatDefinition>)>,
}

impl Expected {
    /// Those of tools that are known.
    pub fn sure(formats: Vec<&'static Format>) -> Self {
        Self {
            formats,
            is_sure: true,
            ran: Vec::new(),
            defined: None,
        }
    }

    /// The one that the contract defines.
    pub fn defined(name: &str, definition: &Arc<FormatDefinition>) -> Self {
        Self {
            defined: Some((name.to_owned(), Arc::clone(definition))),
            ..Self::sure(Vec::new())
        }
    }

    /// Whether output is read at all.
    pub fn reads(&self) -> bool {
        self.defined.is_some() || !self.formats.is_empty()
    }
}

impl std::ops::Deref for Expected {
    type Target = [&'static Format];

    fn deref(&self) -> &Self::Target {
        &self.formats
    }
}

/// The extent of a tool's output within that of several. Lines have no leading blanks.
#[derive(Clone, Copy)]
pub enum Extent {
    /// One document, with anything before and after it.
    Document,
    /// Only lines that it prints itself: every other one is another tool's.
    Lines,
    /// The output of a run, in which tests print what they like.
    Run {
        /// The beginnings of lines that show that the run has begun; none where tests may print
        /// before them.
        begins: &'static [&'static str],
        /// Whether a line is one that the tool prints after its tests.
        ends: fn(&str) -> bool,
    },
}

/// Whether a line begins with one of these.
pub fn starts(line: &str, beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

/// What follows the first of these beginnings that a text has.
pub fn after<'t>(text: &'t str, beginnings: &[&str]) -> Option<&'t str> {
    beginnings
        .iter()
        .find_map(|beginning| text.strip_prefix(beginning))
}

/// One of a step's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output; also the content of a report file.
    Out,
    /// Standard error.
    Err,
}

/// A value for each of the two streams.
#[derive(Default)]
pub(crate) struct PerStream<T> {
    out: T,
    err: T,
}

impl<T> PerStream<T> {
    pub fn get_mut(&mut self, stream: Stream) -> &mut T {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }
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

    /// The output is over. `None` if nothing in it is specific to this format. A document that is
    /// recognised but cannot be read (torn XML) is a reading with a problem.
    fn finish(self: Box<Self>) -> Option<Reading>;
}
