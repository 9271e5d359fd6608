//! Lays out a contract for people: the layout of `vplan fmt`, with comments and blank lines.
//!
//! Canonical are indentation, blanks between arguments, blank lines, the quoting of strings, the
//! order of settings. The author's are comments, single blank lines, where a statement goes on in
//! the next line, and the spelling of commands, which people copy into a shell: these stay.

use super::ast::{Arg, Ast, Body, Node, Trivia, Value, same_values};
use super::format::{is_pattern, is_sorted_block};
use super::parse::{ParserCaps, parse};
use super::statement::Keyword;
use std::borrow::Cow;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::hole::has_hole;
use vplan_base::source::Source;
use vplan_base::span::{SourceId, Span};
use vplan_base::word::{quote_pattern, quote_string, quote_with_holes};

/// The result of laying out a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Formatted {
    /// Its layout; perhaps the same text.
    Text(String),
    /// The text has errors of syntax, and is left as it is.
    Invalid(Diagnostics),
    /// Its layout would exceed a cap that the text does not: deeply nested blocks make short lines
    /// long. It is left as it is.
    TooLarge(Diagnostics),
}

/// A layout that is not equivalent to its text, which is a bug in this code.
#[derive(Clone, Debug, PartialEq)]
pub enum NotEquivalent {
    Syntax(Diagnostics),
    Meaning,
}

impl std::fmt::Display for NotEquivalent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Syntax(found) => found.iter().next().map_or("", |d| &d.message),
            Self::Meaning => "the text would say something else",
        })
    }
}

/// Lays a text out. The result was parsed again and is equivalent to the text.
///
/// # Errors
/// A result that is not equivalent.
pub fn reformat(
    source: &Source,
    id: SourceId,
    caps: &ParserCaps,
) -> Result<Formatted, NotEquivalent> {
    let (ast, diagnostics) = parse(source, id, caps);
    if diagnostics.has_errors() {
        return Ok(Formatted::Invalid(diagnostics));
    }
    let text = layout(source, &ast);
    if text == source.text() {
        return Ok(Formatted::Text(text));
    }
    let again = Source::new(source.name(), &text);
    let (read, diagnostics) = parse(&again, id, caps);
    if diagnostics.has_errors() {
        let wide = ParserCaps {
            file_bytes: usize::MAX,
            line_bytes: usize::MAX,
            ..*caps
        };
        let large = !parse(&again, id, &wide).1.has_errors();
        return if large {
            Ok(Formatted::TooLarge(diagnostics))
        } else {
            Err(NotEquivalent::Syntax(diagnostics))
        };
    }
    if !says_the_same(&ast.nodes, &read.nodes) {
        return Err(NotEquivalent::Meaning);
    }
    Ok(Formatted::Text(text))
}

/// Whether two trees differ in spans, trivia and quoting only, and the first in the order of
/// settings. Recursion is bounded by the cap on nesting.
fn says_the_same(old: &[Node<'_>], new: &[Node<'_>]) -> bool {
    let bodies = |old: &Body<'_>, new: &Body<'_>| {
        if !is_sorted_block(old.context) || in_order(&old.nodes) {
            return says_the_same(&old.nodes, &new.nodes);
        }
        let mut sorted: Vec<&Node<'_>> = old.nodes.iter().collect();
        sorted.sort_by_key(|node| node.statement.keyword);
        let one = |(old, new): (&&Node<'_>, &Node<'_>)| {
            says_the_same(std::slice::from_ref(*old), std::slice::from_ref(new))
        };
        sorted.len() == new.nodes.len() && sorted.iter().zip(&new.nodes).all(one)
    };
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| {
            old.statement.keyword == new.statement.keyword
                && old.args.len() == new.args.len()
                && old
                    .args
                    .iter()
                    .zip(&new.args)
                    .all(|(a, b)| same_values(&a.value, &b.value))
                && match (&old.body, &new.body) {
                    (None, None) => true,
                    (Some(old), Some(new)) => bodies(old, new),
                    _ => false,
                }
        })
}

