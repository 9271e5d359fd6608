//! Answers a stop: runs vplan for the session, and says what comes of it.

use super::answer::{self, HookOutput};
use super::install;
use super::page::{Page, list};
use crate::command::answer::*;
use crate::render;
use crate::render::feedback::{block, code};
use std::ffi::OsString;
use std::time::Duration;
use vplan_base::unit::show_size;
use vplan_base::word::{framed, text_if};
use vplan_engine::agent::{Failed, RetryState, StopAnswer, Stopped, Stopping};
use vplan_git::object::Oid;
use vplan_os::clock::Clock;
use vplan_os::own_program;

/// The time by which the hook gives up sooner than the agent.
const MARGIN: Duration = Duration::from_secs(10);

/// Answers a stop. `unreachable`: why the directory of the repository cannot be entered.
///
/// # Errors
/// The reason why not even a failed round can be recorded.
pub(super) fn stop(
    global: &Global,
    timeout: Option<u64>,
    who: Stopping<'_>,
    unreachable: Option<Failure>,
    clock: &Clock,
) -> Result<HookOutput, Failure> {
    let engine = global.engine();
    let Some(mut stop) = StopAnswer::open(&engine, who, unreachable)? else {
        return Ok(HookOutput::pass());
    };
    let limit = Duration::from_secs(install::limit(global, timeout));
    let limit = limit
        .saturating_sub(MARGIN.min(limit / 2))
        .saturating_sub(clock.elapsed());
    let name = who.subject();
    let run = |left| own_program::run(&arguments(global, &name), left);
    let stopped = stop.verify(limit, &run)?;
    let people = Account {
        name: &name,
        stop: &stop,
    };
    let mut page = match &stopped {
        Stopped::Untouched => return Ok(people.when_any("did nothing in its work tree", None)),
        Stopped::Passed(report) => return Ok(people.when_any("passed", Some(report))),
        Stopped::Dropped(report) => return Ok(people.dropped(report)),
        Stopped::GivenUp {
            reason,
            report,
            why,
        } => return Ok(people.given_up(reason.as_deref(), report.as_deref(), why)),
        Stopped::Again(report) => answer::of_report(report, next(stop.base())),
        Stopped::Failed(failed, left) => of_failed(failed, left, stop.base()),
    };
    let changed = stop.changed();
    if !changed.is_empty() {
        let changed = list(&changed);
        page.items
            .push(format!("changed since the session began: {changed}"));
    }
    let report = match &stopped {
        Stopped::Again(report) => Some(&**report),
        _ => None,
    };
    Ok(HookOutput::block(&page, &people.blocked(report)))
}

/// Describes a failed round to an agent.
fn of_failed(failed: &Failed, left: &RetryState, base: Option<&Oid>) -> Page {
    let left = match left {
        RetryState::Attempt(attempt, left) => format!("attempt {attempt}, {left} retries left"),
        RetryState::Unrecorded(why) => format!("the round could not be recorded: {}", code(why)),
    };
    let is_silent = failed.stderr.trim().is_empty();
    let body = text_if(!is_silent, || block(&failed.stderr));
    Page {
        head: format!("The work is not verified: {} ({left}).", failed.what),
        items: Vec::new(),
        body,
        next: match failed.verdict {
            Verdict::TimedOut | Verdict::Failed => next(base),
            _ => "vplan check".to_owned(),
        },
    }
}

fn arguments(global: &Global, own: &str) -> Vec<OsString> {
    // All that fails is named at once.
    let words = "run --keep-going --progress none --format json --color never --subject";
    let words = words.split(' ').chain([own]);
    let mut words: Vec<OsString> = words.map(OsString::from).collect();
    for (flag, value) in [
        ("--contract", &global.contract),
        ("--cache-dir", &global.cache_dir),
        ("--state-dir", &global.state_dir),
    ] {
        if let Some(value) = value {
            words.extend([flag.into(), value.as_os_str().to_owned()]);
        }
    }
    words.extend(global.locked.then(|| "--locked".into()));
    words.extend(global.offline.then(|| "--offline".into()));
    words.extend(["--max-file".into(), show_size(global.max_file).into()]);
    words
}

/// The command that an agent can run by itself: the same change, without using up a round.
fn next(base: Option<&Oid>) -> String {
    let base = framed(" --base ", base.map(Oid::short), "");
    format!("vplan run{base}")
}

/// The messages to people about a stop.
struct Account<'a> {
    /// The name of the subject.
    name: &'a str,
    stop: &'a StopAnswer<'a>,
}

impl Account<'_> {
    /// Everything that a run shows before its results, and what is remembered of the session.
    fn lines(&self, report: Option<&Report>) -> String {
        let mut text = report.map_or_else(String::new, |r| render::caveats(&r.caveats, false));
        let redefined = report.filter(|r| !r.steps.is_empty());
        let redefined = redefined.map_or_else(Vec::new, |r| self.stop.definitions(r));
        for line in redefined.iter().chain(self.stop.remarks()) {
            text.push_str(&format!("  ! {line}\n"));
        }
        text + &report.map_or_else(String::new, render::report::less)
    }

    fn when_any(&self, what: &str, report: Option<&Report>) -> HookOutput {
        let lines = self.lines(report);
        if lines.is_empty() {
            return HookOutput::pass();
        }
        HookOutput::let_go(&format!("vplan: {} {what}; note:\n{lines}", self.name))
    }

    fn dropped(&self, report: &Report) -> HookOutput {
        HookOutput::let_go(&format!(
            "vplan: {0} was sent back, and nothing of its change is left to verify: the work is NOT verified. \
             `vplan gate show --subject {0}` shows the rounds.\n{1}",
            self.name,
            self.lines(Some(report))
        ))
    }

    fn given_up(
        &self,
        reason: Option<&str>,
        report: Option<&Report>,
        why: &[String],
    ) -> HookOutput {
        let name = self.name;
        let reason = reason.map_or(String::new(), |r| format!(" ({})", r.replace('_', " ")));
        let why: String = why.iter().map(|line| format!("  ! {line}\n")).collect();
        HookOutput::let_go(&format!(
            "vplan gave up on {name}{reason}: the work is NOT verified, and a person must look at it. `vplan details` shows the last \
             run, `vplan gate show --subject {name}` the rounds.\n{}{why}",
            self.lines(report)
        ))
    }

    fn blocked(&self, report: Option<&Report>) -> String {
        let (name, lines) = (self.name, self.lines(report));
        format!("vplan: {name} was sent back: the work is NOT verified yet\n{lines}")
    }
}
