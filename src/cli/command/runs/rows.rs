//! Recorded runs as rows.

use schemars::JsonSchema;
use serde::Serialize;
use vplan_run::journal::{ReplayedStep, StepState};
use vplan_run::past::Summary;
use vplan_store::history::Past;

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
