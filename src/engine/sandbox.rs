//! Makes sure, before anything starts, that every step of a plan can be confined as it asks.

use super::failure::Failure;
use super::open::Session;
use super::place::Engine;
use super::request::{SandboxMissing, VerifyRequest};
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::{first_of, visible};
use crate::check::confine::{Guarantee, SandboxLevel};
use crate::effect::git::environment;
use crate::effect::os::held::HeldFiles;
use crate::effect::os::process::program::Root;
use crate::effect::os::scratch::{self, TempDir};
use crate::effect::repo::{baseline, lockfile};
use crate::effect::runner::sandbox::{Sandbox, missing};
use crate::plan::caveat::{Caveat, Code, Effect};
use crate::plan::{Note, Plan, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// What in a git directory decides what git does, runs and ignores, and which directory that is.
const DECIDING: [&str; 7] = [
    "hooks",
    "config",
    "config.worktree",
    "info",
    "modules",
    "commondir",
    "gitdir",
];
/// Files among them that most git directories lack. What is not there cannot be kept as it is: one that
/// a fixer makes is removed.
const LACKING: [&str; 3] = ["config.worktree", "commondir", "gitdir"];
/// The most guarantees, and steps, that a message names.
const NAMED: usize = 3;

/// What confines the steps of a plan.
#[derive(Default)]
pub(super) struct PlanSandbox {
    /// Nothing where no step is to be confined.
    pub sandbox: Option<Sandbox>,
    /// Not all that they ask for holds.
    pub caveat: Option<Caveat>,
    /// Remarks for the report's reader.
    pub notes: Vec<Note>,
}

/// Returns what confines the steps of a plan, and the caveat where not all that they ask for holds.
///
/// # Errors
/// A step that cannot be confined as it asks; one whose `writes` cannot be told from what no step may
/// change.
pub(super) fn sandbox(
    engine: &Engine<'_>,
    session: &Session,
    plan: &Plan,
    asked: &VerifyRequest,
) -> Result<PlanSandbox, Failure> {
    let confined = plan
        .steps
        .iter()
        .filter(|step| !step.confinement().is_none());
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
            let message = format!(
                "{} ran without all that {} to be confined by: {}",
                first_of(without.iter().map(|id| format!("`{id}`")), NAMED),
                if without.len() == 1 {
                    "it was"
                } else {
                    "they were"
                },
                reasons(&lacking)
            );
            Some(Caveat::new(Code::SandboxMissing, Effect::Narrows, message))
        }
    };
    let root = Root::open(&session.site.root).map_err(|e| broken(&e))?;
    let state = engine.state_base().ok();
    let own = std::env::current_exe().ok();
    let elsewhere: Vec<&Path> = [state.as_deref(), own.as_deref(), asked.records.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    let home = environment("HOME").map(PathBuf::from);
    let sandbox = Sandbox::new(root.path(), reserved(session), &elsewhere, home.as_deref());
    if plan.steps.iter().any(|step| !step.with.is_empty()) {
        // A service runs unconfined, and whenever it likes.
        sandbox.outside().may_change();
    }
    let mut notes = Vec::new();
    for step in confined {
        without_inputs(step)?;
        let remarks = sandbox.check(&root, step).map_err(|why| {
            let message = format!(
                "the step `{}` cannot be confined: {why}",
                visible(step.id.as_bytes())
            );
            Failure::new(Exit::Setup, "vplan::sandbox::conflict", message)
        })?;
        notes.extend(remarks.into_iter().map(|(kind, message)| Note {
            kind: kind.to_owned(),
            message,
            path: None,
        }));
    }
    Ok(PlanSandbox {
        sandbox: Some(sandbox),
        caveat,
        notes,
    })
}

/// Makes sure that a step says what it reads where it may read nothing else: in a contract that is an
/// error of its own.
fn without_inputs(step: &Step) -> Result<(), Failure> {
    if step.sandbox < SandboxLevel::Files || step.inputs.is_some() {
        return Ok(());
    }
    let message = format!(
        "the step `{}` has no `inputs`, and under `sandbox {}` it could read nothing of the repository",
        visible(step.id.as_bytes()),
        step.sandbox.word()
    );
    let failure = Failure::new(Exit::Setup, "vplan::sandbox::without_inputs", message);
    Err(failure
        .help("`vplan audit` shows what each check reads, and `--write` adds it as `inputs`"))
}

/// A fixer that is confined.
pub(super) struct HeldFixer {
    pub held: HeldFiles,
    /// Its temporary folder.
    pub folder: TempDir,
    /// Files that are not there, and that it may not make.
    absent: Vec<PathBuf>,
}

