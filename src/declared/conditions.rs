//! The changes for which a check is wanted: what its source says, else what its tool reads. A
//! condition is never narrower than the truth; where nothing is proven there is none.

use super::candidate::{Candidate, Declarations, State, When, Work};
use super::kind::{self, Kind};
use super::tree::{Tree, is_prose, is_source};
use crate::base::glob::{Glob, escape};
use crate::base::path::RepoPath;
use crate::check::tool::Invocation;
use std::collections::{BTreeMap, BTreeSet};

/// The condition of a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// For every change.
    Always,
    /// When a file changed that the globs select; `!` in front of those that exclude. With the
    /// reason, for people.
    Changed(Vec<String>, String),
}

/// Tools that read nothing but files of these kinds and their own configuration: programs, globs
/// below the folder, configuration at the root or in the folder.
const SINGLE_FILES: &[(&[&str], &[&str], &[&str])] = &[
    (
        &[
            "ruff",
            "black",
            "isort",
            "flake8",
            "pycodestyle",
            "pydocstyle",
            "autoflake",
            "docformatter",
            "yapf",
            "bandit",
            "vulture",
        ],
        &["**/*.py", "**/*.pyi", "**/*.ipynb"],
        &[
            "pyproject.toml",
            "ruff.toml",
            ".ruff.toml",
            "setup.cfg",
            "tox.ini",
            ".flake8",
            ".isort.cfg",
            ".style.yapf",
            "uv.lock",
            "poetry.lock",
            "pdm.lock",
        ],
    ),
    (
        &["cargo fmt", "rustfmt"],
        &["**/*.rs"],
        &[
            "rustfmt.toml",
            ".rustfmt.toml",
            "**/Cargo.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
        ],
    ),
    (
        &["gofmt", "gofumpt", "goimports"],
        &["**/*.go"],
        &["go.mod"],
    ),
    (
        &["clang-format"],
        &["**/*.{c,cc,cpp,cxx,h,hh,hpp,hxx,m,mm,proto,java}"],
        &["**/.clang-format", "**/.clang-format-ignore"],
    ),
    (
        &["cmake-format", "gersemi"],
        &["**/CMakeLists.txt", "**/*.cmake"],
        &[".cmake-format*", ".gersemirc"],
    ),
    (
        &["shellcheck", "shfmt"],
        &["**/*.sh", "**/*.bash"],
        &[".shellcheckrc", ".editorconfig"],
    ),
    (&["actionlint", "zizmor"], &[".github/**"], &["zizmor.yml"]),
    (
        &["hadolint"],
        &["**/Dockerfile*", "**/*.Dockerfile", "**/Containerfile*"],
        &[".hadolint.y*ml"],
    ),
    (
        &["yamllint", "yamlfmt"],
        &["**/*.yml", "**/*.yaml"],
        &["**/.yamllint*", ".yamlfmt*"],
    ),
    (
        &["markdownlint", "markdownlint-cli2", "mdformat"],
        &["**/*.md", "**/*.markdown"],
        &[
            "**/.markdownlint*",
            ".mdformat.toml",
            "pyproject.toml",
            "package.json",
            "package-lock.json",
            "pnpm-lock.yaml",
            "yarn.lock",
        ],
    ),
    (
        &["stylelint"],
        &["**/*.{css,scss,sass,less,vue,svelte,html}"],
        &[
            "**/.stylelint*",
            "**/stylelint.config.*",
            "**/package.json",
            "package-lock.json",
            "pnpm-lock.yaml",
            "yarn.lock",
        ],
    ),
    (
        &["terraform fmt", "tofu fmt"],
        &["**/*.tf", "**/*.tfvars", "**/*.hcl"],
        &[],
    ),
    (&["taplo", "tombi"], &["**/*.toml"], &[]),
    (
        &["stylua", "luacheck"],
        &["**/*.lua"],
        &[
            "stylua.toml",
            ".stylua.toml",
            ".luacheckrc",
            ".editorconfig",
        ],
    ),
    (
        &["swiftformat", "swiftlint"],
        &["**/*.swift"],
        &[".swiftformat", ".swiftlint.yml", ".swift-version"],
    ),
    (
        &["buf format", "buf lint"],
        &["**/*.proto"],
        &["**/buf*.yaml", "**/buf.lock"],
    ),
    (
        &["sqlfluff"],
        &["**/*.sql"],
        &[".sqlfluff", "pyproject.toml", "setup.cfg", "tox.ini"],
    ),
    (
        &["uv lock"],
        &["**/pyproject.toml"],
        &["uv.lock", "uv.toml"],
    ),
    (&["poetry check"], &["pyproject.toml"], &["poetry.lock"]),
    (&["pdm lock"], &["pyproject.toml"], &["pdm.lock"]),
    (
        &["sort-package-json", "syncpack"],
        &["**/package.json"],
        &[".syncpackrc*"],
    ),
    (&["zig fmt"], &["**/*.zig", "**/*.zon"], &[]),
    (
        &["dart format"],
        &["**/*.dart"],
        &["analysis_options.yaml", "pubspec.yaml"],
    ),
    (&["nixfmt", "alejandra"], &["**/*.nix"], &[]),
    (&["erlfmt"], &["**/*.erl", "**/*.hrl", "**/*.config"], &[]),
];

