//! Shared parts of the readers of tasks: options of a command line, words as shell text, lines.

use super::super::candidate::Origin;
use super::super::tree::{DataFile, Syntax, Tree};
use super::Line;
use crate::base::command::quote;
use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::front::tree::Node;
use std::collections::BTreeMap;

/// The most lines of one task.
pub const MAX_LINES: usize = 200;
/// The longest text of a line, in bytes.
pub const MAX_TEXT: usize = 1 << 16;

/// Words of a command line, split as a tool reads them.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// Options with their values, in order: `("-C", Some("sub"))`.
    pub given: Vec<(&'a str, Option<&'a str>)>,
    /// The first word that is no option and all behind it.
    pub rest: &'a [String],
}

impl<'a> Options<'a> {
    /// Splits the options in front of the first other word. Those in `valued` take the next word as
    /// their value; `--` ends them.
    pub fn of(words: &'a [String], valued: &[&str]) -> Self {
        let mut found = Self {
            given: Vec::new(),
            rest: words,
        };
        while let Some((first, further)) = found.rest.split_first() {
            if first == "--" {
                found.rest = further;
                break;
            }
            if !first.starts_with('-') || first == "-" {
                break;
            }
            found.rest = further;
            if let Some((name, value)) = first.split_once('=') {
                found.given.push((name, Some(value)));
            } else if valued.contains(&first.as_str()) {
                found
                    .given
                    .push((first, further.first().map(String::as_str)));
                found.rest = further.get(1..).unwrap_or_default();
            } else {
                found.given.push((first, None));
            }
        }
        found
    }

    /// The value of the last of these options.
    pub fn value(&self, names: &[&str]) -> Option<&'a str> {
        let mut given = self.given.iter().rev();
        given
            .find(|(name, _)| names.contains(name))
            .and_then(|(_, value)| *value)
    }

    /// The values of all of these options, in order.
    pub fn values(&self, names: &[&str]) -> Vec<&'a str> {
        let given = self.given.iter();
        given
            .filter(|(name, _)| names.contains(name))
            .filter_map(|(_, value)| *value)
            .collect()
    }

    /// Whether one of these options is there.
    pub fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(name))
    }
}

/// Writes words as shell text, each behind a space.
pub fn appended(words: &[String]) -> String {
    words
        .iter()
        .map(|word| format!(" {}", quote(&Word::from(word.as_str()))))
        .collect()
}

/// Writes words as shell text.
pub fn joined(words: &[String]) -> String {
    appended(words).trim_start().to_owned()
}

/// Makes owned words.
pub fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// A line of a task without variables.
pub fn line(file: &RepoPath, number: u32, label: &str, text: String, dir: &RepoPath) -> Line {
    Line {
        origin: Origin {
            file: file.clone(),
            line: number,
            label: label.to_owned(),
        },
        text,
        dir: dir.clone(),
        env: BTreeMap::new(),
        ignored: false,
    }
}

/// The program of a command without its folder.
pub fn program(words: &[String]) -> &str {
    words
        .first()
        .map_or("", |word| crate::check::tool::base_name(word))
}

/// The nearest of these files in a directory or above it, as tools look for their own.
pub fn nearest(tree: &Tree, dir: &RepoPath, names: &[&str]) -> Option<(RepoPath, RepoPath)> {
    let mut at = dir.clone();
    loop {
        for name in names {
            let path = at.join(name.as_bytes()).ok()?;
            if tree.files.contains(&path) || tree.texts.contains_key(&path) {
                return Some((at, path));
            }
        }
        if at.is_root() {
            return None;
        }
        at = at.join(b"..").ok()?;
    }
}

/// Reads a file as data; `None` when it is not there, an error when it cannot be read.
pub fn document(tree: &Tree, file: &RepoPath, syntax: Syntax) -> Option<Result<DataFile, String>> {
    if !tree.files.contains(file) && !tree.texts.contains_key(file) {
        return None;
    }
    Some(
        tree.read(file, syntax)
            .map_err(|why| format!("`{file}` was not understood: {why}")),
    )
}

/// A text, or all texts of a list.
pub fn texts(node: &Node) -> Vec<&str> {
    match node.text() {
        Some(text) => vec![text],
        None => node.list().iter().filter_map(Node::text).collect(),
    }
}

/// Follows keys of mappings.
pub fn at<'a>(node: &'a Node, keys: &[&str]) -> Option<&'a Node> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

/// A scalar as text: `true`, `3`, `x`.
pub fn scalar(node: &Node) -> Option<String> {
    use crate::front::tree::Value;
    match &node.value {
        Value::Text(text) => Some(text.clone()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Whole(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The literal variables of a mapping of names to scalars.
pub fn variables(node: Option<&Node>) -> BTreeMap<String, String> {
    let entries = node.map_or(&[][..], Node::entries).iter();
    entries
        .filter_map(|(key, value)| Some((key.name.clone(), scalar(value)?)))
        .collect()
}

/// Whether a name matches a pattern in which `*` is anything, `/` and `:` included only for `**`.
pub fn matches(pattern: &str, name: &str, separator: char) -> bool {
    // Positions in the pattern that are reached: linear space, no backtracking.
    let pattern: Vec<char> = pattern.chars().collect();
    let closure = |set: &mut Vec<bool>| {
        for at in 0..pattern.len() {
            if set.get(at) == Some(&true)
                && pattern.get(at) == Some(&'*')
                && let Some(next) = set.get_mut(at + 1)
            {
                *next = true;
            }
        }
    };
    let mut set = vec![false; pattern.len() + 1];
    if let Some(first) = set.first_mut() {
        *first = true;
    }
    closure(&mut set);
    for c in name.chars() {
        let mut next = vec![false; pattern.len() + 1];
        for (at, wanted) in pattern.iter().enumerate() {
            if set.get(at) != Some(&true) {
                continue;
            }
            let double =
                pattern.get(at + 1) == Some(&'*') || at > 0 && pattern.get(at - 1) == Some(&'*');
            let to = match wanted {
                '*' if c != separator || double => at,
                '*' => continue,
                wanted if *wanted == c => at + 1,
                _ => continue,
            };
            if let Some(reached) = next.get_mut(to) {
                *reached = true;
            }
        }
        closure(&mut next);
        set = next;
    }
    set.last() == Some(&true)
}
