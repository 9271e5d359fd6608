//! Shows the progress of a run: a live view on a terminal, else a line as each step ends.

use super::args;
use super::render::MANY;
use super::render::report::ReportRows;
use super::render::style::{Tone, count, cut, duration, paint};
use super::screen::Screen;
use super::terminal::Terminal;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::btree_map::{BTreeMap, Entry};
use std::time::Duration;
use vplan_base::index::Dense;
use vplan_base::inert::without_escapes;
use vplan_base::word::{framed, text_if, visible};
use vplan_check::outcome::Status;
use vplan_engine::verify;
use vplan_os::terminal::{read, size_of_stderr};
use vplan_plan::{Plan, StepIndex};
use vplan_run::record::StepRecord;
use vplan_runner::executor::Running;

/// Running steps that have a line of their own in the live view.
const SHOWN: usize = 8;
/// Columns at the end of the last line for what a terminal echoes: `^C`, several times.
const ECHOED: usize = 6;
/// The interval at which a live view receives the running steps.
const RUNNING: Duration = Duration::from_millis(200);
/// The interval at which the live view is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The progress of a verification, for people.
pub struct ProgressView<'t> {
    how: args::ProgressArgs,
    terminal: &'t Terminal,
    progress: Progress,
}

impl<'t> ProgressView<'t> {
    /// Shows nothing until there is a plan.
    pub fn new(how: args::ProgressArgs, terminal: &'t Terminal) -> Self {
        Self {
            how,
            terminal,
            progress: Progress::None,
        }
    }

    /// Returns the interval at which a live view receives the running steps; `None` without one.
    pub fn tick(how: args::ProgressArgs, terminal: &Terminal) -> Option<Duration> {
        is_live(how, terminal).then_some(RUNNING)
    }

    /// Shows what happened.
    pub fn see(&mut self, progress: verify::Progress<'_>) {
        let (terminal, view) = (self.terminal, &mut self.progress);
        match progress {
            verify::Progress::Planned(plan) => *view = Progress::new(self.how, terminal, plan),
            verify::Progress::Ended { step, record, at } => {
                view.ended(step, record, at, terminal);
            }
            verify::Progress::Running { at, running } => view.running(at, running),
            verify::Progress::Rewritten { rule, plan, kept } => {
                view.rewritten(rule, plan, kept, terminal);
            }
        }
    }

    /// Takes a live view away. Gives the steps whose line has been printed and stays.
    pub fn close(&mut self) -> BTreeMap<String, Status> {
        let progress = std::mem::replace(&mut self.progress, Progress::None);
        let seen = progress.printed_steps();
        progress.close();
        seen
    }
}

/// Whether the view is a live one.
fn is_live(how: args::ProgressArgs, terminal: &Terminal) -> bool {
    match how {
        args::ProgressArgs::Bar => true,
        args::ProgressArgs::Auto => !terminal.quiet && terminal.live,
        args::ProgressArgs::Plain | args::ProgressArgs::None => false,
    }
}

/// The view of one run.
#[derive(Debug)]
enum Progress {
    /// Nothing.
    None,
    /// A line as each step ends.
    Plain(Plain),
    /// A live view.
    Live(Box<Live>),
}

/// Lines.
#[derive(Debug)]
struct Plain {
    color: bool,
    rows: ReportRows,
    /// The number of steps, of those that are over, and of the failed ones among them.
    counts: [usize; 3],
    /// Ids of the steps whose line was printed.
    statuses: BTreeMap<String, Status>,
}

/// A bar, and a line for each running step.
#[derive(Debug)]
struct Live {
    all: MultiProgress,
    bar: ProgressBar,
    ids: Dense<StepIndex, String>,
    running: BTreeMap<StepIndex, ProgressBar>,
    color: bool,
    rows: ReportRows,
    columns: usize,
    failed: usize,
}

