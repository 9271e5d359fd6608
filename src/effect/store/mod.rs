//! Stores what outlives a run: its record, the ledger, kept passes, imports.

pub mod earlier;
#[cfg(feature = "remote")]
pub mod grpc;
pub mod history;
pub mod import_cache;
pub mod ledger;
mod observed;
pub mod records;
pub mod report_files;
pub mod reuse;
pub mod shared;
pub mod vault;
