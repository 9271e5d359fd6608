//! `vplan init`
use crate::cli::args::{Global, Init};
use crate::cli::error::Failure;
use crate::cli::terminal::Terminal;

/// Not built yet.
///
/// # Errors
/// Always.
pub fn run(_: &Global, _: &Init, _: &Terminal) -> Result<u8, Failure> {
    Err(Failure::new(1, "vplan::internal", "not built yet"))
}
