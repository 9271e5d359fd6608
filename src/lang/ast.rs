//! The syntax tree of a contract: statements with their arguments, and the trivia between them.
//!
//! The tree is uniform: a statement is a keyword, arguments and perhaps a block. What arguments a
//! keyword takes is defined by the table in `statement`; what they mean, by the front end.

use super::statement::{Context, Statement};
use crate::base::command::Command;
use crate::base::span::{SourceId, Span};
use crate::base::word::Word;
use std::borrow::Cow;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast<'a> {
    /// The file.
    pub source: SourceId,
    /// Its statements, in order.
    pub nodes: Vec<Node<'a>>,
    /// The trivia after the last of them.
    pub end: Vec<Trivia>,
}

/// The text between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trivia {
    /// One blank line, or several.
    Blank,
    /// A comment on a line of its own, from its `#`.
    Comment(Span),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// The trivia before it.
    pub before: Vec<Trivia>,
    /// The kind of statement.
    pub statement: &'static Statement,
    /// Its first word.
    pub keyword: Span,
    /// Its arguments, punctuation among them. Incomplete when `broken`.
    pub args: Vec<Arg<'a>>,
    /// Its block.
    pub body: Option<Box<Body<'a>>>,
    /// The comment at the end of its line.
    pub comment: Option<Span>,
    /// From its first word to its last argument; the block is not covered.
    pub span: Span,
    /// Whether an error was reported about it, so that what is missing needs no further one.
    pub broken: bool,
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct Body<'a> {
    /// The context of its statements, which determines the permitted ones.
    pub context: Context,
    /// The `{`.
    pub open: Span,
    /// Its statements, in order.
    pub nodes: Vec<Node<'a>>,
    /// The trivia after the last of them.
    pub end: Vec<Trivia>,
    /// The `}`; empty where it is missing.
    pub close: Span,
    /// The comment after the `}`.
    pub comment: Option<Span>,
    /// Whether a line in it could not be read at all.
    pub broken: bool,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg<'a> {
    /// All of it, quotes included.
    pub span: Span,
    /// Its value.
    pub value: Value<'a>,
}

/// The kinds of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A bare word: a name, a number, a duration.
    Word(&'a str),
    /// A string.
    Str {
        /// Its value.
        text: Cow<'a, str>,
        /// Whether it is in the source just as it is, so that spans inside it can be computed.
        verbatim: bool,
    },
    /// `!name`; the span covers the `!`.
    Not(&'a str),
    /// The words after `NAME:` or a verb.
    Command(Box<Command>),
    /// The text after `shell`.
    Shell(String),
    /// `NAME=VALUE`
    Assignment(Box<(String, Word)>),
    /// Punctuation, and words that are part of the statement (`tier` in `risk`).
    Mark(&'static str),
}

impl Node<'_> {
    /// Returns the arguments without the punctuation.
    pub fn values(&self) -> impl Iterator<Item = &Arg<'_>> {
        self.args
            .iter()
            .filter(|a| !matches!(a.value, Value::Mark(_)))
    }
}

/// Whether two trees are equal up to spans, trivia and the way strings were written.
#[must_use]
pub fn same(a: &Ast<'_>, b: &Ast<'_>) -> bool {
    same_nodes(&a.nodes, &b.nodes)
}

/// Compares statements. Recursion is bounded by the cap on nesting.
fn same_nodes(a: &[Node<'_>], b: &[Node<'_>]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            let bodies = match (&a.body, &b.body) {
                (None, None) => true,
                (Some(a), Some(b)) => same_nodes(&a.nodes, &b.nodes),
                _ => false,
            };
            a.statement.keyword == b.statement.keyword
                && a.args.len() == b.args.len()
                && a.args
                    .iter()
                    .zip(&b.args)
                    .all(|(a, b)| same_values(&a.value, &b.value))
                && bodies
        })
}

/// Whether two arguments have the same value.
pub(super) fn same_values(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Str { text: a, .. }, Value::Str { text: b, .. }) => a == b,
        _ => a == b,
    }
}
