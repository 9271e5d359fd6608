//! Interprets the report of a round about its subject's work.

use super::input::{Round, RoundResult, RoundScope, is_moved};
use crate::entry::{Status, SubjectEntry};
use vplan_base::canon::Digest;
use vplan_run::verdict::Verdict;

/// A round's report, in the terms of the table of src/ledger/rounds.md, "Confirmations".
#[derive(Default)]
pub(super) struct RoundReport {
    pub done: bool,
    /// Whether verification failed.
    pub failed: bool,
    /// The signature of the failure.
    pub failure: Option<Digest>,
    /// Whether the caller claims that it is done, for a subject that runs verify.
    pub claimed: bool,
    /// Whether no check applies to the whole change.
    pub nothing: bool,
    /// Whether it passed, and covered less than the whole change.
    pub partial: bool,
    pub run_id: Option<String>,
    pub status: Status,
    pub verdict: Option<Verdict>,
    /// Whether verification passed, or the caller reports that: earlier failures no longer count.
    pub verified: bool,
}

impl RoundReport {
    /// Whether a run leaves work that no run has verified: checks failed, or there is work and not
    /// all of what applies to it passed.
    pub(super) fn leaves_unverified(&self, has_work: bool) -> bool {
        let refuted = |v: Verdict| self.failed && !v.is_pass() && v != Verdict::Incomplete;
        let is_open = has_work && !self.verified && !self.nothing;
        self.verdict.is_some_and(refuted) || is_open
    }

    /// Whether it leaves its subject unchanged.
    pub(super) fn changes_nothing(&self, before: &SubjectEntry, changed: bool) -> bool {
        self.nothing && before.worked() || self.claimed && !changed
    }

    pub(super) fn new(round: &Round<'_>, before: Option<&SubjectEntry>, changed: bool) -> Self {
        match &round.result {
            RoundResult::Reviewed => {
                let done = !changed
                    && before.is_some_and(|e| e.status == Status::Done && e.reason.is_none());
                Self {
                    done,
                    run_id: before.and_then(|e| e.run_id.clone()),
                    status: if done { Status::Done } else { Status::Continue },
                    verdict: before.and_then(|e| e.verdict),
                    verified: done,
                    ..Self::default()
                }
            }
            RoundResult::ByHand(status) => {
                let claimed =
                    *status == Status::Done && before.is_some_and(SubjectEntry::is_by_runs);
                let done = *status == Status::Done && !claimed;
                Self {
                    claimed,
                    done,
                    status: if claimed { Status::Continue } else { *status },
                    verified: done,
                    ..Self::default()
                }
            }
            RoundResult::Run {
                exit,
                run_id,
                signature,
                status,
                verdict,
            } => {
                let scope = if is_moved(before, &round.about) {
                    RoundScope::Part
                } else {
                    round.about.scope
                };
                // A pass that the caller did not accept (`--require`) confirms nothing.
                let passed = verdict.is_pass() && *exit == 0;
                let partial = passed && scope == RoundScope::Part;
                let own = if passed && !partial {
                    Status::Done
                } else {
                    Status::Continue
                };
                let status = match status {
                    Some(Status::Done) | None => own,
                    Some(other) => *other,
                };
                let nothing = passed && scope == RoundScope::Nothing && status == Status::Done;
                Self {
                    claimed: false,
                    done: status == Status::Done && !nothing,
                    failed: !passed,
                    failure: signature.clone().filter(|_| !passed),
                    nothing,
                    partial,
                    run_id: Some(run_id.clone()),
                    status,
                    verdict: Some(*verdict),
                    verified: passed && !partial && !nothing,
                }
            }
        }
    }
}
