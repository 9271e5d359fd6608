//! Laws, tested on generated values; at least 256 cases each.
mod diff;
mod glob;
mod lang;
mod plan;
mod recover;
mod run;
