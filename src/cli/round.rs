//! Whose round is a run, and what does the ledger make of it?

use clap::Args;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Round")]
pub struct Round {}
