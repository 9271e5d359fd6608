//! The files of pre-commit's `types`, as globs.

use crate::base::path::RepoPath;
use crate::declared::tree::Tree;

/// The files of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// All of them, or those of a kind that no glob tells (`executable`).
    All,
    /// The last segments of their paths.
    Names(Vec<String>),
}

/// Types by ending, or by name where the entry has a dot or a capital.
const TYPES: &[(&str, &[&str])] = &[
    ("asciidoc", &["*.adoc", "*.asciidoc"]),
    ("bash", &["*.bash", "*.sh", "*.bats"]),
    ("bazel", &["*.bzl", "*.bazel", "BUILD", "WORKSPACE"]),
    ("c", &["*.c", "*.h"]),
    ("c#", &["*.cs"]),
    (
        "c++",
        &[
            "*.cc", "*.cpp", "*.cxx", "*.c++", "*.h", "*.hh", "*.hpp", "*.hxx", "*.ipp", "*.tpp",
        ],
    ),
    ("cmake", &["*.cmake", "CMakeLists.txt"]),
    ("csharp", &["*.cs"]),
    ("css", &["*.css"]),
    ("csv", &["*.csv"]),
    ("cuda", &["*.cu", "*.cuh"]),
    ("cython", &["*.pyx", "*.pxd", "*.pxi"]),
    ("dart", &["*.dart"]),
    (
        "dockerfile",
        &[
            "Dockerfile",
            "Dockerfile.*",
            "*.dockerfile",
            "Containerfile",
        ],
    ),
    ("elixir", &["*.ex", "*.exs"]),
    ("go", &["*.go"]),
    ("graphql", &["*.graphql", "*.gql"]),
    ("groovy", &["*.groovy", "Jenkinsfile"]),
    ("haskell", &["*.hs"]),
    ("hcl", &["*.hcl"]),
    ("header", &["*.h", "*.hh", "*.hpp", "*.hxx"]),
    ("html", &["*.html", "*.htm"]),
    ("ini", &["*.ini", "*.cfg"]),
    ("java", &["*.java"]),
    ("javascript", &["*.js", "*.cjs", "*.mjs"]),
    ("jinja", &["*.j2", "*.jinja", "*.jinja2"]),
    ("json", &["*.json"]),
    ("json5", &["*.json5"]),
    ("jsx", &["*.jsx"]),
    ("jupyter", &["*.ipynb"]),
    ("kotlin", &["*.kt", "*.kts"]),
    ("less", &["*.less"]),
    ("lua", &["*.lua"]),
    ("makefile", &["Makefile", "makefile", "GNUmakefile", "*.mk"]),
    ("markdown", &["*.md", "*.markdown"]),
    ("mdx", &["*.mdx"]),
    ("nix", &["*.nix"]),
    ("objective-c", &["*.m"]),
    ("perl", &["*.pl", "*.pm"]),
    ("php", &["*.php"]),
    ("proto", &["*.proto"]),
    ("pyi", &["*.pyi"]),
    ("python", &["*.py"]),
    ("rst", &["*.rst"]),
    (
        "ruby",
        &["*.rb", "*.gemspec", "*.rake", "Gemfile", "Rakefile"],
    ),
    ("rust", &["*.rs"]),
    ("sass", &["*.sass"]),
    ("scala", &["*.scala", "*.sbt"]),
    ("scss", &["*.scss"]),
    ("sh", &["*.sh"]),
    ("shell", &["*.sh", "*.bash", "*.bats", "*.zsh", "*.ksh"]),
    ("sql", &["*.sql"]),
    ("svelte", &["*.svelte"]),
    ("svg", &["*.svg"]),
    ("swift", &["*.swift"]),
    ("terraform", &["*.tf", "*.tfvars"]),
    ("toml", &["*.toml"]),
    ("ts", &["*.ts", "*.cts", "*.mts"]),
    ("tsx", &["*.tsx"]),
    ("vue", &["*.vue"]),
    ("xml", &["*.xml", "*.xsd", "*.xsl"]),
    ("yaml", &["*.yaml", "*.yml"]),
    ("zig", &["*.zig"]),
];

/// Interpreters of scripts without an ending, by type.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("bash", &["bash"]),
    ("javascript", &["node"]),
    ("perl", &["perl"]),
    ("python", &["python", "python3"]),
    ("ruby", &["ruby"]),
    ("sh", &["sh"]),
    ("shell", &["sh", "bash", "dash", "ksh", "zsh"]),
];

/// The files of a type.
pub(super) fn of(tag: &str) -> Files {
    match TYPES.iter().find(|(name, _)| *name == tag) {
        Some((_, names)) => Files::Names(names.iter().map(|n| (*n).to_owned()).collect()),
        None => Files::All,
    }
}

/// The files of `types` (all of them hold) and `types_or` (one of them holds).
pub(super) fn both(all: &[String], any: &[String]) -> Files {
    // Of several types that hold, the first that has names: more than what all of them have.
    let first = all
        .iter()
        .map(|tag| of(tag))
        .find(|files| *files != Files::All);
    if let Some(files) = first {
        return files;
    }
    let mut names = Vec::new();
    for tag in any {
        match of(tag) {
            Files::All => return Files::All,
            Files::Names(more) => names.extend(more),
        }
    }
    if names.is_empty() {
        return Files::All;
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Files::Names(names)
}

/// Tracked scripts without an ending that are of one of the types by their first line.
pub(super) fn scripts(tree: &Tree, tags: &[String]) -> Vec<RepoPath> {
    let wanted: Vec<&str> = INTERPRETERS
        .iter()
        .filter(|(tag, _)| tags.iter().any(|t| t == tag))
        .flat_map(|(_, programs)| programs.iter().copied())
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let is = |text: &str| {
        let Some(line) = text.lines().next().and_then(|l| l.strip_prefix("#!")) else {
            return false;
        };
        line.split(['/', ' ']).any(|word| wanted.contains(&word))
    };
    tree.texts
        .iter()
        .filter(|(file, text)| !file.name().contains(&b'.') && is(text))
        .map(|(file, _)| file.clone())
        .take(20)
        .collect()
}

/// Limits globs to names: `src/**` and `*.py` are `src/**/*.py`. A glob that names files already
/// stays.
pub(super) fn within(globs: &[String], names: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for glob in globs {
        let folder = glob
            .strip_suffix("**")
            .filter(|f| f.is_empty() || f.ends_with('/'));
        let Some(folder) = folder else {
            all.push(glob.clone());
            continue;
        };
        all.extend(
            joined(names)
                .iter()
                .map(|name| format!("{folder}**/{name}")),
        );
    }
    all
}

/// Names with endings as one glob: `*.{yaml,yml}`.
fn joined(names: &[String]) -> Vec<String> {
    let plain = |ending: &str| !ending.contains(['*', '{', '.']);
    let endings: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_prefix("*."))
        .filter(|ending| plain(ending))
        .collect();
    let mut all: Vec<String> = match endings.as_slice() {
        [] => Vec::new(),
        [one] => vec![format!("*.{one}")],
        many => vec![format!("*.{{{}}}", many.join(","))],
    };
    all.extend(
        names
            .iter()
            .filter(|name| !name.strip_prefix("*.").is_some_and(plain))
            .cloned(),
    );
    all
}
