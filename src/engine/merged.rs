//! Merges the reports of shards: finds them, and refuses those that `vplan verify` refuses.

use crate::{Engine, Exit, Failure, first_of, visible, visible_path};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use vplan_base::word::count;
use vplan_os::files;
use vplan_run::merge::{MergeError, MergeRequest, Merged, Part, TAMPERED, UNREADABLE, merge, read};
use vplan_store::records::{EVENTS, REPORT};
use vplan_store::report_files::{DEPTH, find};

/// Size limit of all reports together, in bytes.
const MAX_REPORTS: u64 = 1 << 30;
/// Size limit of a report, in bytes.
const MAX_REPORT: u64 = 256 << 20;
/// Maximum number of folders that a note names.
const NAMED: usize = 3;

/// The reason why reports cannot be merged.
#[derive(Debug)]
pub enum CannotMerge {
    /// A report cannot be read, or was not written by vplan.
    Report(Box<Failure>),
    /// They contradict each other.
    Contradict(MergeError),
}

impl Engine<'_> {
    /// Merges the reports at these paths or in these folders. Returns the merged report with notes
    /// for people. If a plan is expected, a path without a report is not an error.
    ///
    /// # Errors
    /// Reports that cannot be read, were changed, or contradict each other.
    pub fn merge(
        &self,
        paths: &[PathBuf],
        request: &MergeRequest,
    ) -> Result<(Merged, Vec<String>), CannotMerge> {
        let mut notes = Vec::new();
        let mut parts = Vec::new();
        let mut left = MAX_REPORTS;
        for file in find_reports(paths, request.expect.is_some(), &mut notes).map_err(reported)? {
            let part = load(&file, &mut left).map_err(reported)?;
            let folder = file.parent().filter(|folder| is_record(&file, folder));
            // Reports of whole runs are not examined: `merge` refuses them anyway.
            if part.report.shard.is_some()
                && let Some(aspect) = self.refuses(&part.report, folder)
            {
                let why = format!("was changed after it was written: {}", aspect.message);
                return Err(reported(wrong(TAMPERED, &part.name, &why)));
            }
            parts.push(part);
        }
        let merged = merge(parts, request).map_err(CannotMerge::Contradict)?;
        Ok((merged, notes))
    }
}

fn reported(failure: Failure) -> CannotMerge {
    CannotMerge::Report(Box::new(failure))
}

fn wrong(code: &'static str, name: &str, why: &str) -> Failure {
    let why = visible(why);
    Failure::new(Exit::Usage, code, format!("`{name}` {why}"))
}

/// Whether a report is in the folder of its run.
fn is_record(file: &Path, folder: &Path) -> bool {
    file.ends_with(REPORT) && folder.join(EVENTS).symlink_metadata().is_ok()
}

/// Finds the files of all reports, each once.
fn find_reports(
    paths: &[PathBuf],
    is_expected: bool,
    notes: &mut Vec<String>,
) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut files = BTreeSet::new();
    for path in paths {
        let name = visible_path(path);
        let absent = |why: &str, notes: &mut Vec<String>| {
            if is_expected {
                notes.push(format!("`{name}` {why}"));
                Ok(())
            } else {
                Err(wrong(UNREADABLE, &name, why))
            }
        };
        if !path.is_dir() {
            match path.symlink_metadata() {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    absent(&format!("cannot be read: {e}"), notes)?;
                }
                _ => drop(files.insert(path.clone())),
            }
            continue;
        }
        let below = find(path).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::QuotaExceeded => format!("{e}: name the folders of the runs"),
                _ => format!("cannot be read: {e}"),
            };
            wrong(UNREADABLE, &name, &why)
        })?;
        if below.files.is_empty() {
            let why = match below.unfinished.is_empty() {
                true => format!("holds no report, {DEPTH} folders deep"),
                false => "holds no report: its run did not come to an end".to_owned(),
            };
            absent(&why, notes)?;
        } else if !below.unfinished.is_empty() {
            let runs = count(below.unfinished.len(), "run");
            let some = some_of(&below.unfinished);
            notes.push(format!("{runs} did not come to an end: {some}"));
        }
        if !below.skipped.is_empty() {
            let folders = count(below.skipped.len(), "folder");
            let skipped = some_of(&below.skipped);
            notes.push(format!(
                "{folders} not looked into, too deep or a symlink: {skipped}"
            ));
        }
        files.extend(below.files);
    }
    Ok(files)
}

fn some_of(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| format!("`{}`", visible_path(path));
    first_of(paths.iter().map(name), NAMED)
}

fn load(file: &Path, left: &mut u64) -> Result<Part, Failure> {
    let name = visible_path(file);
    let cap = MAX_REPORT.min(*left);
    let bytes = files::read_plain(file, cap).map_err(|e| {
        let why = match e.kind() {
            io::ErrorKind::FileTooLarge if cap < MAX_REPORT => {
                "is one too many: together the reports are larger than 1GiB".to_owned()
            }
            io::ErrorKind::FileTooLarge => "is larger than any report".to_owned(),
            _ => format!("cannot be read: {e}"),
        };
        wrong(UNREADABLE, &name, &why)
    })?;
    *left = left.saturating_sub(bytes.len() as u64);
    read(&name, &bytes).map_err(|e| Failure::new(e.exit, e.code, e.message).helped(e.help))
}
