//! Takes snapshots of the work tree during a run, and records the changes between them, with the
//! steps that ran meanwhile.
//!
//! One snapshot is taken before a run, one after it, and one after each try of a step with
//! `writes`. The list of steps that may have run is never too short: a step that begins or ends
//! during a snapshot belongs to both sides of it.
//!
//! After each other step that is followed by one, or by the end of a service, files touched since are
//! compared with the last snapshot: a file may have had another content between two equal ones. That comparison reads
//! every file. It is skipped if all folders are watched and nothing was reported.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use vplan_base::path::RepoPath;
use vplan_check::Kind;
use vplan_git::Git;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::skipped::HiddenFiles;
use vplan_git::snapshot::Snapshot;
use vplan_os::files::beneath::Beneath;
use vplan_os::watches::Watches;
use vplan_plan::{Plan, Step};
use vplan_store::reuse::scan::Snapshots;

/// Takes a snapshot, if possible.
pub fn take(git: &Git) -> Option<Snapshot> {
    usable(git.snapshot())
}

/// Returns a snapshot that could be taken.
pub fn usable(taken: Result<Snapshot, GitError>) -> Option<Snapshot> {
    taken
        .inspect_err(|why| tracing::debug!(%why, "the tree is not known"))
        .ok()
}

/// The snapshots of one run.
#[derive(Debug)]
pub struct RunSnapshots {
    git: Git,
    /// Files and directories in the repository that vplan itself writes on this command line.
    own: Vec<RepoPath>,
    /// The commit of HEAD before the run; `None` if that is unknown.
    pub head: Option<Option<Oid>>,
    state: Mutex<State>,
    /// Held while a snapshot is taken: they do not overlap.
    looking: Mutex<()>,
    /// Watches of all folders of the first snapshot; the inner `None` if that is impossible.
    watches: OnceLock<Mutex<Option<Watches>>>,
}

impl Snapshots for RunSnapshots {
    fn newest(&self) -> Option<Arc<Snapshot>> {
        RunSnapshots::newest(self)
    }

    fn at_rest(&self) -> Option<Arc<Snapshot>> {
        RunSnapshots::at_rest(self)
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
    spans: Vec<SnapshotSpan>,
    interim: Interim,
    /// Whether files may have changed between the first snapshot and the first watch.
    unwatched: bool,
}

/// The comparisons since the last snapshot.
#[derive(Debug, Default)]
struct Interim {
    /// The files that differed from the last snapshot at the newest comparison.
    differing: BTreeSet<RepoPath>,
    /// All files that ever changed, each with the steps that ran meanwhile.
    steps: BTreeMap<RepoPath, BTreeSet<String>>,
    /// The steps that ran since the newest comparison.
    recent: BTreeSet<String>,
    /// Whether a process of a step ran since.
    is_due: bool,
    /// The steps that ran before a comparison that failed.
    unknown: BTreeSet<String>,
}

impl Interim {
    /// Adds a comparison; `None` if it failed.
    fn add(&mut self, differing: Option<BTreeSet<RepoPath>>, running: &BTreeSet<String>) {
        let ran = std::mem::replace(&mut self.recent, running.clone());
        self.is_due = !running.is_empty();
        if differing.is_none() {
            self.unknown.extend(ran.iter().cloned());
        }
        let differing = differing.unwrap_or_else(|| self.differing.clone());
        for path in self.differing.union(&differing) {
            let steps = self.steps.entry(path.clone()).or_default();
            steps.extend(ran.iter().cloned());
        }
        self.differing = differing;
    }

