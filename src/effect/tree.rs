//! Which tree does a run verify, and is it still there?
//!
//! What a plan's own steps produce is no part of it: a run that writes its products verifies the tree that they were made from.

use super::git::Git;
use super::git::object::Oid;
use super::git::snapshot::Snapshot;
use crate::base::path::RepoPath;
use crate::contract::Contract;
use crate::plan::about::is_about;
use crate::plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use crate::plan::{Note, Plan, Step};
use crate::run::record::StepRecord;
use std::thread::{Builder, JoinHandle};

/// The note of a run in which the tree changed.
pub const CHANGED: &str = "tree-changed";
/// How many files such a note names.
const NAMED: usize = 3;
/// The way out of a tree that moved.
const AGAIN: &str = "run again when nothing else writes to the work tree; `produces` names what a step makes";

/// The work tree that is here now, if it is known.
#[derive(Debug)]
pub struct Present(Option<Snapshot>);

impl Present {
    /// Looks at it, once.
    #[must_use]
    pub fn look(git: Option<&Git>) -> Self {
        Self(git.and_then(take))
    }

    /// Its digest, as a report of this plan would record it.
    #[must_use]
    pub fn digest(&self, plan: &Plan) -> Option<String> {
        self.0.as_ref().map(|snapshot| digest(snapshot, plan))
    }
}

fn take(git: &Git) -> Option<Snapshot> {
    git.snapshot().inspect_err(|why| tracing::debug!(%why, "the tree is not known")).ok()
}

fn digest(snapshot: &Snapshot, plan: &Plan) -> String {
    let product = |path: &RepoPath| is_product(plan, path);
    let has_products = plan.steps.iter().any(|s| !s.produces.is_empty());
    snapshot.digest(has_products.then_some(&product)).to_string()
}

/// Whether a step of the plan deletes the file, or reports in it.
fn is_cleaned_or_reported(plan: &Plan, path: &RepoPath) -> bool {
    let reported = |s: &Step| s.report.as_ref().is_some_and(|r| r.glob.matches(path));
    plan.steps.iter().any(|s| s.cleans.iter().any(|glob| glob.matches(path)) || reported(s))
}

fn is_product(plan: &Plan, path: &RepoPath) -> bool {
    plan.steps.iter().flat_map(|s| &s.produces).any(|glob| glob.matches(path))
}

/// What git says of a work tree at one moment.
#[derive(Debug)]
struct Look {
    /// The commit that HEAD names; the outer `None` where that is not known.
    head: Option<Option<Oid>>,
    snapshot: Option<Snapshot>,
}

impl Look {
    fn at(git: &Git) -> Self {
        Self { head: git.head().ok(), snapshot: take(git) }
    }
}

/// The tree at the beginning of a run.
#[derive(Debug)]
pub struct Begun {
    git: Git,
    before: Look,
}

/// A tree that is being looked at while other things are prepared.
#[derive(Debug)]
pub struct Beginning(Option<(Git, Option<JoinHandle<Look>>)>);

impl Beginning {
    /// Begins to look. Without git there is nothing to look at.
    #[must_use]
    pub fn look(git: Option<&Git>) -> Self {
        Self(git.map(|git| {
            let own = git.clone();
            (git.clone(), Builder::new().spawn(move || Look::at(&own)).ok())
        }))
    }

    /// Waits for what was seen: nothing of the run may have begun.
    #[must_use]
    pub fn seen(self) -> Option<Begun> {
        let (git, handle) = self.0?;
        // Where there was no thread for it, there is time for it now.
        let before = handle.and_then(|handle| handle.join().ok()).unwrap_or_else(|| Look::at(&git));
        Some(Begun { git, before })
    }
}

/// What came of the tree while a run went on.
#[derive(Debug, Default)]
pub struct Ended {
    /// The digest of the tree, where it is the same as at the beginning.
    pub tree: Option<String>,
    /// What keeps a pass from being one of the tree that is here now.
    pub caveats: Vec<Caveat>,
    /// Files that changed without taking anything from a pass.
    pub note: Option<Note>,
}

