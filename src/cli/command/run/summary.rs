//! Prints the result of a run.

use crate::base::word::visible;
use crate::check::outcome::Status;
use crate::cli::args::Format;
use crate::cli::command::gate;
use crate::cli::render;
use crate::cli::render::style::{Tone, count, paint};
use crate::cli::render::wrap::wrapped;
use crate::cli::terminal::Terminal;
use crate::engine::Session;
use crate::engine::verify::Verified;
use crate::run::report::Report;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;

/// The form of the printed report.
pub(super) struct Showing<'s> {
    /// In which form, if at all.
    pub format: Option<Format>,
    /// Standard output is for a program.
    pub streams: bool,
    /// Steps whose line the reader has seen already, with the status that it gave.
    pub statuses: &'s BTreeMap<String, Status>,
}

/// Prints the report.
pub(super) fn show(verified: &Verified, showing: &Showing<'_>, terminal: &Terminal) {
    withheld(&verified.report, terminal);
    match showing.format {
        None => {}
        Some(Format::Json) => terminal.print_json(&verified.report),
        Some(_) => {
            let look = render::report::Look {
                color: if showing.streams {
                    terminal.color_stderr
                } else {
                    terminal.color
                },
                columns: terminal.columns,
                statuses: showing.statuses,
                quiet: terminal.quiet,
            };
            let text = text(verified, look);
            if showing.streams {
                terminal.note(&text);
            } else {
                terminal.say(&text);
            }
        }
    }
}

fn withheld(report: &Report, terminal: &Terminal) {
    for withheld in &report.environment.withheld {
        let sign = paint(terminal.color_stderr, Tone::Warn, "!");
        terminal.note(&format!("  {sign} withheld: {}\n", withheld.reason));
    }
}

fn text(verified: &Verified, look: render::report::Look<'_>) -> String {
    let (session, record) = (&verified.session, &verified.record);
    let shown = record
        .strip_prefix(&session.site.home)
        .unwrap_or(record)
        .display()
        .to_string();
    let silent = look.quiet && verified.report.exit_code == 0;
    let mut text = if silent {
        String::new()
    } else {
        standing(&verified.report, session, look.color)
    };
    text.push_str(&render::report::report(
        &verified.report,
        &verified.plan,
        Some(&shown),
        look,
    ));
    for refusal in &verified.report.refusals {
        let what = format!(
            "{} was not applied: {}",
            refusal.recovery_rule, refusal.reason
        );
        text.push_str(&format!(
            "  {} {}\n",
            paint(look.color, Tone::Faint, "↻"),
            visible(what.as_bytes())
        ));
    }
    let report = &verified.report;
    if let (Some(subject), Some(counter), Some(required)) =
        (&report.subject, report.counter, report.required)
        && !silent
    {
        let reason = report
            .decision_reason
            .as_ref()
            .map(|r| format!(": {}", r.replace('_', " ")))
            .unwrap_or_default();
        let line = gate::line(subject, counter, required, report.decision, look.color);
        text.push_str(&format!("{line}{reason}\n"));
    }
    wrapped(&text, look.columns)
}

/// Describes the differences between a saved plan and the present, and the share of it that this
/// is.
fn standing(report: &Report, session: &Session, color: bool) -> String {
    let mut text = String::new();
    text.push_str(&render::compared(report.compared.as_ref(), color));
    text.push_str(&render::caveats(&report.caveats, color));
    let mut warn =
        |what: String| text.push_str(&format!("  {} {what}\n", paint(color, Tone::Warn, "!")));
    if let Some(saved) = &report.saved_plan {
        if saved.as_is {
            warn(format!(
                "the plan ran as it is: no contract in `{}` confirms it",
                visible(session.site.root.as_os_str().as_bytes())
            ));
        }
        if !saved.drift.is_empty() {
            let fields = count(saved.drift.len(), "field");
            warn(format!(
                "the saved plan ran although {fields} would be different now:\n{}",
                render::drift(&saved.drift).trim_end()
            ));
        }
    }
    if let Some(shard) = &report.shard {
        let others = count(shard.elsewhere.len(), "step");
        text.push_str(&format!(
            "  {}: {others} of the plan left to other shards; `vplan merge` joins the reports\n",
            shard.shard()
        ));
    }
    text
}
