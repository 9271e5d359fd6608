//! The checked model of a contract, which all front ends share.

#![forbid(unsafe_code)]

mod body;
pub mod caps;
mod checker;
pub mod condition;
pub mod draft;
pub mod error;
pub mod expect;
mod format;
pub mod import;
mod machine;
mod order;
mod policy;
pub mod resolve;
mod selection;
mod service;
pub mod settings;
mod sought;
mod uses;
pub mod validate;

pub use draft::{ConditionIndex, InclusionIndex};
pub use sought::Sought;

use draft::{Allowance, Imported, Rows};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::canon::Digest;
use vplan_base::command::{Command, Env, Piece, ToolchainCommand};
use vplan_base::folders::FolderAnswers;
use vplan_base::glob::Selection;
use vplan_base::hole::Values;
use vplan_base::index::Dense;
use vplan_base::jobs::Jobs;
use vplan_base::path::RepoPath;
use vplan_base::setting::Settings;
use vplan_base::span::{Place, SourceId};
use vplan_base::vocabulary::RewriteRule;
use vplan_check::commands::shell_text;
use vplan_check::definition::FormatDefinition;
use vplan_check::request::Assertion;
use vplan_check::{Kind, Report};

/// A contract without errors. Made by [`validate::validate`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The branch that changes are made for, where it says one: `base`.
    pub base: Option<String>,
    /// The folders that git ignores and a checkout of what is staged has as links: `linked`.
    pub linked: Vec<RepoPath>,
    /// The formats that it defines or imports, by name.
    pub formats: BTreeMap<String, Arc<FormatDefinition>>,
    /// The file, as a repository path, or `-`.
    pub path: String,
    /// The digest of its formatted, comment-free form.
    pub digest: Digest,
    /// The other files that it is made of, in the order in which they were read.
    pub imports: Vec<Imported>,
    /// Of the contract and each use of an imported file, the use that imports it; none for the
    /// contract.
    pub importers: Dense<InclusionIndex, Option<InclusionIndex>>,
    /// The checks, in base order (the order of the file, an import's at its statement).
    pub checks: Dense<CheckIndex, Check>,
    /// Conditions, shared by all checks inside the same block.
    pub conditions: Dense<ConditionIndex, Condition>,
    /// The risk triggers, in file order.
    pub risks: Vec<Risk>,
    /// The `sequence` statements, in file order, `*` already expanded.
    pub sequences: Vec<Sequence>,
    /// All known roles, the four built-in ones included.
    pub roles: BTreeMap<String, Role>,
    /// The places of the service definitions, by name. The checks that use a service have its
    /// definition.
    pub services: BTreeMap<String, ServicePlace>,
    /// `limits`.
    pub limits: Limits,
    /// `scope`.
    pub scope: Scope,
    /// `recover`.
    pub recover: RecoverPolicy,
    /// `gate`.
    pub gate: Gate,
    /// `toolchain`: what says which toolchains are there, by name.
    pub toolchains: BTreeMap<String, ToolchainCommand>,
    /// `judge-with`.
    pub judge_with: Option<Command>,
    /// The contract's own tests, in file order. No plan depends on them.
    pub expects: Vec<expect::Expect>,
    /// The rows of `each` blocks, by the place of what is in them.
    pub rows: Rows,
    /// The checks that the blocks of imports take out.
    pub taken_out: Vec<TakenOut>,
    /// The folders that `each` blocks were written out for.
    pub folders: FolderAnswers,
    /// What imports from other repositories are allowed. No plan depends on it.
    pub allowed: Vec<AllowedImport>,
}

/// What an import from another repository is allowed to widen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedImport {
    /// The file, without its commit.
    pub import: String,
    /// The prefix of its names.
    pub namespace: String,
    /// What it may widen.
    pub words: BTreeSet<Allowance>,
    /// The line of the import.
    pub line: usize,
}

impl Contract {
    /// The values of the row that a place is in, by name; none outside of `each` blocks.
    pub fn row_of(&self, place: Place) -> BTreeMap<String, String> {
        let row = self.rows.get(place).into_iter().flat_map(Values::iter);
        row.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The identity of the contract with all that it imports: its digest, or the digest of the
    /// digests of all files. What a person accepts.
    pub fn identity(&self) -> Digest {
        if self.imports.is_empty() {
            return self.digest.clone();
        }
        let mut imports: Vec<(&str, &Digest)> = self
            .imports
            .iter()
            .map(|i| (i.name.as_str(), &i.digest))
            .collect();
        imports.sort();
        Digest::of_value(&(&self.digest, imports))
    }

    /// The paths and globs that conditions test for existence.
    pub fn sought(&self) -> BTreeSet<&Sought> {
        let lists = self.conditions.iter().filter_map(|c| c.test.sought());
        lists.flatten().collect()
    }

    /// The conditions around a check in one of its places, outermost first.
    pub fn around(&self, placement: &Placement) -> impl Iterator<Item = &Condition> {
        placement.conditions.iter().map(|c| &self.conditions[*c])
    }

    /// The name of an imported file; none for the contract's own.
    pub fn imported(&self, source: SourceId) -> Option<&str> {
        let at = self
            .imports
            .binary_search_by_key(&source, |i| i.source)
            .ok()?;
        self.imports.get(at).map(|i| i.name.as_str())
    }

    /// The name of an imported file, or the path of the contract's own.
    pub fn file(&self, source: SourceId) -> &str {
        self.imported(source).unwrap_or(&self.path)
    }

    /// The check of this name.
    pub fn check(&self, id: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.id == id)
    }

