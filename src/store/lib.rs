//! Stores what outlives a run: its record, the ledger, kept passes, imports.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "the door: the core's purity is a lint, and this is where it ends"
)]

#[cfg(feature = "remote")]
pub mod grpc;
pub mod history;
pub mod import_cache;
pub mod last_passes;
mod observed;
pub mod records;
pub mod report_files;
pub mod reuse;
pub mod shared;
pub mod vault;
