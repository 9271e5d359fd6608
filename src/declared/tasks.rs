//! Tasks of the repository's own: what a package script, a target of a makefile, a recipe, a
//! session, an environment or a script file runs.

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

/// A line of a task: shell text.
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

/// Finds what a command runs, one level deep.
#[must_use]
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Body {
    let _ = (tree, dir, words);
    Body::NotATask
}
