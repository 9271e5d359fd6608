//! Determines the subject of a run's round, and records the round in the ledger.

use super::subject::{RoundRequirements, check_name};
use crate::{Contract, Engine, Exit, Failure, Plan, Report, Session, Site, Verdict, VerifyRequest};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use vplan_base::setting::Row;
use vplan_ledger::began::Began;
use vplan_ledger::round::{
    Recorded, Round as Ended, RoundChange, RoundResult, RoundScope, SubjectRequest, record,
};
use vplan_ledger::signature::signature;
use vplan_ledger::{Contents, Ledger, Status, Terms};
use vplan_repo::contents::ContentTree;
use vplan_repo::ledger_file::{LedgerError, LedgerFile, PATIENCE};
use vplan_run::report::Decision;
use vplan_store::records::wall_clock;

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Failure::setup(error.code(), error.to_string()).help(error.help())
    }
}

impl Engine<'_> {
    /// Returns the parts of a work tree that count as a change. `own`: files that the caller writes
    /// itself.
    pub fn tree<'a>(
        &self,
        site: &'a Site,
        contract: Option<&Contract>,
        own: &[PathBuf],
    ) -> ContentTree<'a> {
        let produces = contract.map(|c| {
            c.checks
                .iter()
                .flat_map(|check| check.globs(Row::Produces).iter().cloned())
                .collect()
        });
        let state = self.state_dir.map(Path::to_owned);
        ContentTree {
            root: &site.root,
            git: site.usable_git(),
            produces: produces.unwrap_or_default(),
            own: own.iter().cloned().chain(state).collect(),
        }
    }
}

/// Lists the files of the work tree.
pub(crate) fn contents(tree: &ContentTree<'_>) -> Result<Contents, Failure> {
    tree.contents().map_err(|e| {
        let message = format!("the files of the work tree cannot be listed: {e}");
        Failure::setup("vplan::ledger::contents", message)
    })
}

/// The reason of a run that escalates because its round could not be recorded.
pub(crate) const NOT_RECORDED: &str = "not_recorded";

/// Where rounds are stored.
#[derive(Debug)]
pub enum RecordKeeping<'k> {
    /// In the repository's ledger.
    File(LedgerFile),
    /// For as long as vplan runs: there is no subject.
    Memory(&'k RefCell<Ledger>),
}

/// Records the round of a run.
#[derive(Debug)]
pub struct Keeper<'k> {
    keeping: RecordKeeping<'k>,
    subject: String,
    status: Option<Status>,
    terms: Terms,
    attempt: u32,
    /// The subject's base and request.
    about: SubjectRequest,
    /// The reason why the round could not be recorded.
    fault: RefCell<Option<Failure>>,
}

impl<'k> Keeper<'k> {
    /// Reads the ledger first, so that no round runs that could not be recorded. `None` without a
    /// subject, if rounds without one are not stored.
    ///
    /// # Errors
    /// An invalid name (exit 2), a ledger that cannot be used (exit 5).
    pub fn open(
        engine: &Engine<'_>,
        requested: &VerifyRequest,
        memory: Option<&'k RefCell<Ledger>>,
        session: &Session,
        plan: &Plan,
        requirements: Option<RoundRequirements>,
    ) -> Result<Option<Self>, Failure> {
        let (terms, about) = match requirements {
            Some(requirements) => (requirements.terms, requirements.about),
            None => {
                let is_empty = plan.steps.is_empty() && plan.rewrites.is_empty();
                let about = SubjectRequest {
                    scope: if is_empty {
                        RoundScope::Nothing
                    } else {
                        RoundScope::Whole
                    },
                    ..SubjectRequest::default()
                };
                (Terms::from_gate(session.contract().map(|c| &c.gate)), about)
            }
        };
        let (keeping, attempt, subject) = match (&requested.subject, memory) {
            (Some(subject), _) => {
                check_name(subject)?;
                let file = LedgerFile::new(engine.state(&session.site)?);
                let attempt = file.read()?.attempt(subject);
                (RecordKeeping::File(file), attempt, subject.as_str())
            }
            (None, Some(ledger)) => (
                RecordKeeping::Memory(ledger),
                ledger.borrow().attempt(""),
                "",
            ),
            (None, None) => return Ok(None),
        };
        Ok(Some(Self {
            status: requested.status,
            attempt,
            ..Self::without_run(keeping, subject, terms, about)
        }))
    }

    /// Returns which attempt this is, and how many rounds may follow the first one.
    pub fn attempt(&self) -> (u32, u32) {
        (self.attempt, self.terms.retries)
    }

    /// Whether a pass must be confirmed by another run; cached passes must not replace steps then.
    pub fn confirms(&self) -> bool {
        self.terms.confirmations > 1
    }

    /// Records the round and puts the decision into the report. An interrupted run does not count
    /// as a round: nothing is recorded, and the attempt is repeated.
    pub fn conclude(&self, report: &mut Report, tree: &ContentTree<'_>) {
        let has_subject = matches!(self.keeping, RecordKeeping::File(_));
        if has_subject {
            report.subject = Some(self.subject.clone());
            report.verdict_code = Some(report.exit_code);
        }
        if report.verdict == Verdict::Cancelled {
            report.decision = Decision::Retry;
            return;
        }
        let root = tree.root.to_string_lossy();
        let passed = report.verdict.is_pass() && report.exit_code == 0;
        let said = RoundResult::Run {
            exit: report.exit_code,
            run_id: report.run_id.clone(),
            signature: (!passed).then(|| signature(report, &root)),
            status: self.status,
            verdict: report.verdict,
        };
        match self.note(RoundChange::Auto, said, tree) {
            Ok(recorded) => self.add_to_report(recorded, report),
            Err(failure) => {
                // A pass that is not recorded is not confirmed.
                report.decision = Decision::Escalate;
                report.decision_reason = Some(NOT_RECORDED.to_owned());
                report.exit_code = failure.exit.code();
                self.fault.replace(Some(failure));
            }
        }
    }

