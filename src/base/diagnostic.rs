//! Messages about the user's text: a stable code, a severity, places, and a help text.

use super::span::Place;
use super::word::{is_unsafe_to_show, visible};

/// A stable name of a kind of message, such as `vplan::lang::unknown_statement`. A code never
/// changes its meaning.
///
/// Each crate declares its own in its `error.rs` and lists them in `CODES` there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// Declares the codes of a room, whose names begin alike, and `CODES`, the list of them.
#[macro_export]
macro_rules! codes {
    ($prefix:literal: $($(#[$doc:meta])* $vis:vis $name:ident = $text:literal;)*) => {
        $($(#[$doc])* $vis const $name: $crate::diagnostic::Code =
            $crate::diagnostic::Code(concat!($prefix, $text));)*

        /// All of them, in this order.
        pub const CODES: &[$crate::diagnostic::Code] = &[$($name),*];
    };
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The contract cannot be used.
    Error,
    /// The contract can be used, but probably does not mean what its author intended.
    Warning,
}

/// A remark on a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place that it points at.
    pub place: Place,
    /// The remark; lower case, no full stop.
    pub text: String,
}

/// One message about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of message.
    pub code: Code,
    /// Whether it makes the text invalid.
    pub severity: Severity,
    /// One line, lower case, no full stop, user text in backticks.
    pub message: String,
    /// The places; the first is the primary one. Empty only for faults of a whole file.
    pub labels: Vec<Label>,
    /// The help text, if there is any.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Makes an error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            help: None,
        }
    }

    /// Makes an error at a place, with a remark on it.
    pub fn at(
        code: Code,
        message: impl Into<String>,
        place: Place,
        label: impl Into<String>,
    ) -> Self {
        Self::error(code, message).label(place, label)
    }

    /// Makes the error of something that is there twice.
    pub fn twice(code: Code, message: impl Into<String>, again: Place, first: Place) -> Self {
        Self::at(code, message, again, "again here").label(first, "first here")
    }

    /// Makes a warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    /// Adds a place with a remark.
    pub fn label(mut self, place: Place, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            place,
            text: text.into(),
        });
        self
    }

    /// Sets the help text.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets the help text, unless there is one already.
    pub fn or_help(mut self, text: impl FnOnce() -> String) -> Self {
        self.help.get_or_insert_with(text);
        self
    }
}

/// An ordered list of messages: stages add their findings and continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Adds a message. Text of the user that it repeats is made safe to show here, whether or not
    /// the caller did.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        let labels = diagnostic.labels.iter_mut().map(|l| &mut l.text);
        for text in labels
            .chain(&mut diagnostic.help)
            .chain([&mut diagnostic.message])
        {
            if text.chars().any(is_unsafe_to_show) {
                *text = visible(text.as_bytes());
            }
        }
        self.0.push(diagnostic);
    }

    /// Adds all of another sink.
    pub fn append(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all messages in the order of their places (file, offset), in which they are shown.
    pub fn sorted(mut self) -> Vec<Diagnostic> {
        self.0.sort_by_key(|d| d.labels.first().map(|l| l.place));
        self.0
    }

    /// Keeps the messages for which `keep` returns true.
    pub fn retain(&mut self, keep: impl FnMut(&mut Diagnostic) -> bool) {
        self.0.retain_mut(keep);
    }

    /// Returns all messages in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unsafe_is_kept() {
        let nasty = "a\u{202e}b\n\u{1b}[2J";
        let mut sink = Diagnostics::default();
        sink.push(
            Diagnostic::error(Code("x"), nasty)
                .label(Place::default(), nasty)
                .help(nasty),
        );
        let safe = "a\\u{202e}b\\n\\u{1b}[2J";
        for diagnostic in sink.iter() {
            assert_eq!(
                (diagnostic.message.as_str(), diagnostic.help.as_deref()),
                (safe, Some(safe))
            );
            assert_eq!(diagnostic.labels[0].text, safe);
        }
    }
}
