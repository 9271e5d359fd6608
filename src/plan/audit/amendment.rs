//! What a contract would have to say so that a finding is none.

use crate::select::item_text;
use vplan_base::glob::Selection;
use vplan_base::setting::{Row, Value};
use vplan_base::word::quote_literal;
use vplan_contract::{CheckIndex, ConditionIndex, Contract, Sought, Test};

/// A change of a contract that makes it ask for more.
#[derive(Clone, Debug, PartialEq)]
pub enum Amendment {
    /// More globs for the head of a `whenChangedAny`.
    Condition {
        /// The condition to extend.
        condition: ConditionIndex,
        /// The globs to add.
        globs: Vec<String>,
    },
    /// A block of its own in which a check applies, too.
    Use {
        /// The conditions around it that do not ask for a change.
        around: Vec<Test>,
        /// The name of the check.
        check: String,
        /// The globs of its `whenChangedAny`.
        globs: Vec<String>,
    },
    /// More words of a setting of a check.
    Setting {
        /// The check to change.
        check: CheckIndex,
        /// `inputs`, `reads`, `writes` or `needs`.
        row: Row,
        /// Globs, paths outside of the repository, or names of checks.
        words: Vec<String>,
        /// Whether it is only shown, and never written, because it lets the check do more.
        is_shown_only: bool,
    },
}

impl Amendment {
    /// Returns the line of the contract as it would be; a block on one line.
    pub fn line(&self, contract: &Contract) -> String {
        match self {
            Amendment::Condition { condition, globs } => {
                let test = &contract.conditions[*condition].test;
                let items = test.narrowing().map(items).unwrap_or_default();
                let all = items.into_iter().chain(quoted(globs));
                line(test.keyword(), all)
            }
            Amendment::Use {
                around,
                check,
                globs,
            } => {
                let changed = line("whenChangedAny", quoted(globs));
                let heads = around.iter().map(head).chain([changed]);
                let heads: String = heads.map(|head| format!("{head} {{ ")).collect();
                let ends = " }".repeat(around.len() + 1);
                format!("{heads}use {check}{ends}")
            }
            Amendment::Setting {
                check, row, words, ..
            } => {
                let check = &contract.checks[*check];
                let needs = check.needs.iter();
                let mut all: Vec<String> = match check.value(*row).as_deref() {
                    Some(Value::Outside(own)) => quoted(own).collect(),
                    Some(Value::Selection(own)) => items(own),
                    _ if *row == Row::Needs => needs
                        .map(|need| contract.checks[*need].id.clone())
                        .collect(),
                    _ => Vec::new(),
                };
                match row {
                    Row::Needs => all.extend(words.iter().cloned()),
                    _ => all.extend(quoted(words)),
                }
                line(row.setting().word, all)
            }
        }
    }
}

/// Returns the head of a condition that does not ask for a change.
pub fn head(test: &Test) -> String {
    let sought = |sought: &Sought| match sought {
        Sought::Path(path) => quote_literal(&path.to_string()).into_owned(),
        Sought::Glob(glob) => quote_literal(glob.text()).into_owned(),
    };
    match test {
        Test::Role(roles) => line(test.keyword(), roles.iter().cloned()),
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => {
            line(test.keyword(), all.iter().map(sought))
        }
        Test::ChangedAny(selection)
        | Test::ChangedAll(selection)
        | Test::ChangedOnly(selection)
        | Test::ChangedNone(selection) => line(test.keyword(), items(selection)),
    }
}

/// Returns the items of a selection as a contract writes them.
fn items(selection: &Selection) -> Vec<String> {
    selection.items.iter().map(item_text).collect()
}

fn quoted(globs: &[String]) -> impl Iterator<Item = String> {
    globs.iter().map(|glob| quote_literal(glob).into_owned())
}

fn line(word: &str, rest: impl IntoIterator<Item = String>) -> String {
    let words = std::iter::once(word.to_owned()).chain(rest);
    words.collect::<Vec<_>>().join(" ")
}
