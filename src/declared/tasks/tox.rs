//! Environments of tox: `tox.ini`, `tox.toml`, `[tool.tox]`.

use super::super::tree::{Syntax, Tree};
use super::kit::{self, Options, joined, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
use crate::front::tree::{Node, Value};
use std::collections::BTreeMap;

/// Options that take a value.
const VALUED: &[&str] = &[
    "-e",
    "-c",
    "--conf",
    "-f",
    "-m",
    "-p",
    "--workdir",
    "--root",
    "-x",
    "--override",
];
/// The most environments of a list.
const MAX_ENVIRONMENTS: usize = 100;

/// What is declared: its file, the list of environments with its line, and the commands of one.
pub struct Tox {
    file: RepoPath,
    /// The default environments.
    pub list: Vec<String>,
    /// The line of the list.
    pub line: u32,
    sections: BTreeMap<String, BTreeMap<String, (u32, String)>>,
    toml: Option<(super::super::tree::DataFile, bool)>,
}

/// Reads the root's declarations.
pub fn read(tree: &Tree, dir: &RepoPath) -> Option<Tox> {
    for (name, key) in [
        ("tox.ini", ""),
        ("tox.toml", ""),
        ("pyproject.toml", "tool"),
    ] {
        let Some((file, text)) = tree.text(dir, name) else {
            continue;
        };
        if name == "tox.ini" {
            return Some(ini(file, text, 0));
        }
        let Ok(doc) = tree.read(&file, Syntax::Toml) else {
            continue;
        };
        let nested = key == "tool";
        let root = if nested {
            kit::at(&doc.root, &["tool", "tox"])
        } else {
            Some(&doc.root)
        };
        let Some(root) = root else { continue };
        if let Some(legacy) = root.get("legacy_tox_ini") {
            return Some(ini(file, legacy.text()?, doc.text_line(legacy)));
        }
        let list = root.get("env_list");
        let names: Vec<String> = list
            .map_or(Vec::new(), kit::texts)
            .into_iter()
            .map(str::to_owned)
            .collect();
        let number = list.map_or(1, |n| doc.line(n));
        return Some(Tox {
            file,
            list: names,
            line: number,
            sections: BTreeMap::new(),
            toml: Some((doc, nested)),
        });
    }
    None
}

/// Reads an INI text whose first line is behind `offset`.
fn ini(file: RepoPath, text: &str, offset: u32) -> Tox {
    let mut sections: BTreeMap<String, BTreeMap<String, (u32, String)>> = BTreeMap::new();
    let (mut section, mut key) = (String::new(), String::new());
    for (raw, number) in text.lines().zip(offset.saturating_add(1)..) {
        let content = raw.trim();
        if content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = raw.strip_prefix('[').and_then(|r| r.split_once(']')) {
            section = name.0.trim().to_owned();
            sections.entry(section.clone()).or_default();
            key.clear();
        } else if raw.starts_with([' ', '\t']) || content.is_empty() {
            let known = sections.get_mut(&section).and_then(|s| s.get_mut(&key));
            if let Some((line, value)) = known.filter(|_| !content.is_empty()) {
                if value.is_empty() {
                    *line = number;
                } else {
                    value.push('\n');
                }
                value.push_str(content);
            }
        } else if let Some((name, value)) = content.split_once(['=', ':']) {
            key = name.trim().to_owned();
            let entry = (number, value.trim().to_owned());
            sections
                .entry(section.clone())
                .or_default()
                .insert(key.clone(), entry);
        }
    }
    let list = sections
        .get("tox")
        .and_then(|s| s.get("envlist").or(s.get("env_list")));
    let (line, text) = list.cloned().unwrap_or((1, String::new()));
    Tox {
        file,
        list: expanded(&text),
        line,
        sections,
        toml: None,
    }
}

/// Expands `py{311,312}-{a,b}, lint`.
fn expanded(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    let mut out: Vec<String> = Vec::new();
    let mut open: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).rev().collect();
    let mut steps = 0;
    while let Some(next) = open.pop() {
        steps += 1;
        if out.len() >= MAX_ENVIRONMENTS || steps > MAX_ENVIRONMENTS * 20 {
            break;
        }
        let braces = next
            .split_once('{')
            .and_then(|(a, rest)| Some((a, rest.split_once('}')?)));
        match braces {
            None => out.push(next),
            Some((before, (inner, after))) => {
                let values = inner.split(',').map(str::trim).flat_map(range);
                let values: Vec<String> = values.take(MAX_ENVIRONMENTS).collect();
                for value in values.into_iter().rev() {
                    open.push(format!("{before}{value}{after}"));
                }
            }
        }
    }
    out
}

/// The numbers of a range such as `9-14`; any other text as it is.
fn range(text: &str) -> Vec<String> {
    let number = |text: &str| -> Option<usize> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let ends = text
        .split_once('-')
        .and_then(|(from, to)| Some((number(from)?, number(to)?)));
    match ends {
        Some((from, to)) if from <= to => (from..=to)
            .take(MAX_ENVIRONMENTS)
            .map(|n| n.to_string())
            .collect(),
        Some((from, to)) => (to..=from)
            .rev()
            .take(MAX_ENVIRONMENTS)
            .map(|n| n.to_string())
            .collect(),
        None => vec![text.to_owned()],
    }
}