impl Progress {
    /// Chooses the view: `auto` is live on a terminal, plain without one, nothing when vplan is
    /// told to be quiet.
    fn new(how: args::ProgressArgs, terminal: &Terminal, plan: &Plan) -> Self {
        let color = terminal.color_stderr;
        let rows = ReportRows::new(plan, terminal.columns, color);
        match how {
            args::ProgressArgs::None => Self::None,
            args::ProgressArgs::Auto if terminal.quiet => Self::None,
            _ if is_live(how, terminal) => Self::live(terminal, plan, rows),
            args::ProgressArgs::Bar | args::ProgressArgs::Plain | args::ProgressArgs::Auto => {
                let counts = [plan.steps.len(), 0, 0];
                Self::Plain(Plain {
                    color,
                    rows,
                    counts,
                    statuses: BTreeMap::new(),
                })
            }
        }
    }

    fn live(terminal: &Terminal, plan: &Plan, rows: ReportRows) -> Self {
        let color = terminal.color_stderr;
        let target = if read().stderr_is_terminal {
            let screen = Screen::new(Box::new(std::io::stderr()), size_of_stderr);
            ProgressDrawTarget::term_like_with_hz(Box::new(screen), 10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let all = MultiProgress::with_draw_target(target);
        let bar = all.add(ProgressBar::new(plan.steps.len() as u64));
        let width = width(terminal.width);
        let style = if color { ".green/dim" } else { "" };
        // Not `wide_msg`, which fills the line and leaves no space for an echo.
        let template = format!("  {{bar:{width}{style}}} {{pos}}/{{len}}{{msg}}");
        // An invalid template must not fail a run: use indicatif's default.
        bar.set_style(
            ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("━╸━"),
        );
        bar.enable_steady_tick(TICK);
        Self::Live(Box::new(Live {
            all,
            bar,
            ids: plan.steps.iter().map(|s| s.id.clone()).collect(),
            running: BTreeMap::new(),
            color,
            rows,
            columns: terminal.width,
            failed: 0,
        }))
    }

    /// Steps whose line has been printed and stays, and the status that it gave: a step before it
    /// may fail later on, and then it counts for nothing.
    fn printed_steps(&self) -> BTreeMap<String, Status> {
        match self {
            Self::Plain(plain) => plain.statuses.clone(),
            Self::None | Self::Live(_) => BTreeMap::new(),
        }
    }

    /// The running steps. The times are the run's own, which do not pass while it is suspended.
    fn running(&mut self, at: u64, running: &[Running<'_>]) {
        let Self::Live(live) = self else { return };
        live.keep(|index| running.iter().any(|r| r.step == index));
        for step in running {
            live.row(at, step);
        }
        let hidden = running.len().saturating_sub(live.running.len());
        let failed = format!("{} failed", live.failed);
        let failed = (live.failed > 0).then(|| paint(live.color, Tone::Bad, &failed));
        let hidden = (hidden > 0).then(|| format!("{hidden} more running"));
        let mut room = live.room();
        let mut message = String::from(" ");
        for part in [Some(elapsed(at)), failed, hidden].into_iter().flatten() {
            let gap = if message == " " { " " } else { ", " };
            // Colours take no column.
            let taken = gap.len() + without_escapes(&part).chars().count();
            if taken > room {
                break;
            }
            room -= taken;
            message.push_str(gap);
            message.push_str(&part);
        }
        live.bar.set_message(message);
    }

    /// A step is over.
    fn ended(&mut self, index: StepIndex, record: &StepRecord, at: u64, terminal: &Terminal) {
        match self {
            Self::None => {}
            Self::Plain(plain) => terminal.note(&plain.ended(record, at)),
            Self::Live(live) => {
                live.keep(|other| other != index);
                live.bar.inc(1);
                if record.status.is_failure() {
                    live.failed += 1;
                    live.bar.suspend(|| terminal.note(&live.rows.line(record)));
                }
            }
        }
    }

    /// The plan has been rewritten; the evidence of so many of its steps stays.
    fn rewritten(&mut self, rule: &str, plan: &Plan, kept: usize, terminal: &Terminal) {
        let say = |color| {
            let steps = count(plan.steps.len(), "step");
            let what = format!("↻ plan repaired by {}, now {steps}", visible(rule));
            format!("  {}\n", paint(color, Tone::Warn, &what))
        };
        match self {
            Self::None => {}
            Self::Plain(plain) => {
                terminal.note(&say(plain.color));
                plain.rows = ReportRows::new(plan, terminal.columns, plain.color);
                plain.counts = [plan.steps.len(), kept, 0];
            }
            Self::Live(live) => {
                live.bar.suspend(|| terminal.note(&say(live.color)));
                live.bar.set_length(plan.steps.len() as u64);
                live.bar.set_position(kept as u64);
                live.ids = plan.steps.iter().map(|s| s.id.clone()).collect();
                live.rows = ReportRows::new(plan, terminal.columns, live.color);
                live.failed = 0;
            }
        }
    }

    /// The run has ended: the live view goes.
    fn close(self) {
        if let Self::Live(live) = self {
            let rows = live.running.values();
            rows.for_each(ProgressBar::finish_and_clear);
            live.bar.finish_and_clear();
        }
    }
}

impl Plain {
    /// Prints the line of a finished step, at so many milliseconds since the run's start.
    fn ended(&mut self, record: &StepRecord, at: u64) -> String {
        let [all, over, failed] = &mut self.counts;
        *over += 1;
        *failed += usize::from(record.status.is_failure());
        let mut text = String::new();
        if *all <= MANY || record.status != Status::Passed {
            self.statuses.insert(record.id.clone(), record.status);
            text = self.rows.line(record);
        }
        let tenths = |over: usize| over * 10 / (*all).max(1);
        if *all > MANY && tenths(*over) > tenths(*over - 1) {
            let bad = text_if(*failed > 0, || format!(", {failed} failed"));
            let sum = format!("{over}/{all}  {}{bad}", elapsed(at));
            text.push_str(&format!("  {}\n", paint(self.color, Tone::Faint, &sum)));
        }
        text
    }
}

impl Live {
    /// Columns that the message of the bar may take: some at the end stay free.
    fn room(&self) -> usize {
        let steps = self.ids.iter().count().to_string().len();
        self.columns
            .saturating_sub(width(self.columns) + 2 * steps + 5 + ECHOED)
    }

    /// Takes away the lines of other steps than these.
    fn keep(&mut self, these: impl Fn(StepIndex) -> bool) {
        let all = &self.all;
        self.running.retain(|index, row| {
            let stays = these(*index);
            if !stays {
                row.finish_and_clear();
                all.remove(row);
            }
            stays
        });
    }

    /// Shows a running step and the last line that it wrote, if there is a place.
    fn row(&mut self, at: u64, step: &Running<'_>) {
        let id = &self.ids[step.step];
        let is_full = self.running.len() >= SHOWN;
        let row = match self.running.entry(step.step) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(_) if is_full => return,
            Entry::Vacant(free) => {
                let spinner = ProgressBar::new_spinner();
                let row = self.all.insert_before(&self.bar, spinner);
                let style = ProgressStyle::with_template("  {spinner} {wide_msg}");
                row.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
                row.enable_steady_tick(TICK);
                free.insert(row)
            }
        };
        let again = framed("try ", Some(step.attempt).filter(|n| *n > 1), ": ");
        let tail = step.live.tail();
        let lines = tail
            .split(|b| *b == b'\n' || *b == b'\r')
            .map(<[u8]>::trim_ascii);
        let last = lines
            .rev()
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        let time = elapsed(at.saturating_sub(step.since));
        let head = format!("{}  {time:>7}  ", self.rows.id(id));
        let room = self.columns.saturating_sub(head.chars().count() + 6);
        let what = cut(&format!("{again}{}", visible(last)), room);
        row.set_message(format!("{head}{}", paint(self.color, Tone::Faint, &what)));
    }
}

/// Columns of the bar.
fn width(columns: usize) -> usize {
    if columns < 80 { 12 } else { 24 }
}

/// Whole seconds: tenths would only flicker.
fn elapsed(ms: u64) -> String {
    if ms < 60_000 {
        format!("{}s", ms / 1_000)
    } else {
        duration(ms)
    }
}
