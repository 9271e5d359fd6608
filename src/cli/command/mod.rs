//! The subcommands, one file each.

pub mod argv;
pub mod audit;
pub mod baseline;
pub mod check;
pub mod classify;
pub mod completions;
pub mod details;
pub mod diff;
pub mod emit;
pub mod explain;
pub mod feedback;
pub mod fix;
pub mod fmt;
pub mod gate;
pub mod gc;
pub mod help;
pub mod hook;
pub mod import;
pub mod init;
pub mod lock;
pub mod log;
pub mod r#loop;
pub mod man;
pub mod merge;
pub mod plan;
pub mod recover;
pub mod report;
pub mod run;
pub mod runs;
pub mod schema;
pub mod stats;
pub mod status;
pub mod std;
pub mod step;
pub mod test;
pub mod tour;
pub mod verify;

use super::args::{Format, Global};
use crate::base::command::Command;
use crate::engine::Failure;
use crate::lang::command::parse_command;
use ::std::ffi::OsStr;

/// Returns the requested format, if the command has it.
fn format(global: &Global, known: &[Format]) -> Result<Format, Failure> {
    let format = global
        .format
        .unwrap_or(known.first().copied().unwrap_or(Format::Text));
    if known.contains(&format) {
        return Ok(format);
    }
    let name = |f: &Format| format!("{f:?}").to_lowercase();
    let list = known
        .iter()
        .map(|f| format!("`{}`", name(f)))
        .collect::<Vec<_>>()
        .join(", ");
    Err(Failure::usage(
        "vplan::usage::format",
        format!("this command has no format `{}`", name(&format)),
    )
    .help(format!("it has {list}")))
}

/// A command's text from the command line.
pub(super) fn command(text: &OsStr) -> Result<Command, Failure> {
    text.to_str().map(parse_command).ok_or_else(|| {
        Failure::usage("vplan::usage::not_utf8", "a command's text must be UTF-8")
            .help("write other bytes as `$'\\xHH'`")
    })
}
