//! Goes through the rounds of a loop, and decides when it ends.

use super::caller::{LoopCaller, LoopOutcome, LoopProgress, LoopRequest, RoundRecord, Stop};
use super::watch::{CHANGED, GONE, MOVED, Watch};
use crate::replanning::only_grew;
use crate::round::{Keeper, NOT_RECORDED};
use crate::verify::{Caller, Progress, Verified, round};
use crate::{
    Caveat, ChangeSource, Code, Contract, Effect, Engine, Exit, Failure, Report, Session, Verdict,
    VerifyRequest,
};
use std::cell::RefCell;
use vplan_ledger::round::{Because, RoundChange, RoundResult};
use vplan_ledger::{Ledger, Status};
use vplan_plan::fixes::fix;
use vplan_plan::request::{ChangedFrom, ChangedIn};
use vplan_repo::changes::BaseRevision;
use vplan_run::report::Decision;
use vplan_runner::executor::Played;

pub(super) struct Task<'t, 'c> {
    pub(super) engine: &'t Engine<'t>,
    pub(super) asked: &'t LoopRequest,
    pub(super) caller: LoopCaller<'c>,
    pub(super) memory: &'t RefCell<Ledger>,
    /// The request of the next round.
    pub(super) verify: VerifyRequest,
    pub(super) watch: Watch,
    pub(super) rounds: Vec<RoundRecord>,
    /// The fixer's reason not to go on.
    pub(super) stuck: Option<String>,
}

/// The end of a loop: why, and with which exit code.
#[derive(Debug)]
pub(super) struct End {
    pub(super) stop: Stop,
    pub(super) exit: u8,
    pub(super) decision: Decision,
}

impl End {
    pub(super) fn new(stop: Stop, exit: Exit, decision: Decision) -> Self {
        Self {
            stop,
            exit: exit.code(),
            decision,
        }
    }
}

impl Task<'_, '_> {
    /// Runs rounds until there is a decision.
    pub(super) fn go(mut self) -> Result<LoopOutcome, Failure> {
        let mut last: Option<Verified> = None;
        let mut number = 0;
        loop {
            number += 1;
            (self.caller.see)(LoopProgress::Round(number));
            let mut verified = match self.verified() {
                Ok(verified) => verified,
                Err(failure) => match last {
                    Some(last) => return self.refused(failure, last),
                    None => return Err(failure),
                },
            };
            self.record(number, &verified.report);
            let end = match self.stop(number, &verified.report) {
                Some((stop, exit)) => Some(End {
                    stop,
                    exit,
                    decision: verified.report.decision,
                }),
                None if verified.report.decision == Decision::Retry => self.repaired(&verified)?,
                None => match self.reviewed(number, &mut verified) {
                    Ok(end) => end,
                    Err(failure) => return self.refused(failure, verified),
                },
            };
            if let Some(end) = end {
                return Ok(self.end(&end, verified));
            }
            last = Some(verified);
        }
    }

    fn verified(&mut self) -> Result<Verified, Failure> {
        let mut verified = self.verify_once()?;
        if only_grew(&verified.report) {
            // There is nothing to repair: the whole change is verified once more.
            verified = self.verify_once()?;
        }
        self.compare(&verified.session);
        Ok(verified)
    }

    fn verify_once(&mut self) -> Result<Verified, Failure> {
        let Self {
            engine,
            caller,
            memory,
            verify,
            watch,
            asked,
            rounds,
            ..
        } = self;
        let see = &mut caller.see;
        let mut tell = |progress: Progress<'_>| see(LoopProgress::Verifying(progress));
        let of_round = Caller {
            see: Some(&mut tell),
            tick: caller.tick,
            events: None,
            played: caller.played.as_mut().map(Played::lent),
        };
        let is_first = rounds.is_empty();
        let mut look = |session: &Session| {
            if is_first && asked.fixer.is_none() {
                can_be_mended(session)?;
            }
            watch.check(engine, session)
        };
        let verified = round(engine, verify, of_round, Some(memory), &mut look)?;
        (caller.see)(LoopProgress::Verified(&verified));
        Ok(verified)
    }

    /// Makes later rounds compare with the commit of the first round. So the fixer's changes stay
    /// changes, whatever it commits and wherever it moves a branch.
    fn compare(&mut self, session: &Session) {
        // For a subject, the commit to compare with is in the ledger.
        let from = session.request.changed_from.as_ref();
        let from_commit = matches!(from, Some(ChangedFrom::WorkTree | ChangedFrom::Base(_)));
        let is_moved = self.verify.subject.is_none() && from_commit;
        if let Some(base) = self.watch.base().filter(|_| is_moved) {
            let revision = BaseRevision::Revision(base.to_string());
            self.verify.plan.changes = Some(ChangeSource::Base(revision));
        }
    }

    fn record(&mut self, round: u32, report: &Report) {
        self.rounds.push(RoundRecord {
            attempt: report.attempt,
            contract_changed: std::mem::take(&mut self.watch.changed),
            decision: report.decision,
            exit_code: report.verdict_code.unwrap_or(report.exit_code),
            fix: None,
            fixes: Vec::new(),
            no_change: report.no_change.unwrap_or(false),
            retries_remaining: report.retries_remaining,
            reviews: Vec::new(),
            round,
            run_id: report.run_id.clone(),
            verdict: report.verdict,
        });
    }