    /// Adds the recorded round to the report.
    pub(crate) fn add_to_report(&self, recorded: Recorded, report: &mut Report) {
        let has_subject = matches!(self.keeping, RecordKeeping::File(_));
        if has_subject || self.confirms() {
            report.counter = Some(recorded.counter);
            report.required = Some(recorded.required);
        }
        if has_subject {
            report.exit_code = recorded.exit(report.verdict_code.unwrap_or(report.exit_code));
            report.others = Some(recorded.others);
        }
        let advance = !has_subject && recorded.decision == Decision::Complete;
        report.attempt = recorded.attempt;
        report.decision = if advance {
            Decision::Advance
        } else {
            recorded.decision
        };
        report.decision_reason = recorded.reason.map(|r| r.name().to_owned());
        report.no_change = Some(recorded.no_change);
        report.retries_remaining = recorded.retries_remaining;
        if let Some(feedback) = &mut report.feedback {
            feedback.attempt_number = recorded.attempt;
            feedback.retries_remaining = recorded.retries_remaining;
            feedback.rounds_counted = true;
        }
    }

    /// Records a round with the result that the caller states.
    ///
    /// # Errors
    /// The files cannot be read, or the ledger cannot be used (exit 5).
    pub fn note(
        &self,
        changed: RoundChange,
        said: RoundResult,
        tree: &ContentTree<'_>,
    ) -> Result<Recorded, Failure> {
        match &self.keeping {
            // The files are read under the lock, so that the compared and the stored state are the
            // same.
            RecordKeeping::File(file) => {
                file.change(PATIENCE, |ledger| self.made(ledger, changed, said, tree))
            }
            RecordKeeping::Memory(kept) => {
                let (next, recorded) = self.made(&kept.borrow(), changed, said, tree)?;
                kept.replace(next);
                Ok(recorded)
            }
        }
    }

    fn made(
        &self,
        ledger: &Ledger,
        changed: RoundChange,
        said: RoundResult,
        tree: &ContentTree<'_>,
    ) -> Result<(Ledger, Recorded), Failure> {
        let contents = contents(tree)?;
        let entry = ledger.entry(&self.subject);
        let weaker = entry
            .and_then(|e| e.began.as_ref())
            .map(|b| self.terms.weaker_than(&b.gate))
            .unwrap_or_default();
        if said == RoundResult::ByHand(Status::Done) && !weaker.is_empty() {
            let message = format!(
                "the gate asks for less than the one that the subject began with: {}",
                weaker.join(", ")
            );
            return Err(
                Failure::new(Exit::Incomplete, "vplan::ledger::gate_weakened", message)
                    .help("`vplan gate reset` begins anew, under today's gate"),
            );
        }
        let ended_at = wall_clock();
        let recorded_files = contents.clone();
        let round = Ended {
            about: self.about.clone(),
            changed,
            contents,
            ended_at: &ended_at,
            result: said,
            subject: &self.subject,
        };
        let (mut next, recorded) = record(ledger, &self.terms, &round);
        if next.contents.as_ref() == Some(&recorded_files) {
            next.own = tree.own_paths();
        }
        Ok((next, recorded))
    }

    /// Opens the keeper of a round that is recorded by hand.
    ///
    /// # Errors
    /// As [`Keeper::open`].
    pub fn by_hand(
        engine: &Engine<'_>,
        subject: &str,
        site: &Site,
        contract: Option<&Contract>,
    ) -> Result<Self, Failure> {
        check_name(subject)?;
        let keeping = RecordKeeping::File(LedgerFile::new(engine.state(site)?));
        let terms = Terms::from_gate(contract.map(|c| &c.gate));
        let began = Began {
            assumed: false,
            base: None,
            contract: contract.map(|c| c.digest.clone()),
            gate: terms,
        };
        let about = SubjectRequest {
            began: Some(began),
            ..SubjectRequest::default()
        };
        Ok(Self::without_run(keeping, subject, terms, about))
    }

    /// Opens the keeper that records a review of work that has passed.
    ///
    /// # Errors
    /// As [`Keeper::open`].
    pub(crate) fn of_review(
        engine: &Engine<'_>,
        subject: Option<&str>,
        memory: &'k RefCell<Ledger>,
        session: &Session,
    ) -> Result<Self, Failure> {
        let keeping = match subject {
            Some(_) => RecordKeeping::File(LedgerFile::new(engine.state(&session.site)?)),
            None => RecordKeeping::Memory(memory),
        };
        let terms = Terms::from_gate(session.contract().map(|c| &c.gate));
        let subject = subject.unwrap_or_default();
        Ok(Self::without_run(
            keeping,
            subject,
            terms,
            SubjectRequest::default(),
        ))
    }

    /// Makes the keeper of a round without a run.
    fn without_run(
        keeping: RecordKeeping<'k>,
        subject: &str,
        terms: Terms,
        about: SubjectRequest,
    ) -> Self {
        Self {
            keeping,
            subject: subject.to_owned(),
            status: None,
            terms,
            attempt: 1,
            about,
            fault: RefCell::default(),
        }
    }

    /// Returns why the round could not be recorded, if it could not.
    pub fn fault(self) -> Option<Failure> {
        self.fault.into_inner()
    }
}
