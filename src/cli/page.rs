//! Prepares the record of a run for its HTML page (`render::html`).

use super::outputs::PAGE;
use super::render::html::{HtmlLog, HtmlRecord, HtmlTry, LOG_SHOWN, RUNS_SHOWN, page};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;
use vplan_engine::Failure;
use vplan_os::files::read_start;
use vplan_plan::Plan;
use vplan_plan::audit::matrix::Matrix;
use vplan_run::journal::{JournalEntry, lines};
use vplan_run::report::Report;
use vplan_run::run_summary::Summary;
use vplan_store::history::History;

/// Search limit for runs of the same contract.
const LOOKED_AT: usize = 200;

/// Writes the page of a run to a file, and returns it; the caller prints it for `-`. `root`: the
/// repository, whose directory names the project. `matrix`: the recorded reads of its steps.
///
/// # Errors
/// A run without a report (interrupted, still going on, damaged): exit 2. A file that cannot be
/// written: exit 5.
pub fn write(
    (root, history): (&Path, &History),
    id: &str,
    matrix: Matrix,
    to: &Path,
    force: bool,
) -> Result<String, Failure> {
    let cannot = |what: &str, why: io::Error| {
        let message = format!("there is no page for the run `{id}`: its {what} {why}");
        Failure::usage("vplan::records::no_page", message)
            .help("`vplan details` and `vplan report` show what is left of it")
    };
    let absent = || io::Error::other("is not there, so the run did not come to its end");
    let report = history
        .report(id)
        .and_then(|r| r.ok_or_else(absent))
        .map_err(|why| cannot("report", why))?;
    let plan = history
        .plan(id)
        .and_then(|p| p.ok_or_else(absent))
        .map_err(|why| cannot("plan", why))?;
    let name = root.file_name().unwrap_or_default();
    let record = HtmlRecord {
        project: name.to_string_lossy().into_owned(),
        matrix,
        runs: trend(history, id, &plan),
        ..record(history, id, &report)
    };
    let page = page(&report, &plan, &record);
    if to != Path::new("-") {
        PAGE.write(to, &page, force).map_err(|e| {
            let shown = vplan_base::word::visible_path(to);
            let message = format!("`{shown}` cannot be written: {e}");
            Failure::setup("vplan::records::page", message)
        })?;
    }
    Ok(page)
}

/// The last recorded runs of the contract of a plan, oldest first, including the run of the page,
/// however old it is. Omits unreadable records: the trend is for people.
fn trend(history: &History, id: &str, plan: &Plan) -> Vec<Summary> {
    let path = |plan: &Plan| plan.contract.as_ref().map(|c| c.path.clone());
    let own = path(plan);
    let ids = history.ids().unwrap_or_default();
    let mut runs: Vec<Summary> = Vec::new();
    for other in ids.iter().take(LOOKED_AT).filter(|other| *other != id) {
        if runs.len() + 1 == RUNS_SHOWN {
            break;
        }
        let of_it = history.plan(other).ok().flatten();
        if of_it.is_some_and(|plan| path(&plan) == own) {
            runs.push(history.read_run(other).summary());
        }
    }
    runs.push(history.read_run(id).summary());
    // The name of a run begins with the time of its start.
    runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    runs
}

fn record(history: &History, id: &str, report: &Report) -> HtmlRecord {
    let mut record = HtmlRecord::default();
    for line in lines(&history.events(id).unwrap_or_default()) {
        match line.entry {
            JournalEntry::RunStarted { started_at, .. } => record.started_at = started_at,
            JournalEntry::StepStarted { attempt, id, .. } => {
                record.tries.push(HtmlTry {
                    id,
                    attempt,
                    from: line.t,
                    to: None,
                    status: None,
                });
            }
            JournalEntry::StepFinished {
                attempt,
                id,
                status,
                ..
            } => {
                let is_it = |t: &&mut HtmlTry| t.id == id && t.attempt == attempt && t.to.is_none();
                if let Some(begun) = record.tries.iter_mut().rev().find(is_it) {
                    begun.to = Some(line.t);
                    begun.status = Some(status);
                }
            }
            _ => {}
        }
    }
    for step in &report.steps {
        // A log that is gone leaves the ends in the report.
        let log = step.log.as_ref();
        let log = log.and_then(|path| ends(history.log(id, path).ok()?).ok());
        record.logs.extend(log.map(|log| (step.id.clone(), log)));
    }
    record
}

/// Beginning and end of a log.
fn ends(mut file: File) -> io::Result<HtmlLog> {
    let (most, half) = (LOG_SHOWN as u64, LOG_SHOWN as u64 / 2);
    let length = file.metadata()?.len();
    if length <= most {
        let head = read_start(file, most)?;
        return Ok(HtmlLog {
            head,
            ..HtmlLog::default()
        });
    }
    let head = read_start(&file, half)?;
    file.seek(SeekFrom::Start(length - half))?;
    Ok(HtmlLog {
        head,
        omitted: length - most,
        tail: read_start(file, half)?,
    })
}
