//! Loads the repository and the contract that a command line names, and makes the plan.

use super::args::{Deny, Global, ListFormat, Mode, Request as Asked};
use super::command::command;
use super::error::Failure;
use super::pinning;
use super::propose::Asking;
use super::terminal::Terminal;
use crate::base::change::ChangeSet;
use crate::base::command::Command;
use crate::base::diagnostic::Severity;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::effect::git;
use crate::effect::git::Git;
use crate::effect::git::object::Oid;
use crate::effect::os::files;
use crate::effect::os::input;
use crate::effect::os::state_dir::{self, StateDir, StateError};
use crate::effect::repo::changes::base::{Statement, default_base};
use crate::effect::repo::changes::earlier::earlier;
use crate::effect::repo::changes::kept::Kept;
use crate::effect::repo::changes::{self, BaseRevision, ChangeError, ChangeSource, Gathered, said};
use crate::effect::repo::facts::{self, Ground};
use crate::effect::repo::load::{self, LoadError, Loaded, Site, Wanted};
use crate::effect::repo::{infer, lockfile};
use crate::effect::store::vault::{self, Vault};
use crate::plan::caveat;
use crate::plan::compared::Compared;
use crate::plan::compile::{Compiled, compile};
use crate::plan::definition::changed_definitions;
use crate::plan::facts::{Facts, MAX_FACT_ROUNDS, Question};
use crate::plan::request::{Boundary, ChangedFrom, ChangedIn, Request, Selector, Skip};
use crate::plan::{Plan, request::Mode as PlanMode};
use crate::recover;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The largest list of changed files or commands that is read, in bytes.
const MAX_LIST: u64 = 256 << 20;

/// Everything up to the plan.
#[derive(Debug)]
pub struct Session {
    /// Where.
    pub site: Site,
    /// Where the contract is, or would be.
    pub contract_path: RepoPath,
    /// Which files changed, and how that is known.
    pub gathered: Gathered,
    /// The contract; none where there need be none.
    pub loaded: Option<Loaded>,
    /// What is asked.
    pub request: Request,
}

/// Where the state of a repository is: its ledger, its reusable results.
///
/// # Errors
/// Exit 5 when it cannot be had.
pub fn state(global: &Global, site: &Site) -> Result<StateDir, Failure> {
    StateDir::open(&state_base(global)?, &site.root).map_err(|e| state_failed(&e))
}

/// The same for who only looks: nothing is made, and `None` says that nothing is kept yet.
///
/// # Errors
/// A place that cannot be entered: exit 5.
pub fn kept_state(global: &Global, site: &Site) -> Result<Option<StateDir>, Failure> {
    StateDir::find(&state_base(global)?, &site.root).map_err(|e| state_failed(&e))
}

/// Where it is remembered how runs ended. That there is no place for it is no reason not to run: it
/// is one not to believe the record later.
#[must_use]
pub fn vault(global: &Global, site: &Site) -> Option<Vault> {
    let state = state(global, site)
        .inspect_err(|failure| tracing::debug!(why = failure.message, "no vault"))
        .ok()?;
    Vault::open(&state)
        .inspect_err(|error| tracing::debug!(%error, "no vault"))
        .ok()
}

/// The same for who only looks: `None` where nothing was ever remembered.
///
/// # Errors
/// A place that cannot be entered: exit 5.
pub fn kept_vault(global: &Global, site: &Site) -> Result<Option<Vault>, Failure> {
    let Some(state) = kept_state(global, site)? else {
        return Ok(None);
    };
    let failed = |e| StateError::Io(state.path.join(vault::FOLDER), e);
    Vault::find(&state).map_err(|e| state_failed(&failed(e)))
}

fn state_base(global: &Global) -> Result<PathBuf, Failure> {
    state_dir::base(global.state_dir.as_deref(), git::environment).map_err(|e| state_failed(&e))
}

fn state_failed(error: &StateError) -> Failure {
    Failure::new(Exit::Setup.code(), "vplan::state", error.to_string()).help(error.help())
}

