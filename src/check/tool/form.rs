//! The words of a command to propose: without the tool's own selectors of changed work, and in the
//! form that only checks.

use super::table::{Swap, ToolRow, fits};

/// The words to propose of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// These; at most selectors are removed.
    AsWritten(Vec<String>),
    /// These, which check what the command would write.
    Checking(Vec<String>),
    /// Nothing, with the reason.
    None(&'static str),
}

impl Default for Form {
    fn default() -> Self {
        Self::None("")
    }
}

impl Form {
    /// The words to propose.
    pub fn words(&self) -> Option<&[String]> {
        match self {
            Self::AsWritten(words) | Self::Checking(words) => Some(words),
            Self::None(_) => None,
        }
    }
}

/// The form of a row's command: launchers up to `at`, then the call, which has `end` words; with
/// `steered` that where its configuration makes it write.
pub(super) fn form(row: &ToolRow, words: &[String], at: usize, end: usize, steered: bool) -> Form {
    let (launchers, own) = words.split_at_checked(at).unwrap_or((words, &[]));
    let (call, rest) = own.split_at_checked(end).unwrap_or((own, &[]));
    let call = unselected(&row.selectors, call);
    let end = call.len();
    let rest = unselected(&row.selectors, rest);
    let own: Vec<String> = call.into_iter().chain(rest).collect();
    let with = |own: Vec<String>| launchers.iter().cloned().chain(own).collect();
    let checks = |word: &String| row.writes.adds.contains(&word.as_str());
    if !writes(row, &own) && (!steered || own.iter().any(checks)) {
        return Form::AsWritten(with(own));
    }
    if let Some(reason) = row.writes.uncheckable {
        return Form::None(reason);
    }
    Form::Checking(with(checking(row, &own, end)))
}

/// Whether a command writes.
fn writes(row: &ToolRow, own: &[String]) -> bool {
    let has = |options: &[&str]| {
        own.iter().skip(1).any(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            options.contains(&word.as_str())
                || options.contains(&name) && !matches!(value, "false" | "no" | "none" | "never")
        })
    };
    let table = &row.writes;
    let excepted = has(&table.unless);
    let always = table.always || table.when.is_empty() && !table.unless.is_empty();
    !excepted && (always || has(&table.when))
}

/// The words without those that write, and with those that check.
fn checking(row: &ToolRow, own: &[String], end: usize) -> Vec<String> {
    let table = &row.writes;
    let (call, rest) = own.split_at_checked(end).unwrap_or((own, &[]));
    let keeps = |word: &&String| {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        !table.when.contains(&name) && !table.when.contains(&word.as_str())
    };
    let mut out: Vec<String> = Vec::new();
    let mut whole = true;
    if table.becomes.is_empty() {
        out.extend(call.iter().filter(keeps).cloned());
    }
    for word in &table.becomes {
        match *word {
            "=" => out.extend(call.first().cloned()),
            "!" => whole = false,
            word => out.push(word.to_owned()),
        }
    }
    let new = |word: &&&str| !own.iter().any(|own| own == **word);
    out.extend(table.adds.iter().filter(new).map(|word| (*word).to_owned()));
    if whole {
        out.extend(rest.iter().filter(keeps).cloned());
    }
    out
}

/// The words without selectors.
fn unselected(selectors: &[Swap], own: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(word) = own.get(at) {
        let next = own.get(at + 1).filter(|next| !next.starts_with('-'));
        let found = selectors.iter().find_map(|swap| {
            let takes = selected(swap, word, next)?;
            Some((swap, takes))
        });
        match found {
            Some((swap, takes)) => {
                out.extend(swap.by.split_whitespace().map(str::to_owned));
                at += takes;
            }
            None => {
                out.push(word.clone());
                at += 1;
            }
        }
    }
    out
}

/// How many words a selector is.
fn selected(swap: &Swap, word: &str, next: Option<&String>) -> Option<usize> {
    let fits_value = |value: &str| swap.value == "?" || fits(swap.value, value);
    match word.split_once('=') {
        Some((name, value)) if name == swap.name && word.starts_with('-') => {
            (swap.value.is_empty() || fits_value(value)).then_some(1)
        }
        _ if word != swap.name => None,
        _ if swap.value.is_empty() => Some(1),
        _ => match next {
            Some(value) if fits_value(value) => Some(2),
            _ => (swap.value == "?").then_some(1),
        },
    }
}
