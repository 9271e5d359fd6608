//! The runner's state machine: events in, actions out, a report at the end. No clock, no tokio.

#![forbid(unsafe_code)]

pub mod authenticity;
mod batch;
pub mod carry_over;
pub mod check_feedback;
pub mod event;
pub mod expected;
pub mod feedback;
pub mod journal;
pub mod known;
pub mod last_passes;
pub mod merge;
pub mod record;
pub mod recorded_answer;
pub mod remote;
pub mod report;
pub mod run_summary;
pub mod state;
mod statuses;
pub mod stop;
pub mod unshown;
pub mod verdict;

#[cfg(test)]
extern crate self as vplan_run;
/// Strategies for the types of this crate: those of `vplan-arbitrary`, compiled again for its own tests.
#[cfg(test)]
#[path = "../arbitrary/run.rs"]
pub mod arbitrary;
