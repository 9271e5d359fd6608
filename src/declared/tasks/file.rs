//! Script files of the repository: `./scripts/x.sh`, `bash x.sh`.

use super::super::tree::Tree;
use super::Body;
use super::kit::{self, Options, joined, line};
use crate::base::command::quote;
use crate::base::path::RepoPath;
use crate::base::word::Word;

/// Shells that run a file.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// Finds the text of a script that is run.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let (first, rest) = words.split_first()?;
    let by_shell =
        SHELLS.contains(&kit::program(words)) || matches!(first.as_str(), "." | "source");
    let (name, args) = if by_shell {
        let options = Options::of(rest, &["-o", "+o", "-O", "--rcfile", "--init-file"]);
        // `-c` and its like have a text, and no file.
        let text = |name: &str| !name.starts_with("--") && name.contains('c');
        if options.given.iter().any(|(name, _)| text(name)) {
            return None;
        }
        // `-euo pipefail`: the letters end in one that takes a word.
        let takes = options.given.last().is_some_and(|(name, value)| {
            value.is_none() && !name.starts_with("--") && name.len() > 2 && name.ends_with('o')
        });
        let mut rest = options.rest;
        if takes {
            rest = rest.get(1..).unwrap_or_default();
        }
        rest.split_first()?
    } else if first.contains('/') {
        (first, rest)
    } else {
        return None;
    };
    let path = dir.join(name.as_bytes()).ok()?;
    if !tree.files.contains(&path) && !tree.texts.contains_key(&path) {
        return None;
    }
    let ends = [".sh", ".bash", ".zsh", ".ksh"]
        .iter()
        .any(|e| name.ends_with(e));
    let Some(text) = tree.texts.get(&path) else {
        let why = tree.unread.get(&path).map_or("", String::as_str);
        let known = by_shell || ends || !why.is_empty();
        // A program of another language, or a binary: it does the work itself.
        return known.then(|| Body::Opaque(format!("`{path}` was not read: {why}")));
    };
    if !by_shell && !ends && !is_shell(text) {
        return None;
    }
    let text = with_arguments(text, args);
    let label = String::from_utf8_lossy(path.name()).into_owned();
    Some(Body::Lines(vec![line(&path, 1, &label, text, dir)]))
}

/// Whether the first line names a shell; a script without such a line is a shell's.
fn is_shell(text: &str) -> bool {
    let Some(line) = text.lines().next().and_then(|l| l.strip_prefix("#!")) else {
        return true;
    };
    line.split_whitespace()
        .any(|word| SHELLS.contains(&crate::check::tool::base_name(word)))
}

/// Fills in the arguments of a script: `$1`, `${1}`, `${1:-x}`, `"$@"`, `$*`. Inside of functions
/// they mean something else, so that a text with functions keeps them.
fn with_arguments(text: &str, args: &[String]) -> String {
    if text.contains("()")
        || text
            .lines()
            .any(|l| l.trim_start().starts_with("function "))
    {
        return text.to_owned();
    }
    let all = joined(args);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        // Escaped, or in single quotes as awk's programs are: left as it is.
        let escaped = before.ends_with('\\') || before.matches('\'').count() % 2 == 1;
        out.push_str(before);
        let (mut value, mut taken) = (None, 0);
        if !escaped {
            match after.chars().next() {
                Some('@' | '*') => (value, taken) = (Some((all.clone(), true)), 1),
                Some(digit @ '1'..='9') => {
                    (value, taken) = (argument(args, digit, None), 1);
                }
                Some('{') => {
                    if let Some((inner, _)) = after.split_once('}') {
                        let mut inner_chars = inner.chars().skip(1);
                        let name = inner_chars.next();
                        let tail: String = inner_chars.collect();
                        let default = tail.strip_prefix(":-").or(tail.strip_prefix('-'));
                        if let Some(digit @ '1'..='9') = name
                            && (tail.is_empty() || default.is_some())
                            && !tail.contains('$')
                        {
                            (value, taken) = (argument(args, digit, default), inner.len() + 1);
                        } else if name == Some('@') && tail.is_empty() {
                            (value, taken) = (Some((all.clone(), true)), inner.len() + 1);
                        }
                    }
                }
                _ => {}
            }
        }
        match value {
            Some((value, true))
                if out.ends_with('"') && after.get(taken..).is_some_and(|r| r.starts_with('"')) =>
            {
                // The quotes belong to the word that is filled in.
                out.pop();
                out.push_str(&value);
                taken += 1;
            }
            Some((value, _)) => out.push_str(&value),
            None => {
                out.push('$');
                taken = 0;
            }
        }
        rest = after.get(taken..).unwrap_or_default();
        if out.len() > kit::MAX_TEXT.saturating_mul(2) {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// The argument of a number, as a word of a shell; without one its default, and `false`.
fn argument(args: &[String], digit: char, default: Option<&str>) -> Option<(String, bool)> {
    let at = digit.to_digit(10)?.checked_sub(1)?;
    let given = args.get(usize::try_from(at).ok()?);
    match given {
        Some(word) => Some((quote(&Word::from(word.as_str())), true)),
        None => default.map(|text| (text.to_owned(), false)),
    }
}
