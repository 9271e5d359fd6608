//! Sessions of a `noxfile.py`: the calls of `session.run` whose arguments are literal.

use super::super::tree::Tree;
use super::kit::{self, Options, joined, line};
use super::{Body, Line};
use crate::base::path::RepoPath;

/// The file.
pub const FILE: &str = "noxfile.py";
/// Options that take a value.
const VALUED: &[&str] = &[
    "-f",
    "--noxfile",
    "-p",
    "--pythons",
    "-k",
    "--keywords",
    "-t",
    "--tags",
    "-db",
    "--force-python",
];
/// The longest call that is read, in lines.
const MAX_CALL: usize = 60;

/// A session: its name, its line, its body with numbers.
pub struct Session<'a> {
    /// Its name.
    pub name: String,
    /// The line of its function.
    pub line: u32,
    body: Vec<(u32, &'a str)>,
}

/// Finds the sessions, and those that run when none is asked for.
pub fn sessions(text: &str) -> (Vec<Session<'_>>, Option<Vec<String>>) {
    let mut found: Vec<Session<'_>> = Vec::new();
    let mut default = None;
    let mut decorator: Option<String> = None;
    let mut inside = false;
    for (raw, number) in text.lines().zip(1_u32..) {
        let content = raw.trim();
        if raw.starts_with([' ', '\t', ')']) || content.is_empty() || content.starts_with('#') {
            match found.last_mut().filter(|_| inside) {
                Some(session) => session.body.push((number, content)),
                None => {
                    if let Some(text) = &mut decorator {
                        text.push_str(content);
                    }
                }
            }
            continue;
        }
        inside = false;
        if let Some(rest) = content.strip_prefix('@') {
            if rest.starts_with("nox.session")
                || rest.starts_with("session")
                || rest.starts_with("nox_poetry.session")
            {
                decorator = Some(rest.to_owned());
            }
        } else if let Some(rest) = content.strip_prefix("def ") {
            if let Some(text) = decorator.take() {
                let own = rest.split('(').next().unwrap_or_default();
                let given = text
                    .split_once("name=")
                    .and_then(|(_, n)| literal(n))
                    .map(|(n, _)| n);
                found.push(Session {
                    name: given.unwrap_or_else(|| own.to_owned()),
                    line: number,
                    body: Vec::new(),
                });
                inside = true;
            }
        } else if let Some(list) = content.strip_prefix("nox.options.sessions") {
            let mut names = Vec::new();
            let mut rest = list;
            while let Some(at) = rest.find(['"', '\'']) {
                let Some((name, behind)) = rest.get(at..).and_then(literal) else {
                    break;
                };
                names.push(name);
                rest = behind;
            }
            default = Some(names);
            decorator = None;
        } else {
            decorator = None;
        }
    }
    (found, default)
}

/// Reads a plain string literal in front of a text.
fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?.1),
            c if c == quote => return Some((out, text.get(at + 1..)?)),
            c => out.push(c),
        }
    }
    None
}

/// The words of a call's arguments; what is not literal is a variable that nothing sets.
fn arguments(text: &str, posargs: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && !rest.starts_with(')') {
        if let Some((word, behind)) = literal(rest) {
            let behind = behind.trim_start();
            if behind.starts_with(',') || behind.starts_with(')') || behind.is_empty() {
                words.push(joined(&[word]));
                rest = behind.trim_start_matches(',').trim_start();
                continue;
            }
        }
        let (item, behind) = item(rest);
        rest = behind;
        let item = item.trim();
        if item.contains("session.posargs") {
            if posargs.is_empty() {
                // `*(session.posargs or ["tests"])`.
                let mut inner = item;
                while let Some(at) = inner.find(['"', '\'']) {
                    let Some((word, behind)) = inner.get(at..).and_then(literal) else {
                        break;
                    };
                    words.push(joined(&[word]));
                    inner = behind;
                }
            } else {
                words.push(joined(posargs));
            }
        } else if item.is_empty() || item.starts_with('#') {
        } else {
            let keyword = item.split_once('=').is_some_and(|(name, _)| {
                name.trim().chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty()
            });
            if !keyword {
                words.push("${NOX}".to_owned());
            }
        }
    }
    words
}

