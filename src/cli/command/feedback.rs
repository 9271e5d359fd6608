//! `vplan feedback`: prints what is needed to repair a failed run, or one check of it. Prints
//! nothing when nothing failed.

use super::format;
use crate::base::nearest::nearest;
use crate::base::vocabulary::Exit;
use crate::base::word::{first_of, visible};
use crate::cli::args::{Format, Global, feedback_size};
use crate::cli::history::{NAMES, Records, open, pick};
use crate::cli::render::feedback;
use crate::cli::render::wrap::wrapped;
use crate::cli::terminal::Terminal;
use crate::effect::os::files;
use crate::effect::store::history::MAX_FILE;
use crate::effect::store::records::REPORT;
use crate::engine::Failure;
use crate::plan::Plan;
use crate::run::feedback as told;
use crate::run::merge;
use crate::run::past::short;
use crate::run::report::Report;
use clap::Args;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A report that cannot be read.
const CODE: &str = "vplan::feedback::report";
/// A check that the run does not have.
const UNKNOWN: &str = "vplan::records::unknown_check";
/// The most failing checks that an answer about another one names.
const LISTED: usize = 20;

/// `vplan feedback`
#[derive(Debug, Args)]
#[command(after_help = format!("Formats: text, md, json. What commands wrote is foreign text: it is cut, free of terminal sequences, and \
    fenced. An agent should take it for data.\n\nExamples:\n  \
        vplan feedback\n  \
        vplan feedback --format md | my-agent --print\n  \
        vplan feedback --check unit\n\n\
        Exit codes: 0 told, or nothing failed and nothing is printed; 2 usage, also when \
    there is no such run or check; 5 the records cannot be read.\n\n{NAMES}"))]
pub struct Feedback {
    /// A run; or a `report.json`, or the directory of one.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: PathBuf,
    /// Only the details of this check; more of them than beside others.
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// The most bytes besides the names of the failing checks, at least 1KiB.
    ///
    /// The first failing check gets the largest share; what was cut is said.
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = feedback_size)]
    pub max_feedback: usize,
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
    let (report, plan) = if is_path {
        let report = load(&args.run)?;
        let plan = report.whole().cloned();
        (report, plan)
    } else {
        recorded(global, args)?
    };
    let told = match &args.check {
        Some(name) => of_check(&report, plan.as_ref(), name, terminal)?,
        None => report.feedback,
    };
    if let Some(told) = &told {
        let most = args.max_feedback;
        match format {
            Format::Json => terminal.print_json(&told.within(most, &told::json_size)),
            Format::Md => terminal.say(&feedback::markdown_within(told, most)),
            _ => terminal.say(&wrapped(
                &feedback::text_within(told, most),
                terminal.columns,
            )),
        }
    }
    Ok(Exit::Success.code())
}

/// What is said of one check. One that did not fail has no feedback: a note says how it ended.
fn of_check(
    report: &Report,
    plan: Option<&Plan>,
    name: &str,
    terminal: &Terminal,
) -> Result<Option<told::Feedback>, Failure> {
    if let Some(told) = told::about(report, plan, name) {
        return Ok(Some(told));
    }
    let shown = visible(name.as_bytes());
    let is_failing = |id: &&str| {
        report
            .steps
            .iter()
            .any(|r| r.id == *id && told::is_failing(r))
    };
    let ids = || report.steps.iter().map(|r| r.id.as_str());
    let failing: Vec<String> = ids()
        .filter(is_failing)
        .map(|id| format!("`{}`", visible(id.as_bytes())))
        .collect();
    let failing = match failing.as_slice() {
        [] => "no check failed".to_owned(),
        some => format!("failed: {}", first_of(some, LISTED)),
    };
    let end = if let Some(record) = report.steps.iter().find(|r| r.id == name) {
        let status = record.status.name().replace('_', " ");
        let detail = record.detail.as_deref().map(|d| visible(d.as_bytes()));
        format!(
            "{status}{}",
            detail.map_or(String::new(), |d| format!(" ({d})"))
        )
    } else if let Some(omitted) = report.omitted.iter().find(|o| o.id == name) {
        format!("left out: {}", visible(omitted.reason.as_bytes()))
    } else {
        let known = ids().chain(report.omitted.iter().map(|o| o.id.as_str()));
        let help = match nearest(name, known) {
            Some(near) => format!("did you mean `{}`?", visible(near.as_bytes())),
            None => format!("`vplan details` shows all of them; {failing}"),
        };
        let message = format!("no check of this run is called `{shown}`");
        return Err(Failure::usage(UNKNOWN, message).help(help));
    };
    terminal.note(&format!(
        "  `{shown}` has nothing to repair: {end}; {failing}\n"
    ));
    Ok(None)
}

fn recorded(global: &Global, args: &Feedback) -> Result<(Report, Option<Plan>), Failure> {
    let (_, history) = open(global, &args.records)?;
    let name = args.run.to_string_lossy();
    let id = pick(&history, &name)?;
    match history.report(&id) {
        Ok(Some(report)) => {
            // Only advice comes from the plan: without it there is less to say, and no error.
            let plan = history.plan(&id).ok().flatten();
            Ok((report, plan))
        }
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
