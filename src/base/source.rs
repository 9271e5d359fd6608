//! Source texts, and the line and column of an offset in them.

use super::index::{Dense, Index as _};
use super::span::{Place, SourceId, Span};

/// One text with the name that diagnostics show for it.
///
/// The text is normalised once, before anything else reads it: a byte-order mark is dropped and CR
/// LF becomes LF. So all spans are offsets in the normalised text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// Offset of the first byte of each line.
    lines: Vec<usize>,
}

/// A position as people count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
}

impl Source {
    /// Normalises a text and indexes its lines.
    pub fn new(name: impl Into<String>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = if text.contains('\r') {
            text.replace("\r\n", "\n")
        } else {
            text.to_owned()
        };
        let mut lines = vec![0];
        lines.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(i, _)| i + 1),
        );
        Self {
            name: name.into(),
            text,
            lines,
        }
    }

    /// Returns the name, a repository path or `-`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the normalised text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a span; empty if the span is outside.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// Returns line and column of an offset.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        Position {
            line,
            column: offset.saturating_sub(start) + 1,
        }
    }
}

/// All files of one contract, in the order in which they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(Dense<SourceId, Source>);

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.0.push(source)
    }

    /// Returns the file of a place, if the place has one.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.as_slice().get(id.position())
    }

    /// Returns line and column of a place's beginning; (1, 1) when the file is unknown.
    pub fn position(&self, place: Place) -> Position {
        self.get(place.source)
            .map_or(Position { line: 1, column: 1 }, |s| {
                s.position(place.span.start)
            })
    }

    /// Returns all files.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.0.numbered()
    }
}

/// A file that was added.
impl std::ops::Index<SourceId> for Sources {
    type Output = Source;

    fn index(&self, id: SourceId) -> &Source {
        &self.0[id]
    }
}
