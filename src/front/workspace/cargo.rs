//! Workspaces of cargo.

use super::said::{Declared, Package, at, entries, folder_at, texts};
use crate::tree::{TreeNode, TreeValue};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;

/// The tables in which a package lists what it uses.
const KINDS: [&str; 5] = [
    "dependencies",
    "dev-dependencies",
    "dev_dependencies",
    "build-dependencies",
    "build_dependencies",
];

pub(super) fn workspace(root: &TreeNode, dir: &RepoPath) -> Option<Declared> {
    let own = at(root, &["workspace"])?;
    let place = |(name, wanted): (&str, &TreeNode)| {
        let path = at(wanted, &["path"])?.text()?;
        Some((package_of(name, wanted), folder_at(dir, path)?))
    };
    let inherited = entries(at(own, &["dependencies"])).filter_map(|(name, wanted)| {
        let (_, folder) = place((name, wanted))?;
        Some((name.to_owned(), folder))
    });
    let patches = entries(at(root, &["patch"])).flat_map(|(_, source)| entries(Some(source)));
    Some(Declared {
        members: texts(at(own, &["members"])),
        excluded: texts(at(own, &["exclude"])),
        is_package: at(root, &["package"]).is_some(),
        named: patches.filter_map(place).collect(),
        inherited: inherited.collect(),
    })
}

/// Returns the package name of a dependency: its key, unless `package` renames it.
fn package_of(key: &str, wanted: &TreeNode) -> String {
    let named = at(wanted, &["package"]).and_then(TreeNode::text);
    named.unwrap_or(key).to_owned()
}

pub(super) fn package(
    manifest: &TreeNode,
    folder: &RepoPath,
    inherited: &BTreeMap<String, RepoPath>,
) -> Result<Package, &'static str> {
    let named = at(manifest, &["package", "name"]).and_then(TreeNode::text);
    let mut package = Package {
        name: named.ok_or("it has no `package.name`")?.to_owned(),
        ..Package::default()
    };
    let targets = entries(at(manifest, &["target"])).map(|(_, target)| target);
    for place in [manifest].into_iter().chain(targets) {
        for (key, wanted) in KINDS.iter().flat_map(|kind| entries(at(place, &[kind]))) {
            let path = at(wanted, &["path"]).and_then(TreeNode::text);
            let is_inherited = at(wanted, &["workspace"])
                .is_some_and(|is| matches!(is.value, TreeValue::Bool(true)));
            match path {
                Some(path) => package.folders.extend(folder_at(folder, path)),
                None if is_inherited => package.folders.extend(inherited.get(key).cloned()),
                None => {}
            }
            package.names.insert(package_of(key, wanted));
        }
    }
    Ok(package)
}
