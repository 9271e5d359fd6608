//! Proposes a contract for a repository that has none. For `vplan init`.
//!
//! A std contract where it fits exactly, so that no check of it would lack its program; else the
//! checks that are declared, each on its own. Packages below the root count when git tracks their
//! manifest. The search is bounded, and what was left out is reported.

use super::path;
use crate::base::command::Command;
use crate::base::path::RepoPath;
use crate::base::word::visible;
use crate::check::Kind;
use crate::declared::tasks::package::NOT_OURS;
use crate::effect::git::Git;
use crate::effect::os::files::beneath::{Beneath, ReadError};
use crate::effect::repo::facts::cargo::workspace_excludes;
use crate::effect::repo::facts::package::{self, Manifest};
use crate::lang::command::parse_command;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The greatest depth of a package, in directories.
pub const MAX_DEPTH: usize = 4;
/// The most packages below the root that are proposed.
pub const MAX_PACKAGES: usize = 40;
/// The most directories below the root that are searched.
pub const MAX_LOOKED_INTO: usize = 400;
/// The largest manifest that is read, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;
/// The longest path of a package, in bytes: a glob has a cap too.
const MAX_PATH: usize = 200;

/// Files that make a directory a package.
const MANIFESTS: [&str; 4] = ["Cargo.toml", "go.mod", "package.json", "pyproject.toml"];

/// A proposed contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Its statements, in order.
    pub parts: Vec<Part>,
    /// The findings that are not in it: one line each, for people.
    pub left_out: Vec<String>,
}

/// A statement of the contract, or a few that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// `import`.
    Import {
        /// `std:rust@1`.
        source: &'static str,
        /// The namespace.
        alias: String,
        /// The directory; the root for none.
        at: RepoPath,
        /// The reason: one line for people.
        why: String,
    },
    /// Checks without a std contract.
    Checks {
        /// The reason why these checks are proposed and no import is.
        why: Option<String>,
        /// The list of `whenChangedAny`: globs, with `!` in front of those that exclude; empty for
        /// "always".
        when: Vec<String>,
        /// The checks.
        checks: Vec<Proposed>,
    },
}

/// A check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// Its name, unique in the contract.
    pub id: String,
    /// Its verb.
    pub kind: Kind,
    /// The command that it runs.
    pub command: Command,
    /// Its directory.
    pub dir: RepoPath,
    /// `NAME=VALUE`, without anything to quote.
    pub env: &'static [&'static str],
    /// Folders in front of PATH.
    pub tool_path: &'static [&'static str],
    /// Globs for the files that it writes besides what it verifies.
    pub produces: Vec<String>,
    /// Its tier.
    pub tier: u8,
    /// The reason: one line for people.
    pub why: String,
}

impl Proposed {
    pub(super) fn new(id: String, kind: Kind, command: &str, dir: &RepoPath, why: String) -> Self {
        let command = parse_command(command);
        Self {
            id,
            kind,
            command,
            dir: dir.clone(),
            env: &[],
            tool_path: &[],
            produces: Vec::new(),
            tier: 0,
            why,
        }
    }
}

/// Proposes a contract for the repository at `root`. Without git only the root itself is searched.
///
/// # Errors
/// The root cannot be opened.
pub fn propose(root: &Path, git: Option<&Git>) -> std::io::Result<Proposal> {
    let present = git.and_then(|git| git.present().ok());
    let tracked = git.and_then(|git| git.tracked().ok());
    let mut proposer = Proposer {
        beneath: Beneath::open(root)?,
        present: present.map(|list| list.into_iter().collect()),
        names: BTreeSet::new(),
        aliases: BTreeMap::new(),
        local: BTreeMap::new(),
        has_packages: false,
        out: Proposal::default(),
    };
    let packages = tracked.map(|tracked| proposer.survey(&tracked));
    let root = RepoPath::root();
    proposer.cargo(&root);
    proposer.node(&root);
    proposer.make();
    proposer.python(&root);
    proposer.go(&root);
    proposer.docs();
    match packages {
        Some(packages) => proposer.packages(packages),
        None => {
            proposer.leave_out("git lists no files here: only the root was looked at".to_owned())
        }
    }
    Ok(proposer.out)
}

