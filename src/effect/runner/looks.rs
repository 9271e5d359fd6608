//! Takes snapshots of the work tree during a run, and records what changed between two of them and
//! which steps ran meanwhile.
//!
//! One snapshot is taken before a run, one after it, and one after each try of a step with
//! `writes`. The steps that may have run are never too few: a step that begins or ends while a
//! snapshot is taken belongs to both sides of it.

use crate::base::path::RepoPath;
use crate::check::Kind;
use crate::effect::git::Git;
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::git::snapshot::Snapshot;
use crate::effect::store::reuse::scan::Snapshots;
use crate::plan::Step;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Takes a snapshot, if possible.
pub(in crate::effect) fn take(git: &Git) -> Option<Snapshot> {
    known(git.snapshot())
}

/// Returns a snapshot that could be taken.
pub(in crate::effect) fn known(taken: Result<Snapshot, GitError>) -> Option<Snapshot> {
    taken
        .inspect_err(|why| tracing::debug!(%why, "the tree is not known"))
        .ok()
}

/// The snapshots of one run.
#[derive(Debug)]
pub struct Looks {
    git: Git,
    /// The commit that HEAD named before the run; the outer `None` where that is unknown.
    pub(in crate::effect) head: Option<Option<Oid>>,
    state: Mutex<State>,
    /// Held while a snapshot is taken: they do not overlap.
    looking: Mutex<()>,
}

impl Snapshots for Option<&Looks> {
    fn newest(&self) -> Option<Arc<Snapshot>> {
        self.and_then(Looks::newest)
    }

    fn at_rest(&self) -> Option<Arc<Snapshot>> {
        self.and_then(Looks::at_rest)
    }
}

#[derive(Debug, Default)]
struct State {
    last: Option<Arc<Snapshot>>,
    running: BTreeSet<String>,
    /// The steps that ran since the last snapshot.
    ran: BTreeSet<String>,
    /// The steps that have run since the current snapshot began.
    since: BTreeSet<String>,
    over: BTreeSet<String>,
    spans: Vec<Span>,
}

/// The changes between two snapshots.
#[derive(Debug, Default)]
pub(in crate::effect) struct Span {
    /// The steps of which a process ran, by id.
    pub ran: BTreeSet<String>,
    /// The steps that had ended before the second snapshot.
    pub over: BTreeSet<String>,
    /// The changed files, in byte order of the paths.
    pub changed: Vec<Changed>,
}

/// A file that changed.
#[derive(Debug)]
pub(in crate::effect) struct Changed {
    pub path: RepoPath,
    pub was: Was,
}

/// The state of a changed file before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::effect) enum Was {
    /// A file of the index, before or afterwards.
    Tracked,
    /// A file that existed outside the index.
    Untracked,
    /// A file that did not exist.
    New,
}

impl Looks {
    /// Makes it from the first snapshot.
    pub(in crate::effect) fn new(
        git: Git,
        head: Option<Option<Oid>>,
        first: Option<Snapshot>,
    ) -> Self {
        let state = State {
            last: first.map(Arc::new),
            ..State::default()
        };
        Self {
            git,
            head,
            state: Mutex::new(state),
            looking: Mutex::default(),
        }
    }

    /// Records that a process of a step is about to start.
    pub(in crate::effect) fn started(&self, step: &Step) {
        if step.kind != Kind::File {
            let mut state = self.state();
            state.running.insert(step.id.clone());
            state.ran.insert(step.id.clone());
            state.since.insert(step.id.clone());
        }
    }

    /// Records that a try of a step has ended.
    pub(in crate::effect) fn ended(&self, step: &Step) {
        let mut state = self.state();
        state.running.remove(&step.id);
        state.over.insert(step.id.clone());
    }

    /// Takes a snapshot after a step that has no process left. A failed one is ignored.
    pub(in crate::effect) fn look_behind(&self, step: &Step) {
        let _alone = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut state = self.state();
            state.running.remove(&step.id);
            state.since = state.running.clone();
        }
        self.close(take(&self.git).map(Arc::new).as_ref());
    }

    fn close(&self, seen: Option<&Arc<Snapshot>>) {
        let mut state = self.state();
        let Some(seen) = seen else { return };
        let Some(last) = state.last.replace(Arc::clone(seen)) else {
            return;
        };
        let next = std::mem::take(&mut state.since);
        let ran = std::mem::replace(&mut state.ran, next);
        let was = |path: &RepoPath| match () {
            () if last.is_tracked(path) || seen.is_tracked(path) => Was::Tracked,
            () if last.entry(path).is_some() => Was::Untracked,
            () => Was::New,
        };
        let changed = last
            .differences(seen)
            .into_iter()
            .map(|path| Changed {
                was: was(&path),
                path,
            })
            .collect();
        let span = Span {
            ran,
            over: state.over.clone(),
            changed,
        };
        state.spans.push(span);
    }

    /// Whether the first snapshot succeeded.
    pub(in crate::effect) fn is_known(&self) -> bool {
        self.state().last.is_some()
    }

    /// Returns the newest snapshot, if there is one.
    pub(in crate::effect) fn newest(&self) -> Option<Arc<Snapshot>> {
        self.state().last.clone()
    }

    /// Takes the last snapshot, and reads HEAD. Where no process of a step has run since the newest
    /// one, and nothing else `looked` at the tree, that one is the last.
    pub(in crate::effect) fn last(
        &self,
        looked: bool,
    ) -> (Option<Arc<Snapshot>>, Option<Option<Oid>>) {
        let head = self.git.head().ok();
        if let Some(newest) = self.at_rest().filter(|_| !looked) {
            return (Some(newest), head);
        }
        let now = take(&self.git).map(Arc::new);
        self.close(now.as_ref());
        (now, head)
    }

    fn at_rest(&self) -> Option<Arc<Snapshot>> {
        let state = self.state();
        state.last.clone().filter(|_| state.ran.is_empty())
    }

    /// Returns the changes between the snapshots.
    pub(in crate::effect) fn spans(&self) -> Vec<Span> {
        std::mem::take(&mut self.state().spans)
    }

    /// Returns every step of which a process ran since the last snapshot.
    pub(in crate::effect) fn ran(&self) -> BTreeSet<String> {
        self.state().ran.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
