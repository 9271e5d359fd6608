//! Finds the changed files that only earlier commits changed: the work tree has them as HEAD does.

use super::commit_cache::CommitCache;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_git::Git;
use vplan_git::between::{DiffSide, read};
use vplan_git::error::GitError;
use vplan_git::object::{Oid, blob_id};
use vplan_os::files::beneath::{Beneath, ReadError};

/// Larger files count as changed since: this is for a line of text.
const MAX_FILE: u64 = 8 << 20;
/// With more files than this, all count as changed since.
const MAX_FILES: usize = 20_000;

/// Returns the changed files that are the same in HEAD. `None` when there are too many to compare.
///
/// # Errors
/// Errors of git.
pub fn changed_before_head(
    git: &Git,
    base: &Oid,
    changes: &ChangeSet,
    kept: &CommitCache,
) -> Result<Option<BTreeSet<RepoPath>>, GitError> {
    let Some(head) = git.head()?.filter(|head| head != base) else {
        return Ok(Some(BTreeSet::new()));
    };
    let question = format!("difference {head} {base}");
    let committed = match kept.large(&question).and_then(|bytes| read(&bytes)) {
        Some(list) => list,
        None => {
            let bytes = git.difference(&head, base)?;
            let list = read(&bytes).ok_or(GitError::Unreadable("diff-tree"))?;
            kept.put_large(&question, &bytes);
            list
        }
    };
    if committed.len() > MAX_FILES {
        return Ok(None);
    }
    let changed: BTreeSet<&RepoPath> = changes.files().iter().map(|f| &f.path).collect();
    let Ok(beneath) = Beneath::open(git.root()) else {
        return Ok(None);
    };
    let is_same =
        |(path, at): &(RepoPath, DiffSide)| changed.contains(path) && is_at(&beneath, path, at);
    Ok(Some(
        committed
            .into_iter()
            .filter(is_same)
            .map(|(path, _)| path)
            .collect(),
    ))
}

/// Whether the work tree has the same content at a path as a commit.
fn is_at(beneath: &Beneath, path: &RepoPath, at: &DiffSide) -> bool {
    let link = beneath.link(path);
    match (at, link) {
        (None, Some(_)) => false,
        (None, None) => matches!(beneath.inspect(path).target, Err(ReadError::Missing)),
        (Some((SYMLINK, id)), Some(target)) => is_blob(id, target.len() as u64, &*target),
        (Some((mode @ (PLAIN | EXECUTABLE), id)), None) => beneath.file(path).is_ok_and(|file| {
            let Ok(meta) = file.metadata() else {
                return false;
            };
            let executable = meta.permissions().mode() & 0o100 != 0;
            executable == (*mode == EXECUTABLE)
                && meta.len() <= MAX_FILE
                && is_blob(id, meta.len(), file)
        }),
        _ => false,
    }
}

const SYMLINK: u32 = 0o120_000;
const PLAIN: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;

fn is_blob(id: &Oid, size: u64, content: impl Read) -> bool {
    blob_id(id.length(), size, content).is_ok_and(|found| found == *id)
}
