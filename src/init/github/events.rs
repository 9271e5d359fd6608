//! The events that start a workflow: whether it verifies a change, and for which files.

use crate::globs::{self, any_of};
use crate::listed::listed;
use crate::tree::{DataFile, Keys, Tree, scalars};
use vplan_base::path::RepoPath;
use vplan_front::tree::Node;

/// The events that come with a change, in the order in which they are preferred.
const LIVE: &[&str] = &["pull_request", "merge_group", "push"];
/// The types of `pull_request` events that come with a change.
const CHANGES: &str = "opened synchronize reopened ready_for_review";

/// The starts of a workflow.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Starts {
    /// The events that come with a change.
    pub(super) live: Vec<&'static str>,
    /// The globs of the changes for which it runs; empty for all.
    pub(super) paths: Vec<String>,
    /// Why it is not read, where no event is live.
    pub(super) why: String,
}

/// What starts a workflow. YAML 1.1 reads `on` as `true`.
pub(super) fn on(doc: &DataFile) -> Option<&Node> {
    doc.root.get("on").or_else(|| doc.root.get("true"))
}

/// Reads `on`.
pub(super) fn read(tree: &Tree, doc: &DataFile) -> Starts {
    let on = on(doc);
    let keys = on.map_or(&[][..], Node::entries).iter();
    let mut names: Vec<String> = keys.map(|(key, _)| key.name.clone()).collect();
    names.extend(on.map(scalars).unwrap_or_default());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut starts = Starts::default();
    let mut own_files = false;
    for wanted in LIVE.iter().filter(|wanted| names.contains(wanted)) {
        let of = |key: &str| on.scalars_at(&format!("{wanted}.{key}"));
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
        if starts.live.is_empty() {
            let own = doc.file.to_string();
            let others: Vec<String> = paths.into_iter().filter(|path| *path != own).collect();
            starts.paths = match &*of("paths-ignore") {
                [] => globs::list(&others),
                ignored => globs::all_but(ignored),
            };
        }
        starts.live.push(wanted);
    }
    // What only a push starts comes after the change.
    if starts.live.len() > 1 {
        starts.live.retain(|event| *event != "push");
    }
    starts.why = match (&*names, own_files) {
        (_, true) => "it starts only on changes below `.github/`".to_owned(),
        ([], _) => "nothing starts it".to_owned(),
        (["workflow_call"], _) => "no workflow that is read calls it".to_owned(),
        (["push"], _) => "it starts on tags or other branches".to_owned(),
        (["pull_request"], _) => "it starts on other branches or types of pull requests".to_owned(),
        _ => format!("it starts on {}", names.join(", ")),
    };
    starts
}

/// Whether filters of branches let the default branch through; one that is unknown may be any.
fn on_branch(tree: &Tree, branches: &[String], ignored: &[String]) -> bool {
    let Some(name) = tree.default_branch.as_deref() else {
        return true;
    };
    let matches = |pattern: &str| {
        let path = RepoPath::from_exact(name.as_bytes());
        path.zip(globs::translate(pattern))
            .is_none_or(|(path, globs)| any_of(&globs)(&path))
    };
    let selected = branches
        .iter()
        .fold(false, |on, pattern| match pattern.strip_prefix('!') {
            Some(excluded) => on && !matches(excluded),
            None => on || matches(pattern),
        });
    (branches.is_empty() || selected) && !ignored.iter().any(|pattern| matches(pattern))
}