/// Returns the conditions of all candidates that are kept, by their indices.
#[must_use]
pub fn derive(tree: &Tree, found: &Declarations) -> BTreeMap<usize, Condition> {
    let mut prose = BTreeMap::new();
    found
        .candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| candidate.state == State::Open)
        .map(|(index, candidate)| {
            let condition = of(tree, candidate, &mut prose);
            (index, with_read(condition, candidate))
        })
        .collect()
}

/// Adds what a trial saw a check read to its condition.
fn with_read(condition: Condition, candidate: &Candidate) -> Condition {
    let Condition::Changed(mut globs, why) = condition else {
        return condition;
    };
    let parse = |text: &str| Glob::parse(text).ok();
    let (not, selecting): (Vec<&String>, Vec<&String>) =
        globs.iter().partition(|glob| glob.starts_with('!'));
    let selecting: Vec<Glob> = selecting.iter().filter_map(|glob| parse(glob)).collect();
    let not: Vec<Glob> = not
        .iter()
        .filter_map(|glob| parse(glob.get(1..)?))
        .collect();
    let is_lacking = |path: &&RepoPath| {
        !selecting.iter().any(|glob| glob.matches(path))
            || not.iter().any(|glob| glob.matches(path))
    };
    let lacking: Vec<&RepoPath> = candidate.read.iter().filter(is_lacking).collect();
    if lacking
        .iter()
        .any(|path| not.iter().any(|glob| glob.matches(path)))
    {
        // An exclusion is of no use where what it excludes is read.
        globs.retain(|glob| !glob.starts_with('!'));
    }
    let more = lacking.iter().filter_map(|path| {
        let text = std::str::from_utf8(path.as_bytes()).ok()?;
        Some(escape(text))
    });
    globs.extend(more);
    Condition::Changed(globs, why)
}

/// The exclusions for prose, by folder.
type Prose = BTreeMap<RepoPath, Vec<String>>;

fn of(tree: &Tree, candidate: &Candidate, prose: &mut Prose) -> Condition {
    if candidate.setup {
        return Condition::Always;
    }
    if let When::Changed(globs) = &candidate.when {
        let selects = |glob: &&String| !glob.starts_with('!');
        let valid = globs
            .iter()
            .all(|g| Glob::parse(g.strip_prefix('!').unwrap_or(g)).is_ok());
        let all = globs.iter().filter(selects).any(|glob| glob == "**");
        if !valid || globs.iter().filter(selects).count() == 0 || all && globs.len() == 1 {
            return Condition::Always;
        }
        return Condition::Changed(
            globs.clone(),
            "The files for which the source has it run.".to_owned(),
        );
    }
    let tools: BTreeSet<String> = programs(candidate);
    if let Some(condition) = single_files(candidate, &tools) {
        return condition;
    }
    let reads_all = [
        "codespell",
        "typos",
        "cspell",
        "prettier",
        "dprint",
        "reuse",
        "addlicense",
        "lychee",
        "treefmt",
        "pre-commit",
        "prek",
        "biome",
        "oxfmt",
        "misspell",
        "editorconfig-checker",
        "ec",
        "vale",
        "git",
    ];
    if tools.is_empty()
        || tools
            .iter()
            .any(|tool| reads_all.contains(&tool.split(' ').next().unwrap_or_default()))
    {
        return Condition::Always;
    }
    match kind::of(candidate) {
        Kind::Docs | Kind::Format | Kind::Dependencies => Condition::Always,
        Kind::Lint | Kind::Types | Kind::Build | Kind::Test | Kind::Other => {
            code(tree, &candidate.dir, prose)
        }
    }
}

