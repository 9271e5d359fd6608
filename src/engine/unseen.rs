//! Finds the files that the comparison of the work tree did not read, and on which a check would
//! depend.

use super::failure::Failure;
use super::hidden::out_of_tree;
use super::open::Session;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::{ChangeSet, ChangedFile, Status};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::word::first_of;
use vplan_check::Severity;
use vplan_git::Git;
use vplan_git::hidden::is_left_by_tools;
use vplan_git::ignored::NewlyIgnored;
use vplan_git::unseen::{HiddenFiles, Unseen};
use vplan_plan::about::{Focus, Interest, is_about};
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan_plan::request::Request;
use vplan_plan::{Origin, Plan, Step};
use vplan_repo::facts::matched::{first_matches, matched};

/// Maximum number of lines that are named.
const LINES: usize = 3;

impl Session {
    /// Returns the caveats about them for a plan that was made without them.
    ///
    /// # Errors
    /// Compiling fails.
    pub(super) fn unseen(&self, plan: &Plan, facts: &Facts) -> Result<Vec<Caveat>, Failure> {
        let out_of_tree = out_of_tree(plan).into_iter();
        // If the caller names the changed files, there is no comparison to complete.
        let Some(git) = self.git().filter(|_| self.request.changed_in.is_some()) else {
            return Ok(out_of_tree.collect());
        };
        let Unseen {
            hidden,
            left_out,
            line_ends,
        } = git.unseen();
        let hidden = self.with_records(hidden);
        let mut caveats: Vec<Caveat> = out_of_tree.collect();
        caveats.extend(self.switched_off(&hidden, plan, facts)?);
        caveats.extend(self.hidden(&hidden, plan, facts)?);
        caveats.extend(self.newly_ignored(git, facts)?);
        if !left_out.is_empty() {
            caveats.push(self.left_out(left_out, plan));
        }
        if !line_ends.is_empty() {
            let message = "files have other line ends than at the base, with which they would be committed: a check may read them otherwise";
            caveats.push(Caveat::new(Code::LineEnds, Effect::Note, message).about(line_ends));
        }
        Ok(caveats)
    }

    /// Finds the checks that the change disables by adding or removing files: with the files of the
    /// base, they would be required.
    fn switched_off(
        &self,
        hidden: &HiddenFiles,
        plan: &Plan,
        facts: &Facts,
    ) -> Result<Option<Caveat>, Failure> {
        let changed = &self.request.changed;
        let appeared = |path: &RepoPath| {
            hidden.contains_key(path) || changed.status(path) == Some(Status::Added)
        };
        let vanished = |path: &RepoPath| {
            changed.status(path) == Some(Status::Deleted)
                || changed
                    .below(path)
                    .any(|file| file.status == Status::Deleted)
        };
        let matched = self.matched_otherwise(hidden, facts);
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
        let before = self.compiled(self.contract(), &self.request, &mut then)?;
        let is_there = |step: &Step| plan.steps.iter().any(|s| s.check() == step.check());
        let blocking = before
            .steps
            .iter()
            .filter(|s| s.severity == Severity::Blocking && s.origin == Origin::Contract);
        let lost: Vec<&Step> = blocking.filter(|step| !is_there(step)).collect();
        if lost.is_empty() {
            return Ok(None);
        }
        let message =
            "checks do not apply any more because of files that the change adds or removes";
        Ok(Some(
            Caveat::new(Code::SwitchedOff, Effect::Note, message)
                .of_checks(names(&lost))
                .about(about.into_iter().collect()),
        ))
    }

    /// Returns the globs whose answer was different with the files of the base, and the first added
    /// or removed files that they match.
    fn matched_otherwise(
        &self,
        hidden: &HiddenFiles,
        facts: &Facts,
    ) -> BTreeMap<Glob, Vec<RepoPath>> {
        let answered = |is| {
            let globs = facts
                .0
                .iter()
                .filter_map(move |(question, answer)| match question {
                    Question::ExistsMatch(glob) if *answer == FactAnswer::Word(is) => {
                        Some(glob.clone())
                    }
                    _ => None,
                });
            globs.collect::<BTreeSet<Glob>>()
        };
        let changed = |is| {
            let files = self.request.changed.files().iter();
            files
                .filter(move |file| file.status == is)
                .map(|file| file.path.clone())
        };
        let mut gone = first_matches(&answered(Certainty::No), changed(Status::Deleted).collect());
        let added: BTreeSet<RepoPath> = changed(Status::Added)
            .chain(hidden.keys().cloned())
            .collect();
        let new = first_matches(&answered(Certainty::Yes), added.iter().cloned().collect());
        let globs = new.keys().cloned().collect();
        // If the files cannot be listed again, no file counts as missing.
        if let Ok(others) = matched(&globs, &self.site.root, self.git(), |path| {
            !added.contains(path)
        }) {
            gone.extend(new.into_iter().filter(|(glob, _)| !others.contains(glob)));
        }
        gone
    }

