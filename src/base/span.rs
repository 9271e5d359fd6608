//! Ranges of bytes in a source text.

use super::index::{Index, bug};

/// A half-open range of byte offsets in a [`Source`](super::source::Source)'s normalised text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte; never before `start`.
    pub end: usize,
}

impl Span {
    /// Makes a span; an `end` before `start` is raised to `start`.
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }

    /// Returns the length in bytes.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the span covers no byte (the end of a file, a missing word).
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// Identifies the file of a [`Sources`](super::source::Sources) that a span belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

impl Index for SourceId {
    const OF: &'static str = "source";

    fn new(position: usize) -> Self {
        match u32::try_from(position) {
            Ok(number) => Self(number),
            Err(_) => bug("more sources than memory holds"),
        }
    }

    fn position(self) -> usize {
        self.0 as usize
    }
}

/// A span in one of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file that the span is in.
    pub source: SourceId,
    /// The range in it.
    pub span: Span,
    /// The row of the `each` blocks around it: the number in the rows of its file, from 1. None is 0.
    pub row: u32,
}

impl Place {
    /// Makes a place that no `each` is around.
    pub fn new(source: SourceId, span: Span) -> Self {
        Self {
            source,
            span,
            row: 0,
        }
    }
}
