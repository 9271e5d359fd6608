//! The changed files, and their source.

use super::base::{DefaultBase, Unrelated};
use super::error::ChangeError;
use std::collections::BTreeSet;
use vplan_base::change::{ChangeSet, ChangedFile, Status};
use vplan_base::path::RepoPath;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::{Git, is_record};
use vplan_plan::caveat::Caveat;
use vplan_plan::request::ChangedIn;

/// The changed files, with the base of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// The changed files, without vplan's own records.
    pub changes: ChangeSet,
    /// Their source: one line for people, such as ``the work tree against `HEAD` (0123456789ab)``.
    pub description: String,
    /// The commit for questions about the base: the merge base with `--base`, else HEAD. `None`
    /// without git or without a commit.
    pub base: Option<Oid>,
    /// The place that git compared; `None` for files that the caller named.
    pub place: Option<ChangedIn>,
    /// Remarks for people: which variable named the base.
    pub notes: Vec<String>,
    /// The reasons why these may not be all that changed.
    pub caveats: Vec<Caveat>,
    /// The default base, if the caller named no source.
    pub default: Option<DefaultBase>,
    /// The changed files that only commits since the base changed; `None` if that is not known.
    pub earlier: Option<BTreeSet<RepoPath>>,
    /// Whether the caller named no source.
    pub by_default: bool,
    /// The branch that the base was taken from, if it has no common ancestor with HEAD.
    pub unrelated: Option<Unrelated>,
    /// The commit that the caller's base resolves to.
    pub tip: Option<Oid>,
}

impl Gathered {
    /// Whether nothing changed since the default base, and no source was named. In CI that is an
    /// error: an empty change set must be requested.
    pub fn is_empty_by_default(&self) -> bool {
        self.by_default && self.changes.is_empty()
    }

    pub(super) fn found_in(self, place: ChangedIn) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// Returns the commit that the changed files were compared with, if they were compared with
    /// one.
    pub fn compared_with(&self) -> Option<&Oid> {
        self.base
            .as_ref()
            .filter(|_| matches!(self.place, Some(ChangedIn::WorkTree | ChangedIn::Index)))
    }
}

/// Gathers every file that belongs to the tree as changed.
pub(super) fn all(git: &Git) -> Result<Gathered, ChangeError> {
    let head = git.head()?;
    let tracked = git.tracked()?;
    // A file of the commit counts as tracked even if the index lacks it: any process may have
    // written the index.
    let committed = head.as_ref().map(|head| git.names_at(head)).transpose()?;
    let mut taken_out = committed.unwrap_or_default();
    taken_out.retain(|path| tracked.binary_search(path).is_err());
    let taken_out = taken_out.into_iter().map(|path| {
        let found = git.root().join(path.to_os()).symlink_metadata();
        let status = found.map_or(Status::Deleted, |_| Status::Modified);
        ChangedFile { path, status }
    });
    // The comparison also finds files that rules of this machine hide, and those that a sparse
    // checkout lacks.
    let compared = git.worktree_against(head.as_ref())?.into_iter();
    let is_untracked = |file: &ChangedFile| {
        file.status == Status::Added && tracked.binary_search(&file.path).is_err()
    };
    let untracked = without_records(compared.filter(is_untracked).collect(), false)?;
    let mut files: Vec<ChangedFile> = taken_out.chain(untracked).collect();
    files.extend(tracked.iter().map(ChangedFile::modified));
    let description = "every file of the tree".to_owned();
    Ok(done(without_records(files, true)?, description, head).found_in(ChangedIn::Tracked))
}

pub(super) fn done(files: Vec<ChangedFile>, description: String, base: Option<Oid>) -> Gathered {
    Gathered {
        changes: ChangeSet::new(files),
        description,
        base,
        ..Gathered::default()
    }
}

/// Removes vplan's own records, which are never a change; one that git tracks is an error.
pub(super) fn without_records(
    mut files: Vec<ChangedFile>,
    tracked: bool,
) -> Result<Vec<ChangedFile>, GitError> {
    match files
        .iter()
        .find(|f| tracked && f.status != Status::Deleted && is_record(f.path.as_bytes()))
    {
        Some(file) => Err(GitError::TrackedRecord(file.path.to_string())),
        None => {
            files.retain(|f| !is_record(f.path.as_bytes()));
            Ok(files)
        }
    }
}
