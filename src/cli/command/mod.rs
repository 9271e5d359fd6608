//! The subcommands, one file each.

pub(crate) mod argv;
pub(crate) mod audit;
pub(crate) mod baseline;
pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod completions;
pub(crate) mod details;
pub(crate) mod diff;
pub(crate) mod emit;
pub(crate) mod explain;
pub(crate) mod feedback;
pub(crate) mod fix;
pub(crate) mod fmt;
pub(crate) mod gate;
pub(crate) mod gc;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod r#loop;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod std;
pub(crate) mod step;
pub(crate) mod test;
pub(crate) mod tour;
pub(crate) mod verify;

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
