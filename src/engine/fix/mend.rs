//! Runs the fixes of failed checks one after another, and records the files that each one changed.

use crate::request::{MAX_OUTPUT, deny};
use crate::verify::Verified;
use crate::{
    Contract, Facts, Failure, Git, GitError, RepoPath, Root, Session, Step, VerifyRequest, visible,
    visible_path,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use vplan_git::own_files::OwnFiles;
use vplan_git::snapshot::Snapshot;
use vplan_os::environment::Environment;
use vplan_plan::Origin;
use vplan_plan::fixes::{bare_step, contract_of_fixes, fix, may_change, plan_of_fixes};
use vplan_plan::request::Selector;
use vplan_repo::{baseline, lockfile};
use vplan_run::event::Interrupt;
use vplan_runner::fixer::{self, FixRun, Fixed, FixerEnd, Mending};

/// The mode of a regular file.
const FILES: [u32; 2] = [0o100_644, 0o100_755];

/// The result of the fixes for a run's failed checks.
#[derive(Debug)]
pub(crate) struct Mended {
    /// Each fix that ran, in order.
    pub fixes: Vec<FixRecord>,
    /// Whether vplan was interrupted meanwhile, and how.
    pub interrupted: Option<Interrupt>,
    /// The tree before and after all fixes.
    pub before: Snapshot,
    pub after: Snapshot,
}

impl Mended {
    /// Returns the files that the fixes changed and that differ now, ascending.
    pub fn changed(&self) -> Vec<RepoPath> {
        let told: BTreeSet<&RepoPath> = self.fixes.iter().flat_map(|fix| &fix.changed).collect();
        let mut changed = self.before.differences(&self.after);
        changed.retain(|path| told.contains(path));
        changed
    }

    /// Whether a fix made a forbidden change.
    pub fn is_outside(&self) -> bool {
        self.fixes.iter().any(|fix| !fix.outside.is_empty())
    }
}

/// Returns the checks of the contract that failed in a run, in its order.
pub(crate) fn failing(verified: &Verified) -> Vec<&str> {
    let Verified { report, plan, .. } = verified;
    let mut failing: Vec<&str> = Vec::new();
    for record in report.steps.iter().filter(|r| r.status.is_failure()) {
        let step = plan.find(&record.id).map(|index| plan.step(index));
        let step = step.filter(|step| step.origin == Origin::Contract);
        let check = step.map(Step::check);
        failing.extend(check.filter(|check| !failing.contains(check)));
    }
    failing
}

/// Whether a check of a contract has a fix.
pub(crate) fn has_fix(contract: &Contract, id: &str) -> bool {
    let mut checks = contract.checks.iter();
    checks.any(|check| check.id == id && fix(check).is_some())
}

/// Whether a check is among the named ones, if any are named. Checks that those need are verified,
/// but not fixed.
fn is_asked_for(contract: &Contract, id: &str, names: &[Selector]) -> bool {
    let mut checks = contract.checks.iter().filter(|check| check.id == id);
    names.is_empty() || checks.any(|check| names.iter().any(|name| name.selects(id, &check.tags)))
}

/// Runs the fixes of failed checks, up to the first one with a forbidden change. `None` if no
/// failed check has a fix.
///
/// # Errors
/// The tree is not known, or a fix cannot be run.
pub(crate) fn mend(
    verified: &Verified,
    asked: &VerifyRequest,
    see: &mut dyn FnMut(&FixRecord),
) -> Result<Option<Mended>, Failure> {
    let session = &verified.session;
    let Some(contract) = session.contract() else {
        return Ok(None);
    };
    let failing = failing(verified).into_iter();
    let fixable: BTreeSet<&str> = failing
        .filter(|id| has_fix(contract, id) && is_asked_for(contract, id, &asked.plan.request.names))
        .collect();
    let fixes = contract_of_fixes(contract, &fixable);
    let plan = session.compiled(Some(&fixes), &session.request, &mut Facts::default())?;
    let plan = plan_of_fixes(plan, &fixable);
    deny(&plan, &asked.plan.deny)?;
    if plan.steps.is_empty() {
        return Ok(None);
    }
    let git = session.git().ok_or_else(|| {
        let message = "what a fix changes is known in a git repository only";
        Failure::usage("vplan::fix::no_git", message)
    })?;
    let root = Root::open(&session.site.root).map_err(|e| failed(&e))?;
    let runs = Runs {
        git,
        session,
        contract,
        asked,
        environment: Environment::of_this_process(&root, asked.grants.clone()),
        root,
        record: std::path::absolute(&verified.record).unwrap_or_else(|_| verified.record.clone()),
    };
    let before = runs.take_snapshot()?;
    let mut last = before.clone();
    let mut mended = Vec::new();
    let mut interrupted = None;
    for steps in plan.steps.chunk_by(|a, b| a.check() == b.check()) {
        let (ended, now, record) = runs.run(steps, &last)?;
        last = now;
        see(&record);
        let is_over = !record.outside.is_empty() || ended.is_some();
        interrupted = ended;
        mended.push(record);
        if is_over {
            break;
        }
    }
    Ok(Some(Mended {
        fixes: mended,
        interrupted,
        before: before.tree,
        after: last.tree,
    }))
}

/// The tree and git's own files.
#[derive(Clone)]
struct FixSnapshot {
    tree: Snapshot,
    own: OwnFiles,
}

/// The inputs that all fixes share.
struct Runs<'a> {
    git: &'a Git,
    session: &'a Session,
    contract: &'a Contract,
    asked: &'a VerifyRequest,
    environment: Environment,
    root: Root,
    record: std::path::PathBuf,
}

