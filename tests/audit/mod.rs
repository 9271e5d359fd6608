//! Tests of the audit.

mod rules;
mod trees;
