//! The flags of `run` that say by which servers and this machine know each other.

use clap::Args;
use std::path::PathBuf;
use vplan_engine::request::TlsFiles;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Certificates of servers")]
pub struct Tls {
    /// The authorities whose certificates are believed of the servers of `--remote` and `--cache`,
    /// instead of those of the web: a file of PEM outside of the repository.
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// This machine's certificate for these servers, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of that certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}

impl Tls {
    /// Returns the files.
    pub fn files(&self) -> TlsFiles {
        TlsFiles {
            authorities: self.tls_ca.clone(),
            own: self.tls_cert.clone().zip(self.tls_key.clone()),
        }
    }
}
