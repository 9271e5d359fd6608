//! Reads what configuration files say of a tool: that it writes without being asked, and which tools the
//! manifests name.

use super::super::tree::{Syntax, Tree};
use crate::base::path::RepoPath;
use crate::front::tree::{Node, Value};

/// The directory and those that contain it, the innermost first.
pub fn upwards(dir: &RepoPath) -> Vec<RepoPath> {
    let mut all = dir.ancestors();
    all.reverse();
    all.push(RepoPath::root());
    all.dedup();
    all
}

/// Whether one of these files has `true` at this path of keys.
fn says(tree: &Tree, dir: &RepoPath, files: &[(&str, Syntax, &[&str])]) -> bool {
    upwards(dir).iter().any(|dir| {
        files.iter().any(|(name, syntax, keys)| {
            let Ok(path) = dir.join(name.as_bytes()) else {
                return false;
            };
            if !tree.texts.contains_key(&path) {
                return false;
            }
            let Ok(document) = tree.read(&path, *syntax) else {
                return false;
            };
            let found = keys
                .iter()
                .try_fold(&document.root, |node: &Node, key| node.get(key));
            found.is_some_and(|node| matches!(node.value, Value::Bool(true)))
        })
    })
}

/// Whether one of these files has this text.
fn contains(tree: &Tree, dir: &RepoPath, files: &[&str], texts: &[&str]) -> bool {
    upwards(dir).iter().any(|dir| {
        files.iter().any(|name| {
            tree.text(dir, name)
                .is_some_and(|(_, text)| texts.iter().any(|t| text.contains(t)))
        })
    })
}

/// Whether a configuration has a tool write.
pub fn writes(tree: &Tree, dir: &RepoPath, program: &str) -> bool {
    match program {
        "ruff" => says(
            tree,
            dir,
            &[
                ("ruff.toml", Syntax::Toml, &["fix"]),
                (".ruff.toml", Syntax::Toml, &["fix"]),
                ("pyproject.toml", Syntax::Toml, &["tool", "ruff", "fix"]),
            ],
        ),
        "golangci-lint" => {
            let yaml = [".golangci.yml", ".golangci.yaml", ".golangci.json"];
            yaml.iter().any(|name| {
                says(
                    tree,
                    dir,
                    &[
                        (name, Syntax::Yaml, &["issues", "fix"]),
                        (name, Syntax::Yaml, &["run", "fix"]),
                    ],
                )
            }) || says(
                tree,
                dir,
                &[(".golangci.toml", Syntax::Toml, &["issues", "fix"])],
            )
        }
        "codespell" => {
            says(
                tree,
                dir,
                &[(
                    "pyproject.toml",
                    Syntax::Toml,
                    &["tool", "codespell", "write-changes"],
                )],
            ) || contains(
                tree,
                dir,
                &[".codespellrc", "setup.cfg"],
                &["write-changes"],
            )
        }
        "stylelint" => says(
            tree,
            dir,
            &[
                (".stylelintrc.json", Syntax::Json, &["fix"]),
                (".stylelintrc", Syntax::Json, &["fix"]),
                ("package.json", Syntax::Json, &["stylelint", "fix"]),
            ],
        ),
        "markdownlint-cli2" => {
            says(
                tree,
                dir,
                &[(".markdownlint-cli2.jsonc", Syntax::Json, &["fix"])],
            ) || says(
                tree,
                dir,
                &[(".markdownlint-cli2.yaml", Syntax::Yaml, &["fix"])],
            )
        }
        "xo" => says(tree, dir, &[("package.json", Syntax::Json, &["xo", "fix"])]),
        "pytest" => contains(
            tree,
            dir,
            &["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"],
            &[
                "--snapshot-update",
                "--force-regen",
                "--regen-all",
                "--inline-snapshot=fix",
                "--inline-snapshot=create",
            ],
        ),
        _ => false,
    }
}

/// Programs whose package has another name.
const PACKAGES: &[(&str, &[&str])] = &[
    ("attw", &["@arethetypeswrong/cli"]),
    ("api-extractor", &["@microsoft/api-extractor"]),
    ("biome", &["@biomejs/biome"]),
    ("commitlint", &["@commitlint/cli"]),
    ("babel", &["@babel/cli"]),
    ("depcruise", &["dependency-cruiser"]),
    ("graphql-codegen", &["@graphql-codegen/cli"]),
    ("manypkg", &["@manypkg/cli"]),
    ("markdownlint", &["markdownlint-cli"]),
    ("ng", &["@angular/cli"]),
    ("playwright", &["@playwright/test"]),
    ("run-s", &["npm-run-all", "npm-run-all2"]),
    ("run-p", &["npm-run-all", "npm-run-all2"]),
    ("stryker", &["@stryker-mutator/core"]),
    ("swc", &["@swc/cli"]),
    ("tsc", &["typescript"]),
    ("wdio", &["@wdio/cli"]),
    ("webpack", &["webpack-cli"]),
    ("wtr", &["@web/test-runner"]),
];

/// Files that name the tools of a package manager.
const NODE: &[&str] = &[
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "pnpm-workspace.yaml",
];
const PYTHON: &[&str] = &[
    "pyproject.toml",
    "uv.lock",
    "poetry.lock",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "Pipfile",
];

/// Whether a manifest of the directory, or of one that contains it, names a tool.
pub fn names(tree: &Tree, dir: &RepoPath, node: bool, word: &str) -> bool {
    let package = match word.rsplit_once('@') {
        Some((before, _)) if !before.is_empty() => before,
        _ => word,
    };
    let package = package
        .split(['[', '=', '<', '>', '~'])
        .next()
        .unwrap_or(package);
    let program = super::super::launch::name(word);
    let others = PACKAGES
        .iter()
        .find(|(name, _)| *name == program)
        .map_or(&[][..], |(_, packages)| packages);
    let files = if node { NODE } else { PYTHON };
    upwards(dir).iter().any(|dir| {
        files.iter().any(|file| {
            let Some((_, text)) = tree.text(dir, file) else {
                return false;
            };
            [package]
                .iter()
                .chain(others)
                .any(|name| is_named(text, name))
        })
    })
}

/// Whether a text has a name as a whole word.
fn is_named(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '@');
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(name) {
        if !before.ends_with(part) && !after.starts_with(|c: char| part(c) && c != '@') {
            return !name.is_empty();
        }
        rest = after;
    }
    false
}
