//! Whether, and how, do earlier results stand for steps?

use clap::Args;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reuse")]
pub struct Reuse {}
