//! Tests of the audit.

pub mod rules;
mod trees;