    /// Returns the files that have the content of the last snapshot again.
    fn restored(mut self, last: &Snapshot, now: &Snapshot) -> Vec<RestoredFile> {
        for path in &self.differing {
            let steps = self.steps.entry(path.clone()).or_default();
            steps.extend(self.recent.iter().cloned());
        }
        let is_restored = |path: &RepoPath| last.file(path) == now.file(path);
        let restored = self.steps.into_iter().filter(|(path, _)| is_restored(path));
        restored
            .map(|(path, ran)| RestoredFile { path, ran })
            .collect()
    }
}

/// The changes between two snapshots.
#[derive(Debug, Default)]
pub struct SnapshotSpan {
    /// The ids of the steps with a process that ran.
    pub ran: BTreeSet<String>,
    /// The steps that had ended before the second snapshot.
    pub over: BTreeSet<String>,
    /// The changed files, in byte order of the paths.
    pub changed: Vec<SnapshotChange>,
    /// The files that had another content in between, in byte order of the paths.
    pub restored: Vec<RestoredFile>,
    /// The steps after which the tree could not be compared.
    pub unknown: BTreeSet<String>,
}

/// A file that had another content between two snapshots in which it has the same.
#[derive(Debug)]
pub struct RestoredFile {
    pub path: RepoPath,
    /// The steps that ran between the last comparison before and the first one after.
    pub ran: BTreeSet<String>,
}

/// A file that changed.
#[derive(Debug)]
pub struct SnapshotChange {
    pub path: RepoPath,
    pub was: EarlierState,
}

/// The state of a changed file before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierState {
    /// A file of the index, before or afterwards.
    Tracked,
    /// A file that existed outside the index.
    Untracked,
    /// A file that did not exist.
    New,
}

impl RunSnapshots {
    /// Makes it from the first snapshot.
    pub fn new(
        git: Git,
        own: Vec<RepoPath>,
        head: Option<Option<Oid>>,
        first: Option<Snapshot>,
    ) -> Self {
        let state = State {
            last: first.map(Arc::new),
            ..State::default()
        };
        Self {
            git,
            own,
            head,
            state: Mutex::new(state),
            looking: Mutex::default(),
            watches: OnceLock::new(),
        }
    }

    /// Records that a process of a step of this plan is about to start.
    pub fn started(&self, step: &Step, plan: &Plan) {
        let mut unwatched = false;
        if plan.steps.len() > 1 && step.kind != Kind::File {
            self.watches.get_or_init(|| {
                // A service starts before its step, and may have changed files already.
                unwatched = plan.steps.iter().any(|step| !step.with.is_empty());
                Mutex::new(self.watch())
            });
        }
        let mut state = self.state();
        state.unwatched |= unwatched;
        state.interim.recent.insert(step.id.clone());
        if step.kind != Kind::File {
            state.interim.is_due = true;
            state.running.insert(step.id.clone());
            state.ran.insert(step.id.clone());
            state.since.insert(step.id.clone());
        }
    }

    /// Records that a try of a step has ended.
    pub fn ended(&self, step: &Step) {
        let mut state = self.state();
        state.running.remove(&step.id);
        state.over.insert(step.id.clone());
    }

