//! Recorded runs as rows, for programs and people.

use crate::command::answer::*;
use crate::history::{fit, mark};
use crate::render::style::widest;
use crate::render::style::{Tone, duration, paint};
use vplan_base::word::text_if;
use vplan_run::journal::{ReplayedStep, StepState};
use vplan_run::past::{State, Summary, short};
use vplan_store::history::Past;

pub(super) fn table(rows: &[Row], terminal: &Terminal) -> String {
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
        text.push_str(&format!(
            "{} {name}  {time} {rest}\n",
            mark(run, terminal.color)
        ));
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

pub(super) fn row(past: &Past, check: Option<&str>) -> Row {
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