impl Tox {
    /// The lines of an environment.
    fn environment(
        &self,
        name: &str,
        args: &[String],
        dir: &RepoPath,
    ) -> Result<Vec<Line>, String> {
        if let Some((doc, nested)) = &self.toml {
            let root = if *nested {
                kit::at(&doc.root, &["tool", "tox"])
            } else {
                Some(&doc.root)
            };
            let own = root.and_then(|r| kit::at(r, &["env", name]));
            let base = root.and_then(|r| r.get("env_run_base"));
            let commands = own
                .and_then(|o| o.get("commands"))
                .or_else(|| base?.get("commands"));
            let Some(commands) = commands else {
                return Err(format!("`{}` has no commands for `{name}`", self.file));
            };
            let mut lines = Vec::new();
            for command in commands.list() {
                let words = toml_words(command, args);
                let number = doc.line(command);
                lines.push(self.line(number, name, &words.join(" "), dir));
            }
            return Ok(lines);
        }
        let found = self
            .value(&format!("testenv:{name}"), "commands")
            .or_else(|| self.value("testenv", "commands"));
        let Some((number, text)) = found else {
            return Err(format!("`{}` has no commands for `{name}`", self.file));
        };
        let in_dir = self
            .value(&format!("testenv:{name}"), "changedir")
            .or_else(|| self.value("testenv", "changedir"))
            .map(|(_, text)| self.filled(text, name, args, 0));
        let dir = match in_dir.as_deref().map(str::trim) {
            Some(to) if !to.is_empty() => dir
                .join(to.as_bytes())
                .map_err(|_| format!("`{to}` is outside of the repository"))?,
            _ => dir.clone(),
        };
        let mut lines: Vec<Line> = Vec::new();
        let (mut goes_on, mut skipping) = (false, false);
        for (raw, number) in text.lines().zip(*number..) {
            if std::mem::take(&mut skipping) {
                skipping = raw.ends_with('\\');
                continue;
            }
            let conditional = raw.split_once(": ").filter(|(factors, _)| {
                let plain = |c: char| c.is_alphanumeric() || "-_.,!{} ".contains(c);
                !goes_on
                    && !factors.is_empty()
                    && factors.chars().all(plain)
                    && !factors.contains("  ")
                    && !factors.trim().contains(' ')
            });
            let text = match conditional {
                Some((factors, text)) if self.holds(factors, name) => text,
                Some(_) => {
                    skipping = raw.ends_with('\\');
                    continue;
                }
                None => raw,
            };
            let whole = text.strip_suffix('\\').unwrap_or(text).trim();
            let filled = self.filled(whole, name, args, 0);
            for filled in filled.lines().filter(|l| !l.trim().is_empty()) {
                match lines.last_mut() {
                    Some(last) if goes_on => {
                        last.text.push(' ');
                        last.text.push_str(filled.trim());
                    }
                    _ => lines.push(self.line(number, name, filled.trim(), &dir)),
                }
            }
            goes_on = text.ends_with('\\');
        }
        Ok(lines)
    }

    fn line(&self, number: u32, name: &str, text: &str, dir: &RepoPath) -> Line {
        let plain = text.trim_start_matches(['-', '!', ' ']);
        let mut one = line(&self.file, number, name, plain.to_owned(), dir);
        let marks = text.get(..text.len() - plain.len()).unwrap_or_default();
        one.ignored = marks.contains('-');
        one
    }

    fn value(&self, section: &str, key: &str) -> Option<&(u32, String)> {
        self.sections.get(section)?.get(key)
    }

    /// Whether factors (`py312,lint-!win`) hold for an environment.
    fn holds(&self, factors: &str, name: &str) -> bool {
        let parts: Vec<&str> = name.split('-').collect();
        expanded(factors).iter().any(|group| {
            group
                .split('-')
                .all(|factor| match factor.strip_prefix('!') {
                    Some(factor) => !parts.contains(&factor),
                    None => parts.contains(&factor) || factor == name,
                })
        })
    }

    /// Fills in `{posargs:x}`, `{toxinidir}`, `{envpython}`, `{[section]key}`; what is not known
    /// becomes a variable that nothing sets.
    fn filled(&self, text: &str, name: &str, args: &[String], depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            if out.len() > kit::MAX_TEXT {
                return out;
            }
            let mut level = 1_usize;
            let end = after.char_indices().find(|(_, c)| {
                match c {
                    '{' => level += 1,
                    '}' => level -= 1,
                    _ => {}
                }
                level == 0
            });
            let Some((end, _)) = end else {
                out.push('{');
                rest = after;
                break;
            };
            let (inner, behind) = after.split_at(end);
            rest = behind.get(1..).unwrap_or_default();
            let given = joined(args);
            match inner.split_once(':') {
                _ if inner == "posargs" => out.push_str(&given),
                Some(("posargs", default)) => {
                    if args.is_empty() && depth < 4 {
                        out.push_str(&self.filled(default, name, args, depth + 1));
                    } else {
                        out.push_str(&given);
                    }
                }
                _ if matches!(inner, "toxinidir" | "tox_root") => out.push('.'),
                _ if inner == "envpython" => out.push_str("python"),
                _ if inner == "envname" || inner == "env_name" => out.push_str(name),
                _ if inner == "/" => out.push('/'),
                _ => {
                    let named = inner.strip_prefix('[').and_then(|i| i.split_once(']'));
                    let value = named.and_then(|(section, key)| self.value(section, key));
                    match value {
                        Some((_, value)) if depth < 4 => {
                            out.push_str(&self.filled(value, name, args, depth + 1));
                        }
                        _ => out.push_str("${TOX}"),
                    }
                }
            }
        }
        out.push_str(rest);
        out
    }
}

