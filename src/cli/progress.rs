//! What does a person see while a run goes on? A live view on a terminal, a line as each step ends without one.

use super::args;
use super::render::report::line;
use super::render::style::{Tone, count, cut, paint};
use super::terminal::Terminal;
use crate::base::word::visible;
use crate::plan::Plan;
use crate::run::record::StepRecord;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Running steps that have a line of their own in the live view.
const SHOWN: usize = 8;
/// How often the live view is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The view of one run.
#[derive(Debug)]
pub enum Progress {
    /// Nothing.
    None,
    /// A line as each step ends.
    Plain(Plain),
    /// A live view.
    Live(Box<Live>),
}

/// Lines.
#[derive(Debug)]
pub struct Plain {
    color: bool,
    width: usize,
    /// Ids of the steps whose line was printed.
    seen: BTreeSet<String>,
}

/// A bar, and a line for each running step.
#[derive(Debug)]
pub struct Live {
    all: MultiProgress,
    bar: ProgressBar,
    running: BTreeMap<usize, ProgressBar>,
    color: bool,
    width: usize,
    columns: usize,
    failed: usize,
}

impl Progress {
    /// Chooses the view: `auto` is live on a terminal, plain without one, nothing when vplan is told to be quiet.
    #[must_use]
    pub fn new(how: args::Progress, terminal: &Terminal, plan: &Plan) -> Self {
        let width = plan.steps.iter().map(|s| visible(s.id.as_bytes()).chars().count()).max().unwrap_or(0).min(40);
        let color = terminal.color_stderr;
        match how {
            args::Progress::None => Self::None,
            args::Progress::Auto if terminal.quiet => Self::None,
            args::Progress::Bar => Self::live(terminal, plan, color, width),
            args::Progress::Auto if terminal.live => Self::live(terminal, plan, color, width),
            args::Progress::Plain | args::Progress::Auto => Self::Plain(Plain { color, width, seen: BTreeSet::new() }),
        }
    }

    fn live(terminal: &Terminal, plan: &Plan, color: bool, width: usize) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        let bar = all.add(ProgressBar::new(plan.steps.len() as u64));
        let template = if color {
            "  {bar:24.green/dim} {pos}/{len} {msg} {elapsed}"
        } else {
            "  {bar:24} {pos}/{len} {msg} {elapsed}"
        };
        // A template that indicatif does not know shows its default, which is no reason to fail a run.
        bar.set_style(
            ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("━╸━"),
        );
        bar.enable_steady_tick(TICK);
        Self::Live(Box::new(Live {
            all,
            bar,
            running: BTreeMap::new(),
            color,
            width,
            columns: terminal.width,
            failed: 0,
        }))
    }

    /// Steps whose line has been printed and stays.
    #[must_use]
    pub fn seen(&self) -> BTreeSet<String> {
        match self {
            Self::Plain(plain) => plain.seen.clone(),
            Self::None | Self::Live(_) => BTreeSet::new(),
        }
    }

    /// A try of a step has begun.
    pub fn started(&mut self, index: usize, id: &str, attempt: u32) {
        let Self::Live(live) = self else { return };
        if live.running.len() >= SHOWN || live.running.contains_key(&index) {
            return;
        }
        let spinner = live.all.insert_before(&live.bar, ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("  {spinner} {prefix} {elapsed:>6} {wide_msg}");
        spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let again = if attempt > 1 { format!(" (try {attempt})") } else { String::new() };
        spinner.set_prefix(format!("{:<width$}{again}", visible(id.as_bytes()), width = live.width));
        spinner.enable_steady_tick(TICK);
        live.running.insert(index, spinner);
    }

    /// The last line that a running step wrote.
    pub fn tail(&mut self, index: usize, output: &[u8]) {
        let Self::Live(live) = self else { return };
        let Some(spinner) = live.running.get(&index) else { return };
        let mut lines = output.split(|b| *b == b'\n' || *b == b'\r').rev();
        if let Some(last) = lines.find(|l| !l.trim_ascii().is_empty()) {
            let room = live.columns.saturating_sub(live.width + 14);
            spinner.set_message(paint(live.color, Tone::Faint, &cut(&visible(last), room)));
        }
    }

    /// A step is over.
    pub fn ended(&mut self, index: usize, record: &StepRecord, terminal: &Terminal) {
        match self {
            Self::None => {}
            Self::Plain(plain) => {
                plain.seen.insert(record.id.clone());
                terminal.note(&line(record, plain.width, plain.color));
            }
            Self::Live(live) => {
                if let Some(spinner) = live.running.remove(&index) {
                    spinner.finish_and_clear();
                    live.all.remove(&spinner);
                }
                live.bar.inc(1);
                if record.status.is_failure() {
                    live.failed += 1;
                    live.bar.set_message(paint(live.color, Tone::Bad, &format!("{} failed", live.failed)));
                    live.bar.suspend(|| terminal.note(&line(record, live.width, live.color)));
                }
            }
        }
    }

    /// The plan has been rewritten: so many steps are left.
    pub fn rewritten(&mut self, rule: &str, steps: usize, terminal: &Terminal) {
        let say = |color| {
            let what = format!("↻ plan repaired by {}, now {}", visible(rule.as_bytes()), count(steps, "step"));
            format!("  {}\n", paint(color, Tone::Warn, &what))
        };
        match self {
            Self::None => {}
            Self::Plain(plain) => terminal.note(&say(plain.color)),
            Self::Live(live) => {
                live.bar.suspend(|| terminal.note(&say(live.color)));
                live.bar.set_length(steps as u64);
                live.bar.set_position(0);
            }
        }
    }

    /// The run has ended: the live view goes.
    pub fn close(self) {
        if let Self::Live(live) = self {
            for spinner in live.running.values() {
                spinner.finish_and_clear();
            }
            live.bar.finish_and_clear();
        }
    }
}
