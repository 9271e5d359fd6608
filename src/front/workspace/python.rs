//! Workspaces of uv.

use super::said::{Declared, Package, at, entries, folder_at, texts};
use crate::tree::TreeNode;
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;

pub(super) fn workspace(root: &TreeNode, dir: &RepoPath) -> Option<Declared> {
    let own = at(root, &["tool", "uv", "workspace"])?;
    Some(Declared {
        members: texts(at(own, &["members"])),
        excluded: texts(at(own, &["exclude"])),
        is_package: at(root, &["project"]).is_some(),
        named: sources(root, dir),
        inherited: BTreeMap::new(),
    })
}

pub(super) fn package(manifest: &TreeNode, folder: &RepoPath) -> Result<Package, &'static str> {
    let named = at(manifest, &["project", "name"]).and_then(TreeNode::text);
    let mut package = Package {
        name: normal(named.ok_or("it has no `project.name`")?),
        ..Package::default()
    };
    let lists = [
        at(manifest, &["project", "dependencies"]),
        at(manifest, &["tool", "uv", "dev-dependencies"]),
        at(manifest, &["build-system", "requires"]),
    ];
    let groups = [
        at(manifest, &["project", "optional-dependencies"]),
        at(manifest, &["dependency-groups"]),
    ];
    let groups = groups
        .into_iter()
        .flat_map(entries)
        .map(|(_, list)| Some(list));
    for wanted in lists.into_iter().chain(groups).flat_map(texts) {
        let ends = |c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c));
        let name = wanted.trim_start().split(ends).next().unwrap_or_default();
        package.names.insert(normal(name));
    }
    package
        .folders
        .extend(sources(manifest, folder).into_values());
    Ok(package)
}

/// Returns the source folders of packages, by package name.
fn sources(manifest: &TreeNode, dir: &RepoPath) -> BTreeMap<String, RepoPath> {
    let mut found = BTreeMap::new();
    for (name, source) in entries(at(manifest, &["tool", "uv", "sources"])) {
        let several = source.list().iter();
        for one in [source].into_iter().chain(several) {
            let path = at(one, &["path"]).and_then(TreeNode::text);
            let folder = path.and_then(|path| folder_at(dir, path));
            found.extend(folder.map(|folder| (normal(name), folder)));
        }
    }
    found
}

/// Writes a name as all spellings of it are compared.
fn normal(name: &str) -> String {
    let mut normal = String::new();
    for part in name.split(['-', '_', '.']).filter(|part| !part.is_empty()) {
        if !normal.is_empty() {
            normal.push('-');
        }
        normal.push_str(&part.to_ascii_lowercase());
    }
    normal
}
