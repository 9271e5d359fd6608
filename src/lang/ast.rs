//! The syntax tree of a contract: statements with their arguments, and the trivia between them.
//!
//! The tree is uniform: a statement is a keyword, arguments and perhaps a block. What arguments a
//! keyword takes is defined by the table in `statement`; what they mean, by the front end.

use super::statement::{Statement, StatementContext};
use std::borrow::Cow;
use std::ops::Range;
use vplan_base::command::{Command, Piece};
use vplan_base::hole::{ServiceHole, Values, service_holes};
use vplan_base::span::{SourceId, Span};
use vplan_base::word::Word;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast<'a> {
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
    pub body: Option<Box<Body<'a>>>,
    /// The comment at the end of its line.
    pub comment: Option<Span>,
    /// From its first word to its last argument; the block is not covered.
    pub span: Span,
    /// Whether an error was reported about it, so that what is missing needs no further one.
    pub broken: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Body<'a> {
    /// The context of its statements, which determines the permitted ones.
    pub context: StatementContext,
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

#[derive(Clone, Debug, PartialEq)]
pub struct Arg<'a> {
    /// All of it, quotes included.
    pub span: Span,
    pub value: Value<'a>,
}

impl<'a> Arg<'a> {
    pub(crate) fn new(span: Span, value: Value<'a>) -> Self {
        Self { span, value }
    }

