//! Workspaces of npm, yarn, bun (`package.json`) and pnpm (`pnpm-workspace.yaml`).

use super::said::{Declared, Package, at, entries, folder_at, texts};
use crate::tree::{TreeNode, TreeValue};
use vplan_base::path::RepoPath;

/// The keys under which a package lists what it uses.
const KINDS: [&str; 4] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
];

/// What is written in front of a folder.
const PATHS: [&str; 4] = ["file:", "link:", "portal:", "workspace:"];

/// Reads `workspaces`: a list, or a mapping with `packages`.
pub(super) fn workspace(root: &TreeNode) -> Option<Declared> {
    let own = at(root, &["workspaces"])?;
    let list = at(own, &["packages"]).unwrap_or(own);
    matches!(list.value, TreeValue::List(_)).then(|| parse_list(list))
}

/// Reads `packages`. Without it the file has settings of one package only.
pub(super) fn pnpm(root: &TreeNode) -> Option<Declared> {
    at(root, &["packages"]).map(parse_list)
}

fn parse_list(list: &TreeNode) -> Declared {
    Declared {
        members: texts(Some(list)),
        ..Declared::default()
    }
}

pub(super) fn package(manifest: &TreeNode, folder: &RepoPath) -> Result<Package, &'static str> {
    if !matches!(manifest.value, TreeValue::Map(_)) {
        return Err("it is no object");
    }
    let named = at(manifest, &["name"]).and_then(TreeNode::text);
    // One without a name is called as its folder.
    let of_folder = || String::from_utf8_lossy(folder.name()).into_owned();
    let mut package = Package {
        name: named
            .filter(|name| !name.is_empty())
            .map_or_else(of_folder, str::to_owned),
        ..Package::default()
    };
    for (name, wanted) in KINDS.iter().flat_map(|kind| entries(at(manifest, &[kind]))) {
        package.names.insert(name.to_owned());
        let Some(wanted) = wanted.text() else {
            continue;
        };
        // `npm:NAME@RANGE` and `workspace:NAME@RANGE` ask for it by another name.
        let behind = wanted.split_once(':').map(|(_, behind)| behind);
        let alias = behind.and_then(|behind| behind.rsplit_once('@'));
        package.names.extend(alias.map(|(name, _)| name.to_owned()));
        let path = PATHS.iter().find_map(|prefix| wanted.strip_prefix(prefix));
        let is_path = |path: &&str| path.starts_with('.') || wanted.starts_with("file:");
        let path = path.or_else(|| wanted.starts_with('.').then_some(wanted));
        package.folders.extend(
            path.filter(is_path)
                .and_then(|path| folder_at(folder, path)),
        );
    }
    Ok(package)
}