impl Session {
    /// Finds the repository, the changed files and the contract.
    ///
    /// # Errors
    /// What does not fit, is missing or invalid, with its exit code.
    pub fn open(global: &Global, asked: &Asked, terminal: &Terminal) -> Result<Self, Failure> {
        Self::open_since(global, asked, terminal, None)
    }

    /// The same; where the caller names no changes, the change is everything since a commit.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_since(
        global: &Global,
        asked: &Asked,
        terminal: &Terminal,
        since: Option<Oid>,
    ) -> Result<Self, Failure> {
        let site = locate(global)?;
        let early = early(&site, global, asked);
        let gathered = gather(
            &site,
            global,
            asked,
            early.as_ref().and_then(base_line),
            since,
        )?;
        for note in gathered.notes.iter().filter(|_| !terminal.quiet) {
            terminal.note(&format!("note: {note}\n"));
        }
        let explicit = explicit(asked)?;
        let read =
            early.unwrap_or_else(|| read_contract(&site, global, asked, gathered.base.as_ref()));
        let loaded = contract(
            read,
            asked,
            !explicit.is_empty() || proposes(&site, global, asked),
        )?;
        let mut request = Request {
            role: asked.role.clone(),
            changed: gathered.changes.clone(),
            changed_from: changed_from(asked, since),
            changed_in: gathered.place,
            base: gathered.compared_with().map(ToString::to_string),
            in_version_1: false,
            risk: asked.risk.into(),
            boundaries: boundaries(asked),
            min_tier: asked.min_tier,
            explicit,
            inferred: Vec::new(),
            proposal: None,
            mode: match asked.mode {
                Mode::Off => PlanMode::Off,
                Mode::Contract => PlanMode::Contract,
                Mode::Fallback => PlanMode::Fallback,
                Mode::Llm => PlanMode::Llm,
                Mode::Hybrid => PlanMode::Hybrid,
            },
            names: Vec::new(),
            only: asked.only.iter().map(|o| selector(o)).collect(),
            skip: skips(asked)?,
            jobs: asked.jobs,
            budget_ms: asked.budget,
            keep_going: asked.keep_going,
            no_recover: asked.no_recover,
        };
        if asked.mode == Mode::Fallback && loaded.is_none() {
            request.inferred = inferred(&site)?;
        }
        let contract_path =
            load::contract_path(&site, global.contract.as_deref()).map_err(load_failed)?;
        Ok(Self {
            site,
            contract_path,
            gathered,
            loaded,
            request,
        })
    }

    /// The contract, if there is one.
    #[must_use]
    pub fn contract(&self) -> Option<&crate::contract::Contract> {
        self.loaded.as_ref().and_then(|l| l.contract.as_ref())
    }

    /// Compiles the plan, asks the proposer where the mode says so, and repairs what is known for
    /// certain to break.
    ///
    /// # Errors
    /// A request that does not fit the contract (exit 2), a step that `--deny` refuses (exit 40), a
    /// proposer that may not be asked (exit 4). One that fails leaves what the contract asks
    /// for, with a caveat.
    pub fn plan(&mut self, asked: &Asked, asking: Asking) -> Result<(Plan, Facts), Failure> {
        let made = self.make(asked, asking, !asked.no_preflight && !asked.no_recover)?;
        deny(&made.0, &asked.deny)?;
        Ok(made)
    }

    /// The same, with or without preflight, and refuses nothing.
    ///
    /// # Errors
    /// As [`Session::plan`], but for what is refused.
    pub(super) fn make(
        &mut self,
        asked: &Asked,
        asking: Asking,
        preflight: bool,
    ) -> Result<(Plan, Facts), Failure> {
        let mut facts = Facts::default();
        let mode = self.request.mode;
        let mut failed = None;
        self.request.proposal = if mode == PlanMode::Llm {
            self.proposal(asked, asking, true, &mut failed)?
        } else {
            None
        };
        if mode == PlanMode::Hybrid {
            self.request.inferred.clear();
        }
        let mut plan = self.compile(&mut facts)?;
        if mode == PlanMode::Hybrid && plan.steps.is_empty() {
            self.request.proposal = self.proposal(asked, asking, false, &mut failed)?;
            if self
                .request
                .proposal
                .as_ref()
                .is_none_or(|p| p.commands.is_empty())
            {
                self.request.inferred = inferred(&self.site)?;
            }
            plan = self.compile(&mut facts)?;
        }
        let unseen = self.unseen(&plan, &facts)?;
        if preflight {
            for _ in 0..MAX_FACT_ROUNDS {
                let questions = recover::preflight_questions(&plan, &facts);
                if questions.is_empty() {
                    break;
                }
                tracing::debug!(
                    questions = questions.len(),
                    "looking for steps that are known to break"
                );
                facts.0.extend(self.answer(&questions).0);
            }
            plan = recover::preflight(plan, &facts);
        }
        self.annotate(&mut plan, &facts);
        plan.caveats.extend(unseen);
        plan.caveats.extend(failed);
        Ok((plan, facts))
    }

    /// Compiles, and gathers the facts that compiling asks for.
    fn compile(&self, facts: &mut Facts) -> Result<Plan, Failure> {
        self.compiled(self.contract(), &self.request, facts)
    }

    /// The same for another contract or another request of the same repository.
    ///
    /// # Errors
    /// A request that does not fit the contract (exit 2).
    pub(super) fn compiled(
        &self,
        contract: Option<&crate::contract::Contract>,
        request: &Request,
        facts: &mut Facts,
    ) -> Result<Plan, Failure> {
        for round in 1..=MAX_FACT_ROUNDS {
            match compile(contract, request, facts)? {
                Compiled::Plan(compiled) => {
                    tracing::debug!(
                        round,
                        steps = compiled.steps.len(),
                        omitted = compiled.omitted.len(),
                        digest = compiled.digest.as_ref().map(tracing::field::display),
                        "compiled"
                    );
                    return Ok(*compiled);
                }
                Compiled::Needs(questions) => {
                    tracing::debug!(round, questions = questions.len(), "compiling needs facts");
                    facts.0.extend(self.answer(&questions).0);
                }
            }
        }
        Err(Failure::new(
            Exit::Internal.code(),
            "vplan::internal",
            "compiling asks for facts without end",
        ))
    }

    /// Says what was compared, and what keeps that from being all that changed.
    fn annotate(&self, plan: &mut Plan, facts: &Facts) {
        let Gathered {
            changes,
            description,
            default,
            caveats,
            ..
        } = &self.gathered;
        plan.compared = Some(Compared {
            base: self.gathered.compared_with().map(ToString::to_string),
            branch: default.as_ref().and_then(|d| d.reference.clone()),
            changed: changes.len(),
            earlier_checks: self.earlier_checks(plan, facts),
            what: description.clone(),
        });
        let nothing = changes.is_empty() || plan.steps.is_empty();
        plan.caveats
            .extend(caveats.iter().cloned().map(|mut caveat| {
                // Commits that were not looked at could hold all there is to verify.
                if caveat.code == caveat::Code::BaseUnknown
                    && nothing
                    && self.request.mode != PlanMode::Off
                {
                    caveat.effect = caveat::Effect::Incomplete;
                }
                caveat
            }));
    }

    /// How many steps are in the plan because of files that only earlier commits changed.
    fn earlier_checks(&self, plan: &Plan, facts: &Facts) -> Option<usize> {
        let earlier = self.gathered.earlier.as_ref()?;
        if earlier.is_empty() {
            return Some(0);
        }
        let others = self
            .request
            .changed
            .files()
            .iter()
            .filter(|f| !earlier.contains(&f.path))
            .cloned()
            .collect();
        let request = Request {
            changed: ChangeSet::new(others),
            ..self.request.clone()
        };
        let without = self
            .compiled(self.contract(), &request, &mut facts.clone())
            .ok()?;
        fn checks(plan: &Plan) -> BTreeSet<&str> {
            plan.steps
                .iter()
                .map(|s| s.batch_of.as_ref().unwrap_or(&s.id).as_str())
                .collect()
        }
        Some(checks(plan).difference(&checks(&without)).count())
    }

    /// Leaves a file out of the changes that git found: a plan in the work tree is no part of the
    /// change that it is about.
    pub(super) fn leave_out(&mut self, file: &Path) {
        let inside = file.parent().map(|p| {
            if p.as_os_str().is_empty() {
                Path::new(".")
            } else {
                p
            }
        });
        let Some(real) = inside
            .and_then(|p| p.canonicalize().ok())
            .zip(file.file_name())
            .map(|(p, n)| p.join(n))
        else {
            return;
        };
        let Ok(below) = real.strip_prefix(&self.site.root) else {
            return;
        };
        if self.request.changed_in.is_some() {
            let files = self.request.changed.files().iter();
            let others = files
                .filter(|f| f.path.as_bytes() != below.as_os_str().as_bytes())
                .cloned()
                .collect();
            self.request.changed = ChangeSet::new(others);
            self.gathered.changes = self.request.changed.clone();
        }
    }

    /// Answers questions about the repository; what cannot be looked at is "unknown", and then
    /// decides nothing.
    #[must_use]
    pub fn answer(&self, questions: &BTreeSet<Question>) -> Facts {
        let ground = Ground {
            root: &self.site.root,
            git: self.git(),
            base: self.gathered.base.as_ref(),
            changes: &self.request.changed,
        };
        facts::answer(questions, &ground).unwrap_or_default()
    }

    /// Git, if this is a repository of it.
    #[must_use]
    pub fn git(&self) -> Option<&Git> {
        self.site
            .git
            .as_ref()
            .ok()
            .filter(|git| git.available().is_ok())
    }
}

