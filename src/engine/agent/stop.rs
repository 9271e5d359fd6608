//! A stop of an agent: a round of its session, and the decision. A round that cannot be made counts
//! as failed.

use super::failed::{Failed, begin};
use super::other_work_trees::{Elsewhere, contents, is_left_behind, settle};
use super::record::{Now, Record, Stopping, read, records_anywhere, write};
use super::settings::changed;
use super::start::{has_contract, is_done};
use crate::replanning::only_grew;
use crate::round::NOT_RECORDED;
use crate::{Engine, Exit, Failure, GitError, History, Oid, Report, Site, Verdict, visible};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vplan_base::word::visible_path;
use vplan_git::repository;
use vplan_ledger::SubjectEntry;
use vplan_ledger::round::Because;
use vplan_os::clock::Clock;
use vplan_os::own_program::ProgramOutput;
use vplan_plan::definition;
use vplan_repo::changes::base::{UnknownBase, default_base};
use vplan_repo::changes::commit_cache::CommitCache;
use vplan_repo::ledger_file::{LedgerFile, PATIENCE};
use vplan_run::report::{DEFAULT_RETRIES, Decision};

/// The session and the repository of a stop.
pub struct StopAnswer<'a> {
    engine: &'a Engine<'a>,
    site: Site,
    who: Stopping<'a>,
    name: String,
    record: Option<Record>,
    entry: Option<SubjectEntry>,
    base: Option<Oid>,
    /// The reason why nothing can be verified: the repository is gone, or the base of the change is
    /// unknown.
    unknown: Option<Failure>,
    is_untouched: bool,
    was_blocked: bool,
    elsewhere: Elsewhere,
}

/// The result of a stop.
#[derive(Debug)]
pub enum Stopped {
    /// The agent may stop: it changed nothing, and no work is unfinished.
    Untouched,
    /// The agent may stop: its work is verified.
    Passed(Box<Report>),
    /// The agent may stop: nothing is left to verify. But earlier rounds failed, so a person must
    /// know.
    Dropped(Box<Report>),
    /// The agent may stop although its work is unverified: a person must look at it.
    GivenUp {
        /// The word of the decision.
        reason: Option<String>,
        /// The report of the round, if there is one.
        report: Option<Box<Report>>,
        /// Messages for people.
        why: Vec<String>,
    },
    /// The agent continues, with this report.
    Again(Box<Report>),
    /// The agent continues: its work could not be verified.
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

/// The end of a round: its report, or the reason without one.
type Ending = Result<Box<Report>, Failed>;

/// Runs vplan for the session, for so long.
type Run<'r> = dyn Fn(Duration) -> io::Result<ProgramOutput> + 'r;

impl<'a> StopAnswer<'a> {
    /// Examines a session that is about to stop; `None` if it has nothing to verify. `unreachable`:
    /// why the directory of the repository cannot be entered.
    ///
    /// # Errors
    /// A directory that cannot be entered and has no known session.
    pub fn open(
        engine: &'a Engine<'a>,
        who: Stopping<'a>,
        unreachable: Option<Failure>,
    ) -> Result<Option<Self>, Failure> {
        let here = match unreachable {
            Some(failure) => Err(failure),
            None => engine.locate(),
        };
        let (site, gone) = match (lost(engine, here.as_ref().ok(), who.session), here) {
            (Some((site, why)), _) => (site, Some(why)),
            (None, here) => (here?, None),
        };
        let place = engine.kept_state(&site).unwrap_or_default();
        let record = place
            .as_ref()
            .and_then(|place| read(&place.path, who.session));
        let ledger = place.and_then(|place| LedgerFile::new(place).read().ok());
        let name = who.subject();
        let entry = ledger.unwrap_or_default().entry(&name).cloned();
        let mut stop = Self {
            engine,
            site,
            who,
            was_blocked: record.as_ref().is_some_and(|r| r.blocked)
                || entry.as_ref().is_some_and(|e| e.rounds > 0 && !is_done(e)),
            name,
            record,
            entry,
            base: None,
            unknown: gone,
            is_untouched: false,
            elsewhere: Elsewhere::default(),
        };
        match stop.find_base() {
            Ok(base) => stop.base = base,
            Err(failure) => stop.unknown = stop.unknown.or(Some(failure)),
        }
        if !stop.has_work() {
            return Ok(None);
        }
        stop.elsewhere = stop.find_elsewhere();
        stop.is_untouched = stop.unknown.is_none() && stop.is_untouched();
        Ok(Some(stop))
    }

