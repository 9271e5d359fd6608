//! What a check wrote that git does not ignore, and that the contract does not say it writes.

use super::amendment::Amendment;
use super::covering::cover;
use super::observed::ObservedCheck;
use super::{Context, Deeds, Finding, FindingKind};
use crate::base::path::RepoPath;
use std::collections::BTreeSet;

/// Finds the files that a check may not write.
pub(super) fn find(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    let folders = folders(seen);
    let written = seen.files.iter().filter(|(_, used)| used.written);
    let files: Vec<&RepoPath> = written
        .map(|(path, _)| *path)
        .filter(|path| !folders.contains(*path) && !seen.may_write(path))
        .filter(|path| !context.is_ignored(path))
        .collect();
    if files.is_empty() {
        return None;
    }
    let tracked: Vec<&RepoPath> = files
        .iter()
        .copied()
        .filter(|path| context.is_tracked(path))
        .collect();
    let globs = cover(&files, &tracked, context.tracked(), &BTreeSet::new());
    let did: Deeds<'_> = seen.deeds(&files);
    let amendment = (!globs.is_empty()).then(|| Amendment::MayChange {
        check: seen.check,
        globs: globs.clone(),
    });
    let finding = context.finding(FindingKind::UndeclaredWrite, seen.check, globs, &did);
    Some(finding.mended_by(context.contract, amendment))
}

/// Returns the folders that were seen, of which git knows nothing: those that were listed, and those
/// with something below.
fn folders(seen: &ObservedCheck<'_>) -> BTreeSet<RepoPath> {
    let mut folders = BTreeSet::new();
    for (path, used) in &seen.files {
        let mut folder = path.folder();
        if used.listed {
            folders.insert((*path).clone());
        }
        while !folder.is_root() && folders.insert(folder.clone()) {
            folder = folder.folder();
        }
    }
    folders
}
