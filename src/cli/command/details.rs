//! `vplan details`: shows what each check of a run did, and why it was planned.

use super::format;
use crate::base::nearest::nearest;
use crate::base::word::visible;
use crate::check::Kind;
use crate::cli::args::{Format, Global};
use crate::cli::history::{NAMES, Records, headline, open, pick};
use crate::cli::render::style::{Tone, cut, duration, mark, paint};
use crate::cli::render::{caveats, report};
use crate::cli::terminal::Terminal;
use crate::effect::store::history::{History, Past};
use crate::engine::Failure;
use crate::plan::caveat::Caveat;
use crate::plan::explain::{sentence, text::omission};
use crate::plan::{Note, Omitted, Plan, Reason, Refusal, Rewrite};
use crate::run::past::{State, Summary, records, short};
use crate::run::record::StepRecord;
use crate::run::report::Report;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

/// `vplan details`
#[derive(Debug, Args)]
#[command(after_help = format!("Exit codes: 0 shown; 2 usage, also when there is no such run or check; 5 the records cannot be read.\n\n{NAMES}"))]
pub struct Details {
    /// Which run.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Only this check.
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// Where the records are.
    #[command(flatten)]
    pub records: Records,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// What keeps the run's answer from meaning all that was asked.
    caveats: Vec<Caveat>,
    /// What is worth a reader's attention about the plan.
    notes: Vec<Note>,
    /// The checks that were left out, and why.
    omitted: Vec<Omitted>,
    /// Repairs of the plan that were not made, and why.
    refusals: Vec<Refusal>,
    /// What of the record could not be used, and why.
    remarks: Vec<String>,
    /// What recovery did to the plan, in order.
    rewrites: Vec<Rewrite>,
    /// How the run stands.
    run: Summary,
    /// What each check did, in plan order.
    steps: Vec<Detail>,
    /// Evidence that no longer counts: of steps before a rewrite.
    superseded: Vec<StepRecord>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// One step, by the plan and by the report.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Detail {
    /// Its verb; absent when no plan is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// Why it was in the plan.
    reasons: Vec<Reason>,
    /// What it did.
    record: StepRecord,
    /// Its tier; absent when no plan is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<u8>,
}

/// Shows every check of a run.
///
/// # Errors
/// No such run, no such check.
pub fn run(global: &Global, args: &Details, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let (_, history) = open(global, &args.records)?;
    let id = pick(&history, &args.run)?;
    let mut document = gather(&history, &history.past(&id));
    if let Some(name) = &args.check {
        only(&mut document, name)?;
    }
    if format == Format::Json {
        terminal.print_json(&document);
    } else {
        terminal.say(&text(&document, args.check.is_some(), terminal));
    }
    Ok(0)
}

/// All that is known of a run: by its report if it came to its end, else by its journal.
fn gather(history: &History, past: &Past) -> Document {
    let run = past.summary();
    let mut remarks: Vec<String> = past.trouble.iter().cloned().collect();
    let report: Option<Report> = match run.state {
        State::Finished => history.report(&past.id).unwrap_or_else(|why| {
            remarks.push(why);
            None
        }),
        _ => None,
    };
    if run.state == State::Finished && report.is_none() && remarks.is_empty() {
        remarks.push("`report.json` is not there".to_owned());
    }
    let plan: Option<Plan> = history.plan(&past.id).unwrap_or_else(|why| {
        remarks.push(why);
        None
    });
    let planned = |record: StepRecord| {
        let step = plan
            .as_ref()
            .and_then(|p| p.steps.iter().find(|s| s.id == record.id));
        let kind = step
            .map(|s| s.kind)
            .or_else(|| past.run.steps.iter().find(|s| s.id == record.id)?.kind);
        Detail {
            kind,
            reasons: step.map(|s| s.reasons.clone()).unwrap_or_default(),
            record,
            tier: step.map(|s| s.tier),
        }
    };
    let document = Document {
        caveats: plan.as_ref().map(|p| p.caveats.clone()).unwrap_or_default(),
        notes: plan.as_ref().map(|p| p.notes.clone()).unwrap_or_default(),
        omitted: plan.as_ref().map(|p| p.omitted.clone()).unwrap_or_default(),
        refusals: Vec::new(),
        remarks,
        rewrites: past.run.rewrites.clone(),
        steps: Vec::new(),
        superseded: Vec::new(),
        version: 1,
        run,
    };
    match report {
        Some(report) => Document {
            caveats: report.caveats,
            notes: report.notes,
            omitted: report.omitted,
            refusals: report.refusals,
            rewrites: report.rewrites,
            steps: report.steps.into_iter().map(planned).collect(),
            superseded: report.superseded,
            ..document
        },
        None => {
            let steps = records(&past.run, document.run.state)
                .into_iter()
                .map(planned)
                .collect();
            Document { steps, ..document }
        }
    }
}

/// Leaves only what is about one check.
fn only(document: &mut Document, name: &str) -> Result<(), Failure> {
    let ids = || {
        document
            .steps
            .iter()
            .map(|s| s.record.id.as_str())
            .chain(document.omitted.iter().map(|o| o.id.as_str()))
    };
    if !ids().any(|id| id == name) {
        let help = match nearest(name, ids()) {
            Some(near) => format!("did you mean `{}`?", visible(near.as_bytes())),
            None => format!(
                "`vplan details {}` shows all of them",
                short(&document.run.run_id)
            ),
        };
        let message = format!(
            "no check of this run is called `{}`",
            visible(name.as_bytes())
        );
        return Err(Failure::usage("vplan::records::unknown_check", message).help(help));
    }
    document.steps.retain(|s| s.record.id == name);
    document.omitted.retain(|o| o.id == name);
    document.superseded.retain(|s| s.id == name);
    Ok(())
}

