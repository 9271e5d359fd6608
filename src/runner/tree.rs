//! Decides which tree a run has verified, and whether it is still the one in the work tree.
//!
//! Products of the plan's own steps do not belong to it: a run that writes its products verifies
//! the tree that they were made from. Neither do new files that a step left, if nothing selects
//! them and the report names them. They must be unchanged since then, and not in the index.

pub mod blame;
mod new_files;

use crate::snapshots::{EarlierState, RunSnapshots, take, usable};
use blame::{Attribution, BlamedRun, blame};
use new_files::AGAIN;
use new_files::{NewFileLines, new_files};
use std::thread::{Builder, JoinHandle};
use vplan_base::path::RepoPath;
use vplan_base::word::first_of;
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_git::skipped::{HiddenBy, HiddenFiles};
use vplan_git::snapshot::Snapshot;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::{Note, Plan};
use vplan_run::report::{NewFile, Report};

/// The note of a run in which the tree changed.
pub const CHANGED: &str = "tree-changed";
/// Maximum number of files that such a note names.
const NAMED: usize = 3;
/// Maximum number of new files that a report names; a tree with more is not identified.
const MOST_NEW: usize = 1_000;

/// The present work tree, if it is known, and its files that git ignores on this machine.
#[derive(Debug)]
pub struct Present(Option<(Snapshot, HiddenFiles)>);

impl Present {
    /// Takes a snapshot of it.
    pub fn take(git: Option<&Git>) -> Self {
        Self(git.and_then(|git| {
            let snapshot = take(git)?;
            let hidden = git.ignored_here(&snapshot.untracked());
            Some((snapshot, hidden))
        }))
    }

    /// Returns its digest as this report, of this plan, would record it.
    pub fn digest(&self, report: &Report, plan: &Plan) -> Option<String> {
        let (snapshot, hidden) = self.0.as_ref()?;
        let whole = report.whole().unwrap_or(plan);
        Some(digest(snapshot, hidden, whole, &report.new_files))
    }
}

/// `hidden`: the files that git ignores on this machine. Those that a tool leaves, and those that
/// the user's own ignore file hides, do not belong to the tree, as in [`Git::tree`].
fn digest(snapshot: &Snapshot, hidden: &HiddenFiles, plan: &Plan, new: &[NewFile]) -> String {
    let is_apart = |by: &HiddenBy| *by != HiddenBy::Repository;
    let is_left = |path: &RepoPath| {
        let named = new
            .binary_search_by(|file| file.path.cmp(path))
            .ok()
            .and_then(|at| new.get(at));
        named.is_some_and(|file| {
            !snapshot.is_tracked(path) && snapshot.entry(path).as_ref() == Some(&file.content)
        })
    };
    let leave_out = |path: &RepoPath| {
        plan.produces(path) || is_left(path) || hidden.get(path).is_some_and(is_apart)
    };
    let any = !new.is_empty()
        || hidden.values().any(is_apart)
        || plan.steps.iter().any(|s| !s.produces.is_empty());
    snapshot.digest(any.then_some(&leave_out)).to_string()
}

/// A snapshot that is being taken while other things are prepared.
#[derive(Debug)]
pub struct TreeBeginning(Option<(Git, Option<JoinHandle<FirstSnapshot>>)>);

type FirstSnapshot = (Option<Option<Oid>>, Option<Snapshot>);

/// Takes the snapshot with which a run begins: the tree in which its changes were found.
fn first(git: &Git) -> Option<Snapshot> {
    usable(git.snapshot_of_comparison())
}

impl TreeBeginning {
    /// Begins to take the snapshot. Does nothing without git.
    pub fn start(git: Option<&Git>) -> Self {
        Self(git.map(|git| {
            let own = git.clone();
            (
                git.clone(),
                Builder::new()
                    .spawn(move || (own.head().ok(), first(&own)))
                    .ok(),
            )
        }))
    }

    /// Waits for the snapshot: no step of the run may have started. `own`: the files in the
    /// repository that vplan writes on this command line, which do not change the tree.
    pub fn wait(mut self, own: Vec<RepoPath>) -> Option<RunSnapshots> {
        let (git, handle) = self.0.take()?;
        // If no thread could be started, the snapshot is taken here.
        let seen = handle.and_then(|handle| handle.join().ok());
        let (head, first) = seen.unwrap_or_else(|| (git.head().ok(), first(&git)));
        Some(RunSnapshots::new(git, own, head, first))
    }
}

impl Drop for TreeBeginning {
    /// Waits for the thread of a run that cannot begin: the end of the process would leave the file
    /// that it may be writing.
    fn drop(&mut self) {
        if let Some((_, Some(handle))) = self.0.take() {
            let _ = handle.join();
        }
    }
}

/// The changes of the tree during a run.
#[derive(Debug, Default)]
pub struct TreeChanges {
    /// The reasons why a pass may not hold for the present tree.
    pub caveats: Vec<Caveat>,
    /// The steps that wrote files they must not, and the message.
    pub failed: Vec<(String, String)>,
    /// New files that nothing in the plan selects and git does not track, ascending.
    pub made: Vec<RepoPath>,
    /// The same with their contents, if they are not too many.
    pub new: Vec<NewFile>,
    /// The note about files that changed without taking anything from a pass.
    pub note: Option<Note>,
    /// The steps whose passes must not be reused.
    pub suspects: Vec<String>,
    /// The digest of the verified tree, if it is the present one.
    pub tree: Option<String>,
    /// Files that steps changed with permission, ascending.
    pub wrote: Vec<RepoPath>,
}

