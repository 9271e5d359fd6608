//! Runs one turn of the fixer: prepares its input, and records its changes.

use super::caller::{FixerCommand, LoopProgress, Review, Stop, Turn, TurnRecord};
use super::task::{End, Task};
use crate::fix::mend;
use crate::request::MAX_OUTPUT;
use crate::round::{Keeper, contents};
use crate::sandbox::held;
use crate::subject::Subject;
use crate::verify::Verified;
use crate::{Exit, Failure, Root};
use vplan_base::word::Word;
use vplan_ledger::round::{RoundChange, RoundResult};
use vplan_ledger::{Contents, Status};
use vplan_os::environment::Environment;
use vplan_os::files;
use vplan_run::report::Decision;
use vplan_runner::fixer::Fixer;
use vplan_runner::sandbox::{CONFINED, TEMPORARY};

/// The end of a loop in which something was written that must not be.
fn wrote_outside() -> End {
    End::new(Stop::WroteOutside, Exit::Failed, Decision::Escalate)
}

impl Task<'_, '_> {
    /// Runs the fixer on the failures. Returns how the loop ends, if it does.
    pub(super) fn repaired(&mut self, verified: &Verified) -> Result<Option<End>, Failure> {
        let asked = self.asked;
        let Some(fixer) = &asked.fixer else {
            return self.mended(verified);
        };
        let feedback = (self.caller.feedback)(&verified.report);
        let (repair, outside) = self.turn(fixer, verified, Turn::Repair, &feedback)?;
        let end = self.broken_off(&repair, outside, verified)?;
        let no_change = repair.no_change;
        if let Some(line) = self.rounds.last_mut() {
            line.fix = Some(repair);
        }
        match end {
            None if no_change => self.stuck(Stop::NoChange, verified),
            end => Ok(end),
        }
    }

    /// Ends as a round that does not go on without a person, and records it as such.
    fn stuck(&self, stop: Stop, verified: &Verified) -> Result<Option<End>, Failure> {
        self.noted(Status::Stuck, verified)?;
        Ok(Some(End::new(stop, Exit::Escalated, Decision::Escalate)))
    }

    /// Runs the contract's fixes for what failed. Returns how the loop ends, if it does.
    fn mended(&mut self, verified: &Verified) -> Result<Option<End>, Failure> {
        let see = &mut self.caller.see;
        let mended = mend(verified, &self.verify, &mut |record| {
            see(LoopProgress::Fixed(record));
        })?;
        let Some(mended) = mended else {
            return self.stuck(Stop::NoChange, verified);
        };
        let (is_changed, is_outside) = (!mended.changed().is_empty(), mended.is_outside());
        if let Some(line) = self.rounds.last_mut() {
            line.fixes = mended.fixes;
        }
        match mended.interrupted {
            Some(signal) => {
                let end = End::new(Stop::Interrupted, signal.exit(), Decision::Retry);
                Ok(Some(end))
            }
            None if is_outside => Ok(Some(wrote_outside())),
            None if is_changed => Ok(None),
            None => self.stuck(Stop::NoChange, verified),
        }
    }

    /// Lets the fixer review work that has passed, until it is confirmed often enough, or has
    /// changed.
    pub(super) fn reviewed(
        &mut self,
        round: u32,
        verified: &mut Verified,
    ) -> Result<Option<End>, Failure> {
        let asked = self.asked;
        let unconfirmed = || End::new(Stop::NotConfirmed, Exit::Unconfirmed, Decision::Reverify);
        let Some(fixer) = &asked.fixer else {
            // It is not reviewed a second time.
            return Ok(Some(unconfirmed()));
        };
        let is_last = round >= self.asked.max_rounds;
        let once_more = is_last.then(|| End::new(Stop::MaxRounds, Exit::Exhausted, Decision::Fail));
        loop {
            let request = (self.caller.review)(&verified.report);
            let (turn, outside) = self.turn(fixer, verified, Turn::Review, &request)?;
            let end = self.broken_off(&turn, outside, verified)?;
            let agrees = end.is_none() && turn.exit_code == Some(0) && turn.no_change;
            let no_change = turn.no_change;
            let confirmed = agrees && self.is_same(verified)? && self.confirm(verified)?;
            let counter = verified.report.counter.filter(|_| no_change);
            let counter = counter.unwrap_or_default();
            if let Some(line) = self.rounds.last_mut() {
                line.reviews.push(Review {
                    confirmed,
                    counter,
                    turn,
                });
            }
            let decision = verified.report.decision;
            match (end, decision) {
                (Some(end), _) => return Ok(Some(end)),
                // The work is verified again, and confirmations count from 1.
                (None, _) if !no_change || (agrees && !confirmed) => return Ok(once_more),
                (None, _) if !confirmed => return Ok(Some(unconfirmed())),
                (None, Decision::Reverify) => {}
                (None, Decision::Advance | Decision::Complete) => {
                    let (stop, exit) = (Stop::Passed, verified.report.exit_code);
                    return Ok(Some(End {
                        stop,
                        exit,
                        decision,
                    }));
                }
                (None, _) => {
                    let (stop, exit) = (Stop::Escalated, Exit::Escalated);
                    return Ok(Some(End::new(stop, exit, Decision::Escalate)));
                }
            }
        }
    }

