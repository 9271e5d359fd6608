//! `vplan runs`: lists the recorded runs.

use super::answer::*;
use crate::history::{fit, ids, mark};
use vplan_check::outcome::Status;
use vplan_run::journal::{ReplayedStep, StepState};
use vplan_run::run_summary::{State, Summary, started_at};
use vplan_store::history::RecordedRun;

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
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// Lists runs, newest first. Reads no more of them than it must.
///
/// # Errors
/// Records that cannot be read, a status that there is not.
pub fn run(global: &Global, args: &Runs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let status = args.status.as_deref();
    let status = status.map(|s| parse_status(s, args.check.is_some()));
    let status = status.transpose()?;
    let (_, history) = open(global, &args.records)?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    let since = args.since.as_deref().unwrap_or_default();
    let recent = |id: &String| started_at(id).is_some_and(|t| t.as_str() >= since);
    // Names begin with the time, so that the first one before `since` ends the search.
    for id in ids(&history)?.into_iter().take_while(recent) {
        let past = history.read_run(&id);
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
    let document = RunsDocument { runs: rows };
    let text = || table(&document.runs, terminal);
    answer_if(terminal, format, true, &versioned(&document), text);
    Ok(0)
}

/// A word that a run, or a check, can have for its status.
fn parse_status(status: &str, of_check: bool) -> Result<&'static str, Failure> {
    let (of, names, open) = if of_check {
        ("a check", Status::NAMES, ["running", "waiting"])
    } else {
        ("a run", Verdict::NAMES, ["interrupted", "running"])
    };
    let words = || names.iter().copied().chain(open);
    let asked = status.replace('-', "_");
    words().find(|word| *word == asked).ok_or_else(|| {
        let all = words().collect::<Vec<_>>().join(", ");
        let help = suggest(&asked, words(), format!("one of {all}"));
        let message = format!("`{}` is no status of {of}", visible(status));
        Failure::usage("vplan::usage::status", message).help(help)
    })
}

/// Reads a date, or a date and a time of day, as the beginning of an RFC 3339 time in UTC.
fn time(text: &str) -> Result<String, &'static str> {
    let plain = text.strip_suffix('Z').unwrap_or(text).replacen(' ', "T", 1);
    let shape = plain.replace(|c: char| c.is_ascii_digit(), "0");
    let is_shape =
        "0000-00-00T00:00:00.000".starts_with(&shape) && [10, 16, 19, 23].contains(&shape.len());
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
        Err(
            "expected a date such as `2026-01-02`, or a date and a time such as `2026-01-02T03:04:05Z`",
        )
    }
}

fn table(rows: &[Row], terminal: &Terminal) -> String {
    if rows.is_empty() {
        return "no such run is recorded\n".to_owned();
    }
    let narrow = terminal.columns.is_some_and(|c| c < 70);
    let word = |row: &Row| {
        let status = row.check.as_ref().map(|check| check.status);
        status.unwrap_or(row.run.word()).replace('_', " ")
    };
    let width = widest(rows.iter().map(word));
    let mut text = String::new();
    for row in rows {
        let run = &row.run;
        let time = run.started_at.as_deref().unwrap_or_default();
        let time = time.get(if narrow { 5..16 } else { 0..19 });
        let time = time.unwrap_or_default().replace('T', " ");
        let check = row.check.as_ref();
        let took = duration(check.map_or(run.duration_ms, |c| c.duration_ms));
        let failed = run.failed.iter().map(visible).collect::<Vec<_>>().join(" ");
        let steps = text_if(run.state == State::Finished, || {
            format!("{}/{}", run.passed, run.total)
        });
        let rest = if narrow {
            format!("{:width$} {took:>6}", word(row))
        } else {
            format!("{:width$}  {took:>7}  {steps:>7}  {failed}", word(row))
        };
        let used = 4 + 8 + 1 + time.len() + 1;
        let rest = fit(rest.trim_end(), terminal.columns, used);
        let name = paint(terminal.color, Tone::Strong, short(&run.run_id));
        let mark = mark(run, terminal.color);
        text.push_str(&format!("{mark} {name}  {time} {rest}\n"));
    }
    text
}

/// The recorded runs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunsDocument {
    /// They, newest first.
    pub runs: Vec<Row>,
}

/// A run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The end of the requested check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckEnd>,
    /// Its summary.
    pub run: Summary,
}

/// The end of a check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckEnd {
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// The check.
    pub id: String,
    /// A status, or `running` or `waiting`.
    pub status: &'static str,
    /// The number of tries.
    pub tries: u32,
}

fn row(past: &RecordedRun, check: Option<&str>) -> Row {
    let end = |step: &ReplayedStep| CheckEnd {
        duration_ms: step.duration_ms,
        id: step.id.clone(),
        status: match step.state {
            StepState::Ended(status, _) => status.name(),
            StepState::Running => "running",
            StepState::Waiting => "waiting",
        },
        tries: step.tries,
    };
    let found = check.and_then(|name| past.run.steps.iter().find(|s| s.id == name));
    Row {
        check: found.map(end),
        run: past.summary(),
    }
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
            ("dddd-dd-dd", None),
            ("2026-01-02T03:04:05+01:00", None),
            ("", None),
            ("２０２６-01-02", None),
        ] {
            assert_eq!(time(text).ok().as_deref(), want, "{text}");
        }
    }
}