/// An argument up to its comma, and what is behind.
fn item(text: &str) -> (&str, &str) {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => {
                return (text.get(..at).unwrap_or_default(), "");
            }
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                let behind = text.get(at + 1..).unwrap_or_default();
                return (text.get(..at).unwrap_or_default(), behind.trim_start());
            }
            _ => {}
        }
    }
    (text, "")
}

fn lines(file: &RepoPath, dir: &RepoPath, session: &Session<'_>, posargs: &[String]) -> Vec<Line> {
    let mut found = Vec::new();
    let mut at = dir.clone();
    for (index, (number, text)) in session.body.iter().enumerate() {
        let call = |name: &str| text.split_once(name).map(|(_, rest)| rest);
        if text.starts_with('#') {
            continue;
        }
        if let Some(to) = call("session.chdir(").and_then(literal) {
            at = dir.join(to.0.as_bytes()).unwrap_or(at);
        }
        let Some(first) = call("session.run(").or_else(|| call("session.run_always(")) else {
            continue;
        };
        let mut whole = first.to_owned();
        for (_, more) in session.body.iter().skip(index + 1).take(MAX_CALL) {
            if item_ends(&whole) {
                break;
            }
            whole.push(' ');
            whole.push_str(more);
        }
        let words = arguments(&whole, posargs);
        if !words.is_empty() {
            found.push(line(file, *number, &session.name, words.join(" "), &at));
        }
        if found.len() > kit::MAX_LINES {
            break;
        }
    }
    found
}

/// Whether the parenthesis of a call is closed in the text behind it.
fn item_ends(text: &str) -> bool {
    let (mut depth, mut quote) = (0_usize, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => return true,
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    false
}

/// Finds the commands of the sessions that are asked for.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    if kit::program(words) != "nox" {
        return None;
    }
    let rest = words.get(1..).unwrap_or_default();
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let (own, posargs) = rest.split_at(end);
    let posargs = posargs.get(1..).unwrap_or_default();
    let mut asked = Vec::new();
    let mut taking = false;
    for word in own {
        match word.as_str() {
            "-l" | "--list" | "--list-sessions" | "--version" => return None,
            "-s" | "-e" | "--session" | "--sessions" => taking = true,
            word if word.starts_with('-') => {
                taking = false;
                let attached = word
                    .split_once('=')
                    .filter(|(n, _)| n.starts_with("--session"));
                asked.extend(attached.map(|(_, name)| name.to_owned()));
            }
            word if taking => asked.push(word.to_owned()),
            _ => {}
        }
    }
    let options = Options::of(own, VALUED);
    let name = options.value(&["-f", "--noxfile"]).unwrap_or(FILE);
    let Some((file, text)) = tree.text(dir, name) else {
        return Some(Body::Opaque(format!("there is no `{name}` in `{dir}`")));
    };
    let (sessions, default) = sessions(text);
    if asked.is_empty() {
        asked = default.unwrap_or_else(|| sessions.iter().map(|s| s.name.clone()).collect());
    }
    let mut found = Vec::new();
    for name in asked {
        // `tests-3.12` and `tests(a)` are cells of `tests`.
        let plain = name.split('(').next().unwrap_or_default();
        let versionless = plain
            .rsplit_once('-')
            .filter(|(_, v)| !v.is_empty() && v.chars().all(|c| c.is_ascii_digit() || c == '.'));
        let plain = versionless.map_or(plain, |(n, _)| n);
        let Some(session) = sessions.iter().find(|s| s.name == plain || s.name == name) else {
            return Some(Body::Opaque(format!("`{file}` has no session `{name}`")));
        };
        found.extend(lines(&file, dir, session, posargs));
        if found.len() > kit::MAX_LINES {
            break;
        }
    }
    Some(Body::Lines(found))
}