fn in_order(nodes: &[Node<'_>]) -> bool {
    nodes
        .windows(2)
        .all(|w| matches!(w, [a, b] if a.statement.keyword <= b.statement.keyword))
}

/// Writes a tree that was read from this source without errors.
pub fn layout(source: &Source, ast: &Ast<'_>) -> String {
    let text = source.text();
    let mut writer = Writer {
        text,
        out: String::with_capacity(text.len() + text.len() / 8),
        fresh: true,
        blank: false,
    };
    ast.nodes
        .iter()
        .for_each(|node| writer.node(node, &node.before, 0));
    writer.trivia(&ast.end, 0);
    writer.out
}

/// Maximum width of the first line of an `each`, in columns; a longer one has a line for each row.
const COLUMNS: usize = 120;

struct Writer<'a> {
    text: &'a str,
    out: String,
    /// Whether this block is still empty.
    fresh: bool,
    /// Whether a blank line is due before the next element.
    blank: bool,
}

/// The separation of a piece of a statement from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    None,
    Blank,
    /// On the next line.
    Break,
}

impl<'a> Writer<'a> {
    fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Begins a line.
    fn line(&mut self, depth: usize) {
        if std::mem::take(&mut self.blank) && !self.fresh {
            self.out.push('\n');
        }
        self.fresh = false;
        self.indent(depth);
    }

    fn indent(&mut self, depth: usize) {
        (0..depth).for_each(|_| self.out.push_str("  "));
    }

    fn trivia(&mut self, all: &[Trivia], depth: usize) {
        for one in all {
            match one {
                Trivia::Blank => self.blank = true,
                Trivia::Comment(span) => {
                    self.line(depth);
                    self.comment(*span);
                    self.out.push('\n');
                }
            }
        }
    }

    fn comment(&mut self, span: Span) {
        self.out
            .push_str(self.slice(span).trim_end_matches([' ', '\t']));
    }

    /// Writes the comment at the end of a line, and the line's end.
    fn end(&mut self, comment: Option<Span>) {
        if let Some(span) = comment {
            self.out.push(' ');
            self.comment(span);
        }
        self.out.push('\n');
    }

    /// Writes a statement. Recursion is bounded by the cap on nesting.
    fn node(&mut self, node: &Node<'_>, before: &[Trivia], depth: usize) {
        self.trivia(before, depth);
        self.line(depth);
        let start = self.out.len();
        self.out.push_str(node.statement.word);
        let mut behind = node.keyword.end;
        for arg in &node.args {
            self.arg(node, arg, behind, depth);
            behind = arg.span.end;
        }
        let written = self.out.get(start..).unwrap_or_default();
        let is_wide = |line: &str| 2 * depth + line.chars().count() + " {".len() > COLUMNS;
        let has_rows = || {
            node.args
                .iter()
                .any(|arg| matches!(arg.value, Value::Item(_)))
        };
        if node.statement.keyword == Keyword::Each && has_rows() && written.lines().any(is_wide) {
            self.out.truncate(start + node.statement.word.len());
            self.rows(node, depth);
        }
        if let Some(body) = &node.body {
            self.out.push_str(" {");
            self.end(node.comment);
            self.body(body, depth + 1);
            self.indent(depth);
            self.out.push('}');
            self.end(body.comment);
        } else {
            self.end(node.comment);
        }
    }

