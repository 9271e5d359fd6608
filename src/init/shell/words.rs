//! Splits shell text into words and operators, and words into pieces. Any text is accepted.

use regex::Regex;
use std::sync::LazyLock;
use vplan_base::command::is_env_name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// `&&`, `||`, `;`, `|`, `&`, `(`, `)`, `;;`, and `\n`.
    Operator,
    /// `>`, `<`, `<<` and their like; the next word belongs to it.
    Redirection,
}

/// A word, an operator, or the end of a line, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) raw: &'t str,
    /// Its first byte in the text.
    pub(super) start: usize,
    /// Its line in the text, from 0.
    pub(super) line: u32,
}

impl Token<'_> {
    /// The byte after it.
    pub(super) fn end(&self) -> usize {
        self.start + self.raw.len()
    }
}

/// What a text may begin with but a word: blanks and comments, a process whose output is a file, a
/// redirection, an operator.
const TOKEN: &str = r"(?x)^(?: ( \\\n | [\x20\t] | \x23[^\n]* ) | ( [0-9]*[<>]\( )
    | ( [0-9]*(?: &>> | &> | <<< | <<- | << | <& | <> | >> | >& | >\| | < | > ) )
    | ( && | \|\| | ;;& | ;; | ;& | \|& | [&|;()\n] ) )";
/// What ends a word, and what begins a piece of one.
const SPECIAL: &str = " \t\n;&|()<>\\`$'\"";

/// Splits a text. Comments and here-documents are left out.
pub(super) fn split(text: &str) -> Vec<Token<'_>> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TOKEN).ok());
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut documents: Vec<(String, bool)> = Vec::new();
    let (mut at, mut line) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let start = at;
        let found = PATTERN.as_ref().and_then(|token| token.captures(rest));
        let group = |number| Some(found.as_ref()?.get(number)?.len());
        let (kind, length) = match (group(1), group(3), group(4)) {
            (Some(blank), ..) => {
                at += blank;
                continue;
            }
            (_, Some(redirection), _) => (Kind::Redirection, redirection),
            (.., Some(operator)) => (Kind::Operator, operator),
            _ => (Kind::Word, word(rest)),
        };
        at += length;
        let raw = text.get(start..at).unwrap_or_default();
        let before = tokens
            .last()
            .filter(|token| token.kind == Kind::Redirection);
        match before.map(|token| token.raw.trim_start_matches(|c: char| c.is_ascii_digit())) {
            Some(sign @ ("<<" | "<<-")) => {
                documents.push((raw.replace(['\'', '"', '\\'], ""), sign == "<<-"));
            }
            _ if raw == "\n" => {
                for (end, tabs) in documents.drain(..) {
                    at += document(text.get(at..).unwrap_or_default(), &end, tabs);
                }
            }
            _ => {}
        }
        let last = tokens.last().map_or(0, |token| token.start);
        let between = text.get(last..start).unwrap_or_default();
        line += u32::try_from(between.matches('\n').count()).unwrap_or_default();
        tokens.push(Token {
            kind,
            raw,
            start,
            line,
        });
    }
    tokens
}

/// The bytes of a here-document with its last line.
fn document(text: &str, end: &str, tabs: bool) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        let line = line.trim_end_matches('\n');
        if end == if tabs { line.trim_start() } else { line } {
            break;
        }
    }
    length
}

/// The bytes of the word with which a text begins.
fn word(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = text.get(length..).unwrap_or_default();
        let next = piece(rest, false);
        // Brackets belong to a word as the values of an array.
        let is_array = text.get(..length).is_some_and(|word| word.ends_with('='));
        if next.is_empty() || next.starts_with('(') && !is_array {
            return length.max(1);
        }
        length += next.len();
    }
}

/// The piece with which a word begins, or a text in double quotes: what is quoted, what a `$` or a
/// bracket begins, or plain text. Empty at the end of a word.
pub(super) fn piece(text: &str, quotes: bool) -> &str {
    let mut chars = text.chars();
    let first = chars.next();
    let rest = chars.as_str();
    let length = match first {
        Some('\\') => 1 + rest.chars().next().map_or(0, char::len_utf8),
        Some('`') => enclosed(text),
        Some('$') => 1 + dollar(rest, quotes),
        Some('\'' | '"' | '(') if !quotes => enclosed(text),
        Some('<' | '>') if !quotes && rest.starts_with('(') => 1 + enclosed(rest),
        _ => {
            let special = if quotes { "\\`$" } else { SPECIAL };
            text.find(|c| special.contains(c)).unwrap_or(text.len())
        }
    };
    text.get(..length).unwrap_or(text)
}

/// The bytes of what follows a `$`.
fn dollar(text: &str, quotes: bool) -> usize {
    if text.starts_with("{{") {
        return text.find("}}").map_or(text.len(), |end| end + 2);
    }
    match text.chars().next() {
        Some('(' | '{') => enclosed(text),
        Some('\'') if !quotes => enclosed(text),
        _ => name_of(text).len(),
    }
}

/// The bytes up to what closes the quote or bracket with which a text begins; all of them where
/// nothing does.
fn enclosed(text: &str) -> usize {
    let mut open: Vec<char> = Vec::new();
    let mut before = ' ';
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (open.last(), c) {
            (Some(closing), c) if *closing == c => {
                open.pop();
                if open.is_empty() {
                    return at + 1;
                }
            }
            (Some('\'' | '`'), _) => {}
            (_, '\\') => drop(chars.next()),
            (Some('"'), '(' | '{') if before != '$' => {}
            (Some('}'), '(') | (Some(')'), '{') => {}
            (_, '(') => open.push(')'),
            (_, '{') => open.push('}'),
            (Some('"'), _) => {}
            // An open quote in a bracket is one of a comment.
            (None, _) => open.push(c),
            (_, '\'' | '"' | '`') if text.get(at + 1..).is_some_and(|rest| rest.contains(c)) => {
                open.push(c);
            }
            _ => {}
        }
        before = c;
    }
    text.len()
}

/// The name of a variable at the beginning of a text: letters, or one special character.
pub(super) fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    if is_env_name(name) {
        return name;
    }
    let special = text.starts_with(|c: char| c.is_ascii_digit() || "@*#?$!-".contains(c));
    text.get(..usize::from(special)).unwrap_or_default()
}

/// A text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