/// Finds the repository around the working directory, which is that of `-C`.
///
/// # Errors
/// A directory that cannot be entered.
pub fn locate(global: &Global) -> Result<Site, Failure> {
    let mut site = load::locate(
        Path::new("."),
        global.contract.as_deref(),
        &git::environment,
    )
    .map_err(load_failed)?;
    // Where there is no such place, everything is read again.
    if let Ok(states) = state_base(global) {
        site.git = site.git.map(|git| git.with_memory(&states));
    }
    Ok(site)
}

/// Reads the contract of the work tree on its own: for `check`.
///
/// # Errors
/// There is none, or it cannot be read. An invalid one is no error here.
pub fn load_contract(site: &Site, global: &Global) -> Result<Loaded, Failure> {
    let wanted = Wanted {
        contract: global.contract.as_deref(),
        revision: None,
        base: None,
        max_file: global.max_file,
    };
    pinning::load(site, global, &wanted)?.map_err(load_failed)
}

fn gather(
    site: &Site,
    global: &Global,
    asked: &Asked,
    line: Option<(String, RepoPath)>,
    since: Option<Oid>,
) -> Result<Gathered, Failure> {
    let statement = line
        .as_ref()
        .map(|(branch, contract)| Statement { branch, contract });
    let kept = kept(global, site);
    let own = source(asked)?;
    let begun = since.filter(|_| own.is_none());
    let recorded = |commit: Oid| ChangeSource::Recorded {
        place: ChangedIn::WorkTree,
        base: Some(commit.to_string()),
    };
    let source = own.or(begun.map(recorded));
    let ci = crate::effect::os::terminal::look().ci;
    let mut gathered = match &source {
        Some(source) => changes::gather_stated(
            Some(source),
            site.git.as_ref(),
            &git::environment,
            statement,
        )
        .map_err(changes_unknown)?,
        None => {
            changes::by_default(site.git.as_ref(), statement, &kept).map_err(changes_unknown)?
        }
    };
    if let Some(commit) = begun {
        gathered.description = format!(
            "the work tree against the commit at which the subject began ({})",
            commit.short()
        );
    }
    if let Some(lacking) = gathered
        .default
        .as_ref()
        .and_then(|d| d.lacking())
        .filter(|_| ci)
    {
        return Err(changes_unknown(ChangeError::Lacking(Box::new(
            lacking.clone(),
        ))));
    }
    if let (Ok(git), Some(base)) = (&site.git, gathered.base) {
        let unknown = |e| changes_unknown(ChangeError::Git(e));
        if let Some(ChangeSource::Base(BaseRevision::Revision(_))) = &source {
            let default = default_base(git, statement, &kept).map_err(unknown)?;
            if default.is_before(&base, git, &kept).map_err(unknown)? {
                gathered.caveats.push(said::later(&default, "`--base`"));
            }
        }
        if begun.is_some() || matches!(source, None | Some(ChangeSource::Base(_))) {
            gathered.earlier = earlier(git, &base, &gathered.changes, &kept).map_err(unknown)?;
        }
    }
    if gathered.is_empty_by_default() && ci {
        let message = "nothing changed, and this is CI: an empty change set must be asked for";
        return Err(Failure::usage("vplan::usage::empty_change_set", message).help(
            "name the changes: `--base REV` or `--base auto` for a branch, `--all` for everything, `--changed-none` for nothing",
        ));
    }
    Ok(gathered)
}

