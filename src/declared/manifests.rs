//! Reads manifests and task lists where no CI and no hook verifies this kind of work.
//!
//! What a repository declares without running it itself is believed least: it fills gaps, folder by
//! folder and kind by kind. Of equal work in one folder a task that maintainers wrote (a target, a
//! script) is taken, and the tool's own command only where there is none.

mod scripts;
mod targets;
mod tools;

use super::candidate::{Belief, Candidate, Declarations, Origin, Reason, State, Work};
use super::kind::{self, Kind};
use super::tasks::package::is_ours;
use super::tree::Tree;
use crate::base::path::RepoPath;
use crate::base::word::visible;
use std::collections::BTreeSet;

/// The greatest depth of a package, in directories.
pub const MAX_DEPTH: usize = 4;
/// The most packages below the root whose manifests speak.
pub const MAX_PACKAGES: usize = 40;
/// The most directories below the root that are looked into.
pub const MAX_LOOKED_INTO: usize = 400;
/// The longest path of a package, in bytes: a glob has a cap too.
const MAX_PATH: usize = 200;

/// Files that make a directory a package.
const MANIFESTS: &[&str] = &[
    "CMakeLists.txt",
    "Cargo.toml",
    "Package.swift",
    "Rakefile",
    "build.gradle",
    "build.gradle.kts",
    "build.zig",
    "cabal.project",
    "composer.json",
    "configure.ac",
    "deno.json",
    "deno.jsonc",
    "go.mod",
    "meson.build",
    "mix.exs",
    "package.json",
    "pom.xml",
    "pubspec.yaml",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "stack.yaml",
];

/// The families of programs that do not replace each other: tests of Python do not verify Rust.
const FAMILIES: &[(&str, &[&str])] = &[
    ("cargo", &["cargo", "rustc", "rustfmt", "cross"]),
    (
        "go",
        &["go", "gofmt", "golangci-lint", "staticcheck", "gofumpt"],
    ),
    (
        "node",
        &[
            "npm",
            "pnpm",
            "yarn",
            "bun",
            "node",
            "npx",
            "eslint",
            "tsc",
            "vitest",
            "jest",
            "prettier",
            "biome",
            "vite",
            "mocha",
            "turbo",
            "nx",
            "oxlint",
            "stylelint",
            "playwright",
            "vue-tsc",
            "ava",
            "webpack",
            "rollup",
            "tsup",
            "next",
            "lerna",
            "svelte-check",
            "astro",
        ],
    ),
    (
        "python",
        &[
            "python",
            "python3",
            "pytest",
            "ruff",
            "mypy",
            "black",
            "flake8",
            "isort",
            "tox",
            "nox",
            "uv",
            "poetry",
            "pdm",
            "hatch",
            "pyright",
            "basedpyright",
            "pylint",
            "coverage",
            "ty",
        ],
    ),
    ("jvm", &["mvn", "mvnw", "gradle", "gradlew", "sbt"]),
    ("dotnet", &["dotnet"]),
    ("mix", &["mix"]),
    (
        "ruby",
        &["rake", "rspec", "rubocop", "bundle", "standardrb"],
    ),
    (
        "php",
        &[
            "composer",
            "phpunit",
            "phpstan",
            "php-cs-fixer",
            "phpcs",
            "psalm",
            "pint",
        ],
    ),
    (
        "c",
        &[
            "cmake",
            "ctest",
            "meson",
            "clang-format",
            "clang-tidy",
            "cppcheck",
        ],
    ),
    ("swift", &["swift", "swiftlint", "swiftformat"]),
    ("zig", &["zig"]),
    (
        "haskell",
        &["cabal", "stack", "hlint", "ormolu", "fourmolu"],
    ),
    ("deno", &["deno"]),
    ("dart", &["dart", "flutter"]),
];

fn family(program: &str) -> Option<&'static str> {
    let found = FAMILIES
        .iter()
        .find(|(_, programs)| programs.contains(&program));
    found.map(|(name, _)| *name)
}

/// Work that something of a higher belief does: its directory, kind and family of programs; no
/// family where only a runner is known, which may do any.
struct Done {
    dir: RepoPath,
    kind: Kind,
    family: Option<&'static str>,
}

/// The reader's state.
struct Reader<'a> {
    tree: &'a Tree,
    found: &'a mut Declarations,
    done: Vec<Done>,
    /// What manifests have said so far: the tools' own commands fill what is left.
    said: BTreeSet<(RepoPath, Kind, Option<&'static str>)>,
    /// Kinds of work that the root's scripts start in each package.
    by_root: BTreeSet<Kind>,
}

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Declarations) {
    let done = found
        .candidates
        .iter()
        .filter(|c| c.belief > Belief::Manifest)
        .flat_map(done)
        .collect();
    let mut reader = Reader {
        tree,
        found,
        done,
        said: BTreeSet::new(),
        by_root: BTreeSet::new(),
    };
    let root = RepoPath::root();
    reader.targets();
    reader.scripts(&root);
    reader.tools(&root);
    reader.packages();
}

