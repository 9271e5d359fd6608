//! Finds the baseline that counts: the one at the base of a change, so that a change cannot excuse
//! its own findings.

use crate::{
    Caveat, Code, Effect, Engine, Failure, Git, History, Oid, Plan, RepoPath, Report, Session,
    Site, visible,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::word::{and_more, count};
use vplan_baseline::{Baseline, Recording, partial_checks, record, tighten};
use vplan_check::baseline::KnownFindings;
use vplan_repo::adjacent_file::BesideError;
use vplan_repo::baseline::{self as file, BaselineFile};
use vplan_run::known::{BaselineSource, BaselineUse};

/// Maximum number of checks that a caveat names.
const NAMED: usize = 5;

/// The baseline that counts in a run.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// Its entries, if there is a baseline.
    pub known: Option<Arc<KnownFindings>>,
    /// The report's entry about it, if there is a baseline.
    pub used: Option<BaselineUse>,
    /// The differences of the work tree's from it.
    pub caveats: Vec<Caveat>,
}

/// Finds the baseline that applies to a session whose contract is compared with that of `base`: the
/// baseline at the base, or at HEAD without a base. If no commit has the contract, the work tree's
/// applies.
///
/// # Errors
/// The work tree's baseline cannot be read, or is damaged (exit 3). An unreadable one at the base
/// counts as empty, with a caveat.
pub fn counting(
    session: &Session,
    engine: &Engine<'_>,
    base: Option<&Oid>,
) -> Result<Counting, Failure> {
    find(session, engine, base, true)
}

/// Finds it as [`counting`]. Without `may_ask`, the commit counts as having none if the work tree
/// has none and only git could tell.
fn find(
    session: &Session,
    engine: &Engine<'_>,
    base: Option<&Oid>,
    may_ask: bool,
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
    let is_same = || session.is_same(engine, &commit, std::slice::from_ref(&path), may_ask);
    if here.is_none() && is_same().unwrap_or(true) {
        return Ok(Counting::default());
    }
    if !has_contract(git, &commit, &session.contract_path) {
        let (commit, contract) = (commit.short(), &session.contract_path);
        let why = format!("{commit} has no contract `{contract}`");
        return Ok(of_work_tree(&path, here, &why));
    }
    let then = match file::read(&session.site, &path, Some(&commit)) {
        Ok(then) if !then.has_errors() => then.present(),
        Ok(_) => return Ok(unreadable(&path, &commit, "it is damaged")),
        Err(error) => return Ok(unreadable(&path, &commit, &error.to_string())),
    };
    let there = then.clone().unwrap_or_default();
    let caveat = differs(&there, &here.unwrap_or_default(), &path, &commit);
    let mut found = Counting {
        caveats: caveat.into_iter().collect(),
        ..Counting::default()
    };
    if let Some(then) = then {
        let origin = format!("`{path}` at {}", commit.short());
        found.used = Some(used(&then, &path, Some(&commit), from));
        found.known = Some(Arc::new(then.to_known_findings(origin)));
    }
    Ok(found)
}

/// Returns how the work tree's baseline differs from the one that counts, for a plan that is shown.
///
/// # Errors
/// As [`counting`].
pub(crate) fn of_look(
    session: &Session,
    engine: &Engine<'_>,
    base: Option<&Oid>,
) -> Result<Vec<Caveat>, Failure> {
    Ok(find(session, engine, base, false)?.caveats)
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
    Ok(found.present())
}

/// Makes the failure of a baseline that cannot be read or written: exit 3.
pub fn failed(error: BesideError) -> Failure {
    Failure::contract(error.code(), error.to_string()).helped(error.help())
}

/// Makes the failure of a baseline with errors in it: exit 3.
pub fn damaged(path: &RepoPath, found: BaselineFile) -> Failure {
    let errors = count(found.diagnostics.len(), "error");
    let message = format!("the baseline `{path}` has {errors}");
    Failure::contract("vplan::baseline::invalid", message)
        .diagnosed(found.sources, found.diagnostics)
}

/// Whether a commit has a contract, or something in its place.
pub(super) fn has_contract(git: &Git, commit: &Oid, path: &RepoPath) -> bool {
    // The empty tree is the base of unrelated histories.
    if commit.is_empty_tree() {
        return false;
    }
    // An unreadable file may be a baseline.
    !matches!(
        git.file_at(commit, path, crate::location::MAX_FILE),
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
        known: Some(Arc::new(here.to_known_findings(origin))),
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
        visible(why)
    );
    Counting {
        caveats: vec![Caveat::new(Code::BaselineChanged, Effect::Note, message)],
        ..Counting::default()
    }
}

