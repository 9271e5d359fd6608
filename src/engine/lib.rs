//! Use cases: opens a repository, plans a change, verifies it, repairs it in rounds. Uses neither
//! the command line nor the terminal: progress is reported to an [`Observer`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "remote")]
mod address;
pub mod agent;
pub mod amend;
pub mod audit;
pub mod away;
pub mod base_contract;
pub mod baseline;
pub mod baseline_record;
pub mod cases;
pub mod compared;
pub mod continuation;
pub mod convert;
pub mod failure;
pub mod fix;
mod folders;
pub mod genuine;
mod hidden;
pub mod infer;
pub mod judge;
mod judge_commit;
pub mod layout;
pub mod lock;
mod lookalike;
pub mod merged;
pub mod moving;
pub mod open;
mod outlook;
mod part;
pub mod pins;
pub mod place;
pub mod plan;
pub mod possible;
pub mod propose;
mod regrown;
pub mod repair_loop;
pub mod request;
pub mod round;
pub mod sandbox;
pub mod saved;
mod sharing;
pub mod staged;
pub mod subject;
pub mod tree_status;
pub mod trial;
mod unseen;
pub mod verify;

pub use failure::Failure;
pub use fix::fix;
pub use open::Session;
pub use place::{Engine, Observer, Silent};
pub use regrown::only_grew;
pub use repair_loop::repair_loop;
pub use request::{PlanRequest, VerifyRequest};
pub use verify::verify;

pub use vplan_os::process::supervise::supervise_if_asked;
