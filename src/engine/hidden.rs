//! Reports untracked files that git does not list although no tracked `.gitignore` ignores them. If
//! a planned check depends on one, the verified tree is not the one that will be committed.
//!
//! Files left by tools make the run partial only if a recorded run has read them; files that the
//! user's own ignore file hides, only if a condition or a setting selects them. All others get a
//! note with the line for `.gitignore`.

use crate::{
    Caveat, ChangeSet, Code, Effect, Facts, Failure, History, Plan, RepoPath, Session, Step,
    first_of,
};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::{ChangedFile, Status};
use vplan_check::observed::Observed;
use vplan_git::hidden::ignoring_line;
use vplan_git::skipped::{HiddenBy, HiddenFiles};
use vplan_plan::definition;
use vplan_plan::focus::{Focus, Interest};
use vplan_plan::request::Request;
use vplan_plan::scope::outside;
use vplan_run::run_summary::is_run_id;
use vplan_store::records;

/// Maximum number of lines that a note proposes.
const LINES: usize = 3;
/// Search limit for the newest observed run.
const RUNS: usize = 20;

/// Files, and the checks that are about them.
#[derive(Default)]
struct Concern {
    files: BTreeSet<RepoPath>,
    checks: BTreeSet<String>,
}

impl Concern {
    fn add(&mut self, path: &RepoPath, step: &Step) {
        self.files.insert(path.clone());
        self.checks.insert(step.check().to_owned());
    }
}

/// A file as one that the change adds.
pub(super) fn added(path: &RepoPath) -> ChangedFile {
    let (path, status) = (path.clone(), Status::Added);
    ChangedFile { path, status }
}

/// How a hidden file changes the answer.
fn effect(by: HiddenBy, interest: Interest) -> Effect {
    match (by, interest) {
        (HiddenBy::Repository, _) | (HiddenBy::User, Interest::Selected) => Effect::Narrows,
        (HiddenBy::User, Interest::Everything) | (HiddenBy::Tool, _) => Effect::Note,
    }
}

impl Session {
    /// Returns the caveats about hidden files for the steps of a plan, and for those that it would
    /// have with the files in the change.
    ///
    /// # Errors
    /// Compiling fails.
    pub(super) fn hidden(
        &self,
        hidden: &HiddenFiles,
        request: &Request,
        plan: &Plan,
        facts: &Facts,
    ) -> Result<Vec<Caveat>, Failure> {
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let counting = hidden.iter().filter(|(_, by)| **by != HiddenBy::Tool);
        let with = self.plan_with(counting.map(|(path, _)| added(path)), request, facts)?;
        let is_there = |step: &&Step| {
            let mut steps = plan.steps.iter();
            steps.any(|s| (&s.id, &s.argv) == (&step.id, &step.argv))
        };
        let more = with.steps.iter().filter(|step| !is_there(step));
        Ok(self.hidden_from(hidden, plan.steps.iter().chain(more)))
    }

    /// Returns hidden files, and marks records of vplan as left by a tool, in whatever directory
    /// `--records` put them. These are the runs in a folder without tracked files, and the
    /// `.gitignore` that hides them.
    pub(super) fn with_records(&self, mut hidden: HiddenFiles) -> HiddenFiles {
        let mut homes: BTreeSet<RepoPath> = hidden.keys().filter_map(home_of_record).collect();
        if homes.is_empty() {
            return hidden;
        }
        let free = FreeFolders::new(self);
        homes.retain(|home| free.is_free(home));
        for (path, by) in &mut hidden {
            let is_rule = path.name() == b".gitignore" && homes.contains(&path.folder());
            if is_rule || home_of_record(path).is_some_and(|home| homes.contains(&home)) {
                *by = HiddenBy::Tool;
            }
        }
        hidden
    }

