//! The flags of `run` that say where steps are executed.

use crate::engine::request::RemoteRequest;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Elsewhere")]
pub struct Remote {
    /// Execute steps elsewhere, where the contract says all that they depend on: `folder:DIR`, in
    /// folders below DIR. `vplan explain --remote` says which.
    #[arg(long, value_name = "URL", conflicts_with_all = ["observe", "confirm"])]
    pub remote: Option<String>,
    /// So many of them side by side, besides those here.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), requires = "remote")]
    pub remote_jobs: u16,
    /// What to do with a step that has no answer: fail the run with exit 5, or execute it here, which
    /// the report says.
    #[arg(long, value_name = "WHAT", default_value = "none", requires = "remote")]
    pub remote_fallback: Fallback,
    /// The vplan that executes steps there, of this very version; this program otherwise.
    #[arg(long, value_name = "FILE", requires = "remote")]
    pub remote_binary: Option<PathBuf>,
}

/// What to do with a step that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fallback {
    /// It counts as not executed.
    None,
    /// It is executed here.
    Here,
}

impl Remote {
    /// Returns where steps are executed, if not all are here.
    #[must_use]
    pub fn asked(&self) -> Option<RemoteRequest> {
        self.remote.clone().map(|url| RemoteRequest {
            url,
            jobs: usize::from(self.remote_jobs),
            fall_back: self.remote_fallback == Fallback::Here,
            binary: self.remote_binary.clone(),
        })
    }
}
