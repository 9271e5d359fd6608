//! Answers a stop: runs vplan for the session, and says what comes of it.

use super::answer::{self, HookOutput};
use super::install;
use super::page::{Page, list};
use crate::base::unit::show_size;
use crate::cli::args::Global;
use crate::cli::render::feedback::{block, code};
use crate::effect::git::object::Oid;
use crate::effect::os::clock::Clock;
use crate::effect::os::own_program;
use crate::engine::Failure;
use crate::engine::agent::{Failed, RetryState, Stop, Stopped, subject};
use crate::plan::caveat::{Caveat, Code, Effect, sorted};
use crate::run::report::Report;
use crate::run::verdict::Verdict;
use std::ffi::OsString;
use std::time::Duration;

/// The time by which the hook gives up sooner than the agent.
const MARGIN: Duration = Duration::from_secs(10);

/// Answers a stop.
///
/// # Errors
/// The reason why not even a failed round can be recorded.
pub(super) fn stop(
    global: &Global,
    timeout: Option<u64>,
    id: &str,
    clock: &Clock,
) -> Result<HookOutput, Failure> {
    let engine = global.engine();
    let Some(mut stop) = Stop::open(&engine, id)? else {
        return Ok(HookOutput::pass());
    };
    let limit = Duration::from_secs(install::limit(global, timeout));
    let limit = limit
        .saturating_sub(MARGIN.min(limit / 2))
        .saturating_sub(clock.elapsed());
    let run = |left| own_program::run(&arguments(global, id), left);
    let mut page = match stop.verify(limit, &run)? {
        Stopped::Passed(report) => return Ok(passed(&report, id)),
        Stopped::GivenUp { reason, why } => return Ok(let_go(id, reason.as_deref(), &why)),
        Stopped::Again(report) => answer::of_report(&report, next(stop.base())),
        Stopped::Failed(failed, left) => of_failed(&failed, &left, stop.base()),
    };
    let changed = stop.changed();
    if !changed.is_empty() {
        let changed = list(&changed);
        page.items
            .push(format!("changed since the session began: {changed}"));
    }
    Ok(HookOutput::block(&page))
}

/// Describes a failed round to an agent.
fn of_failed(failed: &Failed, left: &RetryState, base: Option<&Oid>) -> Page {
    let left = match left {
        RetryState::Attempt(attempt, left) => format!("attempt {attempt}, {left} retries left"),
        RetryState::Unrecorded(why) => format!("the round could not be recorded: {}", code(why)),
    };
    let body = if failed.stderr.trim().is_empty() {
        String::new()
    } else {
        block(&failed.stderr)
    };
    Page {
        head: format!("The work is not verified: {} ({left}).", failed.what),
        items: Vec::new(),
        body,
        next: if failed.verdict == Verdict::TimedOut {
            next(base)
        } else {
            "vplan check".to_owned()
        },
    }
}

fn arguments(global: &Global, id: &str) -> Vec<OsString> {
    let own = subject(id);
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

/// The command that an agent can run by itself: the same change, without using up a round.
fn next(base: Option<&Oid>) -> String {
    base.map_or_else(
        || "vplan run".to_owned(),
        |base| format!("vplan run --base {}", base.short()),
    )
}

/// The message to people about a pass that means less than all, or less than the last one.
fn passed(report: &Report, id: &str) -> HookOutput {
    let is_less = |code| {
        matches!(
            code,
            Code::BaselineChanged | Code::TestsDropped | Code::LineEnds | Code::SwitchedOff
        )
    };
    let counts = |c: &&Caveat| c.effect > Effect::Note || is_less(c.code);
    let said: Vec<String> = sorted(&report.caveats)
        .into_iter()
        .filter(counts)
        .map(Caveat::for_people)
        .collect();
    if said.is_empty() {
        return HookOutput::pass();
    }
    HookOutput::let_go(format!(
        "vplan: {} passed, and this has to be known: {}",
        subject(id),
        said.join("; ")
    ))
}

/// The sentence for people.
fn let_go(id: &str, reason: Option<&str>, why: &[String]) -> HookOutput {
    let name = subject(id);
    let reason = reason.map_or(String::new(), |r| format!(" ({})", r.replace('_', " ")));
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(": {}", why.join("; "))
    };
    HookOutput::let_go(format!(
        "vplan gave up on {name}{reason}: the work is NOT verified, and a person must look at it{why}. `vplan details` shows the last \
         run, `vplan gate show --subject {name}` the rounds."
    ))
}
