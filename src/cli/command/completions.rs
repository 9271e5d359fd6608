//! `vplan completions`: prints a completion script for a shell.

use crate::base::vocabulary::Exit;
use crate::cli::args::Completions;
use crate::cli::command_line::CommandLine;
use crate::cli::terminal::Terminal;
use crate::engine::Failure;
use clap::CommandFactory;

/// Prints the script.
///
/// # Errors
/// None.
pub fn run(args: &Completions, terminal: &Terminal) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut CommandLine::command(),
        "vplan",
        &mut script,
    );
    terminal.print(&String::from_utf8_lossy(&script));
    Ok(Exit::Success.code())
}