    /// Returns a bare word.
    pub fn word(&self) -> Option<&'a str> {
        match self.value {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The kinds of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A bare word: a name, a number, a duration.
    Word(&'a str),
    Str(Quoted<'a>),
    /// `!name`; the span covers the `!`.
    Not(&'a str),
    /// The words after `NAME:` or a verb.
    Command(Box<Holed<Command>>),
    /// The text after `shell`.
    Shell(String),
    /// `NAME=VALUE`
    Assignment(Box<Holed<(String, Word)>>),
    /// A value in the row of an `each`.
    Item(String),
    /// Punctuation, and words that are part of the statement (`tier` in `risk`).
    Mark(&'static str),
}

/// A string in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted<'a> {
    pub text: Cow<'a, str>,
    /// Whether it is in the source just as it is, so that spans inside it can be computed.
    pub verbatim: bool,
    /// Whether an `each` may fill its placeholders: it is in double quotes.
    pub holes: bool,
}

/// A command, or a variable with its value, with placeholders to fill.
#[derive(Clone, Debug, PartialEq)]
pub struct Holed<T> {
    /// The content, with `{NAME}` for each unfilled placeholder.
    pub value: T,
    /// The placeholders, in text order.
    pub holes: Vec<Hole>,
}

/// A placeholder in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    pub word: HoledWord,
    /// Where it is in the word, in bytes, braces included.
    pub range: Range<usize>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoledWord {
    /// The piece with this number.
    Piece(usize),
    /// The value of this variable.
    Variable(String),
}

/// Returns the service placeholders in a word.
fn service_holes_of(word: &Word, of: &HoledWord) -> Vec<Hole> {
    let text = word.as_str().unwrap_or_default();
    let hole = |hole: ServiceHole<'_>| Hole {
        word: of.clone(),
        range: hole.range,
    };
    service_holes(text).map(hole).collect()
}

impl<T> Holed<T> {
    /// Wraps a value without placeholders.
    pub fn whole(value: T) -> Self {
        Self {
            value,
            holes: Vec::new(),
        }
    }

    /// Returns the first placeholder with a wanted name, braces included. `word` finds its word.
    fn first_hole<'w>(
        &'w self,
        is_wanted: fn(&str) -> bool,
        word: impl Fn(&HoledWord) -> Option<&'w Word>,
    ) -> Option<String> {
        self.holes.iter().find_map(|hole| {
            let text = word(&hole.word)?.as_bytes().get(hole.range.clone())?;
            let text = std::str::from_utf8(text).ok()?;
            let name = text.get(1..text.len().saturating_sub(1))?;
            is_wanted(name).then(|| text.to_owned())
        })
    }

    /// Fills the placeholders of a word. Inserted values are not parsed again.
    fn filled(&self, word: &HoledWord, own: &Word, values: &Values) -> Word {
        let bytes = own.as_bytes();
        let (mut filled, mut behind) = (Vec::new(), 0);
        for hole in self.holes.iter().filter(|hole| hole.word == *word) {
            let name = bytes.get(hole.range.start + 1..hole.range.end.saturating_sub(1));
            let name = name.and_then(|name| std::str::from_utf8(name).ok());
            if let Some(value) = name.and_then(|name| values.get(name)) {
                filled.extend_from_slice(bytes.get(behind..hole.range.start).unwrap_or_default());
                filled.extend_from_slice(value.as_bytes());
                behind = hole.range.end;
            }
        }
        filled.extend_from_slice(bytes.get(behind..).unwrap_or_default());
        Word::new(filled)
    }
}

impl Holed<Command> {
    /// Wraps a command that runs with services: text like a service placeholder always is one.
    pub fn beside_services(command: Command) -> Self {
        let mut holes = Vec::new();
        if let Command::Argv { env, pieces } = &command {
            for (name, value) in env {
                holes.extend(service_holes_of(value, &HoledWord::Variable(name.clone())));
            }
            for (n, piece) in pieces.iter().enumerate() {
                if let Piece::Word(word) = piece {
                    holes.extend(service_holes_of(word, &HoledWord::Piece(n)));
                }
            }
        }
        Self {
            value: command,
            holes,
        }
    }

    /// Returns the first placeholder with a wanted name, braces included.
    pub fn find_hole(&self, is_wanted: fn(&str) -> bool) -> Option<String> {
        let Command::Argv { env, pieces } = &self.value else {
            return None;
        };
        self.first_hole(is_wanted, |word| match word {
            HoledWord::Piece(n) => match pieces.get(*n) {
                Some(Piece::Word(word)) => Some(word),
                _ => None,
            },
            HoledWord::Variable(name) => env.get(name),
        })
    }

    /// Whether it has a placeholder, given as `{NAME}`.
    pub fn names_hole(&self, text: &str) -> bool {
        let Command::Argv { env, pieces } = &self.value else {
            return false;
        };
        self.holes.iter().any(|hole| {
            let word = match &hole.word {
                HoledWord::Piece(n) => match pieces.get(*n) {
                    Some(Piece::Word(word)) => Some(word),
                    _ => None,
                },
                HoledWord::Variable(name) => env.get(name),
            };
            word.is_some_and(|word| {
                word.as_bytes().get(hole.range.clone()) == Some(text.as_bytes())
            })
        })
    }

    /// Returns the command with its placeholders filled.
    pub fn fill(&self, values: &Values) -> Command {
        let mut command = self.value.clone();
        if let Command::Argv { env, pieces } = &mut command
            && !self.holes.is_empty()
        {
            for (n, piece) in pieces.iter_mut().enumerate() {
                if let Piece::Word(word) = piece {
                    *word = self.filled(&HoledWord::Piece(n), word, values);
                }
            }
            for (name, value) in env {
                *value = self.filled(&HoledWord::Variable(name.clone()), value, values);
            }
        }
        command
    }
}

impl Holed<(String, Word)> {
    /// Wraps a variable of a command with services: text like a service placeholder always is one.
    pub fn beside_services((name, value): (String, Word)) -> Self {
        let holes = service_holes_of(&value, &HoledWord::Variable(name.clone()));
        Self {
            value: (name, value),
            holes,
        }
    }

    /// Returns the first placeholder with a wanted name, braces included.
    pub fn find_hole(&self, is_wanted: fn(&str) -> bool) -> Option<String> {
        self.first_hole(is_wanted, |_| Some(&self.value.1))
    }

    /// Whether it has a placeholder, given as `{NAME}`.
    pub fn names_hole(&self, text: &str) -> bool {
        let value = self.value.1.as_bytes();
        let mut holes = self.holes.iter();
        holes.any(|hole| value.get(hole.range.clone()) == Some(text.as_bytes()))
    }

    /// Returns the variable with the placeholders of its value filled.
    pub fn fill(&self, values: &Values) -> (String, Word) {
        let (name, value) = &self.value;
        let filled = self.filled(&HoledWord::Variable(name.clone()), value, values);
        (name.clone(), filled)
    }
}

impl<'a> Node<'a> {
    /// Returns the statements in the block.
    pub fn lines(&self) -> &[Node<'a>] {
        self.body.as_ref().map_or(&[], |body| &body.nodes)
    }

    /// Returns the arguments without the punctuation.
    pub fn values(&self) -> impl Iterator<Item = &Arg<'_>> {
        self.args
            .iter()
            .filter(|a| !matches!(a.value, Value::Mark(_)))
    }
}

/// Whether two trees are equal up to spans, trivia and the way strings were written.
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
        (Value::Str(a), Value::Str(b)) => (&a.text, a.holes) == (&b.text, b.holes),
        _ => a == b,
    }
}
