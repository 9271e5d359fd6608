//! Describes the changes of a lock.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::origin::GitOrigin;
use vplan_base::path::RepoPath;
use vplan_base::word::count;
use vplan_lock::{Lock, PinnedImport, PinnedRef};

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
    /// What is worth a look: repositories of which files of several commits are imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
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
    pub(crate) fn of(path: &RepoPath, entries: Vec<Line>, lock: &Lock) -> Self {
        Self {
            entries,
            judged: Vec::new(),
            lock: path.clone(),
            notes: notes(lock),
            proposals: lock.proposals.len(),
            recorded: None,
            version: 1,
            written: false,
        }
    }
}

/// An import.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LockEntry")]
pub struct Line {
    /// The size of its file; absent when it is not pinned.
    pub bytes: Option<u64>,
    /// The commit of a branch or tag.
    pub commit: Option<String>,
    /// The digest of its file, which is pinned; absent when it is not.
    pub digest: Option<String>,
    /// The commit that a branch or tag had before, if that is another one.
    pub from: Option<String>,
    /// Its name; of a branch or tag `git+URL?ref=NAME`.
    pub import: String,
    /// Its state.
    pub state: State,
}

impl Line {
    pub(crate) fn of(origin: &GitOrigin, pin: Option<&PinnedImport>, state: State) -> Self {
        Self {
            bytes: pin.map(|p| p.bytes),
            commit: None,
            from: None,
            digest: pin.map(|p| p.digest.to_string()),
            import: origin.to_string(),
            state,
        }
    }
}

impl Line {
    /// Of a branch or tag, and what was pinned for it before.
    pub(crate) fn of_ref(now: &PinnedRef, was: Option<&PinnedRef>) -> Self {
        let from = was.filter(|was| was.commit != now.commit);
        let state = match (was, from) {
            (None, _) => State::Pinned,
            (Some(_), Some(_)) => State::Moved,
            (Some(_), None) => State::Kept,
        };
        Self {
            from: from.map(|was| was.commit.clone()),
            ..Self::of_gone_ref(now, state)
        }
    }

    /// Of a branch or tag in this state.
    pub(crate) fn of_gone_ref(pinned: &PinnedRef, state: State) -> Self {
        Self {
            bytes: None,
            commit: Some(pinned.commit.clone()),
            digest: None,
            from: None,
            import: pinned.at.to_string(),
            state,
        }
    }
}

/// Names the repositories of which files of several commits are imported.
fn notes(lock: &Lock) -> Vec<String> {
    let mut commits: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &lock.imports {
        let of_url = commits.entry(&import.origin.url).or_default();
        of_url.insert(&import.origin.revision);
    }
    let several = commits.iter().filter(|(_, commits)| commits.len() > 1);
    let note = |(url, commits): (&&str, &BTreeSet<&str>)| {
        format!("`{url}` is imported at {}", count(commits.len(), "commit"))
    };
    several.map(note).collect()
}

/// The state of an import, or its problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was pinned already.
    Kept,
    /// It is pinned now.
    Pinned,
    /// The branch or tag is at another commit now.
    Moved,
    /// It is not imported any more, and was taken out.
    Removed,
    /// It is not pinned.
    Missing,
    /// It is pinned and not imported.
    Surplus,
}
