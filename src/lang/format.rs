//! Writes a contract in its one canonical layout.
//!
//! Two blanks of indentation, no comments, no blank lines, strings in the shorter quoting, commands
//! in normal quoting, and the settings of a block in the order of `lang::statement`: everything
//! that may differ between two equivalent files. The digest of a contract is taken over this form.

use super::ast::{Arg, Ast, Holed, HoledWord, Node, Value};
use super::statement::{Keyword, Slot, StatementContext, StatementItem};
use vplan_base::canon::Digest;
use vplan_base::command::{Command, Piece, quote};
use vplan_base::word::{Word, quote_literal, quote_pattern, quote_string, quote_with_holes};

/// Writes a tree. For one that was read without errors, reading the result gives the same tree, up
/// to spans, trivia and the order of settings; and writing it again gives the same text.
pub fn format(ast: &Ast<'_>) -> String {
    let mut out = String::new();
    write_nodes(&ast.nodes, 0, false, &mut out);
    out
}

/// Computes the digest of a file's canonical form without `linked`: which folders a checkout has as
/// links does not change what is verified.
pub fn digest(ast: &Ast<'_>) -> Digest {
    let mut text = String::new();
    let counts = |node: &&Node<'_>| node.statement.keyword != Keyword::Linked;
    for node in ast.nodes.iter().filter(counts) {
        write_nodes(std::slice::from_ref(node), 0, false, &mut text);
    }
    Digest::hash(text.as_bytes())
}

/// Puts the settings of every block into the canonical order.
pub fn sort(ast: &mut Ast<'_>) {
    sort_nodes(&mut ast.nodes);
}