    /// Returns the caveats about hidden files for these steps.
    pub(super) fn hidden_from<'s>(
        &self,
        hidden: &HiddenFiles,
        steps: impl Iterator<Item = &'s Step>,
    ) -> Vec<Caveat> {
        if hidden.is_empty() {
            return Vec::new();
        }
        let foci: Vec<(&Step, Focus<'_>)> = steps
            .map(|step| (step, Focus::new(self.contract(), step)))
            .collect();
        let (mut narrowing, mut noted) = (Concern::default(), Concern::default());
        let mut entered = BTreeSet::new();
        for (path, by) in hidden {
            for (step, focus) in &foci {
                let Some(interest) = focus.interest(path) else {
                    continue;
                };
                match effect(*by, interest) {
                    Effect::Note => noted.add(path, step),
                    _ => narrowing.add(path, step),
                }
                if interest == Interest::Selected {
                    entered.insert(path.clone());
                }
            }
        }
        if !noted.files.is_empty() {
            let names = foci.iter().map(|(step, _)| *step);
            for (path, step) in self.recorded_reads(&noted.files, names) {
                narrowing.add(&path, step);
                entered.insert(path);
            }
        }
        let out_of_scope = self.out_of_scope(hidden);
        entered.extend(out_of_scope.iter().cloned());
        narrowing.files.extend(out_of_scope);
        noted.files.retain(|path| !narrowing.files.contains(path));
        let free = FreeFolders::new(self);
        let mut caveats = Vec::new();
        if !narrowing.files.is_empty() {
            caveats.push(narrows(narrowing, &entered, &free));
        }
        if !noted.files.is_empty() {
            caveats.push(note(noted, &free));
        }
        caveats
    }

    /// Returns the hidden files that the contract's scope would refuse.
    fn out_of_scope(&self, hidden: &HiddenFiles) -> Vec<RepoPath> {
        let Some(contract) = self.contract() else {
            return Vec::new();
        };
        let counting = hidden.iter().filter(|(_, by)| **by == HiddenBy::Repository);
        let added = counting.map(|(path, _)| added(path)).collect();
        let notes = outside(&contract.scope, &ChangeSet::new(added));
        notes.into_iter().filter_map(|note| note.path).collect()
    }

    /// Returns those of these files that steps of this name read in the newest observed run.
    pub(super) fn recorded_reads<'s>(
        &self,
        files: &BTreeSet<RepoPath>,
        steps: impl Iterator<Item = &'s Step>,
    ) -> Vec<(RepoPath, &'s Step)> {
        let Ok(history) = History::open(&self.site.home, None) else {
            return Vec::new();
        };
        let ids = history.ids().unwrap_or_default();
        let newest = ids.iter().take(RUNS).find(|id| history.is_observed(id));
        let Some(newest) = newest else {
            return Vec::new();
        };
        let steps: Vec<&Step> = steps.collect();
        let observed = history.observed(newest, steps.iter().map(|step| step.id.as_str()));
        reads(files, &steps, &observed)
    }

    /// Returns the caveat about hidden files that the steps of an observed run read and that were a
    /// note before.
    pub(super) fn hidden_reads(
        &self,
        plan: &Plan,
        observed: &BTreeMap<String, Observed>,
    ) -> Option<Caveat> {
        let hidden = self
            .with_records(self.git()?.skipped_paths().hidden)
            .into_iter();
        let noted = hidden.filter(|(_, by)| *by != HiddenBy::Repository);
        let files: BTreeSet<RepoPath> = noted.map(|(path, _)| path).collect();
        let steps: Vec<&Step> = plan.steps.iter().collect();
        let mut concern = Concern::default();
        for (path, step) in reads(&files, &steps, observed) {
            concern.add(&path, step);
        }
        let entered = concern.files.clone();
        let is_new = !concern.files.is_empty();
        is_new.then(|| narrows(concern, &entered, &FreeFolders::new(self)))
    }
}

/// Returns the folder whose `runs` contain the run that a path is part of, by the run's name.
fn home_of_record(path: &RepoPath) -> Option<RepoPath> {
    let run = path.ancestors().into_iter().find(|folder| {
        std::str::from_utf8(folder.name()).is_ok_and(is_run_id)
            && folder.folder().name() == records::RUNS.as_bytes()
    })?;
    Some(run.folder().folder())
}

/// Returns the files that the recorded steps read.
fn reads<'s>(
    files: &BTreeSet<RepoPath>,
    steps: &[&'s Step],
    observed: &BTreeMap<String, Observed>,
) -> Vec<(RepoPath, &'s Step)> {
    let mut found = Vec::new();
    for step in steps {
        let uses = observed.get(&step.id).into_iter();
        let uses = uses.flat_map(Observed::in_repository);
        let read = uses.filter(|(path, uses)| uses.read && files.contains(*path));
        found.extend(read.map(|(path, _)| (path.clone(), *step)));
    }
    found
}

