//! `vplan runs`: lists the recorded runs.

use super::format;
use crate::base::nearest::nearest;
use crate::base::word::visible;
use crate::check::outcome::Status;
use crate::cli::args::{Format, Global};
use crate::cli::history::{Records, fit, ids, mark, open};
use crate::cli::render::style::{Tone, duration, paint};
use crate::cli::terminal::Terminal;
use crate::effect::store::history::Past;
use crate::engine::Failure;
use crate::run::journal::{ReplayedStep, Stands};
use crate::run::past::{State, Summary, short, started_at};
use crate::run::verdict::Verdict;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

/// `vplan runs`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan runs --status failed --since 2026-01-01\n  \
        vplan runs --check unit --status flaky\n\n\
        Exit codes: 0 listed; 2 usage; 5 the records cannot be read.\n\nTIME is a date or a date and a time of day in UTC, such as `2026-01-02` or `2026-01-02T03:04:05Z`.")]
pub struct Runs {
    /// List so many, the newest.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Only runs with this verdict, or `interrupted` or `running`; with `--check`, only those in
    /// which the check has this status.
    #[arg(long, value_name = "VERDICT")]
    pub status: Option<String>,
    /// Only runs that planned this check, and how it ended in each.
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// Only runs that began at this time or later.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<String>,
    /// Where the records are.
    #[command(flatten)]
    pub records: Records,
}

/// The recorded runs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// They, newest first.
    runs: Vec<Row>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// A run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// How the check that was asked for ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<CheckEnd>,
    /// How it stands.
    run: Summary,
}

/// How a check ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckEnd {
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// The check.
    id: String,
    /// A status, or `running` or `waiting`.
    status: &'static str,
    /// How many tries there were.
    tries: u32,
}

const VERDICTS: [Verdict; 7] = [
    Verdict::Cancelled,
    Verdict::Errored,
    Verdict::Failed,
    Verdict::TimedOut,
    Verdict::Incomplete,
    Verdict::NothingToVerify,
    Verdict::Passed,
];

const STATUSES: [Status; 9] = [
    Status::Passed,
    Status::PassedWithWarnings,
    Status::Flaky,
    Status::Failed,
    Status::TimedOut,
    Status::Errored,
    Status::Skipped,
    Status::NotRun,
    Status::Cached,
];

/// Lists runs, newest first. Reads no more of them than it must.
///
/// # Errors
/// Records that cannot be read, a status that there is not.
pub fn run(global: &Global, args: &Runs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let status = args
        .status
        .as_deref()
        .map(|s| known(s, args.check.is_some()))
        .transpose()?;
    let (_, history) = open(global, &args.records)?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    let since = args.since.as_deref().unwrap_or_default();
    let recent = |id: &String| started_at(id).is_some_and(|t| t.as_str() >= since);
    // Names begin with the time, so that the first one before `since` ends the search.
    for id in ids(&history)?.into_iter().take_while(recent) {
        let past = history.past(&id);
        let row = row(&past, args.check.as_deref());
        let fits = match (&row.check, status) {
            (None, _) if args.check.is_some() => false,
            (_, None) => true,
            (Some(check), Some(status)) => check.status == status,
            (None, Some(status)) => row.run.word() == status,
        };
        if fits {
            rows.push(row);
        }
        if rows.len() >= limit {
            break;
        }
    }
    if format == Format::Json {
        terminal.print_json(&Document {
            runs: rows,
            version: 1,
        });
    } else {
        terminal.say(&text(&rows, terminal));
    }
    Ok(0)
}

/// A word that a run, or a check, can have for its status.
fn known(status: &str, of_check: bool) -> Result<&str, Failure> {
    let words: Vec<&str> = if of_check {
        STATUSES
            .iter()
            .map(|s| s.name())
            .chain(["running", "waiting"])
            .collect()
    } else {
        VERDICTS
            .iter()
            .map(|v| v.name())
            .chain(["interrupted", "running"])
            .collect()
    };
    let asked = status.replace('-', "_");
    if words.contains(&asked.as_str()) {
        return Ok(if asked == status {
            status
        } else {
            words.into_iter().find(|w| *w == asked).unwrap_or(status)
        });
    }
    let help = match nearest(&asked, words.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("one of {}", words.join(", ")),
    };
    let of = if of_check { "a check" } else { "a run" };
    let message = format!("`{}` is no status of {of}", visible(status.as_bytes()));
    Err(Failure::usage("vplan::usage::status", message).help(help))
}