    /// The positions of the checks by name.
    pub fn check_indices(&self) -> BTreeMap<&str, CheckIndex> {
        let checks = self.checks.numbered();
        checks.map(|(i, check)| (check.id.as_str(), i)).collect()
    }

    /// Whether a role's `only` lets checks with these tags through.
    pub fn lets_through(&self, role: &str, tags: &[String]) -> bool {
        self.roles
            .get(role)
            .is_none_or(|role| role.lets_through(tags))
    }
}

vplan_base::index!(
    CheckIndex,
    "check of a contract",
    "Position of a check in its contract."
);
vplan_base::index!(
    RiskIndex,
    "trigger of a contract",
    "Position of a `risk` trigger in its contract."
);

/// One obligation.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name, or the id derived from its words.
    pub id: String,
    /// Whether it has a name of its own (anonymous ones may be merged).
    pub named: bool,
    /// The use of a file that defines it.
    pub inclusion: InclusionIndex,
    /// The place of its definition: its name, or its `run`.
    pub place: Place,
    /// Line of `place`, from 1.
    pub line: usize,
    /// Column of `place`, from 1.
    pub column: usize,
    pub kind: Kind,
    pub body: Body,
    /// The places where it applies: its definition first, then each `use`. It is selected when all
    /// conditions of one of them hold.
    pub placements: Vec<Placement>,
    /// 0, 1 or 2.
    pub tier: u8,
    /// `dir`.
    pub dir: RepoPath,
    /// `env`, the defaults' added, and the assignments in front of the command, which win.
    pub env: Env,
    /// `pass-env`, in file order.
    pub pass_env: Vec<String>,
    /// `tool-path`.
    pub tool_path: Vec<RepoPath>,
    /// Accepted exit codes, sorted.
    pub exit: Vec<i32>,
    /// Exit codes that mean "does not apply here", sorted.
    pub skip_exit: Vec<i32>,
    /// `tags`, in file order, each once.
    pub tags: Vec<String>,
    /// Checks that must run before and pass, in file order.
    pub needs: Vec<CheckIndex>,
    /// `report`.
    pub report: Option<Report>,
    /// The definition of its format, where the contract has it.
    pub format_definition: Option<Arc<FormatDefinition>>,
    /// All other settings, as far as they say what does not hold anyway: `Check::value`.
    pub settings: Settings,
    /// What the blocks of imports change of it.
    pub changed: Vec<ChangedPart>,
}

/// A part of a check that the block of an import changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPart {
    /// `command`, or the name of a setting.
    pub part: String,
    /// Line of the change.
    pub line: usize,
    /// The file of that line.
    pub source: SourceId,
}

/// The place of a service's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServicePlace {
    pub line: usize,
    /// The file of that line.
    pub source: SourceId,
}

/// A check that the block of an import takes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOut {
    pub name: String,
    /// Line of the `without`.
    pub line: usize,
    /// The file of that line.
    pub source: SourceId,
}

/// The body of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// `run`, `compile`, `test`, `lint`. The assignments in front are in [`Check::env`] already;
    /// `Command::Argv::env` is empty.
    Command(Command),
    /// `shell`: the text for `sh -c`.
    Shell(String),
    /// `file`.
    File {
        path: RepoPath,
        /// The assertions, at least one.
        assertions: Vec<Assertion>,
    },
    /// `judge`: the question.
    Judge(String),
}

impl Check {
    /// The words of its command, without `{changed}`; none where it has no argument vector.
    pub fn words(&self) -> Vec<String> {
        let Body::Command(Command::Argv { pieces, .. }) = &self.body else {
            return Vec::new();
        };
        let words = pieces.iter().filter_map(|piece| match piece {
            Piece::Word(word) => Some(String::from_utf8_lossy(word.as_bytes()).into_owned()),
            Piece::Changed => None,
        });
        words.collect()
    }

    /// Whether its command has `{changed}`.
    pub fn has_changed(&self) -> bool {
        matches!(&self.body, Body::Command(command) if command.has_changed())
    }

    /// Whether it gives text to a shell: by its verb, or by `sh -c` after any launchers.
    pub fn goes_through_shell(&self) -> bool {
        let words = self.words();
        self.kind == Kind::Shell || shell_text(words.iter().map(String::as_str)).is_some()
    }
}

/// One place where a check applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The conditions around it, outermost first; all must hold.
    pub conditions: Vec<ConditionIndex>,
    /// Line of the definition or of the `use`.
    pub line: usize,
    /// The file of that line.
    pub source: SourceId,
    /// Whether it is a `use`.
    pub is_use: bool,
}

