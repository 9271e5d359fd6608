//! A command that the repository declares, on its way from its source to the contract or to the
//! account of what was left out.

use crate::base::glob::escape;
use crate::base::index::bug;
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// A place where a command is declared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file.
    pub file: RepoPath,
    /// The line of the command, from 1.
    pub line: u32,
    /// The job and step, the hook, the target: words for people, and for a name.
    pub label: String,
}

/// How much a source is believed; the greatest wins where sources speak of equal work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Belief {
    /// A shipped contract for a manifest that nothing else speaks for.
    Shipped,
    /// A task runner or a manifest, where nothing above verifies this kind of work.
    Manifest,
    /// A predecessor's contract.
    Predecessor,
    /// A hook that CI does not start.
    Hook,
    /// A script or target that CI starts.
    Started,
    /// A CI workflow.
    Workflow,
}

/// The work of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// A program and its arguments; the word `{changed}` is the changed files.
    Words(Vec<String>),
    /// A text that only a shell understands.
    Shell(String),
}

/// A program that a candidate runs in the end, behind launchers, scripts and targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its directory.
    pub dir: RepoPath,
    /// The variables in front of it.
    pub env: BTreeMap<String, String>,
    /// Its words.
    pub words: Vec<String>,
}

/// The changes for which a candidate is wanted, as far as its source says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// The source says nothing.
    Unsaid,
    /// A change of these files: globs of vplan's language, with `!` in front of those that exclude.
    Changed(Vec<String>),
}

/// A declared command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The source.
    pub origin: Origin,
    /// Further sources of equal work.
    pub also: Vec<Origin>,
    /// How much the source is believed.
    pub belief: Belief,
    /// What it runs.
    pub work: Work,
    /// What that runs in the end, when it has been looked through; empty where that is not known.
    pub leaves: Vec<Leaf>,
    /// Its directory.
    pub dir: RepoPath,
    /// Variables that change what it means.
    pub env: BTreeMap<String, String>,
    /// Folders of the repository in front of PATH.
    pub tool_path: Vec<String>,
    /// Indices of candidates, in the list that this one is in, that build what it uses.
    pub needs: Vec<usize>,
    /// The changes for which it is wanted.
    pub when: When,
    /// Whether its failure is no more than a warning.
    pub warning: bool,
    /// Whether it only prepares others (`cmake -B build`).
    pub setup: bool,
    /// The tier: 0 for quick answers, 1 for later ones.
    pub tier: u8,
    /// The time limit in minutes that the source sets.
    pub timeout: Option<u32>,
    /// Globs of files that it makes and git ignores.
    pub produces: Vec<String>,
    /// The tracked files that a trial saw it read; empty where not all that decides it was seen.
    pub read: BTreeSet<RepoPath>,
    /// Globs of files that it may not change: a generator whose result CI compares with git.
    pub unchanged: Vec<String>,
    /// What the source calls it.
    pub name: Option<String>,
    /// Remarks for the comment above the check: what was removed, which cell of a matrix it is.
    pub notes: Vec<String>,
    /// Remarks about what it runs and cannot be looked through, for the same comment.
    pub unseen: Vec<String>,
    /// What became of it.
    pub state: State,
}

impl Candidate {
    /// Makes a candidate of a source that says nothing but the command.
    #[must_use]
    pub fn new(origin: Origin, belief: Belief, work: Work, dir: RepoPath) -> Self {
        Self {
            origin,
            also: Vec::new(),
            belief,
            work,
            leaves: Vec::new(),
            dir,
            env: BTreeMap::new(),
            tool_path: Vec::new(),
            needs: Vec::new(),
            when: When::Unsaid,
            warning: false,
            setup: false,
            tier: 0,
            timeout: None,
            produces: Vec::new(),
            read: BTreeSet::new(),
            unchanged: Vec::new(),
            name: None,
            notes: Vec::new(),
            unseen: Vec::new(),
            state: State::Open,
        }
    }

    /// Returns globs for what a trial saw it read: the folders at the root, and the files there. Wider
    /// than what was read, because one run is one path through the code.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        let glob = |path: &RepoPath| {
            let mut around = path.ancestors().into_iter();
            let first = around.next()?;
            let rest = around.next().map_or("", |_| "/**");
            let first = std::str::from_utf8(first.as_bytes()).ok()?;
            Some(format!("{}{rest}", escape(first)))
        };
        let globs: BTreeSet<String> = self.read.iter().filter_map(glob).collect();
        globs.into_iter().collect()
    }

    /// The command as one line for people.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.work {
            Work::Words(words) => words.join(" "),
            Work::Shell(text) => text.clone(),
        }
    }

    /// The program and its arguments, unless it is a shell's text.
    #[must_use]
    pub fn words(&self) -> Option<&[String]> {
        match &self.work {
            Work::Words(words) => Some(words),
            Work::Shell(_) => None,
        }
    }

    /// All remarks.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().chain(&self.unseen)
    }

    /// Leaves it out, because it writes.
    pub fn leave_out_writer(&mut self, detail: impl Into<String>) {
        self.leave_out(Reason::Writes, detail);
    }

    /// Leaves it out.
    pub fn leave_out(&mut self, reason: Reason, detail: impl Into<String>) {
        self.state = State::Out(reason, detail.into());
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not decided yet; at the end: a check of the contract.
    Open,
    /// The same work as the candidate of this index.
    Merged(usize),
    /// No check, with what in particular is in the way (`npm install`, `secrets.TOKEN`); may be
    /// empty.
    Out(Reason, String),
}

