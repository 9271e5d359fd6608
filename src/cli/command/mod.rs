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
use super::terminal::Terminal;
use serde::Serialize;
use vplan_engine::Failure;
use vplan_engine::propose::command;

/// Answers with a document, or with a text unless it is to be quiet.
fn answer<T: Serialize>(
    terminal: &Terminal,
    format: Format,
    document: &T,
    text: impl FnOnce() -> String,
) {
    answer_if(terminal, format, !terminal.quiet, document, text);
}

/// Answers with a document, or with a text if `speaks`.
fn answer_if<T: Serialize>(
    terminal: &Terminal,
    format: Format,
    speaks: bool,
    document: &T,
    text: impl FnOnce() -> String,
) {
    if format == Format::Json {
        terminal.print_json(document);
    } else if speaks {
        terminal.say(&text());
    }
}

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
