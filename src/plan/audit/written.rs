//! What a check wrote that git does not ignore, and that the contract does not say it writes; of one that
//! is confined also what it was refused.

use super::amendment::Amendment;
use super::context::{Context, Deeds, Finding, FindingKind, Severity};
use super::covering::{cover, in_folder};
use super::observed::{ObservedCheck, Used};
use crate::MAY_CHANGE;
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_check::confine::SandboxLevel;

/// Finds the files that a check may not write.
pub(super) fn find(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    let folders = folders(seen);
    let written = seen.files.iter().filter(|(_, used)| used.written);
    let written = written.filter(|(path, used)| {
        let is_known = folders.contains(**path) && !is_not_made(context, seen, path, used);
        !is_known
            && !seen.may_write(path)
            && (!context.is_ignored(path) || was_refused(context, seen, path, used))
    });
    let (mut made, mut files): (Vec<_>, Vec<_>) =
        written.partition(|(path, used)| used.folder && !context.is_tracked(path));
    // What was to be in a folder that was not made goes with the folder.
    let not_made = made.iter();
    let not_made = not_made.filter(|(path, used)| is_not_made(context, seen, path, used));
    let not_made: BTreeSet<&RepoPath> = not_made.map(|(path, _)| **path).collect();
    let is_within = |path: &RepoPath| {
        let mut around = path.ancestors().into_iter();
        around.any(|folder| folder != *path && not_made.contains(&folder))
    };
    made.retain(|(path, _)| !is_within(path));
    files.retain(|(path, _)| !is_within(path));
    if made.is_empty() && files.is_empty() {
        return None;
    }
    let files: Vec<&RepoPath> = files.into_iter().map(|(path, _)| *path).collect();
    let tracked = files.iter().copied();
    let tracked: Vec<&RepoPath> = tracked.filter(|path| context.is_tracked(path)).collect();
    let mut globs = cover(&files, &tracked, context.tracked(), &BTreeSet::new());
    globs.extend(made.iter().filter_map(|(path, _)| all_below(path)));
    let all: Vec<&RepoPath> = made.iter().map(|(path, _)| **path).chain(files).collect();
    let did: Deeds<'_> = seen.deeds(&all);
    let amendment = (!globs.is_empty()).then(|| may_change(seen, &globs, true));
    let finding = context.finding(FindingKind::UndeclaredWrite, seen.check, globs, &did);
    Some(finding.mended_by(context.contract, amendment))
}

fn may_change(seen: &ObservedCheck<'_>, globs: &[String], is_shown_only: bool) -> Amendment {
    Amendment::Setting {
        check: seen.check,
        row: MAY_CHANGE,
        words: globs.to_vec(),
        is_shown_only,
    }
}

/// Finds the denied writes of a confined check in folders where git ignores everything and tracks
/// nothing. Nothing verifies these files, so the check may be allowed to write them.
pub(super) fn ignored(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    if !is_confined(seen) {
        return None;
    }
    let written = seen.files.iter().filter(|(_, used)| used.written);
    let written = written.filter(|(path, _)| !seen.may_write(path) && !is_in_written(seen, path));
    let (mut files, mut globs) = (Vec::new(), BTreeSet::new());
    for (path, used) in written {
        let folder = ignored_folder(context, path, used);
        if let Some(glob) = folder.as_ref().and_then(all_below) {
            files.push(*path);
            globs.insert(glob);
        }
    }
    if files.is_empty() {
        return None;
    }
    let globs: Vec<String> = globs.into_iter().collect();
    let can_mend = context.can_change(seen.check);
    let amendment = can_mend.then(|| may_change(seen, &globs, false));
    let did: Deeds<'_> = seen.deeds(&files);
    let finding = context.finding(FindingKind::UndeclaredWrite, seen.check, globs, &did);
    let finding = Finding {
        severity: Severity::Warning,
        ..finding
    };
    Some(finding.mended_by(context.contract, amendment))
}

/// Whether a check could not make a folder, because it is confined.
fn is_not_made(
    context: &Context<'_>,
    seen: &ObservedCheck<'_>,
    path: &RepoPath,
    used: &Used<'_>,
) -> bool {
    used.folder && is_confined(seen) && (context.subject.is_absent)(path)
}

fn is_confined(seen: &ObservedCheck<'_>) -> bool {
    seen.step.sandbox >= SandboxLevel::Guard
}

/// Whether a check could not make a file that is not there, because it is confined.
fn was_refused(
    context: &Context<'_>,
    seen: &ObservedCheck<'_>,
    path: &RepoPath,
    used: &Used<'_>,
) -> bool {
    let subject = context.subject;
    is_confined(seen)
        && (subject.is_absent)(path)
        && !(subject.is_ignored)(path)
        && !is_in_written(seen, path)
        && !(subject.would_ignore)(path, used.folder)
        && ignored_folder(context, path, used).is_none()
}

/// Whether a path is in a folder that a confined check may change for its globs.
fn is_in_written(seen: &ObservedCheck<'_>, path: &RepoPath) -> bool {
    let globs = seen.step.written_globs();
    let anchors = globs.iter().flat_map(|glob| glob.anchors());
    let mut folders = anchors.map(|(path, is_literal)| match is_literal {
        true => path.folder(),
        false => path,
    });
    folders.any(|folder| !folder.is_root() && (path == &folder || path.below(&folder).is_some()))
}

/// Returns the outermost folder around a path, or that is to be made there, that git ignores with all
/// that is in it.
fn ignored_folder(context: &Context<'_>, path: &RepoPath, used: &Used<'_>) -> Option<RepoPath> {
    let subject = context.subject;
    let mut folders = path.ancestors();
    folders.retain(|folder| used.folder || folder != path);
    let is_ignored = |folder: &RepoPath| {
        !folder.is_root() && ((subject.is_ignored)(folder) || (subject.would_ignore)(folder, true))
    };
    let folder = folders.into_iter().find(is_ignored)?;
    (context.tracked().below(&folder) == 0).then_some(folder)
}

/// Returns the glob of all that is below a folder.
fn all_below(folder: &RepoPath) -> Option<String> {
    in_folder(folder, "**")
}

/// Returns the observed folders: those that were listed, and those with a used path below.
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
