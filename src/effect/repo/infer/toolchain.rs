//! Reads the declarations of Cargo, Python, Go, make and tools for prose, and decides whether the
//! std contract fits.

use super::propose::{Part, Proposed, Proposer, glob, shown};
use super::{is_table_of, names_plainly};
use crate::base::path::RepoPath;
use crate::check::Kind;
use crate::effect::repo::facts::makefile;

/// The folders of a Python project's programs.
const VENV: &[&str] = &[".venv/bin", "venv/bin"];

/// The files by which std:docs recognises that a tool is wanted.
const PROSE_TOOLS: [&str; 16] = [
    ".markdownlint.json",
    ".markdownlint.jsonc",
    ".markdownlint.yaml",
    ".markdownlint.yml",
    ".markdownlintrc",
    ".markdownlint-cli2.jsonc",
    ".markdownlint-cli2.yaml",
    ".vale.ini",
    ".codespellrc",
    "typos.toml",
    "_typos.toml",
    ".typos.toml",
    "cspell.json",
    "mkdocs.yml",
    "book.toml",
    "docs/conf.py",
];

impl Proposer {
    pub(super) fn cargo(&mut self, dir: &RepoPath) {
        const FILE: &str = "Cargo.toml";
        if !self.has(dir, FILE) {
            return;
        }
        let file = shown(dir, FILE);
        if self.has_checked_in(dir, "Cargo.lock") {
            let why = format!(
                "`{file}` makes it a Cargo package or workspace, and its Cargo.lock is checked in"
            );
            self.import("std:rust@3", "rust", dir, why);
            return;
        }
        let why = format!(
            "`{file}` has no Cargo.lock beside it that is checked in, which std:rust@3 builds with (--locked)"
        );
        let mut checks = Vec::new();
        for (name, kind, command, what) in [
            (
                "fmt",
                Kind::Lint,
                "cargo fmt --all --check",
                "rustfmt comes with Rust",
            ),
            (
                "check",
                Kind::Compile,
                "cargo check --workspace --all-targets",
                "what is a Cargo package compiles",
            ),
            (
                "test",
                Kind::Test,
                "cargo test --workspace",
                "what is a Cargo package can be tested",
            ),
        ] {
            let id = self.id(dir, "rust", name);
            checks.push(Proposed::new(
                id,
                kind,
                command,
                dir,
                format!("`{file}`: {what}"),
            ));
        }
        // Where no source is tracked yet a glob would select nothing.
        let mut when = vec![glob(dir, "**/Cargo.toml")];
        when.splice(
            ..0,
            self.has_ending(dir, ".rs").then(|| glob(dir, "**/*.rs")),
        );
        self.checks(Some(why), when, checks);
    }

