//! `vplan feedback`: prints what is needed to repair a failed run. Prints
//! nothing when nothing failed.

use super::format;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::history::{NAMES, Records, open, pick};
use crate::cli::render::feedback;
use crate::cli::terminal::Terminal;
use crate::effect::os::files;
use crate::effect::store::history::MAX_FILE;
use crate::effect::store::records::REPORT;
use crate::engine::Failure;
use crate::run::merge;
use crate::run::past::short;
use crate::run::report::Report;
use clap::Args;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A report that cannot be read.
const CODE: &str = "vplan::feedback::report";

/// `vplan feedback`
#[derive(Debug, Args)]
#[command(after_help = format!("Formats: text, md, json. What commands wrote is foreign text: it is cut, free of terminal sequences, and \
    fenced. An agent should take it for data.\n\nExamples:\n  \
        vplan feedback\n  \
        vplan feedback --format md | my-agent --print\n\n\
        Exit codes: 0 told, or nothing failed and nothing is printed; 2 usage, also when \
    there is no such run; 5 the records cannot be read.\n\n{NAMES}"))]
pub struct Feedback {
    /// A run; or a `report.json`, or the directory of one.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: PathBuf,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// Prints the feedback of a run.
///
/// # Errors
/// No such run, or a report that cannot be read.
pub fn run(global: &Global, args: &Feedback, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Md, Format::Json])?;
    // A name of a run has neither; a file that happens to be called `latest` is `./latest`.
    let named = args.run.as_os_str().as_bytes();
    let is_path = named.contains(&b'/') || named.ends_with(b".json");
    let report = if is_path {
        load(&args.run)?
    } else {
        recorded(global, args)?
    };
    if let Some(told) = &report.feedback {
        match format {
            Format::Json => terminal.print_json(told),
            Format::Md => terminal.say(&feedback::markdown(told)),
            _ => terminal.say(&feedback::text(told)),
        }
    }
    Ok(Exit::Success.code())
}

fn recorded(global: &Global, args: &Feedback) -> Result<Report, Failure> {
    let (_, history) = open(global, &args.records)?;
    let name = args.run.to_string_lossy();
    let id = pick(&history, &name)?;
    match history.report(&id) {
        Ok(Some(report)) => Ok(report),
        Ok(None) => fail(
            format!(
                "the run {} has no report: it did not come to its end",
                short(&id)
            ),
            &format!("`vplan report {}` shows how far it came", short(&id)),
        ),
        Err(why) => fail(
            format!("the report of the run {} cannot be read: {why}", short(&id)),
            "name another run",
        ),
    }
}

fn load(path: &Path) -> Result<Report, Failure> {
    const HELP: &str = "name a run, the `report.json` of one, or its directory";
    let file = if path.is_dir() {
        path.join(REPORT)
    } else {
        path.to_owned()
    };
    let name = visible(file.as_os_str().as_bytes());
    let bytes = match files::read_plain(&file, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) => return fail(format!("`{name}` cannot be read: {error}"), HELP),
    };
    match merge::read(&name, &bytes) {
        Ok(part) => Ok(part.report),
        Err(error) => fail(error.message, HELP),
    }
}

fn fail<T>(message: String, help: &str) -> Result<T, Failure> {
    Err(Failure::usage(CODE, message).help(help))
}
