//! Checks whether the change requires more after checks have written to the tree as they may, or
//! new files have appeared.

use super::part::whole_of_named;
use super::propose::ProposerUse;
use super::staged::index_differs;
use crate::{
    Caveat, Code, Effect, Engine, Facts, Oid, Plan, RepoPath, Report, Session, Verdict,
    VerifyRequest, visible,
};
use std::collections::BTreeSet;
use vplan_contract::{Condition, Test};
use vplan_plan::caveat::FILES_SHOWN;
use vplan_plan::containment::missing;
use vplan_plan::facts::{Certainty, FactAnswer, Question};
use vplan_plan::focus::is_selected;
use vplan_plan::request::ChangedIn;
use vplan_repo::facts::matched::matched;

/// The help of the caveat.
const AGAIN: &str = "run again: the next run sees all of the change";

/// A round that plans the change again, in its state after the run.
#[derive(Clone, Copy)]
pub(super) struct ReplannedRound<'a> {
    pub engine: &'a Engine<'a>,
    pub requested: &'a VerifyRequest,
    /// The commit at which the subject began, if there is one.
    pub since: Option<Oid>,
    /// The session of the run.
    pub session: &'a Session,
}

impl ReplannedRound<'_> {
    /// Returns the caveat if the change now requires more than what ran. `first`: the first
    /// executed plan, of all shards; `wrote`: files that checks wrote with permission; `made`: new
    /// files that nothing in the plan selects.
    pub fn caveat(&self, first: &Plan, wrote: &[RepoPath], made: &[RepoPath]) -> Option<Caveat> {
        if self.session.request.changed_in == Some(ChangedIn::Index) {
            // A new file is not staged.
            return (!wrote.is_empty()).then(|| index_differs(wrote));
        }
        if self.requested.shard.is_some() && !wrote.is_empty() {
            let caveat = grew("checks wrote files, which those of other shards do not see");
            let way_out = "keep what they write, and run all shards again";
            return Some(caveat.with_files(wrote.to_vec()).way_out(way_out));
        }
        let asks_others = self.requested.file.is_some() || self.session.request.proposal.is_some();
        if asks_others {
            // How a plan file or a proposer would answer for the present change cannot be
            // determined.
            let contract = self.session.contract();
            let is_selected =
                |path: &&RepoPath| contract.is_some_and(|contract| is_selected(contract, path));
            let selected = made.iter().filter(is_selected);
            let more: Vec<RepoPath> = (wrote.iter().chain(selected))
                .filter(|path| !first.request.changed.contains(path))
                .cloned()
                .collect();
            let message = match wrote {
                [] => "files appeared that were not part of the change, and checks are about them",
                _ => "checks wrote files that were not part of the change",
            };
            return (!more.is_empty()).then(|| grew(message).with_files(more));
        }
        let planned = self
            .engine
            .open_since(&self.requested.plan, self.since)
            .and_then(|mut now| now.plan(&self.requested.plan, ProposerUse::Recorded));
        match planned {
            Ok((plan, _)) => {
                let missing = missing(&plan, first);
                let mut checks: Vec<String> =
                    missing.iter().map(|s| s.check().to_owned()).collect();
                checks.dedup();
                checks.truncate(FILES_SHOWN);
                let message = match wrote {
                    [] => {
                        "files appeared while the checks ran, and the change with them asks for more than what ran"
                    }
                    _ => {
                        "checks wrote files, and the change that came of it asks for more than what ran"
                    }
                };
                let files = || [wrote, made].concat();
                (!checks.is_empty()).then(|| grew(message).of_checks(checks).with_files(files()))
            }
            Err(failure) => {
                let why = visible(&failure.message);
                let message = "checks wrote files, and what the change is now cannot be said";
                Some(grew(&format!("{message}: {why}")))
            }
        }
    }
}