impl HeldFixer {
    /// Removes what it made and may not.
    ///
    /// # Errors
    /// There was something: the loop goes no further.
    pub(super) fn release(&self) -> Result<(), Failure> {
        let made = self.absent.iter();
        let made: Vec<&PathBuf> = made
            .filter(|path| path.symlink_metadata().is_ok())
            .collect();
        if made.is_empty() {
            return Ok(());
        }
        let gone = made.iter().all(|path| {
            std::fs::remove_file(path).is_ok() || std::fs::remove_dir_all(path).is_ok()
        });
        let names = made
            .iter()
            .map(|path| format!("`{}`", visible(path.as_os_str().as_bytes())));
        let names = first_of(names, NAMED);
        let what = if gone {
            "was removed"
        } else {
            "cannot be removed"
        };
        let message = format!("the fixer made {names}, which decides what git does; it {what}");
        Err(Failure::new(
            Exit::Escalated,
            "vplan::sandbox::made",
            message,
        ))
    }
}

/// Returns what confines a fixer; `None` where nothing is asked for. `records`: where the loop is recorded.
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
        Failure::new(Exit::Setup, "vplan::sandbox::failed", message)
    })?;
    let root = &session.site.root;
    let git = session.site.usable_git().map(|git| git.layout());
    let dirs = git.iter().flat_map(|git| [&git.git_dir, &git.common_dir]);
    let dirs: BTreeSet<&PathBuf> = dirs.collect();
    let outside = dirs.iter().filter(|dir| !dir.starts_with(root));
    let mut kept: BTreeSet<PathBuf> = reserved(session)
        .iter()
        .map(|path| root.join(path.to_os()))
        .collect();
    // In a linked work tree `.git` is a file, which says where its directory is.
    let linked = root.join(".git");
    kept.extend([root.join(".vplan"), records.to_owned()]);
    kept.extend(linked.is_file().then_some(linked));
    kept.extend(asked.records.clone());
    kept.extend(
        dirs.iter()
            .flat_map(|dir| DECIDING.map(|name| dir.join(name))),
    );
    // What is not there cannot be kept as it is, and an empty folder means the same.
    for dir in &dirs {
        for name in ["hooks", "info"] {
            let _ = std::fs::create_dir(dir.join(name));
        }
    }
    let mut writable = vec![root.clone(), folder.path().to_owned()];
    writable.extend(outside.map(|dir| (*dir).clone()));
    // Only what is inside of what it may change has to be kept.
    let elsewhere = [engine.state_base().ok(), std::env::current_exe().ok()];
    kept.extend(elsewhere.into_iter().flatten());
    kept.retain(|path| writable.iter().any(|folder| path.starts_with(folder)));
    let lacking = dirs
        .iter()
        .flat_map(|dir| LACKING.map(|name| dir.join(name)));
    let absent = lacking.filter(|path| path.symlink_metadata().is_err());
    let absent = absent.collect();
    let held = HeldFiles { writable, kept };
    held.attempt().map_err(|why| {
        let message = format!("the fixer cannot be confined as asked: {why}");
        Failure::new(Exit::Setup, "vplan::sandbox::unavailable", message)
            .help("without `--fix-sandbox` it runs as you do")
    })?;
    Ok(Some(HeldFixer {
        held,
        folder,
        absent,
    }))
}

fn broken(error: &std::io::Error) -> Failure {
    let message = format!("the repository cannot be opened: {error}");
    Failure::new(Exit::Setup, "vplan::sandbox::failed", message)
}

fn unavailable(without: &[&str], lacking: &BTreeMap<Guarantee, String>) -> Failure {
    let message = format!(
        "{} cannot be confined as asked: {}",
        first_of(without.iter().map(|id| format!("`{id}`")), NAMED),
        reasons(lacking)
    );
    Failure::new(Exit::Setup, "vplan::sandbox::unavailable", message).help(
        "`vplan audit --machine` shows what this system guarantees; `--sandbox-missing run` runs with that, which is no full pass",
    )
}

fn reasons(lacking: &BTreeMap<Guarantee, String>) -> String {
    let each = lacking.iter();
    let each = each.map(|(one, why)| format!("`{}` does not hold ({why})", one.word()));
    first_of(each, NAMED)
}

/// Returns the files that decide what is verified, which no confined step may change.
fn reserved(session: &Session) -> BTreeSet<RepoPath> {
    let contract = &session.contract_path;
    let mut reserved = BTreeSet::from([
        contract.clone(),
        lockfile::path_for(contract),
        baseline::path_for(contract),
    ]);
    let sources = session
        .loaded
        .iter()
        .flat_map(|loaded| loaded.sources.iter());
    let names = sources.filter_map(|(_, source)| RepoPath::parse(source.name().as_bytes()).ok());
    reserved.extend(names);
    let folder = session.site.root.join(contract.folder().to_os());
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = beside.map(|entry| entry.file_name().into_vec());
    let tests = names.filter(|name| name.ends_with(b".test.vplan"));
    reserved.extend(tests.filter_map(|name| contract.folder().join(&name).ok()));
    reserved
}
