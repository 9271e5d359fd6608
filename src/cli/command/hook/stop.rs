//! Decides whether an agent may stop: by a round of its session. A round that cannot be made is a
//! failed one.

use super::answer::{self, Answer, Page};
use super::failed::{Failed, begin};
use super::session::{self, Now, Record, has_contract, subject};
use super::{install, named};
use crate::base::unit::show_size;
use crate::base::word::visible;
use crate::cli::args::Global;
use crate::cli::render::feedback::code;
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::os::clock::Clock;
use crate::effect::os::own_program;
use crate::effect::repo::changes::base::{Unknown, default_base};
use crate::effect::repo::changes::kept::Kept;
use crate::effect::repo::load::Site;
use crate::effect::store::ledger::LedgerFile;
use crate::engine::Failure;
use crate::engine::failure::changes_unknown;
use crate::engine::only_grew;
use crate::ledger::Entry;
use crate::ledger::round::Because;
use crate::plan::caveat::{Caveat, Code, Effect, sorted};
use crate::run::report::{DEFAULT_RETRIES, Decision, Report};
use crate::run::verdict::Verdict;
use std::ffi::OsString;
use std::time::Duration;

/// How much sooner than the agent the hook gives up.
const MARGIN: Duration = Duration::from_secs(10);

/// What a stop is about.
struct Stop<'a> {
    global: &'a Global,
    site: &'a Site,
    id: &'a str,
    record: Option<Record>,
    entry: Option<Entry>,
}

/// How a round ended.
enum Ending {
    Reported(Box<Report>),
    Failed(Failed),
}

/// Answers a stop.
///
/// # Errors
/// What keeps even a failed round from being recorded.
pub(super) fn stop(
    global: &Global,
    timeout: Option<u64>,
    id: &str,
    clock: &Clock,
) -> Result<Answer, Failure> {
    let mut site = global.engine().locate()?;
    let lost = session::lost(global, &site, id);
    let is_lost = lost.is_some();
    if let Some(began) = lost {
        site = began;
    }
    let git = site.usable_git();
    let head = git.and_then(|git| git.head().ok().flatten());
    // Without git nothing is known of the past; a git that cannot be asked is another matter.
    let is_mute = site.git.is_ok() && (git.is_none() || git.is_some_and(|git| git.head().is_err()));
    let place = global.engine().kept_state(&site).unwrap_or_default();
    let record = place
        .as_ref()
        .and_then(|place| session::read(&place.path, id));
    let ledger = place
        .map(|place| LedgerFile::new(place).read())
        .and_then(Result::ok)
        .unwrap_or_default();
    let entry = ledger.entry(&subject(id)).cloned();
    let mut stop = Stop {
        global,
        site: &site,
        id,
        record,
        entry,
    };
    let base = stop.base();
    let commit = base.as_ref().ok().copied().flatten().or(head);
    let is_known = stop.record.is_some() || stop.entry.is_some();
    if !is_known
        && !is_mute
        && !has_contract(global, &site, commit.as_ref())
        && !has_contract(global, &site, head.as_ref())
    {
        return Ok(Answer::pass());
    }
    if stop.is_untouched() {
        return Ok(Answer::pass());
    }
    let limit = Duration::from_secs(install::limit(global, timeout));
    let limit = limit
        .saturating_sub(MARGIN.min(limit / 2))
        .saturating_sub(clock.elapsed());
    let (base, ending) = match base {
        Ok(base) if is_lost => {
            let error = GitError::NotARepository(site.root.clone());
            (
                base,
                Ending::Failed(Failed::of(&changes_unknown(error.into()))),
            )
        }
        Ok(base) => (base, stop.verify(base.as_ref(), limit)),
        Err(failure) => (None, Ending::Failed(Failed::of(&failure))),
    };
    match ending {
        Ending::Reported(report) => Ok(stop.reported(&report, base.as_ref())),
        Ending::Failed(failed) => stop.failed(&failed, base.as_ref()),
    }
}