/// Lists the differences of the work tree's baseline from the one that counts.
fn differs(then: &Baseline, now: &Baseline, path: &RepoPath, commit: &Oid) -> Option<Caveat> {
    let (more, gone) = (now.beyond(then), then.beyond(now));
    let sum = |all: &BTreeMap<&str, usize>| all.values().sum::<usize>();
    let mut said = Vec::new();
    if !more.is_empty() {
        let (entries, names, base) = (
            count(sum(&more), "entry"),
            format_counts(&more),
            commit.short(),
        );
        said.push(format!(
            "adds {entries} ({names}), which excuse nothing before they are at the base {base}"
        ));
    }
    if !gone.is_empty() {
        let entries = count(sum(&gone), "entry");
        said.push(format!("removes {entries} ({})", format_counts(&gone)));
    }
    if said.is_empty() {
        return None;
    }
    let message = format!("the change of `{path}` {}", said.join(", and "));
    let checks: BTreeSet<&str> = more.keys().chain(gone.keys()).copied().collect();
    let checks = checks.into_iter().map(str::to_owned).collect();
    Some(Caveat::new(Code::BaselineChanged, Effect::Note, message).of_checks(checks))
}

/// Names checks with their numbers: `lint` 3, `unit` 1.
fn format_counts(all: &BTreeMap<&str, usize>) -> String {
    let names: Vec<String> = (all.iter().take(NAMED))
        .map(|(check, n)| format!("`{}` {n}", visible(check)))
        .collect();
    let more = and_more(all.len().saturating_sub(names.len()));
    format!("{}{more}", names.join(", "))
}

impl Engine<'_> {
    /// Reads the baseline of the work tree. One that is not there is empty.
    ///
    /// # Errors
    /// It cannot be read, or is damaged (exit 3).
    pub fn baseline(&self, site: &Site) -> Result<(RepoPath, Baseline), Failure> {
        let contract = vplan_repo::load::contract_path(site, self.contract)?;
        let path = file::path_for(&contract);
        let found = in_work_tree(site, &path)?;
        Ok((path, found.unwrap_or_default()))
    }
}

/// Search limit for the newest run of a contract.
const LOOKED_AT: usize = 200;

/// The request to record a baseline.
#[derive(Clone, Copy, Debug)]
pub struct RecordRequest<'a> {
    /// The checks to record; empty for all of the run.
    pub checks: &'a [String],
    /// Only remove what the run no longer shows.
    pub tighten: bool,
    /// The full name of the run; the latest of the contract otherwise.
    pub run: Option<&'a str>,
}

/// A baseline that was recorded.
#[derive(Debug)]
pub struct RecordedBaseline {
    /// The baseline file that was written.
    pub path: RepoPath,
    /// The id of the recorded run.
    pub run: String,
    /// What was added, removed and kept.
    pub recording: Recording,
    /// Whether the file was written: an unchanged one is not.
    pub written: bool,
}

impl Engine<'_> {
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
        let (contract, loaded) = self.valid_contract(site)?;
        for check in asked.checks {
            if !contract.checks.iter().any(|c| c.id == *check) {
                let name = visible(check);
                let message = format!("the contract has no check `{name}`");
                return Err(Failure::usage("vplan::usage::unknown_check", message)
                    .help("`vplan explain --all` lists them"));
            }
        }
        let (path, old) = self.baseline(site)?;
        let (run, report, plan) = match asked.run {
            Some(id) => {
                let (report, plan) = read_run(history, id).map_err(|why| {
                    let message = format!("the run `{}` {why}", visible(id));
                    Failure::usage("vplan::baseline::run", message)
                })?;
                (id.to_owned(), report, plan)
            }
            None => latest(history, &loaded.path.to_string())?,
        };
        let of = plan.contract.as_ref();
        if of.is_none_or(|c| c.path != loaded.path.to_string()) {
            let message = format!("the run `{run}` was not of the contract `{}`", loaded.path);
            return Err(Failure::usage("vplan::baseline::run", message).help(RUN_FIRST));
        }
        let partial = partial_checks(&contract);
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

/// The help if there is no run to record.
const RUN_FIRST: &str = "`vplan run --all --keep-going` looks at everything, then record again";

fn read_run(history: &History, id: &str) -> Result<(Report, Plan), String> {
    let report = history.report(id).map_err(|why| why.to_string())?;
    let report = report.ok_or("has no report: it did not come to its end")?;
    let plan = history.plan(id).map_err(|why| why.to_string())?;
    Ok((report, plan.ok_or("has no plan beside its report")?))
}

/// Finds the newest run of a contract that has a report.
fn latest(history: &History, contract: &str) -> Result<(String, Report, Plan), Failure> {
    let ids = history.ids()?;
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
