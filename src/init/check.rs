//! A proposed check, and what is not one.

use crate::found::{Place, SourceCommand};
use crate::hooks::CHANGED;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use vplan_base::glob::escape;
use vplan_base::path::RepoPath;
use vplan_check::Kind;

/// The changes for which a check runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProposedCondition {
    /// A named set: a language, `code` or `all`.
    Set(&'static str),
    /// The globs of the source itself.
    Own(Vec<String>),
    /// What reaches a package of the workspace: the check is a row for each.
    Package,
}

/// What makes two commands the same work.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckKey {
    pub verb: Kind,
    /// The tool and its subcommand, or the runner and the task.
    pub tool: String,
    pub dir: RepoPath,
    /// Positional arguments.
    pub operands: Vec<String>,
    /// Package, profile and `--doc`.
    pub options: BTreeSet<String>,
    /// Features, of which at most three sets are kept.
    pub features: BTreeSet<String>,
}

impl Default for ProposedCondition {
    fn default() -> Self {
        Self::Set("code")
    }
}

/// What becomes of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommandClass {
    Check,
    /// Replaced by these commands, which it starts.
    Instead(Vec<SourceCommand>),
    /// It prepares or prints.
    #[default]
    Silent,
    /// It is not a check, for this reason.
    Out(String),
    /// It prepares the machine or the checkout, in this way.
    Setup(&'static str),
}

/// A command and what it verifies; a check of the proposal, if its class is one.
#[derive(Clone, Debug, Default)]
pub struct ProposedCheck {
    pub class: CommandClass,
    /// The command, with the words and the folder to propose.
    pub found: SourceCommand,
    /// The stem of its name, then its name.
    pub name: String,
    pub verb: Kind,
    /// The name of a language, `code`, `all`, or nothing.
    pub paths: &'static str,
    pub condition: ProposedCondition,
    /// The indices of checks that run before it.
    pub needs: Vec<usize>,
    /// Whether it must leave the tree as it is.
    pub unchanged: bool,
    /// What is different from the source, or known of it.
    pub notes: Vec<String>,
    /// Whether its output may show no number of tests.
    pub is_uncounted: bool,
    pub key: CheckKey,
    /// The tools that it starts in the end, as far as that is known.
    pub tools: BTreeSet<String>,
    /// The identities of the commands of the recipe that it starts, if that was read.
    pub parts: Vec<[String; 2]>,
    /// The keys of those commands, if all are known.
    pub works: BTreeSet<CheckKey>,
    /// Whether it starts a service that later commands may use.
    pub is_service: bool,
    /// Whether it makes what later commands of its job use.
    pub is_build: bool,
    /// Whether it is about documentation.
    pub is_docs: bool,
    /// Set by a trial: the globs around what it read, and its tier.
    pub inputs: Vec<String>,
    pub tier: u8,
}

impl ProposedCheck {
    pub(crate) fn out(self, why: &str) -> Self {
        Self {
            class: CommandClass::Out(why.to_owned()),
            ..self
        }
    }

    /// What stays of it where it is left out.
    pub(crate) fn left(&self, why: String) -> Uncovered {
        Uncovered {
            text: self.found.words.join(" "),
            place: self.found.place.clone(),
            why,
            is_test: self.verb == Kind::Test,
        }
    }

    /// Takes what it was observed to read as its inputs: the folders at the root, and the files there.
    /// Wider than what was read, because one run is one path through the code.
    pub fn add_inputs(&mut self, read: &BTreeSet<RepoPath>) {
        // A check that is given changed files, or compares the tree afterwards, depends on more than it reads.
        if self.unchanged || self.found.words.iter().any(|word| word == CHANGED) {
            return;
        }
        let glob = |path: &RepoPath| {
            let mut around = path.ancestors().into_iter();
            let first = around.next()?;
            let rest = around.next().map_or("", |_| "/**");
            let first = std::str::from_utf8(first.as_bytes()).ok()?;
            Some(format!("{}{rest}", escape(first)))
        };
        let globs: BTreeSet<String> = read.iter().filter_map(glob).collect();
        if !globs.is_empty() {
            let note = "`inputs` are around what it read when it was tried: `vplan audit` tells what is missing";
            self.notes.push(note.to_owned());
        }
        self.inputs = globs.into_iter().collect();
    }
}

/// A command that is no check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LeftOut")]
pub struct Uncovered {
    /// The command as it is declared.
    #[serde(rename = "command")]
    pub text: String,
    /// Whether it tests something.
    pub is_test: bool,
    /// The reason.
    #[serde(rename = "reason")]
    pub why: String,
    /// Its source.
    #[serde(rename = "source")]
    pub place: Place,
}

/// A command that is the same work as a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FoldedDocument")]
pub struct Folded {
    /// The stem of the check's name.
    #[serde(rename = "check")]
    pub name: String,
    /// The command.
    #[serde(rename = "command")]
    pub text: String,
    /// Its source.
    #[serde(rename = "source")]
    pub place: Place,
}
