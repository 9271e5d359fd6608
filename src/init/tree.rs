//! The files of a repository that say how it is verified, as read before anything is decided.

use crate::found::Place;
use crate::listed::listed;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::Diagnostics;
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_base::span::SourceId;
use vplan_front::tree::{self, Key, Node};

mod flow;

/// A repository: its tracked files by path, and the text of those that may declare something.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All tracked files.
    pub files: BTreeSet<RepoPath>,
    /// The text of configurations, manifests and scripts: at most 1 MiB each.
    pub texts: BTreeMap<RepoPath, String>,
    /// Files that would have been read, with the reason why they were not.
    pub unread: BTreeMap<RepoPath, String>,
    /// `OWNER/NAME` of the repository, from the URL of `origin`.
    pub slug: Option<String>,
    /// The default branch, as `origin/HEAD` or the current branch names it.
    pub default_branch: Option<String>,
}

/// A configuration that was read as data with places.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// Its path.
    pub file: RepoPath,
    /// Its value.
    pub root: Node,
    sources: Sources,
}

impl DataFile {
    /// The value at a path of keys, separated by dots.
    pub(crate) fn at(&self, keys: &str) -> Option<&Node> {
        keys.split('.')
            .try_fold(&self.root, |node, key| node.get(key))
    }

    /// The line of a value, from 1.
    #[must_use]
    pub fn line(&self, node: &Node) -> u32 {
        self.line_of(node.place)
    }

    /// The line of a place, from 1.
    #[must_use]
    pub fn line_of(&self, place: vplan_base::span::Place) -> u32 {
        u32::try_from(self.sources.position(place).line).unwrap_or(u32::MAX)
    }

    /// The place of a key or a value.
    #[must_use]
    pub fn place(&self, place: vplan_base::span::Place) -> Place {
        Place::of(&self.file, self.line_of(place))
    }

    /// A value as it is written in the file.
    #[must_use]
    pub fn raw(&self, node: &Node) -> &str {
        self.sources
            .get(node.place.source)
            .map_or("", |source| source.slice(node.place.span))
    }

    /// The lines of a text scalar's own lines, from 1: a block scalar (`|`, `>`) begins on the line
    /// after its key.
    #[must_use]
    pub fn text_line(&self, node: &Node) -> u32 {
        let raw = self.raw(node);
        let block = raw.starts_with(['|', '>']);
        self.line(node).saturating_add(u32::from(block))
    }
}

/// What a mapping has at a key; empty where it has nothing of that kind.
pub(crate) trait Keys {
    fn entries_at(&self, key: &str) -> &[(Key, Node)];
    fn list_at(&self, key: &str) -> &[Node];
    fn text_at(&self, key: &str) -> Option<&str>;
}

impl Keys for Node {
    fn entries_at(&self, key: &str) -> &[(Key, Node)] {
        self.get(key).map_or(&[], Node::entries)
    }

    fn list_at(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::list)
    }

    fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }
}

/// The formats of configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON; comments are allowed.
    Json,
    /// TOML 1.0.
    Toml,
    /// YAML 1.2, one document.
    Yaml,
    /// YAML with merge keys (`<<`) and tags (`!reference`): a tagged value is a mapping whose only
    /// key is the tag.
    YamlMerged,
}

impl Syntax {
    /// The format of a file by its name.
    #[must_use]
    pub fn of(file: &RepoPath) -> Self {
        match file.name().rsplit(|b| *b == b'.').next() {
            Some(b"toml") => Self::Toml,
            Some(b"json" | b"jsonc") => Self::Json,
            _ => Self::YamlMerged,
        }
    }
}

impl Tree {
    /// Makes a repository of these files, by name and text.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (name, text) in files {
            let path = RepoPath::parse(name.as_bytes()).unwrap();
            tree.files.insert(path.clone());
            tree.texts.insert(path, (*text).to_owned());
        }
        tree
    }

    /// The text of a file of a directory.
    #[must_use]
    pub fn text(&self, dir: &RepoPath, name: &str) -> Option<(RepoPath, &str)> {
        let path = dir.join(name.as_bytes()).ok()?;
        let text = self.texts.get(&path)?;
        Some((path, text))
    }

    /// Whether git tracks a file of a directory.
    #[must_use]
    pub fn has(&self, dir: &RepoPath, name: &str) -> bool {
        dir.join(name.as_bytes())
            .is_ok_and(|path| self.files.contains(&path))
    }

    /// Whether git tracks a file below a directory.
    #[must_use]
    pub fn has_folder(&self, dir: &RepoPath) -> bool {
        dir.is_root() || self.files.iter().any(|file| file.below(dir).is_some())
    }

    /// The text of a file that was read.
    ///
    /// # Errors
    /// Why it was not.
    pub fn source(&self, file: &RepoPath) -> Result<&str, String> {
        let why = || self.unread.get(file).cloned();
        let text = self.texts.get(file).map(String::as_str);
        text.ok_or_else(|| why().unwrap_or_else(|| "it is not there".to_owned()))
    }

    /// Reads a file as data. The error is one line for people.
    ///
    /// # Errors
    /// The file was not read, or is not of the format.
    pub fn read(&self, file: &RepoPath, syntax: Syntax) -> Result<DataFile, String> {
        let text = self.source(file)?;
        let read = DataFile::of(file, text, syntax);
        // CI systems and hook managers take what the standard does not.
        match (&read, syntax) {
            (Err(_), Syntax::Yaml | Syntax::YamlMerged) => flow::indented(text)
                .and_then(|text| DataFile::of(file, &text, syntax).ok())
                .map_or(read, Ok),
            _ => read,
        }
    }
}