/// What is known of commits of this repository. That nothing can be kept costs time only.
#[must_use]
pub fn kept(global: &Global, site: &Site) -> Kept {
    state_base(global).map_or_else(|_| Kept::nowhere(), |base| Kept::below(base, &site.root))
}

/// Gathers the changed files from a source.
///
/// # Errors
/// They cannot be known (exit 2).
pub(super) fn gather_from(site: &Site, source: Option<&ChangeSource>) -> Result<Gathered, Failure> {
    changes::gather(source, site.git.as_ref(), &git::environment).map_err(changes_unknown)
}

/// Makes the failure of a change that is not known.
pub(super) fn changes_unknown(error: ChangeError) -> Failure {
    let exit = if matches!(error, ChangeError::NotFetched { .. }) {
        Exit::Drift
    } else {
        Exit::Usage
    };
    Failure::new(exit.code(), error.code(), error.to_string()).helped(error.help())
}

fn source(asked: &Asked) -> Result<Option<ChangeSource>, Failure> {
    let changes = &asked.changes;
    Ok(if !changes.changed.is_empty() {
        Some(ChangeSource::Named(
            changes
                .changed
                .iter()
                .map(|p| p.as_bytes().to_vec())
                .collect(),
        ))
    } else if let Some(path) = &changes.changed_from {
        Some(ChangeSource::From {
            bytes: read(path)?,
            format: match changes.changed_format {
                ListFormat::Names => changes::list::ListFormat::Names,
                ListFormat::NameStatus => changes::list::ListFormat::NameStatus,
                ListFormat::Raw => changes::list::ListFormat::Raw,
            },
            nul: changes.null,
        })
    } else if let Some(base) = &changes.base {
        let auto = base == "auto";
        Some(ChangeSource::Base(if auto {
            BaseRevision::Auto
        } else {
            BaseRevision::Revision(base.clone())
        }))
    } else if changes.staged {
        Some(ChangeSource::Staged)
    } else if changes.all {
        Some(ChangeSource::All)
    } else if changes.changed_none {
        Some(ChangeSource::None)
    } else {
        None
    })
}

