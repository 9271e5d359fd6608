//! Infers checks from what a repository without a contract declares.
//!
//! For mode `fallback`, and for `vplan init`. Only what is at the root, only what the
//! repository itself declares, in a fixed order; a file that cannot be read declares nothing.

pub mod contract;
pub mod declared;
pub mod propose;
mod scripts;
mod toolchain;

use crate::base::command::Command;
use crate::base::path::RepoPath;
use crate::check::Kind;
use crate::effect::os::files::beneath::Beneath;
use crate::effect::repo::facts::{makefile, package};
use crate::lang::command::parse_command;
use std::path::Path;

/// The largest file that is read.
const MAX_FILE: u64 = 4 << 20;

/// A check that the repository declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// Its id: a name of the contract language, unique in the list.
    pub id: String,
    /// Its kind of check.
    pub kind: Kind,
    /// The command that it runs.
    pub command: Command,
    /// The file that declares it.
    pub declared_in: RepoPath,
    /// The reason why it is there: one line for people.
    pub why: String,
}

/// Reads what the repository at `root` declares.
///
/// # Errors
/// The root cannot be opened.
pub fn infer(root: &Path) -> std::io::Result<Vec<Inferred>> {
    let mut reader = Reader {
        beneath: Beneath::open(root)?,
        found: Vec::new(),
    };
    reader.node();
    reader.cargo();
    reader.make();
    reader.python();
    reader.go();
    Ok(reader.found)
}

struct Reader {
    beneath: Beneath,
    found: Vec<Inferred>,
}

impl Reader {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.beneath.read(&path(name), MAX_FILE).ok()
    }

    fn has(&self, name: &str) -> bool {
        self.beneath.file(&path(name)).is_ok()
    }

    fn add(&mut self, name: &str, kind: Kind, command: &str, declared_in: &str, why: &str) {
        let taken = |id: &str| self.found.iter().any(|f| f.id == id);
        let mut id = name.to_owned();
        if taken(&id) {
            // The tool distinguishes two checks of one name: `test`, `cargo-test`.
            id = format!("{}-{name}", command.split(' ').next().unwrap_or("also"));
        }
        for number in 2.. {
            if !taken(&id) {
                break;
            }
            id = format!("{name}-{number}");
        }
        let command = parse_command(command);
        self.found.push(Inferred {
            id,
            kind,
            command,
            declared_in: path(declared_in),
            why: why.to_owned(),
        });
    }

    fn node(&mut self) {
        const FILE: &str = "package.json";
        // The text that `npm init` writes where there is no test.
        const NO_TEST: &str = "no test specified";
        let Some(manifest) = self.read(FILE).and_then(|bytes| package::read(&bytes)) else {
            return;
        };
        let manager = self.package_manager(manifest.package_manager.as_deref());
        for (script, kind) in [
            ("check", Kind::Run),
            ("lint", Kind::Lint),
            ("typecheck", Kind::Compile),
            ("test", Kind::Test),
            ("build", Kind::Compile),
        ] {
            if manifest
                .scripts
                .get(script)
                .is_some_and(|text| !text.trim().is_empty() && !text.contains(NO_TEST))
            {
                let why = format!("`{FILE}` declares the script `{script}`");
                self.add(script, kind, &format!("{manager} run {script}"), FILE, &why);
            }
        }
    }

    /// Returns the package manager: from `packageManager`, else from the lock file.
    fn package_manager(&self, declared: Option<&str>) -> &'static str {
        const MANAGERS: [&str; 4] = ["pnpm", "yarn", "npm", "bun"];
        const LOCKS: [(&str, &str); 6] = [
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("package-lock.json", "npm"),
            ("npm-shrinkwrap.json", "npm"),
            ("bun.lock", "bun"),
            ("bun.lockb", "bun"),
        ];
        let named = declared.and_then(|d| d.split('@').next());
        let named = MANAGERS.into_iter().find(|m| Some(*m) == named);
        named
            .or_else(|| {
                LOCKS
                    .iter()
                    .find(|(file, _)| self.has(file))
                    .map(|(_, m)| *m)
            })
            .unwrap_or("npm")
    }

    fn cargo(&mut self) {
        const FILE: &str = "Cargo.toml";
        if self.has(FILE) {
            self.add(
                "check",
                Kind::Compile,
                "cargo check",
                FILE,
                "`Cargo.toml` makes it a Cargo package or workspace",
            );
            self.add(
                "test",
                Kind::Test,
                "cargo test",
                FILE,
                "`Cargo.toml` makes it a Cargo package or workspace",
            );
        }
    }

    fn make(&mut self) {
        let Some(file) = makefile::NAMES.into_iter().find(|name| self.has(name)) else {
            return;
        };
        let Some(bytes) = self.read(file) else { return };
        for (target, kind) in [
            ("check", Kind::Run),
            ("test", Kind::Test),
            ("lint", Kind::Lint),
        ] {
            // A makefile that only make understands may still name these plainly.
            let certain = makefile::targets(&bytes).map(|t| t.contains(target.as_bytes()));
            if certain.unwrap_or_else(|| names_plainly(&bytes, target)) {
                let why = format!("`{file}` has the target `{target}`");
                self.add(target, kind, &format!("make {target}"), file, &why);
            }
        }
    }

    fn python(&mut self) {
        const FILE: &str = "pyproject.toml";
        let text = self
            .read(FILE)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let configures = |tool: &str| text.lines().any(|line| is_table_of(line, tool));
        let first = |files: &[&'static str]| files.iter().copied().find(|file| self.has(file));
        let pytest = if configures("pytest") {
            Some(FILE)
        } else {
            first(&["pytest.ini"])
        };
        let ruff = if configures("ruff") {
            Some(FILE)
        } else {
            first(&["ruff.toml", ".ruff.toml"])
        };
        let mypy = if configures("mypy") {
            Some(FILE)
        } else {
            first(&["mypy.ini", ".mypy.ini"])
        };
        for (id, kind, command, tool, file) in [
            ("lint", Kind::Lint, "ruff check", "ruff", ruff),
            ("typecheck", Kind::Compile, "mypy .", "mypy", mypy),
            ("test", Kind::Test, "python -m pytest", "pytest", pytest),
        ] {
            if let Some(file) = file {
                self.add(
                    id,
                    kind,
                    command,
                    file,
                    &format!("`{file}` configures `{tool}`"),
                );
            }
        }
    }

    fn go(&mut self) {
        const FILE: &str = "go.mod";
        if self.has(FILE) {
            self.add(
                "vet",
                Kind::Lint,
                "go vet ./...",
                FILE,
                "`go.mod` makes it a Go module",
            );
            self.add(
                "test",
                Kind::Test,
                "go test ./...",
                FILE,
                "`go.mod` makes it a Go module",
            );
        }
    }
}