    /// Finds the work of the session that its work tree does not have; that of a subagent is the
    /// main agent's.
    fn find_elsewhere(&self) -> Elsewhere {
        let record = self.record.as_ref().filter(|_| self.unknown.is_none());
        let start = record.and_then(|r| Some((r, r.start.as_ref()?)));
        let (Some((record, start)), Some(git), None) =
            (start, self.site.usable_git(), self.who.subagent)
        else {
            return Elsewhere::default();
        };
        let found = Elsewhere::find(git, start, record.head.as_ref(), &record.settled);
        found.unwrap_or_else(|error| {
            let what = "cannot compare the commits of this session with the work tree";
            Elsewhere {
                left: vec![format!("{what}: {error}")],
                ..Elsewhere::default()
            }
        })
    }

    /// Returns the work of the session that is reported to people, a line each.
    pub fn remarks(&self) -> &[String] {
        &self.elsewhere.named
    }

    /// Returns the changed files that define commands of steps in the verified plan, a line each.
    pub fn definitions(&self, report: &Report) -> Vec<String> {
        let history = History::open(&self.site.home, None).ok();
        let plan = history.and_then(|history| history.plan(&report.run_id).ok().flatten());
        let Some(plan) = plan.filter(|plan| plan.digest == report.plan_digest) else {
            let what =
                "the plan of the run is missing: whether the change redefines a check is not known";
            return vec![what.to_owned()];
        };
        definition::lines(&plan)
    }

    /// Whether there is or was something to verify.
    fn has_work(&self) -> bool {
        let git = self.site.usable_git();
        let head = git.and_then(|git| git.head().ok().flatten());
        // Without git, nothing is known of the past. If git fails, there may be work.
        let is_mute = self.site.git.is_ok() && git.is_none_or(|git| git.head().is_err());
        let has = |commit: Option<&Oid>| has_contract(self.engine, &self.site, commit);
        let is_known = self.record.is_some() || self.entry.is_some();
        is_known || is_mute || has(self.base.as_ref().or(head.as_ref())) || has(head.as_ref())
    }

    /// The commit where the change of the session begins.
    pub fn base(&self) -> Option<&Oid> {
        self.base.as_ref()
    }

    /// Returns the base of the session's change.
    fn find_base(&self) -> Result<Option<Oid>, Failure> {
        let entry = self.entry.as_ref();
        let began = entry.and_then(|e| e.began.as_ref()?.base.clone());
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
            let found = default_base(git, None, &CommitCache::nowhere())?;
            if let Some(UnknownBase::Lacking(lacking)) = found.unknown() {
                return Err(Failure::usage("vplan::hook::base", lacking.message())
                    .helped(lacking.commands()));
            }
        }
        Ok(Some(place.commit))
    }

    /// Whether the session has changed nothing, and earlier ones left nothing unfinished.
    fn is_untouched(&self) -> bool {
        let Some(record) = &self.record else {
            return false;
        };
        // Work that passed and is now on another branch is recognised by its contents.
        let is_over = |e: &SubjectEntry| e.rounds == 0 || (record.start.is_some() && is_done(e));
        self.entry.as_ref().is_none_or(is_over)
            && !self.was_blocked
            && !record.inherited
            && Now::read(self.site.usable_git()).is_start_of(record)
    }

    /// Makes a round, and returns the next step.
    ///
    /// # Errors
    /// Returns the reason why not even a failed round can be recorded.
    pub fn verify(&mut self, limit: Duration, run: &Run<'_>) -> Result<Stopped, Failure> {
        if self.is_untouched && self.elsewhere.left.is_empty() {
            return Ok(Stopped::Untouched);
        }
        let ending = match self.unknown.take() {
            Some(failure) => Err(Failed::from_failure(&failure)),
            // A round for work that already passed would reset the retries.
            None if !self.elsewhere.left.is_empty() && !self.has_unsettled() => {
                Err(Failed::elsewhere(&self.elsewhere.left))
            }
            None => self.rounds(limit, run),
        };
        let stopped = match ending {
            Ok(report) => self.reported(report),
            Err(failed) => self.failed(failed),
        };
        let stopped = match stopped {
            Stopped::Passed(report)
                if self.was_blocked && report.verdict == Verdict::NothingToVerify =>
            {
                Stopped::Dropped(report)
            }
            stopped => stopped,
        };
        if self.who.subagent.is_none() {
            let is_pass = matches!(stopped, Stopped::Passed(_));
            self.remember(|record| record.blocked = !is_pass);
        }
        Ok(stopped)
    }

