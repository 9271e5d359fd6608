//! Finds the baseline that counts: the one at the base of a change, so that a change cannot excuse
//! its own findings.

use super::failure::Failure;
use super::open::Session;
use super::place::Engine;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::word::{and_more, count, visible};
use vplan_baseline::Baseline;
use vplan_check::baseline::KnownFindings;
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_plan::Plan;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::request::ChangedIn;
use vplan_repo::baseline::{self as file, BaselineFile};
use vplan_repo::beside::BesideError;
use vplan_repo::load::Site;
use vplan_repo::since::Since;
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
    found(session, engine, base, true)
}

/// Finds it as [`counting`]. Without `may_ask`, the commit counts as having none if the work tree
/// has none and only git could tell.
fn found(
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
    if here.is_none() && is_missing(session, engine, git, (&commit, &path), may_ask) {
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
pub(crate) fn of_look(
    session: &Session,
    engine: &Engine<'_>,
    base: Option<&Oid>,
) -> Result<Vec<Caveat>, Failure> {
    Ok(found(session, engine, base, false)?.caveats)
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
pub fn failed(error: BesideError) -> Failure {
    Failure::contract(error.code(), error.to_string()).helped(error.help())
}

/// Makes the failure of a baseline with errors in it: exit 3.
#[must_use]
pub fn damaged(path: &RepoPath, found: BaselineFile) -> Failure {
    let errors = count(found.diagnostics.len(), "error");
    let message = format!("the baseline `{path}` has {errors}");
    Failure::contract("vplan::baseline::invalid", message)
        .diagnosed(found.sources, found.diagnostics)
}

/// Whether a commit certainly has no baseline, if the work tree has none.
fn is_missing(
    session: &Session,
    engine: &Engine<'_>,
    git: &Git,
    (commit, path): (&Oid, &RepoPath),
    may_ask: bool,
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
    since
        .is_same(std::slice::from_ref(path), may_ask)
        .unwrap_or(true)
}

/// Whether a commit has a contract, or something in its place.
fn has_contract(git: &Git, commit: &Oid, path: &RepoPath) -> bool {
    // The empty tree is the base of unrelated histories.
    if Oid::empty_tree(commit.length()) == Some(*commit) {
        return false;
    }
    // An unreadable file may be a baseline.
    !matches!(git.file_at(commit, path, crate::place::MAX_FILE), Ok(None))
        || !matches!(git.submodule_around(commit, path), Ok(None))
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
        let contract = vplan_repo::load::contract_path(site, self.contract)
            .map_err(super::failure::load_failed)?;
        let path = file::path_for(&contract);
        let found = in_work_tree(site, &path)?;
        Ok((path, found.unwrap_or_default()))
    }
}
