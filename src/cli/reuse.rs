//! The flags of `run` that say whether results of earlier runs are used.

use crate::reuse::decide::Use;
use clap::Args;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reuse")]
pub struct Reuse {
    /// Run every step, also those with `inputs` that passed before on the same ones; what passes
    /// now is kept for later runs.
    #[arg(long, conflicts_with = "confirm")]
    pub no_cache: bool,
    /// Run every step, and say where it does not do what it did in an earlier run on the same
    /// inputs; that result is forgotten.
    #[arg(long)]
    pub confirm: bool,
}

impl Reuse {
    /// Returns the use of results of earlier runs.
    #[must_use]
    pub fn reuse(&self) -> Use {
        if self.confirm {
            Use::Confirm
        } else if self.no_cache {
            Use::Keep
        } else {
            Use::Reuse
        }
    }
}
