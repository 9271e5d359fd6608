//! Runs one turn of the fixer: prepares its input, and records its changes.

use super::caller::{FixerCommand, LoopProgress};
use super::caller::{Review, Stop, Turn, TurnRecord};
use super::task::{End, Task};
use crate::failure::Failure;
use crate::fix::{Mended, mend};
use crate::request::MAX_OUTPUT;
use crate::round::Keeper;
use crate::sandbox::held;
use crate::subject::Subject;
use crate::verify::Verified;
use vplan_base::vocabulary::Exit;
use vplan_base::word::Word;
use vplan_ledger::round::{Change, RoundResult};
use vplan_ledger::{Contents, Status};
use vplan_os::environment::Environment;
use vplan_os::files;
use vplan_os::process::program::Root;
use vplan_run::report::Decision;
use vplan_runner::fixer::Fixer;
use vplan_runner::sandbox::{CONFINED, TEMPORARY};

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
        if end.is_none() && no_change {
            self.noted(Status::Stuck, verified)?;
            return Ok(Some(End::new(
                Stop::NoChange,
                Exit::Escalated,
                Decision::Escalate,
            )));
        }
        Ok(end)
    }

    /// Runs the contract's fixes for what failed. Returns how the loop ends, if it does.
    fn mended(&mut self, verified: &Verified) -> Result<Option<End>, Failure> {
        let see = &mut self.caller.see;
        let mended = mend(verified, &self.verify, &mut |record| {
            see(LoopProgress::Fixed(record));
        })?;
        let changed = mended.as_ref().is_some_and(|m| !m.changed().is_empty());
        let is_outside = mended.as_ref().is_some_and(Mended::is_outside);
        let interrupted = mended.as_ref().and_then(|m| m.interrupted);
        if let Some(line) = self.rounds.last_mut() {
            line.fixes = mended.map(|m| m.fixes).unwrap_or_default();
        }
        if let Some(signal) = interrupted {
            let end = End::new(Stop::Interrupted, signal.exit(), Decision::Retry);
            return Ok(Some(end));
        }
        if is_outside {
            let stop = Stop::WroteOutside;
            return Ok(Some(End::new(stop, Exit::Failed, Decision::Escalate)));
        }
        if !changed {
            self.noted(Status::Stuck, verified)?;
            let stop = Stop::NoChange;
            return Ok(Some(End::new(stop, Exit::Escalated, Decision::Escalate)));
        }
        Ok(None)
    }

    /// Lets the fixer review work that has passed, until it is confirmed often enough, or has
    /// changed.
    pub(super) fn reviewed(
        &mut self,
        round: u32,
        verified: &mut Verified,
    ) -> Result<Option<End>, Failure> {
        let asked = self.asked;
        let Some(fixer) = &asked.fixer else {
            // It is not reviewed a second time.
            return Ok(Some(End::new(
                Stop::NotConfirmed,
                Exit::Unconfirmed,
                Decision::Reverify,
            )));
        };
        let once_more = (round >= self.asked.max_rounds)
            .then(|| End::new(Stop::MaxRounds, Exit::Exhausted, Decision::Fail));
        loop {
            let request = (self.caller.review)(&verified.report);
            let (turn, outside) = self.turn(fixer, verified, Turn::Review, &request)?;
            let end = self.broken_off(&turn, outside, verified)?;
            let agrees = end.is_none() && turn.exit_code == Some(0) && turn.no_change;
            let no_change = turn.no_change;
            let confirmed = agrees && self.is_same(verified)? && self.confirm(verified)?;
            let counter = if no_change {
                verified.report.counter.unwrap_or_default()
            } else {
                0
            };
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
                (None, _) if !confirmed => {
                    return Ok(Some(End::new(
                        Stop::NotConfirmed,
                        Exit::Unconfirmed,
                        Decision::Reverify,
                    )));
                }
                (None, Decision::Reverify) => {}
                (None, Decision::Advance | Decision::Complete) => {
                    let exit = verified.report.exit_code;
                    return Ok(Some(End {
                        stop: Stop::Passed,
                        exit,
                        decision,
                    }));
                }
                (None, _) => {
                    return Ok(Some(End::new(
                        Stop::Escalated,
                        Exit::Escalated,
                        Decision::Escalate,
                    )));
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
            let stop = Stop::WroteOutside;
            return Ok(Some(End::new(stop, Exit::Failed, Decision::Escalate)));
        }
        match repair.outcome {
            "not_started" => {
                let why = repair.reason.clone().unwrap_or_default();
                let shown = self.asked.fixer.as_ref().map_or("", |fixer| &fixer.shown);
                let message = format!("the fixer `{shown}` could not be started: {why}");
                let failure = Failure::setup("vplan::loop::fixer", message);
                (self.caller.see)(LoopProgress::Failed(&failure));
                Ok(Some(End::new(
                    Stop::FixerNotStarted,
                    Exit::Setup,
                    Decision::Escalate,
                )))
            }
            "interrupted" => {
                let terminated = repair.signal.as_deref() == Some("SIGTERM");
                let exit = if terminated {
                    Exit::Terminated
                } else {
                    Exit::Interrupted
                };
                Ok(Some(End::new(Stop::Interrupted, exit, Decision::Retry)))
            }
            _ if repair.stuck.is_some() => {
                self.stuck.clone_from(&repair.stuck);
                self.noted(Status::Stuck, verified)?;
                Ok(Some(End::new(
                    Stop::Stuck,
                    Exit::Escalated,
                    Decision::Escalate,
                )))
            }
            _ => Ok(None),
        }
    }

    /// Whether a run now would verify the same as the one that passed.
    fn is_same(&mut self, verified: &Verified) -> Result<bool, Failure> {
        let since = Subject::of(self.engine, self.verify.subject.as_deref())?
            .as_ref()
            .and_then(Subject::since);
        let session = self.engine.open_since(&self.verify.plan, since)?;
        self.watch.look(self.engine, &session)?;
        Ok(!self.watch.changed && session.request.changed == verified.session.request.changed)
    }

    /// Records that the work was reviewed without changes. Returns whether that confirmed it.
    fn confirm(&self, verified: &mut Verified) -> Result<bool, Failure> {
        let subject = verified.report.subject.clone();
        let keeper = Keeper::of_review(
            self.engine,
            subject.as_deref(),
            self.memory,
            &verified.session,
        )?;
        let tree = verified.tree(self.engine, &self.verify);
        let recorded = keeper.note(Change::Auto, RoundResult::Reviewed, &tree)?;
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
        let Verified {
            report,
            session,
            record,
            ..
        } = verified;
        let record = std::path::absolute(record).unwrap_or_else(|_| record.clone());
        let name = if turn == Turn::Repair {
            "feedback"
        } else {
            "review"
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
        env.insert(
            "VPLAN_FEEDBACK".to_owned(),
            Word::new(path.as_os_str().as_encoded_bytes()),
        );
        env.insert(
            "VPLAN_STUCK".to_owned(),
            Word::new(stuck.as_os_str().as_encoded_bytes()),
        );
        if let Some(held) = &held {
            let folder = held.folder.path().as_os_str().as_encoded_bytes();
            for name in TEMPORARY {
                env.insert(name.to_owned(), Word::new(folder));
            }
            env.insert(CONFINED.to_owned(), Word::from(fixer.sandbox.name()));
        }
        env.insert("VPLAN_TURN".to_owned(), Word::from(turn.name()));
        if let Some(subject) = &report.subject {
            env.insert("VPLAN_SUBJECT".to_owned(), Word::from(subject.as_str()));
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
        let record = TurnRecord::of(fixed, no_change, &path, &record);
        (self.caller.see)(LoopProgress::Turn(turn, &record));
        Ok((record, outside))
    }

    fn contents(&self, verified: &Verified) -> Result<Contents, Failure> {
        let tree = verified.tree(self.engine, &self.verify);
        tree.contents().map_err(|e| {
            let message = format!("the files of the work tree cannot be listed: {e}");
            Failure::setup("vplan::ledger::contents", message)
        })
    }
}