fn changed_from(asked: &Asked, since: Option<Oid>) -> Option<ChangedFrom> {
    let changes = &asked.changes;
    let named =
        !changes.changed.is_empty() || changes.changed_from.is_some() || changes.changed_none;
    match &changes.base {
        Some(base) => Some(ChangedFrom::Base(base.clone())),
        None if changes.staged => Some(ChangedFrom::Staged),
        None if changes.all => Some(ChangedFrom::All),
        None if named => None,
        None => Some(since.map_or(ChangedFrom::WorkTree, |commit| {
            ChangedFrom::Base(commit.to_string())
        })),
    }
}

/// Reads a file that the command line names, or standard input for `-`.
///
/// # Errors
/// A file that cannot be read is a usage error.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        input::standard(MAX_LIST)
    } else {
        files::read_plain(path, MAX_LIST)
    };
    read.map_err(|e| {
        let shown = visible(path.as_os_str().as_bytes());
        Failure::usage(
            "vplan::usage::unreadable",
            format!("`{shown}` cannot be read: {e}"),
        )
    })
}

fn explicit(asked: &Asked) -> Result<Vec<Command>, Failure> {
    let mut commands = asked
        .command
        .iter()
        .map(|text| command(text))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &asked.commands_from {
        let wrong = |why: &str| {
            let shown = visible(path.as_os_str().as_bytes());
            Failure::usage("vplan::usage::commands", format!("`{shown}` {why}"))
                .help("one command a line, or a JSON array of strings")
        };
        let text = String::from_utf8(read(path)?).map_err(|_| wrong("is not UTF-8"))?;
        let list: Vec<String> = if text.trim_start().starts_with('[') {
            serde_json::from_str(&text)
                .map_err(|e| wrong(&format!("is no JSON array of strings: {e}")))?
        } else {
            text.lines()
                .map(str::to_owned)
                .filter(|l| !l.trim().is_empty())
                .collect()
        };
        commands.extend(
            list.iter()
                .map(|text| crate::lang::command::parse_command(text)),
        );
    }
    Ok(commands)
}

