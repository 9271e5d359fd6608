//! Writes a contract in its one canonical layout.
//!
//! Two blanks of indentation, no comments, no blank lines, strings in the shorter quoting, commands
//! in normal quoting, and the settings of a block in the order of `lang::statement`: everything
//! that may differ between two equivalent files. The digest of a contract is taken over this form.

use super::ast::{Arg, Ast, Node, Value};
use super::statement::{Context, Keyword};
use crate::base::canon::Digest;
use crate::base::command::{Command, Env, to_text};
use crate::base::word::quote_string;

/// Writes a tree. For one that was read without errors, reading the result gives the same tree, up
/// to spans, trivia and the order of settings; and writing it again gives the same text.
#[must_use]
pub fn format(ast: &Ast<'_>) -> String {
    let mut out = String::new();
    write_nodes(&ast.nodes, 0, &mut out);
    out
}

/// Computes the digest of a file's canonical form without `linked`: which folders a checkout has as
/// links does not change what is verified.
#[must_use]
pub fn digest(ast: &Ast<'_>) -> Digest {
    let mut text = String::new();
    let counts = |node: &&Node<'_>| node.statement.keyword != Keyword::Linked;
    for node in ast.nodes.iter().filter(counts) {
        write_nodes(std::slice::from_ref(node), 0, &mut text);
    }
    Digest::of(text.as_bytes())
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
pub fn is_sorted_block(context: Context) -> bool {
    matches!(
        context,
        Context::Check | Context::Defaults | Context::Limits | Context::Gate
    )
}

/// Returns the key for sorting. Repeated settings (`env`) are sorted by their text.
fn sort_key(node: &Node<'_>) -> (Keyword, String) {
    let mut text = String::new();
    write_nodes(std::slice::from_ref(node), 0, &mut text);
    (node.statement.keyword, text)
}

/// Writes statements. Recursion is bounded by the cap on nesting.
fn write_nodes(nodes: &[Node<'_>], depth: usize, out: &mut String) {
    for node in nodes {
        indent(depth, out);
        out.push_str(node.statement.word);
        for arg in &node.args {
            if !matches!(arg.value, Value::Mark("," | ":")) {
                out.push(' ');
            }
            write_arg(arg, out);
        }
        if let Some(body) = &node.body {
            out.push_str(" {\n");
            // Most blocks are in order already, and without repetitions.
            let in_order =
                |w: &[Node<'_>]| matches!(w, [a, b] if a.statement.keyword < b.statement.keyword);
            if is_sorted_block(body.context) && !body.nodes.windows(2).all(in_order) {
                let mut sorted: Vec<&Node<'_>> = body.nodes.iter().collect();
                sorted.sort_by_cached_key(|n| sort_key(n));
                sorted
                    .into_iter()
                    .for_each(|n| write_nodes(std::slice::from_ref(n), depth + 1, out));
            } else {
                write_nodes(&body.nodes, depth + 1, out);
            }
            indent(depth, out);
            out.push('}');
        }
        out.push('\n');
    }
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn write_arg(arg: &Arg<'_>, out: &mut String) {
    match &arg.value {
        Value::Word(word) => out.push_str(word),
        Value::Mark(mark) => out.push_str(mark),
        Value::Not(name) => {
            out.push('!');
            out.push_str(name);
        }
        Value::Str { text, .. } => out.push_str(&quote_string(text)),
        Value::Command(command) => match &**command {
            Command::Argv { .. } => out.push_str(&command.to_text()),
            Command::Unsupported { text, .. } => out.push_str(text.trim()),
        },
        Value::Shell(text) => out.push_str(text),
        Value::Assignment(pair) => {
            out.push_str(&to_text(&Env::from([(**pair).clone()]), &[]));
        }
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
