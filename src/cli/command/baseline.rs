//! `vplan baseline`: records what was wrong before a change, and lists it.

mod record;
mod show;

use super::format;
use crate::args::{Format, Global};
use crate::terminal::Terminal;
use clap::{Args, Subcommand};
pub(super) use record::RecordedDocument;
pub(super) use show::BaselineDocument;
use vplan_engine::Failure;

/// `vplan baseline`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan run --all --keep-going\n  \
        vplan baseline record\n  \
        vplan baseline record lint --tighten\n  \
        vplan baseline show\n\n\
        Exit codes: 0 recorded, or shown; 2 usage, also when there is no such run; 3 the contract or the baseline is invalid, \
        missing or cannot be written; 5 the records cannot be read; 44 a check that was named could not be recorded, \
        or not all of it.")]
pub struct BaselineArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: BaselineCommand,
}

/// The subcommands of `baseline`.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write the findings and failing tests of a run beside the contract. They fail nothing once
    /// the file is at the base of a change.
    Record(record::RecordArgs),
    /// List the known findings and failing tests.
    Show(show::ShowArgs),
}

/// Records or lists.
///
/// # Errors
/// A contract or a baseline that is invalid (exit 3), no such run or check (exit 2).
pub fn run(global: &Global, args: &BaselineArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    match &args.command {
        BaselineCommand::Record(args) => record::record(global, args, format, terminal),
        BaselineCommand::Show(args) => show::show(global, args, format, terminal),
    }
}