/// The reasons why a declared command is no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It installs something.
    Installs,
    /// It needs the network.
    Network,
    /// It publishes or releases.
    Publishes,
    /// It deploys, or works on infrastructure.
    Deploys,
    /// It never ends, or waits for a person.
    NeverEnds,
    /// It changes the machine or the tree.
    Changes,
    /// It writes files that git tracks, and has no form that only checks.
    Writes,
    /// It measures or reports.
    Measures,
    /// It needs a service.
    Service,
    /// It needs a secret.
    Secret,
    /// It needs another machine.
    Machine,
    /// It cannot fail: CI does not believe it.
    CannotFail,
    /// It runs only on a schedule, a label, a tag, a release or by hand.
    Occasion,
    /// The job edits tracked files before it: it judges another tree.
    EditsFirst,
    /// A script inside a workflow that only a shell understands.
    Inline,
    /// Its text depends on what only CI knows.
    Unknown,
    /// An action that is not known, or that is no check.
    Action,
    /// A hook that is no program of its own: only its hook manager has it, or it is not known.
    Hook,
    /// It verifies nothing: it prints, or prepares for other commands of CI.
    Nothing,
    /// A test compiles the same.
    Built,
    /// A further value of a matrix.
    Matrix,
    /// More checks than a contract that is read from top to bottom has.
    Size,
    /// A task that CI does not run, where CI verifies.
    NotRun,
    /// It fails on the tree as it is, and nothing of that can be told apart.
    Fails,
    /// A file that was not understood.
    NotRead,
}

impl Reason {
    /// The reason as words for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::Installs => "installs",
            Reason::Network => "needs the network",
            Reason::Publishes => "publishes or releases",
            Reason::Deploys => "deploys or works on infrastructure",
            Reason::NeverEnds => "never ends, or waits for a person",
            Reason::Changes => "changes the machine or the tree",
            Reason::Writes => "writes files, and has no form that only checks",
            Reason::Measures => "measures or reports",
            Reason::Service => "needs a service",
            Reason::Secret => "needs a secret",
            Reason::Machine => "needs another machine",
            Reason::CannotFail => "cannot fail, CI does not believe it",
            Reason::Occasion => "runs only on a schedule, a tag, a label or by hand",
            Reason::EditsFirst => "judges a tree that its job has edited before",
            Reason::Inline => "a script inside a workflow (put it into a file to have it verified)",
            Reason::Unknown => "its text depends on what only CI knows",
            Reason::Action => "an action that is no check, or is not known",
            Reason::Hook => "only its hook manager has it",
            Reason::Nothing => "verifies nothing",
            Reason::Built => "a test compiles the same",
            Reason::Matrix => "a further value of a matrix",
            Reason::Size => "more than a contract of twenty checks",
            Reason::NotRun => "CI does not run it",
            Reason::Fails => "fails on the tree as it is",
            Reason::NotRead => "not understood",
        }
    }

    /// The reason as a key of documents.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Reason::Installs => "installs",
            Reason::Network => "network",
            Reason::Publishes => "publishes",
            Reason::Deploys => "deploys",
            Reason::NeverEnds => "never_ends",
            Reason::Changes => "changes",
            Reason::Writes => "writes",
            Reason::Measures => "measures",
            Reason::Service => "service",
            Reason::Secret => "secret",
            Reason::Machine => "machine",
            Reason::CannotFail => "cannot_fail",
            Reason::Occasion => "occasion",
            Reason::EditsFirst => "edits_first",
            Reason::Inline => "inline",
            Reason::Unknown => "unknown",
            Reason::Action => "action",
            Reason::Hook => "hook",
            Reason::Nothing => "nothing",
            Reason::Built => "built",
            Reason::Matrix => "matrix",
            Reason::Size => "size",
            Reason::NotRun => "not_run",
            Reason::Fails => "fails",
            Reason::NotRead => "not_read",
        }
    }
}

/// Something that is no command and was left out as a whole: a workflow, a job, an axis of a
/// matrix, an action, a file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub origin: Origin,
    /// What it is, for people: ``job `deploy` ``.
    pub what: String,
    /// The reason.
    pub reason: Reason,
    /// What in particular is in the way; may be empty.
    pub detail: String,
}

/// All that the sources declare.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    /// The commands, in the order of their sources.
    pub candidates: Vec<Candidate>,
    /// What was left out as a whole.
    pub skipped: Vec<Skipped>,
    /// Tools that CI sets up, with versions where they are said: `go 1.23`.
    pub tools: Vec<String>,
}

impl Declarations {
    /// The candidate of an index of this list.
    #[must_use]
    pub fn candidate(&self, index: usize) -> &Candidate {
        self.candidates
            .get(index)
            .unwrap_or_else(|| bug("no such candidate"))
    }

    /// The candidate of an index of this list, to be changed.
    pub fn candidate_mut(&mut self, index: usize) -> &mut Candidate {
        self.candidates
            .get_mut(index)
            .unwrap_or_else(|| bug("no such candidate"))
    }

    /// Notes something that was left out as a whole.
    pub fn skip(&mut self, origin: Origin, what: String, reason: Reason, detail: String) {
        self.skipped.push(Skipped {
            origin,
            what,
            reason,
            detail,
        });
    }
}