fn boundaries(asked: &Asked) -> Vec<Boundary> {
    let mut list = Vec::new();
    if asked.milestone_end || asked.last {
        list.push(Boundary::MilestoneEnd);
    }
    if asked.run_end || asked.last {
        list.push(Boundary::RunEnd);
    }
    list
}

pub(super) fn selector(text: &str) -> Selector {
    match text.strip_prefix("tag:") {
        Some(tag) => Selector::Tag(tag.to_owned()),
        None => Selector::Name(text.to_owned()),
    }
}

fn skips(asked: &Asked) -> Result<Vec<Skip>, Failure> {
    let reasons = match (asked.reason.as_slice(), asked.skip.len()) {
        ([one], count) => vec![one.clone(); count],
        (many, count) if many.len() == count => many.to_vec(),
        (many, count) => {
            let message = format!("{count} `--skip` and {} `--reason`", many.len());
            return Err(Failure::usage("vplan::usage::skip_reason", message)
                .help("one reason for each, or one for all"));
        }
    };
    Ok(asked
        .skip
        .iter()
        .cloned()
        .zip(reasons)
        .map(|(name, reason)| Skip { name, reason })
        .collect())
}

/// What reading the contract gave.
type Read = Result<Result<Loaded, LoadError>, Failure>;

fn read_contract(site: &Site, global: &Global, asked: &Asked, base: Option<&Oid>) -> Read {
    let wanted = Wanted {
        contract: global.contract.as_deref(),
        revision: asked.contract_from.as_deref(),
        base,
        max_file: global.max_file,
    };
    pinning::load(site, global, &wanted)
}

/// Reads the contract before the changes are known, because it says what they are compared with.
/// Whether one that is not there was deleted by the change is only known afterwards.
fn early(site: &Site, global: &Global, asked: &Asked) -> Option<Read> {
    let path = load::contract_path(site, global.contract.as_deref()).ok()?;
    let is_there = || site.root.join(path.to_os()).symlink_metadata().is_ok();
    (asked.contract_from.is_some() || is_there()).then(|| read_contract(site, global, asked, None))
}

/// The contract's line `base`, and the contract that has it.
fn base_line(read: &Read) -> Option<(String, RepoPath)> {
    let Ok(Ok(loaded)) = read else { return None };
    Some((loaded.contract.as_ref()?.base.clone()?, loaded.path.clone()))
}

