//! A stop of an agent: a round of its session, and what follows. A round that cannot be made is a
//! failed one.

use super::failed::{Failed, begin};
use super::record::{Now, Record, read, subject, write};
use super::settings::changed;
use super::start::{has_contract, vanished_site};
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::os::clock::Clock;
use crate::effect::os::own_program::ProgramOutput;
use crate::effect::repo::changes::base::{Unknown, default_base};
use crate::effect::repo::changes::commit_cache::CommitCache;
use crate::effect::repo::load::Site;
use crate::effect::store::ledger::LedgerFile;
use crate::engine::failure::changes_unknown;
use crate::engine::round::NOT_RECORDED;
use crate::engine::{Engine, Failure, only_grew};
use crate::ledger::SubjectEntry;
use crate::ledger::round::Because;
use crate::plan::caveat::sorted;
use crate::run::report::{DEFAULT_RETRIES, Decision, Report};
use crate::run::verdict::Verdict;
use std::io;
use std::time::Duration;

/// The session and the repository of a stop.
pub struct Stop<'a> {
    engine: &'a Engine<'a>,
    site: Site,
    id: &'a str,
    record: Option<Record>,
    entry: Option<SubjectEntry>,
    is_lost: bool,
    base: Option<Oid>,
    /// The reason why the base of the change is not known.
    unknown: Option<Failure>,
}

/// The result of a stop.
#[derive(Debug)]
pub enum Stopped {
    /// The agent may stop: its work is verified.
    Passed(Box<Report>),
    /// The agent may stop although nothing says that its work is verified: a person must look.
    GivenUp {
        /// The word of the decision.
        reason: Option<String>,
        /// Messages for people.
        why: Vec<String>,
    },
    /// The agent goes on, by this report.
    Again(Box<Report>),
    /// The agent goes on: its work could not be verified.
    Failed(Failed, RetryState),
}

/// The retries that remain after a failed round.
#[derive(Debug)]
pub enum RetryState {
    /// The number of the attempt, and the number of retries left.
    Attempt(u32, u32),
    /// The round could not be recorded, for this reason.
    Unrecorded(String),
}

/// The end of a round.
enum Ending {
    Reported(Box<Report>),
    Failed(Failed),
}

/// Runs vplan for the session, for so long.
type Run<'r> = dyn Fn(Duration) -> io::Result<ProgramOutput> + 'r;

impl<'a> Stop<'a> {
    /// Looks at a session that is to stop; `None`: it has nothing to verify.
    ///
    /// # Errors
    /// A directory that cannot be entered.
    pub fn open(engine: &'a Engine<'a>, id: &'a str) -> Result<Option<Self>, Failure> {
        let site = engine.locate()?;
        let lost = vanished_site(engine, &site, id);
        let is_lost = lost.is_some();
        let site = lost.unwrap_or(site);
        let place = engine.kept_state(&site).unwrap_or_default();
        let record = place.as_ref().and_then(|place| read(&place.path, id));
        let ledger = place
            .map(|place| LedgerFile::new(place).read())
            .and_then(Result::ok)
            .unwrap_or_default();
        let mut stop = Self {
            engine,
            site,
            id,
            record,
            entry: ledger.entry(&subject(id)).cloned(),
            is_lost,
            base: None,
            unknown: None,
        };
        match stop.find_base() {
            Ok(base) => stop.base = base,
            Err(failure) => stop.unknown = Some(failure),
        }
        Ok((stop.has_work() && !stop.is_untouched()).then_some(stop))
    }

    /// Whether there is or was something to verify.
    fn has_work(&self) -> bool {
        let git = self.site.usable_git();
        let head = git.and_then(|git| git.head().ok().flatten());
        // Without git nothing is known of the past; a git that cannot be asked is another matter.
        let is_mute = self.site.git.is_ok() && git.is_none_or(|git| git.head().is_err());
        let has = |commit: Option<&Oid>| has_contract(self.engine, &self.site, commit);
        let is_known = self.record.is_some() || self.entry.is_some();
        is_known || is_mute || has(self.base.as_ref().or(head.as_ref())) || has(head.as_ref())
    }

