//! The flags of `run` about servers: where steps are executed, where passes are shared, and by what
//! servers are known.

use super::value::{Words, duration, one_of};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use vplan_engine::request::{CacheRequest, RemoteRequest, TlsFiles};
use vplan_reuse::decide::Use;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Elsewhere")]
pub struct RemoteArgs {
    /// Execute steps elsewhere, where the contract says all that they depend on: `folder:DIR`, in
    /// folders below DIR; `grpcs://HOST/INSTANCE` or `unix:SOCKET`, by a server of the Remote
    /// Execution API. `vplan explain --remote` says which.
    #[arg(long, value_name = "URL", conflicts_with_all = ["observe", "confirm"])]
    pub remote: Option<String>,
    /// So many of them side by side, besides those here.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), requires = "remote")]
    pub remote_jobs: u16,
    /// What to do with a step that has no answer: fail the run with exit 5, or execute it here, which
    /// the report says.
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = one_of(FALLBACKS), action = clap::ArgAction::Set, requires = "remote")]
    pub remote_fallback: bool,
    /// How long a step may wait for a machine of a server.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration, requires = "remote")]
    pub remote_queue: u64,
    /// What a machine of a server must have (repeatable).
    #[arg(long, value_name = "NAME=VALUE", value_parser = property, requires = "remote")]
    pub remote_property: Vec<(String, String)>,
    /// A file with headers for a server, such as a token: `NAME: VALUE`, a line each.
    #[arg(long, value_name = "FILE", requires = "remote")]
    pub remote_header_from: Option<PathBuf>,
    /// Ask a server on another host by `grpc://`, although everybody on the way can read and change it.
    #[arg(long, requires = "remote")]
    pub remote_insecure: bool,
    /// The vplan that executes steps there, of this very version; this program otherwise.
    #[arg(long, value_name = "FILE", requires = "remote")]
    pub remote_binary: Option<PathBuf>,
}

/// What to do with a step that has no answer: whether it is executed here.
const FALLBACKS: &Words<bool> = &[
    ("none", "It counts as not executed", false),
    ("here", "It is executed here", true),
];

impl RemoteArgs {
    /// Returns where steps are executed, if not all are here. `tls`: by which a server and this machine know
    /// each other.
    pub fn asked(&self, tls: TlsFiles) -> Option<RemoteRequest> {
        self.remote.clone().map(|url| RemoteRequest {
            url,
            insecure: self.remote_insecure,
            headers: self.remote_header_from.clone(),
            tls,
            properties: self.remote_property.clone(),
            queue: Duration::from_millis(self.remote_queue),
            jobs: usize::from(self.remote_jobs),
            fall_back: self.remote_fallback,
            binary: self.remote_binary.clone(),
        })
    }
}

/// Reads a property of a machine.
fn property(text: &str) -> Result<(String, String), &'static str> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or("it is written NAME=VALUE")
}

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Certificates of servers")]
pub struct TlsArgs {
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

impl TlsArgs {
    /// Returns the files.
    pub fn files(&self) -> TlsFiles {
        TlsFiles {
            authorities: self.tls_ca.clone(),
            own: self.tls_cert.clone().zip(self.tls_key.clone()),
        }
    }
}

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
    /// A store of passes of other machines, for checks that say `shared`: `folder:DIR`,
    /// `https://HOST/PATH`. Also `VPLAN_CACHE`.
    #[arg(long, value_name = "URL")]
    pub cache: Option<String>,
    /// What this machine is: passes are shared by machines of which the same is said, such as the digest
    /// of an image.
    #[arg(long, value_name = "TEXT")]
    pub cache_scope: Option<String>,
    /// A file with headers for the store, such as a token: `NAME: VALUE`, a line each.
    #[arg(long, value_name = "FILE")]
    pub cache_header_from: Option<PathBuf>,
    /// Ask a store on another host by `http://`, although everybody on the way can read and change it.
    #[arg(long)]
    pub cache_insecure: bool,
    /// The public keys whose passes are believed, instead of those in `~/.config/vplan/trust`.
    #[arg(long, value_name = "FILE")]
    pub cache_trust: Option<PathBuf>,
    /// Keep passes there, too, signed by the key of `--cache-sign`.
    #[arg(long, requires = "cache_sign")]
    pub cache_write: bool,
    /// The private key that signs passes.
    #[arg(long, value_name = "FILE", requires = "cache_write")]
    pub cache_sign: Option<PathBuf>,
}

impl Reuse {
    /// Returns the request for the shared cache. `tls`: the files for mutual authentication.
    pub fn cache(&self, tls: TlsFiles) -> CacheRequest {
        CacheRequest {
            url: self.cache.clone(),
            insecure: self.cache_insecure,
            headers: self.cache_header_from.clone(),
            scope: self.cache_scope.clone(),
            trust: self.cache_trust.clone(),
            sign: self.cache_sign.clone(),
            tls,
        }
    }

    /// Returns the use of results of earlier runs.
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
