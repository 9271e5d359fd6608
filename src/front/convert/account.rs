//! The account of what a contract cannot express, and the codes of the messages about it.

use vplan_base::diagnostic::Code;
use vplan_base::span::Place;
use vplan_base::word::visible;

/// A value of another type than its key has.
pub const WRONG_TYPE: Code = Code("vplan::convert::wrong_type");
/// A value of the right type that its key does not take.
pub const BAD_VALUE: Code = Code("vplan::convert::bad_value");
/// A command without a word.
pub const EMPTY_COMMAND: Code = Code("vplan::convert::empty_command");
/// A command of a list that changes the commands after it, in a way that no contract can express.
pub const SHELL_STATE: Code = Code("vplan::convert::shell_state");
/// A command that no line of a contract can hold.
pub const BAD_COMMAND: Code = Code("vplan::convert::bad_command");
/// A name that two steps have.
pub const DUPLICATE_STEP: Code = Code("vplan::convert::duplicate_step");

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
    /// Its weight.
    pub weight: Weight,
    /// The key, or the text there; one line.
    pub what: String,
    /// Its place.
    pub place: Place,
    /// The reason why it was not converted as it was; one line.
    pub why: String,
    /// The text to write by hand, where that is known.
    pub instead: Option<String>,
    /// The part of the draft that carries the comment about it.
    pub about: About,
}

impl Lost {
    fn new(weight: Weight, what: impl AsRef<str>, place: Place, why: impl AsRef<str>) -> Self {
        Self {
            weight,
            what: shown(what),
            place,
            why: shown(why),
            instead: None,
            about: About::File,
        }
    }

    /// Accounts for a part that is not in the contract.
    pub(crate) fn gone(what: impl AsRef<str>, place: Place, why: impl AsRef<str>) -> Self {
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
        self.instead = Some(shown(text));
        self
    }

    /// Puts the comment about it before this statement.
    pub(super) fn about(mut self, about: About) -> Self {
        self.about = about;
        self
    }
}

fn shown(text: impl AsRef<str>) -> String {
    visible(cut(text.as_ref(), 200))
}

/// The statement that a comment precedes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum About {
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