impl Runs<'_> {
    fn take_snapshot(&self) -> Result<FixSnapshot, Failure> {
        let unknown = |e: GitError| {
            let message = format!("what a fix changes cannot be known: {e}");
            Failure::setup("vplan::fix::tree", message)
        };
        Ok(FixSnapshot {
            tree: self.git.snapshot().map_err(unknown)?,
            own: self.git.own_files().map_err(unknown)?,
        })
    }

    /// Runs the steps of the fix of one check.
    fn run(
        &self,
        steps: &[Step],
        before: &FixSnapshot,
    ) -> Result<(Option<Interrupt>, FixSnapshot, FixRecord), Failure> {
        let step = steps.first();
        let (id, command) = step.map_or(("", ""), |s| (s.check(), s.command.as_str()));
        let FixRun {
            steps: mut ends,
            interrupted,
        } = fixer::mend(Mending {
            root: &self.root,
            environment: &self.environment,
            steps: steps.iter().map(bare_step).collect(),
            max_output: self.asked.max_output.unwrap_or(MAX_OUTPUT),
            logs: &self.record.join("logs"),
        })
        .map_err(|e| failed(&e))?;
        if let (Some(signal), Some(last)) = (interrupted, ends.iter_mut().flatten().last()) {
            last.how = FixerEnd::Interrupted(signal);
        }
        let now = self.take_snapshot()?;
        let differing = before.tree.differences(&now.tree);
        // The caches of a tool are there since the check ran.
        let tracked: BTreeSet<RepoPath> = match self.git.tracked() {
            Ok(tracked) => tracked.into_iter().collect(),
            Err(_) => differing.iter().cloned().collect(),
        };
        let untracked = differing.iter().filter(|path| !tracked.contains(*path));
        let untracked: Vec<RepoPath> = untracked.cloned().collect();
        let hidden = self.git.left_or_hidden(&untracked);
        let mut record = FixRecord::new(id, command, ends, &self.record);
        record.changed = differing;
        record.changed.retain(|path| !hidden.contains_key(path));
        let outside = record.changed.iter();
        let outside = outside.filter(|path| !self.may(step, path, [before, &now]));
        record.outside = outside.map(ToString::to_string).collect();
        record.outside.extend(now.own.differences(&before.own));
        record.outside.sort();
        Ok((interrupted, now, record))
    }

    /// Whether the fix of a check may write this file: not a link, and not a file that controls the
    /// verification.
    fn may(&self, step: Option<&Step>, path: &RepoPath, looks: [&FixSnapshot; 2]) -> bool {
        let is_file = |look: &&FixSnapshot| {
            let file = look.tree.file(path);
            file.is_none_or(|(mode, _)| FILES.contains(&mode))
        };
        let main = &self.session.contract_path;
        let mut imports = self.contract.imports.iter();
        let decides = imports.any(|import| import.path.as_ref() == Some(path))
            || [main, &lockfile::path_for(main), &baseline::path_for(main)].contains(&path)
            || (path.name().ends_with(b".test.vplan"));
        looks.iter().all(is_file)
            && !decides
            && step.is_some_and(|step| may_change(self.contract, step, path))
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    let message = format!("the fix could not be run: {error}");
    Failure::setup("vplan::fix::run", message)
}

