//! Draws the last runs of a contract: a bar a run, as high as it took long, and the same as a table.

use super::foreign::{text, when};
use crate::render::style::{count, duration};
use maud::{Markup, html};
use vplan_base::vocabulary::Exit;
use vplan_run::run_summary::{State, Summary, short};
use vplan_run::verdict::Verdict;

/// The width of a bar with its gap, in the drawing's own units.
const STEP: u64 = 12;
/// The height of the highest bar.
const HEIGHT: u64 = 60;
/// The height of the mark below the bar of a run that did not pass: colour alone is not enough.
const MARK: u64 = 4;

/// Returns the section; nothing where there is only one run. `runs`: oldest first; `current`: the
/// run of the page.
pub(super) fn section(runs: &[Summary], current: &str) -> Markup {
    let longest = runs.iter().map(|r| r.duration_ms).max().unwrap_or(0).max(1);
    let good = runs.iter().filter(|r| tone(r) == "good").count();
    let (all, took) = (count(runs.len(), "run"), duration(longest));
    let label = format!("the last {all} of this contract: {good} passed; the longest took {took}");
    let (columns, rows) = (runs.len() as u64 * STEP, HEIGHT + 2 * MARK);
    html! {
        @if runs.len() > 1 {
            section {
                h2 { "last runs" }
                p.faint { (label) }
                svg.trend viewBox={ "0 0 " (columns) " " (rows) } preserveAspectRatio="xMinYMax meet" role="img" aria-label=(label) {
                    @for (at, run) in (0_u64..).zip(runs) { (bar(at, run, longest, run.run_id == current)) }
                }
                details.runs {
                    summary { "the same as a list" }
                    table {
                        tr { th { "run" } th { "started" } th { "ended" } th { "took" } }
                        @for run in runs.iter().rev() { (row(run, run.run_id == current)) }
                    }
                }
            }
        }
    }
}

fn row(run: &Summary, is_current: bool) -> Markup {
    let started = when(run.started_at.as_deref().unwrap_or("unknown"));
    let (day, time) = started.split_once(' ').unwrap_or((&started, ""));
    html! {
        tr {
            td { code { (text(short(&run.run_id))) } @if is_current { " (this one)" } }
            td { span.day { (text(day)) } " " (text(time)) }
            td class=(tone(run)) { (text(&words(run))) }
            td { (duration(run.duration_ms)) }
        }
    }
}

/// A bar, a mark below it if the run did not pass, and a line below the bar of this page's run.
fn bar(at: u64, run: &Summary, longest: u64, is_current: bool) -> Markup {
    let height = (u128::from(run.duration_ms) * u128::from(HEIGHT) / u128::from(longest)).max(2);
    let (x, y) = (at * STEP + 1, u128::from(HEIGHT).saturating_sub(height));
    let (tone, width) = (tone(run), STEP - 2);
    let time = duration(run.duration_ms);
    let title = format!("{}: {} in {time}", short(&run.run_id), words(run));
    let mark = if tone == "good" { 0 } else { MARK };
    let line = if is_current { 2 } else { 0 };
    html! {
        g {
            title { (text(&title)) }
            rect class=(tone) x=(x) y=(y) width=(width) height=(height) {}
            rect class=(tone) x=(x) y=(HEIGHT + 1) width=(width) height=(mark) {}
            rect.here x=(x) y=(HEIGHT + MARK + 2) width=(width) height=(line) {}
        }
    }
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