fn sort_nodes(nodes: &mut [Node<'_>]) {
    for node in nodes {
        if let Some(body) = &mut node.body {
            sort_nodes(&mut body.nodes);
            if is_sorted_block(body.context) {
                body.nodes.sort_by_cached_key(sort_key);
            }
        }
    }
}

/// Whether the lines of a block mean the same in any order. The lines of a `file` block are tried
/// in order, and the statements of a group are checks.
pub fn is_sorted_block(context: StatementContext) -> bool {
    matches!(
        context,
        StatementContext::Check
            | StatementContext::Override
            | StatementContext::Service
            | StatementContext::Defaults
            | StatementContext::Limits
            | StatementContext::Gate
            | StatementContext::Machine
    )
}

/// Returns the key for sorting. Repeated settings (`env`) are sorted by their text.
fn sort_key(node: &Node<'_>) -> (Keyword, String) {
    let mut text = String::new();
    write_nodes(std::slice::from_ref(node), 0, false, &mut text);
    (node.statement.keyword, text)
}

/// Writes statements. Recursion is bounded by the cap on nesting.
fn write_nodes(nodes: &[Node<'_>], depth: usize, in_each: bool, out: &mut String) {
    for node in nodes {
        indent(depth, out);
        out.push_str(node.statement.word);
        for arg in &node.args {
            if !matches!(arg.value, Value::Mark("," | ":")) {
                out.push(' ');
            }
            match &arg.value {
                Value::Str(string) if is_pattern(node) => {
                    out.push_str(&quote_pattern(&string.text));
                }
                _ => write_arg(arg, in_each || takes_globs(node), out),
            }
        }
        if let Some(body) = &node.body {
            let in_each = in_each || node.statement.keyword == Keyword::Each;
            out.push_str(" {\n");
            // Most blocks are in order already, and without repetitions.
            let in_order =
                |w: &[Node<'_>]| matches!(w, [a, b] if a.statement.keyword < b.statement.keyword);
            if is_sorted_block(body.context) && !body.nodes.windows(2).all(in_order) {
                let mut sorted: Vec<&Node<'_>> = body.nodes.iter().collect();
                sorted.sort_by_cached_key(|n| sort_key(n));
                sorted
                    .into_iter()
                    .for_each(|n| write_nodes(std::slice::from_ref(n), depth + 1, in_each, out));
            } else {
                write_nodes(&body.nodes, depth + 1, in_each, out);
            }
            indent(depth, out);
            out.push('}');
        }
        out.push('\n');
    }
}

/// Whether the strings of a statement are globs, where text like a placeholder always is one.
fn takes_globs(node: &Node<'_>) -> bool {
    node.statement.slots.iter().any(|slot| {
        matches!(
            slot,
            Slot::One(StatementItem::Sel | StatementItem::Glob)
                | Slot::Many(StatementItem::Sel | StatementItem::Glob)
        )
    })
}

/// Whether the string of a statement is the pattern of a line.
pub(super) fn is_pattern(node: &Node<'_>) -> bool {
    node.statement.contexts == [StatementContext::Format]
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

/// Writes an argument. `literal`: a placeholder in `"…"` would be filled.
fn write_arg(arg: &Arg<'_>, literal: bool, out: &mut String) {
    match &arg.value {
        Value::Word(word) => out.push_str(word),
        Value::Mark(mark) => out.push_str(mark),
        Value::Not(name) => {
            out.push('!');
            out.push_str(name);
        }
        Value::Str(string) if string.holes => out.push_str(&quote_with_holes(&string.text)),
        Value::Str(string) if literal => out.push_str(&quote_literal(&string.text)),
        Value::Str(string) => out.push_str(&quote_string(&string.text)),
        Value::Command(command) => out.push_str(&command.to_text()),
        Value::Shell(text) => out.push_str(text),
        Value::Assignment(pair) => out.push_str(&pair.to_text()),
        Value::Item(value) => {
            let quoted = quote(&Word::from(value.as_str()));
            // A `,` would end the row.
            out.push_str(&if quoted.contains(',') && quoted == *value {
                format!("'{value}'")
            } else {
                quoted
            });
        }
    }
}

impl Holed<Command> {
    /// Writes a command: without placeholders in normal form, an unsupported one as written.
    pub fn to_text(&self) -> String {
        let Command::Argv { env, pieces } = &self.value else {
            return self.value.to_text().trim().to_owned();
        };
        if self.holes.is_empty() {
            return self.value.to_text();
        }
        let variables = env.iter().map(|(name, value)| {
            format!(
                "{name}={}",
                self.word(&HoledWord::Variable(name.clone()), value, false)
            )
        });
        let pieces = pieces.iter().enumerate().map(|(n, piece)| match piece {
            Piece::Word(word) => self.word(&HoledWord::Piece(n), word, n == 0),
            Piece::Changed => "{changed}".to_owned(),
        });
        variables.chain(pieces).collect::<Vec<_>>().join(" ")
    }
}

impl Holed<(String, Word)> {
    /// Writes an assignment.
    pub fn to_text(&self) -> String {
        let (name, value) = &self.value;
        format!(
            "{name}={}",
            self.word(&HoledWord::Variable(name.clone()), value, false)
        )
    }
}

impl<T> Holed<T> {
    /// Writes a word; the parts between placeholders are quoted separately. `quoted`: a `=` in it
    /// must not read as an assignment.
    fn word(&self, of: &HoledWord, word: &Word, quoted: bool) -> String {
        let bytes = word.as_bytes();
        let (mut text, mut behind) = (String::new(), 0);
        let add = |text: &mut String, from: usize, to: usize| {
            let part = Word::new(bytes.get(from..to).unwrap_or_default());
            match part.as_str() {
                Some("") => {}
                Some(part) if quoted && part.contains('=') && !part.contains('\'') => {
                    text.push_str(&format!("'{part}'"));
                }
                _ => text.push_str(&quote(&part)),
            }
        };
        for hole in self.holes.iter().filter(|hole| hole.word == *of) {
            add(&mut text, behind, hole.range.start);
            let hole_text = bytes.get(hole.range.clone()).unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(hole_text));
            behind = hole.range.end;
        }
        let is_plain = !quoted || bytes.is_empty();
        if behind == 0 && is_plain && matches!(of, HoledWord::Piece(_)) {
            return quote(word);
        }
        add(&mut text, behind, bytes.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        for (text, want) in [
            ("a", "\"a\""),
            ("", "\"\""),
            ("a\"b", "'a\"b'"),
            ("a\\b", "'a\\b'"),
            ("it's", "\"it's\""),
            ("it's \"x\"", "\"it's \\\"x\\\"\""),
            ("a\tb\n", "\"a\\tb\\n\""),
            ("a\u{202e}b", "\"a\\u{202e}b\""),
        ] {
            assert_eq!(quote_string(text), want, "{text:?}");
        }
    }
}
