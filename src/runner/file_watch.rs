//! Compares the files that `unchanged` and `report` select before and after a try of a step.

use crate::reports::{Aside, Before};
use std::path::Path;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FormatName;
use vplan_check::evidence::{Evidence, SpawnError, UNCONFINED};
use vplan_check::output::reader::Format;
use vplan_check::output::{ALL, resolve_name};
use vplan_check::results::Reading;
use vplan_git::Git;
use vplan_git::fingerprint;
use vplan_os::files::beneath::Beneath;
use vplan_os::process::mask::Secrets;
use vplan_plan::Step;

/// Inspects the files again. Their content is masked.
pub type Watch = Box<dyn FnOnce(&Secrets) -> Looked>;
type ReportsAgain = Box<dyn FnOnce(&Secrets) -> WatchReports>;

/// The changes that were found after a try.
#[derive(Debug, Default)]
pub struct Looked {
    /// The first changed file that `unchanged` selects; files that cannot be compared count as
    /// changed.
    pub mutated: Option<RepoPath>,
    /// The state of the reports.
    pub report: WatchReports,
    /// Why the outputs of a sealed step could not be copied into the repository.
    pub not_copied: Option<String>,
}

/// The reports of a try, as they were read.
#[derive(Debug, Default)]
pub enum WatchReports {
    /// The step has no report to write.
    #[default]
    NotAsked,
    /// None was written.
    Missing,
    /// The readings, added up.
    Read(Box<Reading>),
}

impl Looked {
    /// Whether no finding prevents the step from passing.
    pub fn is_well(&self) -> bool {
        self.mutated.is_none() && self.not_copied.is_none()
    }

    /// Adds the changes to the evidence of the try. A report takes precedence over the output.
    pub fn add_to(self, evidence: &mut Evidence) {
        evidence.mutated = self.mutated;
        if let Some(why) = self.not_copied {
            let message = format!("what it made could not become part of the repository: {why}");
            evidence.spawn_error = Some(SpawnError {
                code: UNCONFINED.to_owned(),
                message,
            });
            (evidence.exit, evidence.signal) = (None, None);
        }
        match self.report {
            WatchReports::NotAsked => {}
            WatchReports::Missing => evidence.report_missing = true,
            WatchReports::Read(reading) => evidence.reading = Some(reading),
        }
    }
}

/// Whether a step has files to be watched.
pub fn is_watched(step: &Step) -> bool {
    step.unchanged.is_some() || step.report.is_some()
}

/// Reads the state of the files that `unchanged` of a step selects, and moves those aside that its
/// `report` selects.
pub fn watch(root: &Path, git: Option<&Git>, aside: Option<&Arc<Aside>>, step: &Step) -> Watch {
    let (changes, reports) = (changes(root, git, step), reports(root, aside, step));
    Box::new(move |secrets| Looked {
        mutated: changes(),
        report: reports(secrets),
        not_copied: None,
    })
}

fn changes(root: &Path, git: Option<&Git>, step: &Step) -> Box<dyn FnOnce() -> Option<RepoPath>> {
    let Some(what) = step.unchanged.clone() else {
        return Box::new(|| None);
    };
    let (root, git) = (root.to_owned(), git.cloned());
    let prints = move || {
        let beneath = Beneath::open(&root)?;
        fingerprint::fingerprint(&beneath, &root, git.as_ref(), &what)
    };
    let before = prints();
    Box::new(move || match (before, prints()) {
        (Ok(before), Ok(after)) => fingerprint::first_difference(&before, &after),
        _ => Some(RepoPath::root()),
    })
}

fn reports(root: &Path, aside: Option<&Arc<Aside>>, step: &Step) -> ReportsAgain {
    let Some(report) = step.report.clone() else {
        return Box::new(|_| WatchReports::NotAsked);
    };
    // Which check may write the format was decided with the contract; here only how to read it
    // counts. A plan from a file may name any format.
    let name = FormatName::parse(&report.format);
    let mut formats = name
        .map(|name| resolve_name(name, step.kind))
        .unwrap_or_default();
    if formats.is_empty() {
        let bears = |f: &&Format| name.is_some_and(|name| f.names.contains(&name));
        formats = ALL.iter().filter(bears).collect();
    }
    let beneath = match Beneath::open(root) {
        Ok(beneath) => Arc::new(beneath),
        Err(error) => {
            let mut reading = Reading::from_format(&report.format);
            reading.object(format!("the repository cannot be opened: {error}"));
            return Box::new(move |_| WatchReports::Read(Box::new(reading)));
        }
    };
    let before = Before::move_away(Arc::clone(&beneath), report.glob, aside.cloned());
    let kind = step.kind;
    Box::new(
        move |secrets| match before.read(&beneath, &formats, secrets) {
            None => WatchReports::Missing,
            Some(reading) => WatchReports::Read(Box::new(reading.counted_by(kind))),
        },
    )
}
