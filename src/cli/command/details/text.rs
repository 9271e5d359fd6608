//! Renders the results of the checks of a run for people.

use super::document::{Detail, DetailsDocument};
use crate::command::answer::*;
use crate::history::headline;
use crate::render::style::{cut, mark, marked};
use crate::render::{caveats, report};
use vplan_check::results::{FailedTest, Finding};
use vplan_plan::explain::{sentence, text::omission};
use vplan_reuse::decide::NoReuseReason;
use vplan_run::record::StepRecord;

pub(super) fn page(document: &DetailsDocument, one: bool, terminal: &Terminal) -> String {
    let color = terminal.color;
    let mut out = String::new();
    if !one {
        out.push_str(&headline(&document.run, color, terminal.columns));
        out.push_str(&caveats(&document.caveats, color));
    }
    for remark in &document.remarks {
        out.push_str(&marked(color, Tone::Warn, "!", remark));
    }
    if !one {
        for rewrite in &document.rewrites {
            out.push_str(&report::rewrite(rewrite, color));
        }
        out.push_str(&report::refusals(&document.refusals, color));
        for note in &document.notes {
            out.push_str(&marked(color, Tone::Warn, "!", &note.message));
        }
    }
    for step in &document.steps {
        out.push_str(&detail(step, color));
    }
    for record in &document.superseded {
        let id = visible(&record.id);
        let status = record.status.name().replace('_', " ");
        let time = duration(record.duration_ms);
        let what = format!("before a rewrite: {id} {status} in {time}; it no longer counts");
        out.push_str(&format!("\n{}\n", paint(color, Tone::Faint, &what)));
    }
    if !document.omitted.is_empty() {
        out.push_str("\nleft out:\n");
    }
    for omitted in &document.omitted {
        let (id, why) = (visible(&omitted.id), omission(omitted));
        out.push_str(&format!("  - {id}: {why}\n"));
    }
    out
}

/// So many findings, and so many tests, are shown of a step.
const NAMED: usize = 20;

fn detail(step: &Detail, color: bool) -> String {
    let record = &step.record;
    let lines = [
        describe(step, color),
        format_findings(record),
        output(record, color),
    ];
    let lines = lines.into_iter().flatten();
    let lines: String = lines.map(|line| format!("  {line}\n")).collect();
    head(step, color) + &lines
}

fn head(step: &Detail, color: bool) -> String {
    let record = &step.record;
    let (sign, tone) = mark(record.status);
    let mut head = record.status.name().replace('_', " ");
    if record.tries > 0 {
        head.push_str(&format!(" in {}", duration(record.duration_ms)));
    }
    if record.tries > 1 {
        head.push_str(&format!(", {} tries", record.tries));
    }
    let kind = framed(" (", step.kind, ")");
    let sign = paint(color, tone, sign);
    let id = paint(color, Tone::Strong, &visible(&record.id));
    format!("\n{sign} {id}{kind}: {head}\n")
}

/// Its command, how that ended, and why it was in the plan.
fn describe(step: &Detail, color: bool) -> Vec<String> {
    let record = &step.record;
    let command = visible(&record.command);
    let mut lines = vec![format!("$ {}", paint(color, Tone::Command, &command))];
    let reason = framed(" (", record.reason, ")");
    let detail = record.detail.as_ref();
    lines.extend(detail.map(|detail| visible(detail) + &reason));
    // Omit the reason that a step never passed before.
    let is_news = |why: &&String| **why != NoReuseReason::Unknown.to_string();
    let why = record.not_reused.as_ref().filter(is_news);
    lines.extend(why.map(|why| format!("not reused: {}", visible(why))));
    lines.extend(record.sandbox.as_ref().map(report::confined));
    let code = record.failure_code.as_ref();
    lines.extend(code.map(|code| format!("classified as {}", visible(code.as_bytes()))));
    let because = |reason| format!("because {}", sentence(reason, 3));
    let faint = |text: String| paint(color, Tone::Faint, &text);
    lines.extend(step.reasons.iter().map(because).map(faint));
    lines
}

/// The findings in its output.
fn format_findings(record: &StepRecord) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(record.tests.map(|tests| format!("tests: {tests}")));
    if record.errors.is_some() || record.warnings.is_some() {
        let counts = [record.errors, record.warnings];
        let [errors, warnings] = counts.map(Option::unwrap_or_default);
        lines.push(format!("errors: {errors}, warnings: {warnings}"));
    }
    lines.extend(record.diagnostics.iter().take(NAMED).map(finding));
    lines.extend(record.failed_tests.iter().take(NAMED).map(failed_test));
    lines.extend(record.problems.iter().map(visible));
    let leaked = Some(record.leaked).filter(|leaked| *leaked > 0);
    let said = |leaked| format!("left {leaked} processes behind, which were stopped");
    lines.extend(leaked.map(said));
    lines
}

fn finding(finding: &Finding) -> String {
    let place = framed("", finding.place(), ": ");
    let code = framed(" [", finding.code.as_ref(), "]");
    visible(format!("{place}{}{code}", finding.message))
}

fn failed_test(test: &FailedTest) -> String {
    let why = framed(": ", test.message.as_ref().map(|m| cut(m, 200)), "");
    visible(format!("failed test {}{why}", test.name))
}

/// The ends of its output, and where all of it is.
fn output(record: &StepRecord, color: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, tail) in [
        ("stdout", &record.stdout_tail),
        ("stderr", &record.stderr_tail),
    ] {
        let tail = tail.trim_end();
        if !tail.is_empty() {
            lines.push(paint(color, Tone::Faint, &format!("{name}, its end:")));
            let shown = |l: &str| format!("│ {}", visible(l)).trim_end().to_owned();
            lines.extend(tail.lines().map(shown));
        }
    }
    if record.log.is_some() {
        let id = visible(&record.id);
        let all = format!("`vplan log {id}` shows all of its output");
        lines.push(paint(color, Tone::Faint, &all));
    }
    lines
}