/// The programs of a candidate, each also with its subcommand: `cargo`, `cargo fmt`.
fn programs(candidate: &Candidate) -> BTreeSet<String> {
    let own;
    let leaves: Vec<&[String]> = match (&candidate.work, candidate.leaves.is_empty()) {
        (Work::Words(words), true) => {
            own = words.clone();
            vec![&own]
        }
        _ => candidate.leaves.iter().map(|leaf| &*leaf.words).collect(),
    };
    let mut found = BTreeSet::new();
    for words in leaves {
        let argv: Vec<&str> = words.iter().map(String::as_str).collect();
        let invocation = Invocation::of(&argv);
        let program = invocation.program();
        let asked = invocation
            .arguments()
            .iter()
            .find(|word| !word.starts_with(['-', '+']));
        let both = asked.map(|asked| format!("{program} {asked}"));
        let known = |name: &str| SINGLE_FILES.iter().any(|(names, ..)| names.contains(&name));
        found.insert(match both {
            Some(both) if known(&both) => both,
            _ => program.to_owned(),
        });
    }
    found
}

/// The condition of tools that read single files of known kinds.
fn single_files(candidate: &Candidate, tools: &BTreeSet<String>) -> Option<Condition> {
    let mut globs: Vec<String> = Vec::new();
    for tool in tools {
        let (_, kinds, settings) = SINGLE_FILES
            .iter()
            .find(|(names, ..)| names.contains(&&**tool))?;
        // What is named on the command line may have any ending.
        let named = candidate.leaves.iter().flat_map(|leaf| &leaf.words);
        let others =
            named.filter(|word| word.contains('.') && !word.starts_with('-') && word.len() > 1);
        let plain = |word: &String| {
            matches!(word.as_str(), "." | "./..." | "..")
                || word.ends_with('/')
                || !word.contains('.')
        };
        if others
            .filter(|word| !plain(word))
            .any(|word| !matches_kind(word, kinds))
        {
            return None;
        }
        globs.extend(kinds.iter().map(|glob| below(&candidate.dir, glob)));
        globs.extend(settings.iter().map(|glob| below(&candidate.dir, glob)));
        if !candidate.dir.is_root() {
            globs.extend(settings.iter().map(|glob| (*glob).to_owned()));
        }
    }
    if globs.is_empty() {
        return None;
    }
    let mut seen = BTreeSet::new();
    globs.retain(|glob| seen.insert(glob.clone()));
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    Some(Condition::Changed(
        globs,
        format!("What {} reads.", names.join(", ")),
    ))
}

/// Whether a file that a command names has one of the kinds, or is a configuration.
fn matches_kind(word: &str, kinds: &[&str]) -> bool {
    let word = word.rsplit_once('=').map_or(word, |(_, value)| value);
    let Some(path) = RepoPath::parse(word.trim_start_matches("./").as_bytes()).ok() else {
        return false;
    };
    let is_configuration = [".toml", ".cfg", ".ini", ".json", ".yml", ".yaml"]
        .iter()
        .any(|e| word.ends_with(e));
    is_configuration
        || kinds
            .iter()
            .any(|kind| Glob::parse(kind).is_ok_and(|glob| glob.matches(&path)))
}

