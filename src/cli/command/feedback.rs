//! `vplan feedback`: prints what is needed to repair a failed run, or one check of it. When nothing
//! failed, it prints nothing but notes about a coverage that is not full.

use super::answer::*;
use crate::args::feedback_size;
use crate::history::unknown_check;
use crate::render::feedback;
use crate::render::wrap::wrapped;
use std::os::unix::ffi::OsStrExt as _;
use vplan_base::word::first_of;
use vplan_os::files;
use vplan_plan::caveat::{Caveat, Effect, sorted};
use vplan_run::{feedback as told, merge};
use vplan_store::history::MAX_FILE;
use vplan_store::records::REPORT;

/// A report that cannot be read.
const CODE: &str = "vplan::feedback::report";
/// Maximum number of files in a note.
const NAMED: usize = 3;
/// Maximum number of failing checks in a note about another one.
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
pub struct FeedbackArgs {
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
pub fn run(global: &Global, args: &FeedbackArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(
        global,
        &[OutputFormat::Text, OutputFormat::Md, OutputFormat::Json],
    )?;
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
        None => {
            terminal.note(&narrowing(&report));
            report.feedback
        }
    };
    if let Some(told) = &told {
        let most = args.max_feedback;
        match format {
            OutputFormat::Json => terminal.print_json(&told.within(most, &told::json_size)),
            OutputFormat::Md => terminal.say(&feedback::markdown_within(told, most)),
            _ => {
                let text = feedback::text_within(told, most);
                terminal.say(&wrapped(&text, terminal.columns));
            }
        }
    }
    Ok(Exit::Success.code())
}

/// A note for each reason why a pass does not cover all of the request; nothing where a check failed,
/// whose feedback names them.
fn narrowing(report: &Report) -> String {
    let narrows = |caveat: &&Caveat| report.feedback.is_none() && caveat.effect > Effect::Note;
    let caveats = sorted(&report.caveats).into_iter().filter(narrows);
    let line = |caveat: &Caveat| {
        let files = caveat.files.iter().map(ToString::to_string);
        let files = text_if(files.len() > 0, || format!(": {}", first_of(files, NAMED)));
        format!("  ! {}{files}\n", visible(&caveat.message))
    };
    caveats.map(line).collect()
}

/// Returns the feedback on one check. One that did not fail has none: a note says how it ended.
fn of_check(
    report: &Report,
    plan: Option<&Plan>,
    name: &str,
    terminal: &Terminal,
) -> Result<Option<told::Feedback>, Failure> {
    if let Some(told) = vplan_run::check_feedback::check_feedback(report, plan, name) {
        return Ok(Some(told));
    }
    let shown = visible(name);
    let ids = || report.steps.iter().map(|r| r.id.as_str());
    let failing = report.steps.iter().filter(|r| told::is_failing(r));
    let failing: Vec<String> = failing.map(|r| format!("`{}`", visible(&r.id))).collect();
    let failing = match failing.as_slice() {
        [] => "no check failed".to_owned(),
        some => format!("failed: {}", first_of(some, LISTED)),
    };
    let end = if let Some(record) = report.steps.iter().find(|r| r.id == name) {
        let status = record.status.name().replace('_', " ");
        status + &framed(" (", record.detail.as_deref().map(visible), ")")
    } else if let Some(omitted) = report.omitted.iter().find(|o| o.id == name) {
        format!("left out: {}", visible(&omitted.reason))
    } else {
        let known = ids().chain(report.omitted.iter().map(|o| o.id.as_str()));
        let all = format!("`vplan details` shows all of them; {failing}");
        return Err(unknown_check(name, known, all));
    };
    let note = format!("  `{shown}` has nothing to repair: {end}; {failing}\n");
    terminal.note(&note);
    Ok(None)
}

fn recorded(global: &Global, args: &FeedbackArgs) -> Result<(Report, Option<Plan>), Failure> {
    let (_, history) = open(global, &args.records)?;
    let name = args.run.to_string_lossy();
    let id = pick(&history, &name)?;
    let run = short(&id);
    match history.report(&id) {
        Ok(Some(report)) => {
            // Only advice comes from the plan: without it there is less to say, and no error.
            let plan = history.plan(&id).ok().flatten();
            Ok((report, plan))
        }
        Ok(None) => fail(
            format!("the run {run} has no report: it did not come to its end"),
            &format!("`vplan report {run}` shows how far it came"),
        ),
        Err(why) => fail(
            format!("the report of the run {run} cannot be read: {why}"),
            "name another run",
        ),
    }
}

fn load(path: &Path) -> Result<Report, Failure> {
    const HELP: &str = "name a run, the `report.json` of one, or its directory";
    let inside = path.is_dir().then(|| path.join(REPORT));
    let file = inside.as_deref().unwrap_or(path);
    let name = visible_path(file);
    match files::read_plain(file, MAX_FILE) {
        Err(error) => fail(format!("`{name}` cannot be read: {error}"), HELP),
        Ok(bytes) => match merge::read(&name, &bytes) {
            Ok(part) => Ok(part.report),
            Err(error) => fail(error.message, HELP),
        },
    }
}

fn fail<T>(message: String, help: &str) -> Result<T, Failure> {
    Err(Failure::usage(CODE, message).help(help))
}
