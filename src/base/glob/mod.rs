//! Which paths does a glob select? The only room of `globset`.

mod parse;
mod pattern;
mod set;

use super::path::RepoPath;
pub(in crate::base) use pattern::{Part, Pattern, Segment};
use serde::{Deserialize, Serialize};
pub(in crate::base) use set::PatternSet;
use std::cmp::Ordering;
use std::sync::Arc;

/// A glob of the one dialect (language.md section 5), checked and taken apart. It is compared and serialised as its text.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glob {
    text: Arc<str>,
    /// Its braces expanded; a path that matches one of them is selected.
    alternatives: Arc<[Pattern]>,
}

/// What is wrong with a glob, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobError {
    /// One line, lower case, no full stop.
    pub message: String,
    /// Byte offsets in the glob's text.
    pub span: super::span::Span,
    /// A glob that would be right, or another way out.
    pub help: Option<String>,
}

impl Glob {
    /// Reads a glob.
    ///
    /// # Errors
    /// Everything language.md sections 2, 5 and 11 call an error.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        Ok(Self { alternatives: parse::parse(text)?.into(), text: text.into() })
    }

    /// The glob that selects exactly this path. `None` for paths that no glob can name: those that are not UTF-8, or longer
    /// than a glob may be.
    #[must_use]
    pub fn literal(path: &RepoPath) -> Option<Self> {
        let text = std::str::from_utf8(path.as_bytes()).ok()?;
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\') {
                escaped.push('\\');
            }
            escaped.push(c);
        }
        Self::parse(&escaped).ok()
    }

    /// The glob as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it selects this path.
    #[must_use]
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.alternatives.iter().any(|pattern| pattern.matches(path.as_bytes()))
    }

    /// What it is made of.
    pub(in crate::base) fn alternatives(&self) -> &[Pattern] {
        &self.alternatives
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Glob {}

impl PartialOrd for Glob {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Glob {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl std::fmt::Debug for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Glob({})", self.text)
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> Self {
        glob.text.as_ref().to_owned()
    }
}

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Glob::parse(&text).map_err(|e| e.message)
    }
}

/// A list of globs and named selections: a file is selected when some positive item selects it and no excluding one does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selection {
    /// The items in the order of the text. At least one of them is positive.
    pub items: Vec<Item>,
}

/// One item of a selection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Whether it excludes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not: bool,
    /// What it selects.
    #[serde(flatten)]
    pub what: What,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A glob.
    Glob(Glob),
    /// The selection behind a name; its own exclusions apply inside it only.
    Paths {
        /// What it selects. Shared between all its uses.
        items: Arc<Selection>,
        /// The name in the contract.
        name: String,
    },
}

impl Item {
    /// Whether the item's glob or named selection selects the path, its own `!` aside.
    #[must_use]
    pub fn selects(&self, path: &RepoPath) -> bool {
        match &self.what {
            What::Glob(glob) => glob.matches(path),
            What::Paths { items, .. } => items.selects(path),
        }
    }
}

impl Selection {
    /// Whether the path is selected.
    #[must_use]
    pub fn selects(&self, path: &RepoPath) -> bool {
        self.items.iter().any(|i| !i.not && i.selects(path)) && !self.items.iter().any(|i| i.not && i.selects(path))
    }
}
