//! The account of what a contract cannot express, and the codes of the messages about it.

use vplan_base::span::Place;
use vplan_base::word::visible;

vplan_base::codes! {
    "vplan::convert::":
    /// A value of another type than its key has.
    pub WRONG_TYPE = "wrong_type";
    /// A value of the right type that its key does not take.
    pub BAD_VALUE = "bad_value";
    /// A command without a word.
    pub EMPTY_COMMAND = "empty_command";
    /// A command that no line of a contract can hold.
    pub BAD_COMMAND = "bad_command";
    /// A command of a list that changes the commands after it, in a way that no contract can express.
    pub SHELL_STATE = "shell_state";
    /// A name that two steps have.
    pub DUPLICATE_STEP = "duplicate_step";
    /// The text is no TOML.
    pub TOML = "toml";
    /// The text is no YAML, or uses features that no configuration needs.
    pub YAML = "yaml";
    /// The file holds more than the cap, its aliases replaced.
    pub TOO_LARGE = "too_large";
    /// A key occurs twice in a mapping of YAML.
    pub DUPLICATE_KEY = "duplicate_key";
}

vplan_base::words! {
    /// The weight of an item in the account.
    Weight {
        /// It is not in the contract.
        Lost = "lost",
        /// It is in the contract and means something else there, never less.
        Changed = "changed",
        /// It requires no check, there or here.
        NoEffect = "no-effect",
    }
}

/// A part of the file that the contract lacks, or expresses in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub weight: Weight,
    /// The key, or the text there; one line.
    pub what: String,
    pub place: Place,
    /// The reason why it was not converted as it was; one line.
    pub why: String,
    /// The text to write by hand, where that is known.
    pub instead: Option<String>,
    /// The part of the draft that carries the comment about it.
    pub about: Statement,
}

impl Lost {
    fn new(weight: Weight, what: impl AsRef<str>, place: Place, why: impl AsRef<str>) -> Self {
        Self {
            weight,
            what: quote(what),
            place,
            why: quote(why),
            instead: None,
            about: Statement::File,
        }
    }

    /// Accounts for a part that is not in the contract.
    pub(crate) fn omitted(what: impl AsRef<str>, place: Place, why: impl AsRef<str>) -> Self {
        Self::new(Weight::Lost, what, place, why)
    }

    /// Accounts for a part that means something else in the contract.
    pub(crate) fn changed(what: impl AsRef<str>, place: Place, why: impl AsRef<str>) -> Self {
        Self::new(Weight::Changed, what, place, why)
    }

    /// Accounts for a part that requires no check.
    pub(crate) fn no_effect(what: impl AsRef<str>, place: Place, why: impl AsRef<str>) -> Self {
        Self::new(Weight::NoEffect, what, place, why)
    }

    /// Says what to write by hand.
    pub(crate) fn by_hand(mut self, text: impl AsRef<str>) -> Self {
        self.instead = Some(quote(text));
        self
    }

    /// Puts the comment about it before this statement.
    pub(super) fn before_statement(mut self, about: Statement) -> Self {
        self.about = about;
        self
    }
}

fn quote(text: impl AsRef<str>) -> String {
    visible(cut(text.as_ref(), 200))
}

/// The statement that a comment precedes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statement {
    /// Nothing in particular: the comment is at the top.
    #[default]
    File,
    /// An entry of the draft.
    Entry(usize),
    /// A trigger of the draft.
    Risk(usize),
}

/// Returns the beginning of a text, for the account.
pub(super) fn cut(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().take(most).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
