//! What all observed runs together saw of each check.

use super::context::{AuditSubject, Context, Deeds, Incomplete, declared};
use super::home;
use crate::Step;

use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible};
use vplan_check::confine::SandboxLevel;
use vplan_check::observed::{Gap, Observed, Peer, Place, Uses};
use vplan_contract::{Check, CheckIndex, Contract};

/// The observed effects of a check.
pub(super) struct ObservedCheck<'a> {
    pub check: CheckIndex,
    /// The step that it is made of, for its settings.
    pub step: Step,
    /// What it did with files of the repository.
    pub files: BTreeMap<&'a RepoPath, Used<'a>>,
    /// The tracked files that it read, sorted.
    pub tracked: Vec<&'a RepoPath>,
    /// The paths elsewhere that it read, and of a check that is held to what it declares the folders that it
    /// listed, with the programs.
    pub elsewhere: BTreeMap<&'a Word, BTreeSet<&'a Word>>,
    /// What it connected to, with the programs.
    pub peers: BTreeMap<&'a Peer, BTreeSet<&'a Word>>,
    /// The gaps in its observation.
    gaps: BTreeSet<&'a Gap>,
    /// The roles for which it ran.
    pub roles: BTreeSet<&'a str>,
    /// The trees of the runs that observed it completely.
    pub trees: BTreeSet<&'a str>,
    /// The steps of it that were observed, by id: whether they passed in one of the runs.
    steps: BTreeMap<&'a str, bool>,
}

/// What was done with a file, in any of the runs.
#[derive(Default)]
pub(super) struct Used<'a> {
    pub read: bool,
    pub written: bool,
    /// Whether it was to be made, as a folder.
    pub folder: bool,
    pub listed: bool,
    pub found: bool,
    pub missing: bool,
    pub programs: BTreeSet<&'a Word>,
}

impl<'a> Used<'a> {
    fn add(&mut self, uses: &'a Uses) {
        self.read |= uses.read;
        self.written |= uses.written;
        self.folder |= uses.folder;
        self.listed |= uses.listed;
        self.found |= uses.found;
        self.missing |= uses.missing;
        self.programs.extend(&uses.programs);
    }
}

/// Whether a path belongs to git or to vplan, whose own files are never inputs.
pub(super) fn is_reserved(path: &RepoPath) -> bool {
    path.segments().any(|segment| segment == b".git") || path.segments().next() == Some(b".vplan")
}

/// The program that reads the work tree to bring its index up to date.
const GIT: &[u8] = b"git";

/// Whether another program made git refresh its index. Git then reads every file whose times the
/// index does not know, and scans all folders.
fn has_written_index(observed: &Observed) -> bool {
    observed.files.iter().any(|(place, uses)| match place {
        Place::Repository(path) => path.as_bytes() == b".git/index.lock" && is_of_git(uses),
        Place::Elsewhere(_) => false,
    })
}

/// Whether only git did something with a file.
fn is_of_git(uses: &Uses) -> bool {
    let mut programs = uses.programs.iter();
    uses.programs.len() == 1 && programs.all(|program| program.as_bytes() == GIT)
}

/// Gathers the observed effects of each check of the contract, in its order.
pub(super) fn gather<'a>(subject: &AuditSubject<'a>) -> Vec<ObservedCheck<'a>> {
    let by_id = subject.contract.check_indices();
    let mut all: BTreeMap<CheckIndex, ObservedCheck<'a>> = BTreeMap::new();
    for run in subject.runs {
        let steps = run.plan.steps.iter().filter(|step| step.argv.is_some());
        let known = steps.filter_map(|step| {
            let index = *by_id.get(step.check())?;
            Some((index, step, declared(&subject.contract.checks[index])?))
        });
        for (index, step, own) in known {
            let seen = all.entry(index);
            let seen = seen.or_insert_with(|| ObservedCheck::new(index, own));
            let is_same = is_same_work(&subject.contract.checks[index], step, &seen.step);
            if let Some(observed) = run.steps.get(&step.id).filter(|_| is_same) {
                seen.add(observed, run.tree, subject.home);
                *seen.steps.entry(&step.id).or_default() |= !run.failed.contains(&step.id);
                seen.roles.insert(&run.plan.request.role);
            }
        }
    }
    let mut all: Vec<ObservedCheck<'a>> = all.into_values().collect();
    for seen in &mut all {
        seen.find_tracked(subject.tracked);
    }
    all
}

/// Whether a recorded step did the work of a check as it is in the contract now. Which words are
/// files of `{changed}` a plan does not say.
fn is_same_work(check: &Check, step: &Step, own: &Step) -> bool {
    step.dir == own.dir && (check.has_changed() || step.argv == own.argv)
}

impl<'a> ObservedCheck<'a> {
    fn new(check: CheckIndex, step: Step) -> Self {
        Self {
            check,
            step,
            files: BTreeMap::new(),
            tracked: Vec::new(),
            elsewhere: BTreeMap::new(),
            peers: BTreeMap::new(),
            gaps: BTreeSet::new(),
            roles: BTreeSet::new(),
            trees: BTreeSet::new(),
            steps: BTreeMap::new(),
        }
    }

