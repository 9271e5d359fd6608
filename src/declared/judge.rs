//! Whether a command may be a check: what writes, with its form that only checks, and what is never
//! proposed.
//!
//! Judged is the program behind all launchers (`uv run`, `npx`, `env`, `sh -c`), and every launcher
//! itself. Tasks of the repository are looked through by `look`, whose leaves are judged here.

mod never;
mod settings;
mod table;
mod words;
mod writes;

use super::candidate::Reason;
use super::launch;
use super::shell;
use super::tree::Tree;
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};
use words::Call;

/// The judgement of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It may be a check as it is.
    Fine,
    /// It writes; these words only check, with a remark on what was changed. Assignments
    /// (`INSTA_UPDATE=no`) may precede the program.
    Checking(Vec<String>, String),
    /// It writes, and only a shell can check.
    CheckingShell(String, String),
    /// It may not be a check.
    Never(Reason, String),
    /// It generates files that CI compares with git: a check with `unchanged`, where CI does so.
    Generates,
}

/// The deepest nesting of shells (`sh -c "sh -c …"`) that is read.
const DEEPEST: usize = 4;

/// Judges an argument vector that runs in a directory of the repository.
#[must_use]
pub fn command(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    words: &[String],
) -> Judged {
    nested(tree, dir, env, words, 0)
}

/// Judges shell text: all its commands may be part of a check, or the first that may not.
#[must_use]
pub fn text(tree: &Tree, dir: &RepoPath, env: &BTreeMap<String, String>, text: &str) -> Judged {
    text_within(tree, dir, env, text, 0)
}

/// Whether a command verifies nothing: it prints, or only asks.
#[must_use]
pub fn is_noise(words: &[String]) -> bool {
    let peeled = launch::peel(words);
    peeled.text.is_none()
        && never::is_noise(&Call::new(words.get(peeled.at()..).unwrap_or_default()))
}

fn nested(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    words: &[String],
    depth: usize,
) -> Judged {
    let peeled = launch::peel(words);
    if peeled.too_deep || depth > DEEPEST {
        return Judged::Never(Reason::Unknown, "launchers in launchers".to_owned());
    }
    let mut all = env.clone();
    all.extend(peeled.env.clone());
    let dir = peeled.dirs.iter().fold(dir.clone(), |dir, to| {
        dir.join(to.as_bytes()).unwrap_or(dir)
    });
    // What is done says more than who does it: `sudo apt-get install` installs.
    for start in peeled.starts.iter().rev() {
        let call = Call::new(words.get(*start..).unwrap_or_default());
        if let Some((reason, detail)) = never::why(tree, &dir, &all, &call) {
            return Judged::Never(reason, detail);
        }
    }
    if let Some(inner) = &peeled.text {
        return match text_within(tree, &dir, &all, inner, depth + 1) {
            // A text is not rewritten.
            Judged::Checking(_, note) | Judged::CheckingShell(_, note) => {
                Judged::Never(Reason::Writes, note)
            }
            other => other,
        };
    }
    let at = peeled.at();
    // An option of a launcher may take what seems to be the program.
    let doubtful = at > 0
        && words
            .get(at - 1)
            .is_some_and(|w| w.starts_with('-') && w != "--" && !w.contains('='));
    if doubtful && let Some(rest) = words.get(at + 1..).filter(|rest| !rest.is_empty()) {
        let inner = launch::peel(rest);
        for start in &inner.starts {
            let call = Call::new(rest.get(*start..).unwrap_or_default());
            if let Some((reason, detail)) = never::why(tree, &dir, &all, &call) {
                return Judged::Never(reason, detail);
            }
        }
    }
    // Each command of `find … -exec A ; -exec B`.
    if let Some(inner) = words.get(at..) {
        for (index, word) in inner.iter().enumerate() {
            let runs = matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            if runs
                && let Some(rest) = inner.get(index + 1..)
                && let found @ Judged::Never(..) = nested(tree, &dir, &all, rest, depth + 1)
            {
                return found;
            }
        }
    }
    let call = Call::new(words.get(at..).unwrap_or_default());
    writes::judge(tree, &dir, &all, &call).in_front(words.get(..at).unwrap_or_default())
}

