//! Divides a plan into shares that take equally long, by the runs that are recorded.

use super::failure::Failure;
use super::place::Engine;
use super::request::{PlanFile, PlanRequest, VerifyRequest};
use super::saved::{Opened, open};
use super::tree_status::unreadable;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use vplan_base::word::{count, visible_path};
use vplan_os::files;
use vplan_plan::Plan;
use vplan_run::journal::replay;
use vplan_run::past::Tally;
use vplan_store::history::{History, MAX_FILE};
use vplan_store::records::EVENTS;
use vplan_store::report_files::find;

/// The most bytes of all journals that are read.
const MAX_JOURNALS: u64 = 1 << 30;

/// How long steps took, and how many runs say so.
#[derive(Debug, Default)]
pub struct KnownTimes {
    /// The median of each step by id, in milliseconds.
    pub medians: BTreeMap<String, u64>,
    /// The number of runs that were looked at.
    pub runs: usize,
}

impl Engine<'_> {
    /// Opens a plan file as `vplan run --plan` does: it is refused where the plan would be another
    /// one today.
    ///
    /// # Errors
    /// A file that is no plan, a contract that is missing or invalid, a plan that would be another
    /// one (exit 4).
    pub fn saved_plan(&self, path: &Path, requested: PlanRequest) -> Result<Plan, Failure> {
        let file = PlanFile {
            path: path.to_owned(),
            allow_drift: false,
            as_is: false,
        };
        let requested = VerifyRequest {
            plan: requested,
            ..VerifyRequest::default()
        };
        let Opened { plan, .. } = open(self, &requested, &file)?;
        Ok(plan)
    }

    /// Returns how long steps took in the recorded runs of the repository, or in those that lie in
    /// a folder, up to four folders deep.
    ///
    /// # Errors
    /// Records or a folder that cannot be read.
    pub fn known_times(&self, past: Option<&Path>) -> Result<KnownTimes, Failure> {
        let Some(folder) = past else {
            let site = self.locate()?;
            let history = History::open(&site.root, None).map_err(|e| unreadable(&e))?;
            let ids = history.ids().map_err(|e| unreadable(&e))?;
            return Ok(KnownTimes {
                medians: history.tally(&ids).medians(),
                runs: ids.len(),
            });
        };
        let found = find(folder).map_err(|e| {
            let name = visible_path(folder);
            let message = format!("`{name}` cannot be read: {e}");
            Failure::usage("vplan::usage::past", message)
                .help("`--past` names a folder of runs, such as `.vplan`")
        })?;
        let of_reports = found.files.iter().filter_map(|file| file.parent());
        let runs: BTreeSet<PathBuf> = of_reports
            .map(Path::to_owned)
            .chain(found.unfinished)
            .collect();
        let (mut tally, mut read, mut left) = (Tally::default(), 0, MAX_JOURNALS);
        for run in runs {
            // What cannot be read says nothing of how long anything took.
            if let Ok(bytes) = files::read_plain(&run.join(EVENTS), MAX_FILE.min(left)) {
                left = left.saturating_sub(bytes.len() as u64);
                tally.add("", &replay(&bytes));
                read += 1;
            }
        }
        Ok(KnownTimes {
            medians: tally.medians(),
            runs: read,
        })
    }
}

impl KnownTimes {
    /// Says where the weights of a division come from.
    #[must_use]
    pub fn told(&self, plan: &Plan) -> String {
        let known = |id: &str| self.medians.contains_key(id);
        let all = plan.steps.len();
        let known = plan.steps.iter().filter(|step| known(&step.id)).count();
        let runs = count(self.runs, "run");
        match (known, all - known) {
            (0, _) => format!("none of the steps is in {runs}: each counts alike"),
            (_, 0) => format!("weighed by {runs}"),
            (_, new) => format!(
                "weighed by {runs}; {} of {} in none of them: {} as long as the median",
                new,
                count(all, "step"),
                if new == 1 { "it counts" } else { "they count" }
            ),
        }
    }
}
