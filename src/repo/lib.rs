//! Reads a repository: its contract with all imports, its changed files, and its declarations.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

pub mod adjacent_file;
pub mod baseline;
pub mod cases;
pub mod changes;
pub mod contents;
pub mod declaring;
pub mod facts;
pub mod folders;
pub mod github;
pub mod import;
pub mod ledger_file;
pub mod load;
pub mod lockfile;
mod packages;
pub mod pinned;
pub mod survey;
pub mod unchanged_contract;