/// Everything of a folder but proven prose.
fn code(tree: &Tree, dir: &RepoPath, prose: &mut Prose) -> Condition {
    let mut globs = match folders(tree, dir) {
        Some(folders) if !dir.is_root() => {
            let mut globs: Vec<String> = folders.iter().map(|folder| below(folder, "**")).collect();
            // The lock and the configuration of the whole.
            globs.push("*".to_owned());
            globs
        }
        _ => vec!["**".to_owned()],
    };
    let root = RepoPath::root();
    let mut places = vec![&root];
    places.extend((!dir.is_root()).then_some(dir));
    for place in places {
        let excluded = prose
            .entry(place.clone())
            .or_insert_with(|| proven_prose(tree, place));
        globs.extend(excluded.iter().cloned());
    }
    if globs == ["**"] {
        return Condition::Always;
    }
    let what = if dir.is_root() {
        "Everything"
    } else {
        "Its folder, what it depends on, and the configuration of the whole"
    };
    let but = if globs.iter().any(|g| g.starts_with('!')) {
        ", but prose that no source names"
    } else {
        ""
    };
    Condition::Changed(globs, format!("{what}{but}."))
}

/// Exclusions for prose at the root of a folder that no source file names.
fn proven_prose(tree: &Tree, dir: &RepoPath) -> Vec<String> {
    let tested = [
        "doctest-glob",
        "doctest_glob",
        "--doctest-modules",
        "testsetup",
        "readme_contains",
    ];
    let configuration = |text: &String| tested.iter().any(|word| text.contains(word));
    if tree.texts.values().any(configuration) {
        return Vec::new();
    }
    let name = |file: &RepoPath| String::from_utf8(file.name().to_vec()).unwrap_or_default();
    let is_child = |file: &&RepoPath| {
        if dir.is_root() {
            file.segments().count() == 1
        } else {
            file.below(dir).is_some_and(|rest| !rest.contains(&b'/'))
        }
    };
    let here: Vec<&RepoPath> = tree
        .files
        .iter()
        .filter(is_child)
        .filter(|f| is_prose(f))
        .collect();
    let mut out = Vec::new();
    for (ending, wildcard) in [(".md", "*.md"), (".rst", "*.rst"), (".adoc", "*.adoc")] {
        let of_kind: Vec<String> = here
            .iter()
            .map(|f| name(f))
            .filter(|n| n.ends_with(ending))
            .collect();
        if of_kind.is_empty() {
            continue;
        }
        if tree.mentioned.contains(wildcard) {
            continue;
        }
        let (mentioned, free): (Vec<String>, Vec<String>) = of_kind
            .into_iter()
            .partition(|n| tree.mentioned.contains(n));
        if mentioned.is_empty() {
            out.push(format!("!{}", below(dir, wildcard)));
        } else {
            out.extend(
                free.into_iter()
                    .take(6)
                    .map(|n| format!("!{}", below(dir, &escape(&n)))),
            );
        }
    }
    let others = here
        .iter()
        .map(|f| name(f))
        .filter(|n| !n.contains('.') || n.ends_with(".txt"));
    for other in others.filter(|n| !tree.mentioned.contains(n)).take(6) {
        out.push(format!("!{}", below(dir, &escape(&other))));
    }
    let docs = dir.join(b"docs").ok();
    if let Some(docs) = docs.filter(|_| !tree.mentioned.contains("docs")) {
        let inside: Vec<&RepoPath> = tree
            .files
            .iter()
            .filter(|f| f.below(&docs).is_some())
            .collect();
        let names_something = inside.iter().any(|f| tree.mentioned.contains(&name(f)));
        if !inside.is_empty() && !names_something && !inside.iter().any(|f| is_source(f)) {
            out.push(format!("!{}", below(dir, "docs/**")));
        }
    }
    out
}

