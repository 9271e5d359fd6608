//! `vplan completions`: prints a completion script for a shell.

use super::answer::*;
use crate::args::Completions;
use crate::complete::script;

/// Prints the script.
///
/// # Errors
/// The script cannot be made.
pub fn run(args: &Completions, terminal: &Terminal) -> Result<u8, Failure> {
    let script = script(args.shell)
        .map_err(|e| Failure::new(Exit::Internal, "vplan::internal", e.to_string()))?;
    terminal.print(&script);
    Ok(Exit::Success.code())
}
