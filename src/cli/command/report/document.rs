//! The timeline of a run, gathered from its record.

use crate::command::answer::*;
use std::collections::VecDeque;
use vplan_run::journal::{JournalEntry, Line, lines};
use vplan_run::run_summary::Summary;
use vplan_store::history::History;

/// The timeline of a run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimelineDocument {
    /// The events, in order; the last ones when there are many.
    pub events: VecDeque<Line>,
    /// Sums over all events.
    pub figures: Figures,
    /// The number of events before those that are shown.
    pub omitted_events: usize,
    /// The parts of the record that could not be used, and why.
    pub remarks: Vec<String>,
    /// The summary of the run.
    pub run: Summary,
}

impl TimelineDocument {
    /// All of a run, with the last events only.
    pub(super) fn new(history: &History, id: &str, most: usize) -> Self {
        let past = history.read_run(id);
        let mut figures = Figures::default();
        let mut events = VecDeque::new();
        let mut seen = 0;
        for line in lines(&history.events(id).unwrap_or_default()) {
            figures.add(&line.entry);
            seen += 1;
            events.push_back(line);
            if events.len() > most {
                events.pop_front();
            }
        }
        Self {
            omitted_events: seen - events.len(),
            events,
            figures,
            remarks: past.trouble.iter().cloned().collect(),
            run: past.summary(),
        }
    }
}

/// A run in numbers.
#[serde_with::skip_serializing_none]
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figures {
    /// The number of the round, from 1; absent when its end is not recorded.
    pub attempt: Option<u32>,
    /// The log of the try that ended last and has one, relative to the run's folder.
    pub last_log: Option<String>,
    /// Tries beyond the first of a step.
    pub retries: u64,
    /// The number of rounds left.
    pub retries_remaining: Option<u32>,
    /// The number of times that recovery rewrote the plan.
    pub rewrites: u64,
    /// The try that took longest.
    pub slowest: Option<Slowest>,
    /// All tries together, in milliseconds: more than the run took where several ran side by side.
    pub steps_ms: u64,
    /// Tries that came to their end.
    pub tries: u64,
}

/// A try.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Slowest {
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// The step.
    pub id: String,
}

impl Figures {
    fn add(&mut self, entry: &JournalEntry) {
        match entry {
            JournalEntry::StepFinished {
                attempt,
                duration_ms,
                id,
                log,
                ..
            } => {
                self.tries += u64::from(*attempt > 0);
                self.retries += u64::from(*attempt > 1);
                self.steps_ms = self.steps_ms.saturating_add(*duration_ms);
                let slowest = self.slowest.as_ref();
                if slowest.is_none_or(|s| s.duration_ms < *duration_ms) {
                    self.slowest = Some(Slowest {
                        duration_ms: *duration_ms,
                        id: id.clone(),
                    });
                }
                self.last_log = log.clone().or(self.last_log.take());
            }
            JournalEntry::PlanRewritten { .. } => self.rewrites += 1,
            JournalEntry::RunFinished {
                attempt,
                retries_remaining,
                ..
            } => {
                self.attempt = *attempt;
                self.retries_remaining = *retries_remaining;
            }
            _ => {}
        }
    }
}
