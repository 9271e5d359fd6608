//! What a contract would have to say so that a finding is none.

use crate::MAY_CHANGE;
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
        /// The condition.
        condition: ConditionIndex,
        /// The globs.
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
    /// More `inputs` of a check.
    Inputs {
        /// The check.
        check: CheckIndex,
        /// The globs.
        globs: Vec<String>,
    },
    /// `needs` of a check.
    Needs {
        /// The check.
        check: CheckIndex,
        /// The name of the one that has to run before.
        needs: String,
    },
    /// More that a check may read outside of the repository, where it is confined to what it declares.
    Reads {
        /// The check.
        check: CheckIndex,
        /// The paths.
        paths: Vec<String>,
    },
    /// More files that a check may change.
    MayChange {
        /// The check.
        check: CheckIndex,
        /// The globs.
        globs: Vec<String>,
        /// Whether they are folders that git ignores with all that is in them, of a check that is confined.
        /// Others are shown, and never written, because they let the check do more.
        is_ignored: bool,
    },
}

impl Amendment {
    /// Returns the line of the contract as it would be; a block on one line.
    #[must_use]
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
                let heads = around
                    .iter()
                    .map(head)
                    .chain([line("whenChangedAny", quoted(globs))]);
                let heads: String = heads.map(|head| format!("{head} {{ ")).collect();
                let ends = " }".repeat(around.len() + 1);
                format!("{heads}use {check}{ends}")
            }
            Amendment::Inputs { check, globs } => selected(contract, *check, Row::Inputs, globs),
            Amendment::Needs { check, needs } => {
                let check = &contract.checks[*check];
                let own = check
                    .needs
                    .iter()
                    .map(|need| contract.checks[*need].id.clone());
                line("needs", own.chain([needs.clone()]))
            }
            Amendment::Reads { check, paths } => {
                let own = match contract.checks[*check].value(Row::Reads).as_deref() {
                    Some(Value::Outside(own)) => own.clone(),
                    _ => Vec::new(),
                };
                line("reads", quoted(&own).chain(quoted(paths)))
            }
            Amendment::MayChange { check, globs, .. } => {
                selected(contract, *check, MAY_CHANGE, globs)
            }
        }
    }
}

/// Returns the `inputs` of a check.
#[must_use]
fn selected(contract: &Contract, check: CheckIndex, row: Row, globs: &[String]) -> String {
    let own = contract.checks[check].selection(row).map(items);
    let all = own.into_iter().flatten().chain(quoted(globs));
    line(row.setting().word, all)
}

/// Returns the head of a condition that does not ask for a change.
#[must_use]
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