    /// Returns why this round was the last one, if it was, and the exit code.
    fn stop(&self, round: u32, report: &Report) -> Option<(Stop, u8)> {
        let (own, reason) = (report.exit_code, report.decision_reason.as_deref());
        let exhausted = reason == Some(Because::VerificationFailedMaxRetries.name());
        // Without a subject the report is about the round alone.
        let exit = |exit: Exit| match report.subject {
            Some(_) => own,
            None => exit.code(),
        };
        let last = round >= self.asked.max_rounds;
        match report.decision {
            _ if report.verdict == Verdict::Cancelled => Some((Stop::Interrupted, own)),
            _ if reason == Some(NOT_RECORDED) => Some((Stop::Escalated, own)),
            Decision::Advance if exhausted => Some((Stop::Exhausted, exit(Exit::Incomplete))),
            Decision::Advance | Decision::Complete => Some((Stop::Passed, own)),
            Decision::Fail => Some((Stop::Exhausted, exit(Exit::Exhausted))),
            Decision::Escalate if exhausted => Some((Stop::Exhausted, exit(Exit::Escalated))),
            Decision::Escalate => Some((Stop::Escalated, exit(Exit::Escalated))),
            // A pass may be confirmed without another round.
            Decision::Retry if last => Some((Stop::MaxRounds, Exit::Exhausted.code())),
            Decision::Retry | Decision::Reverify => None,
        }
    }

    /// Ends the loop if a later round could not begin. If the fixer caused that, it is a decision
    /// about the work.
    fn refused(self, failure: Failure, mut last: Verified) -> Result<LoopOutcome, Failure> {
        let stop = match failure.code.as_str() {
            CHANGED => Stop::ContractChanged,
            MOVED => Stop::HistoryChanged,
            GONE => Stop::ChangeGone,
            // The contract of the first round was valid, and its changed files were known.
            _ if [Exit::Contract, Exit::Drift].contains(&failure.exit) => Stop::ContractChanged,
            _ if failure.exit == Exit::Usage => Stop::HistoryChanged,
            _ => return Err(failure),
        };
        (self.caller.see)(LoopProgress::Failed(&failure));
        let end = if stop == Stop::ChangeGone {
            // Any earlier pass was one of another work tree.
            self.noted(Status::Continue, &last)?;
            let message = failure.message;
            let caveat = Caveat::new(Code::ChangeGone, Effect::Incomplete, message.clone());
            let report = &mut last.report;
            report
                .caveats
                .push(caveat.with_files(self.watch.undone.clone()));
            report.verdict = Verdict::Failed;
            report.exit_code = Exit::Failed.code();
            report.verdict_code = report.verdict_code.map(|_| Exit::Failed.code());
            report.decision = Decision::Fail;
            report.decision_reason = Some(Code::ChangeGone.name().to_owned());
            report.reason = Some(message);
            report.counter = report.counter.map(|_| 0);
            End::new(stop, Exit::Failed, Decision::Fail)
        } else {
            self.noted(Status::Stuck, &last)?;
            End::new(stop, Exit::Escalated, Decision::Escalate)
        };
        Ok(self.end(&end, last))
    }

    /// Records the end of a subject's work without a run.
    pub(super) fn noted(&self, status: Status, last: &Verified) -> Result<(), Failure> {
        let Some(subject) = &last.report.subject else {
            return Ok(());
        };
        let site = &last.session.site;
        let keeper = Keeper::by_hand(self.engine, subject, site, last.session.contract())?;
        let tree = last.tree(self.engine, &self.verify);
        keeper.note(RoundChange::Auto, RoundResult::ByHand(status), &tree)?;
        Ok(())
    }

    fn end(self, end: &End, last: Verified) -> LoopOutcome {
        let decision = match end.stop {
            Stop::MaxRounds => Decision::Fail,
            _ => end.decision,
        };
        LoopOutcome {
            stop: end.stop,
            exit: end.exit,
            decision,
            last,
            rounds: self.rounds,
            stuck: self.stuck,
            undone: self.watch.undone,
        }
    }
}

/// Checks that the contract has fixes, and that they may run in the verified tree.
fn can_be_mended(session: &Session) -> Result<(), Failure> {
    let contract = session.contract();
    let is_there = |contract: &Contract| contract.checks.iter().any(|check| fix(check).is_some());
    if !contract.is_some_and(is_there) {
        let message = "no check of the contract has a `fix`, and `--fix` names no command";
        let help =
            "write `fix COMMAND` in a check, or name a program that repairs: `--fix COMMAND`";
        return Err(Failure::usage("vplan::loop::no_fixer", message).help(help));
    }
    if session.request.changed_in == Some(ChangedIn::Index) {
        let message =
            "the fixes of the contract change the work tree, and what is staged is verified";
        return Err(Failure::usage("vplan::loop::staged", message)
            .help("`vplan fix --staged` mends what is staged"));
    }
    Ok(())
}
