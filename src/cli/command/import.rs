//! `vplan import`: converts another tool's configuration to a contract, and reports what it does
//! not express.

mod document;
mod text;

use super::{answer, format};
use crate::args::{Format, Global};
use crate::terminal::{Terminal, versioned};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub(super) use document::ImportDocument;
use std::path::PathBuf;
use vplan_base::vocabulary::Exit;
use vplan_base::word::visible_path;
use vplan_engine::Failure;
use vplan_engine::convert::{Kind, write};

/// `vplan import`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 converted; 2 usage, also when there is a contract already; 3 the file is invalid, asks for no check, or with \
                        `--strict` something is lost; 5 the contract cannot be written."
)]
pub struct Import {
    /// The file to convert; `-` is standard input.
    pub file: PathBuf,
    /// The kind of the file, when neither its name nor its keys tell.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub from: Option<Kind>,
    /// Write the contract to this file instead of contracts/verify.vplan.
    #[arg(short, long, value_name = "PATH", conflicts_with = "stdout")]
    pub output: Option<PathBuf>,
    /// Print the contract instead of writing it; the account goes to standard error.
    #[arg(long)]
    pub stdout: bool,
    /// Replace a contract that is there.
    #[arg(long)]
    pub force: bool,
    /// Write nothing, with exit code 3, when something is lost or means something else.
    #[arg(long)]
    pub strict: bool,
}

/// Reads the name of a kind; each is shown with the path of such a file.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::all().map(|kind| PossibleValue::new(kind.name()).help(kind.home()));
    PossibleValuesParser::new(values).try_map(|name| {
        let mut all = Kind::all();
        all.find(|kind| kind.name() == name).ok_or("no such kind")
    })
}

/// Converts, checks the result, writes it, and says what it does not say.
///
/// # Errors
/// A file that cannot be read or is none of the kinds, errors in it, a contract that is there
/// already, `--strict`.
pub fn run(global: &Global, args: &Import, terminal: &Terminal) -> Result<u8, Failure> {
    let form = format(global, &[Format::Text, Format::Json])?;
    let engine = global.engine();
    let found = engine.convert(&args.file, args.from)?;
    let heavy = found.heavy();
    if found.verifies_nothing() {
        terminal.note(&text::account(&found, ""));
        let message = format!(
            "nothing in `{}` becomes a check: a contract of it would verify nothing",
            found.name
        );
        return Err(Failure::contract("vplan::import::no_checks", message)
            .help("write by hand what is lost, or let `vplan init` propose a contract"));
    }
    if args.strict && heavy > 0 {
        terminal.note(&text::account(&found, ""));
        let what = if heavy == 1 { "thing is" } else { "things are" };
        let message = format!("{heavy} {what} lost or changed, and `--strict` was said");
        return Err(Failure::contract("vplan::import::lossy", message));
    }
    if args.stdout {
        if form == Format::Json {
            terminal.print_document(&ImportDocument::of(&found, None, Some(&found.text)));
        } else {
            terminal.print_contract(&found.text)?;
            if !terminal.quiet {
                terminal.note(&text::account(&found, ""));
            }
        }
        return Ok(Exit::Success.code());
    }
    let (target, shown) = match &args.output {
        Some(path) => (path.clone(), visible_path(path)),
        None => engine.own_contract()?,
    };
    write(&target, &shown, &found.text, args.force)?;
    answer(
        terminal,
        form,
        &versioned(ImportDocument::of(&found, Some(&shown), None)),
        || text::account(&found, &shown),
    );
    Ok(Exit::Success.code())
}
