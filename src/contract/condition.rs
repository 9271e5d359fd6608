//! When does a condition hold?
