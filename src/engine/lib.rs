//! Use cases: opens a repository, plans a change, verifies it, repairs it in rounds. Uses neither
//! the command line nor the terminal: progress is reported to an [`Observer`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "remote")]
mod address;
pub mod agent;
pub mod amend;
pub mod audit;
pub mod authenticity;
pub mod base_contract;
pub mod baseline;
pub mod cases;
pub mod compared;
pub mod continuation;
pub mod convert;
pub mod failure;
pub mod fix;
mod folders;
mod forecast;
mod hidden;
pub mod infer;
pub mod judge;
mod judge_commit;
pub mod layout;
pub mod location;
pub mod lock;
pub mod merged;
pub mod open;
mod part;
pub mod pins;
pub mod plan;
pub mod possible;
pub mod propose;
pub mod remote;
pub mod repair_loop;
mod replanning;
pub mod request;
pub mod round;
pub mod sandbox;
pub mod saved;
mod sharing;
mod skipped_paths;
pub mod staged;
pub mod subject;
pub mod tree_status;
pub mod trial;
pub mod verify;

pub use failure::Failure;
pub use location::{Engine, Observer, Silent};
pub use open::Session;
pub use request::{PlanRequest, VerifyRequest};

pub use vplan_os::process::supervise::supervise_if_asked;

// The words of other crates that most files of this one use.
use vplan_base::canon::Digest;
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::Exit;
use vplan_base::word::{first_of, visible, visible_path};
use vplan_contract::Contract;
use vplan_git::Git;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_os::process::program::Root;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::facts::Facts;
use vplan_plan::{Note, Plan, Step};
use vplan_repo::changes::ChangeSource;
use vplan_repo::load::{ContractRequest, LoadError, Loaded, Site};
use vplan_run::report::Report;
use vplan_run::verdict::Verdict;
use vplan_store::history::History;
