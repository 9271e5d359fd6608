//! What happens next, and what came of it? The runner's state machine: events in, actions out. No clock, no tokio.

pub mod event;
pub mod report;
pub mod state;
pub mod verdict;
