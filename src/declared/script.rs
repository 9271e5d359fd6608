//! The commands of a script that CI runs line by line in one shell: directories, variables and what
//! was edited carry over from line to line, and from step to step of a job.

use super::candidate::{Belief, Found, When};
use super::tree::Tree;
use crate::base::path::RepoPath;
use std::collections::BTreeMap;

/// A job of CI while its steps are read: what one step leaves for the next ones.
#[derive(Clone, Debug)]
pub struct Job {
    /// The workflow's file.
    pub file: RepoPath,
    /// How much it is believed.
    pub belief: Belief,
    /// What it is called: ``job `test` ``'s `test`.
    pub name: String,
    /// The changes for which it is wanted.
    pub when: When,
    /// Its tier.
    pub tier: u8,
    /// Whether its failure is no more than a warning.
    pub warning: bool,
    /// Its time limit in minutes.
    pub timeout: Option<u32>,
    /// Remarks for each of its checks: which cell of a matrix it is.
    pub notes: Vec<String>,
    /// Names of variables that hold a secret, and of those that name a service of the job.
    pub secrets: Vec<String>,
    /// Names of services of the job, with the variables that name them.
    pub services: Vec<(String, Vec<String>)>,
    /// Variables that earlier steps have set for later ones.
    pub exported: BTreeMap<String, String>,
    /// Folders that earlier steps have put in front of PATH.
    pub tool_path: Vec<String>,
    /// Whether an earlier step has edited tracked files: with what.
    pub edited: Option<String>,
    /// Indices in [`Found::candidates`] of commands that build what later ones use.
    pub built: Vec<usize>,
    /// Indices of commands since the last comparison with git.
    pub since_compared: Vec<usize>,
}

/// A script of a step.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// Its text, expressions of the CI system filled in; what could not be filled in is still
    /// `${{ … }}`.
    pub text: &'a str,
    /// The line of its first line in the file, from 1.
    pub line: u32,
    /// What the step is called.
    pub label: String,
    /// The directory in which it begins.
    pub dir: RepoPath,
    /// The variables that hold for it, the step's over the job's over the workflow's.
    pub env: BTreeMap<String, String>,
    /// The text of a condition that is not known to hold.
    pub condition: Option<String>,
}

/// Reads the commands of a script into candidates.
pub fn read(tree: &Tree, job: &mut Job, script: &Script<'_>, found: &mut Found) {
    let _ = (tree, job, script, found);
}
