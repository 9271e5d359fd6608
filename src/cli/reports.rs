//! Which documents does a run leave beside its report? JUnit, SARIF, GitHub annotations and step summary.

use clap::Args;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reports")]
pub struct Reports {}
