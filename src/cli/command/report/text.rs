//! Renders the timeline of a run for people.

use super::document::{Figures, TimelineDocument};
use crate::command::answer::*;
use crate::history::{fit, headline};
use crate::render::style::{mark, marked};
use vplan_run::event::Interrupt;
use vplan_run::journal::JournalEntry;

pub(super) fn page(document: &TimelineDocument, terminal: &Terminal) -> String {
    let color = terminal.color;
    let mut out = headline(&document.run, color, terminal.columns);
    for remark in &document.remarks {
        out.push_str(&marked(color, Tone::Warn, "!", remark));
    }
    out.push('\n');
    if document.omitted_events > 0 {
        let before = count(document.omitted_events, "event");
        out.push_str(&format!("  … {before} before these\n"));
    }
    for line in &document.events {
        let (sign, tone, what) = describe(&line.entry);
        let what = fit(&visible(&what), terminal.columns, 12);
        out.push_str(&format!(
            "{:>9}  {} {what}\n",
            duration(line.t),
            paint(color, tone, sign)
        ));
    }
    out + &sums(&document.figures)
}

/// The sums over all events.
fn sums(figures: &Figures) -> String {
    let mut parts = Vec::new();
    if let Some(attempt) = figures.attempt {
        let left = framed(", ", figures.retries_remaining, " left");
        parts.push(format!("round {attempt}{left}"));
    }
    parts.push(count(figures.tries, "try"));
    parts.push(count(figures.retries, "retry"));
    if figures.rewrites > 0 {
        parts.push(count(figures.rewrites, "rewrite"));
    }
    parts.push(format!("{} in steps", duration(figures.steps_ms)));
    let mut out = format!("\n  {}\n", parts.join("; "));
    if let Some(slowest) = &figures.slowest {
        let (id, time) = (visible(&slowest.id), duration(slowest.duration_ms));
        out.push_str(&format!("  slowest: {id} ({time})\n"));
    }
    out + &framed("  last log: ", figures.last_log.as_ref().map(visible), "\n")
}

/// An event on one line, with its mark. Not yet safe to show.
fn describe(entry: &JournalEntry) -> (&'static str, Tone, String) {
    match entry {
        JournalEntry::RunStarted {
            run_id, started_at, ..
        } => {
            let at = framed(" at ", started_at.as_ref(), "");
            ("▶", Tone::Faint, format!("run {run_id} begins{at}"))
        }
        JournalEntry::PlanCompiled { digest, steps, .. } => {
            let digest = framed(" (", digest.as_ref(), ")");
            let what = format!("plan of {}{digest}", count(steps.len(), "step"));
            ("▶", Tone::Faint, what)
        }
        JournalEntry::StepStarted {
            attempt,
            id,
            limit_ms,
        } => {
            let limit = duration(*limit_ms);
            let what = format!("{id} begins{}, limit {limit}", try_number(*attempt));
            ("·", Tone::Faint, what)
        }
        JournalEntry::StepFinished {
            attempt,
            detail,
            duration_ms,
            id,
            status,
            tests,
            ..
        } => {
            let took = format!("{}{}", duration(*duration_ms), try_number(*attempt));
            let tests = framed("; tests: ", *tests, "");
            let detail = framed(": ", detail.as_ref(), "");
            let word = status.name().replace('_', " ");
            let (sign, tone) = mark(*status);
            (sign, tone, format!("{id} {word} in {took}{detail}{tests}"))
        }
        JournalEntry::ProgramResolved { program } => {
            let path = String::from_utf8_lossy(program.path.as_bytes());
            ("·", Tone::Faint, format!("program {path}"))
        }
        JournalEntry::PlanRewritten { rewrite } => {
            let what = format!("plan repaired: {}", rewrite.recovery_rule);
            ("↻", Tone::Warn, what)
        }
        JournalEntry::RunInterrupted { signal } => {
            ("!", Tone::Warn, format!("interrupted by {}", name(*signal)))
        }
        JournalEntry::RunFinished {
            exit_code, verdict, ..
        } => run_ends(*exit_code, *verdict),
    }
}

fn run_ends(exit: u8, verdict: Verdict) -> (&'static str, Tone, String) {
    let tone = if exit == 0 { Tone::Good } else { Tone::Bad };
    let verdict = verdict.name().replace('_', " ");
    let what = format!("run ends: {verdict}, exit code {exit}");
    ("■", tone, what)
}

fn name(signal: Interrupt) -> &'static str {
    if signal == Interrupt::Int {
        "SIGINT"
    } else {
        "SIGTERM"
    }
}

fn try_number(attempt: u32) -> String {
    framed(", try ", Some(attempt).filter(|n| *n > 1), "")
}
