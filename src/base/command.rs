//! A parsed command, and the text in normal form that it is written as.
//!
//! Independent of the grammar: `lang/command` reads text, this file only holds the result and
//! quotes it. So crates without access to text (`plan`, `recover`) can still show commands.

use super::word::{Word, is_unsafe_to_show};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Environment assignments of a command, by name.
pub type Env = BTreeMap<String, Word>;

/// The command that says which toolchain is there.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct ToolchainCommand {
    /// Its words.
    pub argv: Vec<Word>,
    /// Environment variables that are added.
    pub env: Env,
}

/// One word of a command in a contract or a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// A literal argument.
    Word(Word),
    /// `{changed}`: the changed files, one argument each.
    Changed,
}

/// A parsed command: the program and its arguments, or the reason why it needs a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// An environment and an argument vector with at least one word.
    Argv {
        /// The assignments before the program.
        env: Env,
        /// The words; the first is the program.
        pieces: Vec<Piece>,
    },
    /// A text outside the grammar. Recovery decides how to handle it.
    Unsupported {
        /// The whole text, as it was written.
        text: String,
        /// The error, and its help.
        unsupported: Unsupported,
    },
}

impl Command {
    /// Whether `{changed}` is among the words.
    pub fn has_changed(&self) -> bool {
        matches!(self, Command::Argv { pieces, .. } if pieces.contains(&Piece::Changed))
    }

    /// Returns the command's text in normal form; an unsupported one as it was written.
    pub fn to_text(&self) -> String {
        match self {
            Command::Argv { env, pieces } => {
                let words = pieces.iter().map(|p| match p {
                    Piece::Word(word) => quote(word),
                    Piece::Changed => "{changed}".to_owned(),
                });
                join_text(env, words)
            }
            Command::Unsupported { text, .. } => text.clone(),
        }
    }
}

/// The reason why a text is no command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unsupported {
    /// The parts of a conjunction `a && b && …`, when the text is nothing else; a `cd` or an
    /// `export` alone is one part. Empty for every other text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
    /// Whether the text changes the shell that reads it (`source .env`, `set -e`), so that what
    /// comes after it would run in another way without it.
    #[serde(
        default,
        rename = "changesShell",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub changes_shell: bool,
    /// The offset of the fault in the text, in bytes.
    pub offset: usize,
    /// The kind of fault.
    pub reason: UnsupportedReason,
    /// The text at fault.
    pub text: String,
}

/// The kinds of fault.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum UnsupportedReason {
    /// A shell operator, or a newline outside quotes.
    Operator,
    /// `$NAME`, `${…}`, `$(…)` or a backquote.
    Expansion,
    /// A shell builtin that is no program.
    Builtin,
    /// A quote that is not closed, or a backslash at the end.
    Quote,
    /// An unquoted `#` at a word's start.
    Comment,
    /// No word at all.
    Empty,
    /// A first word that can be no program: it ends in `:` or begins with `-`.
    Program,
}

/// One part of a conjunction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum Link {
    /// `cd DIR`: the parts behind it run in another directory.
    ChangeDirectory {
        /// The directory as it was written, relative to the one before.
        cd: Word,
    },
    /// `export NAME=VALUE…`: the parts behind it have these variables.
    Export {
        /// The variables.
        export: Env,
    },
    /// A part that is a command of its own.
    Run {
        /// Its words.
        argv: Vec<Word>,
        /// Its assignments.
        env: Env,
    },
    /// A part that the grammar does not support either (a pipe, an expansion).
    Other {
        /// The part's text.
        text: String,
        /// The error.
        unsupported: Box<Unsupported>,
    },
}

impl Unsupported {
    /// Whether the text consists of `cd` and `export` only.
    pub fn is_carried(&self) -> bool {
        !self.chain.is_empty() && self.chain.iter().all(Link::is_carried)
    }
}

impl Link {
    /// Whether it starts nothing, and only changes the directory or the variables of the parts
    /// after it.
    pub fn is_carried(&self) -> bool {
        matches!(self, Link::ChangeDirectory { .. } | Link::Export { .. })
    }
}

/// Whether a name may precede the `=` of an assignment: `[A-Za-z_][A-Za-z0-9_]*`.
pub fn is_env_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Writes a command so that the command grammar reads back the same environment and words.
pub fn to_text(env: &Env, argv: &[Word]) -> String {
    join_text(env, argv.iter().map(quote))
}

fn join_text(env: &Env, words: impl Iterator<Item = String>) -> String {
    let part = |(name, value): (&String, &Word)| match value.as_bytes() {
        [] => format!("{name}="),
        _ => format!("{name}={}", quote_value(value)),
    };
    let mut parts: Vec<String> = env.iter().map(part).collect();
    // Quotes a program whose name reads as an assignment, or is the mark that other languages put
    // in front of a value.
    let mut words = words.peekable();
    if let Some(first) = words.next() {
        let name = first.split_once('=').map(|(name, _)| name);
        let is_assignment = name.is_some_and(is_env_name) || matches!(first.as_str(), "=" | ":=");
        parts.push(match is_assignment {
            true => format!("'{first}'"),
            false => first,
        });
    }
    parts.extend(words);
    parts.join(" ")
}

/// Quotes one word. Words of harmless characters stay bare. Control characters, invisible ones and
/// invalid UTF-8 are written as `$'\xHH'`, so that the text is inert wherever it is shown.
pub fn quote(word: &Word) -> String {
    if word.as_bytes().is_empty() {
        return "''".to_owned();
    }
    quote_value(word)
}

fn quote_value(word: &Word) -> String {
    let Some(text) = word.as_str() else {
        return quote_bytes(word.as_bytes());
    };
    if text.chars().any(is_unsafe_to_show) {
        return quote_bytes(word.as_bytes());
    }
    let harmless = |c: char| c.is_alphanumeric() || "@%+=:,./_-".contains(c);
    // Alone, these two are the program `test` and its last argument, in every shell too.
    // In a contract, a bare `//` would be the comment of another language.
    if (text.chars().all(harmless) && text != "//") || matches!(text, "[" | "]") {
        return text.to_owned();
    }
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::from("$'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unsafe_to_show(c) || matches!(c, '\'' | '\\') {
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).bytes();
                out.extend(bytes.map(|b| format!("\\x{b:02x}")));
            } else {
                out.push(c);
            }
        }
        out.extend(chunk.invalid().iter().map(|b| format!("\\x{b:02x}")));
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        for (word, text) in [
            ("a", "a"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "\"it's\""),
            ("it's $5", "\"it's \\$5\""),
            ("{changed}", "'{changed}'"),
            ("#", "'#'"),
            ("a\nb", "$'a\\x0ab'"),
            ("größe", "größe"),
            ("[", "["),
            ("]", "]"),
            ("//", "'//'"),
            ("//a", "//a"),
            ("[a]", "'[a]'"),
        ] {
            assert_eq!(quote(&Word::from(word)), text, "{word}");
        }
        assert_eq!(quote(&Word::new(b"\xff".to_vec())), "$'\\xff'");
        let env = Env::from([
            ("A".to_owned(), Word::from("")),
            ("B".to_owned(), Word::from("x y")),
        ]);
        assert_eq!(
            to_text(&env, &[Word::from("FOO=1"), Word::from("c=d")]),
            "A= B='x y' 'FOO=1' c=d"
        );
    }
}
