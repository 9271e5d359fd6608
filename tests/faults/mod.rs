//! What must be withstood.

mod escape;
mod harness;
mod output;
mod records;