    /// Forgets the traces of work that passed and that the session has left for other work. Rounds
    /// would otherwise report it as lost work.
    fn forget_settled(&self) -> Result<(), Failure> {
        let has_start = self.record.as_ref().is_some_and(|r| r.start.is_some());
        let passed = self.entry.as_ref().filter(|e| is_done(e));
        let (Some(entry), Some(git), true) = (passed, self.site.usable_git(), has_start) else {
            return Ok(());
        };
        let heads = entry.traces.iter();
        let heads = heads.filter_map(|trace| Oid::parse(trace.head.as_bytes()));
        let heads: Vec<Oid> = heads.collect();
        let is_left = || is_left_behind(git, &heads).unwrap_or(false);
        if self.was_blocked || !self.elsewhere.left.is_empty() || !is_left() {
            return Ok(());
        }
        LedgerFile::new(self.engine.state(&self.site)?).change(PATIENCE, |ledger| {
            let mut next = ledger.clone();
            next.forget_traces(&self.name);
            Ok((next, ()))
        })
    }

    /// Whether the work tree has contents that did not pass in this session.
    fn has_unsettled(&self) -> bool {
        let settled = self.record.as_ref().map_or(&[][..], |r| &r.settled);
        let is_new = |content: &String| !settled.contains(content);
        self.contents().is_none_or(|now| now.iter().any(is_new))
    }

    /// Returns the changed contents of the work tree, if they are known.
    fn contents(&self) -> Option<Vec<String>> {
        let start = self.record.as_ref().and_then(|r| r.start.as_ref());
        contents(self.site.usable_git()?, self.base.as_ref(), start).ok()
    }

    /// Remembers the contents that passed.
    fn settle(&mut self) {
        if let Some(now) = self.contents() {
            self.remember(|record| settle(&mut record.settled, now));
        }
    }

    /// Makes a round, and a second one if the first changed the requirements.
    fn rounds(&self, limit: Duration, run: &Run<'_>) -> Ending {
        // A session without a record begins at the base of its change, which the run determines
        // itself.
        let failed = |failure: Failure| Failed::from_failure(&failure);
        if self.record.is_some() {
            let base = self.base.as_ref();
            begin(self.engine, &self.site, &self.name, base).map_err(failed)?;
        }
        self.forget_settled().map_err(failed)?;

        let clock = Clock::start();
        match self.round(run(limit)) {
            // Nothing must be repaired: the whole change is verified again.
            Ok(report) if only_grew(&report) => {
                self.round(run(limit.saturating_sub(clock.elapsed())))
            }
            ending => ending,
        }
    }

    fn round(&self, ended: io::Result<ProgramOutput>) -> Ending {
        let ended = ended.map_err(|error| {
            let message = format!("vplan cannot be started: {error}");
            Failed::from_failure(&Failure::setup("vplan::hook::start", message))
        })?;
        let is_whole = |report: &Report| {
            report.subject.as_ref() == Some(&self.name)
                && ended.exit == Some(report.exit_code)
                && report.decision_reason.as_deref() != Some(NOT_RECORDED)
                && report.verdict != Verdict::Cancelled
        };
        match serde_json::from_slice(&ended.stdout) {
            Ok(report) if is_whole(&report) => Ok(Box::new(report)),
            _ => Err(without_report(&ended)),
        }
    }

    fn reported(&mut self, report: Box<Report>) -> Stopped {
        self.unrecorded(0);
        if report.exit_code == 0 && report.verdict.is_pass() {
            self.settle();
            if !self.elsewhere.left.is_empty() {
                self.elsewhere = self.find_elsewhere();
            }
            return if self.elsewhere.left.is_empty() {
                Stopped::Passed(report)
            } else {
                self.failed(Failed::elsewhere(&self.elsewhere.left))
            };
        }
        let used_up = Because::VerificationFailedMaxRetries.name();
        let given_up = match report.decision {
            Decision::Fail | Decision::Escalate => true,
            Decision::Advance => report.decision_reason.as_deref() == Some(used_up),
            Decision::Complete | Decision::Retry | Decision::Reverify => false,
        };
        if !given_up {
            return Stopped::Again(report);
        }
        Stopped::GivenUp {
            reason: report.decision_reason.clone(),
            report: Some(report),
            why: Vec::new(),
        }
    }

    fn failed(&mut self, failed: Failed) -> Stopped {
        let base = self.base.as_ref();
        match failed.record(self.engine, &self.site, &self.name, base) {
            Ok(recorded) => {
                self.unrecorded(0);
                match recorded.decision {
                    Decision::Fail | Decision::Escalate | Decision::Advance => Stopped::GivenUp {
                        reason: recorded.reason.map(|reason| reason.name().to_owned()),
                        report: None,
                        why: failed.for_people(),
                    },
                    Decision::Complete | Decision::Retry | Decision::Reverify => {
                        let (attempt, left) = (recorded.attempt, recorded.retries_remaining);
                        Stopped::Failed(failed, RetryState::Attempt(attempt, left))
                    }
                }
            }
            Err(failure) => {
                let before = self.record.as_ref().map_or(0, |r| r.unrecorded);
                let count = before.saturating_add(1);
                if count > DEFAULT_RETRIES && self.record.is_some() {
                    return Stopped::GivenUp {
                        reason: None,
                        report: None,
                        why: vec![visible(&failure.message)],
                    };
                }
                self.unrecorded(count);
                Stopped::Failed(failed, RetryState::Unrecorded(failure.message))
            }
        }
    }

