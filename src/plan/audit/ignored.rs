//! Files that a check read although git ignores them: changes of them go unnoticed.

use super::context::{Context, Deeds, Finding, FindingKind};
use super::observed::ObservedCheck;
use std::collections::BTreeSet;
use vplan_base::glob::escape;
use vplan_base::path::RepoPath;

/// Finds the ignored files that a check read, and that no setting of it names.
pub(super) fn find(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    let read = seen.files.iter().filter(|(_, used)| used.read);
    let files: Vec<&RepoPath> = read
        .map(|(path, _)| *path)
        .filter(|path| !context.is_tracked(path) && (context.subject.is_ignored)(path))
        .filter(|path| !seen.is_declared(path))
        .filter(|path| !context.is_product(path, seen.check))
        .collect();
    if files.is_empty() {
        return None;
    }
    let globs = files.iter().filter_map(|path| around(context, path));
    let globs: BTreeSet<String> = globs.collect();
    let globs = globs.into_iter().collect();
    let did: Deeds<'_> = seen.deeds(&files);
    Some(context.finding(FindingKind::IgnoredInput, seen.check, globs, &did))
}

/// Returns the glob of the outermost ignored folder around an ignored file, or of the file.
fn around(context: &Context<'_>, path: &RepoPath) -> Option<String> {
    let is_ignored = |above: &&RepoPath| (context.subject.is_ignored)(above);
    let ancestors = path.ancestors();
    let outermost = ancestors.iter().find(is_ignored).unwrap_or(path);
    let text = escape(std::str::from_utf8(outermost.as_bytes()).ok()?);
    Some(match outermost == path {
        true => text,
        false => format!("{text}/**"),
    })
}
