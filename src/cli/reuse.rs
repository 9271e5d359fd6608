//! The flags of `run` that say whether results of earlier runs are used.

use clap::Args;
use std::path::PathBuf;
use vplan_engine::request::{CacheRequest, TlsFiles};
use vplan_reuse::decide::Use;

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
    /// Returns what is said of a store of passes. `tls`: by which it and this machine know each other.
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
