//! Finds the baseline that counts: what was known at the base of a change, so that a change does
//! not choose what it is excused for. Records what a run has found.

use super::base_contract::judged_since;
use super::failure::Failure;
use super::open::Session;
use super::place::Engine;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::{and_more, count, visible};
use crate::baseline::{Baseline, Recording, partial_checks, record, tighten};
use crate::check::baseline::Known;
use crate::effect::git::Git;
use crate::effect::git::object::Oid;
use crate::effect::repo::baseline::{self as file, BaselineFile, BaselineFileError};
use crate::effect::repo::load::Site;
use crate::effect::repo::since::Since;
use crate::effect::store::history::History;
use crate::plan::Plan;
use crate::plan::caveat::{Caveat, Code, Effect};
use crate::plan::request::ChangedIn;
use crate::run::known::{BaselineSource, BaselineUse};
use crate::run::report::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most checks that a caveat names.
const NAMED: usize = 5;
/// The most recorded runs that are looked through for one of a contract.
const LOOKED_AT: usize = 200;

/// The baseline that counts in a run.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// Its list; `None` where there is none.
    pub known: Option<Arc<Known>>,
    /// The entry of a report about it; absent where there is none.
    pub used: Option<BaselineUse>,
    /// The differences of the work tree's from it.
    pub caveats: Vec<Caveat>,
}

/// Finds the baseline that counts for a session whose contract is held against that of `base`: the
/// one at the base; at HEAD where there is no base; the work tree's where there is no commit that
/// has the contract.
///
/// # Errors
/// The work tree's cannot be read, or is damaged (exit 3). One at the base that cannot be read
/// lists nothing, which a caveat says.
pub fn counting(
    session: &Session,
    engine: &Engine<'_>,
    base: Option<&Oid>,
) -> Result<Counting, Failure> {
    let path = file::path_for(&session.contract_path);
    let here = in_work_tree(&session.site, &path)?;
    let head = || session.git().and_then(|git| git.head().ok().flatten());
    let (commit, from) = match base {
        Some(base) => (Some(*base), BaselineSource::Base),
        None => (head(), BaselineSource::Head),
    };
    let Some((git, commit)) = session.git().zip(commit) else {
        return Ok(of_work_tree(&path, here, "there is no commit"));
    };
    if here.is_none() && is_missing(session, engine, git, &commit, &path) {
        return Ok(Counting::default());
    }
    if !has_contract(git, &commit, &session.contract_path) {
        let why = format!(
            "{} has no contract `{}`",
            commit.short(),
            session.contract_path
        );
        return Ok(of_work_tree(&path, here, &why));
    }
    let then = match file::read(&session.site, &path, Some(&commit)) {
        Ok(then) if !then.has_errors() => then.baseline,
        Ok(_) => return Ok(unreadable(&path, &commit, "it is damaged")),
        Err(error) => return Ok(unreadable(&path, &commit, &error.to_string())),
    };
    let there = then.clone().unwrap_or_default();
    let mut found = Counting {
        caveats: differs(&there, &here.unwrap_or_default(), &path, &commit)
            .into_iter()
            .collect(),
        ..Counting::default()
    };
    if let Some(then) = then {
        let origin = format!("`{path}` at {}", commit.short());
        found.used = Some(used(&then, &path, Some(&commit), from));
        found.known = Some(Arc::new(then.known(origin)));
    }
    Ok(found)
}

/// Returns how the work tree's baseline differs from the one that counts, for a plan that is shown.
///
/// # Errors
/// As [`counting`].
pub fn of_look(session: &Session, engine: &Engine<'_>) -> Result<Vec<Caveat>, Failure> {
    let base = judged_since(session, engine);
    Ok(counting(session, engine, base.as_ref())?.caveats)
}

/// Puts the caveats about the baseline into a plan, in place of earlier ones.
pub fn attach(plan: &mut Plan, found: Vec<Caveat>) {
    plan.caveats.retain(|c| c.code != Code::BaselineChanged);
    plan.caveats.extend(found);
}

fn in_work_tree(site: &Site, path: &RepoPath) -> Result<Option<Baseline>, Failure> {
    let found = file::read(site, path, None).map_err(failed)?;
    if found.has_errors() {
        return Err(damaged(path, found));
    }
    Ok(found.baseline)
}

/// Makes the failure of a baseline that cannot be read or written: exit 3.
#[must_use]
pub fn failed(error: BaselineFileError) -> Failure {
    let failure = Failure::new(Exit::Contract, error.code(), error.to_string());
    Failure {
        help: error.help(),
        ..failure
    }
}