fn text(document: &Document, one: bool, terminal: &Terminal) -> String {
    let color = terminal.color;
    let mut out = String::new();
    if !one {
        out.push_str(&headline(&document.run, color, terminal.columns));
        out.push_str(&caveats(&document.caveats, color));
    }
    for remark in &document.remarks {
        out.push_str(&format!(
            "  {} {}\n",
            paint(color, Tone::Warn, "!"),
            visible(remark.as_bytes())
        ));
    }
    if !one {
        document
            .rewrites
            .iter()
            .for_each(|rewrite| out.push_str(&report::rewrite(rewrite, color)));
        for refusal in &document.refusals {
            let what = format!(
                "{} was not applied: {}",
                refusal.recovery_rule, refusal.reason
            );
            out.push_str(&format!(
                "  {} {}\n",
                paint(color, Tone::Faint, "↻"),
                visible(what.as_bytes())
            ));
        }
        for note in &document.notes {
            out.push_str(&format!(
                "  {} {}\n",
                paint(color, Tone::Warn, "!"),
                visible(note.message.as_bytes())
            ));
        }
    }
    for step in &document.steps {
        out.push_str(&detail(step, color));
    }
    for record in &document.superseded {
        let id = visible(record.id.as_bytes());
        let status = record.status.name().replace('_', " ");
        let time = duration(record.duration_ms);
        let what = format!("before a rewrite: {id} {status} in {time}; it no longer counts");
        out.push_str(&format!("\n{}\n", paint(color, Tone::Faint, &what)));
    }
    if !document.omitted.is_empty() {
        out.push_str("\nleft out:\n");
    }
    for omitted in &document.omitted {
        out.push_str(&format!(
            "  - {}: {}\n",
            visible(omitted.id.as_bytes()),
            omission(omitted)
        ));
    }
    out
}

fn detail(step: &Detail, color: bool) -> String {
    const NAMED: usize = 20;
    let record = &step.record;
    let (sign, tone) = mark(record.status);
    let id = visible(record.id.as_bytes());
    let mut head = record.status.name().replace('_', " ");
    if record.tries > 0 {
        head.push_str(&format!(" in {}", duration(record.duration_ms)));
    }
    if record.tries > 1 {
        head.push_str(&format!(", {} tries", record.tries));
    }
    let kind = step
        .kind
        .map_or_else(String::new, |k| format!(" ({})", k.verb()));
    let mut out = format!(
        "\n{} {}{kind}: {head}\n",
        paint(color, tone, sign),
        paint(color, Tone::Strong, &id)
    );
    let mut line = |text: String| out.push_str(&format!("  {text}\n"));
    line(format!(
        "$ {}",
        paint(color, Tone::Command, &visible(record.command.as_bytes()))
    ));
    if let Some(detail) = &record.detail {
        let reason = record
            .reason
            .map_or_else(String::new, |r| format!(" ({})", word(r)));
        line(format!("{}{reason}", visible(detail.as_bytes())));
    }
    if let Some(code) = &record.failure_code {
        line(format!("classified as {}", visible(code.as_bytes())));
    }
    for reason in &step.reasons {
        line(paint(
            color,
            Tone::Faint,
            &format!("because {}", sentence(reason, 3)),
        ));
    }
    if let Some(tests) = &record.tests {
        line(format!(
            "tests: {} passed, {} failed, {} skipped",
            tests.passed, tests.failed, tests.skipped
        ));
    }
    if record.errors.is_some() || record.warnings.is_some() {
        line(format!(
            "errors: {}, warnings: {}",
            record.errors.unwrap_or(0),
            record.warnings.unwrap_or(0)
        ));
    }
    for finding in record.diagnostics.iter().take(NAMED) {
        let parts = [
            finding.file.clone(),
            finding.line.map(|n| n.to_string()),
            finding.column.map(|n| n.to_string()),
        ];
        let place = parts.into_iter().flatten().collect::<Vec<_>>().join(":");
        let place = if place.is_empty() {
            place
        } else {
            format!("{place}: ")
        };
        let code = finding
            .code
            .as_ref()
            .map_or_else(String::new, |c| format!(" [{c}]"));
        line(visible(
            format!("{place}{}{code}", finding.message).as_bytes(),
        ));
    }
    for test in record.failed_tests.iter().take(NAMED) {
        let why = test
            .message
            .as_ref()
            .map_or_else(String::new, |m| format!(": {}", cut(m, 200)));
        line(visible(
            format!("failed test {}{why}", test.name).as_bytes(),
        ));
    }
    for problem in &record.problems {
        line(visible(problem.as_bytes()));
    }
    if record.leaked > 0 {
        line(format!(
            "left {} processes behind, which were stopped",
            record.leaked
        ));
    }
    for (name, tail) in [
        ("stdout", &record.stdout_tail),
        ("stderr", &record.stderr_tail),
    ] {
        if !tail.trim().is_empty() {
            line(paint(color, Tone::Faint, &format!("{name}, its end:")));
            tail.trim_end()
                .lines()
                .for_each(|l| line(format!("│ {}", visible(l.as_bytes())).trim_end().to_owned()));
        }
    }
    if record.log.is_some() {
        line(paint(
            color,
            Tone::Faint,
            &format!("`vplan log {id}` shows all of its output"),
        ));
    }
    out
}

fn word<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}
