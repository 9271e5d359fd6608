//! Checks whether the change requires more after checks have written to the tree as they may.

use super::open::Session;
use super::place::Engine;
use super::propose::Asking;
use super::request::VerifyRequest;
use super::staged::index_differs;
use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::effect::git::object::Oid;
use crate::plan::Plan;
use crate::plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use crate::plan::contains::missing;
use crate::plan::request::ChangedIn;
use crate::run::report::Report;
use crate::run::verdict::Verdict;

/// The way out of the caveat.
const AGAIN: &str = "run again: the next run sees all of the change";

/// Makes the plan once more, of the change as it is after the run.
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
    /// Returns the caveat where the change requires more than what ran. `first`: the plan that was
    /// executed first; `wrote`: the files that checks wrote as they may.
    pub fn caveat(&self, first: &Plan, wrote: &[RepoPath]) -> Option<Caveat> {
        if self.session.request.changed_in == Some(ChangedIn::Index) {
            return Some(index_differs(wrote));
        }
        if self.requested.shard.is_some() {
            let message = "checks wrote files, which those of other shards do not see";
            return Some(
                grew(message.to_owned())
                    .about(wrote.to_vec())
                    .way_out("keep what they write, and run all shards again"),
            );
        }
        let asks_others = self.requested.file.is_some() || self.session.request.proposal.is_some();
        if asks_others {
            // The answer of a plan file or a proposer to the change as it is now cannot be known.
            let more: Vec<RepoPath> = wrote
                .iter()
                .filter(|path| !first.request.changed.contains(path))
                .cloned()
                .collect();
            let message = "checks wrote files that were not part of the change";
            return (!more.is_empty()).then(|| grew(message.to_owned()).about(more));
        }
        let made = self
            .engine
            .open_since(&self.requested.plan, self.since)
            .and_then(|mut now| now.plan(&self.requested.plan, Asking::Recorded));
        match made {
            Ok((plan, _)) => {
                let mut checks: Vec<String> = missing(&plan, first)
                    .iter()
                    .map(|s| s.check().to_owned())
                    .collect();
                checks.dedup();
                checks.truncate(FILES_SHOWN);
                let message = "checks wrote files, and the change that came of it asks for more than what ran";
                let caveat = || {
                    grew(message.to_owned())
                        .of_checks(checks.clone())
                        .about(wrote.to_vec())
                };
                (!checks.is_empty()).then(caveat)
            }
            Err(failure) => {
                let why = visible(failure.message.as_bytes());
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

/// Whether only [`Code::ChangeGrew`] keeps a run from having passed.
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
