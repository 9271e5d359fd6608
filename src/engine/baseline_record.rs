//! Records the findings of a run as known.

use super::baseline::failed;
use super::failure::{Failure, invalid};
use super::place::Engine;
use super::tree_status::unreadable;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_baseline::{Recording, partial_checks, record, tighten};
use vplan_plan::Plan;
use vplan_repo::baseline as file;
use vplan_repo::load::Site;
use vplan_run::report::Report;
use vplan_store::history::History;

/// Search limit for the newest run of a contract.
const LOOKED_AT: usize = 200;

/// The request to record a baseline.
#[derive(Clone, Copy, Debug)]
pub struct RecordRequest<'a> {
    /// The checks to record; empty for all of the run.
    pub checks: &'a [String],
    /// Only remove what the run no longer shows.
    pub tighten: bool,
    /// The full name of the run; the latest of the contract otherwise.
    pub run: Option<&'a str>,
}

/// A baseline that was recorded.
#[derive(Debug)]
pub struct RecordedBaseline {
    /// The baseline file that was written.
    pub path: RepoPath,
    /// The id of the recorded run.
    pub run: String,
    /// What was added, removed and kept.
    pub recording: Recording,
    /// Whether the file was written: an unchanged one is not.
    pub written: bool,
}

impl Engine<'_> {
    /// Writes the baseline of the work tree from a recorded run.
    ///
    /// # Errors
    /// No contract, no such run, a check that the contract does not have (exit 2), a baseline that
    /// is damaged or cannot be written (exit 3).
    pub fn record_baseline(
        &self,
        site: &Site,
        history: &History,
        asked: &RecordRequest<'_>,
    ) -> Result<RecordedBaseline, Failure> {
        let loaded = self.load_contract(site)?;
        let Some(contract) = &loaded.contract else {
            return Err(invalid(loaded));
        };
        for check in asked.checks {
            if !contract.checks.iter().any(|c| c.id == *check) {
                let name = visible(check);
                let message = format!("the contract has no check `{name}`");
                return Err(Failure::usage("vplan::usage::unknown_check", message)
                    .help("`vplan explain --all` lists them"));
            }
        }
        let (path, old) = self.baseline(site)?;
        let (run, report, plan) = match asked.run {
            Some(id) => {
                let (report, plan) = read_run(history, id).map_err(|why| {
                    let message = format!("the run `{}` {why}", visible(id));
                    Failure::usage("vplan::baseline::run", message)
                })?;
                (id.to_owned(), report, plan)
            }
            None => latest(history, &loaded.path.to_string())?,
        };
        let is_of_this = plan
            .contract
            .as_ref()
            .is_some_and(|c| c.path == loaded.path.to_string());
        if !is_of_this {
            let message = format!("the run `{run}` was not of the contract `{}`", loaded.path);
            return Err(Failure::usage("vplan::baseline::run", message).help(RUN_FIRST));
        }
        let partial = partial_checks(contract);
        let make = if asked.tighten { tighten } else { record };
        let recording = make(&old, &report, &plan, asked.checks, &partial);
        let written = recording.baseline != old;
        if written {
            file::write(site, &path, &recording.baseline).map_err(failed)?;
        }
        Ok(RecordedBaseline {
            path,
            run,
            recording,
            written,
        })
    }
}

/// The help if there is no run to record.
const RUN_FIRST: &str = "`vplan run --all --keep-going` looks at everything, then record again";

fn read_run(history: &History, id: &str) -> Result<(Report, Plan), String> {
    let report = history
        .report(id)?
        .ok_or_else(|| "has no report: it did not come to its end".to_owned())?;
    let plan = history
        .plan(id)?
        .ok_or_else(|| "has no plan beside its report".to_owned())?;
    Ok((report, plan))
}

/// Finds the newest run of a contract that has a report.
fn latest(history: &History, contract: &str) -> Result<(String, Report, Plan), Failure> {
    let ids = history.ids().map_err(|e| unreadable(&e))?;
    ids.into_iter()
        .take(LOOKED_AT)
        .find_map(|id| {
            let (report, plan) = read_run(history, &id).ok()?;
            let is_of_this = plan.contract.as_ref().is_some_and(|c| c.path == contract);
            is_of_this.then_some((id, report, plan))
        })
        .ok_or_else(|| {
            let message = format!("no run of `{contract}` is recorded");
            Failure::usage("vplan::baseline::run", message).help(RUN_FIRST)
        })
}