    fn body(&mut self, body: &Body<'_>, depth: usize) {
        self.fresh = true;
        self.blank = false;
        match body.nodes.first() {
            Some(first) if is_sorted_block(body.context) && !in_order(&body.nodes) => {
                // A comment that a blank line separates from the first setting is about the block,
                // and stays on top of it.
                let own = first
                    .before
                    .iter()
                    .rposition(|t| *t == Trivia::Blank)
                    .map_or(0, |i| i + 1);
                let (head, own) = first.before.split_at_checked(own).unwrap_or_default();
                self.trivia(head, depth);
                let mut sorted: Vec<(&Node<'_>, &[Trivia])> = vec![(first, own)];
                sorted.extend(
                    body.nodes
                        .iter()
                        .skip(1)
                        .map(|node| (node, node.before.as_slice())),
                );
                // Repeated settings (`env`) keep the author's order.
                sorted.sort_by_key(|(node, _)| node.statement.keyword);
                sorted
                    .into_iter()
                    .for_each(|(node, before)| self.node(node, before, depth));
            }
            _ => body
                .nodes
                .iter()
                .for_each(|node| self.node(node, &node.before, depth)),
        }
        self.trivia(&body.end, depth);
        self.fresh = false;
        self.blank = false;
    }

    /// Writes an argument of a statement, given the end of the piece before it.
    fn arg(&mut self, node: &Node<'_>, arg: &Arg<'_>, behind: usize, depth: usize) {
        match &arg.value {
            Value::Command(_) | Value::Assignment(_) => self.words(behind, depth),
            Value::Shell(_) => self.shell(behind, depth),
            value => {
                let gap = match value {
                    Value::Mark("," | ":") => Gap::None,
                    _ if self.slice(Span::new(behind, arg.span.start)).contains('\n') => Gap::Break,
                    _ => Gap::Blank,
                };
                let written = self.slice(arg.span);
                let piece = match value {
                    // A string that goes on in the next line does so where its author wanted it to.
                    _ if written.contains('\n') => Cow::Borrowed(written),
                    Value::Str(string) if is_pattern(node) => quote_pattern(&string.text),
                    Value::Str(string) if string.holes => {
                        Cow::Owned(quote_with_holes(&string.text))
                    }
                    // In `'…'` nothing is filled.
                    Value::Str(string) if !has_hole(&string.text) => quote_string(&string.text),
                    _ => Cow::Borrowed(written),
                };
                self.piece(gap, &piece, depth);
            }
        }
    }

    /// Writes the names and values of an `each`, a row a line.
    fn rows(&mut self, node: &Node<'_>, depth: usize) {
        let names = node
            .args
            .iter()
            .take_while(|arg| !matches!(arg.value, Value::Mark(_)));
        let names = names.count().max(1);
        let mut values = 0;
        for arg in &node.args {
            let gap = match &arg.value {
                Value::Mark(",") => Gap::None,
                Value::Item(_) => {
                    values += 1;
                    if values % names == 1 % names {
                        Gap::Break
                    } else {
                        Gap::Blank
                    }
                }
                _ => Gap::Blank,
            };
            self.piece(gap, self.slice(arg.span), depth);
        }
    }

    fn piece(&mut self, gap: Gap, piece: &str, depth: usize) {
        match gap {
            Gap::None => {}
            Gap::Blank => self.out.push(' '),
            Gap::Break => {
                self.out.push_str(" \\\n");
                // Twice, so that it does not look like a line of the block that the statement
                // opens.
                self.indent(depth + 2);
            }
        }
        self.out.push_str(piece);
    }

    /// Writes the words of a command as they are spelt.
    fn words(&mut self, from: usize, depth: usize) {
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            let (start, broken) = skip_blanks(bytes, at);
            if matches!(bytes.get(start), None | Some(b'\n' | b'#')) {
                return;
            }
            at = word_end(bytes, start);
            self.piece(
                if broken { Gap::Break } else { Gap::Blank },
                self.slice(Span::new(start, at)),
                depth,
            );
        }
    }

