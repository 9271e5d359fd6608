//! Tasks of the repository's own: what a package script, a target of a makefile, a recipe, a
//! session, an environment or a script file runs.
//!
//! Each reader takes the part of its format that needs no running; what only the tool itself can
//! know is opaque or stays in the text as it is written (`$(shell …)`), never guessed.
//! INVARIANT (bounded): one level deep, at most `kit::MAX_LINES` lines of at most
//! `kit::MAX_TEXT` bytes; a task that needs itself is read once.

mod file;
mod just;
pub(super) mod kit;
pub(super) mod make;
mod mise;
mod nox;
pub mod package;
pub(super) mod python;
mod run_all;
mod small;
mod taskfile;
pub(super) mod tox;

use super::candidate::Origin;
use super::tree::Tree;
use crate::base::path::RepoPath;
use std::collections::BTreeMap;

/// What a command runs in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// It is no task of the repository: the program itself does the work.
    NotATask,
    /// It is one that cannot be read, with the reason.
    Opaque(String),
    /// It runs these, in order; what it depends on comes first.
    Lines(Vec<Line>),
}

/// A line of a task: shell text. A script file is one line with all of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it is; the label is the task's name.
    pub origin: Origin,
    /// Its text, with the task's own variables filled in.
    pub text: String,
    /// The directory in which it runs.
    pub dir: RepoPath,
    /// Variables that the task sets.
    pub env: BTreeMap<String, String>,
    /// Whether its failure is ignored (`-` of make).
    pub ignored: bool,
}

/// Finds what a command of one runner runs; `None` for a command of another one.
type ReadBody = fn(&Tree, &RepoPath, &[String]) -> Option<Body>;

/// The readers, each of which knows by the words whether they are its own.
const READERS: &[ReadBody] = &[
    package::body,
    run_all::body,
    make::body,
    just::body,
    mise::body,
    taskfile::body,
    tox::body,
    nox::body,
    python::body,
    small::body,
    file::body,
];

/// Finds what a command runs, one level deep. The words begin with the program: no assignments, and
/// no launcher (`npx`, `env`, `time`) in front of it.
#[must_use]
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Body {
    let found = READERS.iter().find_map(|reader| reader(tree, dir, words));
    match found {
        None => Body::NotATask,
        Some(Body::Lines(lines)) if lines.len() > kit::MAX_LINES => {
            Body::Opaque(format!("it runs more than {} commands", kit::MAX_LINES))
        }
        Some(Body::Lines(lines)) if lines.iter().any(|l| l.text.len() > kit::MAX_TEXT) => {
            Body::Opaque("one of its commands is too long".to_owned())
        }
        Some(body) => body,
    }
}

/// A task of the root's runner: its command, its name, its place, and the family of programs that it
/// is one of, if it is no runner for any.
pub(super) type RunnerTask = (Vec<String>, String, RepoPath, u32, Option<&'static str>);

/// The tasks of the root's task runners that verify by their names: of the first of just, mise and
/// task that has any, and of tox and nox.
pub(super) fn runner_tasks(tree: &Tree) -> Vec<RunnerTask> {
    const WANTED: [&str; 6] = ["lint", "typecheck", "check", "test", "tests", "types"];
    let root = RepoPath::root();
    let wanted = |name: &str| WANTED.contains(&name);
    let mut found: Vec<RunnerTask> = Vec::new();
    if let Some((_, file)) = kit::nearest(tree, &root, &just::NAMES)
        && let Some(text) = tree.texts.get(&file)
    {
        let parsed = just::parse(text).recipes.into_iter();
        let parsed = parsed.filter(|(name, recipe)| wanted(name) && recipe.runs_alone());
        found.extend(parsed.map(|(name, recipe)| {
            let command = kit::words(&["just", &name]);
            (command, name, file.clone(), recipe.line, None)
        }));
    }
    if found.is_empty() {
        let all = mise::tasks(tree)
            .into_iter()
            .filter(|(name, _)| wanted(name));
        found.extend(all.filter_map(|(name, task)| {
            let (file, line) = task.place?;
            let command = kit::words(&["mise", "run", &name]);
            Some((command, name, file, line, None))
        }));
    }
    if found.is_empty()
        && let Some((file, names)) = taskfile::names(tree)
    {
        let names = names.into_iter().filter(|(name, _)| wanted(name));
        found.extend(names.map(|(name, line)| {
            let command = kit::words(&["task", &name]);
            (command, name, file.clone(), line, None)
        }));
    }
    if let Some(tox) = tox::read(tree, &root) {
        for name in tox::proposed(&tox) {
            let command = kit::words(&["tox", "run", "-e", &name]);
            let name = if name.starts_with("py") {
                "test".to_owned()
            } else {
                name
            };
            found.push((command, name, tox.file().clone(), tox.line, Some("python")));
        }
    }
    if let Some((file, text)) = tree.text(&root, nox::FILE) {
        let (sessions, _) = nox::sessions(text);
        for session in sessions.iter().filter(|s| wanted(&s.name)) {
            let command = kit::words(&["nox", "-s", &session.name]);
            found.push((
                command,
                session.name.clone(),
                file.clone(),
                session.line,
                Some("python"),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests;