    /// Takes a snapshot after a step that has no process left. A failed one is ignored.
    pub(crate) fn look_behind(&self, step: &Step) {
        let _alone = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut state = self.state();
            state.running.remove(&step.id);
            state.since = state.running.clone();
        }
        self.close(take(&self.git).map(Arc::new).as_ref());
    }

    /// Watches all folders of the first snapshot; `None` if that is not possible.
    fn watch(&self) -> Option<Watches> {
        let (tree, beneath) = (self.newest()?, Beneath::open(self.git.root()).ok()?);
        let mut watches = Watches::default();
        let mut add = |path: RepoPath| {
            let folder = beneath.folder(&path);
            folder.is_ok_and(|folder| watches.add(&path, folder.as_fd()))
        };
        tree.folders().all(&mut add).then_some(watches)
    }

    /// Whether files may have changed since the last call: a watch reported one, or not all folders
    /// are watched. A new folder is not watched, so later changes in it are unknown.
    fn may_have_changed(&self) -> bool {
        let watches = self.watches.get_or_init(Mutex::default);
        let mut watches = watches.lock().unwrap_or_else(PoisonError::into_inner);
        let told = watches.as_mut().and_then(Watches::take_changes);
        if told.iter().flatten().any(|change| change.is_folder) {
            *watches = None;
        }
        told.is_none_or(|told| !told.is_empty())
    }

    /// Compares the tree after a step that another one or the end of a service follows, if a process
    /// of one ran since the last comparison and a file may have changed.
    pub fn compare(&self) {
        let _alone = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, differing, unwatched) = {
            let state = &mut *self.state();
            let last = state.last.clone().filter(|_| state.interim.is_due);
            let unwatched = std::mem::take(&mut state.unwatched);
            (last, state.interim.differing.clone(), unwatched)
        };
        let Some(last) = last else { return };
        let differing = if self.may_have_changed() || unwatched {
            last.differing(&self.git)
                .inspect_err(|why| tracing::debug!(%why, "the tree is not compared"))
                .ok()
        } else {
            Some(differing)
        };
        let state = &mut *self.state();
        state.interim.add(differing, &state.running);
    }

    fn close(&self, seen: Option<&Arc<Snapshot>>) {
        let mut state = self.state();
        let Some(seen) = seen else { return };
        let Some(last) = state.last.replace(Arc::clone(seen)) else {
            return;
        };
        let next = std::mem::take(&mut state.since);
        let rest = Interim {
            is_due: !next.is_empty(),
            recent: next.clone(),
            ..Interim::default()
        };
        let interim = std::mem::replace(&mut state.interim, rest);
        let ran = std::mem::replace(&mut state.ran, next);
        let was = |path: &RepoPath| match () {
            () if last.is_tracked(path) || seen.is_tracked(path) => EarlierState::Tracked,
            () if last.entry(path).is_some() => EarlierState::Untracked,
            () => EarlierState::New,
        };
        let changed = last
            .differences(seen)
            .into_iter()
            .map(|path| SnapshotChange {
                was: was(&path),
                path,
            })
            .collect();
        let span = SnapshotSpan {
            ran,
            over: state.over.clone(),
            changed,
            unknown: interim.unknown.clone(),
            restored: interim.restored(&last, seen),
        };
        state.spans.push(span);
    }

    /// Whether the first snapshot succeeded.
    pub fn is_known(&self) -> bool {
        self.state().last.is_some()
    }

    /// Returns the newest snapshot, if there is one.
    pub fn newest(&self) -> Option<Arc<Snapshot>> {
        self.state().last.clone()
    }

    /// Takes the last snapshot, and reads HEAD. If no process of a step has run since the newest
    /// snapshot, and nothing else `looked` at the tree, the newest is reused.
    pub fn last(&self, looked: bool) -> (Option<Arc<Snapshot>>, Option<Option<Oid>>) {
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
    pub fn spans(&self) -> Vec<SnapshotSpan> {
        let mut spans = std::mem::take(&mut self.state().spans);
        if !self.own.is_empty() {
            // A directory with tracked files is not vplan's own, even if an option names it.
            let newest = self.newest();
            let is_shared = |own: &RepoPath| {
                newest.iter().any(|tree| {
                    let mut files = tree.files();
                    files.any(|(path, _)| tree.is_tracked(&path) && path.below(own).is_some())
                })
            };
            let own = self.own.iter().filter(|own| !is_shared(own));
            let own: Vec<&RepoPath> = own.collect();
            let is_own = |path: &RepoPath| {
                let mut own = own.iter();
                own.any(|own| path == *own || path.below(own).is_some())
            };
            for span in &mut spans {
                span.changed
                    .retain(|file| file.was == EarlierState::Tracked || !is_own(&file.path));
                span.restored.retain(|file| !is_own(&file.path));
            }
        }
        spans
    }

    /// Returns which of some untracked files tools leave, or git ignores on this machine.
    pub fn left_or_hidden(&self, paths: &[RepoPath]) -> HiddenFiles {
        self.git.left_or_hidden(paths)
    }

    /// Returns which of some untracked files git ignores on this machine.
    pub fn ignored_here(&self, paths: &[RepoPath]) -> HiddenFiles {
        self.git.ignored_here(paths)
    }

    /// Returns every step with a process that ran since the last snapshot.
    pub fn ran(&self) -> BTreeSet<String> {
        self.state().ran.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
