//! Checks, before anything starts, that every step of a plan can be confined as requested.

use super::request::SandboxMissing;
use crate::{
    Caveat, Code, Effect, Engine, Exit, Failure, GitError, Loaded, Note, Plan, RepoPath, Root,
    Session, Site, Step, VerifyRequest, first_of, visible, visible_path,
};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use vplan_base::diagnostic::{Code as DiagnosticCode, Diagnostic, Diagnostics};
use vplan_check::confine::{Guarantee, SandboxLevel};
use vplan_git::environment;
use vplan_git::shared_state::{SharedState, StateDifference, other_work_trees};
use vplan_os::hard_links::linked_elsewhere;
use vplan_os::held::HeldFiles;
use vplan_os::scratch::{self, TempDir};
use vplan_repo::changes::base::is_common_name;
use vplan_repo::{baseline, lockfile};
use vplan_runner::sandbox::{Sandbox, missing};

/// Files of a git directory that control what git does, executes and ignores, or where that
/// directory is.
const DECIDING: [&str; 7] = [
    "hooks",
    "config",
    "config.worktree",
    "info",
    "modules",
    "commondir",
    "gitdir",
];
/// The files of the main work tree in the git directory that linked work trees share.
const OF_OTHERS: [&str; 3] = ["HEAD", "index", "logs/HEAD"];
/// Maximum number of guarantees, and of steps, that a message names.
const NAMED: usize = 3;

/// The sandbox of a plan's steps.
#[derive(Default)]
pub(super) struct PlanSandbox {
    /// `None` if no step is to be confined.
    pub sandbox: Option<Sandbox>,
    /// Set if not all requested guarantees hold.
    pub caveat: Option<Caveat>,
    /// Remarks for the report's reader.
    pub notes: Vec<Note>,
}

/// Returns the sandbox of a plan's steps, with a caveat if not all requested guarantees hold.
///
/// # Errors
/// A step that cannot be confined as it asks; one whose `writes` cannot be separated from paths
/// that no step may change.
pub(super) fn sandbox(
    engine: &Engine<'_>,
    session: &Session,
    plan: &Plan,
    asked: &VerifyRequest,
) -> Result<PlanSandbox, Failure> {
    let confined = plan.steps.iter();
    let confined = confined.filter(|step| !step.confinement().is_none());
    let confined: Vec<_> = confined.collect();
    if confined.is_empty() {
        return Ok(PlanSandbox::default());
    }
    let mut lacking: BTreeMap<Guarantee, String> = BTreeMap::new();
    let mut without: Vec<&str> = Vec::new();
    for step in &confined {
        let missing = missing(step.confinement());
        if !missing.is_empty() {
            without.push(&step.id);
        }
        lacking.extend(missing);
    }
    let caveat = match (lacking.is_empty(), asked.sandbox_missing) {
        (true, _) => None,
        (false, SandboxMissing::Refuse) => return Err(unavailable(&without, &lacking)),
        (false, SandboxMissing::Run) => {
            let (steps, why) = (format_steps(&without), reasons(&lacking));
            let were = if without.len() == 1 {
                "it was"
            } else {
                "they were"
            };
            let message = format!("{steps} ran without all that {were} to be confined by: {why}");
            Some(Caveat::new(Code::SandboxMissing, Effect::Narrows, message))
        }
    };
    let root = Root::open(&session.site.root).map_err(|e| broken(&e))?;
    let state = engine.state_base().ok();
    let own = std::env::current_exe().ok();
    let elsewhere = [state.as_deref(), own.as_deref(), asked.records.as_deref()];
    let elsewhere: Vec<&Path> = elsewhere.into_iter().flatten().collect();
    let home = environment("HOME").map(PathBuf::from);
    let sandbox = Sandbox::new(root.path(), reserved(session), &elsewhere, home.as_deref())
        .with_stores(stores(session, asked)?);
    if plan.steps.iter().any(|step| !step.with.is_empty()) {
        // A service runs unconfined, and whenever it likes.
        sandbox.outside().may_change();
    }
    let mut notes = Vec::new();
    for step in confined {
        without_inputs(step)?;
        let remarks = sandbox.check(&root, step).map_err(|why| {
            let message = format!("the step `{}` cannot be confined: {why}", visible(&step.id));
            Failure::setup(CONFLICT.0, message)
        })?;
        let remarks = remarks.into_iter();
        notes.extend(remarks.map(|(kind, message)| Note::new(kind, message)));
    }
    Ok(PlanSandbox {
        sandbox: Some(sandbox),
        caveat,
        notes,
    })
}

/// Returns the folders of `--sandbox-store`, links followed.
fn stores(session: &Session, asked: &VerifyRequest) -> Result<Vec<PathBuf>, Failure> {
    let real = |store: &PathBuf| {
        let shown = visible_path(store);
        let usage = |message| Failure::usage("vplan::usage::sandbox_store", message);
        let unopened = |e| usage(format!("`{shown}` cannot be opened: {e}"));
        let real = store.canonicalize().map_err(unopened)?;
        if session.site.may_hold(&real) {
            let why = format!("`{shown}` lies in the repository");
            return Err(usage(why).help("name a store outside of it"));
        }
        Ok(real)
    };
    asked.sandbox_stores.iter().map(real).collect()
}