/// The words of a command in TOML.
fn toml_words(command: &Node, args: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    for word in command.list() {
        match &word.value {
            Value::Text(text) if text.contains("{posargs}") => words.extend(args.iter().cloned()),
            Value::Text(text) => {
                let text = text
                    .replace("{tox_root}", ".")
                    .replace("{envpython}", "python");
                words.push(joined(&[text]));
            }
            _ if word.get("replace").and_then(Node::text) == Some("posargs") => {
                if args.is_empty() {
                    let default = word.get("default").map_or(Vec::new(), kit::texts);
                    words.extend(default.into_iter().map(|w| joined(&[w.to_owned()])));
                } else {
                    words.push(joined(args));
                }
            }
            _ => words.push("${TOX}".to_owned()),
        }
    }
    words
}

/// Finds the commands of the environments that are asked for.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    if kit::program(words) != "tox" {
        return None;
    }
    let rest = words.get(1..).unwrap_or_default();
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let (own, args) = rest.split_at(end);
    let args = args.get(1..).unwrap_or_default();
    let mut asked: Vec<String> = Vec::new();
    let mut own = own;
    loop {
        let options = Options::of(own, VALUED);
        for (name, value) in &options.given {
            let attached = name
                .strip_prefix("-e")
                .filter(|v| !v.is_empty() && !v.starts_with('-'));
            if *name == "-e" || attached.is_some() {
                asked.extend(expanded(value.or(attached).unwrap_or_default()));
            }
        }
        let Some((command, further)) = options.rest.split_first() else {
            break;
        };
        if matches!(
            command.as_str(),
            "list" | "l" | "config" | "c" | "devenv" | "d" | "depends" | "quickstart"
        ) {
            return None;
        }
        own = further;
    }
    let Some(found) = read(tree, dir) else {
        return Some(Body::Opaque(format!("nothing configures tox in `{dir}`")));
    };
    let names = if asked.is_empty() || asked.iter().any(|a| a == "ALL") {
        found.list.clone()
    } else {
        asked
    };
    if names.is_empty() {
        return Some(Body::Opaque("tox has no list of environments".to_owned()));
    }
    let mut lines: Vec<Line> = Vec::new();
    for name in names {
        match found.environment(&name, args, dir) {
            Ok(more) => lines.extend(more),
            Err(why) => return Some(Body::Opaque(why)),
        }
        if lines.len() > kit::MAX_LINES {
            break;
        }
    }
    // One test suite for several interpreters is the same lines again.
    let mut once: Vec<Line> = Vec::new();
    for line in lines {
        if !once
            .iter()
            .any(|o| o.text == line.text && o.dir == line.dir)
        {
            once.push(line);
        }
    }
    Some(Body::Lines(once))
}

/// The environments that verify, for a proposal: one for each kind of work, the newest interpreter
/// of several.
pub fn proposed(found: &Tox) -> Vec<String> {
    let interpreter = |name: &str| {
        let rest = name.strip_prefix("py")?;
        let version = rest
            .strip_prefix('3')
            .unwrap_or(rest)
            .trim_start_matches('.');
        (rest.is_empty() || rest == "3" || version.bytes().all(|b| b.is_ascii_digit()))
            .then(|| version.parse::<u32>().unwrap_or(u32::MAX))
    };
    let newest = found
        .list
        .iter()
        .filter_map(|n| Some((interpreter(n)?, n)))
        .max();
    let mut names: Vec<String> = newest.map(|(_, name)| name.clone()).into_iter().collect();
    let others = found.list.iter().filter(|n| {
        interpreter(n).is_none() && super::super::kind::of_name(n).is_some() && !n.contains("doc")
    });
    names.extend(others.cloned());
    names
}
impl Tox {
    /// The file that declares it.
    pub fn file(&self) -> &RepoPath {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::expanded;

    #[test]
    fn braces_hold_lists_and_ranges() {
        for (text, want) in [
            ("py3{9-11}-a, b", vec!["py39-a", "py310-a", "py311-a", "b"]),
            ("py{312,313-314}", vec!["py312", "py313", "py314"]),
            ("x{2-1}", vec!["x2", "x1"]),
            ("{a-b}", vec!["a-b"]),
        ] {
            assert_eq!(expanded(text), want, "{text}");
        }
    }
}
