//! Renders a plan for people, for picture makers and for a shell. Pure: a plan in, a byte-stable
//! text out.
//!
//! Unaware of terminals: a text is made of marked pieces, and the caller's [`Style`] decides what a
//! mark looks like.

pub mod checks;
pub mod forecast;
pub mod graph;
pub mod shell;
pub mod story;
pub mod text;

use crate::Reason;
use std::collections::BTreeSet;
use vplan_base::word::{and_more, visible};
use vplan_contract::Contract;

/// The meaning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The heading of a page or section.
    Title,
    /// The id of a check.
    Id,
    /// The command of a step.
    Command,
    /// Something of less weight.
    Dim,
    /// Something that holds.
    Good,
    /// Something that does not hold.
    Bad,
    /// Something to look at twice.
    Warn,
}

/// The formatting of marked pieces.
pub trait Style {
    /// Returns a piece with its formatting; the text itself must stay unchanged.
    fn paint(&self, mark: Mark, text: &str) -> String;
}

/// No formatting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Style for Plain {
    fn paint(&self, _: Mark, text: &str) -> String {
        text.to_owned()
    }
}

/// The layout of a text.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The formatting of marks.
    pub style: &'a dyn Style,
    /// Columns for running text; commands are never broken.
    pub width: usize,
    /// Maximum number of files that a reason names.
    pub files: usize,
    /// Whether each omitted row of an `each` has its own line.
    pub rows: bool,
    /// What earlier runs say of the plan, if that is shown.
    pub outlook: Option<&'a forecast::Outlook>,
    /// The contract, to show what the blocks of imports change.
    pub contract: Option<&'a Contract>,
}

impl Options<'_> {
    /// Writes a text after a head of `columns` columns; further lines are indented.
    fn hang(
        &self,
        out: &mut String,
        (head, columns): (&str, usize),
        indent: usize,
        mark: Option<Mark>,
        text: &str,
    ) {
        let width = self.width.saturating_sub(columns).max(20);
        for (i, part) in wrap(text, width).into_iter().enumerate() {
            let part = mark.map_or(part.clone(), |mark| self.style.paint(mark, &part));
            let line = match i {
                0 => format!("{head}{part}"),
                _ => format!("{:indent$}{part}", ""),
            };
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            style: &Plain,
            width: 100,
            files: 3,
            rows: false,
            outlook: None,
            contract: None,
        }
    }
}

/// The verb that the caller of a command states.
fn stated_verb(reason: &Reason) -> String {
    let verb = |verb: &String| format!(" with the verb `{}`", visible(verb));
    reason.names.first().map(verb).unwrap_or_default()
}

/// Formats a reason as a sentence: `whenChangedAny "src/**" (line 4) selects src/a.rs`.
pub fn sentence(reason: &Reason, files: usize) -> String {
    let names = || reason.names.iter().map(visible).collect::<Vec<_>>();
    let line = |line| format!(" ({})", place(reason.file.as_deref(), line));
    let line = reason.line.map(line).unwrap_or_default();
    let keyword = visible(&reason.condition);
    // A glob, after the name of its selection.
    let globbed = |glob: &str| {
        let name = reason.paths.as_ref();
        let name = name.map_or(String::new(), |name| format!("{} with ", visible(name)));
        format!("{name}\"{}\"", visible(glob))
    };
    let selects = |what: String| match (reason.matched_count, matched(reason, files)) {
        (Some(_), Some(found)) => format!("{what}{line} selects {found}"),
        _ => format!("{what}{line} selects no changed file"),
    };
    match reason.condition.as_str() {
        "always" => "always".to_owned(),
        "use" => format!("through a use{line}"),
        "needed-by" => {
            let count = reason.matched_count.unwrap_or(0);
            let more = count.saturating_sub(reason.names.len() as u64);
            format!("needed by {}", cut_list(&names(), more))
        }
        "explicit" => format!("asked for as a command{}", stated_verb(reason)),
        "inferred" => "declared by the repository".to_owned(),
        "proposed" => format!("proposed{}", stated_verb(reason)),
        "risk" => {
            let glob = reason.glob.as_deref().unwrap_or_default();
            selects(format!("risk {} {}", names().join(" "), globbed(glob)))
        }
        "byRole" | "whenExists" | "whenExistsAny" | "whenAbsent" => {
            format!("{keyword} {}{line}", names().join(" "))
        }
        super::definition::DEFINITION_CHANGED => {
            let parts: BTreeSet<&str> = reason.names.iter().map(String::as_str).collect();
            format!(
                "the change touches what defines it: {} ({})",
                matched(reason, files).unwrap_or_default(),
                parts.into_iter().collect::<Vec<_>>().join("; ")
            )
        }
        condition if condition.starts_with("whenChanged") => selects(match &reason.glob {
            Some(glob) => format!("{keyword} {}", globbed(glob)),
            None => format!("{keyword} {}", names().join(" ")),
        }),
        _ => format!("{keyword} {}{line}", names().join(" "))
            .trim_end()
            .to_owned(),
    }
}

/// Formats a line of the contract, or of a file that it imports: `line 4`, `contracts/web.vplan:4`.
pub fn place(file: Option<&str>, line: usize) -> String {
    match file {
        Some(file) => format!("{}:{line}", visible(file)),
        None => format!("line {line}"),
    }
}

/// Formats the first files of a reason and how many more there are.
fn matched(reason: &Reason, files: usize) -> Option<String> {
    if reason.matched.is_empty() {
        return None;
    }
    let count = reason.matched_count.unwrap_or(reason.matched.len() as u64);
    let shown = reason.matched.iter().take(files.max(1));
    let shown: Vec<String> = shown.map(ToString::to_string).collect();
    let more = count.saturating_sub(shown.len() as u64);
    Some(cut_list(&shown, more))
}

/// Formats `a, b and 3 more`.
fn cut_list(shown: &[String], more: u64) -> String {
    shown.join(", ") + &and_more(more)
}

/// Breaks text at blanks so that no line is wider, unless a word is.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut columns = 0;
    for (i, word) in text.split(' ').enumerate() {
        let len = word.chars().count();
        if columns > 0 && columns + 1 + len > width {
            lines.push(std::mem::take(&mut line));
            columns = 0;
        } else if i > 0 {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += len;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_the_words() {
        let text = "one two three  four";
        for width in 1..30 {
            let lines = wrap(text, width);
            assert_eq!(lines.join(" "), text, "{width}");
            assert!(
                lines.iter().all(|l| l.trim_end().len() <= width.max(5)),
                "{lines:?}"
            );
        }
    }
}
