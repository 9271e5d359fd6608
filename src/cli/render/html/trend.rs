//! Draws the last runs of a contract: a bar a run, as high as it took long, and the same as a table.

use super::foreign::{text, when};
use crate::render::style::{count, duration};
use std::fmt::Write as _;
use vplan_base::vocabulary::Exit;
use vplan_run::past::{State, Summary, short};
use vplan_run::verdict::Verdict;

/// The width of a bar with its gap, in the drawing's own units.
const STEP: u64 = 12;
/// The height of the highest bar.
const HEIGHT: u64 = 60;
/// The height of the mark below the bar of a run that did not pass: colour alone is not enough.
const MARK: u64 = 4;

/// Writes the section; nothing where there is only one run. `runs`: oldest first; `current`: the run
/// of the page.
pub(super) fn section(out: &mut String, runs: &[Summary], current: &str) {
    if runs.len() < 2 {
        return;
    }
    let longest = runs.iter().map(|r| r.duration_ms).max().unwrap_or(0).max(1);
    let good = runs.iter().filter(|r| tone(r) == "good").count();
    let (all, took) = (count(runs.len(), "run"), duration(longest));
    let label = format!("the last {all} of this contract: {good} passed; the longest took {took}");
    let (columns, label) = (runs.len() as u64 * STEP, text(&label));
    let rows = HEIGHT + 2 * MARK;
    let _ = write!(
        out,
        "<section>\n<h2>last runs</h2>\n<p class=\"faint\">{label}</p>\n<svg class=\"trend\" viewBox=\"0 0 {columns} {rows}\" \
        preserveAspectRatio=\"xMinYMax meet\" role=\"img\" aria-label=\"{label}\">\n"
    );
    for (at, run) in (0_u64..).zip(runs) {
        bar(out, at, run, longest, run.run_id == current);
    }
    out.push_str(
        "</svg>\n<details class=\"runs\"><summary>the same as a list</summary>\n<table>\n\
        <tr><th>run</th><th>started</th><th>ended</th><th>took</th></tr>\n",
    );
    for run in runs.iter().rev() {
        let is_current = run.run_id == current;
        let here = if is_current { " (this one)" } else { "" };
        let started = when(run.started_at.as_deref().unwrap_or("unknown"));
        let (day, time) = started.split_once(' ').unwrap_or((&started, ""));
        let [id, day, time, words] = [short(&run.run_id), day, time, &words(run)].map(text);
        let (tone, took) = (tone(run), duration(run.duration_ms));
        let _ = writeln!(
            out,
            "<tr><td><code>{id}</code>{here}</td><td><span class=\"day\">{day}</span> {time}</td><td class=\"{tone}\">{words}</td><td>{took}</td></tr>"
        );
    }
    out.push_str("</table>\n</details>\n</section>\n");
}

/// A bar, a mark below it if the run did not pass, and a line below the bar of this page's run.
fn bar(out: &mut String, at: u64, run: &Summary, longest: u64, is_current: bool) {
    let height = (u128::from(run.duration_ms) * u128::from(HEIGHT) / u128::from(longest)).max(2);
    let (x, y) = (at * STEP + 1, u128::from(HEIGHT).saturating_sub(height));
    let (tone, width) = (tone(run), STEP - 2);
    let time = duration(run.duration_ms);
    let title = format!("{}: {} in {time}", short(&run.run_id), words(run));
    let _ = write!(
        out,
        "<g><title>{}</title><rect class=\"{tone}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"></rect>",
        text(&title)
    );
    let mark = if tone == "good" { 0 } else { MARK };
    let line = if is_current { 2 } else { 0 };
    let _ = writeln!(
        out,
        "<rect class=\"{tone}\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{mark}\"></rect><rect class=\"here\" x=\"{x}\" y=\"{}\" \
         width=\"{width}\" height=\"{line}\"></rect></g>",
        HEIGHT + 1,
        HEIGHT + MARK + 2
    );
}

fn tone(run: &Summary) -> &'static str {
    match (run.state, run.verdict, run.exit_code) {
        (State::Running, ..) => "off",
        (State::Finished, Some(Verdict::Passed), Some(code)) if code == Exit::Success.code() => {
            "good"
        }
        (State::Finished, Some(Verdict::NothingToVerify), _) | (State::Interrupted, ..) => "warn",
        (State::Finished, ..) => "bad",
    }
}

fn words(run: &Summary) -> String {
    run.word().replace('_', " ")
}