    /// Returns how the loop ends if the fixer made a forbidden change, was ended, or gives up.
    fn broken_off(
        &mut self,
        repair: &TurnRecord,
        outside: Option<Failure>,
        verified: &Verified,
    ) -> Result<Option<End>, Failure> {
        if let Some(failure) = outside {
            (self.caller.see)(LoopProgress::Failed(&failure));
            self.noted(Status::Stuck, verified)?;
            return Ok(Some(wrote_outside()));
        }
        match repair.outcome {
            "not_started" => {
                let why = repair.reason.clone().unwrap_or_default();
                let shown = self.asked.fixer.as_ref().map_or("", |fixer| &fixer.shown);
                let message = format!("the fixer `{shown}` could not be started: {why}");
                let failure = Failure::setup("vplan::loop::fixer", message);
                (self.caller.see)(LoopProgress::Failed(&failure));
                let stop = Stop::FixerNotStarted;
                Ok(Some(End::new(stop, Exit::Setup, Decision::Escalate)))
            }
            "interrupted" => {
                let exit = match repair.signal.as_deref() {
                    Some("SIGTERM") => Exit::Terminated,
                    _ => Exit::Interrupted,
                };
                Ok(Some(End::new(Stop::Interrupted, exit, Decision::Retry)))
            }
            _ if repair.stuck.is_some() => {
                self.stuck.clone_from(&repair.stuck);
                self.stuck(Stop::Stuck, verified)
            }
            _ => Ok(None),
        }
    }

    /// Whether a run now would verify the same as the one that passed.
    fn is_same(&mut self, verified: &Verified) -> Result<bool, Failure> {
        let since = Subject::open(self.engine, self.verify.subject.as_deref())?
            .as_ref()
            .and_then(Subject::since);
        let session = self.engine.open_since(&self.verify.plan, since)?;
        self.watch.check(self.engine, &session)?;
        Ok(!self.watch.changed && session.request.changed == verified.session.request.changed)
    }

    /// Records that the work was reviewed without changes. Returns whether that confirmed it.
    fn confirm(&self, verified: &mut Verified) -> Result<bool, Failure> {
        let subject = verified.report.subject.as_deref();
        let keeper = Keeper::of_review(self.engine, subject, self.memory, &verified.session)?;
        let tree = verified.tree(self.engine, &self.verify);
        let recorded = keeper.note(RoundChange::Auto, RoundResult::Reviewed, &tree)?;
        let confirmed =
            recorded.no_change && recorded.counter > 0 && recorded.decision != Decision::Retry;
        drop(tree);
        keeper.add_to_report(recorded, &mut verified.report);
        Ok(confirmed)
    }

    /// Starts the fixer, and waits for its end. Also returns the failure if it made a forbidden
    /// change.
    fn turn(
        &mut self,
        fixer: &FixerCommand,
        verified: &Verified,
        turn: Turn,
        text: &str,
    ) -> Result<(TurnRecord, Option<Failure>), Failure> {
        let (session, record) = (&verified.session, &verified.record);
        let record = std::path::absolute(record).unwrap_or_else(|_| record.clone());
        let name = match turn {
            Turn::Repair => "feedback",
            Turn::Review => "review",
        };
        let path = record.join(format!("{name}.{}", fixer.ending));
        let held = held(self.engine, fixer.sandbox, session, &record, &self.verify)?;
        let stuck = held
            .as_ref()
            .map_or(record.as_path(), |held| held.folder.path());
        let stuck = stuck.join("stuck.txt");
        let failed = |what: &str, e: &dyn std::fmt::Display| {
            Failure::setup("vplan::loop::record", format!("{what}: {e}"))
        };
        files::replace(&path, text.as_bytes())
            .map_err(|e| failed("the feedback cannot be written", &e))?;
        let root = Root::open(&session.site.root)
            .map_err(|e| failed("the repository cannot be opened", &e))?;
        let environment = Environment::of_this_process(&root, self.verify.grants.clone());
        let mut env = fixer.env.clone();
        let mut set = |name: &str, value: &[u8]| env.insert(name.to_owned(), Word::new(value));
        set("VPLAN_FEEDBACK", path.as_os_str().as_encoded_bytes());
        set("VPLAN_STUCK", stuck.as_os_str().as_encoded_bytes());
        if let Some(held) = &held {
            let folder = held.folder.path().as_os_str().as_encoded_bytes();
            for name in TEMPORARY {
                set(name, folder);
            }
            set(CONFINED, fixer.sandbox.name().as_bytes());
        }
        set("VPLAN_TURN", turn.name().as_bytes());
        if let Some(subject) = &verified.report.subject {
            set("VPLAN_SUBJECT", subject.as_bytes());
        }
        let before = self.contents(verified)?;
        let granted: Vec<String> = self.verify.grants.names.iter().cloned().collect();
        let fixed = (self.caller.fix)(Fixer {
            root: &root,
            environment: &environment,
            granted: &granted,
            argv: &fixer.argv,
            env,
            feedback: text.as_bytes(),
            limit_ms: fixer.timeout_ms,
            max_output: self.verify.max_output.unwrap_or(MAX_OUTPUT),
            logs: &record.join("logs"),
            stuck: &stuck,
            held: held.as_ref().map(|held| &held.held),
        })
        .map_err(|e| failed("the fixer could not be run", &e))?;
        // Before git is called again.
        let outside = held.as_ref().map(|held| held.release(session));
        let outside = outside.transpose()?.flatten();
        // Files that can no longer be listed count as changed; the next verification reports the
        // reason.
        let no_change = self.contents(verified).is_ok_and(|after| after == before);
        let record = TurnRecord::new(fixed, no_change, &path, &record);
        (self.caller.see)(LoopProgress::Turn(turn, &record));
        Ok((record, outside))
    }

    fn contents(&self, verified: &Verified) -> Result<Contents, Failure> {
        contents(&verified.tree(self.engine, &self.verify))
    }
}
