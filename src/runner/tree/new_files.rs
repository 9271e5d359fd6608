//! Reports new files, with proposed lines for the contract or `.gitignore`.

use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_git::snapshot::Snapshot;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_run::report::NewFile;

/// The help for a tree that changed.
pub(super) const AGAIN: &str =
    "run again when nothing else writes to the work tree; `writes` says what a check may change";

/// Maximum number of proposed lines.
const MOST: usize = 3;

/// Proposes lines for new files. No line ignores a folder of the change, or a file in a folder from
/// which another one is gone: it may have been renamed.
pub(super) struct NewFileLines<'a> {
    now: &'a Snapshot,
    /// Files that changed during the run, or are gone.
    gone: BTreeSet<&'a RepoPath>,
    of_change: BTreeSet<&'a RepoPath>,
}

impl<'a> NewFileLines<'a> {
    pub fn new(
        now: &'a Snapshot,
        gone: impl Iterator<Item = &'a RepoPath>,
        of_change: impl Iterator<Item = &'a RepoPath>,
    ) -> Self {
        Self {
            now,
            gone: gone.collect(),
            of_change: of_change.collect(),
        }
    }

    /// Whether a folder has tracked files, or files of the change.
    fn is_taken(&self, folder: &str) -> bool {
        let is_below = |file: &&&RepoPath| {
            let rest = file.as_bytes().strip_prefix(folder.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"/"))
        };
        self.now.has_tracked_below(folder.as_bytes())
            || self
                .gone
                .iter()
                .chain(&self.of_change)
                .any(|file| is_below(&file))
    }

    /// Whether a file may be one of the change, or a renamed one.
    fn may_be_of_change(&self, file: &RepoPath) -> bool {
        let folder = file.folder();
        let is_near = |other: &&RepoPath| other.folder() == folder;
        self.gone.iter().any(is_near) || !folder.is_root() && self.of_change.iter().any(is_near)
    }

    /// Returns the way to settle files that a check leaves, if there is one.
    pub fn proposal<'f>(&self, files: impl Iterator<Item = &'f RepoPath>) -> Option<String> {
        let mut lines: Vec<(String, String)> = Vec::new();
        for file in files.filter(|file| !self.may_be_of_change(file)) {
            // The uppermost folder without a tracked file is named for everything below it.
            let text = file.to_string();
            let folder = text
                .match_indices('/')
                .map(|(at, _)| text.get(..at).unwrap_or_default());
            let free = folder.into_iter().find(|folder| !self.is_taken(folder));
            let line = match free {
                Some(folder) => (format!("`/{folder}/`"), format!("\"{folder}/**\"")),
                None => (format!("`/{text}`"), format!("\"{text}\"")),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
            if lines.len() == MOST {
                break;
            }
        }
        let (ignored, produced): (Vec<String>, Vec<String>) = lines.into_iter().unzip();
        (!ignored.is_empty()).then(|| {
            format!(
                "with {} in `.gitignore`, or with `produces {}` in the check",
                ignored.join(", "),
                produced.join(" ")
            )
        })
    }
}

/// Makes the caveat about new files that git does not ignore and nothing in the plan selects.
pub(super) fn new_files(new: &[NewFile], lines: &NewFileLines<'_>) -> Caveat {
    let message = "new files are there that git does not ignore; the verified tree is without them";
    let files = new.iter().map(|file| &file.path);
    let way_out = match lines.proposal(files.clone()) {
        Some(lines) => format!("settle it {lines}"),
        None => AGAIN.to_owned(),
    };
    Caveat::new(Code::NewFiles, Effect::Note, message)
        .with_files(files.cloned().collect())
        .way_out(way_out)
}
