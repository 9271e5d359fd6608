//! `vplan run`: verifies this change: plans, executes, repairs the plan where it was wrong,
//! reports.

mod summary;

use super::answer::*;
use crate::args::Run;
use crate::outputs::{EVENTS, Stream, WriteFault};
use crate::progress::View;
use crate::terminal::JsonLines;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use summary::{Showing, show};
use vplan_check::outcome::Status;
use vplan_engine::verify::{Caller, OpenEvents, Verified};
use vplan_engine::{staged, verify};
use vplan_os::files;
use vplan_os::terminal::same_stream;
use vplan_os::view;

/// Runs the plan for this change and prints the report.
///
/// # Errors
/// Whatever keeps the plan from being made or begun. A failed check is no error: its exit code is
/// the answer.
pub fn run(global: &Global, args: &Run, terminal: &Terminal) -> Result<u8, Failure> {
    let engine = global.engine();
    let apart = |failure| staged::in_view(&engine, args.records.as_deref(), failure);
    let code = run_here(global, args, terminal).map_err(apart);
    staged::leave(&engine);
    code
}

fn run_here(global: &Global, args: &Run, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let asked = args.verified()?;
    let streams = streams(args, Some(format))?;
    let mut view = View::new(args.progress, terminal);
    let fault = WriteFault::default();
    let verified = verify(
        &global.engine().with_observer(terminal),
        &asked,
        Caller {
            see: Some(&mut |progress| view.see(progress)),
            tick: View::tick(args.progress, terminal),
            events: args.events.as_deref().map(|path| events(path, &fault)),
            played: None,
        },
    );
    let seen = view.close();
    let verified = verified?;
    print(&verified, args, (Some(format), streams), &seen, terminal);
    let fault = args.events.as_deref().zip(fault.take());
    Ok(write(&verified, args, fault, terminal))
}

/// Prints the report of a run, in a form or not at all.
pub(super) fn print(
    verified: &Verified,
    args: &Run,
    (format, streams): (Option<Format>, bool),
    seen: &BTreeMap<String, Status>,
    terminal: &Terminal,
) {
    let streams = streams || args.reports.take_stdout();
    let none = BTreeMap::new();
    let seen = if streams || same_stream() {
        seen
    } else {
        &none
    };
    show(
        verified,
        &Showing {
            format,
            streams,
            statuses: seen,
        },
        terminal,
    );
    if let Some(failure) = &verified.unrecorded {
        terminal.failure(failure);
    }
}

/// Writes the documents beside a report, and gives the exit code. `events`: where and why the
/// events could not be written.
pub(super) fn write(
    verified: &Verified,
    args: &Run,
    events: Option<(&Path, io::Error)>,
    terminal: &Terminal,
) -> u8 {
    args.reports.write(
        &verified.report,
        &verified.plan,
        Some(&verified.session.site.home),
        events,
        terminal,
    )
}

/// Whether standard output is for a program, so that people read standard error.
///
/// # Errors
/// Two documents for standard output.
pub(super) fn streams(args: &Run, format: Option<Format>) -> Result<bool, Failure> {
    let streams = args.events.as_deref() == Some(Path::new("-"));
    if streams && format == Some(Format::Json) {
        let message = "standard output holds one JSON document or the events, not both";
        return Err(
            Failure::usage("vplan::usage::events", message).help("write the events to a file")
        );
    }
    let holder = if streams {
        Some("--events -")
    } else {
        (format == Some(Format::Json)).then_some("--format json")
    };
    args.reports.check(holder)?;
    if let Some(path) = &args.events {
        EVENTS.check(path, args.reports.force, "vplan::usage::events")?;
    }
    Ok(streams)
}

/// Opens the place that `--events` names, when it is time.
fn events<'e>(path: &'e Path, fault: &'e WriteFault) -> OpenEvents<'e> {
    Box::new(move || {
        if path == Path::new("-") {
            return Ok(Box::new(Stream::new(JsonLines, fault)) as Box<dyn Write>);
        }
        let file = files::create(&view::outside(path)).map_err(|e| {
            let message = format!("`{}` cannot be written: {e}", path.display());
            Failure::usage("vplan::usage::events", message)
        })?;
        Ok(Box::new(Stream::new(file, fault)))
    })
}
