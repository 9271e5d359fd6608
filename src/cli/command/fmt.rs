//! `vplan fmt`: formats contracts in place, in their one layout.

mod document;
mod text;

use super::format;
use crate::args::{Format, Global};
use crate::render::style::count;
use crate::terminal::Terminal;
use clap::Args;
pub(super) use document::FmtDocument;
use std::path::PathBuf;
use vplan_base::diagnostic::Severity;
use vplan_base::vocabulary::Exit;
use vplan_engine::Failure;
use vplan_engine::layout::Formatting;

/// `vplan fmt`
#[derive(Debug, Args)]
#[command(
    after_help = "Decided by vplan: indentation, blanks between arguments, blank lines (one at most), the quoting of strings, the \
                  order of settings. Left to you: comments, where a statement goes on in the next line (`\\`), and how a command \
                  is spelt. What a contract says, and so its digest, never changes. When one of the files has an error, none is \
                  written.\n\nExit codes: 0 formatted; 2 usage; 3 a file is invalid; 40 with `--check`, when a file is not formatted."
)]
pub struct Fmt {
    /// These files, relative to the current directory; `-` formats standard input to standard
    /// output. Without any: the contract, and the `*.test.vplan` beside it.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing: show what would change, and exit 40 if something would.
    #[arg(long)]
    pub check: bool,
}

/// Formats files, or says how they differ from what they would be.
///
/// # Errors
/// No contract, files that cannot be read or written (exit 2), that are invalid (exit 3), that are
/// not formatted (`--check`, exit 40).
pub fn run(global: &Global, args: &Fmt, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let done = global.engine().format(&args.files, args.check)?;
    if format == Format::Json {
        terminal.print_document(&FmtDocument::of(&done, args.check));
    } else {
        text::print(&done, args.check, terminal);
    }
    if !done.faults.is_empty() {
        return Err(invalid(done, args.check, format));
    }
    let differ = done.texts.iter().filter(|i| i.differs()).count();
    match done.failure {
        Some(failure) => Err(failure),
        None if args.check && differ > 0 => {
            let files = count(done.texts.len(), "file");
            let message = format!("{differ} of {files} not formatted");
            Err(Failure::new(Exit::Failed, "vplan::fmt::differs", message)
                .help("`vplan fmt` formats them"))
        }
        None => Ok(Exit::Success.code()),
    }
}

/// The failure of files with errors.
fn invalid(done: Formatting, check: bool, format: Format) -> Failure {
    let faults = done.faults.iter();
    let errors = faults.filter(|d| d.severity == Severity::Error).count();
    let nothing = if check { "" } else { "; nothing was written" };
    let errors = count(errors, "error");
    let message = format!("what has errors cannot be formatted: {errors}{nothing}");
    let shown = (format == Format::Text).then(|| Box::new((done.sources, done.faults)));
    Failure {
        diagnostics: shown,
        ..Failure::contract("vplan::fmt::invalid", message)
    }
}
