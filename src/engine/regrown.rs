//! Checks whether the change requires more after checks have written to the tree as they may, or
//! new files have appeared.

use super::open::Session;
use super::place::Engine;
use super::propose::Asking;
use super::request::VerifyRequest;
use super::staged::index_differs;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_git::object::Oid;
use vplan_plan::Plan;
use vplan_plan::about::is_selected;
use vplan_plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use vplan_plan::contains::missing;
use vplan_plan::request::ChangedIn;
use vplan_run::report::Report;
use vplan_run::verdict::Verdict;

/// The help of the caveat.
const AGAIN: &str = "run again: the next run sees all of the change";

/// A round that plans the change again, in its state after the run.
#[derive(Clone, Copy)]
pub(super) struct Again<'a> {
    pub engine: &'a Engine<'a>,
    pub requested: &'a VerifyRequest,
    /// The commit at which the subject began, if there is one.
    pub since: Option<Oid>,
    /// The session of the run.
    pub session: &'a Session,
}

impl Again<'_> {
    /// Returns the caveat if the change now requires more than what ran. `first`: the first
    /// executed plan, of all shards; `wrote`: files that checks wrote with permission; `made`: new
    /// files that nothing in the plan selects.
    pub fn caveat(&self, first: &Plan, wrote: &[RepoPath], made: &[RepoPath]) -> Option<Caveat> {
        if self.session.request.changed_in == Some(ChangedIn::Index) {
            // A new file is not staged.
            return (!wrote.is_empty()).then(|| index_differs(wrote));
        }
        if self.requested.shard.is_some() && !wrote.is_empty() {
            let message = "checks wrote files, which those of other shards do not see";
            return Some(
                grew(message.to_owned())
                    .about(wrote.to_vec())
                    .way_out("keep what they write, and run all shards again"),
            );
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
            let message = if wrote.is_empty() {
                "files appeared that were not part of the change, and checks are about them"
            } else {
                "checks wrote files that were not part of the change"
            };
            return (!more.is_empty()).then(|| grew(message.to_owned()).about(more));
        }
        let planned = self
            .engine
            .open_since(&self.requested.plan, self.since)
            .and_then(|mut now| now.plan(&self.requested.plan, Asking::Recorded));
        match planned {
            Ok((plan, _)) => {
                let mut checks: Vec<String> = missing(&plan, first)
                    .iter()
                    .map(|s| s.check().to_owned())
                    .collect();
                checks.dedup();
                checks.truncate(FILES_SHOWN);
                let message = if wrote.is_empty() {
                    "files appeared while the checks ran, and the change with them asks for more than what ran"
                } else {
                    "checks wrote files, and the change that came of it asks for more than what ran"
                };
                let caveat = || {
                    grew(message.to_owned())
                        .of_checks(checks.clone())
                        .about([wrote, made].concat())
                };
                (!checks.is_empty()).then(caveat)
            }
            Err(failure) => {
                let why = visible(&failure.message);
                Some(grew(format!(
                    "checks wrote files, and what the change is now cannot be said: {why}"
                )))
            }
        }
    }
}

fn grew(message: String) -> Caveat {
    Caveat::new(Code::ChangeGrew, Effect::Incomplete, message).way_out(AGAIN)
}

/// Whether a run would have passed without [`Code::ChangeGrew`].
#[must_use]
pub fn only_grew(report: &Report) -> bool {
    let blocks = |c: &&Caveat| c.effect == Effect::Incomplete;
    let mut blocking = report
        .caveats
        .iter()
        .filter(blocks)
        .map(|c| c.code)
        .peekable();
    report.verdict == Verdict::Incomplete
        && blocking.peek().is_some()
        && blocking.all(|code| code == Code::ChangeGrew)
}