/// Makes the failure of a baseline with errors in it: exit 3.
#[must_use]
pub fn damaged(path: &RepoPath, found: BaselineFile) -> Failure {
    let errors = count(found.diagnostics.len(), "error");
    let message = format!("the baseline `{path}` has {errors}");
    let failure = Failure::new(Exit::Contract, "vplan::baseline::invalid", message);
    Failure {
        diagnostics: Some(Box::new((found.sources, found.diagnostics))),
        ..failure
    }
}

/// Whether a commit is known to have no baseline, where the work tree has none.
fn is_missing(
    session: &Session,
    engine: &Engine<'_>,
    git: &Git,
    commit: &Oid,
    path: &RepoPath,
) -> bool {
    let gathered = &session.gathered;
    let is_whole =
        gathered.place == Some(ChangedIn::WorkTree) && gathered.base.as_ref() == Some(commit);
    let state = engine.kept_state(&session.site).ok().flatten();
    let since = Since {
        root: &session.site.root,
        git,
        commit,
        changes: is_whole.then_some(&gathered.changes),
        state: state.as_ref(),
    };
    since.is_same(std::slice::from_ref(path), true) == Some(true)
}

/// Whether a commit has a contract, or something in its place.
fn has_contract(git: &Git, commit: &Oid, path: &RepoPath) -> bool {
    // The empty tree is the base of unrelated histories.
    if Oid::empty_tree(commit.length()) == Some(*commit) {
        return false;
    }
    // What cannot be read may be one.
    !matches!(
        git.file_at(commit, path, crate::engine::place::MAX_FILE),
        Ok(None)
    ) || !matches!(git.submodule_around(commit, path), Ok(None))
}

fn of_work_tree(path: &RepoPath, here: Option<Baseline>, why: &str) -> Counting {
    let Some(here) = here else {
        return Counting::default();
    };
    let origin = format!("`{path}` in the work tree, which counts because {why}");
    Counting {
        used: Some(used(&here, path, None, BaselineSource::WorkTree)),
        known: Some(Arc::new(here.known(origin))),
        caveats: Vec::new(),
    }
}

fn used(
    baseline: &Baseline,
    path: &RepoPath,
    commit: Option<&Oid>,
    from: BaselineSource,
) -> BaselineUse {
    BaselineUse {
        commit: commit.map(ToString::to_string),
        digest: baseline.digest(),
        entries: baseline.entries().len(),
        from,
        path: path.clone(),
    }
}

fn unreadable(path: &RepoPath, commit: &Oid, why: &str) -> Counting {
    let message = format!(
        "nothing is known: `{path}` at {} cannot be used: {}",
        commit.short(),
        visible(why.as_bytes())
    );
    Counting {
        caveats: vec![Caveat::new(Code::BaselineChanged, Effect::Note, message)],
        ..Counting::default()
    }
}

/// Says what the work tree's baseline lists more and less than the one that counts.
fn differs(then: &Baseline, now: &Baseline, path: &RepoPath, commit: &Oid) -> Option<Caveat> {
    let (more, gone) = (now.beyond(then), then.beyond(now));
    let sum = |all: &BTreeMap<&str, usize>| all.values().sum::<usize>();
    let mut said = Vec::new();
    if !more.is_empty() {
        said.push(format!(
            "adds {} ({}), which excuse nothing before they are at the base {}",
            words(sum(&more), "entry", "entries"),
            named(&more),
            commit.short()
        ));
    }
    if !gone.is_empty() {
        let entries = words(sum(&gone), "entry", "entries");
        said.push(format!("removes {entries} ({})", named(&gone)));
    }
    if said.is_empty() {
        return None;
    }
    let message = format!("the change of `{path}` {}", said.join(", and "));
    let checks: BTreeSet<&str> = more.keys().chain(gone.keys()).copied().collect();
    let checks = checks.into_iter().map(str::to_owned).collect();
    Some(Caveat::new(Code::BaselineChanged, Effect::Note, message).of_checks(checks))
}

