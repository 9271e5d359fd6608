//! Laws, tested on generated values; at least 256 cases each.
pub mod convert;
mod diff;
mod glob;
mod imports;
mod lang;
mod lock;
mod plan;
mod recover;
mod reuse;
mod run;
mod saved;
