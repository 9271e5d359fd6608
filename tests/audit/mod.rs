//! Tests of the audit.

mod held;
pub mod rules;
mod trees;
