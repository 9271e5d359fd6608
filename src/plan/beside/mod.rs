//! Which steps of a plan may run beside each other, by what the contract says and by what earlier
//! runs of the same commands were seen to do. A step of which nothing is known runs alone.
//!
//! Two steps meet where one writes a file and the other writes it too, reads it, looks for it, uses
//! something below it, or lists the folder that it is in.

mod areas;
mod declared;
mod effects;
pub mod known;
mod meeting;
mod outlook;
mod pairs;
mod paths;

pub use meeting::Meeting;
pub use outlook::{NotBeside, StepBeside, outlook};
pub use pairs::{Apart, Beside, kept_apart};

#[cfg(test)]
mod tests;
