//! Running a plan: the loop around the state machine, one step, and what is looked at around it.

pub mod asserted;
pub mod background;
pub mod executor;
pub mod file_watch;
pub mod fixer;
pub mod journal_writer;
pub mod judge;
pub mod looks;
pub mod propose;
pub mod reports;
pub mod step;
pub mod tree;
pub mod verify;
