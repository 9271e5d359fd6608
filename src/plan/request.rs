//! The request: what a caller wants verified, for which change (src/engine.md section 1).

use super::proposal::answer::{Proposal, ProposalRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use vplan_base::change::ChangeSet;
use vplan_base::command::Command;
use vplan_base::folders::FolderAnswers;
use vplan_base::jobs::Jobs;
use vplan_base::name::{is_pattern, matches};
use vplan_base::path::RepoPath;
pub use vplan_base::vocabulary::{Boundary, RiskLevel as Risk};
use vplan_check::confine::Confinement;
use vplan_check::verb::CommandRequest;

/// The source of checks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// An empty plan.
    Off,
    /// The contract alone.
    #[default]
    Contract,
    /// The contract, or what the repository declares where there is none.
    Fallback,
    /// The contract, and always what the proposer adds.
    Llm,
    /// The contract; where it asks for nothing, the proposer; where that knows nothing, what the
    /// repository declares.
    Hybrid,
}

/// A selector of `--only`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// A check, or a pattern of names.
    Name(String),
    /// `tag:NAME`
    Tag(String),
}

impl Selector {
    /// Whether it selects the check of this name with these tags.
    pub fn selects(&self, id: &str, tags: &[String]) -> bool {
        match self {
            Selector::Name(name) => name == id || is_pattern(name) && matches(name, id),
            Selector::Tag(tag) => tags.contains(tag),
        }
    }
}

/// The place where git looked for the changed files. It never looks for files that the caller
/// names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ChangedIn {
    /// In the work tree, which was compared with the base.
    WorkTree,
    /// In the index, which was compared with the base.
    Index,
    /// Nowhere: every file of the tree counts as changed, and nothing is compared.
    Tracked,
}

/// The name of the source of the changed files when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum ChangedFrom {
    /// The work tree against HEAD.
    WorkTree,
    /// The staged changes.
    Staged,
    /// Every tracked file.
    All,
    /// Everything since the merge base with this revision; `auto` is whatever the CI system says.
    Base(String),
}

impl From<ChangedFrom> for String {
    fn from(from: ChangedFrom) -> Self {
        match from {
            ChangedFrom::WorkTree => "work-tree".to_owned(),
            ChangedFrom::Staged => "staged".to_owned(),
            ChangedFrom::All => "all".to_owned(),
            ChangedFrom::Base(revision) => format!("base:{revision}"),
        }
    }
}

/// This text names no source of changed files.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is no source of changed files", vplan_base::word::visible(.0))]
pub struct UnknownSource(String);

impl TryFrom<String> for ChangedFrom {
    type Error = UnknownSource;

    fn try_from(text: String) -> Result<Self, UnknownSource> {
        Ok(match text.as_str() {
            "work-tree" => ChangedFrom::WorkTree,
            "staged" => ChangedFrom::Staged,
            "all" => ChangedFrom::All,
            other => match other.strip_prefix("base:") {
                Some(revision) if !revision.is_empty() => ChangedFrom::Base(revision.to_owned()),
                _ => return Err(UnknownSource(text)),
            },
        })
    }
}

/// A recorded waiver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// The check.
    pub name: String,
    /// The reason; never blank.
    pub reason: String,
}

