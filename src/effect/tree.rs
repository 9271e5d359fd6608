//! Which tree does a run verify, and is it still there?
//!
//! What a plan's own steps produce is no part of it: a run that writes its products verifies the tree that they were made from.

use super::git::Git;
use super::git::snapshot::Snapshot;
use crate::base::path::RepoPath;
use crate::plan::{Note, Plan};
use std::thread::{Builder, JoinHandle};

/// The note of a run in which the tree changed.
pub const CHANGED: &str = "tree-changed";
/// How many files such a note names.
const NAMED: usize = 3;

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

fn is_product(plan: &Plan, path: &RepoPath) -> bool {
    plan.steps.iter().flat_map(|s| &s.produces).any(|glob| glob.matches(path))
}

/// The tree at the beginning of a run.
#[derive(Debug)]
pub struct Begun {
    git: Git,
    snapshot: Option<Snapshot>,
}

/// A tree that is being looked at while other things are prepared.
#[derive(Debug)]
pub struct Beginning(Option<(Git, Option<JoinHandle<Option<Snapshot>>>)>);

impl Beginning {
    /// Begins to look. Without git there is nothing to look at.
    #[must_use]
    pub fn look(git: Option<&Git>) -> Self {
        Self(git.map(|git| {
            let own = git.clone();
            (git.clone(), Builder::new().spawn(move || take(&own)).ok())
        }))
    }

    /// Waits for what was seen: nothing of the run may have begun.
    #[must_use]
    pub fn seen(self) -> Option<Begun> {
        let (git, handle) = self.0?;
        // Where there was no thread for it, there is time for it now.
        let snapshot = handle.map_or_else(|| take(&git), |handle| handle.join().ok().flatten());
        Some(Begun { git, snapshot })
    }
}

impl Begun {
    /// What a report says of the tree, when everything has ended: its digest if it is the same as at the beginning, else a
    /// note. `plan`: the one that was executed last.
    #[must_use]
    pub fn ended(&self, plan: &Plan) -> (Option<String>, Option<Note>) {
        let (Some(before), Some(after)) = (&self.snapshot, take(&self.git)) else { return (None, None) };
        let changed: Vec<RepoPath> =
            before.differences(&after).into_iter().filter(|path| !is_product(plan, path)).collect();
        let Some(first) = changed.first() else { return (Some(digest(before, plan)), None) };
        let named: Vec<String> = changed.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let more = match changed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!("the tree changed while the run went on: {}{more}", named.join(", "));
        (None, Some(Note { kind: CHANGED.to_owned(), message, path: Some(first.clone()) }))
    }
}
