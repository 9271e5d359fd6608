//! Laws, tested on generated values; at least 256 cases each.
pub mod convert;
mod diff;
mod glob;
mod imports;
mod judged;
mod journal;
mod lang;
mod ledger;
mod lock;
mod output;
mod plan;
mod recover;
mod reports;
mod reuse;
mod run;
mod saved;