    /// Finds the files that the change itself hides by editing a `.gitignore`.
    fn newly_ignored(&self, git: &Git, facts: &Facts) -> Result<Option<Caveat>, Failure> {
        let changed = self.request.changed.files().iter().map(|file| &file.path);
        let rules: Vec<RepoPath> = changed
            .filter(|path| path.name() == b".gitignore")
            .cloned()
            .collect();
        // `--all` compares nothing, but its rules may differ from those of HEAD.
        let Some(base) = self.gathered.base.as_ref().filter(|_| !rules.is_empty()) else {
            return Ok(None);
        };
        let ignored = match git.newly_ignored(base, &rules) {
            Ok(ignored) => ignored,
            Err(error) => {
                let message = format!(
                    "cannot determine the files that the changed `.gitignore` hides: {error}"
                );
                return Ok(Some(Caveat::new(
                    Code::NewlyIgnored,
                    Effect::Narrows,
                    message,
                )));
            }
        };
        if ignored.is_empty() {
            return Ok(None);
        }
        let added = ignored.iter().map(|file| ChangedFile {
            path: file.path.clone(),
            status: Status::Added,
        });
        let with = self.plan_with(added, facts)?;
        let paths = ignored.iter().map(|file| file.path.clone()).collect();
        let read = self.recorded_reads(&paths, with.steps.iter());
        let foci: Vec<(&Step, Focus<'_>)> = with
            .steps
            .iter()
            .map(|step| (step, Focus::new(self.contract(), step)))
            .collect();
        let concerned = |wanted: Interest| -> Vec<(&NewlyIgnored, &Step)> {
            let is_read = |path: &RepoPath, step: &Step| {
                let mut read = read.iter();
                read.any(|(file, by)| file == path && by.id == step.id)
            };
            let pairs = ignored
                .iter()
                .flat_map(|file| foci.iter().map(move |(step, focus)| (file, *step, focus)));
            let is_meant = |(file, step, focus): &(&NewlyIgnored, &Step, &Focus<'_>)| {
                // A change may legitimately begin to ignore files left by tools.
                let most = if is_left_by_tools(file.path.as_bytes()) {
                    Interest::Everything
                } else {
                    Interest::Selected
                };
                let interest = focus
                    .interest(&file.path)
                    .map(|interest| interest.min(most));
                interest == Some(wanted)
                    || wanted == Interest::Selected && is_read(&file.path, step)
            };
            pairs
                .filter(is_meant)
                .map(|(file, step, _)| (file, step))
                .collect()
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
        Ok(Some(caveat.about(files)))
    }

    fn left_out(&self, left_out: Vec<RepoPath>, plan: &Plan) -> Caveat {
        let count = left_out.len();
        let about = |step: &&Step| {
            left_out
                .iter()
                .any(|path| is_about(self.contract(), step, path))
        };
        let selecting: Vec<&Step> = plan.steps.iter().filter(about).collect();
        let files = if count == 1 {
            "1 file is".to_owned()
        } else {
            format!("{count} files are")
        };
        if selecting.is_empty() {
            Caveat::new(
                Code::Sparse,
                Effect::Note,
                format!("{files} outside the sparse checkout"),
            )
        } else {
            let message = format!(
                "{files} outside the sparse checkout, and checks in the plan select some of them"
            );
            Caveat::new(Code::Sparse, Effect::Narrows, message)
                .of_checks(names(&selecting))
                .way_out("check them out: `git sparse-checkout disable`")
                .about(left_out)
        }
    }

    /// Compiles the plan with more changed files, before anything is repaired.
    pub(super) fn plan_with(
        &self,
        more: impl Iterator<Item = ChangedFile>,
        facts: &Facts,
    ) -> Result<Plan, Failure> {
        let changed = self.request.changed.files().iter().cloned();
        let request = Request {
            changed: ChangeSet::new(changed.chain(more).collect()),
            ..self.request.clone()
        };
        self.compiled(self.contract(), &request, &mut facts.clone())
    }
}

fn names(steps: &[&Step]) -> Vec<String> {
    let names: BTreeSet<&str> = steps.iter().map(|step| step.check()).collect();
    names.into_iter().map(str::to_owned).collect()
}
