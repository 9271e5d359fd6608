//! Words: lists of names that are written as one text, and words of shell text.

use vplan_check::tool::table::fits;

pub(crate) use vplan_check::tool::table::is_listed;

/// Whether a name is in a list of words, in which `*` matches any text.
pub(crate) fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|pattern| fits(pattern, name))
}

/// The words of a text.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A word as shell text.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The words of a command that a shell must read.
pub(crate) fn of_shell(text: &str) -> Vec<String> {
    // Plain shells have no `<(…)`.
    let shell = if text.contains("<(") { "bash" } else { "sh" };
    [shell, "-c", text].map(str::to_owned).to_vec()
}
