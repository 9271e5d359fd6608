//! The files of a change, each with its path and status.

use super::index::at;
use super::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The kind of a file's change. A rename is its old path deleted and its new path added.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ChangeStatus")]
pub enum Status {
    /// It is new.
    Added,
    /// Its content or mode is another.
    Modified,
    /// It is gone.
    Deleted,
    /// A file became a symlink, a directory a submodule, …
    TypeChanged,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedFile {
    /// Its path.
    pub path: RepoPath,
    /// The kind of change.
    pub status: Status,
}

/// The prefixes of a path that a person names, and the status that each gives.
const PREFIXES: [(&[u8], Status); 5] = [
    (b"added:", Status::Added),
    (b"modified:", Status::Modified),
    (b"deleted:", Status::Deleted),
    (b"type-changed:", Status::TypeChanged),
    // For a path that begins like one of these.
    (b":", Status::Modified),
];

/// Splits the status off what a person wrote: `deleted:a.ts`, `a.ts` (modified), `:added:a.ts` (the
/// path `added:a.ts`).
pub fn split_status(text: &[u8]) -> (Status, &[u8]) {
    let found = PREFIXES
        .iter()
        .find_map(|(prefix, status)| Some((*status, text.strip_prefix(*prefix)?)));
    found.unwrap_or((Status::Modified, text))
}

impl ChangedFile {
    /// Returns a modified file.
    pub fn modified(path: &RepoPath) -> Self {
        Self {
            path: path.clone(),
            status: Status::Modified,
        }
    }
    /// Writes the file as [`split_status`] reads it.
    pub fn to_named(&self) -> Vec<u8> {
        let plain = self.path.as_bytes();
        let like_one = PREFIXES.iter().any(|(prefix, _)| plain.starts_with(prefix));
        let prefix = match self.status {
            Status::Modified if !like_one => &b""[..],
            Status::Modified => b":",
            status => PREFIXES
                .iter()
                .find(|(_, s)| *s == status)
                .map_or(&b""[..], |(prefix, _)| prefix),
        };
        [prefix, plain].concat()
    }
}

crate::index!(
    ChangedIndex,
    "changed file",
    "Position of a file in its change set."
);

/// All changed files of a request: sorted bytewise, each path once. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<ChangedFile>")]
pub struct ChangeSet(Arc<Vec<ChangedFile>>);

impl ChangeSet {
    /// Sorts and removes repetitions. A path that occurs with several statuses keeps the last one
    /// given, except that a deletion and an addition of one path make it modified.
    pub fn new(mut files: Vec<ChangedFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|later, kept| {
            if later.path != kept.path {
                return false;
            }
            kept.status = match (kept.status, later.status) {
                (Status::Deleted, Status::Added) | (Status::Added, Status::Deleted) => {
                    Status::Modified
                }
                (_, last) => last,
            };
            true
        });
        Self(Arc::new(files))
    }

    /// Returns the change that modifies these files.
    pub fn modified<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> Self {
        Self::new(paths.into_iter().map(ChangedFile::modified).collect())
    }

    /// Returns the files in byte order of their paths.
    pub fn files(&self) -> &[ChangedFile] {
        &self.0
    }

    /// Returns one of them.
    pub fn file(&self, index: ChangedIndex) -> &ChangedFile {
        at(&self.0, index)
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many files changed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether exactly this path changed.
    pub fn contains(&self, path: &RepoPath) -> bool {
        self.status(path).is_some()
    }

    /// Returns the status of exactly this path.
    pub fn status(&self, path: &RepoPath) -> Option<Status> {
        let at = self.0.binary_search_by(|f| f.path.cmp(path)).ok()?;
        self.0.get(at).map(|f| f.status)
    }

    /// Returns the changed files in a directory and below it.
    pub fn below(&self, dir: &RepoPath) -> impl Iterator<Item = &ChangedFile> {
        let start = if dir.is_root() {
            Vec::new()
        } else {
            [dir.as_bytes(), b"/"].concat()
        };
        let first = self
            .0
            .partition_point(|f| f.path.as_bytes() < start.as_slice());
        self.0
            .iter()
            .skip(first)
            .take_while(move |f| f.path.as_bytes().starts_with(&start))
    }
}

impl From<Vec<ChangedFile>> for ChangeSet {
    fn from(files: Vec<ChangedFile>) -> Self {
        Self::new(files)
    }
}
