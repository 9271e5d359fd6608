//! Finds the recorded run that the user names, and formats it as a line.

use super::args::Global;
use super::render::style::{Tone, count, cut, duration, paint};
use clap::Args;
use std::path::PathBuf;
use vplan_base::nearest::suggest;
use vplan_base::vocabulary::Exit;
use vplan_base::word::visible;
use vplan_engine::Failure;
use vplan_repo::load::Site;
use vplan_run::run_summary::{State, Summary, find, short};
use vplan_run::verdict::Verdict;
use vplan_store::history::History;

/// The directory of the records.
#[derive(Clone, Debug, Args)]
pub struct Records {
    /// Look at the records in this directory instead of `.vplan/` at the root.
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
}

/// The ways to name a run, printed after the help of each command that takes one.
pub const NAMES: &str = "RUN is `latest`, `latest~1` for the one before, and so on, or the beginning of a name that `vplan runs` lists.";

/// Finds the records.
///
/// # Errors
/// They cannot be read: exit 5, or 2 for a directory that `--records` names.
pub fn open(global: &Global, records: &Records) -> Result<(Site, History), Failure> {
    let site = global.engine().locate()?;
    let history = History::open(&site.root, records.records.as_deref());
    let history = history.map_err(|error| match records.records {
        Some(_) => Failure {
            exit: Exit::Usage,
            ..error.into()
        },
        None => error.into(),
    })?;
    Ok((site, history))
}

/// The names of all runs, newest first.
///
/// # Errors
/// They cannot be listed: exit 5.
pub fn ids(history: &History) -> Result<Vec<String>, Failure> {
    Ok(history.ids()?)
}

/// Finds the run that the user names.
///
/// # Errors
/// There is none, or there are several: exit 2.
pub fn pick(history: &History, name: &str) -> Result<String, Failure> {
    let ids = ids(history)?;
    let found = find(&ids, name).map(str::to_owned);
    found.map_err(|e| Failure::usage("vplan::records::unknown_run", e.to_string()).help(e.help()))
}

/// Says that a run has no check of a name: the nearest one that it has, or where all are shown.
pub fn unknown_check<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    all: String,
) -> Failure {
    let message = format!("no check of this run is called `{}`", visible(name));
    Failure::usage("vplan::records::unknown_check", message).help(suggest(name, known, all))
}

/// The mark of a run, in colour.
pub fn mark(run: &Summary, color: bool) -> String {
    let (sign, tone) = match (run.state, run.verdict, run.exit_code) {
        (State::Running, ..) => ("…", Tone::Command),
        (State::Finished, Some(Verdict::Passed), Some(0)) => ("✓", Tone::Good),
        (State::Finished, Some(Verdict::NothingToVerify), Some(0)) => ("✓", Tone::Warn),
        (State::Finished, Some(Verdict::TimedOut), _) => ("⧖", Tone::Bad),
        (State::Finished, ..) => ("✗", Tone::Bad),
        (State::Interrupted, ..) => ("!", Tone::Warn),
    };
    paint(color, tone, sign)
}

/// Returns the time of a run's start, for people: `2026-01-02 03:04:05 UTC`.
pub fn when(run: &Summary) -> String {
    let Some(text) = &run.started_at else {
        return "at an unknown time".to_owned();
    };
    let plain = text.replacen('T', " ", 1);
    match plain.split_once('.') {
        Some((seconds, _)) => format!("{} UTC", visible(seconds)),
        None => visible(&plain),
    }
}

/// Formats a run in at most three lines: its state, its id, what failed.
pub fn headline(run: &Summary, color: bool, columns: Option<usize>) -> String {
    let word = run.word().replace('_', " ");
    let tone = match (run.state, run.exit_code) {
        (State::Finished, Some(0)) => Tone::Good,
        (State::Finished, _) => Tone::Bad,
        _ => Tone::Warn,
    };
    let steps = match run.total {
        0 => "no step".to_owned(),
        all => format!("{} of {} passed", run.passed, count(all, "step")),
    };
    let narrowed = match run.coverage {
        Some(vplan_plan::Coverage::Narrowed) => ", narrowed coverage",
        _ => "",
    };
    let time = duration(run.duration_ms);
    let (mark, word) = (mark(run, color), paint(color, tone, &word));
    let (id, when) = (paint(color, Tone::Strong, short(&run.run_id)), when(run));
    let mut text = format!("{mark} {word}{narrowed}: {steps} in {time}\n  run {id}, {when}\n");
    if !run.failed.is_empty() {
        let names: Vec<String> = run.failed.iter().map(visible).collect();
        let failed = format!("failed: {}", names.join(", "));
        text.push_str(&format!("  {}\n", fit(&failed, columns, 2)));
    }
    match run.state {
        State::Interrupted => text.push_str("  its end is not recorded: it was killed\n"),
        State::Running => text.push_str("  it is still going on\n"),
        State::Finished => {}
    }
    text
}

/// Cuts a text of one line to the columns left after `used` ones.
pub fn fit(text: &str, columns: Option<usize>, used: usize) -> String {
    match columns {
        Some(columns) => cut(text, columns.saturating_sub(used).max(10)),
        None => text.to_owned(),
    }
}
