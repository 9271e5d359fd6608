//! Recognises a session whose repository is no longer where it began: it was moved, removed, or
//! replaced by another one.

use super::record::{Record, read, records_anywhere};
use crate::failure::changes_unknown;
use crate::{Engine, Failure};
use std::path::{Path, PathBuf};
use vplan_git::error::GitError;
use vplan_git::repository;
use vplan_os::files::beneath::shown;
use vplan_repo::load::Site;

/// A session without the repository that it began in.
pub(super) struct Lost {
    /// The place of the repository then.
    pub site: Site,
    /// The reason.
    pub why: Failure,
}

/// Returns how a session has lost its repository, if it has. `here`: the repository of the stop.
pub(super) fn lost(engine: &Engine<'_>, here: Option<&Site>, id: &str) -> Option<Lost> {
    let own = here.and_then(|site| {
        let place = engine.kept_state(site).ok().flatten()?;
        Some((site.root.clone(), read(&place.path, id)?))
    });
    let Some((root, record)) = own else {
        // Without a record here, one of another place counts if that place is gone.
        let elsewhere = records_anywhere(engine, id).into_iter();
        let mut gone = elsewhere.filter_map(|(_, record)| {
            let root = PathBuf::from(record.start.as_ref()?.root.as_ref()?);
            why_gone(&root, &record).map(|why| of(root, why))
        });
        return gone.next();
    };
    let start = record.start.as_ref()?;
    (!start.is_at(&root)).then(|| of(root.clone(), replaced(&root)))
}

fn of(root: PathBuf, why: Failure) -> Lost {
    let git = Err(GitError::NotARepository(root.clone()));
    let home = root.clone();
    Lost {
        site: Site { root, home, git },
        why,
    }
}

/// Returns why a root is not the repository of a record.
fn why_gone(root: &Path, record: &Record) -> Option<Failure> {
    let start = record.start.as_ref()?;
    if !start.is_at(root) {
        return Some(replaced(root));
    }
    let had_git = record.base.is_some();
    (had_git && repository::at(root).is_none())
        .then(|| changes_unknown(GitError::NotARepository(root.to_owned()).into()))
}

fn replaced(root: &Path) -> Failure {
    let what = if root.symlink_metadata().is_ok() {
        "is not the repository in which the session began: that one was moved or removed"
    } else {
        "is missing: the repository of the session was moved or removed"
    };
    let shown = shown(root);
    Failure::setup("vplan::hook::replaced", format!("`{shown}` {what}"))
        .help(format!("move it back to `{shown}`"))
}