    /// The files that have changed since the session began and verify its work or send it back.
    pub fn changed(&self) -> Vec<String> {
        let then = self.record.as_ref().map(|r| r.settings.as_slice());
        let base = self.base.as_ref();
        changed(self.engine, &self.site, base, then.unwrap_or_default())
    }

    /// Remembers how many rounds in a row could not be recorded.
    fn unrecorded(&mut self, count: u32) {
        self.remember(|record| record.unrecorded = count);
    }

    /// Updates the stored record of the session, in the version that other stops left.
    fn remember(&mut self, change: impl FnOnce(&mut Record)) {
        let Some(record) = self.record.as_mut() else {
            return;
        };
        let Ok(place) = self.engine.state(&self.site) else {
            return;
        };
        if let Some(newest) = read(&place.path, self.who.session) {
            *record = newest;
        }
        let before = record.clone();
        change(record);
        if *record != before {
            // If even that cannot be stored, the agent is sent back once more.
            let _ = write(&place.path, self.who.session, record);
        }
    }
}

/// A run without its own report.
fn without_report(ended: &ProgramOutput) -> Failed {
    let failed = |exit, what: &str, verdict| Failed {
        exit,
        what: what.to_owned(),
        stderr: error_text(&ended.stderr),
        verdict,
    };
    let unverified = "the work could not be verified";
    match ended.exit {
        _ if ended.timed_out => {
            let what = "time is up: the checks took longer than the hook may";
            failed(Some(Exit::Time.code()), what, Verdict::TimedOut)
        }
        Some(exit) => {
            let what = format!("{unverified}: exit code {exit}");
            failed(Some(exit), &what, Verdict::Errored)
        }
        None => {
            let what = format!("{unverified}: a signal ended the run");
            failed(None, &what, Verdict::Errored)
        }
    }
}

/// Returns the error text of a run without a report. Resetting a ledger is left to people.
fn error_text(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let own = ["vplan::ledger", "vplan::state"];
    let shown = match own.iter().any(|code| text.contains(code)) {
        true => text.lines().find(|l| !l.trim().is_empty()),
        false => Some(text.trim_end()),
    };
    shown.unwrap_or_default().to_owned()
}

/// Returns how a session has lost its repository, if it has. `here`: the repository of the stop.
fn lost(engine: &Engine<'_>, here: Option<&Site>, id: &str) -> Option<(Site, Failure)> {
    let own = here.and_then(|site| {
        let place = engine.kept_state(site).ok().flatten()?;
        Some((site.root.clone(), read(&place.path, id)?))
    });
    let Some((root, record)) = own else {
        // Without a record here, one of another place counts if that place is gone.
        let elsewhere = records_anywhere(engine, id).into_iter();
        let mut gone = elsewhere.filter_map(|(_, record)| {
            let root = PathBuf::from(record.start.as_ref()?.root.as_ref()?);
            why_gone(&root, &record).map(|why| unverified(root, why))
        });
        return gone.next();
    };
    let start = record.start.as_ref()?;
    (!start.is_at(&root)).then(|| unverified(root.clone(), replaced(&root)))
}

fn unverified(root: PathBuf, why: Failure) -> (Site, Failure) {
    let git = Err(GitError::NotARepository(root.clone()));
    let home = root.clone();
    (Site { root, home, git }, why)
}

/// Returns why a root is not the repository of a record.
fn why_gone(root: &Path, record: &Record) -> Option<Failure> {
    let start = record.start.as_ref()?;
    if !start.is_at(root) {
        return Some(replaced(root));
    }
    let is_gone = record.base.is_some() && repository::at(root).is_none();
    is_gone.then(|| GitError::NotARepository(root.to_owned()).into())
}

fn replaced(root: &Path) -> Failure {
    let what = match root.symlink_metadata() {
        Ok(_) => "is not the repository in which the session began: that one was moved or removed",
        Err(_) => "is missing: the repository of the session was moved or removed",
    };
    let shown = visible_path(root);
    Failure::setup("vplan::hook::replaced", format!("`{shown}` {what}"))
        .help(format!("move it back to `{shown}`"))
}