/// Compares the tree before and after a run. `looked`: whether vplan itself scanned its files since
/// the last snapshot.
pub fn ended(looks: Option<&RunSnapshots>, run: &BlamedRun<'_>, looked: bool) -> TreeChanges {
    let Some(plan) = run.plan() else {
        return TreeChanges::default();
    };
    let unknown = |why: &str| {
        let message = format!("whether files changed while the checks ran is not known: {why}");
        let caveats = vec![Caveat::new(Code::TreeUnknown, Effect::Note, message)];
        TreeChanges {
            caveats: if run.passed().is_empty() {
                Vec::new()
            } else {
                caveats
            },
            ..TreeChanges::default()
        }
    };
    let Some(looks) = looks else {
        return unknown("there is no git repository");
    };
    if !looks.is_known() {
        return unknown("git could not say what there was");
    }
    let all = looks.ran();
    let (now, head) = looks.last(looked);
    let mut ended = match &now {
        Some(now) => moved(now, looks, run, plan),
        None => vanished(run, all.into_iter().collect()),
    };
    if let (Some(then), now) = (&looks.head, &head)
        && now.as_ref() != Some(then)
        && !plan.steps.is_empty()
    {
        let name = |id: &Option<Oid>| {
            id.as_ref()
                .map_or_else(|| "no commit".to_owned(), Oid::short)
        };
        let now = now
            .as_ref()
            .map_or_else(|| "nothing that can be read".to_owned(), name);
        let message = format!("HEAD moved while the checks ran: {} -> {now}", name(then));
        let caveat = Caveat::new(Code::HeadMoved, Effect::Incomplete, message).way_out(AGAIN);
        ended.caveats.insert(0, caveat);
    }
    ended
}

fn vanished(run: &BlamedRun<'_>, suspects: Vec<String>) -> TreeChanges {
    let message = "whether files changed while the checks ran is not known: git could say what there was, and cannot any more";
    let way_out = "ignore large files that steps make, mend the repository, and run again";
    let caveat = Caveat::new(Code::TreeMoved, Effect::Incomplete, message).way_out(way_out);
    let caveats = if run.passed().is_empty() {
        Vec::new()
    } else {
        vec![caveat]
    };
    TreeChanges {
        caveats,
        suspects,
        ..TreeChanges::default()
    }
}

/// Reports the changed files.
fn moved(now: &Snapshot, looks: &RunSnapshots, run: &BlamedRun<'_>, plan: &Plan) -> TreeChanges {
    let spans = looks.spans();
    let untracked = |path: &&RepoPath| !now.is_tracked(path);
    let restored = spans.iter().flat_map(|span| &span.restored);
    let restored = restored.map(|file| &file.path).filter(untracked);
    let changed = spans.iter().flat_map(|span| &span.changed);
    let others = changed
        .clone()
        .filter(|file| file.was != EarlierState::Tracked);
    let untracked: Vec<RepoPath> = others
        .map(|file| &file.path)
        .chain(restored)
        .cloned()
        .collect();
    let hidden = looks.left_or_hidden(&untracked);
    let Attribution {
        mut caveats,
        failed,
        appeared,
        grown,
        is_known,
        left,
        others,
        suspects,
        wrote,
    } = blame(&spans, run, &hidden);
    let new: Vec<NewFile> = (left.iter())
        .filter(|path| !now.is_tracked(path))
        .filter_map(|path| {
            Some(NewFile {
                content: now.entry(path)?,
                path: path.clone(),
            })
        })
        .collect();
    let gone = changed.filter(|file| file.was != EarlierState::New);
    let of_change = plan.request.changed.files().iter().map(|file| &file.path);
    let lines = NewFileLines::new(now, gone.map(|file| &file.path), of_change);
    if !new.is_empty() {
        caveats.push(new_files(&new, &lines));
    }
    caveats.extend(blame::appeared(appeared, &lines));
    caveats.extend(grown);
    let few = new.len() <= MOST_NEW;
    let settled = is_known && others.is_empty() && few;
    TreeChanges {
        caveats,
        failed,
        tree: settled.then(|| {
            let hidden = looks.ignored_here(&now.untracked());
            digest(now, &hidden, run.whole.unwrap_or(plan), &new)
        }),
        made: new.iter().map(|file| file.path.clone()).collect(),
        note: note(&others),
        new: if few { new } else { Vec::new() },
        suspects,
        wrote,
    }
}

fn note(changed: &[RepoPath]) -> Option<Note> {
    let first = changed.first()?;
    let named = first_of(changed.iter().map(|path| format!("`{path}`")), NAMED);
    let message = format!("the tree changed while the run went on: {named}");
    Some(Note {
        kind: CHANGED.to_owned(),
        message,
        path: Some(first.clone()),
    })
}
