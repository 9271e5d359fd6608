//! Words of other tools, and what to write for each: `foreign.table`, which the parser asks before it
//! looks for a misspelt word of the language.

use super::statement::StatementContext;
use std::sync::LazyLock;
use vplan_base::table;
use vplan_base::word::has_word;

/// The answer to a word of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The same value after a word of the language.
    Word(&'static str),
    /// A number of such units, as the `timeout` of a check.
    Timeout(&'static str),
    /// A line of its own in place of the word and its value; where the value is `false`, nothing.
    Line(&'static str),
    /// A block around the check, which holds further checks: a sentence with its head.
    Around(&'static str),
    /// A sentence with the line to write.
    Write(&'static str),
    /// Likewise, for words around several checks.
    Commands(&'static str),
    /// A reason why the language has no such thing.
    No(&'static str),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// The words, in lower case and without `-` and `_`, in which tools differ.
    pub words: &'static str,
    pub advice: Advice,
}

impl Foreign {
    /// Whether the answer is about checks and what is around them, so that it holds in this
    /// context.
    fn is_about(self, context: StatementContext) -> bool {
        match context {
            StatementContext::Top
            | StatementContext::Group
            | StatementContext::Check
            | StatementContext::Override
            | StatementContext::Service
            | StatementContext::Defaults => true,
            StatementContext::Limits => {
                matches!(self.advice, Advice::Word("jobs" | "budget" | "max-checks"))
            }
            _ => false,
        }
    }
}

/// Returns a word in lower case and without the marks in which tools differ.
fn plain(word: &str) -> Option<String> {
    if word.len() > 40 || !word.is_ascii() {
        return None;
    }
    let kept = word.chars().filter(|c| !matches!(c, '-' | '_' | '.'));
    Some(kept.map(|c| c.to_ascii_lowercase()).collect())
}

/// Finds the row of a word, in whatever case and with or without hyphens and underscores.
pub fn find(word: &str, context: StatementContext) -> Option<Foreign> {
    let plain = plain(word)?;
    if matches!(
        context,
        StatementContext::Change | StatementContext::Override
    ) && has_word(TAKEN_OUT.words, &plain)
    {
        return Some(TAKEN_OUT);
    }
    let mut rows = TABLE.rows.iter().copied();
    rows.find(|row| row.is_about(context) && has_word(row.words, &plain))
}

/// Names the tool that has a word; of several the first.
pub fn tool(word: &str) -> &'static str {
    let plain = plain(word).unwrap_or_default();
    let mut tools = TABLE.tools.iter();
    tools
        .find(|(_, words)| has_word(words, &plain))
        .map_or("other tools", |(tool, _)| *tool)
}

/// What takes a check, or a setting, out of what an import brings.
const TAKEN_OUT: Foreign = Foreign {
    words: "except exclude unset remove drop disable omit delete",
    advice: Advice::Word("without"),
};

/// `foreign.table`.
struct Table {
    /// The vocabularies of tools: names and words.
    tools: Vec<(&'static str, &'static str)>,
    rows: Vec<Foreign>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        tools: Vec::new(),
        rows: Vec::new(),
    };
    for row in table::rows(include_str!("foreign.table")) {
        let [kind, words, text] = row;
        let advice = match kind {
            "tool" => {
                table.tools.push((text, words));
                continue;
            }
            "word" => Advice::Word(text),
            "timeout" => Advice::Timeout(text),
            "line" => Advice::Line(text),
            "around" => Advice::Around(text),
            "commands" => Advice::Commands(text),
            "no" => Advice::No(text),
            _ => Advice::Write(text),
        };
        table.rows.push(Foreign { words, advice });
    }
    table
});

#[cfg(test)]
mod tests {
    use super::Advice::{Around, Commands, Line, No, Word, Write};
    use super::*;
    use crate::statement::STATEMENTS;
    use std::collections::BTreeSet;

    #[test]
    fn a_word_has_one_row_and_its_answer_is_in_the_language() {
        assert_eq!((TABLE.tools.len(), TABLE.rows.len()), (9, 71));
        let mut seen = BTreeSet::new();
        for row in &TABLE.rows {
            for word in row.words.split(' ') {
                assert!(seen.insert(word), "`{word}` stands twice");
                assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
                assert!(find(word, StatementContext::Check).is_some(), "{word}");
            }
            if let Word(word) = row.advice {
                assert!(STATEMENTS.iter().any(|s| s.word == word), "{word}");
            }
            if let Around(text) | Write(text) | Commands(text) | No(text) | Line(text) = row.advice
            {
                assert!(
                    text.matches('`').count().is_multiple_of(2) && !text.ends_with('.'),
                    "{text}"
                );
            }
        }
        assert!(find("Working_Directory", StatementContext::Check).is_some());
        assert!(find("retry", StatementContext::Gate).is_none());
        assert_eq!(
            (tool("depends-on"), tool("chdir")),
            ("Turborepo", "other tools")
        );
        for (name, words) in &TABLE.tools {
            for word in words.split(' ') {
                let known = find(word, StatementContext::Check).is_some();
                assert!(
                    known || STATEMENTS.iter().any(|s| s.word == word),
                    "{name}: {word}"
                );
            }
        }
    }
}