/// The fix of one check.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Fix")]
pub struct FixRecord {
    /// The files that it changed, ascending.
    pub changed: Vec<RepoPath>,
    /// The check that it mends.
    pub check: String,
    /// Its command; the first one of several with the changed files.
    pub command: String,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// Its exit code, which decides nothing.
    pub exit_code: Option<i32>,
    /// The number of processes that it left behind; they were stopped.
    pub leaked: u32,
    /// The paths of its logs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
    /// The end of it: `exited`, `signalled`, `timed_out`, `not_started`, `interrupted`, `lost`
    pub outcome: &'static str,
    /// What it changed and must not, ascending: files of the tree, and of `.git/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// The reason for the outcome, in one line.
    pub reason: Option<String>,
    /// The end of what it wrote.
    pub said: String,
    /// The signal that ended it.
    pub signal: Option<String>,
}

/// How a fixer or a fix ended, in words.
#[derive(Debug)]
pub(crate) struct HowEnded {
    pub outcome: &'static str,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub signal: Option<String>,
}

impl HowEnded {
    pub fn from_fixer_end(how: FixerEnd) -> Self {
        let mut ended = Self {
            outcome: "lost",
            exit_code: None,
            reason: None,
            signal: None,
        };
        match how {
            FixerEnd::Exited(code) => (ended.outcome, ended.exit_code) = ("exited", Some(code)),
            FixerEnd::Signalled(signal) => {
                (ended.outcome, ended.signal) = ("signalled", Some(signal));
            }
            FixerEnd::TimedOut => ended.outcome = "timed_out",
            FixerEnd::NotStarted(why) => {
                (ended.outcome, ended.reason) = ("not_started", Some(visible(&why)));
            }
            FixerEnd::Interrupted(signal) => {
                let name = match signal {
                    Interrupt::Int => "SIGINT",
                    _ => "SIGTERM",
                };
                (ended.outcome, ended.signal) = ("interrupted", Some(name.to_owned()));
            }
            FixerEnd::Lost => {}
        }
        ended
    }
}

impl FixRecord {
    /// Makes it of how its steps ended: of several, the last one that did not end well counts.
    pub(super) fn new(
        check: &str,
        command: &str,
        steps: Vec<Option<Fixed>>,
        record: &Path,
    ) -> Self {
        let mut all = Self {
            check: check.to_owned(),
            command: command.to_owned(),
            outcome: "lost",
            ..Self::default()
        };
        let (mut is_first, logs) = (true, record.join("logs"));
        for fixed in steps.into_iter().flatten() {
            all.duration_ms += fixed.duration_ms;
            all.leaked += fixed.leaked;
            let log = fixed.log.as_ref().map(|name| logs.join(name));
            all.logs.extend(log.map(|path| visible_path(&path)));
            let is_well = fixed.how == FixerEnd::Exited(0);
            if is_first || !is_well {
                let ended = HowEnded::from_fixer_end(fixed.how);
                all.outcome = ended.outcome;
                all.exit_code = ended.exit_code;
                all.reason = ended.reason;
                all.signal = ended.signal;
                all.said = fixed.said;
            }
            is_first = false;
        }
        all
    }
}
