//! Reads the request of a shell's completion function from the environment. For `vplan
//! completions`.

use std::ffi::OsString;

/// The variable in which the completion function names its shell.
pub const VARIABLE: &str = "VPLAN_COMPLETE";

/// The question of a completion function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionQuestion {
    pub shell: String,
    /// The command line so far, `vplan` included.
    pub words: Vec<OsString>,
    /// The number of the word that is completed (bash, zsh).
    pub index: usize,
    /// The separator of answers (bash).
    pub separator: String,
}

/// Returns the request: the variable must be set, and the arguments must be `--` and a command
/// line. Users never call vplan that way, so an inherited variable alone has no effect.
pub fn question(arguments: &[OsString]) -> Option<CompletionQuestion> {
    let (dashes, words) = arguments.get(1..)?.split_first()?;
    if dashes != "--" || words.is_empty() {
        return None;
    }
    let value = |name: &str| std::env::var(name).ok();
    Some(CompletionQuestion {
        shell: value(VARIABLE)?,
        words: words.to_vec(),
        index: value("_CLAP_COMPLETE_INDEX")
            .and_then(|number| number.parse().ok())
            .unwrap_or_default(),
        separator: value("_CLAP_IFS").unwrap_or_else(|| "\n".to_owned()),
    })
}
