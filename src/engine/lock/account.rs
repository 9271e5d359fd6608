//! Describes the changes of a lock.

use crate::base::canon::Digest;
use crate::base::origin::GitOrigin;
use crate::base::path::RepoPath;
use crate::lock::{Lock, PinnedImport};
use schemars::JsonSchema;
use serde::Serialize;

/// The changes that were made, or the differences that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Account {
    /// The git imports, in the order in which the contract names them.
    pub entries: Vec<Line>,
    /// The digests of the questions to a judge whose answers were recorded just now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<Digest>,
    /// The file.
    pub lock: RepoPath,
    /// The number of recorded answers in it.
    pub proposals: usize,
    /// The digest of the question to a proposer whose answer was recorded just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Digest>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// Whether the file was written.
    pub written: bool,
}

impl Account {
    /// Of a lock to which nothing was done.
    pub(super) fn of(path: &RepoPath, entries: Vec<Line>, lock: &Lock) -> Self {
        Self {
            entries,
            judged: Vec::new(),
            lock: path.clone(),
            proposals: lock.proposals.len(),
            recorded: None,
            version: 1,
            written: false,
        }
    }
}

/// An import.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LockEntry")]
pub struct Line {
    /// The size of its file; absent when it is not pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The digest of its file, which is pinned; absent when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its name, as the contract writes it.
    pub import: String,
    /// Its state.
    pub state: State,
}

impl Line {
    pub(super) fn of(origin: &GitOrigin, pin: Option<&PinnedImport>, state: State) -> Self {
        Self {
            bytes: pin.map(|p| p.bytes),
            digest: pin.map(|p| p.digest.to_string()),
            import: origin.to_string(),
            state,
        }
    }
}

/// The state of an import, or its problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was pinned already.
    Kept,
    /// It is pinned now.
    Pinned,
    /// It is not imported any more, and was taken out.
    Removed,
    /// It is not pinned.
    Missing,
    /// It is pinned and not imported.
    Surplus,
}
