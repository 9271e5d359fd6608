//! The words of shell text with their variables put in.

use super::words::{name_of, one_line, piece};
use crate::words::{is_listed, quoted};
use std::collections::BTreeMap;
use vplan_base::command::is_env_name;
use vplan_base::path::RepoPath;
use vplan_check::tool::table::columns;

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellValue {
    Known(String),
    /// Unset: it is empty.
    Unset,
    Unknown,
}

impl ShellValue {
    /// A text, if it is known.
    pub fn keep_known(text: String, is_known: bool) -> Self {
        Some(text)
            .filter(|_| is_known)
            .map_or(Self::Unknown, Self::Known)
    }
}

/// Where shell text begins: the folder and the variables.
#[derive(Clone, Debug, Default)]
pub struct ShellScope {
    pub dir: RepoPath,
    /// The variables that are set. Others are unset, but for those of every shell and CI system.
    pub variables: BTreeMap<String, ShellValue>,
}

/// Programs that only list files: a shell expands them.
const LISTS: &[&str] = &["git ls-files", "git grep -l", "find", "ls", "go list", "fd"];

/// A word with its variables put in.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) fields: Vec<String>,
    /// As a shell must read it.
    pub(super) spelled: String,
    pub(super) needs_shell: bool,
    pub(super) unknown: Option<String>,
}

/// A part of a word with its value.
struct Part<'w> {
    raw: &'w str,
    value: ShellValue,
    is_text: bool,
    /// Whether a shell leaves it as it is.
    is_quoted: bool,
}

impl ShellScope {
    /// A folder without variables.
    pub(crate) fn new(dir: &RepoPath) -> Self {
        Self {
            dir: dir.clone(),
            ..Self::default()
        }
    }

