//! Checks whether the change requires more after checks have written to the tree as they may.

use super::args::{Global, Run};
use super::propose::Asking;
use super::session::Session;
use super::terminal::Terminal;
use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::effect::git::object::Oid;
use crate::plan::Plan;
use crate::plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use crate::plan::contains::missing;
use crate::run::report::Report;
use crate::run::verdict::Verdict;

/// What people are told to do.
const AGAIN: &str = "run again: the next run sees all of the change";

/// What a change is taken again with.
#[derive(Clone, Copy)]
pub(super) struct Taken<'a> {
    pub global: &'a Global,
    pub args: &'a Run,
    pub terminal: &'a Terminal,
    /// The commit at which the subject began, if there is one.
    pub since: Option<Oid>,
    /// The session of the run.
    pub session: &'a Session,
}

impl Taken<'_> {
    /// Takes the change again. `first`: the plan that was executed first; `wrote`: what checks
    /// wrote as they may.
    pub fn again(&self, first: &Plan, wrote: &[RepoPath]) -> Option<Caveat> {
        if self.args.saved.shard.is_some() {
            let message = "checks wrote files, which those of other shards do not see";
            return Some(
                grew(message.to_owned())
                    .about(wrote.to_vec())
                    .way_out("keep what they write, and run all shards again"),
            );
        }
        let asks_others = self.args.saved.plan.is_some() || self.session.request.proposal.is_some();
        if asks_others {
            // What a plan file or a proposer would say of the change as it is now cannot be known.
            let more: Vec<RepoPath> = wrote
                .iter()
                .filter(|path| !first.request.changed.contains(path))
                .cloned()
                .collect();
            let message = "checks wrote files that were not part of the change";
            return (!more.is_empty()).then(|| grew(message.to_owned()).about(more));
        }
        let made = Session::open_since(self.global, &self.args.request, self.terminal, self.since)
            .and_then(|mut now| {
                now.request.names.clone_from(&self.session.request.names);
                now.plan(&self.args.request, Asking::Recorded)
            });
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

/// Whether nothing but that keeps a run from having passed.
#[must_use]
pub(super) fn only_grew(report: &Report) -> bool {
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
