//! Prepares the record of a run for its HTML page (`render::html`).

use super::outputs::PAGE;
use super::render::html::{LOG_SHOWN, Log, Record, Try, page};
use crate::base::vocabulary::Exit;
use crate::effect::os::files::read_start;
use crate::effect::store::history::History;
use crate::engine::Failure;
use crate::run::journal::{JournalEntry, lines};
use crate::run::report::Report;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;

/// Writes the page of a run to a file; `-` is for the caller to print. Gives the page.
///
/// # Errors
/// A run without a report (interrupted, still going on, damaged): exit 2. A file that cannot be
/// written: exit 5.
pub fn write(history: &History, id: &str, to: &Path, force: bool) -> Result<String, Failure> {
    let cannot = |what: &str, why: String| {
        Failure::usage(
            "vplan::records::no_page",
            format!("there is no page for the run `{id}`: its {what} {why}"),
        )
        .help("`vplan details` and `vplan report` show what is left of it")
    };
    let absent = || "is not there, so the run did not come to its end".to_owned();
    let report = history
        .report(id)
        .and_then(|r| r.ok_or_else(absent))
        .map_err(|why| cannot("report", why))?;
    let plan = history
        .plan(id)
        .and_then(|p| p.ok_or_else(absent))
        .map_err(|why| cannot("plan", why))?;
    let record = record(history, id, &report);
    let page = page(&report, &plan, &record);
    if to != Path::new("-") {
        PAGE.write(to, &page, force).map_err(|e| {
            let shown = crate::base::word::visible(to.as_os_str().as_encoded_bytes());
            Failure::new(
                Exit::Setup,
                "vplan::records::page",
                format!("`{shown}` cannot be written: {e}"),
            )
        })?;
    }
    Ok(page)
}

fn record(history: &History, id: &str, report: &Report) -> Record {
    let mut record = Record::default();
    for line in lines(&history.events(id).unwrap_or_default()) {
        match line.entry {
            JournalEntry::RunStarted { started_at, .. } => record.started_at = started_at,
            JournalEntry::StepStarted { attempt, id, .. } => {
                record.tries.push(Try {
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
                let begun = record
                    .tries
                    .iter_mut()
                    .rev()
                    .find(|t| t.id == id && t.attempt == attempt && t.to.is_none());
                if let Some(begun) = begun {
                    begun.to = Some(line.t);
                    begun.status = Some(status);
                }
            }
            _ => {}
        }
    }
    for step in &report.steps {
        // A log that is gone leaves the ends in the report.
        let log = step
            .log
            .as_ref()
            .and_then(|path| ends(history.log(id, path).ok()?).ok());
        record.logs.extend(log.map(|log| (step.id.clone(), log)));
    }
    record
}

/// Beginning and end of a log.
fn ends(mut file: File) -> io::Result<Log> {
    let (most, half) = (LOG_SHOWN as u64, LOG_SHOWN as u64 / 2);
    let length = file.metadata()?.len();
    if length <= most {
        return Ok(Log {
            head: read_start(file, most)?,
            omitted: 0,
            tail: Vec::new(),
        });
    }
    let head = read_start(&file, half)?;
    file.seek(SeekFrom::Start(length - half))?;
    Ok(Log {
        head,
        omitted: length - most,
        tail: read_start(file, half)?,
    })
}
