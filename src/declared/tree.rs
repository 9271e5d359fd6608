//! The files of a repository that say how it is verified, as read before anything is decided.

use crate::base::diagnostic::Diagnostics;
use crate::base::path::RepoPath;
use crate::base::source::{Source, Sources};
use crate::base::span::SourceId;
use crate::front::tree::{self, Node};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Names of prose (`README.md`, `docs`, `*.md` for any) that a source file has inside quotes or
    /// embeds, so that it may decide what a test says.
    pub mentioned: BTreeSet<String>,
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
    /// The line of a value, from 1.
    #[must_use]
    pub fn line(&self, node: &Node) -> u32 {
        self.line_of(node.place)
    }

    /// The line of a place, from 1.
    #[must_use]
    pub fn line_of(&self, place: crate::base::span::Place) -> u32 {
        u32::try_from(self.sources.position(place).line).unwrap_or(u32::MAX)
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

impl Tree {
    /// Makes a repository of these files, by name and text.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
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

    /// Reads a file as data. The error is one line for people.
    ///
    /// # Errors
    /// The file was not read, or is not of the format.
    pub fn read(&self, file: &RepoPath, syntax: Syntax) -> Result<DataFile, String> {
        let text = self.texts.get(file).ok_or_else(|| {
            let why = self.unread.get(file).map(String::as_str);
            why.unwrap_or("it is not there").to_owned()
        })?;
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
const NAMES: &[&str] = &[
    ".envrc",
    ".java-version",
    ".justfile",
    ".lintstagedrc",
    ".mise.toml",
    ".node-version",
    ".nvmrc",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".python-version",
    ".ruby-version",
    ".ruff.toml",
    ".simple-git-hooks.json",
    ".tool-versions",
    "CMakeLists.txt",
    "Cargo.toml",
    "GNUmakefile",
    "Justfile",
    "Makefile",
    "Rakefile",
    "Taskfile.yaml",
    "Taskfile.yml",
    "action.yaml",
    "action.yml",
    "azure-pipelines.yaml",
    "azure-pipelines.yml",
    "biome.json",
    "biome.jsonc",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "composer.json",
    "configure.ac",
    "deno.json",
    "deno.jsonc",
    "go.mod",
    "go.work",
    "hk.pkl",
    "justfile",
    "makefile",
    "meson.build",
    "mise.toml",
    "mix.exs",
    "moon.yml",
    "noxfile.py",
    "nx.json",
    "package.json",
    "pnpm-workspace.yaml",
    "pom.xml",
    "prek.toml",
    "project.json",
    "pyproject.toml",
    "ruff.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "simple-git-hooks.json",
    "taskfile.yaml",
    "taskfile.yml",
    "tox.ini",
    "tox.toml",
    "turbo.json",
    "turbo.jsonc",
];

/// Folders in which every file may declare something.
const FOLDERS: &[&str] = &[
    ".acode/",
    ".agent/",
    ".ci/",
    ".circleci/",
    ".config/mise/",
    ".forgejo/workflows/",
    ".gitea/workflows/",
    ".github/workflows/",
    ".gitlab-ci/",
    ".gitlab/",
    ".husky/",
    ".mise/tasks/",
    ".moon/",
    ".opentiger/",
    ".ralph-tui/",
    ".runr/",
    "gitlab-ci/",
    "mise-tasks/",
];

/// Folders whose files without an ending are scripts.
const SCRIPTS: &[&str] = &[
    "bin",
    "build-aux",
    "ci",
    ".ci",
    ".github",
    "hack",
    "script",
    "scripts",
    "tools",
];

/// Folders of others' files.
const FOREIGN: &[&str] = &[
    "external",
    "node_modules",
    "third-party",
    "third_party",
    "vendor",
];

/// The languages whose files are searched for names of prose, by ending.
const SOURCES: &[&str] = &[
    "bash", "c", "cc", "clj", "cpp", "cs", "cxx", "dart", "ex", "exs", "fs", "go", "h", "hpp",
    "hs", "java", "js", "jsx", "kt", "kts", "lua", "m", "mjs", "ml", "php", "pl", "py", "rb", "rs",
    "scala", "sh", "svelte", "swift", "ts", "tsx", "vue", "zig",
];

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
    if folders.len() > MAX_DEPTH || folders.iter().any(|f| FOREIGN.contains(f)) {
        return false;
    }
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    NAMES.contains(&name)
        || FOLDERS.iter().any(|f| path.starts_with(f))
        || matches!(ending, "sh" | "bash" | "mk" | "just")
        || name.ends_with(".gitlab-ci.yml")
        || name.ends_with("lefthook.yml")
        || name.ends_with("lefthook.yaml")
        || name.ends_with("lefthook.toml")
        || name.ends_with("lefthook.json")
        || name.starts_with(".lintstagedrc")
        || path == ".cargo/config.toml"
        || path.starts_with(".github/") && matches!(ending, "yml" | "yaml")
        || path.starts_with("ci/") && matches!(ending, "yml" | "yaml")
        || !name.contains('.')
            && folders
                .last()
                .is_some_and(|folder| SCRIPTS.contains(folder))
}

/// Whether a tracked file is in a programming language.
#[must_use]
pub fn is_source(file: &RepoPath) -> bool {
    let name = name_of(file);
    name.rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && SOURCES.contains(&ending))
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

/// The names of prose that a source file has inside quotes or embeds. Names in comments do not count;
/// one too many makes conditions wider, never narrower.
pub fn mentions(text: &str, names: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    let present: Vec<&String> = names
        .iter()
        .filter(|name| text.contains(&***name))
        .collect();
    if present.is_empty() && !text.contains("*.md") {
        return;
    }
    let quoted = |before: &str| before.contains(['"', '\'', '`']);
    for line in text.lines() {
        let start = line.trim_start();
        let comment = ["//", "#", "*", "/*", "--", ";"]
            .iter()
            .any(|mark| start.starts_with(mark));
        let embeds = start.starts_with("//go:embed")
            || start.starts_with("#![doc")
            || start.starts_with("#[doc");
        if comment && !embeds {
            continue;
        }
        for name in &present {
            let mut rest = line;
            while let Some((before, after)) = rest.split_once(name.as_str()) {
                let ends =
                    !after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
                let begins =
                    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
                if ends
                    && begins
                    && (embeds
                        || quoted(
                            line.get(..line.len() - after.len() - name.len())
                                .unwrap_or_default(),
                        ))
                {
                    found.insert((*name).clone());
                    break;
                }
                rest = after;
            }
        }
        if line.contains("*.md") && (embeds || quoted(line)) {
            found.insert("*.md".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_prose_in_sources() {
        let names: BTreeSet<String> = ["README.md", "docs", "a.md"].map(str::to_owned).into();
        for (text, want) in [
            (
                "#![doc = include_str!(\"../README.md\")]",
                &["README.md"][..],
            ),
            ("let x = \"README.md\";", &["README.md"]),
            ("open('docs/a.md')", &["a.md", "docs"]),
            ("// see \"README.md\"", &[]),
            ("# \"README.md\"", &[]),
            ("//go:embed docs/*.md", &["*.md", "docs"]),
            ("glob(\"**/*.md\")", &["*.md"]),
            ("let docs = 1;", &[]),
            ("\"XREADME.md\"", &[]),
            ("\"README.mdx\"", &[]),
        ] {
            let mut found = BTreeSet::new();
            mentions(text, &names, &mut found);
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            assert_eq!(found, want, "{text}");
        }
    }

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
