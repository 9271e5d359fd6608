//! `vplan run`: verifies this change: plans, executes, repairs the plan where it was wrong,
//! reports.

use super::answer::*;
use crate::args::RunArgs;
use crate::command::gate;
use crate::outputs::{EVENTS, OutputStream, WriteFault};
use crate::progress::ProgressView;
use crate::render;
use crate::render::wrap::wrapped;
use crate::terminal::JsonLines;
use std::collections::BTreeMap;
use std::io::{self, Write};
use vplan_check::outcome::Status;
use vplan_engine::verify::{Caller, OpenEvents, Verified, verify};
use vplan_engine::{Session, staged};
use vplan_os::terminal::same_stream;
use vplan_os::{files, view};
use vplan_plan::definition;

/// Runs the plan for this change and prints the report.
///
/// # Errors
/// The plan cannot be made or started. A failed check is not an error: the exit code reports it.
pub fn run(global: &Global, args: &RunArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let engine = global.engine();
    let apart = |failure| staged::in_view(&engine, args.records.as_deref(), failure);
    let code = run_here(global, args, terminal).map_err(apart);
    staged::leave(&engine);
    code
}

fn run_here(global: &Global, args: &RunArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let asked = args.verified()?;
    let streams = streams(args, Some(format))?;
    let mut view = ProgressView::new(args.progress, terminal);
    let fault = WriteFault::default();
    let caller = Caller {
        see: Some(&mut |progress| view.see(progress)),
        tick: ProgressView::tick(args.progress, terminal),
        events: args.events.as_deref().map(|path| events(path, &fault)),
        played: None,
    };
    let verified = verify(&global.engine().with_observer(terminal), &asked, caller);
    let seen = view.close();
    let verified = verified?;
    print(&verified, args, (Some(format), streams), &seen, terminal);
    let fault = args.events.as_deref().zip(fault.take());
    Ok(write(&verified, args, fault, terminal))
}

/// Prints the report of a run, in a form or not at all.
pub(super) fn print(
    verified: &Verified,
    args: &RunArgs,
    (format, streams): (Option<OutputFormat>, bool),
    seen: &BTreeMap<String, Status>,
    terminal: &Terminal,
) {
    let streams = streams || args.reports.take_stdout();
    for withheld in &verified.report.environment.withheld {
        let sign = paint(terminal.color_stderr, Tone::Warn, "!");
        terminal.note(&format!("  {sign} withheld: {}\n", withheld.reason));
    }
    match format {
        None => {}
        Some(OutputFormat::Json) => terminal.print_json(&verified.report),
        Some(_) => {
            let none = BTreeMap::new();
            let look = render::report::ReportStyle {
                color: match streams {
                    true => terminal.color_stderr,
                    false => terminal.color,
                },
                columns: terminal.columns,
                statuses: if streams || same_stream() {
                    seen
                } else {
                    &none
                },
                quiet: terminal.quiet,
            };
            let text = text(verified, look);
            match streams {
                true => terminal.note(&text),
                false => terminal.say(&text),
            }
        }
    }
    if let Some(failure) = &verified.unrecorded {
        terminal.failure(failure);
    }
}

/// Writes the other documents of a run, and returns the exit code. `events`: where and why the
/// events could not be written.
pub(super) fn write(
    verified: &Verified,
    args: &RunArgs,
    events: Option<(&Path, io::Error)>,
    terminal: &Terminal,
) -> u8 {
    let home = Some(verified.session.site.home.as_path());
    let (report, plan) = (&verified.report, &verified.plan);
    args.reports.write(report, plan, home, events, terminal)
}

/// Whether standard output is for a program, so that people read standard error.
///
/// # Errors
/// Two documents for standard output.
pub(super) fn streams(args: &RunArgs, format: Option<OutputFormat>) -> Result<bool, Failure> {
    let streams = args.events.as_deref() == Some(Path::new("-"));
    if streams && format == Some(OutputFormat::Json) {
        let message = "standard output holds one JSON document or the events, not both";
        let failure = Failure::usage("vplan::usage::events", message);
        return Err(failure.help("write the events to a file"));
    }
    let json = (format == Some(OutputFormat::Json)).then_some("--format json");
    args.reports
        .check(if streams { Some("--events -") } else { json })?;
    if let Some(path) = &args.events {
        EVENTS.check(path, args.reports.force, "vplan::usage::events")?;
    }
    Ok(streams)
}

/// Opens the place that `--events` names, when it is time.
fn events<'e>(path: &'e Path, fault: &'e WriteFault) -> OpenEvents<'e> {
    Box::new(move || {
        if path == Path::new("-") {
            return Ok(Box::new(OutputStream::new(JsonLines, fault)) as Box<dyn Write>);
        }
        let file = files::create(&view::outside(path)).map_err(|e| {
            let message = format!("`{}` cannot be written: {e}", path.display());
            Failure::usage("vplan::usage::events", message)
        })?;
        Ok(Box::new(OutputStream::new(file, fault)))
    })
}

fn text(verified: &Verified, look: render::report::ReportStyle<'_>) -> String {
    let (session, record) = (&verified.session, &verified.record);
    let shown = record.strip_prefix(&session.site.home).unwrap_or(record);
    let shown = shown.display().to_string();
    let (report, plan) = (&verified.report, &verified.plan);
    let silent = look.quiet && report.exit_code == 0;
    let mut text = text_if(!silent, || standing(report, plan, session, look.color));
    let told = render::report::report(report, plan, Some(&shown), look);
    text.push_str(&told);
    text.push_str(&render::report::refusals(&report.refusals, look.color));
    if let (Some(subject), Some(counter), Some(required)) =
        (&report.subject, report.counter, report.required)
        && !silent
    {
        let reason = report.decision_reason.as_ref().map(|r| r.replace('_', " "));
        let reason = framed(": ", reason, "");
        let line = gate::line(subject, counter, required, report.decision, look.color);
        text.push_str(&format!("{line}{reason}\n"));
    }
    wrapped(&text, look.columns)
}

/// Describes what the change defines of the steps, the differences between a saved plan and the present, and the share of it that this
/// is.
fn standing(report: &Report, plan: &Plan, session: &Session, color: bool) -> String {
    let mut text = String::new();
    text.push_str(&render::compared(report.compared.as_ref(), color));
    text.push_str(&render::caveats(&report.caveats, color));
    let mut warn =
        |what: String| text.push_str(&format!("  {} {what}\n", paint(color, Tone::Warn, "!")));
    definition::lines(plan).into_iter().for_each(&mut warn);
    if let Some(saved) = &report.saved_plan {
        if saved.as_is {
            let root = visible_path(&session.site.root);
            warn(format!(
                "the plan ran as it is: no contract in `{root}` confirms it"
            ));
        }
        if !saved.drift.is_empty() {
            let (fields, drift) = (
                count(saved.drift.len(), "field"),
                render::drift(&saved.drift),
            );
            let what = format!("the saved plan ran although {fields} would be different now");
            warn(format!("{what}:\n{}", drift.trim_end()));
        }
    }
    if let Some(shard) = &report.shard {
        let (shard, others) = (shard.shard(), count(shard.elsewhere.len(), "step"));
        let line = format!("  {shard}: {others} of the plan left to other shards");
        text += &format!("{line}; `vplan merge` joins the reports\n");
    }
    text
}