fn path(name: &str) -> RepoPath {
    RepoPath::parse(name.as_bytes()).unwrap_or_else(|_| RepoPath::root())
}

/// Whether a line of TOML opens the table `[tool.NAME]` or one below it.
fn is_table_of(line: &str, tool: &str) -> bool {
    let name = line.trim_start().trim_start_matches('[').trim_start();
    let rest = name
        .strip_prefix("tool.")
        .and_then(|n| n.strip_prefix(tool));
    line.trim_start().starts_with('[')
        && rest.is_some_and(|r| r.trim_start().starts_with(['.', ']']))
}

/// Whether a line of a makefile begins with `NAME:` and sets no variable. Enough to offer a check,
/// not to deny one.
fn names_plainly(makefile: &[u8], target: &str) -> bool {
    let rest = |line: &[u8]| {
        line.strip_prefix(target.as_bytes())
            .map(|r| r.trim_ascii_start().to_vec())
    };
    makefile
        .split(|b| *b == b'\n')
        .filter_map(rest)
        .any(|r| r.starts_with(b":") && !r.contains(&b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(files: &[(&str, &str)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let show = |i: Inferred| {
            format!(
                "{} {}: {} <- {}",
                i.kind.verb(),
                i.id,
                i.command.to_text(),
                i.declared_in
            )
        };
        infer(dir.path()).unwrap().into_iter().map(show).collect()
    }

    #[test]
    fn what_repositories_declare() {
        assert!(inferred(&[]).is_empty());
        let scripts = r#"{"scripts":{"build":"b","lint":"l","other":"o","test":"echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(
            inferred(&[("package.json", scripts), ("pnpm-lock.yaml", "")]),
            [
                "lint lint: pnpm run lint <- package.json",
                "compile build: pnpm run build <- package.json",
            ]
        );
        let yarn = r#"{"scripts":{"test":"t"},"packageManager":"yarn@4.1.0"}"#;
        assert_eq!(
            inferred(&[("package.json", yarn), ("package-lock.json", "")]),
            ["test test: yarn run test <- package.json"]
        );
        assert_eq!(
            inferred(&[("package.json", "{"), ("Makefile", "test: x\nall:\n")]),
            ["test test: make test <- Makefile"]
        );
        assert_eq!(
            inferred(&[
                ("GNUmakefile", "include x\nlint:\ncheck := 5\n"),
                ("Makefile", "test:\n")
            ]),
            ["lint lint: make lint <- GNUmakefile",]
        );
        assert_eq!(
            inferred(&[
                (
                    "pyproject.toml",
                    "[tool.ruff.lint]\nx = 1\n[tool.pytest.ini_options]\n"
                ),
                ("mypy.ini", "")
            ]),
            [
                "lint lint: ruff check <- pyproject.toml",
                "compile typecheck: mypy . <- mypy.ini",
                "test test: python -m pytest <- pyproject.toml",
            ]
        );
        assert_eq!(
            inferred(&[("Cargo.toml", ""), ("go.mod", ""), ("Makefile", "test:\n")]),
            [
                "compile check: cargo check <- Cargo.toml",
                "test test: cargo test <- Cargo.toml",
                "test make-test: make test <- Makefile",
                "lint vet: go vet ./... <- go.mod",
                "test go-test: go test ./... <- go.mod",
            ]
        );
    }
}
