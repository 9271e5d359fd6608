//! Runs a plan: the executor of the state machine, one step's try, and the snapshots of the work
//! tree around it.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

pub mod background;
pub mod context;
pub mod executor;
pub mod file_facts;
mod file_watch;
mod fingerprints;
pub mod fixer;
pub mod judge;
pub mod propose;
pub mod readable;
pub mod remote;
mod remote_try;
pub mod reports;
pub mod sandbox;
mod sandbox_error;
mod sealed;
mod services;
pub mod session;
pub mod snapshots;
pub mod step;
pub mod tree;
pub mod worker;