pub(super) struct Proposer {
    beneath: Beneath,
    /// Files that are tracked, or untracked and not ignored; `None` when git cannot list them.
    present: Option<BTreeSet<RepoPath>>,
    /// All names that are taken.
    names: BTreeSet<String>,
    /// The alias of each directory.
    aliases: BTreeMap<RepoPath, String>,
    /// For a package.json below the root, the packages of this repository that it depends on,
    /// others' own ones included.
    pub(super) local: BTreeMap<RepoPath, BTreeSet<RepoPath>>,
    /// Whether a package.json below the root is tracked.
    pub(super) has_packages: bool,
    pub(super) out: Proposal,
}

impl Proposer {
    /// Reads a manifest. One that exists and cannot be read is reported.
    pub(super) fn read(&mut self, dir: &RepoPath, name: &str) -> Option<Vec<u8>> {
        let file = dir.join(name.as_bytes()).ok()?;
        match self.beneath.read(&file, MAX_MANIFEST) {
            Ok(bytes) => Some(bytes),
            // A symlink to nothing is no file.
            Err(ReadError::Missing) => None,
            Err(error) => {
                self.leave_out(format!("`{file}` was not read: {error}"));
                None
            }
        }
    }

    pub(super) fn has(&self, dir: &RepoPath, name: &str) -> bool {
        dir.join(name.as_bytes())
            .is_ok_and(|file| self.beneath.file(&file).is_ok())
    }

    /// Whether a file exists and no `.gitignore` ignores it.
    pub(super) fn has_checked_in(&self, dir: &RepoPath, name: &str) -> bool {
        let listed = |file: RepoPath| {
            self.present
                .as_ref()
                .is_none_or(|list| list.contains(&file))
        };
        self.has(dir, name) && dir.join(name.as_bytes()).is_ok_and(listed)
    }

    /// Whether a file of the repository below the directory has this extension.
    pub(super) fn has_ending(&self, dir: &RepoPath, ending: &str) -> bool {
        let ends = |file: &RepoPath| {
            file.below(dir).is_some() && file.as_bytes().ends_with(ending.as_bytes())
        };
        self.present
            .as_ref()
            .is_some_and(|list| list.iter().any(ends))
    }

    pub(super) fn leave_out(&mut self, what: String) {
        self.out.left_out.push(what);
    }

    pub(super) fn import(&mut self, source: &'static str, kind: &str, dir: &RepoPath, why: String) {
        let alias = self.alias(dir, kind);
        self.out.parts.push(Part::Import {
            source,
            alias,
            at: dir.clone(),
            why,
        });
    }

    /// Returns a namespace for the content of a directory.
    fn alias(&mut self, dir: &RepoPath, kind: &str) -> String {
        if dir.is_root() {
            return self.unique(&[kind.to_owned()]);
        }
        match self.aliases.get(dir).cloned() {
            // The directory has two manifests.
            Some(taken) => self.unique(&[format!("{taken}-{kind}")]),
            None => self.prefix(dir),
        }
    }

    /// Returns the prefix of the names of a directory's checks.
    pub(super) fn prefix(&mut self, dir: &RepoPath) -> String {
        if let Some(alias) = self.aliases.get(dir) {
            return alias.clone();
        }
        let alias = self.unique(&[word(dir.name()), word(dir.as_bytes())]);
        self.aliases.insert(dir.clone(), alias.clone());
        alias
    }

    /// Returns the first of these names that is free, or the last one with a number.
    pub(super) fn unique(&mut self, names: &[String]) -> String {
        let last = names.last().map_or("check", String::as_str);
        let numbered = (2..).map(|n: u64| format!("{last}-{n}"));
        let free = names
            .iter()
            .cloned()
            .chain(numbered)
            .find(|name| !self.names.contains(name))
            .unwrap_or_default();
        self.names.insert(free.clone());
        free
    }

