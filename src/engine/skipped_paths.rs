//! Finds the files that the comparison of the work tree did not read, and on which a check would
//! depend.

use super::hidden::{FreeFolders, added, out_of_tree};
use crate::{
    Caveat, ChangeSet, Code, Effect, Facts, Failure, Git, Plan, RepoPath, Session, Step, first_of,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::change::{ChangedFile, Status};
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::lookalike::{is_plain, skeleton};
use vplan_check::Severity;
use vplan_contract::Test;
use vplan_git::hidden::is_left_by_tools;
use vplan_git::ignored::NewlyIgnored;
use vplan_git::object::Oid;
use vplan_git::skipped::{HiddenBy, HiddenFiles, Unseen};
use vplan_plan::Origin;
use vplan_plan::facts::{Certainty, FactAnswer, Question};
use vplan_plan::focus::{Focus, Interest, is_about};
use vplan_plan::request::Request;
use vplan_repo::facts::matched::{first_matches, matched};

/// Maximum number of lines that are named.
const LINES: usize = 3;

impl Session {
    /// Returns the caveats about them for a plan that was made without them.
    ///
    /// # Errors
    /// Compiling fails.
    pub(super) fn skipped_path_caveats(
        &self,
        plan: &Plan,
        facts: &Facts,
    ) -> Result<Vec<Caveat>, Failure> {
        let mut caveats: Vec<Caveat> = out_of_tree(plan).into_iter().collect();
        // If the caller names the changed files, the run compares them with the whole change.
        if self.request.changed_in.is_some() {
            let base = self.gathered.base.as_ref();
            caveats.extend(self.unseen_since(base, &self.request, plan, facts)?);
        }
        Ok(caveats)
    }

    /// Returns the caveats about those that the last comparison, with this base, did not read.
    /// `request`: has the whole change, and perhaps more files that the caller named; `plan` and
    /// `facts` are of that request.
    ///
    /// # Errors
    /// Compiling fails.
    pub(super) fn unseen_since(
        &self,
        base: Option<&Oid>,
        request: &Request,
        plan: &Plan,
        facts: &Facts,
    ) -> Result<Vec<Caveat>, Failure> {
        let Some(git) = self.git() else {
            return Ok(Vec::new());
        };
        let Unseen {
            mut hidden,
            left_out,
            line_ends,
        } = git.skipped_paths();
        hidden.retain(|path, _| !is_there(request, path));
        let hidden = self.with_records(hidden);
        let mut caveats = Vec::new();
        let mut own = hidden.clone();
        own.retain(|_, by| *by == HiddenBy::Repository);
        // First those alone that no commit would have: with another effect, and other words.
        let message =
            "checks do not apply because of files that only ignore rules of this machine hide";
        let words = Caveat::new(Code::SwitchedOff, Effect::Narrows, message)
            .way_out("remove these files, or add them to git");
        let none = ChangeSet::default();
        let by_own = self.switched_off(words, &own, &none, request, plan, facts)?;
        let message =
            "checks do not apply any more because of files that the change adds or removes";
        let words = Caveat::new(Code::SwitchedOff, Effect::Note, message);
        let by_all = self.switched_off(words, &hidden, &request.changed, request, plan, facts)?;
        let is_new = |all: &Caveat| by_own.as_ref().is_none_or(|own| own.checks != all.checks);
        let by_all = by_all.filter(is_new);
        caveats.extend(by_own.into_iter().chain(by_all));
        caveats.extend(self.hidden(&hidden, request, plan, facts)?);
        caveats.extend(self.newly_ignored(git, base, request, facts, &|_| true)?);
        if !left_out.is_empty() {
            caveats.push(self.left_out(left_out, plan));
        }
        if !line_ends.is_empty() {
            let message = "files have other line ends than at the base, with which they would be committed: a check may read them otherwise";
            caveats.push(Caveat::new(Code::LineEnds, Effect::Note, message).with_files(line_ends));
        }
        Ok(caveats)
    }

    /// Finds the checks that hidden files, or the change by adding or removing files, disable:
    /// without that they would be required. Adds them and the files to the caveat.
    fn switched_off(
        &self,
        caveat: Caveat,
        hidden: &HiddenFiles,
        changed: &ChangeSet,
        request: &Request,
        plan: &Plan,
        facts: &Facts,
    ) -> Result<Option<Caveat>, Failure> {
        let appeared = |path: &RepoPath| {
            hidden.contains_key(path)
                || changed.status(path) == Some(Status::Added)
                || hidden.keys().any(|file| file.below(path).is_some())
                    && FreeFolders::new(self).is_free(path)
        };
        let vanished = |path: &RepoPath| {
            let mut below = changed.below(path);
            changed.status(path) == Some(Status::Deleted)
                || below.any(|file| file.status == Status::Deleted)
        };
        let matched = self.matched_otherwise(hidden, changed, facts);
        let (mut then, mut about) = (facts.clone(), BTreeSet::new());
        for (question, answer) in &mut then.0 {
            let (other, files) = match (question, &*answer) {
                (Question::Exists(path), FactAnswer::Word(Certainty::Yes)) if appeared(path) => {
                    (Certainty::No, vec![path.clone()])
                }
                (Question::Exists(path), FactAnswer::Word(Certainty::No)) if vanished(path) => {
                    (Certainty::Yes, vec![path.clone()])
                }
                (Question::ExistsMatch(glob), FactAnswer::Word(is)) => match matched.get(glob) {
                    Some(files) if *is == Certainty::Yes => (Certainty::No, files.clone()),
                    Some(files) => (Certainty::Yes, files.clone()),
                    None => continue,
                },
                _ => continue,
            };
            *answer = FactAnswer::Word(other);
            about.extend(files);
        }
        if about.is_empty() {
            return Ok(None);
        }
        let before = self.compiled(self.contract(), request, &mut then)?;
        let is_there = |step: &Step| plan.steps.iter().any(|s| s.check() == step.check());
        let is_blocking =
            |s: &&Step| s.severity == Severity::Blocking && s.origin == Origin::Contract;
        let blocking = before.steps.iter().filter(is_blocking);
        let lost: Vec<&Step> = blocking.filter(|step| !is_there(step)).collect();
        Ok((!lost.is_empty()).then(|| {
            let caveat = caveat.of_checks(names(&lost));
            caveat.with_files(about.into_iter().collect())
        }))
    }

    /// Returns the globs whose answer was different with the files of the base, and the first added
    /// or removed files that they match.
    fn matched_otherwise(
        &self,
        hidden: &HiddenFiles,
        changed: &ChangeSet,
        facts: &Facts,
    ) -> BTreeMap<Glob, Vec<RepoPath>> {
        let answered = |is| -> BTreeSet<Glob> {
            let facts = facts.0.iter();
            let facts = facts.filter(|(_, answer)| **answer == FactAnswer::Word(is));
            let globs = facts.filter_map(|(question, _)| match question {
                Question::ExistsMatch(glob) => Some(glob.clone()),
                _ => None,
            });
            globs.collect()
        };
        let changed = |is| {
            let files = changed.files().iter();
            let files = files.filter(move |file| file.status == is);
            files.map(|file| file.path.clone())
        };
        let mut gone = first_matches(&answered(Certainty::No), changed(Status::Deleted).collect());
        let added = changed(Status::Added).chain(hidden.keys().cloned());
        let added: BTreeSet<RepoPath> = added.collect();
        let new = first_matches(&answered(Certainty::Yes), added.iter().cloned().collect());
        let globs = new.keys().cloned().collect();
        // If the files cannot be listed again, no file counts as missing.
        let is_other = |path: &RepoPath| !added.contains(path);
        if let Ok(others) = matched(&globs, &self.site.root, self.git(), is_other) {
            gone.extend(new.into_iter().filter(|(glob, _)| !others.contains(glob)));
        }
        gone
    }

    /// Finds the files that the change itself hides: by editing a `.gitignore`, or because it takes a
    /// file that one hides out of the index. Only those `among` count.
    pub(super) fn newly_ignored(
        &self,
        git: &Git,
        base: Option<&Oid>,
        request: &Request,
        facts: &Facts,
        among: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<Caveat>, Failure> {
        let changed = |is: fn(&&ChangedFile) -> bool| -> Vec<RepoPath> {
            let files = request.changed.files().iter().filter(is);
            files.map(|file| file.path.clone()).collect()
        };
        let rules = changed(|file| file.path.name() == b".gitignore");
        // A file that git no longer tracks may still be there, where a rule hides it.
        let removed = changed(|file| file.status == Status::Deleted);
        // `--all` compares nothing, but its rules may differ from those of HEAD.
        let Some(base) = base.filter(|_| !(rules.is_empty() && removed.is_empty())) else {
            return Ok(None);
        };
        let found = git.newly_ignored(base, &rules).and_then(|mut ignored| {
            ignored.extend(git.kept_and_ignored(&removed)?);
            Ok(ignored)
        });
        let mut ignored = match found {
            Ok(ignored) => ignored,
            Err(error) => {
                let message = format!(
                    "cannot determine the files that the changed `.gitignore` hides: {error}"
                );
                let caveat = Caveat::new(Code::NewlyIgnored, Effect::Narrows, message);
                return Ok(Some(caveat));
            }
        };
        ignored.retain(|file| !is_there(request, &file.path) && among(&file.path));
        ignored.sort_by(|a, b| a.path.cmp(&b.path));
        ignored.dedup_by(|a, b| a.path == b.path);
        if ignored.is_empty() {
            return Ok(None);
        }
        let added = ignored.iter().map(|file| added(&file.path));
        let with = self.plan_with(added, request, facts)?;
        let paths = ignored.iter().map(|file| file.path.clone()).collect();
        let read = self.recorded_reads(&paths, with.steps.iter());
        let steps = with.steps.iter();
        let foci = steps.map(|step| (step, Focus::new(self.contract(), step)));
        let foci: Vec<(&Step, Focus<'_>)> = foci.collect();
        let concerned = |wanted: Interest| -> Vec<(&NewlyIgnored, &Step)> {
            let is_read = |path: &RepoPath, step: &Step| {
                let mut read = read.iter();
                read.any(|(file, by)| file == path && by.id == step.id)
            };
            let of_file = |file| foci.iter().map(move |(step, focus)| (file, *step, focus));
            let pairs = ignored.iter().flat_map(of_file);
            let is_meant = |(file, step, focus): &(&NewlyIgnored, &Step, &Focus<'_>)| {
                // A change may legitimately begin to ignore files left by tools.
                let most = match is_left_by_tools(file.path.as_bytes()) {
                    true => Interest::Everything,
                    false => Interest::Selected,
                };
                let interest = focus.interest(&file.path);
                interest.map(|interest| interest.min(most)) == Some(wanted)
                    || wanted == Interest::Selected && is_read(&file.path, step)
            };
            let meant = pairs.filter(is_meant);
            meant.map(|(file, step, _)| (file, step)).collect()
        };
        let (mut effect, mut found) = (Effect::Narrows, concerned(Interest::Selected));
        if found.is_empty() {
            (effect, found) = (Effect::Note, concerned(Interest::Everything));
        }
        if found.is_empty() {
            return Ok(None);
        }
        let lines: BTreeSet<&str> = found.iter().map(|(file, _)| &*file.by).collect();
        let named = first_of(lines.iter().map(|line| format!("`{line}`")), LINES);
        let message = match effect {
            Effect::Note => format!("the change hides files, by {named}"),
            _ => format!("the change hides files that checks select, by {named}"),
        };
        let steps: Vec<&Step> = found.iter().map(|(_, step)| *step).collect();
        let files = found.iter().map(|(file, _)| file.path.clone()).collect();
        let caveat = Caveat::new(Code::NewlyIgnored, effect, message).of_checks(names(&steps));
        Ok(Some(caveat.with_files(files)))
    }

    fn left_out(&self, left_out: Vec<RepoPath>, plan: &Plan) -> Caveat {
        let about = |step: &&Step| {
            let mut files = left_out.iter();
            files.any(|path| is_about(self.contract(), step, path))
        };
        let selecting: Vec<&Step> = plan.steps.iter().filter(about).collect();
        let files = match left_out.len() {
            1 => "1 file is".to_owned(),
            count => format!("{count} files are"),
        };
        let message = format!("{files} outside the sparse checkout");
        if selecting.is_empty() {
            return Caveat::new(Code::Sparse, Effect::Note, message);
        }
        let message = format!("{message}, and checks in the plan select some of them");
        Caveat::new(Code::Sparse, Effect::Narrows, message)
            .of_checks(names(&selecting))
            .way_out("check them out: `git sparse-checkout disable`")
            .with_files(left_out)
    }

    /// Compiles the plan with more changed files, before anything is repaired.
    pub(super) fn plan_with(
        &self,
        more: impl Iterator<Item = ChangedFile>,
        request: &Request,
        facts: &Facts,
    ) -> Result<Plan, Failure> {
        let changed = request.changed.files().iter().cloned();
        let request = Request {
            changed: ChangeSet::new(changed.chain(more).collect()),
            ..request.clone()
        };
        self.compiled(self.contract(), &request, &mut facts.clone())
    }
}

/// Whether a file is in the change, as one that is there.
fn is_there(request: &Request, path: &RepoPath) -> bool {
    let status = request.changed.status(path);
    status.is_some_and(|status| status != Status::Deleted)
}

fn names(steps: &[&Step]) -> Vec<String> {
    let names: BTreeSet<&str> = steps.iter().map(|step| step.check()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Maximum number of files that are examined: those with letters of other scripts first.
const MAX_FILES: usize = 200;
/// Maximum number of files times conditions.
const MAX_PAIRS: usize = 20_000;

/// A path that no contract names.
const NOWHERE: &[u8] = b"\x01";

impl Session {
    /// Returns the caveat about changed files whose names only look like those that conditions select.
    /// A file that another condition selects does not count.
    pub(super) fn lookalikes(&self) -> Option<Caveat> {
        let contract = self.contract()?;
        let files = self.request.changed.files().iter().map(|file| &file.path);
        let mut odd: Vec<&RepoPath> = files.filter(|path| !is_plain(path.as_bytes())).collect();
        if odd.is_empty() {
            return None;
        }
        let written = contract.conditions.iter().filter_map(|c| match &c.test {
            Test::ChangedAny(s) | Test::ChangedAll(s) => Some(s),
            _ => None,
        });
        let written: Vec<&Selection> = written.collect();
        odd.sort_by_key(|path| path.as_bytes().is_ascii());
        odd.truncate(MAX_FILES.min(MAX_PAIRS / written.len().max(1)));
        let nowhere = RepoPath::from_exact(NOWHERE)?;
        let own: Vec<&&Selection> = written.iter().filter(|s| !s.selects(&nowhere)).collect();
        odd.retain(|path| !own.iter().any(|selection| selection.selects(path)));
        let own = own.iter().filter(|_| !odd.is_empty());
        let alike: Vec<Selection> = own.map(|selection| as_they_look(selection)).collect();
        odd.retain(|path| {
            let text = std::str::from_utf8(path.as_bytes()).ok();
            let look = text.and_then(|text| RepoPath::parse(skeleton(text).as_bytes()).ok());
            look.is_some_and(|look| alike.iter().any(|selection| selection.selects(&look)))
        });
        let message = "the names of changed files look like ones that checks are for, and differ in case or in letters of the same form";
        let caveat = || Caveat::new(Code::Lookalikes, Effect::Note, message);
        (!odd.is_empty()).then(|| caveat().with_files(odd.into_iter().cloned().collect()))
    }
}

/// Returns the selection of the skeletons of the names that a selection selects.
fn as_they_look(selection: &Selection) -> Selection {
    let glob = |glob: &Glob| Glob::parse(&skeleton(glob.text())).unwrap_or_else(|_| glob.clone());
    let items = selection.items.iter().map(|item| Item {
        not: item.not,
        what: match &item.what {
            ItemContent::Glob(own) => ItemContent::Glob(glob(own)),
            ItemContent::Paths { items, name } => ItemContent::Paths {
                items: Arc::new(as_they_look(items)),
                name: name.clone(),
            },
        },
    });
    Selection {
        items: items.collect(),
    }
}
