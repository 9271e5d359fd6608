//! What a GitHub action means for a first contract.

use crate::listed::listed;
use vplan_check::tool::table::action;

/// Words in the names of actions that verify nothing.
const PREPARES: &str =
    "cache checkout comment deploy download install label notify publish release setup upload";

/// The shell text that an action with these inputs runs, if it does not prepare or publish. The error is
/// why it is not read.
pub(crate) fn command(
    uses: &str,
    input: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, &'static str> {
    let Some(action) = action(uses) else {
        let mut words = uses.split(|c: char| !c.is_alphanumeric());
        return match words.any(|word| listed(PREPARES, &word.to_lowercase())) {
            true => Ok(None),
            false => Err("an action that is not known"),
        };
    };
    match action.filled(input) {
        None if !action.reason.is_empty() => Err(action.reason),
        command => Ok(command),
    }
}
