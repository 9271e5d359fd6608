//! A command that a source of the repository declares: what every reader returns.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
pub struct Place {
    /// The file.
    pub file: RepoPath,
    /// The line, from 1.
    pub line: u32,
}

impl Place {
    /// A line of a file.
    pub fn new(file: &RepoPath, line: u32) -> Self {
        let file = file.clone();
        Self { file, line }
    }

    /// The place of a line, from 0, of a text that begins here.
    pub(crate) fn below(&self, line: u32) -> Self {
        Self::new(&self.file, self.line.saturating_add(line))
    }
}

/// The kind of source, the most trusted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandOrigin {
    Ci,
    Hook,
    #[default]
    Manifest,
}

/// How the exit code of a command counts where it is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandEnding {
    /// A failure stops the job.
    #[default]
    Counts,
    /// `X || true`, `continue-on-error`: it cannot fail. The text says how.
    Ignored(String),
    /// `X &`: a server.
    Background,
    /// The next command is `git diff --exit-code` or an equal: it must leave the tree as it is.
    TreeCompared,
}

/// A program with its words, as one source line starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceCommand {
    /// The program and its arguments, with what the source defines put in, empty variables removed;
    /// `sh -c TEXT` where a shell must expand them.
    pub words: Vec<String>,
    /// What in it cannot be known (`$TAG`, `secrets.TOKEN`): such a command is never a check.
    pub unknown: Option<String>,
    /// The command as it is written, on one line: for the account.
    pub text: String,
    /// Where it runs, from the root of the repository.
    pub dir: RepoPath,
    /// The variables that the source sets for it and that are not plain environment of the job:
    /// those in front of it, exported in its script, or set for its step, job or workflow.
    pub env: BTreeMap<String, String>,
    pub place: Place,
    pub origin: CommandOrigin,
    /// The job that it is a part of, unique in the repository, for the order of its commands: a check
    /// needs the nearest earlier build of its job.
    pub job: Option<String>,
    /// The name of the step or hook, for people and for a script whose own name says nothing.
    pub label: String,
    /// The globs, in vplan's language (with `!` for those that exclude), of the changes for which the
    /// source runs it; empty where the source does not say.
    pub paths: Vec<String>,
    pub ending: CommandEnding,
    /// Whether it fails if the tree has changed: `git diff --exit-code`.
    pub compares_tree: bool,
    /// The services that its job starts.
    pub services: Vec<String>,
    /// How ordinary the cell of the matrix is: 0 for a cell without a target and with the newest
    /// versions; the least is preferred.
    pub oddness: u32,
}

impl SourceCommand {
    /// A command without a shell.
    pub(crate) fn at(place: Place, words: Vec<String>, dir: &RepoPath) -> Self {
        Self {
            text: words.join(" "),
            words,
            dir: dir.clone(),
            place,
            ..Self::default()
        }
    }

    /// What makes two commands the very same: folder, variables and words.
    pub fn identity(&self) -> String {
        format!("{} {:?} {:?}", self.dir, self.env, self.words)
    }

    /// The same, however a package starts its program; and without variables, for any of them.
    pub(crate) fn identities(&self) -> [String; 2] {
        let mut one = self.clone();
        if let Some(program) = one.words.first_mut() {
            *program = program
                .rsplit("node_modules/.bin/")
                .next()
                .map_or_else(String::new, str::to_owned);
        }
        let own = one.identity();
        one.env.clear();
        [own, one.identity()]
    }
}

/// A part of a source that is not read.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Unread")]
pub struct NotRead {
    /// Its source.
    #[serde(rename = "source")]
    pub place: Place,
    /// The job, step or hook; absent for the whole file.
    pub part: Option<String>,
    /// The reason.
    #[serde(rename = "reason")]
    pub why: String,
}

/// What a reader returns.
#[derive(Clone, Debug, Default)]
pub struct SourceReading {
    pub found: Vec<SourceCommand>,
    pub not_read: Vec<NotRead>,
    /// The jobs that were read.
    pub jobs: BTreeMap<String, Place>,
}

impl SourceReading {
    /// Notes a part that is not read.
    pub fn skip(&mut self, place: Place, part: Option<String>, why: impl Into<String>) {
        let why = why.into();
        self.not_read.push(NotRead { place, part, why });
    }

    /// What was read of a file; why nothing was is noted.
    pub fn noted<T>(&mut self, file: &RepoPath, read: Result<T, String>) -> Option<T> {
        let place = Place::new(file, 1);
        read.map_err(|why| self.skip(place, None, why)).ok()
    }

    /// Notes a job, if it is not read.
    pub fn note(&mut self, place: Place, job: &str, read: Result<(), impl Into<String>>) {
        if let Err(why) = read {
            self.skip(place, Some(format!("job `{job}`")), why);
        }
    }
}

/// A task of a runner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    pub line: u32,
    /// Its commands as shell text, with the line of each.
    pub commands: Vec<(u32, String)>,
    /// The tasks that run before it.
    pub needs: Vec<String>,
    /// The folder that its commands enter, where that is not in them.
    pub dir: String,
}

impl Task {
    pub fn new(name: impl Into<String>, line: u32) -> Self {
        Self {
            name: name.into(),
            line,
            ..Self::default()
        }
    }
}