impl ReplannedRound<'_> {
    /// Returns the caveat if conditions on existing files hold now that did not hold for the plan:
    /// checks may have made ignored files. `first`: the first executed plan, of all shards, whose
    /// products do not count.
    pub fn by_existence(&self, first: &Plan) -> Option<Caveat> {
        let session = self.session;
        let contract = session.contract()?;
        let asks = |condition: &Condition| {
            let test = &condition.test;
            matches!(test, Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_))
        };
        if !contract.conditions.iter().any(asks) {
            return None;
        }
        let more = |facts: &mut Facts| -> BTreeSet<String> {
            let now = session.compiled(Some(contract), &session.request, facts);
            let now = now.map(|plan| plan.steps).unwrap_or_default();
            let omitted = first.omitted.iter().filter(|omitted| !omitted.narrows);
            let ids = omitted.map(|omitted| &omitted.id);
            ids.filter(|id| now.iter().any(|step| step.check() == **id))
                .cloned()
                .collect()
        };
        let mut facts = Facts::default();
        let mut checks = more(&mut facts);
        if checks.is_empty() {
            return None;
        }
        let asked = facts.0.keys().filter_map(|question| match question {
            Question::ExistsMatch(glob) => Some(glob.clone()),
            _ => None,
        });
        let (root, git) = (&session.site.root, session.git());
        let others = matched(&asked.collect(), root, git, |path| !first.produces(path));
        let others = others.unwrap_or_default();
        for (question, answer) in &mut facts.0 {
            let is_by_product = match question {
                Question::Exists(path) => first.produces(path),
                Question::ExistsMatch(glob) => !others.contains(glob),
                _ => false,
            };
            if is_by_product && *answer == FactAnswer::Word(Certainty::Yes) {
                *answer = FactAnswer::Word(Certainty::No);
            }
        }
        let without = more(&mut facts);
        checks.retain(|check| without.contains(check));
        let message = "files appeared or vanished while the checks ran, and conditions on them ask for more than what ran";
        let caveat = || Caveat::new(Code::ChangeGrew, Effect::Narrows, message).way_out(AGAIN);
        (!checks.is_empty()).then(|| caveat().of_checks(checks.into_iter().collect()))
    }

    /// Returns the caveat if checks made files that the changed `.gitignore` hides, and that checks
    /// select. `first`: the first executed plan, of all shards, whose products do not count.
    pub fn newly_ignored(&self, first: &Plan) -> Option<Caveat> {
        let (session, facts) = (self.session, Facts::default());
        let is_staged = session.request.changed_in == Some(ChangedIn::Index);
        let git = session.git().filter(|_| !is_staged)?;
        let among = |path: &RepoPath| !first.produces(path);
        let find = || match session.request.changed_in {
            Some(_) => {
                let base = session.gathered.base.as_ref();
                session.newly_ignored(git, base, &session.request, &facts, &among)
            }
            None => match whole_of_named(self.engine, session, git, self.since)? {
                Some((base, wider)) => {
                    session.newly_ignored(git, Some(&base), &wider, &facts, &among)
                }
                None => Ok(None),
            },
        };
        let found = find().unwrap_or_else(|failure| {
            let why = visible(&failure.message);
            Some(grew(&format!(
                "cannot determine what the changed `.gitignore` hides: {why}"
            )))
        });
        found.filter(|caveat| caveat.effect != Effect::Note)
    }
}

fn grew(message: &str) -> Caveat {
    Caveat::new(Code::ChangeGrew, Effect::Incomplete, message).way_out(AGAIN)
}

/// Whether a run would have passed without [`Code::ChangeGrew`].
pub(crate) fn only_grew(report: &Report) -> bool {
    let caveats = report.caveats.iter();
    let blocking = caveats.filter(|c| c.effect == Effect::Incomplete);
    let codes: BTreeSet<Code> = blocking.map(|c| c.code).collect();
    report.verdict == Verdict::Incomplete && codes == BTreeSet::from([Code::ChangeGrew])
}
