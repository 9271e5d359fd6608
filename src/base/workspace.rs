//! Workspaces: the packages of a repository that a manifest lists, and their dependencies.

use super::path::RepoPath;
use super::word::Word;
use std::collections::{BTreeMap, BTreeSet};

/// The word before a package that selects its files and those of all packages that it uses.
pub const DEPENDENTS: &str = "dependents";

/// Returns the name of its selection, which no `paths` can have.
pub fn dependents(folder: &RepoPath) -> String {
    format!("{DEPENDENTS} {folder}")
}

/// Whether a selection has such a name.
pub fn is_dependents(name: &str) -> bool {
    let behind = name.strip_prefix(DEPENDENTS);
    behind.is_some_and(|folder| folder.starts_with(' '))
}

/// The file that declares a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manifest {
    /// `pnpm-workspace.yaml`
    Pnpm,
    /// `package.json`: npm, yarn and bun.
    Npm,
    /// `Cargo.toml`
    Cargo,
    /// `go.work`
    Go,
    /// `pyproject.toml`: uv.
    Uv,
}

/// The files of a workspace: its own, those of each package, and the files next to its own that all
/// packages depend on.
type Files = (&'static str, &'static str, &'static [&'static str]);

impl Manifest {
    /// All kinds. A pnpm workspace has a `package.json`, too, so pnpm comes first.
    pub const ALL: [Self; 5] = [
        Manifest::Pnpm,
        Manifest::Npm,
        Manifest::Cargo,
        Manifest::Go,
        Manifest::Uv,
    ];

    fn files(self) -> Files {
        match self {
            Manifest::Pnpm => (
                "pnpm-workspace.yaml",
                "package.json",
                &["package.json", "pnpm-lock.yaml", ".npmrc", ".pnpmfile.cjs"],
            ),
            Manifest::Npm => (
                "package.json",
                "package.json",
                &[
                    "package-lock.json",
                    "npm-shrinkwrap.json",
                    "yarn.lock",
                    "bun.lock",
                    "bun.lockb",
                    ".npmrc",
                    ".yarnrc.yml",
                    "bunfig.toml",
                ],
            ),
            Manifest::Cargo => (
                "Cargo.toml",
                "Cargo.toml",
                &[
                    "Cargo.lock",
                    "rust-toolchain",
                    "rust-toolchain.toml",
                    ".cargo/config.toml",
                ],
            ),
            Manifest::Go => ("go.work", "go.mod", &["go.work.sum"]),
            Manifest::Uv => ("pyproject.toml", "pyproject.toml", &["uv.lock", "uv.toml"]),
        }
    }

    /// Returns the name of the file.
    pub fn name(self) -> &'static str {
        self.files().0
    }

    /// Returns the name of the manifest that each package has.
    pub fn of_package(self) -> &'static str {
        self.files().1
    }

    /// Returns the files next to it on which all packages depend, whether they exist or not.
    pub fn shared_files(self) -> &'static [&'static str] {
        self.files().2
    }

    /// Whether a file with this name may define the packages of a workspace, or their dependencies.
    pub fn is_read(name: &[u8]) -> bool {
        let is = |manifest: Self| {
            let names = [manifest.name(), manifest.of_package()];
            names.map(str::as_bytes).contains(&name)
        };
        Self::ALL.into_iter().any(is)
    }
}

/// A question about the packages of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspaceQuery {
    /// The folder that the workspace's manifest is in.
    pub dir: RepoPath,
    /// The manifest; `None` for the only one that is there.
    pub manifest: Option<Manifest>,
}

impl WorkspaceQuery {
    /// Reads the path of a workspace's manifest, or of its folder, below a directory; `None` when
    /// it leaves the repository.
    pub fn parse(dir: &RepoPath, text: &str) -> Option<Self> {
        let path = RepoPath::parse(text.as_bytes()).ok()?;
        let path = match path.is_root() {
            true => dir.clone(),
            false => dir.join(path.as_bytes()).ok()?,
        };
        let is_named = |manifest: &Manifest| path.name() == manifest.name().as_bytes();
        let manifest = Manifest::ALL.into_iter().find(is_named);
        Some(Self {
            dir: match manifest {
                Some(_) => path.folder(),
                None => path,
            },
            manifest,
        })
    }

    /// Returns it as one text: `web/` or `web/package.json`, and `./` for the root.
    pub fn to_word(&self) -> Word {
        let file = self.manifest.map_or("", Manifest::name);
        let mut text = self.dir.as_bytes().to_vec();
        text.push(b'/');
        text.extend_from_slice(file.as_bytes());
        Word::new(text)
    }

    /// Reads the text of [`WorkspaceQuery::to_word`].
    pub fn from_word(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let query = Self::parse(&RepoPath::root(), text)?;
        (query.to_word().as_bytes() == text.as_bytes()).then_some(query)
    }
}