    fn add(&mut self, observed: &'a Observed, tree: &'a str, home: Option<&Word>) {
        let program = self.step.argv.iter().flatten().next();
        let is_git = program.is_some_and(|word| word.as_bytes() == GIT);
        let asks_status = !is_git && has_written_index(observed);
        // To such a check names are refused too: Python finds no module in a folder that it cannot list.
        let is_held = self.step.sandbox >= SandboxLevel::Files;
        let is_wanted = |path: &Word, uses: &Uses| {
            uses.read || is_held && uses.listed && home::is_narrow(home, path)
        };
        for (place, uses) in &observed.files {
            match place {
                Place::Repository(path) if is_reserved(path) => {}
                Place::Repository(_) if asks_status && is_of_git(uses) => {}
                Place::Repository(path) => self.files.entry(path).or_default().add(uses),
                Place::Elsewhere(path) if is_wanted(path, uses) => {
                    let programs = self.elsewhere.entry(path).or_default();
                    programs.extend(&uses.programs);
                }
                Place::Elsewhere(_) => {}
            }
        }
        for (peer, programs) in &observed.peers {
            self.peers.entry(peer).or_default().extend(programs);
        }
        self.gaps.extend(&observed.gaps);
        if observed.gaps.is_empty() {
            self.trees.insert(tree);
        }
    }

    /// Finds the tracked files among those that were read.
    fn find_tracked(&mut self, tracked: &[RepoPath]) {
        let read = self.files.iter().filter(|(_, used)| used.read);
        let read = read.map(|(path, _)| *path);
        let read = read.filter(|path| tracked.binary_search(path).is_ok());
        self.tracked = read.collect();
    }

    /// The folders of the repository that it listed.
    pub fn listed(&self) -> BTreeSet<&'a RepoPath> {
        let listed = self.files.iter().filter(|(_, used)| used.listed);
        listed.map(|(path, _)| *path).collect()
    }

    /// Returns what it did with some of its files.
    pub(crate) fn deeds<'s>(&'s self, files: &[&RepoPath]) -> Deeds<'s>
    where
        'a: 's,
    {
        let used = files
            .iter()
            .filter_map(|path| Some((path.to_string(), &self.files.get(*path)?.programs)));
        used.collect()
    }

    /// Whether the contract says that it makes, changes or removes a path.
    pub fn may_write(&self, path: &RepoPath) -> bool {
        let makes = self.step.products().any(|glob| glob.matches(path));
        makes || self.step.may_write(path)
    }

    /// Whether the contract says that it depends on a path.
    pub fn is_declared(&self, path: &RepoPath) -> bool {
        let step = &self.step;
        let mut selections = step.inputs.iter().chain(&step.unchanged);
        let mut tools = step.tool_path.iter();
        selections.any(|selection| selection.selects(path))
            || (step.sandbox >= SandboxLevel::Files
                && tools.any(|dir| !dir.is_root() && path.below(dir).is_some()))
            || step.requires.iter().any(|glob| glob.matches(path))
            || self.may_write(path)
    }
}

impl Context<'_> {
    /// Whether another check says that it makes a path.
    pub fn is_product(&self, path: &RepoPath, of_others_than: CheckIndex) -> bool {
        let mut products = self.products.iter();
        products.any(|(check, glob)| *check != of_others_than && glob.matches(path))
    }
}

/// Reports the checks that were not observed completely.
pub(super) fn incomplete(contract: &Contract, seen: &[ObservedCheck<'_>]) -> Vec<Incomplete> {
    let mut found = BTreeSet::new();
    for one in seen {
        let check = contract.checks[one.check].id.clone();
        let mut reasons: Vec<String> = one.gaps.iter().map(|gap| reason(gap)).collect();
        if one.steps.is_empty() {
            reasons.push("it was not observed".to_owned());
        } else if one.steps.values().any(|has_passed| !has_passed) {
            let reason = "it did not pass, so what it does when it passes was not seen";
            reasons.push(reason.to_owned());
        }
        found.extend(reasons.into_iter().map(|reason| Incomplete {
            check: check.clone(),
            reason,
        }));
    }
    found.into_iter().collect()
}

/// Explains a gap in the observation, for people.
pub(crate) fn reason(gap: &Gap) -> String {
    let by = |program: &Word| visible(program);
    match gap {
        Gap::Unavailable(why) => format!("it cannot be observed here: {}", visible(why)),
        Gap::IoUring(program) => format!("`{}` wanted io_uring, which was refused", by(program)),
        Gap::OtherCalls(program) => {
            format!("`{}` made calls of another architecture", by(program))
        }
        Gap::Daemon(program) => format!(
            "`{}` connected to a process outside of the step, which may have read or written for it",
            by(program)
        ),
        Gap::Unreadable(program) => format!("the memory of `{}` could not be read", by(program)),
        Gap::OtherRoot(program) => format!(
            "`{}` changed its root or its mounts, or looked through those of another process",
            by(program)
        ),
        Gap::TooMuch => "it did more than is kept".to_owned(),
        Gap::Lost => "what was seen of it was lost".to_owned(),
    }
}