fn contract(read: Read, asked: &Asked, brought: bool) -> Result<Option<Loaded>, Failure> {
    match read? {
        Ok(loaded) if loaded.contract.is_some() => Ok(Some(loaded)),
        Ok(loaded) => Err(invalid(loaded)),
        // Mode `off` verifies nothing and says so; it needs no contract, and passes no broken one
        // over.
        Err(LoadError::Missing(_) | LoadError::Deleted { .. }) if asked.mode == Mode::Off => {
            Ok(None)
        }
        Err(LoadError::Missing(_)) if brought || asked.mode == Mode::Fallback => Ok(None),
        Err(error) => Err(load_failed(error)),
    }
}

/// Whether there is a source of checks where there is no contract: a proposer, or a lock with
/// answers of one.
fn proposes(site: &Site, global: &Global, asked: &Asked) -> bool {
    let recorded = || {
        let path = load::contract_path(site, global.contract.as_deref()).ok()?;
        let lock = site.root.join(std::ffi::OsStr::from_bytes(
            lockfile::beside(&path).as_bytes(),
        ));
        lock.symlink_metadata().ok()
    };
    matches!(asked.mode, Mode::Llm | Mode::Hybrid)
        && (asked.proposer.is_some() || recorded().is_some())
}

/// The failure of a contract with errors: exit 3, or 4 when only pinned imports are not to be had.
#[must_use]
pub fn invalid(loaded: Loaded) -> Failure {
    let list = loaded.diagnostics.sorted();
    let errors = list
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    let failure = if loaded.drift {
        let message = format!(
            "the contract `{}` imports what its lock and the cache do not give",
            loaded.path
        );
        Failure::new(Exit::Drift.code(), "vplan::contract::drift", message)
    } else {
        let message = format!(
            "the contract `{}` has {}",
            loaded.path,
            super::render::style::count(errors, "error")
        );
        Failure::new(Exit::Contract.code(), "vplan::contract::invalid", message)
    };
    Failure {
        diagnostics: Some(Box::new((loaded.sources, list))),
        ..failure
    }
}

/// The failure of a contract that is not there, or cannot be read.
#[must_use]
pub fn load_failed(error: LoadError) -> Failure {
    let exit = match &error {
        LoadError::Missing(_)
        | LoadError::Deleted { .. }
        | LoadError::MissingIn { .. }
        | LoadError::Unreadable { .. } => Exit::Contract,
        LoadError::Directory { .. } | LoadError::Outside(_) | LoadError::Git(_) => Exit::Usage,
    };
    Failure::new(exit.code(), error.code(), error.to_string()).helped(error.help())
}

/// What the repository declares: ids and commands.
pub(super) fn inferred(site: &Site) -> Result<Vec<(String, Command)>, Failure> {
    let found = infer::infer(&site.root).map_err(|e| root_failed(&site.root, &e))?;
    Ok(found.into_iter().map(|i| (i.id, i.command)).collect())
}

pub(super) fn root_failed(root: &Path, error: &std::io::Error) -> Failure {
    let shown = visible(root.as_os_str().as_bytes());
    Failure::usage(
        "vplan::usage::unreadable",
        format!("`{shown}` cannot be read: {error}"),
    )
}

pub(super) fn deny(plan: &Plan, what: &[Deny]) -> Result<(), Failure> {
    let refuse = |code: &str, message: String, help: &str| {
        Err(Failure::new(Exit::Failed.code(), code, message).help(help))
    };
    if what.contains(&Deny::DefinitionChanged)
        && let Some((step, reason)) = changed_definitions(plan).next()
    {
        let files = reason
            .matched
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("`, `");
        let message = format!(
            "the change touches `{files}`, which defines what `{}` runs",
            visible(step.id.as_bytes())
        );
        return refuse(
            "vplan::deny::definition_changed",
            message,
            "have a person look at the change, then run without `--deny`",
        );
    }
    let shell = plan
        .steps
        .iter()
        .find(|s| s.kind == crate::check::Kind::Shell);
    if let Some(step) = shell.filter(|_| what.contains(&Deny::Shell)) {
        let message = format!("`{}` goes through a shell", visible(step.id.as_bytes()));
        return refuse(
            "vplan::deny::shell",
            message,
            "write it as one command, without the verb `shell`",
        );
    }
    Ok(())
}
