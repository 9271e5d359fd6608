//! `vplan report`: shows what happened in a run, in order.

use super::format;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::history::{NAMES, Records, fit, headline, open, pick};
use crate::cli::page;
use crate::cli::render::style::{Tone, count, duration, mark, paint};
use crate::cli::terminal::Terminal;
use crate::effect::store::history::History;
use crate::engine::Failure;
use crate::run::event::Interrupt;
use crate::run::journal::{Entry, Line, lines};
use crate::run::past::Summary;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// `vplan report`
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  \
        vplan report --tail 5\n  \
        vplan report latest~1 --html run.html\n\n\
        Exit codes: 0 shown; 2 usage, also when there is no such run; 5 the records cannot be read.\n\n`vplan help events` says what each event means.\n\n{NAMES}"))]
pub struct ReportArgs {
    /// Which run.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Show so many events, the last ones; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub tail: u32,
    /// Write the run as one page for a browser to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Where the records are.
    #[command(flatten)]
    pub records: Records,
}

/// What happened in a run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// The events, in order; the last ones when there are many.
    events: VecDeque<Line>,
    /// Sums over all events.
    figures: Figures,
    /// How many events stand before those that are shown.
    omitted_events: usize,
    /// What of the record could not be used, and why.
    remarks: Vec<String>,
    /// How the run stands.
    run: Summary,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// A run in numbers.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Figures {
    /// Which round it was, from 1; absent when its end is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// The log of the try that ended last and has one, relative to the run's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_log: Option<String>,
    /// Tries beyond the first of a step.
    retries: u64,
    /// How many rounds are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    retries_remaining: Option<u32>,
    /// How often recovery rewrote the plan.
    rewrites: u64,
    /// The try that took longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest: Option<Slowest>,
    /// All tries together, in milliseconds: more than the run took where several ran side by side.
    steps_ms: u64,
    /// Tries that came to their end.
    tries: u64,
}

/// A try.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Slowest {
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// The step.
    id: String,
}

impl Figures {
    fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::StepFinished {
                attempt,
                duration_ms,
                id,
                log,
                ..
            } => {
                self.tries += u64::from(*attempt > 0);
                self.retries += u64::from(*attempt > 1);
                self.steps_ms = self.steps_ms.saturating_add(*duration_ms);
                if self
                    .slowest
                    .as_ref()
                    .is_none_or(|s| s.duration_ms < *duration_ms)
                {
                    self.slowest = Some(Slowest {
                        duration_ms: *duration_ms,
                        id: id.clone(),
                    });
                }
                self.last_log = log.clone().or(self.last_log.take());
            }
            Entry::PlanRewritten { .. } => self.rewrites += 1,
            Entry::RunFinished {
                attempt,
                retries_remaining,
                ..
            } => {
                self.attempt = *attempt;
                self.retries_remaining = *retries_remaining;
            }
            _ => {}
        }
    }
}

/// Shows the events of a run.
///
/// # Errors
/// No such run.
pub fn run(global: &Global, args: &ReportArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let (_, history) = open(global, &args.records)?;
    let id = pick(&history, &args.run)?;
    if let Some(path) = &args.html {
        return html(&history, &id, path, format, terminal);
    }
    let past = history.past(&id);
    let most = usize::try_from(args.tail).unwrap_or(usize::MAX);
    let mut figures = Figures::default();
    let mut events = VecDeque::new();
    let mut seen = 0;
    for line in lines(&history.events(&id).unwrap_or_default()) {
        figures.add(&line.entry);
        seen += 1;
        events.push_back(line);
        if events.len() > most {
            events.pop_front();
        }
    }
    let document = Document {
        omitted_events: seen - events.len(),
        events,
        figures,
        remarks: past.trouble.iter().cloned().collect(),
        run: past.summary(),
        version: 1,
    };
    if format == Format::Json {
        terminal.print_json(&document);
    } else {
        terminal.say(&text(&document, terminal));
    }
    Ok(0)
}

/// The page for a browser.
fn html(
    history: &History,
    id: &str,
    path: &Path,
    format: Format,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    if format == Format::Json {
        let message = "`--html` writes a page, and `--format json` asks for a document";
        return Err(Failure::usage("vplan::usage::html", message).help("leave out one of them"));
    }
    let page = page::write(history, id, path)?;
    if path == Path::new("-") {
        terminal.print(&page);
    } else if !terminal.quiet {
        terminal.say(&format!(
            "wrote `{}`\n",
            visible(path.as_os_str().as_encoded_bytes())
        ));
    }
    Ok(0)
}