/// Returns a folder with a manifest and those of this repository that it depends on; `None` where
/// that is not known.
fn folders(tree: &Tree, dir: &RepoPath) -> Option<BTreeSet<RepoPath>> {
    if dir.is_root() {
        return None;
    }
    let mut found = BTreeSet::new();
    let mut open = vec![dir.clone()];
    while let Some(next) = open.pop() {
        if !found.insert(next.clone()) || found.len() > 64 {
            continue;
        }
        let mut known = false;
        for manifest in ["Cargo.toml", "go.mod", "pyproject.toml", "package.json"] {
            let Some((_, text)) = tree.text(&next, manifest) else {
                continue;
            };
            known = true;
            open.extend(relative(&next, text));
            if manifest == "package.json" {
                open.extend(packages(tree, &next, text));
            }
        }
        if !known {
            return None;
        }
        // A member of a workspace above is compiled with all of it.
        let above = next.ancestors().into_iter().filter(|a| *a != next);
        let workspace = above.filter_map(|a| tree.text(&a, "Cargo.toml").map(|(_, text)| text));
        if tree.has(&next, "Cargo.toml")
            && workspace
                .into_iter()
                .any(|text| text.contains("[workspace]"))
        {
            return None;
        }
    }
    Some(found)
}

/// Folders that a manifest names by a relative path.
fn relative(dir: &RepoPath, text: &str) -> Vec<RepoPath> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ':'));
    let paths = words.filter(|word| word.starts_with("../") || *word == "..");
    paths
        .filter_map(|path| dir.join(path.as_bytes()).ok())
        .filter(|path| !path.is_root())
        .collect()
}

/// Folders of the packages of this repository that a package depends on by name.
fn packages(tree: &Tree, dir: &RepoPath, text: &str) -> Vec<RepoPath> {
    let manifests = tree
        .texts
        .iter()
        .filter(|(path, _)| path.name() == b"package.json");
    let named = |other: &str| {
        let start = other.find("\"name\"")?;
        let rest = other
            .get(start + 6..)?
            .trim_start()
            .strip_prefix(':')?
            .trim_start();
        rest.strip_prefix('"')?.split('"').next().map(str::to_owned)
    };
    manifests
        .filter_map(|(path, other)| Some((path, named(other)?)))
        .filter(|(_, name)| !name.is_empty() && text.contains(&format!("\"{name}\":")))
        .filter_map(|(path, _)| {
            let bytes = path.as_bytes().strip_suffix(b"/package.json")?;
            RepoPath::from_exact(bytes)
        })
        .filter(|folder| folder != dir && !folder.is_root())
        .collect()
}