    /// Writes the text for a shell, in which only the blanks of a joined line mean nothing.
    fn shell(&mut self, from: usize, depth: usize) {
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            let (start, broken) = skip_blanks(bytes, at);
            let mut end = start;
            at = start;
            loop {
                match (bytes.get(at), bytes.get(at + 1)) {
                    (None | Some(b'\n'), _) | (Some(b'\\'), Some(b'\n')) => break,
                    // A blank after a backslash must stay.
                    (Some(b'\\'), _) => {
                        at += 2;
                        end = at;
                    }
                    (Some(b' ' | b'\t'), _) => at += 1,
                    _ => {
                        at += 1;
                        end = at;
                    }
                }
            }
            if end > start {
                let gap = if broken { Gap::Break } else { Gap::Blank };
                self.piece(gap, self.slice(Span::new(start, end)), depth);
            }
            if bytes.get(at) != Some(&b'\\') {
                return;
            }
        }
    }
}

/// Returns the offset after blanks and backslashes that join lines, and whether there was such a
/// backslash.
fn skip_blanks(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut broken = false;
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b' ' | b'\t'), _) => at += 1,
            (Some(b'\\'), Some(b'\n')) => {
                broken = true;
                at += 2;
            }
            _ => return (at, broken),
        }
    }
}

/// Returns the offset after the word of a command that begins here. The text was read without
/// errors, so every quote is closed.
fn word_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = match (bytes.get(at), bytes.get(at + 1)) {
            (None | Some(b' ' | b'\t' | b'\n'), _) | (Some(b'\\'), Some(b'\n')) => return at,
            (Some(b'\\'), Some(_)) => at + 2,
            (Some(b'\''), _) => quote_end(bytes, at + 1, b'\'', false),
            (Some(b'"'), _) => quote_end(bytes, at + 1, b'"', true),
            (Some(b'$'), Some(b'\'')) => quote_end(bytes, at + 2, b'\'', true),
            _ => at + 1,
        };
    }
}