    pub(super) fn python(&mut self, dir: &RepoPath) {
        const FILE: &str = "pyproject.toml";
        if ![FILE, "setup.py", "setup.cfg", "pytest.ini"]
            .iter()
            .any(|file| self.has(dir, file))
        {
            return;
        }
        let project = self.text(dir, FILE);
        let configures = |tool: &str| project.lines().any(|line| is_table_of(line, tool));
        let named =
            |s: &Self, files: &[&'static str]| files.iter().copied().find(|file| s.has(dir, file));
        let section = |text: &str, name: &str| text.lines().any(|line| line.trim() == name);
        let requires = ["\"pytest", "'pytest"]
            .iter()
            .any(|word| project.contains(word));
        let pytest = if configures("pytest") || requires {
            Some(FILE)
        } else if section(&self.text(dir, "setup.cfg"), "[tool:pytest]") {
            Some("setup.cfg")
        } else if section(&self.text(dir, "tox.ini"), "[pytest]") {
            Some("tox.ini")
        } else {
            named(
                self,
                &[
                    "pytest.ini",
                    ".pytest.ini",
                    "conftest.py",
                    "tests/conftest.py",
                ],
            )
        };
        if let Some(file) = pytest {
            self.import(
                "std:python@3",
                "python",
                dir,
                format!("`{}` says that pytest is in use", shown(dir, file)),
            );
        }
        // The std contract recognises a file of its own, but not a table of pyproject.toml.
        let seen = |file: Option<&'static str>| file.filter(|_| pytest.is_none());
        let table = |tool: &str| configures(tool).then_some(FILE);
        let ruff_file = named(self, &["ruff.toml", ".ruff.toml"]);
        let mypy_file = named(self, &["mypy.ini", ".mypy.ini"]);
        let ruff = if ruff_file.is_some() {
            seen(ruff_file)
        } else {
            table("ruff")
        };
        let mypy = if mypy_file.is_some() {
            seen(mypy_file)
        } else {
            table("mypy")
        };
        let format = project
            .lines()
            .any(|line| line.trim() == "[tool.ruff.format]")
            .then_some(FILE);
        let changed = if self.has_ending(dir, ".py") {
            " --force-exclude {changed}"
        } else {
            ""
        };
        let mut checks = Vec::new();
        for (name, kind, command, tool, file) in [
            (
                "ruff",
                Kind::Lint,
                format!("ruff check{changed}"),
                "ruff",
                ruff,
            ),
            (
                "ruff-format",
                Kind::Lint,
                format!("ruff format --check{changed}"),
                "ruff's layout",
                format,
            ),
            ("mypy", Kind::Compile, "mypy .".to_owned(), "mypy", mypy),
        ] {
            let Some(file) = file else { continue };
            let id = self.id(dir, "python", name);
            let why = format!("`{}` configures {tool}", shown(dir, file));
            let cache = if name == "mypy" {
                "**/.mypy_cache/**"
            } else {
                "**/.ruff_cache/**"
            };
            let produces = vec![glob(dir, cache)];
            checks.push(Proposed {
                tool_path: VENV,
                produces,
                ..Proposed::new(id, kind, &command, dir, why)
            });
        }
        let when = if changed.is_empty() {
            Vec::new()
        } else {
            vec![glob(dir, "**/*.py")]
        };
        self.checks(None, when, checks);
    }

    pub(super) fn go(&mut self, dir: &RepoPath) {
        const FILE: &str = "go.mod";
        if self.has(dir, FILE) {
            self.import(
                "std:go@2",
                "go",
                dir,
                format!("`{}` makes it a Go module", shown(dir, FILE)),
            );
        }
    }

    /// Reads the makefile of the root; most makefiles below it are called by it.
    pub(super) fn make(&mut self) {
        let root = RepoPath::root();
        let Some(file) = makefile::NAMES
            .into_iter()
            .find(|name| self.has(&root, name))
        else {
            return;
        };
        let Some(bytes) = self.read(&root, file) else {
            return;
        };
        let targets = makefile::targets(&bytes);
        // A makefile that only make understands may still name these plainly.
        let has = |target: &str| {
            targets.as_ref().map_or_else(
                || names_plainly(&bytes, target),
                |t| t.contains(target.as_bytes()),
            )
        };
        let asked = ["lint", "all", "check", "test"];
        if asked.into_iter().all(has) {
            let why = format!("`{file}` has the targets `lint`, `all`, `check` and `test`");
            self.import("std:make@2", "make", &root, why);
            return;
        }
        let other = self.out.parts.is_empty();
        let mut checks = Vec::new();
        for (target, kind) in [
            ("lint", Kind::Lint),
            ("check", Kind::Test),
            ("test", Kind::Test),
        ] {
            if has(target) {
                let id = self.unique(&[target.to_owned(), format!("make-{target}")]);
                let perhaps = if other {
                    ""
                } else {
                    "; superfluous if it only runs what is above"
                };
                let why = format!("`{file}` has the target `{target}`{perhaps}");
                checks.push(Proposed::new(
                    id,
                    kind,
                    &format!("make {target}"),
                    &root,
                    why,
                ));
            }
        }
        self.checks(None, Vec::new(), checks);
    }

    pub(super) fn docs(&mut self) {
        let root = RepoPath::root();
        let configured = PROSE_TOOLS.into_iter().find(|file| self.has(&root, file));
        if let Some(file) = configured
            && (self.has_ending(&root, ".md") || self.has_ending(&root, ".rst"))
        {
            self.import(
                "std:docs@1",
                "docs",
                &root,
                format!("`{file}` configures a tool for prose"),
            );
        }
    }

    /// Returns the name of a check: its own at the root, after the name of its package elsewhere.
    pub(super) fn id(&mut self, dir: &RepoPath, kind: &str, name: &str) -> String {
        if dir.is_root() {
            return self.unique(&[name.to_owned(), format!("{kind}-{name}")]);
        }
        let prefix = self.prefix(dir);
        self.unique(&[
            format!("{prefix}-{name}"),
            format!("{prefix}-{kind}-{name}"),
        ])
    }

    pub(super) fn checks(&mut self, why: Option<String>, when: Vec<String>, checks: Vec<Proposed>) {
        if !checks.is_empty() {
            self.out.parts.push(Part::Checks { why, when, checks });
        }
    }

    fn text(&mut self, dir: &RepoPath, file: &str) -> String {
        self.read(dir, file)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}
