//! `vplan check`
use crate::cli::args::{Check, Global};
use crate::cli::error::Failure;
use crate::cli::terminal::Terminal;

/// Not built yet.
///
/// # Errors
/// Always.
pub fn run(_: &Global, _: &Check, _: &Terminal) -> Result<u8, Failure> {
    Err(Failure::new(1, "vplan::internal", "not built yet"))
}
