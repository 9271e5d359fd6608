//! The events that start a workflow: whether it verifies a change, and for which files.

use crate::globs;
use crate::globs::any_of;
use crate::tree::{DataFile, Keys, RepositoryTree};
use crate::words::listed;
use vplan_base::path::RepoPath;

/// The events that come with a change, in the order in which they are preferred: what only a push
/// starts comes after the change.
const LIVE: &[&str] = &["pull_request", "merge_group", "push"];
/// The types of `pull_request` events that come with a change.
const CHANGES: &str = "opened synchronize reopened ready_for_review";

/// The event that comes with a change, and the globs of the changes for which it starts a workflow,
/// empty for all. The error is why none does.
pub(super) fn read(
    tree: &RepositoryTree,
    doc: &DataFile,
) -> Result<(&'static str, Vec<String>), String> {
    let mut names = doc.root.scalars_at("on");
    let keys = doc.root.entries_at("on").iter();
    names.extend(keys.map(|(key, _)| key.name.clone()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut own_files = false;
    for wanted in LIVE.iter().filter(|wanted| names.contains(wanted)) {
        let of = |key: &str| doc.root.scalars_at(&format!("on.{wanted}.{key}"));
        let types = of("types");
        let comes = types.is_empty() || types.iter().any(|t| listed(CHANGES, t));
        let tags_only = *wanted == "push"
            && (!of("tags").is_empty() || !of("tags-ignore").is_empty())
            && of("branches").is_empty()
            && of("branches-ignore").is_empty();
        if !comes || tags_only || !on_branch(tree, &of("branches"), &of("branches-ignore")) {
            continue;
        }
        let paths = of("paths");
        let is_own = |path: &String| path.starts_with(".github/") || path.starts_with('!');
        if !paths.is_empty() && paths.iter().all(is_own) {
            own_files = true;
            continue;
        }
        let own = doc.file.to_string();
        let others: Vec<String> = paths.into_iter().filter(|path| *path != own).collect();
        let paths = match &*of("paths-ignore") {
            [] => globs::list(&others),
            ignored => globs::all_but(ignored),
        };
        return Ok((wanted, paths));
    }
    let why = match &*names {
        _ if own_files => "it starts only on changes below `.github/`",
        [] => "nothing starts it",
        ["workflow_call"] => "no workflow that is read calls it",
        ["push"] => "it starts on tags or other branches",
        ["pull_request"] => "it starts on other branches or types of pull requests",
        _ => return Err(format!("it starts on {}", names.join(", "))),
    };
    Err(why.to_owned())
}

/// Whether filters of branches let the default branch through; one that is unknown may be any.
fn on_branch(tree: &RepositoryTree, branches: &[String], ignored: &[String]) -> bool {
    let Some(name) = tree.default_branch.as_deref() else {
        return true;
    };
    let path = RepoPath::from_exact(name.as_bytes());
    let matches = |pattern: &str, unknown: bool| {
        let both = path.as_ref().zip(globs::translate(pattern));
        both.map_or(unknown, |(path, glob)| any_of(&[glob])(path))
    };
    let selected = branches
        .iter()
        .fold(false, |on, pattern| match pattern.strip_prefix('!') {
            Some(excluded) => on && !matches(excluded, false),
            None => on || matches(pattern, true),
        });
    (branches.is_empty() || selected) && !ignored.iter().any(|pattern| matches(pattern, false))
}