    /// The commit where the change of the session begins.
    #[must_use]
    pub fn base(&self) -> Option<&Oid> {
        self.base.as_ref()
    }

    /// Returns the base of the session's change.
    fn find_base(&self) -> Result<Option<Oid>, Failure> {
        let began = self
            .entry
            .as_ref()
            .and_then(|e| e.began.as_ref()?.base.clone());
        let known = began.or_else(|| self.record.as_ref()?.base.clone());
        if let Some(known) = known.and_then(|known| Oid::parse(known.as_bytes())) {
            return Ok(Some(known));
        }
        let Some(git) = self.site.usable_git() else {
            return Ok(None);
        };
        let loaded = self.engine.load_contract(&self.site).ok();
        let Some(place) = self.engine.by_default(&self.site, loaded.as_ref())? else {
            return Ok(None);
        };
        if place.assumed {
            let found = default_base(git, None, &CommitCache::nowhere())
                .map_err(|e| changes_unknown(e.into()))?;
            if let Some(Unknown::Lacking(lacking)) = found.unknown() {
                return Err(Failure::usage("vplan::hook::base", lacking.message())
                    .helped(lacking.commands()));
            }
        }
        Ok(Some(place.commit))
    }

    /// Whether nothing has happened in the session, and nothing was left of earlier ones.
    fn is_untouched(&self) -> bool {
        let Some(record) = &self.record else {
            return false;
        };
        let had_none = self.entry.as_ref().is_none_or(|e| e.rounds == 0);
        had_none && !record.inherited && Now::look(self.site.usable_git()).is_start_of(record)
    }

    /// Makes a round, and says what follows.
    ///
    /// # Errors
    /// Returns the reason why not even a failed round can be recorded.
    pub fn verify(&mut self, limit: Duration, run: &Run<'_>) -> Result<Stopped, Failure> {
        let ending = match self.unknown.take() {
            Some(failure) => Ending::Failed(Failed::of(&failure)),
            None if self.is_lost => {
                let error = GitError::NotARepository(self.site.root.clone());
                Ending::Failed(Failed::of(&changes_unknown(error.into())))
            }
            None => self.rounds(limit, run),
        };
        Ok(match ending {
            Ending::Reported(report) => self.reported(report),
            Ending::Failed(failed) => self.failed(failed),
        })
    }

    /// Makes a round, or two where the first one changed what is asked for.
    fn rounds(&self, limit: Duration, run: &Run<'_>) -> Ending {
        // A session of which nothing was recorded begins where a change does, which its run finds
        // out as well.
        if self.record.is_some()
            && let Err(failure) = begin(self.engine, &self.site, self.id, self.base.as_ref())
        {
            return Ending::Failed(Failed::of(&failure));
        }
        let clock = Clock::start();
        match self.round(run(limit)) {
            // Nothing is to be repaired: the same once more, of the whole change.
            Ending::Reported(report) if only_grew(&report) => {
                self.round(run(limit.saturating_sub(clock.elapsed())))
            }
            ending => ending,
        }
    }

