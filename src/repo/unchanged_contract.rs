//! Checks whether the files of a contract are the same as at a commit, without a process of git if
//! possible.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_git::object::{Oid, blob_id};
use vplan_git::{Git, is_record};
use vplan_os::atomic_file::{REMEMBERED, replace_at};
use vplan_os::files;
use vplan_os::files::beneath::{Beneath, ReadError};
use vplan_os::state_dir::StateDir;

/// The file's name in the state directory.
const NAME: &str = "contracts.json";
/// Size limit of the file, in bytes.
const MOST: u64 = 1 << 20;
/// Maximum number of stored answers, the newest first.
const KEPT: usize = 16;

/// A commit, and known differences from it.
#[derive(Clone, Copy, Debug)]
pub struct Since<'a> {
    /// The root of the repository.
    pub root: &'a Path,
    /// Called as the last resort.
    pub git: &'a Git,
    pub commit: &'a Oid,
    /// All differences between the commit and the work tree, if the changed files are exactly
    /// these.
    pub changes: Option<&'a ChangeSet>,
    /// The state directory for stored answers, if there is one.
    pub state: Option<&'a StateDir>,
}

/// An answer of git: which files a commit has at some paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CommitFiles {
    commit: String,
    files: Vec<(RepoPath, Option<String>)>,
}

impl Since<'_> {
    /// Whether files are unchanged; a file that is in neither counts as unchanged. `None` if only
    /// git could tell and `may_ask` does not allow a call. If a file cannot be compared, it counts
    /// as changed.
    pub fn is_same(&self, paths: &[RepoPath], may_ask: bool) -> Option<bool> {
        let Ok(beneath) = Beneath::open(self.root) else {
            return Some(false);
        };
        // The target of a symlink is another file, which changes independently; git does not decide
        // about vplan's own records.
        let is_other = |path: &RepoPath| is_record(path.as_bytes()) || has_link(&beneath, path);
        if paths.iter().any(is_other) {
            return Some(false);
        }
        if let Some(changes) = self.changes {
            let touched = |path: &RepoPath| {
                let mut files = changes.files().iter();
                files.any(|f| f.path == *path || path.below(&f.path).is_some())
            };
            return Some(!paths.iter().any(touched));
        }
        let present = |path: &RepoPath| Some((path.clone(), self.id(&beneath, path)?));
        let Some(present) = paths.iter().map(present).collect::<Option<Vec<_>>>() else {
            return Some(false);
        };
        let commit = self.commit.to_string();
        let mut kept = self.stored();
        let is_it =
            |a: &&CommitFiles| a.commit == commit && a.files.iter().map(|(path, _)| path).eq(paths);
        if let Some(known) = kept.iter().find(is_it) {
            return Some(known.files == present);
        }
        if !may_ask {
            return None;
        }
        let Ok(found) = self.git.files_at(self.commit, paths) else {
            return Some(false);
        };
        let file = |path: &RepoPath| (path.clone(), found.get(path).map(ToString::to_string));
        let files = paths.iter().map(file).collect();
        let answer = CommitFiles { commit, files };
        let is_same = answer.files == present;
        kept.insert(0, answer);
        kept.truncate(KEPT);
        if let Some(file) = self.file() {
            // An answer that cannot be stored, or is lost with the power, is queried again.
            let text = serde_json::to_string(&kept).unwrap_or_default();
            let _ = replace_at(&file, text.as_bytes(), REMEMBERED);
        }
        Some(is_same)
    }

    /// Returns the id that a file of the work tree would have: `Some(None)` if it does not exist,
    /// `None` if it cannot be read.
    fn id(&self, beneath: &Beneath, path: &RepoPath) -> Option<Option<String>> {
        let content = match beneath.file(path) {
            Ok(file) => file,
            Err(ReadError::Missing) => return Some(None),
            Err(_) => return None,
        };
        let size = content.metadata().ok()?.len();
        let id = blob_id(self.commit.length(), size, content).ok()?;
        Some(Some(id.to_string()))
    }

    fn file(&self) -> Option<PathBuf> {
        self.state.map(|state| state.path.join(NAME))
    }

    /// Reads the stored answers; none if they cannot be read.
    fn stored(&self) -> Vec<CommitFiles> {
        let file = self.file();
        let bytes = file.and_then(|file| files::read_plain(&file, MOST).ok());
        let answers = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        answers.unwrap_or_default()
    }
}

/// Whether a symlink is on the way to a file, or the file is one.
fn has_link(beneath: &Beneath, path: &RepoPath) -> bool {
    let mut parts = path.ancestors().into_iter();
    parts.any(|part| beneath.link(&part).is_some())
}