    /// Finds the directories with a manifest, and which packages depend on which.
    fn survey(&mut self, tracked: &[RepoPath]) -> Packages {
        let mut dirs: BTreeSet<(usize, RepoPath)> = BTreeSet::new();
        let mut found = Packages::default();
        for file in tracked
            .iter()
            .filter(|f| MANIFESTS.iter().any(|m| f.name() == m.as_bytes()))
        {
            let bytes = file.as_bytes();
            let dir = bytes
                .len()
                .checked_sub(file.name().len() + 1)
                .and_then(|n| bytes.get(..n));
            let Some(dir) = dir.and_then(RepoPath::from_exact) else {
                continue;
            };
            if dir
                .segments()
                .any(|s| s.starts_with(b".") || NOT_OURS.iter().any(|n| s == n.as_bytes()))
            {
                continue;
            }
            self.has_packages |= file.name() == b"package.json";
            let depth = dir.segments().count();
            if depth > MAX_DEPTH {
                found.deep.insert(dir);
            } else if dir.as_bytes().len() > MAX_PATH
                || visible(dir.as_bytes()).as_bytes() != dir.as_bytes()
            {
                found.odd.insert(dir);
            } else {
                dirs.insert((depth, dir));
            }
        }
        found.count = dirs.len();
        // The shallow ones first, when there are too many; then in the order of their names.
        found.dirs = dirs
            .into_iter()
            .take(MAX_LOOKED_INTO)
            .map(|(_, dir)| dir)
            .collect();
        let mut manifests = BTreeMap::new();
        for dir in &found.dirs {
            let file = dir.join(b"package.json").ok();
            let bytes = file.and_then(|file| self.beneath.read(&file, MAX_MANIFEST).ok());
            manifests.extend(
                bytes
                    .and_then(|b| package::read(&b))
                    .map(|manifest| (dir.clone(), manifest)),
            );
        }
        self.local = local_dependencies(&manifests);
        found
    }

    fn packages(&mut self, found: Packages) {
        let workspaces = self.workspaces(&found.dirs);
        let (mut proposed, mut looked_into) = (0, 0);
        for dir in &found.dirs {
            if proposed == MAX_PACKAGES {
                break;
            }
            looked_into += 1;
            let before = self.out.parts.len();
            if !workspaces.iter().any(|w| w.owns(dir)) {
                self.cargo(dir);
            }
            self.node(dir);
            self.python(dir);
            self.go(dir);
            proposed += usize::from(self.out.parts.len() > before);
        }
        if found.count > looked_into {
            self.leave_out(format!(
                "{} more directories with a manifest",
                found.count - looked_into
            ));
        }
        for (set, what) in [
            (
                &found.deep,
                format!("manifests deeper than {MAX_DEPTH} directories"),
            ),
            (
                &found.odd,
                "directories whose path is no plain text, or long".to_owned(),
            ),
        ] {
            if let Some(one) = set.first() {
                self.leave_out(format!("{what}: {}, such as `{one}`", set.len()));
            }
        }
    }

    /// Finds the cargo workspaces: of the root, and of the searched directories.
    fn workspaces(&mut self, dirs: &BTreeSet<RepoPath>) -> Vec<Workspace> {
        let roots = std::iter::once(RepoPath::root()).chain(dirs.iter().cloned());
        let roots: Vec<RepoPath> = roots.filter(|dir| self.has(dir, "Cargo.toml")).collect();
        let mut found = Vec::new();
        for dir in roots {
            let file = dir.join(b"Cargo.toml");
            let Some(bytes) = file
                .ok()
                .and_then(|file| self.beneath.read(&file, MAX_MANIFEST).ok())
            else {
                continue;
            };
            if let Some(excludes) = workspace_excludes(&String::from_utf8_lossy(&bytes)) {
                let own: BTreeMap<RepoPath, ()> = excludes
                    .iter()
                    .filter_map(|e| Some((dir.join(e.as_bytes()).ok()?, ())))
                    .collect();
                found.push(Workspace {
                    dir,
                    excludes: own.into_keys().collect(),
                });
            }
        }
        // A workspace within another is its own.
        let dirs: Vec<RepoPath> = found.iter().map(|w| w.dir.clone()).collect();
        for workspace in &mut found {
            workspace
                .excludes
                .extend(dirs.iter().filter(|d| **d != workspace.dir).cloned());
        }
        found
    }
}

/// The packages that a survey found.
#[derive(Default)]
struct Packages {
    /// Directories with a manifest, at most [`MAX_LOOKED_INTO`].
    dirs: BTreeSet<RepoPath>,
    /// The number of packages.
    count: usize,
    /// Those that lie too deep.
    deep: BTreeSet<RepoPath>,
    /// Those whose path a contract would have to escape.
    odd: BTreeSet<RepoPath>,
}

