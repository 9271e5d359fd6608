//! The table of settings of a check, all but the command itself. Syntax, layout, draft, resolution
//! with defaults, comparison, explanation and the cache key are made from a row.
//!
//! In addition to its row, a setting needs a field of a plan's step (`plan::Step`), a row of the
//! language reference, and an implementation.

use super::command::Command;
use super::glob::{Glob, Selection};
use super::machine::On;
use super::service::Service;
use super::vocabulary::FormatName;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// All that is particular to one setting.
#[derive(Debug)]
pub struct Setting {
    /// The word that begins it.
    pub word: &'static str,
    /// Its syntax, as messages and the reference show it.
    pub usage: &'static str,
    /// The form of the value.
    pub takes: Takes,
    /// The verbs that it applies to.
    pub with: Verbs,
    /// Whether `defaults` may contain it. A check's own value replaces it, and that of its verb the
    /// one of all checks. Exceptions are `env`, `tags`, `tool-path` and `reads`, which add up.
    pub in_defaults: bool,
    /// The value of a check that does not set it.
    pub unset: Unset,
    /// Whether a check of another verb does not have it at all, not even when it is not written.
    pub of_verb: bool,
    /// The changes that make a contract weaker.
    pub weaker: Weaker,
    /// Its form in an explanation of a plan.
    pub explained: Explained,
    /// Whether it is an annotation of a plan, outside the digest.
    pub annotation: bool,
    /// Whether it may influence how a step ends, so that a pass with another value is not reused.
    pub decides: bool,
}

/// The form of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is set or not.
    Flag,
    /// A whole number.
    Number {
        /// The maximum value.
        most: u64,
        /// Its description, for messages.
        called: &'static str,
    },
    /// A duration, in milliseconds.
    Duration,
    /// A string for people.
    Text,
    /// A path, as a string.
    Path,
    /// Paths, as strings.
    Paths,
    /// Paths outside of the repository, as strings.
    Outside,
    /// A plain label.
    Name,
    /// Labels.
    Names,
    /// Names of checks.
    References,
    /// One of a few words.
    Word {
        /// One of these. If their order matters, a later one is weaker.
        known: &'static [&'static str],
        /// Its description, for messages.
        called: &'static str,
    },
    /// Names of variables.
    Variables,
    /// `NAME=VALUE`
    Assignment,
    /// Exit codes.
    Codes,
    /// Globs that only select.
    Globs,
    /// A selection of files.
    Selection,
    /// A format and a glob.
    Report,
    /// A command of its own, in the syntax of commands.
    Command,
}

impl Takes {
    /// Whether several values may follow.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Takes::Paths
                | Takes::Outside
                | Takes::Names
                | Takes::References
                | Takes::Variables
                | Takes::Codes
                | Takes::Globs
                | Takes::Selection
        )
    }
}

/// Groups of verbs, as the language reference has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbs {
    /// All.
    All,
    /// The verbs that start a process.
    Commands,
    /// The verbs that may be retried: all but `file`.
    AllButFile,
    /// The verbs with parsed output: `compile`, `test`, `lint`.
    Reading,
    /// The verbs that count findings: `compile`, `lint`.
    Findings,
    /// `test`
    Test,
    /// `judge`
    Judge,
}

/// The default of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// Nothing, and that is the least.
    Nothing,
    /// No value, which means no limit.
    Unlimited,
    /// This number.
    Number(u64),
    /// This number, but only of evidence that happens to be there.
    AtMost(u64),
    /// The value that the verb implies.
    ByVerb,
    /// This word.
    Word(&'static str),
}