    fn round(&self, ended: io::Result<ProgramOutput>) -> Ending {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let message = format!("vplan cannot be started: {error}");
                return Ending::Failed(Failed::of(&Failure::new(
                    Exit::Setup,
                    "vplan::hook::start",
                    message,
                )));
            }
        };
        let report = serde_json::from_slice::<Report>(&ended.stdout)
            .ok()
            .filter(|report| {
                let is_own = report.subject.as_ref() == Some(&subject(self.id))
                    && ended.exit == Some(report.exit_code);
                let is_recorded = report.decision_reason.as_deref() != Some(NOT_RECORDED);
                is_own && is_recorded && report.verdict != Verdict::Cancelled
            });
        match report {
            Some(report) => Ending::Reported(Box::new(report)),
            None => Ending::Failed(without_report(&ended)),
        }
    }

    fn reported(&mut self, report: Box<Report>) -> Stopped {
        self.unrecorded(0);
        if report.exit_code == 0 && report.verdict.is_pass() {
            return Stopped::Passed(report);
        }
        let used_up = Because::VerificationFailedMaxRetries.word();
        let given_up = match report.decision {
            Decision::Fail | Decision::Escalate => true,
            Decision::Advance => report.decision_reason.as_deref() == Some(used_up),
            Decision::Complete | Decision::Retry | Decision::Reverify => false,
        };
        if !given_up {
            return Stopped::Again(report);
        }
        let caveats = sorted(&report.caveats);
        Stopped::GivenUp {
            reason: report.decision_reason.clone(),
            why: caveats.iter().map(|c| c.for_people()).collect(),
        }
    }

    fn failed(&mut self, failed: Failed) -> Stopped {
        let base = self.base.as_ref();
        match failed.record(self.engine, &self.site, self.id, base) {
            Ok(recorded) => {
                self.unrecorded(0);
                match recorded.decision {
                    Decision::Fail | Decision::Escalate | Decision::Advance => Stopped::GivenUp {
                        reason: recorded.reason.map(|reason| reason.word().to_owned()),
                        why: vec![failed.what],
                    },
                    Decision::Complete | Decision::Retry | Decision::Reverify => {
                        let left =
                            RetryState::Attempt(recorded.attempt, recorded.retries_remaining);
                        Stopped::Failed(failed, left)
                    }
                }
            }
            Err(failure) => {
                let before = self.record.as_ref().map_or(0, |r| r.unrecorded);
                let count = before.saturating_add(1);
                if count > DEFAULT_RETRIES && self.record.is_some() {
                    return Stopped::GivenUp {
                        reason: None,
                        why: vec![visible(failure.message.as_bytes())],
                    };
                }
                self.unrecorded(count);
                Stopped::Failed(failed, RetryState::Unrecorded(failure.message))
            }
        }
    }

    /// The files that have changed since the session began and verify its work or send it back.
    #[must_use]
    pub fn changed(&self) -> Vec<String> {
        let then = self.record.as_ref().map(|r| r.settings.as_slice());
        let base = self.base.as_ref();
        changed(self.engine, &self.site, base, then.unwrap_or_default())
    }

    /// Remembers how many rounds in a row could not be recorded.
    fn unrecorded(&mut self, count: u32) {
        let Some(record) = self.record.as_mut().filter(|r| r.unrecorded != count) else {
            return;
        };
        record.unrecorded = count;
        // Where not even that can be remembered, the agent is sent back once more.
        let _ = self
            .engine
            .state(&self.site)
            .and_then(|place| write(&place.path, self.id, record));
    }
}

/// A run without a report of its own.
fn without_report(ended: &ProgramOutput) -> Failed {
    let (exit, what, verdict) = match ended.exit {
        _ if ended.timed_out => (
            Some(Exit::Time.code()),
            "time is up: the checks took longer than the hook may".to_owned(),
            Verdict::TimedOut,
        ),
        Some(exit) => (
            Some(exit),
            format!("the work could not be verified: exit code {exit}"),
            Verdict::Errored,
        ),
        None => (
            None,
            "the work could not be verified: a signal ended the run".to_owned(),
            Verdict::Errored,
        ),
    };
    Failed {
        exit,
        what,
        stderr: error_text(&ended.stderr),
        verdict,
    }
}

/// Returns the error text of a run without a report. How a ledger is begun anew is for people.
fn error_text(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let own = ["vplan::ledger", "vplan::state"];
    if own.iter().any(|code| text.contains(code)) {
        let first = text.lines().find(|l| !l.trim().is_empty());
        first.unwrap_or_default().to_owned()
    } else {
        text.trim_end().to_owned()
    }
}
