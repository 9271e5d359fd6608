//! Prints the result of a run.

use crate::command::answer::*;
use crate::command::gate;
use crate::render;
use crate::render::style::{Tone, count, paint};
use crate::render::wrap::wrapped;
use std::collections::BTreeMap;
use vplan_base::word::visible_path;
use vplan_base::word::{framed, text_if};
use vplan_check::outcome::Status;
use vplan_engine::Session;
use vplan_engine::verify::Verified;
use vplan_plan::{Plan, definition};
use vplan_run::report::Report;

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
            let drift = drift.trim_end();
            warn(format!(
                "the saved plan ran although {fields} would be different now:\n{drift}"
            ));
        }
    }
    if let Some(shard) = &report.shard {
        let (shard, others) = (shard.shard(), count(shard.elsewhere.len(), "step"));
        text.push_str(&format!(
            "  {shard}: {others} of the plan left to other shards; `vplan merge` joins the reports\n"
        ));
    }
    text
}
