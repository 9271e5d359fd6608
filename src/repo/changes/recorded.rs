//! Determines the changed files of a saved plan: from the source that the plan names, against the
//! exact commit that it names.

use super::base::Unrelated;
use super::error::ChangeError;
use super::gathered::{Gathered, all, done, without_records};
use vplan_git::Git;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_plan::request::ChangedIn;

/// Gathers the changed files again. `base`: the commit's full id, or that of the empty tree; `None`
/// if there was no commit yet.
///
/// # Errors
/// The commit is not in this clone, or git reports an error.
pub fn gather(git: &Git, place: ChangedIn, base: Option<&str>) -> Result<Gathered, ChangeError> {
    let base = base.map(|id| commit(git, id)).transpose()?;
    let against = match &base {
        Some(id) => format!("against the commit of the plan ({})", id.short()),
        None => "against nothing, as in the plan".to_owned(),
    };
    Ok(match place {
        ChangedIn::WorkTree => {
            let files = without_records(git.worktree_against(base.as_ref())?, false)?;
            let unrelated = base
                .filter(Oid::is_empty_tree)
                .map(|_| Unrelated::default());
            let gathered = done(files, format!("the work tree {against}"), base);
            Gathered {
                unrelated,
                ..gathered.found_in(place)
            }
        }
        ChangedIn::Index => {
            let files = without_records(git.staged(base.as_ref())?, true)?;
            done(files, format!("what is staged {against}"), base).found_in(place)
        }
        ChangedIn::Tracked => all(git)?,
    })
}

/// Returns the commit of this id, if it is here. The empty tree, the base of unrelated histories,
/// always is.
fn commit(git: &Git, id: &str) -> Result<Oid, ChangeError> {
    let missing = || ChangeError::NotFetched {
        commit: id.to_owned(),
        fetch: fetch(git, id),
    };
    let wanted = Oid::parse(id.as_bytes()).ok_or_else(missing)?;
    // The commit that is checked out is here: the usual case.
    if git.layout().head() == Some(wanted) || wanted.is_empty_tree() {
        return Ok(wanted);
    }
    match git.resolve(id) {
        Ok(found) if found == wanted => Ok(wanted),
        // A tag of this id, which no plan names.
        Ok(_) | Err(GitError::UnknownRevision(_)) => Err(missing()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the command that fetches a commit: from `origin`, or from the only remote.
fn fetch(git: &Git, id: &str) -> Option<String> {
    let remotes = git.remotes().ok()?;
    let origin = remotes.iter().find(|name| *name == "origin");
    let name = match (origin, remotes.as_slice()) {
        (Some(origin), _) => origin,
        (None, [only]) => only,
        _ => return None,
    };
    // The one commit is enough to compare with; a whole clone would be cut off by that.
    let depth = if git.layout().is_shallow() {
        "--depth=1 "
    } else {
        ""
    };
    Some(format!("git fetch {depth}{name} {id}"))
}