fn quote_end(bytes: &[u8], mut at: usize, quote: u8, escapes: bool) -> usize {
    while let Some(b) = bytes.get(at) {
        at += if *b == b'\\' && escapes { 2 } else { 1 };
        if *b == quote {
            break;
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fmt(text: &str) -> String {
        let source = Source::new("a.vplan", text);
        match reformat(&source, SourceId(0), &ParserCaps::default()) {
            Ok(Formatted::Text(text)) => text,
            other => panic!("{other:?}\n{text}"),
        }
    }

    #[track_caller]
    fn becomes(text: &str, want: &str) {
        assert_eq!(fmt(text), want, "{text:?}");
        assert_eq!(fmt(want), want, "twice");
    }

    #[test]
    fn blank_lines() {
        becomes(
            "\u{feff}\r\n\n  vplan  1\r\n\n\n\ncheck a {\n\n\n   run x   \n\n\n\t timeout 5m\n\n}\n\n\n",
            "vplan 1\n\ncheck a {\n  run x\n\n  timeout 5m\n}\n",
        );
        becomes("vplan 1", "vplan 1\n");
        becomes("vplan 1\nlimits {\n\n\n}\n", "vplan 1\nlimits {\n}\n");
    }

    #[test]
    fn comments_stay() {
        becomes(
            "#!/usr/bin/env vplan\n#  license  \n\nvplan 1#x\n# only this\n"
                .replace("1#x", "1\t#x")
                .as_str(),
            "#!/usr/bin/env vplan\n#  license\n\nvplan 1 #x\n# only this\n",
        );
        becomes(
            "vplan 1\ncheck a {   # one\n# two\n\n      # three\n  run x    #four\n\n\n# five\n\n} # six\n\n# seven\n\n",
            "vplan 1\ncheck a { # one\n  # two\n\n  # three\n  run x #four\n\n  # five\n} # six\n\n# seven\n",
        );
    }

    #[test]
    fn settings_move_with_their_comments() {
        becomes(
            "vplan 1\ncheck a {\n# of a\n\n# of retries\nretries 2 # r\n\n# of env B\nenv B=1\nenv A=1\n# of run\nrun x # x\n# last\n}\n",
            "vplan 1\ncheck a {\n  # of a\n\n  # of run\n  run x # x\n\n  # of env B\n  env B=1\n  env A=1\n  \
             # of retries\n  retries 2 # r\n  # last\n}\n",
        );
        becomes(
            "vplan 1\ncheck a {\n\n# detached\n\ntimeout 5m\n\n# also\n\nrun x\n}\n",
            "vplan 1\ncheck a {\n  # detached\n\n  # also\n\n  run x\n  timeout 5m\n}\n",
        );
        // The lines of a `file` block are tried in order.
        becomes(
            "vplan 1\ncheck a {\n  file 'x' {\n  not-empty\n  exists\n  }\n}\n",
            "vplan 1\ncheck a {\n  file \"x\" {\n    not-empty\n    exists\n  }\n}\n",
        );
    }

    #[test]
    fn statements() {
        for (text, want) in [
            ("contract 'it'", "contract \"it\""),
            ("contract \"a\\\\b\\\"\"", "contract 'a\\b\"'"),
            ("paths  a=\"x\"   !b  '!y'", "paths a = \"x\" !b \"!y\""),
            ("sequence a,b->c ->  *", "sequence a, b -> c -> *"),
            (
                "sequence a ,b \\\n , c -> \\\n d",
                "sequence a, b, c -> \\\n    d",
            ),
            ("risk r tier 1 \"a\"", "risk r tier 1 \"a\""),
            (
                "check   a:   x  'a b'\ta\\ b \"c  $\" # c",
                "check a: x 'a b' a\\ b \"c  $\" # c",
            ),
            ("check a: x b\\ ' '\\  # c", "check a: x b\\ ' '\\  # c"),
            (
                "check a: \\\n  x $'a \\' b' \\\n\\\n y \\\n\n",
                "check a: \\\n    x $'a \\' b' \\\n    y",
            ),
            ("check a: A=1  B='2  3'  x", "check a: A=1 B='2  3' x"),
            ("check a: x \"a \\\n  b\"  c", "check a: x \"a \\\n  b\" c"),
            ("contract \"a \\\n  b\"", "contract \"a \\\n  b\""),
            ("run x \\\n# c", "run x # c"),
        ] {
            becomes(&format!("vplan 1\n{text}\n"), &format!("vplan 1\n{want}\n"));
        }
        becomes(
            "vplan 1\nwhenChangedAny \"a\" \\\n   \"b\" \\\n {\n  run  x \\\n --y\n}\n",
            "vplan 1\nwhenChangedAny \"a\" \\\n    \"b\" {\n  run x \\\n      --y\n}\n",
        );
    }

    #[test]
    fn text_for_a_shell() {
        for (text, want) in [
            ("a  |  b # no comment ", "a  |  b # no comment"),
            ("a \\\n  | b   \\\n\\\n c", "a \\\n      | b \\\n      c"),
            ("\\\n a", "\\\n      a"),
            ("a\\ \\\n b", "a\\  \\\n      b"),
            ("a \\\\\n", "a \\\\"),
            ("echo 'x \\\n y", "echo 'x \\\n      y"),
        ] {
            becomes(
                &format!("vplan 1\ncheck a {{\n shell {text}\n}}\n"),
                &format!("vplan 1\ncheck a {{\n  shell {want}\n}}\n"),
            );
        }
    }

    #[test]
    fn what_cannot_be_written() {
        let read = |text: &str, caps: &ParserCaps| {
            reformat(&Source::new("a", text), SourceId(0), caps).unwrap()
        };
        assert!(
            matches!(read("vplan 1\ncheck {\n", &ParserCaps::default()), Formatted::Invalid(d) if d.has_errors())
        );
        let text = "vplan 1\nrun xxxxxxxxx\t;y\n".replace(";y", "y");
        let tight = ParserCaps {
            line_bytes: 16,
            ..ParserCaps::default()
        };
        assert!(matches!(read(&text, &tight), Formatted::Text(_)));
        let nested = "vplan 1\nbyRole worker {\nrun xxxxxxxxxxxx\n}\n";
        assert!(matches!(read(nested, &tight), Formatted::TooLarge(d) if d.has_errors()));
    }
}
