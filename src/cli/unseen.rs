//! Which files did the comparison of the work tree not look into, and would a check have got them?

use super::error::Failure;
use super::session::Session;
use crate::base::change::{ChangeSet, ChangedFile, Status};
use crate::base::path::RepoPath;
use crate::effect::git::Unseen;
use crate::plan::caveat::{Caveat, Code, Effect};
use crate::plan::facts::Facts;
use crate::plan::request::Request;
use crate::plan::{Plan, Step};
use std::collections::BTreeSet;

impl Session {
    /// What is to be said of them beside a plan that was made without them.
    ///
    /// # Errors
    /// Compiling fails.
    pub(super) fn unseen(&self, plan: &Plan, facts: &Facts) -> Result<Vec<Caveat>, Failure> {
        // Who names the changed files has no comparison, and no questions about it.
        let Some(git) = self.git().filter(|_| self.request.changed_in.is_some()) else { return Ok(Vec::new()) };
        let Unseen { hidden, left_out } = git.unseen();
        let mut caveats = Vec::new();
        if !hidden.is_empty() {
            caveats.extend(self.hidden(hidden, plan, facts)?);
        }
        if !left_out.is_empty() {
            caveats.push(self.left_out(left_out, plan, facts)?);
        }
        Ok(caveats)
    }

    fn hidden(&self, hidden: Vec<RepoPath>, plan: &Plan, facts: &Facts) -> Result<Option<Caveat>, Failure> {
        let added = hidden.iter().map(|path| ChangedFile { path: path.clone(), status: Status::Added });
        let with = self.plan_of(self.request.changed.files().iter().cloned().chain(added).collect(), facts)?;
        let is_there = |step: &Step| plan.steps.iter().any(|s| (&s.id, &s.argv) == (&step.id, &step.argv));
        let more: Vec<&Step> = with.steps.iter().filter(|step| !is_there(step)).collect();
        if more.is_empty() {
            return Ok(None);
        }
        let matched: BTreeSet<&RepoPath> =
            more.iter().flat_map(|step| &step.reasons).flat_map(|reason| &reason.matched).collect();
        let of_checks: Vec<RepoPath> = hidden.iter().filter(|path| matched.contains(path)).cloned().collect();
        let message =
            "files that only ignore rules of this machine hide are not part of the change, and checks select them";
        let way_out = "add them to git, name them with `--changed`, or ignore them in a tracked `.gitignore`";
        let caveat = Caveat::new(Code::HiddenFiles, Effect::Narrows, message).of_checks(names(&more)).way_out(way_out);
        Ok(Some(caveat.about(if of_checks.is_empty() { hidden } else { of_checks })))
    }

    fn left_out(&self, left_out: Vec<RepoPath>, plan: &Plan, facts: &Facts) -> Result<Caveat, Failure> {
        let count = left_out.len();
        let changed = left_out.iter().map(|path| ChangedFile { path: path.clone(), status: Status::Modified });
        let (with, without) = (self.plan_of(changed.collect(), facts)?, self.plan_of(Vec::new(), facts)?);
        let has = |plan: &Plan, step: &Step| plan.steps.iter().any(|s| s.check() == step.check());
        let selecting: Vec<&Step> = plan.steps.iter().filter(|step| has(&with, step) && !has(&without, step)).collect();
        let files = if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") };
        Ok(if selecting.is_empty() {
            Caveat::new(Code::Sparse, Effect::Note, format!("{files} outside the sparse checkout"))
        } else {
            let message = format!("{files} outside the sparse checkout, and checks in the plan select some of them");
            Caveat::new(Code::Sparse, Effect::Narrows, message)
                .of_checks(names(&selecting))
                .way_out("check them out: `git sparse-checkout disable`")
                .about(left_out)
        })
    }

    /// The plan for other changed files, before anything is repaired.
    fn plan_of(&self, files: Vec<ChangedFile>, facts: &Facts) -> Result<Plan, Failure> {
        let request = Request { changed: ChangeSet::new(files), ..self.request.clone() };
        self.compiled(self.contract(), &request, &mut facts.clone())
    }
}

fn names(steps: &[&Step]) -> Vec<String> {
    let names: BTreeSet<&str> = steps.iter().map(|step| step.check()).collect();
    names.into_iter().map(str::to_owned).collect()
}