/// Makes a glob for something below a folder, whose name is taken literally.
#[must_use]
pub fn below(dir: &RepoPath, glob: &str) -> String {
    if dir.is_root() {
        return glob.to_owned();
    }
    format!(
        "{}/{glob}",
        escape(&String::from_utf8_lossy(dir.as_bytes()))
    )
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{Belief, Origin};
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::of(files)
    }

    fn condition(tree: &Tree, dir: &str, command: &str, when: When) -> Condition {
        let origin = Origin {
            file: path(".github/workflows/ci.yml"),
            line: 1,
            label: "job".to_owned(),
        };
        let words = command.split(' ').map(str::to_owned).collect();
        let mut one = Candidate::new(origin, Belief::Workflow, Work::Words(words), path(dir));
        one.when = when;
        of(tree, &one, &mut Prose::new())
    }

    fn selects(condition: &Condition, file: &str) -> bool {
        let Condition::Changed(globs, _) = condition else {
            return true;
        };
        let glob = |text: &str| Glob::parse(text).unwrap().matches(&path(file));
        globs.iter().any(|g| !g.starts_with('!') && glob(g))
            && !globs.iter().any(|g| g.strip_prefix('!').is_some_and(glob))
    }

    #[test]
    fn prose_that_is_proven_to_be_prose() {
        let mut tree = tree(&[
            ("README.md", ""),
            ("LICENSE", ""),
            ("docs/a.md", ""),
            ("src/lib.rs", ""),
            ("src/notes.md", ""),
        ]);
        for command in ["cargo test", "cargo clippy", "tsc -p .", "make test"] {
            let condition = condition(&tree, ".", command, When::Unsaid);
            for (file, want) in [
                ("src/lib.rs", true),
                ("src/notes.md", true),
                ("Cargo.toml", true),
                ("README.md", false),
                ("LICENSE", false),
                ("docs/a.md", false),
            ] {
                assert_eq!(selects(&condition, file), want, "{command}: {file}");
            }
        }
        // A name inside quotes, and a folder with sources, are no prose.
        tree.mentioned.insert("README.md".to_owned());
        tree.files.insert(path("docs/conf.py"));
        let found = condition(&tree, ".", "cargo test", When::Unsaid);
        assert!(selects(&found, "README.md") && selects(&found, "docs/a.md"));
        assert!(!selects(&found, "LICENSE"));
        tree.mentioned.insert("*.md".to_owned());
        tree.files.insert(path("CHANGES.md"));
        let found = condition(&tree, ".", "cargo test", When::Unsaid);
        assert!(selects(&found, "CHANGES.md"));
    }

    #[test]
    fn tools_that_read_single_files() {
        let tree = tree(&[("a.py", ""), ("README.md", "")]);
        for (command, yes, no) in [
            ("ruff check .", "b/c.py", "a.rs"),
            ("uv run ruff check", "pyproject.toml", "a.rs"),
            ("cargo fmt --check", "a/b.rs", "README.md"),
            ("gofmt -l .", "x.go", "x.py"),
            ("actionlint", ".github/workflows/x.yml", "x.py"),
            ("uv lock --check", "uv.lock", "a.py"),
            ("clang-format --dry-run -Werror src/a.c", "src/b.h", "a.py"),
        ] {
            let found = condition(&tree, ".", command, When::Unsaid);
            assert!(selects(&found, yes), "{command}: {yes}: {found:?}");
            assert!(!selects(&found, no), "{command}: {no}: {found:?}");
        }
        // These read everything, or it is unknown what.
        for command in [
            "codespell",
            "prettier --check .",
            "mkdocs build",
            "cargo deny check",
        ] {
            assert_eq!(
                condition(&tree, ".", command, When::Unsaid),
                Condition::Always,
                "{command}"
            );
        }
    }

    #[test]
    fn what_the_source_says() {
        let tree = Tree::default();
        let said = |globs: &[&str]| When::Changed(globs.iter().map(|g| (*g).to_owned()).collect());
        let found = condition(&tree, ".", "cargo test", said(&["src/**", "!src/x"]));
        assert!(selects(&found, "src/a") && !selects(&found, "src/x") && !selects(&found, "b"));
        for globs in [&["**"][..], &["!x"], &["["], &[]] {
            let found = condition(&tree, ".", "cargo test", said(globs));
            assert_eq!(found, Condition::Always, "{globs:?}");
        }
    }

    #[test]
    fn a_folder_and_what_it_depends_on() {
        let tree = tree(&[
            ("package.json", "{}"),
            (
                "apps/web/package.json",
                r#"{"name":"web","dependencies":{"@x/ui":"*"}}"#,
            ),
            (
                "packages/ui/package.json",
                r#"{"name":"@x/ui","dependencies":{"@x/core":"*"}}"#,
            ),
            ("packages/core/package.json", r#"{"name":"@x/core"}"#),
            ("packages/other/package.json", r#"{"name":"@x/other"}"#),
            (
                "tool/Cargo.toml",
                "[dependencies]\nx = { path = \"../lib\" }",
            ),
            ("lib/Cargo.toml", "[package]"),
            ("scripts/a.sh", ""),
        ]);
        let web = condition(&tree, "apps/web", "vitest run", When::Unsaid);
        for (file, want) in [
            ("apps/web/a.ts", true),
            ("packages/ui/a.ts", true),
            ("packages/core/a.ts", true),
            ("package-lock.json", true),
            ("packages/other/a.ts", false),
        ] {
            assert_eq!(selects(&web, file), want, "{file}: {web:?}");
        }
        let tool = condition(&tree, "tool", "cargo test", When::Unsaid);
        assert!(selects(&tool, "lib/src/a.rs") && !selects(&tool, "apps/web/a.ts"));
        // Without a manifest nothing is known.
        let scripts = condition(&tree, "scripts", "./a.sh", When::Unsaid);
        assert!(selects(&scripts, "apps/web/a.ts"));
    }
}
