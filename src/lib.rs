//! Plans and runs the checks that a change needs. The room [`engine`] does so without a command
//! line: it plans a change, verifies it, and has it repaired in rounds.
//!
//! ```standalone_crate
//! use vplan::engine::{Engine, Failure, PlanRequest, VerifyRequest, supervise_if_asked, verify};
//!
//! fn verified(directory: &std::path::Path) -> Result<bool, Failure> {
//!     let engine = Engine::at(directory);
//!     let plan = engine.plan(&PlanRequest::default())?;
//!     for step in &plan.steps {
//!         println!("{}: {}", step.id, step.command);
//!     }
//!     let verified = verify(&engine, &VerifyRequest::default(), Default::default())?;
//!     Ok(verified.report.exit_code == 0)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     // Each step runs under a supervisor, which is this very program, started once more.
//!     if let Some(code) = supervise_if_asked() {
//!         return code;
//!     }
//! #   // The example has a repository of its own.
//! #   let folder = tempfile::tempdir().expect("a folder");
//! #   let contract = folder.path().join("contracts/verify.vplan");
//! #   std::fs::create_dir(folder.path().join("contracts")).expect("made");
//! #   std::fs::write(contract, "vplan 1\ncheck greets: echo hello\n").expect("written");
//! #   let git = |words: &[&str]| {
//! #       let git = std::process::Command::new("git").arg("-C").arg(folder.path()).args(words).status();
//! #       assert!(git.expect("git").success());
//! #   };
//! #   git(&["init", "-q", "-b", "main"]);
//! #   let engine = Engine { state_dir: Some(folder.path()), ..Engine::at(folder.path()) };
//! #   let request = VerifyRequest::default();
//! #   let answer = verify(&engine, &request, Default::default()).expect("an answer");
//! #   assert_eq!(answer.plan.steps.len(), 1);
//! #   let directory = folder.path();
//!     match verified(directory) {
//!         Ok(true) => std::process::ExitCode::SUCCESS,
//!         Ok(false) => std::process::ExitCode::FAILURE,
//!         Err(failure) => std::process::ExitCode::from(failure.exit.code()),
//!     }
//! }
//! ```
//!
//! The other crates are public for vplan's own tests, fuzz targets and benchmarks; an overview
//! follows.
//!
#![doc = include_str!("architecture.md")]
#![warn(missing_docs)]

pub use vplan_away as away;
pub use vplan_base as base;
pub use vplan_baseline as baseline;
pub use vplan_check as check;
#[cfg(feature = "cli")]
pub use vplan_cli as cli;
pub use vplan_contract as contract;
#[cfg(feature = "cli")]
pub use vplan_emit as emit;
/// The use cases, with the functions that begin them.
pub mod engine {
    pub use vplan_engine::*;
    pub use vplan_engine::{fix::fix, repair_loop::repair_loop, verify::verify};
}
pub use vplan_front as front;
pub use vplan_init as init;
pub use vplan_lang as lang;
pub use vplan_ledger as ledger;
pub use vplan_lock as lock;
pub use vplan_plan as plan;
pub use vplan_recover as recover;
pub use vplan_reuse as reuse;
pub use vplan_run as run;

pub use vplan_base::index;

/// What looks at the world and changes it.
pub mod effect {
    pub use vplan_git as git;
    pub use vplan_os as os;
    pub use vplan_repo as repo;
    pub use vplan_runner as runner;
    pub use vplan_store as store;
}

/// Strategies for property tests.
#[cfg(feature = "arbitrary")]
pub use vplan_arbitrary as arbitrary;
