//! `vplan fmt`: formats contracts in place, in their one layout.

use super::answer::*;
use crate::render::diagnostic::{self, Message};
use crate::render::diff::unified;
use vplan_base::diagnostic::Severity;
use vplan_engine::layout::{FormattedText, Formatting};

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
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let done = global.engine().format(&args.files, args.check)?;
    if format == OutputFormat::Json {
        terminal.print_document(&FmtDocument::new(&done, args.check));
    } else {
        print(&done, args.check, terminal);
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
fn invalid(done: Formatting, check: bool, format: OutputFormat) -> Failure {
    let faults = done.faults.iter();
    let errors = faults.filter(|d| d.severity == Severity::Error).count();
    let nothing = if check { "" } else { "; nothing was written" };
    let errors = count(errors, "error");
    let message = format!("what has errors cannot be formatted: {errors}{nothing}");
    let shown = (format == OutputFormat::Text).then(|| Box::new((done.sources, done.faults)));
    Failure {
        diagnostics: shown,
        ..Failure::contract("vplan::fmt::invalid", message)
    }
}

/// The result of formatting.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FmtDocument<'a> {
    /// The errors of invalid files.
    pub diagnostics: Vec<Message<'a>>,
    /// The files, in the order in which they were named.
    pub files: Vec<FormattedFile>,
}

/// A file.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(crate) struct FormattedFile {
    /// The differences from the standard layout, as a unified diff; absent when there are none.
    pub diff: Option<String>,
    /// Its name; `-` is standard input.
    pub path: String,
    /// Its state.
    pub status: State,
    /// Of standard input: the text in the one layout.
    pub text: Option<String>,
}

/// The state of a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FormatState")]
pub enum State {
    /// It had the one layout already.
    Formatted,
    /// It has it now.
    Changed,
    /// It has another layout, and was not written.
    Differs,
    /// It has an error.
    Invalid,
}

impl<'a> FmtDocument<'a> {
    fn new(done: &'a Formatting, check: bool) -> Self {
        let sound = done.texts.iter().all(|i| i.new.is_some());
        let file = |text: &FormattedText| FormattedFile {
            diff: text.differs().then(|| diff(text, false)),
            path: text.name.clone(),
            status: match (&text.new, text.differs()) {
                (None, _) => State::Invalid,
                (_, false) => State::Formatted,
                (_, true) if check || !sound => State::Differs,
                (_, true) => State::Changed,
            },
            text: text.new.clone().filter(|_| text.file.is_none()),
        };
        Self {
            diagnostics: diagnostic::messages(&done.sources, &done.faults),
            files: done.texts.iter().map(file).collect(),
        }
    }
}

fn print(done: &Formatting, check: bool, terminal: &Terminal) {
    let items = &done.texts;
    let sound = done.is_sound();
    let to_stdout = items.iter().any(|i| i.file.is_none());
    if to_stdout && !check {
        // A filter gives back what it cannot read: an editor may put it in the place of the text.
        for item in items {
            let text = item.new.as_ref().map_or(&*item.bytes, |new| new.as_bytes());
            terminal.print_with(|out| out.write_all(text));
        }
        return;
    }
    let differing: Vec<&FormattedText> = items.iter().filter(|i| i.differs()).collect();
    if check {
        for item in &differing {
            terminal.say(&diff(item, terminal.color));
        }
    }
    if terminal.quiet || !sound || check && !differing.is_empty() {
        return;
    }
    for item in differing.iter().filter(|_| !check) {
        terminal.say(&format!("{}: formatted\n", item.name));
    }
    if differing.is_empty() {
        let files = count(items.len(), "file");
        terminal.print(&format!("{files}, all formatted already\n"));
    }
}

fn diff(item: &FormattedText, color: bool) -> String {
    let old = String::from_utf8_lossy(&item.bytes);
    let new = item.new.as_deref().unwrap_or_default();
    unified(&item.name, &old, (new, "formatted"), color)
}