/// The kinds of change of a setting that let more pass, with the reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weaker {
    /// A selection: the fewer files it selects.
    Fewer,
    /// A selection: the more files it selects.
    More {
        /// Of a change to more.
        more: &'static str,
        /// Of a change to fewer.
        fewer: &'static str,
    },
    /// A selection: once there is one at all, and then the fewer files it selects.
    Given {
        /// Of one that is new.
        given: &'static str,
        /// For a removed value.
        gone: &'static str,
        /// Of a change to fewer, after the file that is no longer selected.
        fewer: &'static str,
    },
    /// A greater number, a later word, a flag that is set.
    Higher {
        /// Of a change to more.
        more: &'static str,
        /// Of a change to less.
        less: &'static str,
    },
    /// A smaller number.
    Lower,
    /// A word or a report: the default one, or none; undecided for others.
    Unsaid {
        /// Of a change to the unwritten word.
        gone: &'static str,
        /// Of a change to another word.
        other: &'static str,
    },
    /// Undecided: it may.
    Undecided(&'static str),
    /// Undecided between contracts: the order of steps and the verified tree follow from it. Of one
    /// request the files that steps make are compared instead.
    Order(&'static str),
    /// Never weaker, but it changes the plan.
    Changes(&'static str),
    /// Never weaker, and it changes only the display.
    Cosmetic(&'static str),
    /// By a comparison of its own in `plan::diff::settings`.
    Particular,
}

/// The form of a setting in an explanation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explained {
    /// Its word and its value, unless that is the usual one.
    Word,
    /// Another name instead of its own.
    Called(&'static str),
    /// These words alone.
    Phrase(&'static str),
    /// The number and a noun, in the singular and the plural.
    Counted(&'static str, &'static str),
    /// A line with a label, seven columns wide, and the text after the selection.
    Line(&'static str, &'static str),
    /// Elsewhere, or not at all.
    Apart,
}

/// A checked value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// It is set.
    Flag,
    /// A number, or a duration in milliseconds.
    Number(u64),
    /// One of the words of its row.
    Word(&'static str),
    /// A name or a text.
    Text(String),
    /// Paths outside of the repository.
    Outside(Vec<String>),
    /// Globs.
    Globs(Vec<Glob>),
    /// A selection of files.
    Selection(Selection),
    /// A command in its parsed form.
    Command(Command),
    /// Services, with their definitions.
    Services(Vec<Service>),
    /// This machine, or another one with its definition.
    On(On),
}

/// The values of a check's settings that differ from the usual ones.
pub type Settings = BTreeMap<Row, Value>;

/// The row of most settings.
const USUAL: Setting = Setting {
    word: "",
    usage: "",
    takes: Takes::Flag,
    with: Verbs::All,
    in_defaults: false,
    unset: Unset::Nothing,
    of_verb: false,
    weaker: Weaker::Undecided("what it does there cannot be compared"),
    explained: Explained::Word,
    annotation: false,
    decides: true,
};

const NUMBER: Takes = number(u64::MAX, "a number");
const HIGHER: Weaker = higher("", "");
const ORDER: Weaker =
    Weaker::Order("the order of steps may differ, and what a step finds of others");
const MADE: Weaker =
    Weaker::Order("it may change what others look at, and the order of steps may differ");

const fn number(most: u64, called: &'static str) -> Takes {
    Takes::Number { most, called }
}

const fn word(known: &'static [&'static str], called: &'static str) -> Takes {
    Takes::Word { known, called }
}

const fn higher(more: &'static str, less: &'static str) -> Weaker {
    Weaker::Higher { more, less }
}

macro_rules! table {
    ($($row:ident $word:literal $usage:literal, $takes:expr, $with:ident { $($field:ident: $value:expr),* })*) => {
        /// A row of the table. Their order is the canonical one of settings in a block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Row {
            $(#[doc = concat!("`", $usage, "`")] $row,)*
        }

        impl Row {
            /// The whole table, in order.
            pub const ALL: &'static [Row] = &[$(Row::$row,)*];

            /// Returns its row of the table.
            pub fn setting(self) -> &'static Setting {
                match self {
                    $(Row::$row => {
                        const SETTING: &Setting = &Setting {
                            word: $word,
                            usage: $usage,
                            takes: $takes,
                            with: Verbs::$with,
                            $($field: $value,)*
                            ..USUAL
                        };
                        SETTING
                    })*
                }
            }
        }
    };
}

table! {
    Fix "fix" "fix COMMAND", Takes::Command, Commands {
        weaker: Weaker::Changes("what mends its failure"), explained: Explained::Apart, annotation: true, decides: false
    }
    Describe "describe" "describe \"TEXT\"", Takes::Text, All {
        weaker: Weaker::Cosmetic("another description"), explained: Explained::Apart, annotation: true, decides: false
    }
    Dir "dir" "dir \"PATH\"", Takes::Path, Commands { in_defaults: true }
    Env "env" "env NAME=VALUE", Takes::Assignment, Commands { in_defaults: true }
    PassEnv "pass-env" "pass-env NAME …", Takes::Variables, Commands { in_defaults: true }
    ToolPath "tool-path" "tool-path \"PATH\" …", Takes::Paths, Commands {
        in_defaults: true, weaker: Weaker::Undecided("another program of the same name may run")
    }
    Timeout "timeout" "timeout 5m", Takes::Duration, AllButFile {
        in_defaults: true, unset: Unset::ByVerb, weaker: higher("a limit on each try", "a limit on each try"),
        explained: Explained::Apart
    }
    Retries "retries" "retries N", number(u32::MAX as u64, "a number"), AllButFile {
        in_defaults: true, unset: Unset::Number(0), decides: false,
        weaker: higher("a failure gets more tries to pass by chance", ""),
        explained: Explained::Counted("further try", "further tries")
    }
    Exit "exit" "exit N …", Takes::Codes, Commands { weaker: Weaker::Particular }
    SkipExit "skip-exit" "skip-exit N …", Takes::Codes, Commands { weaker: Weaker::Particular }
    Tier "tier" "tier N", number(2, "a tier"), All { weaker: Weaker::Particular }
    Tags "tags" "tags NAME …", Takes::Names, All { in_defaults: true, weaker: Weaker::Changes("") }
    Needs "needs" "needs NAME …", Takes::References, All { weaker: Weaker::Particular }
    Produces "produces" "produces \"GLOB\" …", Takes::Globs, Commands { weaker: MADE }
    Cleans "cleans" "cleans \"GLOB\" …", Takes::Globs, Commands { weaker: MADE }
    Requires "requires" "requires \"GLOB\" …", Takes::Globs, All { weaker: ORDER }
    Unchanged "unchanged" "unchanged \"GLOB\" …", Takes::Selection, Commands {
        weaker: Weaker::Fewer, explained: Explained::Line("holds  ", " stays unchanged")
    }
    Inputs "inputs" "inputs \"GLOB\" …", Takes::Selection, AllButFile {
        in_defaults: true,
        weaker: Weaker::Given {
            given: "a pass on the same inputs may be reused",
            gone: "a pass is never reused",
            fewer: ": a pass may be reused although it changed",
        },
        explained: Explained::Line("inputs ", "; a pass on the same may stand for it")
    }
    Sandbox "sandbox" "sandbox guard", word(&["sealed", "files", "guard", "none"], "`sealed`, `files`, `guard` or `none`"), Commands {
        in_defaults: true, unset: Unset::Word("none"), of_verb: true, explained: Explained::Apart,
        weaker: higher("it runs under fewer restrictions", "it runs under more restrictions")
    }
    Network "network" "network off", word(&["off", "loopback", "on"], "`off`, `loopback` or `on`"), Commands {
        in_defaults: true, unset: Unset::Word("on"), of_verb: true, explained: Explained::Apart,
        weaker: higher("it may use more of the network", "it may use less of the network")
    }
    Writes "writes" "writes \"GLOB\" …", Takes::Selection, Commands {
        weaker: Weaker::More { more: "it may change more of the tree", fewer: "it may change less" },
        explained: Explained::Line("writes ", "; any other tracked file must stay as it is")
    }
    Reads "reads" "reads \"PATH\" …", Takes::Outside, Commands {
        in_defaults: true, weaker: Weaker::Particular, explained: Explained::Apart
    }
    Shared "shared" "shared", Takes::Flag, Commands {
        weaker: Weaker::Undecided("a pass of another machine may stand for it"), decides: false,
        explained: Explained::Phrase("its pass is shared")
    }
    On "on" "on NAME", Takes::Name, Commands {
        in_defaults: true, weaker: Weaker::Undecided("it may be executed on another machine"), decides: false
    }
    Setup "setup" "setup", Takes::Flag, All {
        weaker: higher("its pass is no evidence any more", "")
    }
    Always "always" "always", Takes::Flag, All {
        weaker: Weaker::Changes("whether it runs after a failure"), explained: Explained::Phrase("always runs")
    }
    With "with" "with NAME …", Takes::References, Commands {
        weaker: Weaker::Undecided("it runs beside other services"), explained: Explained::Apart
    }
    Exclusive "exclusive" "exclusive NAME", Takes::Name, All {
        weaker: Weaker::Changes("what runs beside it"), decides: false
    }
    Format "format" "format NAME", word(FormatName::NAMES, "the name of a format"), Reading {
        in_defaults: true, unset: Unset::Word("auto"), of_verb: true,
        weaker: Weaker::Unsaid {
            gone: "how its output is read is left to a guess",
            other: "its output is read in another way",
        },
        explained: Explained::Called("read as")
    }
    Report "report" "report junit \"GLOB\"", Takes::Report, Reading {
        weaker: Weaker::Unsaid { gone: "its result is no longer read from the report", other: "another report" }
    }
    MaxErrors "max-errors" "max-errors N", NUMBER, Findings {
        unset: Unset::Number(0), of_verb: true, weaker: HIGHER
    }
    MaxWarnings "max-warnings" "max-warnings N", NUMBER, Findings {
        unset: Unset::Unlimited, of_verb: true, weaker: HIGHER
    }
    MinTests "min-tests" "min-tests N", NUMBER, Test {
        unset: Unset::AtMost(1), of_verb: true, weaker: Weaker::Lower
    }
    Severity "severity" "severity warning", word(&["blocking", "warning"], "`blocking` or `warning`"), All {
        in_defaults: true, unset: Unset::Word("blocking"), decides: false,
        weaker: higher("its failure no longer fails the plan", "its failure fails the plan"),
        explained: Explained::Phrase("only warns")
    }
    Optional "optional" "optional", Takes::Flag, Commands {
        weaker: higher("recovery may drop it when what it runs is missing", ""), decides: false
    }
    Context "context" "context \"GLOB\" …", Takes::Selection, Judge {
        weaker: Weaker::Undecided("the judge sees other files")
    }
}

/// The settings of a check that leaves files for its next run.
pub const LEAVING: [Row; 3] = [Row::Writes, Row::Produces, Row::Cleans];

macro_rules! rows {
    ($($row:ident)*) => { &[$(Row::$row),*] };
}

/// The order in which differences are reported; a row that is not here follows.
const COMPARED: &[Row] = rows! {
    Severity Optional Setup Exit SkipExit MaxErrors MaxWarnings MinTests Timeout Retries Report Format
    Unchanged Inputs Sandbox Network Writes Reads Shared On Dir Env PassEnv ToolPath Context Produces Cleans Requires Tags Always With Exclusive Fix Describe
};

/// The order in an explanation; a row that is not here follows.
const EXPLAINED: &[Row] = rows! {
    Tier Retries Exit SkipExit Format Report MaxErrors MaxWarnings MinTests Severity Optional Setup Always
    Exclusive Unchanged Writes Inputs
};

/// All rows: those of a list first, in its order.
fn in_order(first: &[Row]) -> Vec<Row> {
    let mut rows = Row::ALL.to_vec();
    rows.sort_by_key(|row| first.iter().position(|r| r == row).unwrap_or(first.len()));
    rows
}

impl Row {
    /// Returns all rows in the order for differences between two contracts.
    pub fn compared() -> &'static [Row] {
        static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| in_order(COMPARED));
        &ROWS
    }

    /// Returns all rows in the order of explanations.
    pub fn explained() -> &'static [Row] {
        static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| in_order(EXPLAINED));
        &ROWS
    }

    /// Returns the words of the settings that `defaults` may contain.
    pub fn in_defaults() -> Vec<&'static str> {
        let mut rows = Row::ALL.to_vec();
        rows.retain(|row| row.setting().in_defaults);
        rows.sort_by_key(|row| matches!(row, Row::Tags | Row::Inputs));
        rows.iter().map(|row| row.setting().word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_in_order_and_whole() {
        assert!(Row::ALL.is_sorted());
        let words: BTreeSet<&str> = Row::ALL.iter().map(|row| row.setting().word).collect();
        assert_eq!(words.len(), Row::ALL.len());
        for order in [Row::compared(), Row::explained()] {
            assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), Row::ALL.len());
        }
    }

    #[test]
    fn a_row_says_what_its_value_can_be() {
        for setting in Row::ALL.iter().map(|row| row.setting()) {
            let (takes, word) = (setting.takes, setting.word);
            if let Explained::Line(label, _) = setting.explained {
                assert_eq!((label.len(), takes), (7, Takes::Selection), "{word}");
            }
            let fits = match setting.weaker {
                Weaker::Fewer | Weaker::More { .. } | Weaker::Given { .. } => {
                    takes == Takes::Selection
                }
                Weaker::Higher { .. } => matches!(
                    takes,
                    Takes::Flag | Takes::Number { .. } | Takes::Duration | Takes::Word { .. }
                ),
                Weaker::Lower => matches!(takes, Takes::Number { .. } | Takes::Duration),
                Weaker::Unsaid { .. } => matches!(takes, Takes::Word { .. } | Takes::Report),
                _ => true,
            };
            assert!(fits, "{word}");
            match (setting.unset, takes) {
                (Unset::Word(usual), Takes::Word { known, .. }) => assert!(known.contains(&usual)),
                (Unset::Word(_), _) => panic!("{word} is no word"),
                _ => {}
            }
        }
    }
}