/// Checks that a step declares its inputs if it may read nothing else. In a contract, this is
/// already an error.
fn without_inputs(step: &Step) -> Result<(), Failure> {
    if step.sandbox < SandboxLevel::Files || step.inputs.is_some() {
        return Ok(());
    }
    let (id, level) = (visible(&step.id), step.sandbox.name());
    let message = format!(
        "the step `{id}` has no `inputs`, and under `sandbox {level}` it could read nothing of the repository"
    );
    let failure = Failure::setup("vplan::sandbox::without_inputs", message);
    Err(failure
        .help("`vplan audit` shows what each check reads, and `--write` adds it as `inputs`"))
}

/// A fixer that is confined.
pub(super) struct HeldFixer {
    pub held: HeldFiles,
    /// Its temporary folder.
    pub folder: TempDir,
    /// References and deciding files before its turn.
    state: Option<SharedState>,
}

impl HeldFixer {
    /// Restores git's references and files that the fixer must not change. Returns the failure with
    /// which the loop ends, if there were any.
    ///
    /// # Errors
    /// Errors of git.
    pub(super) fn release(&self, session: &Session) -> Result<Option<Failure>, Failure> {
        let (Some(state), Some(git)) = (&self.state, session.git()) else {
            return Ok(None);
        };
        let statement = session.contract().and_then(|c| c.base.as_deref());
        let is_base = |branch: &str| is_common_name(branch) || statement == Some(branch);
        let found = state.restore(git, &is_base).map_err(|e| unread(&e))?;
        if found.is_empty() {
            return Ok(None);
        }
        let shown = |one: &StateDifference| {
            let name = visible(&one.name);
            match &one.before {
                Some(before) if !one.restored => format!("`{name}` (before: {before})"),
                _ => format!("`{name}`"),
            }
        };
        let (restored, left): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.restored);
        let part = |list: Vec<&StateDifference>, what: &str| {
            let names = first_of(list.iter().map(|one| shown(one)), NAMED);
            (!list.is_empty()).then(|| format!("{names} {what}"))
        };
        let parts = [part(restored, "(restored)"), part(left, "(not restored)")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let message = format!("the fixer changed {}", parts.join(", and "));
        let failure = Failure::new(Exit::Failed, "vplan::sandbox::changed", message);
        Ok(Some(failure.help("under `--fix-sandbox guard` a fixer moves the branch that is checked out, adds tags and branches, and leaves no stash")))
    }
}

fn unread(error: &GitError) -> Failure {
    let message = format!("the references of the repository cannot be compared: {error}");
    Failure::setup("vplan::sandbox::failed", message)
}

/// Returns the sandbox of a fixer; `None` if none is requested. `records`: the directory where the
/// loop is recorded.
///
/// # Errors
/// This system cannot confine it.
pub(super) fn held(
    engine: &Engine<'_>,
    level: SandboxLevel,
    session: &Session,
    records: &Path,
    asked: &VerifyRequest,
) -> Result<Option<HeldFixer>, Failure> {
    if level == SandboxLevel::None {
        return Ok(None);
    }
    let folder = scratch::temporary().map_err(|e| {
        let message = format!("there is no temporary folder for the fixer: {e}");
        Failure::setup("vplan::sandbox::failed", message)
    })?;
    let root = &session.site.root;
    let git = session.site.usable_git().map(|git| git.layout());
    let dirs = git.iter().flat_map(|git| [&git.git_dir, &git.common_dir]);
    let dirs: BTreeSet<&PathBuf> = dirs.collect();
    let outside = dirs.iter().filter(|dir| !dir.starts_with(root));
    let own = reserved(session);
    let own = own.iter().map(|path| root.join(path.to_os()));
    // In a linked work tree, `.git` is a file with the path of the git directory.
    let linked = root.join(".git");
    let mut kept: BTreeSet<PathBuf> = own
        .chain([root.join(".vplan"), records.to_owned()])
        .collect();
    kept.extend(asked.records.clone());
    without_links(kept.iter().cloned().chain(engine.state_base().ok()))?;
    kept.extend(linked.is_file().then_some(linked));
    for dir in &dirs {
        kept.extend(DECIDING.map(|name| dir.join(name)));
        // A missing path cannot be protected, so an empty folder is made, which means the same to git.
        for name in ["hooks", "info"] {
            let _ = std::fs::create_dir(dir.join(name));
        }
    }
    let state = session.git().map(SharedState::record).transpose();
    let state = state.map_err(|e| unread(&e))?;
    if let (Some(git), Some(layout)) = (session.git(), &git) {
        for dir in other_work_trees(git) {
            // Their logs are evidence of who moved their branches.
            if dir == layout.common_dir {
                kept.extend(OF_OTHERS.map(|name| dir.join(name)));
            } else {
                kept.insert(dir);
            }
        }
    }
    let mut writable = vec![root.clone(), folder.path().to_owned()];
    writable.extend(outside.map(|dir| (*dir).clone()));
    // Only paths inside the writable ones need protection.
    let elsewhere = [engine.state_base().ok(), std::env::current_exe().ok()];
    kept.extend(elsewhere.into_iter().flatten());
    kept.retain(|path| writable.iter().any(|folder| path.starts_with(folder)));
    let held = HeldFiles { writable, kept };
    held.attempt().map_err(|why| {
        let message = format!("the fixer cannot be confined as asked: {why}");
        Failure::setup("vplan::sandbox::unavailable", message)
            .help("without `--fix-sandbox` it runs as you do")
    })?;
    Ok(Some(HeldFixer {
        held,
        folder,
        state,
    }))
}

