//! Lists hook settings, contracts, and locks that changed since the session started.

use crate::{Digest, Engine, Oid, RepoPath, Site};
use std::path::Path;
use vplan_os::files::read_plain;
use vplan_repo::load::contract_path;
use vplan_repo::lockfile::path_for;
use vplan_repo::unchanged_contract::Since;

/// The settings in the repository in which an agent's hooks may be.
pub const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
/// Size limit of a file of settings, in bytes.
pub const MOST: u64 = 4 << 20;

/// Returns the present settings.
pub(super) fn settings(root: &Path) -> Vec<(String, Option<String>)> {
    let digest = |path: &str| {
        let bytes = read_plain(&root.join(path), MOST).ok()?;
        Some(Digest::hash(&bytes).to_string())
    };
    SETTINGS.map(|path| (path.to_owned(), digest(path))).into()
}

/// The files that have changed, a line each.
pub(super) fn changed(
    engine: &Engine<'_>,
    site: &Site,
    base: Option<&Oid>,
    then: &[(String, Option<String>)],
) -> Vec<String> {
    let mut lines = Vec::new();
    let own = contract_path(site, engine.contract).ok();
    if let (Some(git), Some(base), Some(path)) = (site.usable_git(), base, own) {
        let since = Since {
            root: &site.root,
            git,
            commit: base,
            changes: None,
            state: None,
        };
        let tracked = SETTINGS.first().filter(|_| then.is_empty());
        let tracked = tracked.and_then(|path| RepoPath::from_exact(path.as_bytes()));
        let lock = path_for(&path);
        let files = [(path, "the contract"), (lock, "its lock")].into_iter();
        for (path, what) in files.chain(tracked.map(|path| (path, "the hook"))) {
            if since.is_same(std::slice::from_ref(&path), true) == Some(false) {
                lines.push(format!("`{path}` ({what})"));
            }
        }
    }
    let now = settings(&site.root);
    for (path, _) in then.iter().filter(|old| !now.contains(old)) {
        lines.push(format!("`{path}` (the hook)"));
    }
    lines
}
