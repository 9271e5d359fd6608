//! The files of packages and of what they use, as selections: what `dependents {NAME}` means.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::glob::{Glob, Item, ItemContent, Selection, escape};
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_base::workspace::{FoundMembers, WorkspaceQuery};

vplan_base::index!(
    FolderIndex,
    "folder of a workspace",
    "Position of a package, or of another folder that one uses, by its path."
);

/// The packages of a workspace and the folders that they use, with the files of each.
#[derive(Debug)]
pub(super) struct Uses {
    numbers: BTreeMap<RepoPath, FolderIndex>,
    /// What each folder uses itself.
    uses: Dense<FolderIndex, Vec<FolderIndex>>,
    /// The files of each folder; the folder where no glob can name them.
    own: Dense<FolderIndex, Result<Item, RepoPath>>,
    /// The manifest of the workspace, and the files next to it on which all packages depend.
    shared: Vec<Item>,
    made: BTreeMap<FolderIndex, Arc<Selection>>,
}

impl Uses {
    pub(super) fn new(found: &FoundMembers, workspace: &WorkspaceQuery) -> Self {
        let used = found.members.values().flat_map(|member| &member.uses);
        let folders: BTreeSet<&RepoPath> = found.into_iter().chain(used).collect();
        let mut own = Dense::default();
        let numbers: BTreeMap<RepoPath, FolderIndex> = folders
            .iter()
            .map(|folder| {
                let files = files(folder, &folders, &workspace.dir);
                let files = files.ok_or_else(|| (*folder).clone());
                ((*folder).clone(), own.push(files))
            })
            .collect();
        let uses = folders.iter().map(|folder| {
            let used = found.members.get(folder).into_iter();
            let used = used.flat_map(|member| &member.uses);
            used.filter_map(|folder| numbers.get(folder).copied())
                .collect()
        });
        let uses = uses.collect();
        let beside = found.manifest.into_iter().flat_map(|manifest| {
            let names = [manifest.name()].into_iter();
            names.chain(manifest.shared_files().iter().copied())
        });
        let shared = beside.filter_map(|name| {
            let path = workspace.dir.join(name.as_bytes()).ok()?;
            Some(Item::from(Glob::literal(&path)?))
        });
        Self {
            shared: shared.collect(),
            numbers,
            uses,
            own,
            made: BTreeMap::new(),
        }
    }

    /// Returns the files of a folder and of all that it uses; the first of these folders whose files
    /// no glob can name.
    pub(super) fn selection(&mut self, folder: &RepoPath) -> Result<Arc<Selection>, RepoPath> {
        let number = self.numbers.get(folder).ok_or_else(|| folder.clone())?;
        if let Some(made) = self.made.get(number) {
            return Ok(Arc::clone(made));
        }
        let mut used = BTreeSet::new();
        let mut open = vec![*number];
        while let Some(next) = open.pop() {
            if used.insert(next) {
                open.extend(&self.uses[next]);
            }
        }
        used.remove(number);
        // Its own files first, which is where most changes are.
        let mut items = Vec::with_capacity(1 + used.len() + self.shared.len());
        for number in [*number].into_iter().chain(used) {
            items.push(self.own[number].clone()?);
        }
        items.extend(self.shared.iter().cloned());
        let made = Arc::new(Selection { items });
        self.made.insert(*number, Arc::clone(&made));
        Ok(made)
    }
}

/// Returns the files of a folder; of the workspace's own without those of other packages. What is
/// inside of a package may be a fixture of its tests.
fn files(folder: &RepoPath, all: &BTreeSet<&RepoPath>, root: &RepoPath) -> Option<Item> {
    let all_below = |folder: &RepoPath| {
        let text = std::str::from_utf8(folder.as_bytes()).ok()?;
        let text = match folder.is_root() {
            true => "**".to_owned(),
            false => format!("{}/**", escape(text)),
        };
        Glob::parse(&text).ok().map(Item::from)
    };
    let own = all_below(folder)?;
    if folder != root {
        return Some(own);
    }
    // The lowest possible path in the folder.
    let first = folder.join(b"\x01").ok()?;
    let mut inside = all.range::<RepoPath, _>(&first..);
    let mut items = vec![own.clone()];
    while let Some(other) = inside.next().filter(|other| other.below(folder).is_some()) {
        // The root is below itself.
        if *other == folder {
            continue;
        }
        items.push(Item {
            not: true,
            ..all_below(other)?
        });
    }
    if items.len() == 1 {
        return Some(own);
    }
    Some(Item {
        not: false,
        what: ItemContent::Paths {
            items: Arc::new(Selection { items }),
            name: folder.to_string(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::workspace::{Manifest, Member};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn uses(members: &[(&str, &[&str])]) -> Uses {
        let member = |(folder, uses): &(&str, &[&str])| {
            let member = Member {
                name: (*folder).to_owned(),
                uses: uses.iter().map(|used| path(used)).collect(),
            };
            (path(folder), member)
        };
        let found = FoundMembers {
            manifest: Some(Manifest::Cargo),
            members: members.iter().map(member).collect(),
        };
        let workspace = WorkspaceQuery::parse(&RepoPath::root(), ".").unwrap();
        Uses::new(&found, &workspace)
    }

    /// A library is changed: its users are started, those that use it through others among them, and
    /// those on a circle.
    #[test]
    fn a_change_reaches_the_users_of_a_package() {
        let mut uses = uses(&[
            (".", &["app"]),
            ("app", &["ui", "tools/gen"]),
            ("app/native", &[]),
            ("base", &[]),
            ("loop-a", &["loop-b"]),
            ("loop-b", &["loop-a", "base"]),
            ("ui", &["base"]),
        ]);
        let all = [".", "app", "app/native", "base", "loop-a", "loop-b", "ui"];
        for (file, want) in [
            (
                "base/src/a.rs",
                &[".", "app", "base", "loop-a", "loop-b", "ui"][..],
            ),
            ("ui/a", &[".", "app", "ui"]),
            ("loop-a/a", &["loop-a", "loop-b"]),
            ("app/a", &[".", "app"]),
            ("app/native/a", &[".", "app", "app/native"]),
            ("loop-b/native/a", &["loop-a", "loop-b"]),
            ("tools/gen/a", &[".", "app"]),
            ("README.md", &["."]),
            ("Cargo.lock", &all),
            (".cargo/config.toml", &all),
        ] {
            let file = path(file);
            let started: Vec<&str> = all
                .into_iter()
                .filter(|folder| uses.selection(&path(folder)).unwrap().selects(&file))
                .collect();
            assert_eq!(started, want, "{file}");
        }
    }

    #[test]
    fn a_folder_that_no_glob_names_is_told() {
        let name = "x".repeat(600);
        let mut uses = uses(&[("a", &[&name]), ("b", &[])]);
        assert_eq!(uses.selection(&path("a")).unwrap_err(), path(&name));
        assert!(uses.selection(&path("b")).is_ok());
        assert_eq!(uses.selection(&path("c")).unwrap_err(), path("c"));
    }
}
