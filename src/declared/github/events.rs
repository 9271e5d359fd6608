//! Whether a workflow judges a change (R1): what `on` says, and the files for which it runs.

use super::globs::{self, Dialect};
use super::text_of;
use crate::declared::candidate::When;
use crate::declared::tree::{DataFile, Tree};
use crate::front::tree::{Node, Value};

/// The branches that can be the default one where nothing says which it is.
const DEFAULTS: &[&str] = &["main", "master", "trunk", "dev"];
/// The types of `pull_request` events with which a change comes.
const CHANGES: &[&str] = &[
    "opened",
    "synchronize",
    "synchronized",
    "reopened",
    "ready_for_review",
];

/// The starts of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Starts {
    /// The events that come with a change: `pull_request`, `merge_group`, `push`, in this order.
    pub(super) live: Vec<&'static str>,
    /// The files for which it runs.
    pub(super) when: When,
    /// Whether other workflows may call it.
    pub(super) called: bool,
    /// Words for the events that come without a change: "a schedule".
    pub(super) others: Vec<String>,
}

/// Reads `on`.
pub(super) fn read(tree: &Tree, doc: &DataFile) -> Starts {
    let mut starts = Starts {
        live: Vec::new(),
        when: When::Unsaid,
        called: false,
        others: Vec::new(),
    };
    // YAML 1.1 reads `on` as `true`.
    let Some(on) = doc.root.get("on").or_else(|| doc.root.get("true")) else {
        return starts;
    };
    let mut events: Vec<(String, Option<&Node>)> = Vec::new();
    match &on.value {
        Value::List(items) => {
            events.extend(items.iter().map(|item| (text_of(doc, item), None)));
        }
        Value::Map(entries) => {
            events.extend(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), Some(node))),
            );
        }
        _ => events.push((text_of(doc, on), None)),
    }
    let own = doc.file.to_string();
    let mut lists: Vec<Option<Vec<String>>> = Vec::new();
    for wanted in ["pull_request", "merge_group", "push"] {
        let Some((_, node)) = events.iter().find(|(name, _)| name == wanted) else {
            continue;
        };
        let live = match wanted {
            "pull_request" => comes_with_a_change(doc, *node),
            "push" => default_branch(tree, doc, *node),
            _ => true,
        };
        if live {
            starts.live.push(wanted);
            lists.push(node.and_then(|node| files(doc, node, &own)));
        } else {
            starts.others.push(if wanted == "push" {
                "tags and other branches".to_owned()
            } else {
                "labels and the like".to_owned()
            });
        }
    }
    starts.called = events.iter().any(|(name, _)| name == "workflow_call");
    let joined = lists
        .into_iter()
        .reduce(|a, b| Some(globs::union(&a?, &b?)))
        .flatten();
    if let Some(globs) = joined {
        starts.when = When::Changed(globs);
    }
    for (name, _) in &events {
        let words = match &**name {
            "pull_request" | "merge_group" | "push" | "workflow_call" => continue,
            "schedule" => "a schedule",
            "release" => "releases",
            "workflow_dispatch" | "repository_dispatch" => "a person's start",
            "workflow_run" => "other workflows",
            "create" | "delete" => "branches and tags",
            other if other.starts_with("issue") || other.starts_with("discussion") => "issues",
            "pull_request_target" | "pull_request_review" | "pull_request_review_comment" => {
                "pull requests, without their change"
            }
            _ => "other events",
        };
        if !starts.others.iter().any(|other| other == words) {
            starts.others.push(words.to_owned());
        }
    }
    starts
}

/// The texts of a list, or of a single value.
pub(super) fn texts(doc: &DataFile, node: Option<&Node>) -> Vec<String> {
    match node {
        None => Vec::new(),
        Some(node) => match &node.value {
            Value::List(items) => items.iter().map(|item| text_of(doc, item)).collect(),
            Value::Null | Value::Map(_) => Vec::new(),
            _ => vec![text_of(doc, node)],
        },
    }
}

fn comes_with_a_change(doc: &DataFile, node: Option<&Node>) -> bool {
    let types = texts(doc, node.and_then(|node| node.get("types")));
    types.is_empty() || types.iter().any(|t| CHANGES.contains(&&**t))
}

/// Whether pushes to the default branch start it.
fn default_branch(tree: &Tree, doc: &DataFile, node: Option<&Node>) -> bool {
    let Some(node) = node else {
        return true;
    };
    let names: Vec<&str> = match &tree.default_branch {
        Some(name) => vec![name],
        None => DEFAULTS.to_vec(),
    };
    let branches = texts(doc, node.get("branches"));
    if !branches.is_empty() {
        return names.iter().any(|name| {
            branches
                .iter()
                .fold(false, |on, pattern| match pattern.strip_prefix('!') {
                    Some(excluded) => on && !matches(excluded, name),
                    None => on || matches(pattern, name),
                })
        });
    }
    let ignored = texts(doc, node.get("branches-ignore"));
    if !ignored.is_empty() {
        return names
            .iter()
            .any(|name| !ignored.iter().any(|pattern| matches(pattern, name)));
    }
    node.get("tags").is_none() && node.get("tags-ignore").is_none()
}

/// Whether a pattern of branches selects a name. One that cannot be told selects it.
fn matches(pattern: &str, name: &str) -> bool {
    use crate::base::glob::Glob;
    use crate::base::path::RepoPath;
    let Some(path) = RepoPath::from_exact(name.as_bytes()) else {
        return true;
    };
    match globs::translate(pattern, Dialect::Workflow) {
        Some(globs) => globs
            .iter()
            .filter_map(|glob| Glob::parse(glob).ok())
            .any(|glob| glob.matches(&path)),
        None => true,
    }
}

/// The files for which an event starts it. The workflow's own file is not among them: a change of
/// it is no change of what it verifies.
fn files(doc: &DataFile, node: &Node, own: &str) -> Option<Vec<String>> {
    let paths = texts(doc, node.get("paths"));
    if !paths.is_empty() {
        let others: Vec<String> = paths.iter().filter(|path| *path != own).cloned().collect();
        let selects = others.iter().any(|path| !path.starts_with('!'));
        return globs::list(if selects { &others } else { &paths }, Dialect::Workflow);
    }
    let ignored = texts(doc, node.get("paths-ignore"));
    if ignored.is_empty() {
        return None;
    }
    globs::all_but(&ignored, Dialect::Workflow)
}
