//! The shell: the only room of tokio, `std::fs`, `std::process`, `std::env`, clocks, git and
//! temporary files.
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

mod abandoned;
mod beside;
mod book;
pub mod cases;
pub mod changes;
pub mod clock;
pub mod contents;
pub mod drive;
pub mod earlier;
pub mod environment;
pub mod facts;
pub mod files;
pub mod fixer;
pub mod git;
pub mod github;
pub mod history;
pub mod import;
pub mod infer;
pub mod input;
pub mod judge;
mod kept;
pub mod ledger;
pub mod load;
pub mod lockfile;
pub mod looks;
pub mod own;
mod patient;
pub mod pinned;
pub mod pins;
pub mod process;
pub mod propose;
pub mod records;
pub mod reuse;
pub mod settle;
mod signals;
pub mod since;
pub mod state_dir;
mod step;
pub mod store;
pub mod survey;
pub mod terminal;
pub mod tree;
pub mod vault;
pub mod verify;
pub mod watch;
