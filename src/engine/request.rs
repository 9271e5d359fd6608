//! The requests of a caller for planning and verifying.

use super::failure::Failure;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use vplan_base::canon::Digest;
use vplan_base::source::{Source, Sources};
use vplan_base::span::Place;
use vplan_base::vocabulary::Exit;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::commands::shell_text;
use vplan_check::verb::{self, CommandRequest};
use vplan_contract::error::command_verb;
use vplan_git::object::Oid;
use vplan_lang::command::parse_command;
use vplan_ledger::Status;
use vplan_os::environment::Grants;
use vplan_plan::audit::FindingKind;
use vplan_plan::request::{ChangedFrom, Request, Selector};
use vplan_plan::shard::Shard;
use vplan_plan::shard::division::Division;
use vplan_plan::{Plan, Step, definition};
use vplan_repo::changes::{BaseRevision, ChangeSource};
use vplan_reuse::decide::Use;
use vplan_run::verdict::Require;
use vplan_store::history::Keep;

/// The default time limit of a proposer.
pub(crate) const PROPOSER_TIMEOUT: Duration = Duration::from_secs(120);

/// A request for a plan. The default is the whole change, under the contract.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// The request to the planner. Facts about the change are added when it is opened.
    pub request: Request,
    /// The program that proposes commands (modes `llm` and `hybrid`).
    pub proposer: Option<OsString>,
    /// The time limit of the proposer; `PROPOSER_TIMEOUT` otherwise.
    pub proposer_timeout: Option<Duration>,
    /// Do not repair the plan before it runs.
    pub no_preflight: bool,
    /// Plans that are refused.
    pub deny: Vec<Deny>,
    /// The revision from which the contract is read; the work tree otherwise.
    pub contract_from: Option<String>,
    /// The changed files; without it, everything since the merge base with the default branch.
    pub changes: Option<ChangeSource>,
}

impl PlanRequest {
    /// Whether it names a base to compare with.
    pub(crate) fn names_base(&self) -> bool {
        matches!(self.changes, Some(ChangeSource::Base(_)))
    }

    /// Whether every file of the tree is changed.
    pub fn takes_all(&self) -> bool {
        self.changes == Some(ChangeSource::All)
    }

    /// Whether it names its changes, which need not be the whole change then.
    pub(crate) fn names_changes(&self) -> bool {
        !matches!(self.changes, None | Some(ChangeSource::Base(_)))
    }

    /// Returns how the changed files are found, for the plan. `since`: the commit at which the
    /// subject began, which is the default to compare with.
    pub(super) fn changed_from(&self, since: Option<Oid>) -> Option<ChangedFrom> {
        let base = |name: &str| Some(ChangedFrom::Base(name.to_owned()));
        match &self.changes {
            Some(ChangeSource::Base(BaseRevision::Auto)) => base("auto"),
            Some(ChangeSource::Base(BaseRevision::Revision(name))) => base(name),
            Some(ChangeSource::Staged) => Some(ChangedFrom::Staged),
            Some(ChangeSource::All) => Some(ChangedFrom::All),
            None => Some(since.map_or(ChangedFrom::WorkTree, |commit| {
                ChangedFrom::Base(commit.to_string())
            })),
            Some(ChangeSource::WorkTree) => Some(ChangedFrom::WorkTree),
            Some(ChangeSource::Named(_) | ChangeSource::From { .. } | ChangeSource::None) => None,
            Some(ChangeSource::Recorded { base, .. }) => base.clone().map(ChangedFrom::Base),
        }
    }
}

/// Parses a command of a request. `of`: the name of its source, for messages.
///
/// # Errors
/// A misspelt verb, or one that takes no command (exit 2).
pub fn command_request(of: &str, text: &str) -> Result<CommandRequest, Failure> {
    let Some(found) = verb::wrong(text) else {
        return Ok(CommandRequest::read(text, parse_command));
    };
    let mut sources = Sources::default();
    let place = Place::new(sources.add(Source::new(of, text)), found.span);
    let message = format!("`{of}` has a command that is not read");
    Err(Failure::usage("vplan::usage::command_verb", message)
        .diagnosed(sources, vec![command_verb(&found, place)]))
}

/// Parses a selector of checks: a name, or `tag:NAME`.
pub fn selector(text: &str) -> Selector {
    match text.strip_prefix("tag:") {
        Some(tag) => Selector::Tag(tag.to_owned()),
        None => Selector::Name(text.to_owned()),
    }
}

/// The default limit of a step's stored output, in bytes.
pub(crate) const MAX_OUTPUT: u64 = 64 << 20;

