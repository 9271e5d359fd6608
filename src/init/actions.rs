//! What a GitHub action means for a first contract.

use crate::listed::listed;
use vplan_check::tool::table::action;

/// Words in the names of actions that verify nothing.
const PREPARES: &str =
    "cache checkout comment deploy download install label notify publish release setup upload";

/// The meaning of an action.
pub(crate) enum Meaning {
    /// It runs this shell text.
    Command(String),
    /// It prepares or publishes.
    Nothing,
    NotRead(String),
}

/// The meaning of an action with these inputs.
pub(crate) fn meaning(uses: &str, input: impl Fn(&str) -> Option<String>) -> Meaning {
    let Some(action) = action(uses) else {
        let mut words = uses.split(|c: char| !c.is_alphanumeric());
        if words.any(|word| listed(PREPARES, &word.to_lowercase())) {
            return Meaning::Nothing;
        }
        return Meaning::NotRead("an action that is not known".to_owned());
    };
    match action.filled(input) {
        Some(command) => Meaning::Command(command),
        None if action.reason.is_empty() => Meaning::Nothing,
        None => Meaning::NotRead(action.reason.to_owned()),
    }
}