impl Judged {
    /// Puts the launchers back in front of a checking form.
    fn in_front(self, launchers: &[String]) -> Self {
        match self {
            Judged::Checking(words, note) => {
                let set = words.iter().take_while(|w| words::is_assignment(w)).count();
                let (env, rest) = words.split_at(set);
                let all = env.iter().chain(launchers).chain(rest);
                Judged::Checking(all.cloned().collect(), note)
            }
            Judged::CheckingShell(..) if !launchers.is_empty() => {
                Judged::Never(Reason::Writes, launchers.join(" "))
            }
            other => other,
        }
    }
}

fn text_within(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    text: &str,
    depth: usize,
) -> Judged {
    if depth > DEEPEST {
        return Judged::Never(Reason::Unknown, "shells in shells".to_owned());
    }
    let read = shell::read(text);
    if read.broken {
        return Judged::Never(Reason::Inline, "its quotes are not closed".to_owned());
    }
    // Names of temporary files, which the text may remove.
    let temporary: BTreeSet<&str> = read
        .commands
        .iter()
        .flat_map(|simple| &simple.env)
        .filter(|(_, value)| {
            let shown = value.shown();
            shown.starts_with("$(mktemp") || shown.starts_with("`mktemp")
        })
        .map(|(name, _)| name.as_str())
        .collect();
    let background = read.parts.iter().any(|part| part.background);
    if background {
        return Judged::Never(
            Reason::NeverEnds,
            "starts something in the background".to_owned(),
        );
    }
    let mut out = Judged::Fine;
    for simple in &read.commands {
        for redirection in &simple.redirections {
            let writes = redirection.operator.contains('>') && redirection.operator != ">&";
            let target = redirection.target.shown();
            if writes && words::is_tracked(tree, dir, &target) {
                return Judged::Never(Reason::Changes, format!("> {target}"));
            }
        }
        let words = simple.shown();
        let Some(first) = simple.words.first() else {
            continue;
        };
        if read.functions.contains(&first.shown()) {
            continue;
        }
        if first.literal().is_none() {
            return Judged::Never(Reason::Unknown, first.shown());
        }
        if removes_temporary(&words, &temporary) {
            continue;
        }
        if words.first().is_some_and(|w| w == "trap") {
            let inner = words.get(1).cloned().unwrap_or_default();
            let own = simple.words.get(1).and_then(shell::Word::literal);
            let inner = own.unwrap_or(inner);
            let found = shell::commands(&inner);
            if found.iter().any(|words| {
                !removes_temporary(words, &temporary)
                    && !matches!(nested(tree, dir, env, words, depth + 1), Judged::Fine)
            }) {
                return Judged::Never(Reason::Changes, format!("trap {inner}"));
            }
            continue;
        }
        match nested(tree, dir, env, &words, depth) {
            Judged::Fine => {}
            // A list whose emptiness the text may judge.
            Judged::CheckingShell(..)
                if !words
                    .iter()
                    .any(|w| matches!(w.as_str(), "-w" | "--w" | "write")) => {}
            Judged::Generates => out = Judged::Generates,
            found => return found,
        }
    }
    out
}

/// Whether it removes nothing but what `mktemp` has made.
fn removes_temporary(words: &[String], temporary: &BTreeSet<&str>) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let mut operands = rest.iter().filter(|w| !w.starts_with('-')).peekable();
    matches!(first.as_str(), "rm" | "rmdir")
        && operands.peek().is_some()
        && operands.all(|w| {
            let name = w
                .strip_prefix("${")
                .and_then(|w| w.split_once('}'))
                .map(|(name, _)| name)
                .or_else(|| w.strip_prefix('$')?.split('/').next());
            name.is_some_and(|name| temporary.contains(name)) && !w.contains("..")
        })
}

#[cfg(test)]
mod tests;
