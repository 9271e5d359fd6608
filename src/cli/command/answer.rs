//! How every command answers: with a document, a text or a failure; and what it takes for that.

pub(super) use crate::args::{Global, OutputFormat};
pub(super) use crate::history::{NAMES, Records, open, pick};
pub(super) use crate::render::style::{Tone, count, duration, paint, tone, widest};
pub(super) use crate::terminal::{Terminal, versioned};
pub(super) use clap::Args;
pub(super) use schemars::JsonSchema;
pub(super) use serde::Serialize;
pub(super) use std::path::{Path, PathBuf};
pub(super) use vplan_base::canon::Digest;
pub(super) use vplan_base::nearest::suggest;
pub(super) use vplan_base::path::RepoPath;
pub(super) use vplan_base::vocabulary::Exit;
pub(super) use vplan_base::word::{framed, text_if, visible, visible_path};
pub(super) use vplan_engine::Failure;
pub(super) use vplan_plan::Plan;
pub(super) use vplan_repo::load::Site;
pub(super) use vplan_run::report::Report;
pub(super) use vplan_run::run_summary::short;
pub(super) use vplan_run::verdict::Verdict;

/// Answers with a document, or with a text unless it is to be quiet.
pub(super) fn answer<T: Serialize>(
    terminal: &Terminal,
    format: OutputFormat,
    document: &T,
    text: impl FnOnce() -> String,
) {
    answer_if(terminal, format, !terminal.quiet, document, text);
}

/// Answers with a document, or with a text if `speaks`.
pub(super) fn answer_if<T: Serialize>(
    terminal: &Terminal,
    format: OutputFormat,
    speaks: bool,
    document: &T,
    text: impl FnOnce() -> String,
) {
    if format == OutputFormat::Json {
        terminal.print_json(document);
    } else if speaks {
        terminal.say(&text());
    }
}

/// Returns the requested format, if the command has it.
pub(super) fn format(global: &Global, known: &[OutputFormat]) -> Result<OutputFormat, Failure> {
    let format = global
        .format
        .unwrap_or(known.first().copied().unwrap_or(OutputFormat::Text));
    if known.contains(&format) {
        return Ok(format);
    }
    let name = |f: &OutputFormat| format!("{f:?}").to_lowercase();
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
