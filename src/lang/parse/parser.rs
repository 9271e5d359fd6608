//! The state of the parser: where it is in a file, the open blocks, and the line that it reads.

use super::token::Tokens;
use crate::ast::{Arg, Node, Trivia};
use crate::statement::{Statement, StatementContext};
use vplan_base::diagnostic::{Code, Diagnostic};
use vplan_base::span::{Place, SourceId, Span};

/// The limits on a file. A contract cannot raise its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParserCaps {
    /// Bytes of the file.
    pub file_bytes: usize,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Bytes of a name.
    pub name_bytes: usize,
    /// Blocks inside blocks.
    pub depth: usize,
}

impl Default for ParserCaps {
    fn default() -> Self {
        Self {
            file_bytes: 1 << 20,
            line_bytes: 64 << 10,
            name_bytes: 128,
            depth: 64,
        }
    }
}

impl ParserCaps {
    /// Returns the usual limits, but for the bytes of the file.
    pub fn of_bytes(file_bytes: usize) -> Self {
        Self {
            file_bytes,
            ..Self::default()
        }
    }
}

/// The known versions of the language.
pub const VERSIONS: [&str; 1] = ["1"];

/// An open block.
pub(super) struct Frame<'a> {
    pub(super) node: Node<'a>,
    pub(super) context: StatementContext,
    pub(super) open: Span,
    pub(super) indent: usize,
    pub(super) nodes: Vec<Node<'a>>,
    /// Whether it may have been opened by mistake, so that its `}` may be missing.
    pub(super) doubtful: bool,
    /// Whether nothing opened it, but the following lines read as if something had. It is doubtful
    /// then.
    pub(super) presumed: bool,
    pub(super) broken: bool,
}

/// A part of the file, and where it begins.
pub(super) type Text<'a> = (&'a str, usize);

/// A statement, and its keyword in the file.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) statement: &'static Statement,
    pub(super) keyword: Span,
}

impl Head {
    /// The same after another word, at which a missing argument is reported.
    pub(super) fn with_keyword(self, keyword: Span) -> Self {
        Self { keyword, ..self }
    }
}

/// The parsed line of a statement.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) args: Vec<Arg<'a>>,
    /// What is still to be read.
    pub(super) tokens: Tokens<'a>,
    /// The `{` of a block that is now open.
    pub(super) open: Option<Span>,
    pub(super) broken: bool,
    /// Whether a line opened the block that should not open one, so that its `}` may well be
    /// missing.
    pub(super) doubtful: bool,
}

/// A file while it is read.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) id: SourceId,
    pub(super) caps: ParserCaps,
    pub(super) out: Vec<Diagnostic>,
    /// The open blocks, outermost first.
    pub(super) frames: Vec<Frame<'a>>,
    /// The statements of the top level.
    pub(super) nodes: Vec<Node<'a>>,
    /// The trivia since the last statement.
    pub(super) trivia: Vec<Trivia>,
    pub(super) comments: Vec<Span>,
    /// Open blocks beyond the cap on nesting; they are only counted.
    pub(super) buried: usize,
    /// The number of suggestions computed, and of ends looked for.
    pub(super) guesses: u32,
    /// The end of lines that belong to one that was answered already.
    pub(super) skip_to: usize,
    pub(super) stopped: bool,
    /// The names of `each` blocks around the whole text.
    pub(super) around: Vec<&'a str>,
    /// Whether the whole text is a line out of its block.
    pub(super) is_line: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, id: SourceId, caps: ParserCaps) -> Self {
        Self {
            text,
            id,
            caps,
            out: Vec::new(),
            frames: Vec::new(),
            nodes: Vec::new(),
            trivia: Vec::new(),
            comments: Vec::new(),
            buried: 0,
            guesses: 0,
            skip_to: 0,
            stopped: false,
            around: Vec::new(),
            is_line: false,
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.out.push(diagnostic);
    }

    /// Makes the message of an error at a place of the file.
    pub(super) fn error(
        &self,
        code: Code,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::error(code, message).label(self.place(span), label)
    }

    /// Makes the message of a warning.
    pub(super) fn warning(
        &self,
        code: Code,
        message: String,
        span: Span,
        label: &str,
    ) -> Diagnostic {
        Diagnostic::warning(code, message).label(self.place(span), label)
    }

    /// Reports an error in a line.
    pub(super) fn fail(&mut self, error: Diagnostic, parts: &mut Parts<'a>) {
        parts.broken = true;
        self.report(error);
    }

    pub(super) fn place(&self, span: Span) -> Place {
        Place::new(self.id, span)
    }

    pub(super) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    pub(super) fn context(&self) -> StatementContext {
        self.context_in(self.frames.len())
    }

    /// Returns the context at this depth of open blocks.
    pub(super) fn context_in(&self, open: usize) -> StatementContext {
        open.checked_sub(1)
            .and_then(|last| self.frames.get(last))
            .map_or(StatementContext::Top, |f| f.context)
    }

    pub(super) fn break_frame(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.broken = true;
        }
    }

    pub(super) fn add(&mut self, node: Node<'a>) {
        match self.frames.last_mut() {
            Some(frame) => frame.nodes.push(node),
            None => self.nodes.push(node),
        }
    }
}