/// A request to the planner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The role; `None` means `worker`.
    pub role: Option<String>,
    /// The changed files.
    pub changed: ChangeSet,
    /// The name of their source, if git found them.
    pub changed_from: Option<ChangedFrom>,
    /// The place where git looked for them, if it did.
    pub changed_in: Option<ChangedIn>,
    /// The commit that they were compared with, in full, if they were.
    pub base: Option<String>,
    /// Whether the plan is made in version 1, to be compared with a saved one of that version.
    pub in_version_1: bool,
    /// The risk level.
    pub risk: Risk,
    /// The boundaries, sorted, each once.
    pub boundaries: Vec<Boundary>,
    /// Minimum tier: 0, 1 or 2.
    pub min_tier: u8,
    /// Explicit commands, in order.
    pub explicit: Vec<CommandRequest>,
    /// The proposer's answer (modes `llm` and `hybrid`), if it was called.
    pub proposal: Option<Proposal>,
    /// The commands that the repository declares (modes `fallback` and `hybrid`): id and command.
    pub inferred: Vec<(String, Command)>,
    /// The source of checks.
    pub mode: Mode,
    /// `run NAME…`: these checks, regardless of their conditions and tiers; empty means those whose
    /// conditions hold.
    pub names: Vec<Selector>,
    /// `--only`; empty means all.
    pub only: Vec<Selector>,
    /// `--skip`.
    pub skip: Vec<Skip>,
    /// `--jobs`; the contract's `limits jobs` without it, else 1.
    pub jobs: Option<Jobs>,
    /// `--budget` in milliseconds; the lesser of it and the contract's counts.
    pub budget_ms: Option<u64>,
    /// `--keep-going`.
    pub keep_going: bool,
    /// `--no-recover`.
    pub no_recover: bool,
    /// `--sandbox` and `--network`: every command is confined at least so.
    pub confinement: Confinement,
    /// The folders that the base has and the work tree has not, of those that the contract asks for.
    pub gone: GoneFolders,
}

/// The folders that are gone since the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoneFolders {
    /// Each with the checks that went.
    pub folders: Vec<GoneFolder>,
    /// What the base and the work tree have together, of the questions where that is more.
    pub base: FolderAnswers,
}

/// A folder that is gone since the base, and with it the checks that an `each` made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneFolder {
    /// It.
    pub folder: RepoPath,
    /// The number of further folders with which some of the checks may have gone instead: too many
    /// are gone to find that out for each.
    pub others: usize,
    /// The checks that are gone.
    pub checks: Vec<String>,
}

impl Request {
    /// Returns the boundaries in their order, each once.
    pub(crate) fn sorted_boundaries(&self) -> Vec<Boundary> {
        let each_once: BTreeSet<Boundary> = self.boundaries.iter().copied().collect();
        each_once.into_iter().collect()
    }

    /// Returns the explicit commands as texts.
    pub(crate) fn explicit_texts(&self) -> Vec<String> {
        self.explicit.iter().map(CommandRequest::to_text).collect()
    }
    /// Returns the request without restrictions: without names, `--only` and `--skip`, and not
    /// switched off.
    pub fn whole(&self) -> Self {
        Self {
            mode: match self.mode {
                Mode::Off => Mode::Contract,
                mode => mode,
            },
            names: Vec::new(),
            only: Vec::new(),
            skip: Vec::new(),
            ..self.clone()
        }
    }
}

/// A request as a plan keeps it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRecord {
    /// The commit that the change was compared with, in full; absent where nothing was: for files
    /// that the caller named, for every tracked file, and on a branch without commits.
    pub base: Option<String>,
    /// The boundaries, sorted.
    pub boundaries: Vec<Boundary>,
    /// The changed files, sorted.
    pub changed: ChangeSet,
    /// Annotation: how their source was called, `work-tree`, `staged`, `all` or `base:NAME`;
    /// absent when the caller named them.
    pub changed_from: Option<ChangedFrom>,
    /// The place where git looked for them, so that a saved plan can be compared with the present
    /// changes; absent when the caller named them.
    pub changed_in: Option<ChangedIn>,
    /// Explicit commands in normal form; `VERB:` in front is the verb that the caller states.
    pub explicit: Vec<String>,
    /// The least tier.
    pub min_tier: u8,
    /// The source of checks.
    pub mode: Mode,
    /// The checks that were named to run whatever their conditions say: `NAME` and `tag:NAME`,
    /// sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// `NAME` and `tag:NAME`, sorted.
    pub only: Vec<String>,
    /// The recorded answer of the proposer, if one takes part.
    pub proposal: Option<ProposalRef>,
    /// The risk level.
    pub risk: Risk,
    /// The role.
    pub role: String,
    /// The waivers, sorted by name.
    pub skip: Vec<Skip>,
}