/// What is to be said of the tree of a run that has ended. `plan`: the one that was executed last; `records` of its steps.
#[must_use]
pub fn ended(begun: Option<&Begun>, plan: &Plan, contract: Option<&Contract>, records: &[StepRecord]) -> Ended {
    let passed: Vec<&Step> =
        plan.steps.iter().zip(records).filter(|(s, r)| !s.setup && r.status.is_pass()).map(|(s, _)| s).collect();
    let unknown = |why: &str| {
        let message = format!("whether files changed while the checks ran is not known: {why}");
        let caveats = vec![Caveat::new(Code::TreeUnknown, Effect::Note, message)];
        Ended { caveats: if passed.is_empty() { Vec::new() } else { caveats }, ..Ended::default() }
    };
    match begun {
        None => unknown("there is no git repository"),
        Some(Begun { before: Look { snapshot: None, .. }, .. }) => unknown("git could not say what there was"),
        Some(Begun { git, before: Look { head, snapshot: Some(before) } }) => {
            let after = Look::at(git);
            let mut ended = moved(before, after.snapshot.as_ref(), plan, contract, &passed);
            if let (Some(then), now) = (head, &after.head)
                && now.as_ref() != Some(then)
                && !plan.steps.is_empty()
            {
                let name = |id: &Option<Oid>| id.as_ref().map_or_else(|| "no commit".to_owned(), Oid::short);
                let now = now.as_ref().map_or_else(|| "nothing that can be read".to_owned(), name);
                let message = format!("HEAD moved while the checks ran: {} -> {now}", name(then));
                let caveat = Caveat::new(Code::HeadMoved, Effect::Incomplete, message).way_out(AGAIN);
                ended.caveats.insert(0, caveat);
            }
            ended
        }
    }
}

/// What is to be said of the files.
fn moved(
    before: &Snapshot,
    after: Option<&Snapshot>,
    plan: &Plan,
    contract: Option<&Contract>,
    passed: &[&Step],
) -> Ended {
    let Some(after) = after else {
        let message = "whether files changed while the checks ran is not known: git could say what there was, and cannot any more";
        let way_out = "ignore large files that steps make, mend the repository, and run again";
        let caveat = Caveat::new(Code::TreeMoved, Effect::Incomplete, message).way_out(way_out);
        let caveats = if passed.is_empty() { Vec::new() } else { vec![caveat] };
        return Ended { caveats, ..Ended::default() };
    };
    let changed: Vec<RepoPath> = before.differences(after).into_iter().filter(|path| !is_product(plan, path)).collect();
    if changed.is_empty() {
        return Ended { tree: Some(digest(before, plan)), ..Ended::default() };
    }
    let counts = |path: &&RepoPath| {
        (before.is_tracked(path) || after.is_tracked(path))
            && !is_cleaned_or_reported(plan, path)
            && passed.iter().any(|step| is_about(contract, step, path))
    };
    let (moved, others): (Vec<&RepoPath>, Vec<&RepoPath>) = changed.iter().partition(counts);
    let mut ended = Ended { note: note(&others), ..Ended::default() };
    if !moved.is_empty() {
        let about = |step: &&&Step| moved.iter().any(|path| is_about(contract, step, path));
        let mut checks: Vec<String> = passed.iter().filter(about).map(|s| s.check().to_owned()).collect();
        checks.dedup();
        checks.truncate(FILES_SHOWN);
        let message = "files changed while the checks ran, which passed for what is no longer here";
        let caveat = Caveat::new(Code::TreeMoved, Effect::Incomplete, message).of_checks(checks).way_out(AGAIN);
        ended.caveats.push(caveat.about(moved.into_iter().cloned().collect()));
    }
    ended
}

fn note(changed: &[&RepoPath]) -> Option<Note> {
    let first = changed.first()?;
    let named: Vec<String> = changed.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("the tree changed while the run went on: {}{more}", named.join(", "));
    Some(Note { kind: CHANGED.to_owned(), message, path: Some((*first).clone()) })
}
