//! What must be withstood.

mod escape;
mod git;
mod harness;
mod output;
mod records;
mod run;
