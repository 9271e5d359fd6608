//! `vplan man`: prints the manual page.

use super::help::subcommand;
use crate::base::vocabulary::Exit;
use crate::cli::args::Man;
use crate::cli::terminal::Terminal;
use crate::engine::Failure;

/// Prints the page in roff.
///
/// # Errors
/// An unknown command.
pub fn run(args: &Man, terminal: &Terminal) -> Result<u8, Failure> {
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(subcommand(args.command.as_deref())?).render(&mut page);
    written.map_err(|e| Failure::new(Exit::Internal, "vplan::internal", e.to_string()))?;
    terminal.print(&String::from_utf8_lossy(&page));
    Ok(Exit::Success.code())
}