impl DataFile {
    fn of(file: &RepoPath, text: &str, syntax: Syntax) -> Result<Self, String> {
        let mut sources = Sources::default();
        let id: SourceId = sources.add(Source::new(file.to_string(), text));
        let mut sink = Diagnostics::default();
        let root = match syntax {
            Syntax::Json => tree::json_with_comments(&sources, id, &mut sink),
            Syntax::Toml => tree::toml(&sources, id, &mut sink),
            Syntax::Yaml => tree::yaml(&sources, id, &mut sink),
            Syntax::YamlMerged => tree::yaml_merged(&sources, id, &mut sink),
        };
        match root {
            Some(root) => Ok(DataFile {
                file: file.clone(),
                root,
                sources,
            }),
            None => Err(sink
                .iter()
                .next()
                .map_or_else(|| "it cannot be read".to_owned(), |d| d.message.clone())),
        }
    }
}

/// Names of files that may declare something, wherever they are.
const NAMES: &str = "\
    .envrc .java-version .justfile .mise.toml .node-version .nvmrc \
    .pre-commit-config.yaml .pre-commit-config.yml .python-version .ruby-version .ruff.toml \
    .simple-git-hooks.json .tool-versions CMakeLists.txt Cargo.toml GNUmakefile Justfile \
    Makefile Rakefile Taskfile.yaml Taskfile.yml action.yaml action.yml biome.json biome.jsonc \
    build.gradle build.gradle.kts build.sbt composer.json configure.ac deno.json deno.jsonc \
    go.mod go.work justfile makefile meson.build mise.toml mix.exs moon.yml noxfile.py nx.json \
    package.json pnpm-workspace.yaml pom.xml prek.toml project.json pyproject.toml ruff.toml \
    rust-toolchain rust-toolchain.toml setup.cfg simple-git-hooks.json taskfile.yaml \
    taskfile.yml tox.ini tox.toml turbo.json turbo.jsonc *.gitlab-ci.yml *lefthook.yml \
    *lefthook.yaml *lefthook.toml *lefthook.json .lintstagedrc*";

/// Folders in which every file may declare something.
const FOLDERS: &str = "\
    .ci/* .circleci/* .config/mise/* .forgejo/workflows/* .gitea/workflows/* \
    .github/workflows/* .gitlab-ci/* .gitlab/* .husky/* .mise/tasks/* .moon/* gitlab-ci/* \
    mise-tasks/*";

/// Folders whose files without an ending are scripts.
const SCRIPTS: &str = "\
    bin build-aux ci .ci .github hack script scripts tools";

/// Folders of others' files.
const FOREIGN: &str = "\
    external node_modules third-party third_party vendor";

/// The endings of programs.
const SOURCES: &str = "\
    bash c cc clj cpp cs cxx dart ex exs fs go h hpp hs java js jsx kt kts lua m mjs ml php pl \
    py rb rs scala sh svelte swift ts tsx vue zig";

/// The depth below which no manifest is read, in directories.
const MAX_DEPTH: usize = 6;

fn name_of(file: &RepoPath) -> &str {
    std::str::from_utf8(file.name()).unwrap_or_default()
}

/// Whether a tracked file may declare something, and is read.
#[must_use]
pub fn may_declare(file: &RepoPath) -> bool {
    let (Ok(path), name) = (std::str::from_utf8(file.as_bytes()), name_of(file)) else {
        return false;
    };
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    if folders.len() > MAX_DEPTH || folders.iter().any(|f| listed(FOREIGN, f)) {
        return false;
    }
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    listed(NAMES, name)
        || listed(FOLDERS, path)
        || matches!(ending, "sh" | "bash" | "mk" | "just")
        || path == ".cargo/config.toml"
        || path.starts_with(".github/") && matches!(ending, "yml" | "yaml")
        || path.starts_with("ci/") && matches!(ending, "yml" | "yaml")
        || !name.contains('.') && folders.last().is_some_and(|folder| listed(SCRIPTS, folder))
}

/// Whether a tracked file is in a programming language.
fn is_source(file: &RepoPath) -> bool {
    let name = name_of(file);
    name.rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && listed(SOURCES, ending))
}

/// Whether a tracked file is prose by its name: documentation or a licence.
#[must_use]
pub fn is_prose(file: &RepoPath) -> bool {
    let name = name_of(file);
    let upper = name.to_ascii_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS"]
        .iter()
        .any(|start| upper.starts_with(start))
        && !is_source(file)
        || matches!(
            name.rsplit_once('.'),
            Some((_, "md" | "markdown" | "rst" | "adoc"))
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_may_declare_something() {
        for (file, want) in [
            (".github/workflows/ci.yml", true),
            (".github/actions/setup/action.yml", true),
            ("package.json", true),
            ("a/b/package.json", true),
            ("node_modules/x/package.json", false),
            ("vendor/x/Makefile", false),
            ("scripts/check", true),
            ("scripts/check.sh", true),
            ("src/main.rs", false),
            ("a/b/c/d/e/f/g/Makefile", false),
        ] {
            assert_eq!(
                may_declare(&RepoPath::parse(file.as_bytes()).unwrap()),
                want,
                "{file}"
            );
        }
    }
}