    pub(super) fn fill(&self, word: &str) -> Filled {
        let parts = self.parts(word, false);
        let mut out = Filled::default();
        // An unset variable is not an argument; inside a word it is unclear.
        let is_nothing = |part: &Part<'_>| match &part.value {
            ShellValue::Known(text) => part.is_text && text.is_empty(),
            value => *value == ShellValue::Unset,
        };
        if parts.iter().all(is_nothing) && parts.iter().any(|part| part.value == ShellValue::Unset)
        {
            return out;
        }
        if word.starts_with('~') {
            out.unknown = Some(piece(word, false).to_owned());
        }
        let literal = parts.iter().all(|part| part.is_text);
        // The last field, once it has begun, even if it is empty.
        let mut field: Option<String> = None;
        for part in parts {
            let raw = part.raw;
            let ShellValue::Known(value) = part.value else {
                let field = field.get_or_insert_default();
                // The output of a process as a file, which only a shell makes.
                let is_process = raw.starts_with("<(") && !raw.contains('$');
                if is_process || output(raw).is_some_and(lists) {
                    out.needs_shell = true;
                    out.spelled.push_str(raw);
                } else {
                    field.push_str(raw);
                    out.unknown.get_or_insert_with(|| raw.to_owned());
                }
                continue;
            };
            if part.is_quoted && !value.is_empty() {
                out.spelled.push_str(&quoted(&value));
            } else {
                out.spelled.push_str(&value);
            }
            if part.is_text || part.is_quoted && !value.is_empty() {
                field.get_or_insert_default().push_str(&value);
            }
            if part.is_quoted {
                continue;
            }
            out.needs_shell |= value.contains(['*', '?']);
            let words = value.split_whitespace().filter(|_| !part.is_text);
            for (at, part) in words.enumerate() {
                if at > 0 {
                    out.fields.extend(field.take());
                }
                field.get_or_insert_default().push_str(part);
            }
        }
        let field = field.filter(|field| literal || !field.is_empty());
        out.fields.extend(field);
        out
    }

    /// The name and value of `NAME=VALUE`.
    pub(super) fn assignment<'w>(&self, word: &'w str) -> Option<(&'w str, ShellValue)> {
        let (name, value) = word.split_once('=')?;
        let (name, value) = match name.strip_suffix('+') {
            Some(name) => (name, ShellValue::Unknown),
            None => (name, self.joined(value)),
        };
        is_env_name(name).then_some((name, value))
    }

    /// The text of a word that is one value; unset variables are empty.
    pub(super) fn joined(&self, word: &str) -> ShellValue {
        let mut all = String::new();
        for part in self.parts(word, false) {
            match part.value {
                ShellValue::Known(text) => all.push_str(&text),
                ShellValue::Unset => {}
                ShellValue::Unknown => return ShellValue::Unknown,
            }
        }
        ShellValue::Known(all)
    }

    /// The parts of a word, or of a text in double quotes.
    fn parts<'w>(&self, word: &'w str, quotes: bool) -> Vec<Part<'w>> {
        let mut parts = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let raw = piece(rest, quotes);
            // What ends a word is part of none.
            let raw = if raw.is_empty() { rest } else { raw };
            rest = rest.get(raw.len()..).unwrap_or_default();
            let within = |mark: char| raw.strip_prefix(mark)?.strip_suffix(mark);
            let is_mark = |c: &char| !quotes || "\\$`".contains(*c);
            let first = raw.chars().next().filter(is_mark);
            let text = match first {
                Some('\\') => match raw.get(1..).unwrap_or_default() {
                    "\n" => Some(""),
                    escaped if quotes && !"\"\\$`".contains(escaped) => Some(raw),
                    escaped => Some(escaped),
                },
                Some(mark @ ('\'' | '"')) => within(mark),
                Some('$') if raw == "$" => Some(raw),
                Some('$' | '`' | '(' | '<' | '>') => None,
                _ => Some(raw),
            };
            let is_text = text.is_some();
            let is_quoted = quotes || is_text && first.is_some_and(|c| "\\'\"$".contains(c));
            let (text, inner) = match first {
                Some('"') => (text.map(|_| ""), text),
                _ => (text, None),
            };
            let value = match text {
                Some(text) => ShellValue::Known(text.to_owned()),
                None => self.value(raw),
            };
            parts.push(Part {
                raw,
                value,
                is_text,
                is_quoted,
            });
            parts.extend(self.parts(inner.unwrap_or_default(), true));
        }
        parts
    }

    /// The value of what a `$` or a backquote begins.
    fn value(&self, raw: &str) -> ShellValue {
        if let Some(inner) = output(raw).map(one_line) {
            let mut outputs = columns("output");
            return match outputs.find(|[program, _]| *program == inner) {
                Some([_, "/"]) => ShellValue::Known(self.up()),
                Some([_, output]) => ShellValue::Known(output.to_owned()),
                None => self
                    .echoed(&inner)
                    .map_or(ShellValue::Unknown, ShellValue::Known),
            };
        }
        let inner = raw.strip_prefix('$').unwrap_or_default();
        let braces = || inner.strip_prefix('{')?.strip_suffix('}');
        let inner = braces().unwrap_or(inner);
        let name = name_of(inner);
        let operator = inner.get(name.len()..).unwrap_or_default();
        match self.variables.get(name) {
            Some(ShellValue::Known(text)) if !operator.is_empty() => {
                replaced(text, operator).map_or(ShellValue::Unknown, ShellValue::Known)
            }
            // What other operators make of it is not read.
            _ if name.is_empty() || name != inner => ShellValue::Unknown,
            Some(value) => value.clone(),
            None if is_listed("root-variables", name) => ShellValue::Known(self.up()),
            None if name == "PWD" => ShellValue::Known(".".to_owned()),
            None if is_listed("machine-variables", name) => ShellValue::Unknown,
            None => ShellValue::Unset,
        }
    }

    /// What `echo TEXT | tr -d CHARACTERS` prints.
    fn echoed(&self, inner: &str) -> Option<String> {
        let known = |word: &str| match self.joined(word.trim()) {
            ShellValue::Known(text) => Some(text),
            _ => None,
        };
        let mut parts = inner.split('|').map(str::trim);
        let text = known(parts.next()?.strip_prefix("echo ")?)?;
        parts.try_fold(text, |text, part| {
            let out = known(part.strip_prefix("tr -d ")?)?;
            (!out.contains(['-', '['])).then(|| text.replace(|c| out.contains(c), ""))
        })
    }

    /// The root of the repository, from the current folder.
    fn up(&self) -> String {
        if self.dir.is_root() {
            return ".".to_owned();
        }
        let steps: Vec<&str> = self.dir.segments().map(|_| "..").collect();
        steps.join("/")
    }
}

/// A value with all that is (`//OLD/NEW`), or the first (`/OLD/NEW`), replaced, if the old text is plain.
fn replaced(value: &str, operator: &str) -> Option<String> {
    let rest = operator.strip_prefix('/')?;
    let (most, rest) = match rest.strip_prefix('/') {
        Some(rest) => (usize::MAX, rest),
        None => (1, rest),
    };
    let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
    let is_plain = !old.is_empty() && !rest.contains(|c: char| "*?[$`'\"\\#%".contains(c));
    is_plain.then(|| value.replacen(old, new, most))
}

/// The text of `$(…)` or backquotes.
fn output(raw: &str) -> Option<&str> {
    let inner = raw.strip_prefix("$(");
    let inner = inner.map(|inner| inner.strip_suffix(')').unwrap_or(inner));
    inner.or_else(|| raw.strip_prefix('`')?.strip_suffix('`'))
}

/// Whether a command lists files, and nothing in it is a variable.
pub(super) fn lists(inner: &str) -> bool {
    let inner = inner.trim_start();
    let mut rests = LISTS.iter().filter_map(|name| inner.strip_prefix(name));
    !inner.contains('$') && rests.any(|rest| rest.starts_with(' '))
}