/// A folder that an `each` asks for; for a package, with the data of its manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// The name of the package; empty for a folder that was requested by its name.
    pub name: String,
    /// The folders that it uses: packages of the workspace, and others of the repository.
    pub uses: BTreeSet<RepoPath>,
}

/// The result of an `each`: its folders, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundMembers {
    /// The manifest of the workspace.
    pub manifest: Option<Manifest>,
    /// The folders found, by path.
    pub members: BTreeMap<RepoPath, Member>,
}

impl FoundMembers {
    /// Adds the results of another question: its folders, and the dependencies that it reports for
    /// these.
    pub fn merge(&mut self, other: Self) {
        self.manifest = self.manifest.or(other.manifest);
        for (folder, member) in other.members {
            match self.members.get_mut(&folder) {
                Some(own) => own.uses.extend(member.uses),
                None => drop(self.members.insert(folder, member)),
            }
        }
    }

    /// Adds the dependencies that these packages have in another state of the workspace.
    pub fn merge_uses(&mut self, other: Self) {
        for (folder, member) in other.members {
            if let Some(own) = self.members.get_mut(&folder) {
                own.uses.extend(member.uses);
            }
        }
    }

    /// Whether all folders of this are folders of another.
    pub fn is_within(&self, other: &Self) -> bool {
        let mut folders = self.members.keys();
        folders.all(|folder| other.members.contains_key(folder))
    }

    /// Returns it as the answer of a fact: a folder by itself, a package as
    /// `packages/web//@acme/web//packages/ui`, the manifest as `Cargo.toml//`.
    pub fn to_words(&self) -> Vec<Word> {
        let word = |(folder, member): (&RepoPath, &Member)| {
            let mut text = folder.as_bytes().to_vec();
            if self.manifest.is_some() {
                text.extend_from_slice(b"//");
                text.extend_from_slice(member.name.as_bytes());
            }
            for used in &member.uses {
                text.extend_from_slice(b"//");
                text.extend_from_slice(used.as_bytes());
            }
            Word::new(text)
        };
        let mut words: Vec<Word> = self.members.iter().map(word).collect();
        let own = |file: Manifest| Word::from(format!("{}//", file.name()));
        words.extend(self.manifest.map(own));
        if self.manifest.is_some() {
            words.sort();
        }
        words
    }
}

impl<'f> IntoIterator for &'f FoundMembers {
    type Item = &'f RepoPath;
    type IntoIter = std::collections::btree_map::Keys<'f, RepoPath, Member>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.keys()
    }
}

/// Folders without anything else about them.
impl FromIterator<RepoPath> for FoundMembers {
    fn from_iter<T: IntoIterator<Item = RepoPath>>(folders: T) -> Self {
        let member = |folder| (folder, Member::default());
        Self {
            manifest: None,
            members: folders.into_iter().map(member).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn questions_as_text() {
        for (dir, text, word) in [
            (".", ".", "./"),
            (".", "Cargo.toml", "./Cargo.toml"),
            ("web", ".", "web/"),
            (
                "web",
                "app/pnpm-workspace.yaml",
                "web/app/pnpm-workspace.yaml",
            ),
            (".", "web/", "web/"),
        ] {
            let query = WorkspaceQuery::parse(&path(dir), text).unwrap();
            assert_eq!(query.to_word(), Word::from(word), "{dir} {text}");
            assert_eq!(WorkspaceQuery::from_word(word.as_bytes()), Some(query));
        }
        assert_eq!(WorkspaceQuery::parse(&path("web"), "../../x"), None);
        assert_eq!(WorkspaceQuery::from_word(b"web"), None, "one text for each");
    }

    #[test]
    fn a_fact_has_names_and_uses() {
        let member = |name: &str, uses: &[&str]| Member {
            name: name.to_owned(),
            uses: uses.iter().map(|folder| path(folder)).collect(),
        };
        let mut found = FoundMembers {
            manifest: Some(Manifest::Cargo),
            members: [
                (path("a"), member("x", &["b"])),
                (path("a-b"), member("y", &[])),
            ]
            .into(),
        };
        let words = |found: &FoundMembers| -> Vec<String> {
            let words = found.to_words().into_iter();
            words
                .map(|word| word.as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(words(&found), ["Cargo.toml//", "a-b//y", "a//x//b"]);
        let before = FoundMembers {
            manifest: None,
            members: [
                (path("a"), member("old", &["c"])),
                (path("gone"), member("z", &[])),
            ]
            .into(),
        };
        found.merge_uses(before.clone());
        assert_eq!(words(&found), ["Cargo.toml//", "a-b//y", "a//x//b//c"]);
        assert!(!before.is_within(&found));
        found.merge(before.clone());
        assert!(before.is_within(&found));
        let folders: FoundMembers = [path("a"), path("b")].into_iter().collect();
        assert_eq!(words(&folders), ["a", "b"]);
    }
}
