//! What does a command's text mean? The one grammar of command text (language.md section 3).

use crate::base::command::Command;

/// Reads a command that does not come from a contract file: a request's, a converted one's. Never fails: a text outside
/// the grammar is `Command::Unsupported`.
#[must_use]
pub fn parse_command(text: &str) -> Command {
    Command::Unsupported {
        text: text.to_owned(),
        unsupported: crate::base::command::Unsupported {
            chain: Vec::new(),
            offset: 0,
            reason: crate::base::command::UnsupportedReason::Empty,
            text: String::new(),
        },
    }
}