/// The work that a candidate does, or has merged into another one that does it. What was left out
/// verifies nothing.
fn done(candidate: &Candidate) -> Vec<Done> {
    if matches!(candidate.state, State::Out(..)) || candidate.setup {
        return Vec::new();
    }
    let leaf = |dir: &RepoPath, words: &[String]| Done {
        dir: dir.clone(),
        kind: kind::of_words(words),
        family: words
            .iter()
            .find_map(|w| family(crate::check::tool::base_name(w))),
    };
    if candidate.leaves.is_empty() {
        let words = match &candidate.work {
            Work::Words(words) => words.clone(),
            Work::Shell(text) => text.split_whitespace().map(str::to_owned).collect(),
        };
        let own = Done {
            kind: kind::of(candidate),
            ..leaf(&candidate.dir, &words)
        };
        return vec![own];
    }
    let leaves = candidate.leaves.iter();
    leaves.map(|l| leaf(&l.dir, &l.words)).collect()
}

impl Reader<'_> {
    /// Whether something of a higher belief does this kind of work here: in the folder, or above it
    /// with programs of the same family.
    fn is_done(&self, dir: &RepoPath, kind: Kind, family: Option<&'static str>) -> bool {
        self.done.iter().any(|done| {
            let same = done.family.is_none() || family.is_none() || done.family == family;
            let here = done.dir == *dir;
            let above = dir.below(&done.dir).is_some() || done.dir.is_root();
            done.kind == kind && same && (here || above)
        })
    }

    /// Adds a command of a manifest, unless its kind of work is done.
    fn add(
        &mut self,
        origin: Origin,
        dir: &RepoPath,
        words: &[&str],
        kind: Kind,
        family: Option<&'static str>,
    ) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let candidate = Candidate::new(origin, Belief::Manifest, Work::Words(words), dir.clone());
        self.push(candidate, kind, family);
    }

    fn push(&mut self, mut candidate: Candidate, kind: Kind, family: Option<&'static str>) {
        let dir = candidate.dir.clone();
        if !dir.is_root() && self.by_root.contains(&kind) && family == Some("node") {
            return;
        }
        if self.is_done(&dir, kind, family) {
            candidate.leave_out(Reason::NotRun, "");
        } else {
            self.said.insert((dir, kind, family));
        }
        self.found.candidates.push(candidate);
    }

    /// Whether a manifest has a task for this work in the folder, of this family or of any.
    fn is_said(&self, dir: &RepoPath, kind: Kind, family: &'static str) -> bool {
        [Some(family), None]
            .iter()
            .any(|family| self.said.contains(&(dir.clone(), kind, *family)))
    }

    fn origin(file: &RepoPath, line: u32, label: &str) -> Origin {
        Origin {
            file: file.clone(),
            line,
            label: label.to_owned(),
        }
    }

    /// Reads the packages below the root.
    fn packages(&mut self) {
        let (dirs, deep, odd) = survey(self.tree);
        let mut spoke = 0;
        for (index, (_, dir)) in dirs.iter().enumerate() {
            if spoke == MAX_PACKAGES || index == MAX_LOOKED_INTO {
                let more = dirs.len() - index;
                let what = format!("{more} more directories with a manifest");
                self.leave_out(dir, what, Reason::Size);
                break;
            }
            let before = self.found.candidates.len();
            self.scripts(dir);
            self.tools(dir);
            spoke += usize::from(self.found.candidates.len() > before);
        }
        for (set, what) in [
            (
                deep,
                format!("manifests deeper than {MAX_DEPTH} directories"),
            ),
            (
                odd,
                "directories whose path is no plain text, or long".to_owned(),
            ),
        ] {
            if let Some(one) = set.first() {
                let what = format!("{what}: {}", set.len());
                self.leave_out(one, what, Reason::NotRead);
            }
        }
    }

    fn leave_out(&mut self, at: &RepoPath, what: String, reason: Reason) {
        let origin = Self::origin(at, 1, "");
        self.found.skip(origin, what, reason, String::new());
    }

    fn unread(&mut self, file: &RepoPath, why: String) {
        let origin = Self::origin(file, 1, "");
        self.found
            .skip(origin, format!("`{file}`"), Reason::NotRead, why);
    }
}

/// The directories below the root with a manifest, the shallow ones first; those that lie too deep;
/// those whose path a contract would have to escape.
fn survey(
    tree: &Tree,
) -> (
    BTreeSet<(usize, RepoPath)>,
    BTreeSet<RepoPath>,
    BTreeSet<RepoPath>,
) {
    let (mut dirs, mut deep, mut odd) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for file in &tree.files {
        if !MANIFESTS.iter().any(|m| file.name() == m.as_bytes()) {
            continue;
        }
        let Ok(dir) = file.join(b"..") else { continue };
        if dir.is_root() || !is_ours(&dir) {
            continue;
        }
        let depth = dir.segments().count();
        let plain = visible(dir.as_bytes()).as_bytes() == dir.as_bytes();
        if depth > MAX_DEPTH {
            deep.insert(dir);
        } else if dir.as_bytes().len() > MAX_PATH || !plain {
            odd.insert(dir);
        } else {
            dirs.insert((depth, dir));
        }
    }
    (dirs, deep, odd)
}

#[cfg(test)]
mod tests;
