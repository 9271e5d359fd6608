//! Laws, tested on generated values; at least 256 cases each.
mod glob;
mod imports;
mod lang;
mod plan;
mod recover;
mod run;
