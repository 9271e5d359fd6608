//! The events that start a workflow: whether it verifies a change, and for which files.

use super::value::texts;
use crate::globs;
use crate::listed::listed;
use crate::tree::{DataFile, Tree};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_front::tree::{Node, Value};

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
    /// Whether other workflows may call it.
    pub(super) called: bool,
    /// Why it is not read, where no event is live.
    pub(super) why: String,
}

/// Reads `on`.
pub(super) fn read(tree: &Tree, doc: &DataFile) -> Starts {
    // YAML 1.1 reads `on` as `true`.
    let on = doc.root.get("on").or_else(|| doc.root.get("true"));
    let mut events: Vec<(String, Option<&Node>)> = Vec::new();
    match on.map(|node| &node.value) {
        Some(Value::Map(entries)) => {
            events.extend(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), Some(node))),
            );
        }
        _ => events.extend(texts(doc, on).into_iter().map(|name| (name, None))),
    }
    let mut starts = Starts::default();
    let mut own_files = false;
    for wanted in LIVE {
        let Some((_, node)) = events.iter().find(|(name, _)| name == wanted) else {
            continue;
        };
        let of = |key: &str| texts(doc, node.and_then(|node| node.get(key)));
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
        if !paths.is_empty()
            && paths
                .iter()
                .all(|p| p.starts_with(".github/") || p.starts_with('!'))
        {
            own_files = true;
            continue;
        }
        if starts.live.is_empty() {
            let own = doc.file.to_string();
            let others: Vec<String> = paths.iter().filter(|path| **path != own).cloned().collect();
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
    starts.called = events.iter().any(|(name, _)| name == "workflow_call");
    let names: Vec<&str> = events.iter().map(|(name, _)| &**name).collect();
    starts.why = match (&*names, own_files) {
        (_, true) => "it starts only on changes below `.github/`".to_owned(),
        ([], _) => "nothing starts it".to_owned(),
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
        match (path, globs::translate(pattern)) {
            (Some(path), Some(globs)) => {
                let globs = globs.iter().filter_map(|glob| Glob::parse(glob).ok());
                globs.into_iter().any(|glob| glob.matches(&path))
            }
            _ => true,
        }
    };
    let selected = branches
        .iter()
        .fold(false, |on, pattern| match pattern.strip_prefix('!') {
            Some(excluded) => on && !matches(excluded),
            None => on || matches(pattern),
        });
    (branches.is_empty() || selected) && !ignored.iter().any(|pattern| matches(pattern))
}