/// Returns the caveat about files of `.git` and `.vplan` that steps execute.
pub(super) fn out_of_tree(plan: &Plan) -> Option<Caveat> {
    let mut concern = Concern::default();
    for step in &plan.steps {
        for path in definition::out_of_tree(step) {
            concern.add(&path, step);
        }
    }
    let message = "checks execute files of `.git` or `.vplan`, which are not part of the change";
    (!concern.files.is_empty()).then(|| {
        Caveat::new(Code::HiddenFiles, Effect::Narrows, message)
            .of_checks(concern.checks.into_iter().collect())
            .with_files(concern.files.into_iter().collect())
            .way_out("keep what a check executes in a tracked folder")
    })
}

fn narrows(concern: Concern, entered: &BTreeSet<RepoPath>, free: &FreeFolders<'_>) -> Caveat {
    let is_in_git = |path: &RepoPath| path.as_bytes().split(|b| *b == b'/').any(|n| n == b".git");
    let way_out = if concern.files.iter().any(is_in_git) {
        "remove a `.git` in a folder of this repository; add other files to git, or ignore them in a tracked `.gitignore`"
    } else {
        "add them to git, name them with `--changed`, or ignore them in a tracked `.gitignore`"
    };
    let message = "files that only ignore rules of this machine hide are not part of the change, and checks are about them";
    let shown = concern.files.iter().map(|path| {
        let folder = free.around(path).filter(|_| !entered.contains(path));
        folder.unwrap_or_else(|| path.clone())
    });
    Caveat::new(Code::HiddenFiles, Effect::Narrows, message)
        .of_checks(concern.checks.into_iter().collect())
        .with_files(shown.collect())
        .way_out(way_out)
}

fn note(concern: Concern, free: &FreeFolders<'_>) -> Caveat {
    let shown = concern.files.iter();
    let shown = shown.map(|path| free.around(path).unwrap_or_else(|| path.clone()));
    let shown: BTreeSet<RepoPath> = shown.collect();
    let lines = shown.iter();
    let lines = lines.map(|path| ignoring_line(path, !concern.files.contains(path)));
    let lines: BTreeSet<String> = lines.collect();
    let lines = first_of(lines.iter().map(|line| format!("`{line}`")), LINES);
    let message = "files are not part of the change that no tracked `.gitignore` ignores";
    Caveat::new(Code::HiddenFiles, Effect::Note, message)
        .of_checks(concern.checks.into_iter().collect())
        .with_files(shown.into_iter().collect())
        .way_out(format!("ignore them in a tracked `.gitignore`: {lines}"))
}

/// The folders without tracked or changed files.
pub(super) struct FreeFolders<'a> {
    tracked: Option<Vec<RepoPath>>,
    changed: &'a ChangeSet,
}

impl<'a> FreeFolders<'a> {
    pub fn new(session: &'a Session) -> Self {
        Self {
            tracked: session.git().and_then(|git| git.files_indexed().ok()),
            changed: &session.request.changed,
        }
    }

    /// Returns the uppermost such folder around a file.
    fn around(&self, path: &RepoPath) -> Option<RepoPath> {
        let above = path.folder();
        let mut folders = above.ancestors().into_iter();
        folders.find(|folder| !above.is_root() && self.is_free(folder))
    }

    /// Whether a folder is one of these; never true for the root.
    pub fn is_free(&self, folder: &RepoPath) -> bool {
        let Some(tracked) = self.tracked.as_ref().filter(|_| !folder.is_root()) else {
            return false;
        };
        let first = tracked.partition_point(|file| file < folder);
        let rest = tracked.get(first..).unwrap_or_default();
        // Names that sort between a folder and its files share its name as a prefix.
        let is_near = |file: &&RepoPath| file.as_bytes().starts_with(folder.as_bytes());
        let mut near = rest.iter().take_while(is_near);
        near.all(|file| file.below(folder).is_none()) && self.changed.below(folder).next().is_none()
    }
}