fn text(document: &Document, terminal: &Terminal) -> String {
    let color = terminal.color;
    let mut out = headline(&document.run, color, terminal.columns);
    for remark in &document.remarks {
        out.push_str(&format!(
            "  {} {}\n",
            paint(color, Tone::Warn, "!"),
            visible(remark.as_bytes())
        ));
    }
    out.push('\n');
    if document.omitted_events > 0 {
        let before = count(document.omitted_events, "event");
        out.push_str(&format!("  … {before} before these\n"));
    }
    for line in &document.events {
        let (sign, tone, what) = describe(&line.entry);
        let what = fit(&visible(what.as_bytes()), terminal.columns, 12);
        out.push_str(&format!(
            "{:>9}  {} {what}\n",
            duration(line.t),
            paint(color, tone, sign)
        ));
    }
    let figures = &document.figures;
    let plural = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let mut parts = Vec::new();
    if let Some(attempt) = figures.attempt {
        let left = figures
            .retries_remaining
            .map_or_else(String::new, |n| format!(", {n} left"));
        parts.push(format!("round {attempt}{left}"));
    }
    parts.push(plural(figures.tries, "try", "tries"));
    parts.push(plural(figures.retries, "retry", "retries"));
    if figures.rewrites > 0 {
        parts.push(plural(figures.rewrites, "rewrite", "rewrites"));
    }
    parts.push(format!("{} in steps", duration(figures.steps_ms)));
    out.push_str(&format!("\n  {}\n", parts.join("; ")));
    if let Some(slowest) = &figures.slowest {
        let id = visible(slowest.id.as_bytes());
        out.push_str(&format!(
            "  slowest: {id} ({})\n",
            duration(slowest.duration_ms)
        ));
    }
    if let Some(log) = &figures.last_log {
        out.push_str(&format!("  last log: {}\n", visible(log.as_bytes())));
    }
    out
}

/// An event on one line, with its mark. Not yet safe to show.
fn describe(entry: &Entry) -> (&'static str, Tone, String) {
    match entry {
        Entry::RunStarted {
            run_id, started_at, ..
        } => {
            let at = started_at
                .as_ref()
                .map_or_else(String::new, |t| format!(" at {t}"));
            ("▶", Tone::Faint, format!("run {run_id} begins{at}"))
        }
        Entry::PlanCompiled { digest, steps, .. } => {
            let digest = digest
                .as_ref()
                .map_or_else(String::new, |d| format!(" ({d})"));
            (
                "▶",
                Tone::Faint,
                format!("plan of {}{digest}", count(steps.len(), "step")),
            )
        }
        Entry::StepStarted {
            attempt,
            id,
            limit_ms,
        } => {
            let again = if *attempt > 1 {
                format!(", try {attempt}")
            } else {
                String::new()
            };
            (
                "·",
                Tone::Faint,
                format!("{id} begins{again}, limit {}", duration(*limit_ms)),
            )
        }
        Entry::StepFinished {
            attempt,
            detail,
            duration_ms,
            id,
            status,
            tests,
            ..
        } => {
            let (sign, tone) = mark(*status);
            let again = if *attempt > 1 {
                format!(", try {attempt}")
            } else {
                String::new()
            };
            let tests = tests.map_or_else(String::new, |t| {
                format!(
                    "; tests: {} passed, {} failed, {} skipped",
                    t.passed, t.failed, t.skipped
                )
            });
            let detail = detail
                .as_ref()
                .map_or_else(String::new, |d| format!(": {d}"));
            let status = status.name().replace('_', " ");
            (
                sign,
                tone,
                format!(
                    "{id} {status} in {}{again}{detail}{tests}",
                    duration(*duration_ms)
                ),
            )
        }
        Entry::ProgramResolved { program } => (
            "·",
            Tone::Faint,
            format!(
                "program {}",
                String::from_utf8_lossy(program.path.as_bytes())
            ),
        ),
        Entry::PlanRewritten { rewrite } => (
            "↻",
            Tone::Warn,
            format!("plan repaired: {}", rewrite.recovery_rule),
        ),
        Entry::RunInterrupted { signal } => {
            let signal = if *signal == Interrupt::Int {
                "SIGINT"
            } else {
                "SIGTERM"
            };
            ("!", Tone::Warn, format!("interrupted by {signal}"))
        }
        Entry::RunFinished {
            exit_code, verdict, ..
        } => {
            let tone = if *exit_code == 0 {
                Tone::Good
            } else {
                Tone::Bad
            };
            (
                "■",
                tone,
                format!(
                    "run ends: {}, exit code {exit_code}",
                    verdict.name().replace('_', " ")
                ),
            )
        }
    }
}