/// Makes sure that what a fixer must not change has no names elsewhere: it could write through them.
fn without_links(kept: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    let kept: Vec<PathBuf> = kept.collect();
    let message = match linked_elsewhere(&kept, &[]) {
        Ok(None) => return Ok(()),
        Ok(Some(file)) => format!(
            "`{}` has {} names, and through the others the fixer could change it: remove those",
            visible(file.path.as_os_str().as_encoded_bytes()),
            file.names
        ),
        Err(error) => format!("what the fixer must not change cannot be listed: {error}"),
    };
    Err(Failure::setup("vplan::sandbox::failed", message))
}

fn broken(error: &std::io::Error) -> Failure {
    let message = format!("the repository cannot be opened: {error}");
    Failure::setup("vplan::sandbox::failed", message)
}

fn unavailable(without: &[&str], lacking: &BTreeMap<Guarantee, String>) -> Failure {
    let (steps, why) = (format_steps(without), reasons(lacking));
    let message = format!("{steps} cannot be confined as asked: {why}");
    Failure::setup("vplan::sandbox::unavailable", message)
        .help("`vplan audit --machine` shows what this system guarantees; `--sandbox-missing run` runs with that, which is no full pass")
}

fn format_steps(steps: &[&str]) -> String {
    first_of(steps.iter().map(|id| format!("`{id}`")), NAMED)
}

fn reasons(lacking: &BTreeMap<Guarantee, String>) -> String {
    let each = lacking.iter();
    let each = each.map(|(one, why)| format!("`{}` does not hold ({why})", one.name()));
    first_of(each, NAMED)
}

/// Returns the files that control the verification, which no confined step may change.
fn reserved(session: &Session) -> BTreeSet<RepoPath> {
    let loaded = session.loaded.as_ref();
    reserved_by(&session.site, &session.contract_path, loaded)
}

fn reserved_by(site: &Site, contract: &RepoPath, loaded: Option<&Loaded>) -> BTreeSet<RepoPath> {
    let mut reserved = BTreeSet::from([
        contract.clone(),
        lockfile::path_for(contract),
        baseline::path_for(contract),
    ]);
    let sources = loaded.iter().flat_map(|loaded| loaded.sources.iter());
    let names = sources.filter_map(|(_, source)| RepoPath::parse(source.name().as_bytes()).ok());
    reserved.extend(names);
    let folder = site.root.join(contract.folder().to_os());
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = beside.map(|entry| entry.file_name().into_vec());
    let tests = names.filter(|name| name.ends_with(b".test.vplan"));
    reserved.extend(tests.filter_map(|name| contract.folder().join(&name).ok()));
    reserved
}

/// A check that no run can confine as requested.
pub const CONFLICT: DiagnosticCode = DiagnosticCode("vplan::sandbox::conflict");

/// Reports the checks of a contract that every run refuses: those that could change files reserved
/// from confined steps.
///
/// # Errors
/// The repository cannot be opened.
pub fn conflicts(site: &Site, loaded: &Loaded) -> Result<Diagnostics, Failure> {
    let mut found = Diagnostics::default();
    let checks = loaded.contract.iter().flat_map(|contract| &contract.checks);
    let confined = checks.filter(|check| check.level() >= SandboxLevel::Guard);
    let confined: Vec<_> = confined.collect();
    if confined.is_empty() {
        return Ok(found);
    }
    let root = Root::open(&site.root).map_err(|e| broken(&e))?;
    let reserved = reserved_by(site, &loaded.path, Some(loaded));
    let sandbox = Sandbox::new(root.path(), reserved, &[], None);
    for check in confined {
        let step = Step {
            // Whether a higher level adds more depends on the files when a step starts.
            sandbox: SandboxLevel::Guard,
            ..Step::changing(check)
        };
        if let Err(why) = sandbox.check(&root, &step) {
            let message = format!("the check cannot be confined: {why}");
            let level = format!("is under `sandbox {}`", check.level().name());
            found.push(Diagnostic::error(CONFLICT, message).label(check.place, level));
        }
    }
    Ok(found)
}