impl Stop<'_> {
    /// Where the change of the session begins.
    fn base(&self) -> Result<Option<Oid>, Failure> {
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
        let loaded = self.global.engine().load_contract(self.site).ok();
        let Some(place) = self
            .global
            .engine()
            .by_default(self.site, loaded.as_ref())?
        else {
            return Ok(None);
        };
        if place.assumed {
            let found =
                default_base(git, None, &Kept::nowhere()).map_err(|e| changes_unknown(e.into()))?;
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

    /// Makes a round.
    fn verify(&self, base: Option<&Oid>, limit: Duration) -> Ending {
        // A session of which nothing was recorded begins where a change does, which its run finds
        // out as well.
        if self.record.is_some()
            && let Err(failure) = begin(self.global, self.site, self.id, base)
        {
            return Ending::Failed(Failed::of(&failure));
        }
        let clock = Clock::start();
        match self.round(limit) {
            // Nothing is to be repaired: the same once more, of the whole change.
            Ending::Reported(report) if only_grew(&report) => {
                self.round(limit.saturating_sub(clock.elapsed()))
            }
            ending => ending,
        }
    }

    fn round(&self, limit: Duration) -> Ending {
        let ended = match own_program::run(&self.arguments(), limit) {
            Ok(ended) => ended,
            Err(error) => {
                let message = format!("vplan cannot be started: {error}");
                return Ending::Failed(Failed::of(&Failure::new(5, "vplan::hook::start", message)));
            }
        };
        let report = serde_json::from_slice::<Report>(&ended.stdout)
            .ok()
            .filter(|report| {
                let is_own = report.subject.as_ref() == Some(&subject(self.id))
                    && ended.exit == Some(report.exit_code);
                let is_recorded =
                    report.decision_reason.as_deref() != Some(crate::engine::round::NOT_RECORDED);
                is_own && is_recorded && report.verdict != Verdict::Cancelled
            });
        if let Some(report) = report {
            return Ending::Reported(Box::new(report));
        }
        let (what, verdict) = match ended.exit {
            _ if ended.timed_out => (
                "time is up: the checks took longer than the hook may".to_owned(),
                Verdict::TimedOut,
            ),
            Some(exit) => (
                format!("the work could not be verified: exit code {exit}"),
                Verdict::Errored,
            ),
            None => (
                "the work could not be verified: a signal ended the run".to_owned(),
                Verdict::Errored,
            ),
        };
        let exit = if ended.timed_out {
            Some(crate::base::vocabulary::Exit::Time.code())
        } else {
            ended.exit
        };
        Ending::Failed(Failed {
            exit,
            what,
            said: answer::said(&ended.stderr),
            verdict,
        })
    }

    fn arguments(&self) -> Vec<OsString> {
        let own = subject(self.id);
        // All that fails is named at once.
        let words = [
            "run",
            "--subject",
            &own,
            "--keep-going",
            "--progress",
            "none",
            "--format",
            "json",
            "--color",
            "never",
        ];
        let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let global = self.global;
        for (flag, value) in [
            ("--contract", &global.contract),
            ("--cache-dir", &global.cache_dir),
            ("--state-dir", &global.state_dir),
        ] {
            words.extend(
                value
                    .iter()
                    .flat_map(|value| [flag.into(), value.as_os_str().to_owned()]),
            );
        }
        words.extend(
            [(global.locked, "--locked"), (global.offline, "--offline")]
                .iter()
                .filter(|f| f.0)
                .map(|f| f.1.into()),
        );
        words.extend(["--max-file".into(), show_size(global.max_file).into()]);
        words
    }

    /// What an agent can run by itself: the same change, without using up a round.
    fn next(base: Option<&Oid>) -> String {
        base.map_or_else(
            || "vplan run".to_owned(),
            |base| format!("vplan run --base {}", base.short()),
        )
    }

    fn named(&self, base: Option<&Oid>, page: &mut Page) {
        let then = self
            .record
            .as_ref()
            .map(|r| r.settings.as_slice())
            .unwrap_or_default();
        let changed = named::changed(self.global, self.site, base, then);
        if !changed.is_empty() {
            page.items.push(format!(
                "changed since the session began: {}",
                answer::list(&changed)
            ));
        }
    }

    fn reported(&mut self, report: &Report, base: Option<&Oid>) -> Answer {
        self.unrecorded(0);
        if report.exit_code == 0 && report.verdict.is_pass() {
            return self.passed(report);
        }
        let used_up = Because::VerificationFailedMaxRetries.word();
        let given_up = match report.decision {
            Decision::Fail | Decision::Escalate => true,
            Decision::Advance => report.decision_reason.as_deref() == Some(used_up),
            Decision::Complete | Decision::Retry | Decision::Reverify => false,
        };
        if given_up {
            let ways: Vec<String> = sorted(&report.caveats)
                .iter()
                .map(|c| c.for_people())
                .collect();
            return self.let_go(report.decision_reason.as_deref(), &ways);
        }
        let mut page = answer::of_report(report, Self::next(base));
        self.named(base, &mut page);
        Answer::block(&page)
    }

    /// What people are told of a pass that means less than all, or less than the last one.
    fn passed(&self, report: &Report) -> Answer {
        let is_less = |code| {
            matches!(
                code,
                Code::TestsDropped | Code::LineEnds | Code::SwitchedOff
            )
        };
        let counts = |c: &&Caveat| c.effect > Effect::Note || is_less(c.code);
        let said: Vec<String> = sorted(&report.caveats)
            .into_iter()
            .filter(counts)
            .map(Caveat::for_people)
            .collect();
        if said.is_empty() {
            return Answer::pass();
        }
        Answer::let_go(format!(
            "vplan: {} passed, and this has to be known: {}",
            subject(self.id),
            said.join("; ")
        ))
    }

    fn failed(&mut self, failed: &Failed, base: Option<&Oid>) -> Result<Answer, Failure> {
        let recorded = failed.record(self.global, self.site, self.id, base);
        let left = match recorded {
            Ok(recorded) => {
                self.unrecorded(0);
                match recorded.decision {
                    Decision::Fail | Decision::Escalate | Decision::Advance => {
                        return Ok(self.let_go(
                            recorded.reason.map(Because::word),
                            std::slice::from_ref(&failed.what),
                        ));
                    }
                    Decision::Complete | Decision::Retry | Decision::Reverify => {
                        format!(
                            "attempt {}, {} retries left",
                            recorded.attempt, recorded.retries_remaining
                        )
                    }
                }
            }
            Err(failure) => {
                let count = self
                    .record
                    .as_ref()
                    .map_or(0, |r| r.unrecorded)
                    .saturating_add(1);
                if count > DEFAULT_RETRIES && self.record.is_some() {
                    return Ok(self.let_go(None, &[visible(failure.message.as_bytes())]));
                }
                self.unrecorded(count);
                format!(
                    "the round could not be recorded: {}",
                    code(&failure.message)
                )
            }
        };
        let next = if failed.verdict == Verdict::TimedOut {
            Self::next(base)
        } else {
            "vplan check".to_owned()
        };
        let head = format!("The work is not verified: {} ({left}).", failed.what);
        let mut page = Page {
            head,
            items: Vec::new(),
            body: failed.said.clone(),
            next,
        };
        self.named(base, &mut page);
        Ok(Answer::block(&page))
    }

    /// Remembers how many rounds in a row could not be recorded.
    fn unrecorded(&mut self, count: u32) {
        let Some(record) = self.record.as_mut().filter(|r| r.unrecorded != count) else {
            return;
        };
        record.unrecorded = count;
        // Where not even that can be remembered, the agent is sent back once more.
        let _ = self
            .global
            .engine()
            .state(self.site)
            .and_then(|place| session::write(&place.path, self.id, record));
    }

    /// The sentence for people.
    fn let_go(&self, reason: Option<&str>, why: &[String]) -> Answer {
        let name = subject(self.id);
        let reason = reason.map_or(String::new(), |r| format!(" ({})", r.replace('_', " ")));
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {}", why.join("; "))
        };
        Answer::let_go(format!(
            "vplan gave up on {name}{reason}: the work is NOT verified, and a person must look at it{why}. `vplan details` shows the last \
             run, `vplan gate show --subject {name}` the rounds."
        ))
    }
}