/// A request to verify a change.
#[derive(Clone, Debug, Default)]
pub struct VerifyRequest {
    /// The plan that is requested.
    pub plan: PlanRequest,
    /// The plan file that is run instead of a plan that is made.
    pub file: Option<PlanFile>,
    /// The digest of the only plan that may run.
    pub expect_digest: Option<Digest>,
    /// The share of the plan that runs.
    pub shard: Option<Shard>,
    /// The division of steps into shards. By default, shards get steps in turn.
    pub division: Option<Division>,
    /// Permissions for a contract that is weaker than the one at the base.
    pub allow_contract_change: Option<Allowed>,
    /// The subject of this round.
    pub subject: Option<String>,
    /// The caller's statement about the round. Without one, a pass means that the work is finished.
    pub status: Option<Status>,
    /// The number of the attempt at the same work, from 1, for requests without a subject. The
    /// default is 1.
    pub attempt: Option<u32>,
    /// The minimum coverage of a pass.
    pub require: Require,
    /// Refuse to run unless a step's whole process tree can be ended.
    pub require_subtree: bool,
    /// What to do if this machine cannot confine a step as requested.
    pub sandbox_missing: SandboxMissing,
    /// Folders in which a file that a confined step may change can have further names.
    pub sandbox_stores: Vec<PathBuf>,
    /// The program that answers `judge` checks, instead of the contract's.
    pub judge: Option<OsString>,
    /// The environment and privileges of steps.
    pub grants: Grants,
    /// Limit of a step's stored output, in bytes; `MAX_OUTPUT` otherwise.
    pub max_output: Option<u64>,
    /// Observe what each step reads, writes and connects to, and record it. Uses no cached passes.
    pub observe: bool,
    /// The kinds of findings that fail an observed run.
    pub deny_findings: Vec<FindingKind>,
    /// The directory of the records; `.vplan/` at the root otherwise.
    pub records: Option<PathBuf>,
    /// How many records of earlier runs are kept.
    pub keep: Keep,
    /// The use of results of earlier runs.
    pub reuse: Use,
    /// The store of passes of other machines.
    pub cache: CacheRequest,
    /// The remote execution of steps.
    pub remote: Option<RemoteRequest>,
    /// Files that the caller writes itself, which are not part of the work.
    pub own_files: Vec<PathBuf>,
}

/// A shared cache, and the keys that are trusted for it.
#[derive(Clone, Debug, Default)]
pub struct CacheRequest {
    /// Its address: `folder:DIR`, `https://HOST/PATH`. The default is `VPLAN_CACHE`.
    pub url: Option<String>,
    /// Whether others on the way to it may read it.
    pub insecure: bool,
    /// The file of the headers of each request.
    pub headers: Option<PathBuf>,
    /// The operator's description of this machine: machines of one scope share passes.
    pub scope: Option<String>,
    /// The file of the public keys that are trusted, instead of the user's own.
    pub trust: Option<PathBuf>,
    /// The file of the private key that signs own passes, if they are to be shared.
    pub sign: Option<PathBuf>,
    /// The certificates of the server and of this machine.
    pub tls: TlsFiles,
}

/// The certificates and keys of a server and of this machine, in PEM files.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The trusted authorities, instead of those of the web.
    pub authorities: Option<PathBuf>,
    /// This machine's certificate, and its private key.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// The remote execution of steps.
#[derive(Clone, Debug)]
pub struct RemoteRequest {
    /// The transport: `folder:DIR`, `grpcs://HOST/INSTANCE`.
    pub url: String,
    /// Whether an unencrypted address is allowed.
    pub insecure: bool,
    /// The file of the headers of each request.
    pub headers: Option<PathBuf>,
    /// The certificates of the server and of this machine.
    pub tls: TlsFiles,
    /// The required properties of its machines: names and values.
    pub properties: Vec<(String, String)>,
    /// The maximum time that a step may wait for a machine.
    pub queue: Duration,
    /// Maximum number of remote steps in parallel.
    pub jobs: usize,
    /// Whether a step without an answer is executed here.
    pub fall_back: bool,
    /// The vplan for remote machines; by default, this program.
    pub binary: Option<PathBuf>,
}

/// What to do if a machine cannot confine a step as requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMissing {
    /// Nothing starts.
    #[default]
    Refuse,
    /// The step runs with the available confinement, and its report lists what is missing.
    Run,
}

/// A plan file to be run.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The path of the plan file.
    pub path: PathBuf,
    /// Run it even if the plan would be different today.
    pub allow_drift: bool,
    /// Run it even if there is no contract to confirm it.
    pub as_is: bool,
}

/// The contract that is accepted although it is weaker than the one at the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Any contract that the loop makes, if it is not weaker.
    Any,
    /// This very contract.
    Contract(Digest),
}

/// The kinds of steps that can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deny {
    /// A step whose command is defined by a changed file.
    DefinitionChanged,
    /// A step that runs `sh -c`.
    Shell,
}

/// Whether a step gives text to a shell: by its verb, or by `sh -c` after any launchers.
fn goes_through_shell(step: &Step) -> bool {
    let words = step
        .argv
        .iter()
        .flatten()
        .map(|word| word.as_str().unwrap_or_default());
    step.kind == Kind::Shell || shell_text(words).is_some()
}

/// Refuses a plan with a step that is denied: exit 40.
pub(super) fn deny(plan: &Plan, what: &[Deny]) -> Result<(), Failure> {
    let refuse = |code: &str, message: String, help: &str| {
        Err(Failure::new(Exit::Failed, code, message).help(help))
    };
    if what.contains(&Deny::DefinitionChanged)
        && let Some(line) = definition::lines(plan).into_iter().next()
    {
        return refuse(
            "vplan::deny::definition_changed",
            line,
            "have a person look at the change, then run without `--deny`",
        );
    }
    let mut steps = plan.steps.iter().filter(|_| what.contains(&Deny::Shell));
    if let Some(step) = steps.find(|step| goes_through_shell(step)) {
        let message = format!("`{}` goes through a shell", visible(&step.id));
        return refuse(
            "vplan::deny::shell",
            message,
            "write it as one command, without the verb `shell` or `sh -c`",
        );
    }
    Ok(())
}