/// Returns, for each package, the others that it depends on, directly or not. A name that two
/// packages have means both.
fn local_dependencies(
    manifests: &BTreeMap<RepoPath, Manifest>,
) -> BTreeMap<RepoPath, BTreeSet<RepoPath>> {
    let mut named: BTreeMap<&str, Vec<&RepoPath>> = BTreeMap::new();
    for (dir, manifest) in manifests {
        named
            .entry(manifest.name.as_deref().unwrap_or_default())
            .or_default()
            .push(dir);
    }
    let direct = |dir: &RepoPath| {
        let names = manifests.get(dir).into_iter().flat_map(|m| &m.depends_on);
        names
            .filter_map(|name| named.get(name.as_str()))
            .flatten()
            .map(|dir| (*dir).clone())
            .collect::<Vec<_>>()
    };
    let all = |dir: &RepoPath| {
        let mut found = BTreeSet::new();
        let mut open = direct(dir);
        while let Some(next) = open.pop() {
            if next != *dir && found.insert(next.clone()) {
                open.extend(direct(&next));
            }
        }
        found
    };
    manifests
        .keys()
        .map(|dir| (dir.clone(), all(dir)))
        .filter(|(_, on)| !on.is_empty())
        .collect()
}

/// A cargo workspace: its members are verified with it.
struct Workspace {
    dir: RepoPath,
    excludes: Vec<RepoPath>,
}

impl Workspace {
    fn owns(&self, dir: &RepoPath) -> bool {
        let within = |outer: &RepoPath| dir == outer || dir.below(outer).is_some();
        // A workspace that contains this one does not exclude its directories.
        let excluded = self
            .excludes
            .iter()
            .any(|e| e.below(&self.dir).is_some() && within(e));
        *dir != self.dir && dir.below(&self.dir).is_some() && !excluded
    }
}

/// Makes a name of the language from foreign bytes.
pub(super) fn word(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes.iter().take(60) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => out.push(char::from(*byte)),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    let out = out.trim_matches('-');
    match out.as_bytes().first() {
        None => "package".to_owned(),
        Some(b'0'..=b'9') => format!("p-{out}"),
        Some(_) => out.to_owned(),
    }
}

/// Shows a directory before the name of a file: nothing for the root.
pub(super) fn shown(dir: &RepoPath, file: &str) -> String {
    dir.join(file.as_bytes())
        .unwrap_or_else(|_| path(file))
        .to_string()
}

/// Makes a glob for something below a directory, whose name is taken literally.
pub(super) fn glob(dir: &RepoPath, below: &str) -> String {
    if dir.is_root() {
        return below.to_owned();
    }
    let mut out = String::new();
    for c in String::from_utf8_lossy(dir.as_bytes()).chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    format!("{out}/{below}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_anything() {
        for (bytes, want) in [
            (&b"web"[..], "web"),
            (b"apps/web", "apps-web"),
            (b"@scope/a b", "scope-a-b"),
            (b"3d", "p-3d"),
            (b"\xff\n\"", "package"),
            ("größe".as_bytes(), "gr-e"),
            (b"--x--", "x"),
            (b"_", "_"),
        ] {
            assert_eq!(word(bytes), want);
        }
        assert_eq!(
            glob(&RepoPath::parse(b"a[1]/{b}").unwrap(), "**"),
            r"a\[1\]/\{b\}/**"
        );
    }

    #[test]
    fn members_of_workspaces() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let workspace = |dir: &str, excludes: &[&str]| Workspace {
            dir: path(dir),
            excludes: excludes.iter().map(|e| path(e)).collect(),
        };
        for (workspace, dir, want) in [
            (workspace(".", &[]), "crates/a", true),
            (workspace(".", &["fuzz"]), "fuzz", false),
            (workspace(".", &["fuzz"]), "fuzz/x", false),
            (workspace(".", &["fuzz"]), "fuzzer", true),
            (workspace("sub", &["."]), "sub/a", true),
            (workspace("sub", &[]), "sub", false),
            (workspace("sub", &[]), "other", false),
        ] {
            assert_eq!(workspace.owns(&path(dir)), want, "{dir}");
        }
    }
}
