//! The table of settings: what a setting of a check is that is no more than its row. Syntax,
//! layout, draft, resolution with defaults, comparison and explanation of it are made from the row.
//!
//! Besides the row, such a setting is a field of a plan's step (`plan::Step`), a row of the language
//! reference, and whatever it does.

use super::glob::Selection;
use std::collections::BTreeMap;

/// A setting that is a row of the table. Their order is the canonical one in a block, and that of
/// what differs between two contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// `unchanged`
    Unchanged,
    /// `inputs`
    Inputs,
    /// `writes`
    Writes,
}

/// The values of a check's settings that are rows.
pub type Selections = BTreeMap<Row, Selection>;

/// All that is particular to a setting whose value is a selection of files.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The word that begins it.
    pub word: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// The verbs that it goes with.
    pub with: Verbs,
    /// Whether `defaults` may hold it. A check's own takes the place of that one.
    pub in_defaults: bool,
    /// When a contract that differs in it asks for less.
    pub weaker: Weaker,
    /// Its label in an explanation, seven columns wide, and what follows the selection there.
    pub explained: (&'static str, &'static str),
}

/// Groups of verbs, as the language reference has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbs {
    /// The verbs that start a process.
    Commands,
    /// The verbs that may be retried: all but `file`.
    AllButFile,
}

/// When a change of a selection lets more pass, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weaker {
    /// The fewer files are selected.
    Fewer,
    /// The more files are selected.
    More {
        /// Of a change to more.
        more: &'static str,
        /// Of a change to fewer.
        fewer: &'static str,
    },
    /// Once there is one at all, and then the fewer files are selected.
    Given {
        /// Of one that is new.
        given: &'static str,
        /// Of one that is gone.
        gone: &'static str,
        /// Of a change to fewer, behind the file that is no longer selected.
        fewer: &'static str,
    },
}

impl Row {
    /// The whole table, in order.
    pub const ALL: [Row; 3] = [Row::Unchanged, Row::Inputs, Row::Writes];

    /// The row itself.
    #[must_use]
    pub fn setting(self) -> Setting {
        match self {
            Row::Unchanged => Setting {
                word: "unchanged",
                usage: "unchanged \"GLOB\" …",
                with: Verbs::Commands,
                in_defaults: false,
                weaker: Weaker::Fewer,
                explained: ("holds  ", " stays unchanged"),
            },
            Row::Inputs => Setting {
                word: "inputs",
                usage: "inputs \"GLOB\" …",
                with: Verbs::AllButFile,
                in_defaults: true,
                weaker: Weaker::Given {
                    given: "a pass on the same inputs may be reused",
                    gone: "a pass is never reused",
                    fewer: ": a pass may be reused although it changed",
                },
                explained: ("inputs ", "; a pass on the same may stand for it"),
            },
            Row::Writes => Setting {
                word: "writes",
                usage: "writes \"GLOB\" …",
                with: Verbs::Commands,
                in_defaults: false,
                weaker: Weaker::More {
                    more: "it may change more of the tree",
                    fewer: "it may change less",
                },
                explained: ("writes ", "; any other tracked file must stay as it is"),
            },
        }
    }

    /// The row of the setting that this word begins.
    #[must_use]
    pub fn named(word: &str) -> Option<Row> {
        Row::ALL.into_iter().find(|row| row.setting().word == word)
    }

    /// The rows in the order of explanations: a check's own first, then what defaults may give.
    #[must_use]
    pub fn explained() -> [Row; Row::ALL.len()] {
        let mut rows = Row::ALL;
        rows.sort_by_key(|row| row.setting().in_defaults);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_whole() {
        assert!(Row::ALL.is_sorted());
        for row in Row::ALL {
            assert_eq!(Row::named(row.setting().word), Some(row));
            assert_eq!(row.setting().explained.0.len(), 7);
        }
    }
}
