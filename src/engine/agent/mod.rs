//! Decides whether a coding agent may stop: by a round of its session, in which every end but a
//! pass is a failed round.

mod failed;
mod other_work_trees;
mod record;
pub mod settings;
mod start;
mod stop;

pub use failed::Failed;
pub use record::{Record, StartState, Stopping};
pub use start::start;
pub use stop::{RetryState, StopAnswer, Stopped};
