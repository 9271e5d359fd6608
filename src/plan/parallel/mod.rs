//! Decides which steps of a plan may run in parallel, by the contract and by the observed effects
//! of the same commands in earlier runs. A step with unknown effects runs alone.
//!
//! Two steps meet where one writes a file and the other writes it too, reads it, looks for it, uses
//! something below it, or lists the folder that it is in.

mod areas;
mod declared;
mod effects;
mod forecast;
pub mod known;
mod meeting;
mod pairs;
mod paths;

pub use forecast::{NotBeside, StepBeside, forecast};
pub use meeting::Meeting;
pub use pairs::{Conflict, ParallelPairs, kept_apart};

#[cfg(test)]
mod tests;