fn words(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Names checks with their numbers: `lint` 3, `unit` 1.
fn named(all: &BTreeMap<&str, usize>) -> String {
    let names: Vec<String> = (all.iter().take(NAMED))
        .map(|(check, n)| format!("`{}` {n}", visible(check.as_bytes())))
        .collect();
    let more = and_more(all.len().saturating_sub(names.len()));
    format!("{}{more}", names.join(", "))
}

/// The request to record a baseline.
#[derive(Clone, Copy, Debug)]
pub struct RecordRequest<'a> {
    /// These checks; all of the run where it is empty.
    pub checks: &'a [String],
    /// Only take out what the run does not show any more.
    pub tighten: bool,
    /// This run (its whole name); the latest of the contract otherwise.
    pub run: Option<&'a str>,
}

/// A baseline that was recorded.
#[derive(Debug)]
pub struct RecordedBaseline {
    /// The file.
    pub path: RepoPath,
    /// The run.
    pub run: String,
    /// The result.
    pub recording: Recording,
    /// Whether the file was written: an unchanged one is not.
    pub written: bool,
}

impl Engine<'_> {
    /// Reads the baseline of the work tree. One that is not there is empty.
    ///
    /// # Errors
    /// It cannot be read, or is damaged (exit 3).
    pub fn baseline(&self, site: &Site) -> Result<(RepoPath, Baseline), Failure> {
        let contract = crate::effect::repo::load::contract_path(site, self.contract)
            .map_err(super::failure::load_failed)?;
        let path = file::path_for(&contract);
        let found = in_work_tree(site, &path)?;
        Ok((path, found.unwrap_or_default()))
    }

    /// Writes the baseline of the work tree from a recorded run.
    ///
    /// # Errors
    /// No contract, no such run, a check that the contract does not have (exit 2), a baseline that
    /// is damaged or cannot be written (exit 3).
    pub fn record_baseline(
        &self,
        site: &Site,
        history: &History,
        asked: &RecordRequest<'_>,
    ) -> Result<RecordedBaseline, Failure> {
        let loaded = self.load_contract(site)?;
        let Some(contract) = &loaded.contract else {
            return Err(super::failure::invalid(loaded));
        };
        for check in asked.checks {
            if !contract.checks.iter().any(|c| c.id == *check) {
                let name = visible(check.as_bytes());
                let message = format!("the contract has no check `{name}`");
                return Err(Failure::usage("vplan::usage::unknown_check", message)
                    .help("`vplan explain --all` lists them"));
            }
        }
        let (path, old) = self.baseline(site)?;
        let (run, report, plan) = match asked.run {
            Some(id) => {
                let (report, plan) = read_run(history, id).map_err(|why| {
                    let message = format!("the run `{}` {why}", visible(id.as_bytes()));
                    Failure::usage("vplan::baseline::run", message)
                })?;
                (id.to_owned(), report, plan)
            }
            None => latest(history, &loaded.path.to_string())?,
        };
        let is_of_this = plan
            .contract
            .as_ref()
            .is_some_and(|c| c.path == loaded.path.to_string());
        if !is_of_this {
            let message = format!("the run `{run}` was not of the contract `{}`", loaded.path);
            return Err(Failure::usage("vplan::baseline::run", message).help(RUN_FIRST));
        }
        let partial = partial_checks(contract);
        let make = if asked.tighten { tighten } else { record };
        let recording = make(&old, &report, &plan, asked.checks, &partial);
        let written = recording.baseline != old;
        if written {
            file::write(site, &path, &recording.baseline).map_err(failed)?;
        }
        Ok(RecordedBaseline {
            path,
            run,
            recording,
            written,
        })
    }
}

/// The way out where there is no run to record.
const RUN_FIRST: &str = "`vplan run --all --keep-going` looks at everything, then record again";

fn read_run(history: &History, id: &str) -> Result<(Report, Plan), String> {
    let report = history
        .report(id)?
        .ok_or_else(|| "has no report: it did not come to its end".to_owned())?;
    let plan = history
        .plan(id)?
        .ok_or_else(|| "has no plan beside its report".to_owned())?;
    Ok((report, plan))
}

/// Finds the newest run of a contract that has a report.
fn latest(history: &History, contract: &str) -> Result<(String, Report, Plan), Failure> {
    let ids = history
        .ids()
        .map_err(|e| super::tree_status::unreadable(&e))?;
    ids.into_iter()
        .take(LOOKED_AT)
        .find_map(|id| {
            let (report, plan) = read_run(history, &id).ok()?;
            let is_of_this = plan.contract.as_ref().is_some_and(|c| c.path == contract);
            is_of_this.then_some((id, report, plan))
        })
        .ok_or_else(|| {
            let message = format!("no run of `{contract}` is recorded");
            Failure::usage("vplan::baseline::run", message).help(RUN_FIRST)
        })
}
