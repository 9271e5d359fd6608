//! Reads a repository: its contract with all imports, what changed, what it declares.

pub mod baseline;
mod beside;
pub mod cases;
pub mod changes;
pub mod contents;
pub mod facts;
pub mod folders;
pub mod github;
pub mod import;
pub mod infer;
pub mod load;
pub mod lockfile;
pub mod pinned;
pub mod since;
pub mod survey;
