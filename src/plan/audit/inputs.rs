//! What a check with `inputs` depends on that they do not select: files that it read, looked for or
//! listed.

use super::amendment::Amendment;
use super::covering::{cover, ending, in_folder, is_narrow};
use super::observed::{ObservedCheck, Used};
use super::{Context, Deeds, Finding, FindingKind};
use crate::base::glob::{Glob, Selection, escape};
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// The name of a file that no repository has, for the question whether a new file is selected.
const NEW_FILE: &str = "vplan-looks-for-new-files";

/// Finds what the `inputs` of a check lack.
pub(super) fn find(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Option<Finding> {
    let inputs = seen.step.inputs.as_ref()?;
    let is_lacking = |(path, used): &(&&RepoPath, &Used<'_>)| lacks(context, seen, path, used);
    let files = seen.files.iter().filter(is_lacking);
    let files: Vec<&RepoPath> = files.map(|(path, _)| *path).collect();
    let mut globs = cover(
        &files,
        &seen.tracked,
        context.subject.tracked,
        &seen.listed(),
    );
    let listings = listings(context, seen, inputs);
    let mut lacking = files.clone();
    for (dir, glob) in listings {
        lacking.push(dir);
        let is_selected =
            |other: &String| Glob::parse(other).is_ok_and(|other| selects_all_new(&other, &glob));
        if !globs.iter().any(is_selected) {
            globs.push(glob);
        }
    }
    if lacking.is_empty() {
        return None;
    }
    lacking.sort_unstable();
    lacking.dedup();
    globs.sort();
    globs.dedup();
    let did: Deeds<'_> = seen.deeds(&lacking);
    // What `!` excludes stays excluded, whatever is added.
    let is_excluded = |path: &&RepoPath| {
        inputs
            .items
            .iter()
            .any(|item| item.not && item.selects(path))
    };
    let is_own = context
        .contract
        .imported(context.check(seen.check).place.source)
        .is_none();
    let can_mend = is_own && context.check(seen.check).named && !globs.is_empty();
    let can_mend = can_mend && !files.iter().any(is_excluded);
    let amendment = can_mend.then(|| Amendment::Inputs {
        check: seen.check,
        globs: globs.clone(),
    });
    let finding = context.finding(FindingKind::UndeclaredInput, seen.check, globs, &did);
    Some(finding.mended_by(context.contract, amendment))
}

/// Whether a check depends on a file, and does not say so.
fn lacks(
    context: &Context<'_>,
    seen: &ObservedCheck<'_>,
    path: &RepoPath,
    used: &Used<'_>,
) -> bool {
    if path.is_root() || seen.is_declared(path) {
        return false;
    }
    if context.is_tracked(path) {
        return used.read || used.found || used.missing;
    }
    // A folder that is there says nothing that the files in it do not say.
    let is_asked = used.read || used.missing;
    is_asked && (!context.is_ignored(path) || used.read && context.is_product(path, seen.check))
}

/// Returns the folders that a check listed where `inputs` would not select a new file that it may
/// then read, each with a glob for that. The root is listed by many programs that only want to know
/// where they are.
fn listings<'a>(
    context: &Context<'_>,
    seen: &ObservedCheck<'a>,
    inputs: &Selection,
) -> Vec<(&'a RepoPath, String)> {
    let listed = seen.listed();
    let mut read: BTreeMap<RepoPath, BTreeMap<&str, usize>> = BTreeMap::new();
    for path in &seen.tracked {
        if let Some(ending) = ending(path) {
            *read
                .entry(path.folder())
                .or_default()
                .entry(ending)
                .or_default() += 1;
        }
    }
    let elsewhere: BTreeSet<&str> = read
        .iter()
        .filter(|(dir, _)| !dir.is_root() && listed.contains(dir))
        .flat_map(|(_, endings)| endings.keys().copied())
        .collect();
    let mut found = Vec::new();
    for dir in listed {
        let is_exempt = dir.is_root() || context.is_ignored(dir) || seen.is_declared(dir);
        if is_exempt {
            continue;
        }
        let globs: Vec<String> = match read.get(dir) {
            Some(endings) => {
                let narrow = endings.iter().filter(|(ending, read)| {
                    is_narrow(tracked_in(context, dir, ending), **read, true)
                });
                narrow
                    .filter_map(|(ending, _)| of_ending(dir, ending))
                    .collect()
            }
            None if inputs.may_hold(dir) => Vec::new(),
            None if elsewhere.is_empty() => in_folder(dir, "*").into_iter().collect(),
            None => {
                let narrow = elsewhere
                    .iter()
                    .filter(|ending| tracked_in(context, dir, ending) == 0);
                narrow.filter_map(|ending| of_ending(dir, ending)).collect()
            }
        };
        let is_lacking =
            |glob: &String| !new_file(glob).is_some_and(|path| seen.is_declared(&path));
        found.extend(globs.into_iter().filter(is_lacking).map(|glob| (dir, glob)));
    }
    found
}

fn of_ending(dir: &RepoPath, ending: &str) -> Option<String> {
    in_folder(dir, &format!("*.{}", escape(ending)))
}

/// Counts the tracked files with an ending that are directly in a folder.
fn tracked_in(context: &Context<'_>, dir: &RepoPath, by: &str) -> usize {
    let tracked = context.subject.tracked;
    let prefix = [dir.as_bytes(), b"/"].concat();
    let from = tracked.partition_point(|path| path.as_bytes() < prefix.as_slice());
    let below = tracked
        .iter()
        .skip(from)
        .take_while(|path| path.as_bytes().starts_with(&prefix));
    below
        .filter(|path| path.folder() == *dir && ending(path) == Some(by))
        .count()
}

/// Whether a glob selects the new files that another one selects, which ends with `*` or `*.ENDING`.
fn selects_all_new(glob: &Glob, other: &str) -> bool {
    new_file(other).is_some_and(|path| glob.matches(&path))
}

/// Returns a path that no repository has, and that a glob that ends with `*` or `*.ENDING` selects.
fn new_file(glob: &str) -> Option<RepoPath> {
    let (dir, name) = glob.rsplit_once('/')?;
    let examples = Glob::parse(dir).ok()?.examples(&[]);
    let name = name.replacen('*', NEW_FILE, 1);
    let name = Glob::parse(&name).ok()?.examples(&[]);
    let path = format!("{}/{}", examples.first()?, name.first()?);
    RepoPath::from_exact(path.as_bytes())
}
