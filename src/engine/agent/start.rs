//! Finds and stores the start of an agent's session.

use super::record::{Now, Record, StartState, prune, read, records, subject, write};
use super::settings::settings;
use crate::{Engine, Failure, Git, GitError, Oid, Site};
use std::path::Path;
use vplan_ledger::round::Because;
use vplan_ledger::{Ledger, SubjectEntry};
use vplan_repo::ledger_file::LedgerFile;
use vplan_repo::load::contract_path;
use vplan_run::report::Decision;
use vplan_store::records::wall_clock;

/// Records the start of a session. A session that is resumed, or whose context was cleared or
/// compacted, has already started.
///
/// # Errors
/// No repository, or no place to remember it.
pub fn start(engine: &Engine<'_>, id: &str) -> Result<(), Failure> {
    let site = engine.locate()?;
    let kept = engine.kept_state(&site)?;
    if kept.is_some_and(|place| read(&place.path, id).is_some()) {
        return Ok(());
    }
    let git = site.usable_git();
    let head = git.map(Git::head).transpose()?.flatten();
    let contract = has_contract(engine, &site, head.as_ref());
    if !contract {
        return Ok(());
    }
    let start_state = StartState::read(&site)?;
    let now = Now::read(git);
    // If the ledger cannot be read, no session counts as finished.
    let ledger = LedgerFile::new(engine.state(&site)?).read();
    let ledger = ledger.unwrap_or_default();
    let place = engine.state(&site)?;
    let (left, inherited) = match (git, &head) {
        (Some(git), Some(head)) => unfinished(&place.path, &ledger, &now, git, head),
        _ => (None, false),
    };
    let unborn = || git.filter(|_| head.is_none())?.empty_tree().ok();
    let base = left.or(head).or_else(unborn).map(|id| id.to_string());
    let record = Record {
        at: wall_clock(),
        base,
        blocked: false,
        contract,
        head: now.head,
        inherited,
        settings: settings(&site.root),
        settled: Vec::new(),
        start: Some(start_state),
        tree: now.tree,
        unrecorded: 0,
        version: 1,
    };
    write(&place.path, id, &record)?;
    prune(&place.path);
    Ok(())
}

/// Whether there is a contract in the work tree, or in a commit.
pub(super) fn has_contract(engine: &Engine<'_>, site: &Site, commit: Option<&Oid>) -> bool {
    let Ok(path) = contract_path(site, engine.contract) else {
        return true;
    };
    if site.root.join(path.to_os()).symlink_metadata().is_ok() {
        return true;
    }
    match (site.usable_git(), commit) {
        // If it cannot be determined, the session is not released.
        (Some(git), Some(commit)) => git
            .files_at(commit, std::slice::from_ref(&path))
            .map_or(true, |found| !found.is_empty()),
        _ => false,
    }
}

/// Returns the common base of unfinished sessions whose work is still in this work tree.
fn unfinished(
    place: &Path,
    ledger: &Ledger,
    now: &Now,
    git: &Git,
    head: &Oid,
) -> (Option<Oid>, bool) {
    let mut found = None;
    for (id, record) in records(place) {
        let entry = ledger.entry(&subject(&id)).filter(|e| e.rounds > 0);
        let is_over = entry.map_or_else(|| now.is_start_of(&record), is_done);
        if !is_over {
            let base = entry.and_then(|e| e.began.as_ref()?.base.clone());
            let base = base.or(record.base);
            let base = base.and_then(|base| Oid::parse(base.as_bytes()));
            let earlier = found.unwrap_or(*head);
            if let Some(base) = base {
                found = match git.merge_base(&base.to_string(), &base, &earlier) {
                    Ok(common) => Some(common),
                    // HEAD is on another history: the work is still unfinished.
                    Err(GitError::NoMergeBase { .. }) => Some(base),
                    Err(_) => found,
                };
            }
        } else if entry.is_some() && record.inherited {
            // This session took over the work of those before it, and finished it.
            break;
        }
    }
    (found, found.is_some())
}

/// Whether all work of a session is verified, or no check applied to it.
pub(super) fn is_done(entry: &SubjectEntry) -> bool {
    let required = entry.began.as_ref().map_or(1, |b| b.gate.confirmations);
    entry.reason == Some(Because::NothingApplies)
        || (entry.standing(required, true) == Decision::Complete && entry.counter >= required)
}
