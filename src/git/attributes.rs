//! Evaluates the tracked `.gitattributes` for a file, by git's documentation of `gitattributes`.

use super::pattern::Pattern;
use std::collections::BTreeMap;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Set,
    Unset,
    /// As if no line set it.
    Unspecified,
    Is(Vec<u8>),
}

type Values = Vec<(Vec<u8>, Value)>;

/// The lines of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    lines: Vec<(Pattern, Values)>,
    macros: BTreeMap<Vec<u8>, Values>,
}

/// Git ignores longer lines as well.
const LONGEST: usize = 2048;

impl Rules {
    /// Reads a file. Only the root's may define macros.
    pub(super) fn read(text: &[u8], is_root: bool) -> Self {
        let mut rules = Self::default();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for line in text
            .split(|b| *b == b'\n')
            .filter(|line| line.len() < LONGEST)
        {
            let line = line.trim_ascii();
            if line.starts_with(b"#") {
                continue;
            }
            let Some((name, rest)) = first_word(line) else {
                continue;
            };
            let Some(values) = values(rest) else { continue };
            match name.strip_prefix(b"[attr]").filter(|name| !name.is_empty()) {
                Some(defined) if is_root => drop(rules.macros.insert(defined.to_vec(), values)),
                Some(_) => {}
                None => rules.lines.extend(
                    Pattern::parse(&name)
                        .filter(|p| !p.negated)
                        .map(|p| (p, values)),
                ),
            }
        }
        rules
    }
}

/// Splits off the pattern, which may be quoted as in C, and returns the rest.
fn first_word(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let Some(quoted) = line.strip_prefix(b"\"") else {
        let end = line.iter().position(u8::is_ascii_whitespace);
        let (name, rest) = line.split_at_checked(end.unwrap_or(line.len()))?;
        return (!name.is_empty()).then(|| (name.to_vec(), rest));
    };
    unquoted(quoted)
}

/// Undoes git's quoting (`quote.c`): C's escapes and octal bytes. `quoted` begins after the opening
/// quote; what follows the closing one is returned too.
pub fn unquoted(quoted: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut name = Vec::new();
    let mut bytes = quoted.iter().copied().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some((name, quoted.get(at + 1..)?)),
            b'\\' => name.push(match bytes.next()?.1 {
                b'a' => 7,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                high @ b'0'..=b'3' => {
                    let (middle, low) = (bytes.next()?.1, bytes.next()?.1);
                    let digit = |b: u8| (b'0'..=b'7').contains(&b).then(|| b - b'0');
                    (high - b'0') << 6 | digit(middle)? << 3 | digit(low)?
                }
                other @ (b'"' | b'\\') => other,
                _ => return None,
            }),
            _ => name.push(byte),
        }
    }
    None
}

/// Parses the attributes of a line; `None` if a name is invalid for git, which then ignores the
/// line.
fn values(text: &[u8]) -> Option<Values> {
    let words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            let (name, value) = match word {
                [b'-', name @ ..] => (name, Value::Unset),
                [b'!', name @ ..] => (name, Value::Unspecified),
                _ => match word.iter().position(|b| *b == b'=') {
                    Some(at) => (word.get(..at)?, Value::Is(word.get(at + 1..)?.to_vec())),
                    None => (word, Value::Set),
                },
            };
            let is_named = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
            (!name.is_empty() && !name.starts_with(b"-") && name.iter().all(is_named))
                .then(|| (name.to_vec(), value))
        })
        .collect()
}

/// The attributes of one path.
#[derive(Debug, Default)]
pub(super) struct Attributes(BTreeMap<Vec<u8>, Value>);

impl Attributes {
    /// Evaluates the attributes of a path: `files` are the rules of its directories, each with the
    /// part of the path below that directory, the root first.
    pub(super) fn evaluate(files: &[(&Rules, &[u8])]) -> Self {
        let binary = ["diff", "merge", "text"]
            .map(|name| (name.as_bytes().to_vec(), Value::Unset))
            .to_vec();
        let mut macros = BTreeMap::from([(b"binary".to_vec(), binary)]);
        for (rules, _) in files {
            macros.extend(
                rules
                    .macros
                    .iter()
                    .map(|(name, values)| (name.clone(), values.clone())),
            );
        }
        let mut found = Self::default();
        for (rules, below) in files.iter().rev() {
            for (_, values) in rules
                .lines
                .iter()
                .rev()
                .filter(|(pattern, _)| pattern.matches(below, false))
            {
                found.fill(values, &macros);
            }
        }
        found
    }

    /// Adds values that are not set yet: the last line counts, and is filled in first.
    fn fill(&mut self, values: &Values, macros: &BTreeMap<Vec<u8>, Values>) {
        for (name, value) in values.iter().rev() {
            if self.0.contains_key(name) {
                continue;
            }
            self.0.insert(name.clone(), value.clone());
            if let (Value::Set, Some(values)) = (value, macros.get(name)) {
                self.fill(values, macros);
            }
        }
    }

    /// Returns an attribute, unless it is unspecified.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .get(name.as_bytes())
            .filter(|value| **value != Value::Unspecified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_last_counts() {
        let root = Rules::read(
            b"*.txt text\n*.bin binary\n[attr]mine text=auto ident\n*.m mine\nd/*.txt -text\n\"q\\142\" eol=lf # \n!x text\n",
            true,
        );
        let deep = Rules::read(
            b"a.txt !text\nb.txt eol=crlf\n[attr]mine -ident\n*.m -ident\n",
            false,
        );
        let of = |path: &str, name: &str| {
            let below = path.strip_prefix("d/").unwrap_or("none");
            let files = [(&root, path.as_bytes()), (&deep, below.as_bytes())];
            let files = if path.starts_with("d/") {
                &files[..]
            } else {
                &files[..1]
            };
            Attributes::evaluate(files).get(name).cloned()
        };
        let is = |text: &str| Some(Value::Is(text.as_bytes().to_vec()));
        for (path, name, want) in [
            ("a.txt", "text", Some(Value::Set)),
            ("d/a.txt", "text", None),
            ("d/b.txt", "text", Some(Value::Unset)),
            ("d/b.txt", "eol", is("crlf")),
            ("x.bin", "text", Some(Value::Unset)),
            ("x.m", "text", is("auto")),
            ("x.m", "ident", Some(Value::Set)),
            ("d/x.m", "ident", Some(Value::Unset)),
            ("d/x.m", "text", is("auto")),
            ("qb", "eol", None),
            ("x", "text", None),
        ] {
            assert_eq!(of(path, name), want, "{path} {name}");
        }
    }
}