/// Reads a date, or a date and a time of day, as the beginning of an RFC 3339 time in UTC.
fn time(text: &str) -> Result<String, String> {
    let wrong = || {
        "expected a date such as `2026-01-02`, or a date and a time such as `2026-01-02T03:04:05Z`"
            .to_owned()
    };
    let plain = text.strip_suffix('Z').unwrap_or(text).replacen(' ', "T", 1);
    let shape: String = plain
        .chars()
        .map(|c| if c.is_ascii_digit() { 'd' } else { c })
        .collect();
    let whole = "dddd-dd-ddTdd:dd:dd.ddd";
    let is_shape = [
        "dddd-dd-dd",
        "dddd-dd-ddTdd:dd",
        "dddd-dd-ddTdd:dd:dd",
        whole,
    ]
    .contains(&shape.as_str());
    let number =
        |range: std::ops::Range<usize>| plain.get(range).and_then(|n| n.parse::<u32>().ok());
    let within =
        |range, most: u32, least: u32| number(range).is_none_or(|n| (least..=most).contains(&n));
    let is_time = within(5..7, 12, 1)
        && within(8..10, 31, 1)
        && within(11..13, 23, 0)
        && within(14..16, 59, 0);
    if is_shape && is_time && within(17..19, 60, 0) {
        Ok(plain)
    } else {
        Err(wrong())
    }
}

fn row(past: &Past, check: Option<&str>) -> Row {
    let end = |step: &ReplayedStep| CheckEnd {
        duration_ms: step.duration_ms,
        id: step.id.clone(),
        status: match step.stands {
            Stands::Ended(status, _) => status.name(),
            Stands::Running => "running",
            Stands::Waiting => "waiting",
        },
        tries: step.tries,
    };
    let found = check.and_then(|name| past.run.steps.iter().find(|s| s.id == name));
    Row {
        check: found.map(end),
        run: past.summary(),
    }
}

fn text(rows: &[Row], terminal: &Terminal) -> String {
    if rows.is_empty() {
        return "no such run is recorded\n".to_owned();
    }
    let narrow = terminal.columns.is_some_and(|c| c < 70);
    let word = |row: &Row| match &row.check {
        Some(check) => check.status.replace('_', " "),
        None => row.run.word().replace('_', " "),
    };
    let width = rows
        .iter()
        .map(|r| word(r).chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let run = &row.run;
        let time = run.started_at.as_deref().unwrap_or_default();
        let time = if narrow {
            time.get(5..16)
        } else {
            time.get(..19)
        }
        .unwrap_or_default()
        .replace('T', " ");
        let took = duration(
            row.check
                .as_ref()
                .map_or(run.duration_ms, |c| c.duration_ms),
        );
        let failed = run
            .failed
            .iter()
            .map(|id| visible(id.as_bytes()))
            .collect::<Vec<_>>()
            .join(" ");
        let steps = if run.state == State::Finished {
            format!("{}/{}", run.passed, run.total)
        } else {
            String::new()
        };
        let rest = if narrow {
            format!("{:width$} {took:>6}", word(row))
        } else {
            format!("{:width$}  {took:>7}  {steps:>7}  {failed}", word(row))
        };
        let used = 4 + 8 + 1 + time.len() + 1;
        let rest = fit(rest.trim_end(), terminal.columns, used);
        let name = paint(terminal.color, Tone::Strong, short(&run.run_id));
        text.push_str(&format!(
            "{} {name}  {time} {rest}\n",
            mark(run, terminal.color)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, want) in [
            ("2026-01-02", Some("2026-01-02")),
            ("2026-01-02T03:04", Some("2026-01-02T03:04")),
            ("2026-01-02 03:04:05", Some("2026-01-02T03:04:05")),
            ("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05")),
            ("2026-01-02T03:04:05.678Z", Some("2026-01-02T03:04:05.678")),
            ("2026-13-02", None),
            ("2026-01-00", None),
            ("2026-01-02T24:00", None),
            ("2026-1-2", None),
            ("yesterday", None),
            ("2h", None),
            ("2026-01-02T03:04:05+01:00", None),
            ("", None),
            ("２０２６-01-02", None),
        ] {
            assert_eq!(time(text).ok().as_deref(), want, "{text}");
        }
    }
}