/// The head of a conditional block.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub line: usize,
    pub place: Place,
    pub test: Test,
}

/// The test of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `byRole`: the request's role is one of these.
    Role(Vec<String>),
    /// `whenChangedAny`: at least one changed file is selected.
    ChangedAny(Selection),
    /// `whenChangedAll`: every positive item selects at least one changed file that the list does
    /// not exclude.
    ChangedAll(Selection),
    /// `whenChangedOnly`: files changed and every one is selected.
    ChangedOnly(Selection),
    /// `whenChangedNone`: no changed file is selected.
    ChangedNone(Selection),
    /// `whenExists`: each of these exists.
    Exists(Vec<Sought>),
    /// `whenExistsAny`: at least one of these exists.
    ExistsAny(Vec<Sought>),
    /// `whenAbsent`: none of these exists.
    Absent(Vec<Sought>),
}

impl Test {
    /// The word that opens such a block.
    pub fn keyword(&self) -> &'static str {
        match self {
            Test::Role(_) => "byRole",
            Test::ChangedAny(_) => "whenChangedAny",
            Test::ChangedAll(_) => "whenChangedAll",
            Test::ChangedOnly(_) => "whenChangedOnly",
            Test::ChangedNone(_) => "whenChangedNone",
            Test::Exists(_) => "whenExists",
            Test::ExistsAny(_) => "whenExistsAny",
            Test::Absent(_) => "whenAbsent",
        }
    }

    /// Returns what it asks the existence of; `None` where it asks for something else.
    pub fn sought(&self) -> Option<&[Sought]> {
        match self {
            Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => Some(all),
            Test::Role(_)
            | Test::ChangedAny(_)
            | Test::ChangedAll(_)
            | Test::ChangedOnly(_)
            | Test::ChangedNone(_) => None,
        }
    }

    /// Returns the selection of a condition about changed files.
    pub fn selection(&self) -> Option<&Selection> {
        match self {
            Test::ChangedNone(selection) => Some(selection),
            test => test.narrowing(),
        }
    }

    /// Returns the selection of a condition that passes on the changed files which it selects.
    pub fn narrowing(&self) -> Option<&Selection> {
        match self {
            Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) => Some(s),
            Test::ChangedNone(_)
            | Test::Role(_)
            | Test::Exists(_)
            | Test::ExistsAny(_)
            | Test::Absent(_) => None,
        }
    }
}

/// A `risk` trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    pub name: String,
    /// The place of its name.
    pub place: Place,
    /// The tier it names; 2 counts as 1.
    pub tier: u8,
    /// The changed files that pull it.
    pub selection: Selection,
    pub line: usize,
}

/// A `sequence`: every selected member of an earlier group runs before every one of a later group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The groups, in order.
    pub groups: Vec<Vec<CheckIndex>>,
    pub line: usize,
}

/// A role and its restrictions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// `only`: checks with one of these tags. Empty means no restriction.
    pub only: Vec<String>,
    /// `max-checks`.
    pub max_checks: Option<u64>,
    /// Its line; none for a built-in one without a block.
    pub line: Option<usize>,
}

impl Role {
    /// Whether it lets checks with these tags through.
    pub fn lets_through(&self, tags: &[String]) -> bool {
        self.only.is_empty() || tags.iter().any(|tag| self.only.contains(tag))
    }
}

/// `limits`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Time for the whole run, in milliseconds.
    pub budget_ms: Option<u64>,
    /// Limit of explicit, inferred and proposed steps.
    pub max_checks: Option<u64>,
    /// Number of parallel steps.
    pub jobs: Option<Jobs>,
}

/// `scope`: where a change may happen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// A changed file that this does not select is outside.
    pub allow: Option<Selection>,
    /// A changed file that this selects is outside.
    pub deny: Option<Selection>,
    /// Line of the block.
    pub line: Option<usize>,
}

/// `recover`: which repairs are allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoverPolicy {
    /// The allowed rules, in the order of engine.md section 6. All by default.
    pub rules: Vec<RewriteRule>,
    /// Whether a contract's own checks may be dropped.
    pub contract: bool,
}

impl Default for RecoverPolicy {
    fn default() -> Self {
        Self {
            rules: RewriteRule::ALL.to_vec(),
            contract: false,
        }
    }
}

/// `gate`: what the ledger asks of a subject's rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// `confirmations`.
    pub confirmations: Option<u32>,
    /// `retries`.
    pub retries: Option<u32>,
    /// `on-exhausted`: `fail`, `escalate` or `allow`.
    pub on_exhausted: Option<String>,
    /// `propagate`: `downgrade`, `reset` or `off`.
    pub propagate: Option<String>,
    /// `same-failure`, at least 2.
    pub same_failure: Option<u32>,
}

/// The roles that every contract knows.
pub const BUILT_IN_ROLES: [&str; 4] = ["worker", "tester", "docser", "reviewer"];
