//! Prints the result of a run.

use crate::args::Format;
use crate::command::gate;
use crate::render;
use crate::render::style::{Tone, count, marked, paint};
use crate::render::wrap::wrapped;
use crate::terminal::Terminal;
use std::collections::BTreeMap;
use vplan_base::word::visible_path;
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
    let shown = record
        .strip_prefix(&session.site.home)
        .unwrap_or(record)
        .display()
        .to_string();
    let silent = look.quiet && verified.report.exit_code == 0;
    let mut text = if silent {
        String::new()
    } else {
        standing(&verified.report, &verified.plan, session, look.color)
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
        text.push_str(&marked(look.color, Tone::Faint, "↻", &what));
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
            warn(format!(
                "the plan ran as it is: no contract in `{}` confirms it",
                visible_path(&session.site.root)
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
