//! The state of a step's inputs, kept while the step runs.

use super::confirm::Expected;
use super::other_runs::OtherRuns;
use super::scan::InputScan;
use super::unsteady::Unsteady;
use std::sync::{Arc, Mutex, MutexGuard};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_git::fingerprint::GitPrints;
use vplan_os::parallel::locked;
use vplan_reuse::entry::{KeptPass, Product};
use vplan_reuse::key::Parts;
use vplan_reuse::listing::{Listing, MOST_LISTED};
use vplan_reuse::shared::SharedParts;

/// A step that runs.
pub(super) struct Open {
    pub key: Digest,
    pub look: Arc<StepInputs>,
    /// The earlier passes on the same inputs that it is compared with.
    pub expected: Vec<Expected>,
    /// What a pass of it rests on wherever it is, where it is shared.
    pub shared: Option<SharedParts>,
    /// The files that it made, once it has ended; or why its end cannot be kept.
    pub made: Option<Result<Made, Unsteady>>,
}

/// What a step left when it had ended.
pub(super) struct Made {
    pub products: Vec<Product>,
    /// The inputs that it changed.
    pub wrote: Vec<RepoPath>,
    /// The first of them that others had left.
    pub inherited: Option<RepoPath>,
    /// All that it depends on, as it left it.
    pub parts: Parts,
    /// The list of the files, if that is kept.
    pub listing: Option<Digest>,
    /// Whether any of it rests on watches that told nothing.
    pub is_believed: bool,
}

/// A pass that is about to be kept.
pub(super) struct Pending {
    pub entry: KeptPass,
    /// The same, for the state that it left.
    pub left: Option<KeptPass>,
    /// What it rests on wherever it is, where it is shared.
    pub shared: Option<SharedParts>,
    pub listing: Option<Digest>,
    pub is_believed: bool,
}

/// The inputs of a step at one moment.
pub(super) struct StepInputs {
    pub parts: Parts,
    pub files: Arc<InputScan>,
    pub unchanged: Option<GitPrints>,
    /// How often a process of a step had begun or ended, if none ran then.
    pub quiet: Option<u64>,
    /// Other runs before the files were scanned, if they can be detected.
    pub others: Option<OtherRuns>,
    /// Whether the files were scanned before steps ran, and no watch has reported a change.
    pub is_believed: bool,
    /// The list of the files, if it was made to say what differs from an earlier pass.
    pub listed: Mutex<Option<Listing>>,
}

impl StepInputs {
    /// Whether its files are those of a later look, which needed no other scan.
    pub(super) fn has_files_of(&self, later: &StepInputs) -> bool {
        Arc::ptr_eq(&self.files, &later.files) && self.unchanged == later.unchanged
    }

    pub(super) fn listed(&self) -> MutexGuard<'_, Option<Listing>> {
        locked(&self.listed)
    }

    /// Lists its files; `None` where there are too many.
    pub(super) fn listing(&self) -> Option<Listing> {
        if self.files.len() > MOST_LISTED {
            return None;
        }
        let unchanged = self.unchanged.iter().flatten();
        let others = unchanged
            .filter(|(path, _)| self.files.get(path).is_none())
            .map(|(path, print)| (path.clone(), Digest::hash(format!("{print:?}").as_bytes())));
        let files = self.files.files();
        let files = files.map(|(path, seen)| (path.clone(), seen.print.digest()));
        Some(Listing::from_files(files.chain(others)))
    }
}
