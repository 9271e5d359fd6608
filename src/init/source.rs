//! From shell text to commands of a source.

use super::found::{Place, SourceCommand};
use vplan_base::path::RepoPath;

impl SourceCommand {
    /// A command without a source.
    pub(crate) fn plain(words: &[String], dir: &RepoPath) -> Self {
        Self {
            words: words.to_vec(),
            text: words.join(" "),
            dir: dir.clone(),
            place: Place::of(&RepoPath::root(), 1),
            ..Self::default()
        }
    }
}

/// A word as shell text.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The words of a text.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
