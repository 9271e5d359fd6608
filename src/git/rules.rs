//! Evaluates the `.gitignore` files between the root and a path.

use super::pattern::{Pattern, ignore_lines};
use std::sync::Arc;

/// The name of a rule file.
pub(super) const NAME: &[u8] = b".gitignore";

/// A line with a pattern.
pub(super) struct Line {
    pub number: usize,
    pub pattern: Pattern,
    /// As it is written, without the space at its end.
    pub text: Box<[u8]>,
}

/// The lines of a directory's file, and of the files above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// The directory's path, with a slash at its end, unless it is the root.
    pub dir: Box<[u8]>,
    lines: Vec<Line>,
}

impl Rules {
    /// Parses the rules of a directory from the text of its file.
    pub(super) fn read(above: Option<Arc<Self>>, dir: &[u8], text: &[u8]) -> Arc<Self> {
        let line = |(number, text, pattern): (usize, &[u8], Pattern)| Line {
            number,
            pattern,
            text: text.trim_ascii_end().into(),
        };
        Arc::new(Self {
            above,
            dir: dir.into(),
            lines: ignore_lines(text).map(line).collect(),
        })
    }

    /// Returns the line that ignores a path below the directory, if any, with the directory of its
    /// file.
    pub(super) fn ignores<'r>(
        rules: Option<&'r Arc<Self>>,
        path: &[u8],
        is_directory: bool,
    ) -> Option<(&'r [u8], &'r Line)> {
        let mut next = rules;
        while let Some(rules) = next {
            let below = path.get(rules.dir.len()..).unwrap_or_default();
            if let Some(line) = rules
                .lines
                .iter()
                .rev()
                .find(|l| l.pattern.matches(below, is_directory))
            {
                return (!line.pattern.negated).then_some((&*rules.dir, line));
            }
            next = rules.above.as_ref();
        }
        None
    }
}
