//! What manifests say, whatever tool reads them, and how values are found in them.

use crate::tree::TreeNode;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;

/// What the manifest of a workspace says.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// Folders, or globs of them; after `!` those that are not its packages.
    pub(super) members: Vec<String>,
    /// Folders, or globs of them, that are not packages of it.
    pub(super) excluded: Vec<String>,
    /// Whether the folder of the workspace is a package itself.
    pub(super) is_package: bool,
    /// Where packages are that others ask for by name.
    pub(super) named: BTreeMap<String, RepoPath>,
    /// Where those are that others inherit from it (`workspace = true`).
    pub(super) inherited: BTreeMap<String, RepoPath>,
}

/// What the manifest of a package says.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) name: String,
    /// The names of what it uses.
    pub(super) names: BTreeSet<String>,
    /// The folders of what it uses.
    pub(super) folders: BTreeSet<RepoPath>,
}

/// Returns the value of nested keys.
pub(super) fn at<'n>(node: &'n TreeNode, keys: &[&str]) -> Option<&'n TreeNode> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

/// Returns the texts of a list.
pub(super) fn texts(node: Option<&TreeNode>) -> Vec<String> {
    let list = node.map_or(&[][..], TreeNode::list).iter();
    list.filter_map(|node| node.text().map(str::to_owned))
        .collect()
}

/// Returns the entries of a mapping.
pub(super) fn entries(node: Option<&TreeNode>) -> impl Iterator<Item = (&str, &TreeNode)> {
    let entries = node.map_or(&[][..], TreeNode::entries).iter();
    entries.map(|(key, node)| (key.name.as_str(), node))
}

/// Returns a folder of the repository that a path leads to.
pub(super) fn folder_at(dir: &RepoPath, path: &str) -> Option<RepoPath> {
    dir.join(path.as_bytes()).ok()
}
