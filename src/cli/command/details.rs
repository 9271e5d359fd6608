//! `vplan details`: shows what each check of a run did, and why it was planned.

mod document;
mod text;

use super::answer::*;
use crate::render::wrap::wrapped;
pub(super) use document::DetailsDocument;
use document::{gather, only};

/// `vplan details`
#[derive(Debug, Args)]
#[command(after_help = format!("Exit codes: 0 shown; 2 usage, also when there is no such run or check; 5 the records cannot be read.\n\n{NAMES}"))]
pub struct Details {
    /// The run.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Only this check.
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// Shows every check of a run.
///
/// # Errors
/// No such run, no such check.
pub fn run(global: &Global, args: &Details, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (_, history) = open(global, &args.records)?;
    let id = pick(&history, &args.run)?;
    let mut document = gather(&history, &history.read_run(&id));
    if let Some(name) = &args.check {
        only(&mut document, name)?;
    }
    answer_if(terminal, format, true, &versioned(&document), || {
        let page = text::page(&document, args.check.is_some(), terminal);
        wrapped(&page, terminal.columns)
    });
    Ok(0)
}
