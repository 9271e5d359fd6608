//! The kind of work that a command does, its name and its verb: by the programs that it runs in the
//! end.

use super::candidate::{Candidate, Work};
use super::launch;
use super::shell;
use crate::check;
use crate::check::commands::parts;
use crate::check::output::kind_of;
use crate::check::tool::{Invocation, base_name};

/// The kinds of work, in the order in which a contract lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Layout of text.
    Format,
    /// Findings in single files.
    Lint,
    /// Types of a whole program.
    Types,
    /// Compiling, bundling, generating.
    Build,
    /// Tests.
    Test,
    /// Documentation.
    Docs,
    /// Licences, unused and unlocked dependencies.
    Dependencies,
    /// Anything else.
    Other,
}

impl Kind {
    /// The name in documents.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Kind::Format => "format",
            Kind::Lint => "lint",
            Kind::Types => "types",
            Kind::Build => "build",
            Kind::Test => "test",
            Kind::Docs => "docs",
            Kind::Dependencies => "dependencies",
            Kind::Other => "other",
        }
    }
}

/// Programs of one kind of work, whatever they are asked.
const PROGRAMS: &[(Kind, &[&str])] = &[
    (
        Kind::Format,
        &[
            "alejandra",
            "black",
            "clang-format",
            "cmake-format",
            "docformatter",
            "elm-format",
            "erlfmt",
            "gersemi",
            "gofmt",
            "gofumpt",
            "goimports",
            "isort",
            "mdformat",
            "nixfmt",
            "ormolu",
            "oxfmt",
            "pint",
            "prettier",
            "pyproject-fmt",
            "rustfmt",
            "shfmt",
            "sort-package-json",
            "stylua",
            "swiftformat",
            "treefmt",
            "yamlfix",
            "yamlfmt",
            "yapf",
        ],
    ),
    (
        Kind::Lint,
        &[
            "actionlint",
            "ansible-lint",
            "autoflake",
            "bandit",
            "checkstyle",
            "clang-tidy",
            "codespell",
            "cppcheck",
            "credo",
            "cspell",
            "djlint",
            "erb_lint",
            "eslint",
            "flake8",
            "golangci-lint",
            "hadolint",
            "knip",
            "ktlint",
            "markdownlint",
            "markdownlint-cli2",
            "misspell",
            "oxlint",
            "phpcs",
            "pre-commit",
            "prek",
            "publint",
            "pycodestyle",
            "pydocstyle",
            "pylint",
            "refurb",
            "rubocop",
            "ruff",
            "semgrep",
            "shellcheck",
            "sqlfluff",
            "standard",
            "standardrb",
            "staticcheck",
            "stylelint",
            "swiftlint",
            "tflint",
            "typos",
            "vulture",
            "xo",
            "yamllint",
            "zizmor",
        ],
    ),
    (
        Kind::Types,
        &[
            "basedpyright",
            "flow",
            "mypy",
            "phpstan",
            "psalm",
            "pyre",
            "pyright",
            "pytype",
            "tsc",
            "tsd",
            "ty",
            "vue-tsc",
        ],
    ),
    (
        Kind::Test,
        &[
            "_mocha",
            "ava",
            "bats",
            "behave",
            "ctest",
            "cucumber",
            "cypress",
            "jasmine",
            "jest",
            "karma",
            "mocha",
            "nosetests",
            "phpunit",
            "playwright",
            "prove",
            "py.test",
            "pytest",
            "rspec",
            "tap",
            "tape",
            "testem",
            "unittest",
            "vitest",
            "wtr",
        ],
    ),
    (
        Kind::Docs,
        &[
            "doxygen",
            "linkinator",
            "mdbook",
            "mkdocs",
            "rustdoc",
            "sphinx-build",
            "typedoc",
            "vale",
            "vitepress",
        ],
    ),
    (
        Kind::Build,
        &[
            "cmake", "esbuild", "g++", "gcc", "meson", "ninja", "rollup", "swc", "tsup", "webpack",
        ],
    ),
    (
        Kind::Dependencies,
        &["deptry", "license-checker", "liccheck", "madge", "depcheck"],
    ),
];

/// Subcommands of programs that do several kinds of work: program, subcommand, kind.
const SUBCOMMANDS: &[(&str, &[&str], Kind)] = &[
    ("cargo", &["fmt"], Kind::Format),
    ("cargo", &["clippy"], Kind::Lint),
    ("cargo", &["doc", "rdme", "readme", "deadlinks"], Kind::Docs),
    (
        "cargo",
        &["test", "nextest", "miri", "careful", "insta", "t"],
        Kind::Test,
    ),
    (
        "cargo",
        &[
            "check",
            "build",
            "c",
            "b",
            "hack",
            "rustc",
            "msrv",
            "minimal-versions",
        ],
        Kind::Build,
    ),
    (
        "cargo",
        &[
            "deny", "machete", "shear", "udeps", "vet", "metadata", "tree", "about", "license",
        ],
        Kind::Dependencies,
    ),
    ("go", &["vet"], Kind::Lint),
    ("go", &["test"], Kind::Test),
    ("go", &["build", "generate"], Kind::Build),
    ("go", &["mod"], Kind::Dependencies),
    ("golangci-lint", &["fmt"], Kind::Format),
    ("ruff", &["format"], Kind::Format),
    ("biome", &["format"], Kind::Format),
    ("biome", &["ci", "check", "lint"], Kind::Lint),
    ("dprint", &["check", "fmt"], Kind::Format),
    ("buf", &["format"], Kind::Format),
    ("buf", &["lint"], Kind::Lint),
    ("buf", &["build"], Kind::Build),
    ("deno", &["fmt"], Kind::Format),
    ("deno", &["lint"], Kind::Lint),
    ("deno", &["check"], Kind::Types),
    ("deno", &["test"], Kind::Test),
    ("mix", &["format"], Kind::Format),
    ("mix", &["credo"], Kind::Lint),
    ("mix", &["dialyzer"], Kind::Types),
    ("mix", &["compile"], Kind::Build),
    ("mix", &["test"], Kind::Test),
    ("mix", &["docs"], Kind::Docs),
    ("mix", &["deps.unlock"], Kind::Dependencies),
    ("dotnet", &["format"], Kind::Format),
    ("dotnet", &["build"], Kind::Build),
    ("dotnet", &["test"], Kind::Test),
    ("terraform", &["fmt"], Kind::Format),
    ("tofu", &["fmt"], Kind::Format),
    ("terraform", &["validate"], Kind::Lint),
    ("zig", &["fmt"], Kind::Format),
    ("zig", &["build"], Kind::Build),
    ("zig", &["test"], Kind::Test),
    ("dart", &["format"], Kind::Format),
    ("dart", &["analyze"], Kind::Lint),
    ("dart", &["test"], Kind::Test),
    ("swift", &["build"], Kind::Build),
    ("swift", &["test"], Kind::Test),
    ("taplo", &["fmt", "format"], Kind::Format),
    ("taplo", &["lint", "check"], Kind::Lint),
    ("nx", &["format:check"], Kind::Format),
    ("uv", &["lock"], Kind::Dependencies),
    ("poetry", &["check"], Kind::Dependencies),
    ("pdm", &["lock"], Kind::Dependencies),
    ("composer", &["validate"], Kind::Dependencies),
    ("pnpm", &["dedupe"], Kind::Dependencies),
    ("yarn", &["dedupe"], Kind::Dependencies),
    ("twine", &["check"], Kind::Dependencies),
    ("bun", &["test"], Kind::Test),
    ("node", &["--test"], Kind::Test),
    ("stack", &["test"], Kind::Test),
    ("stack", &["build"], Kind::Build),
    ("cabal", &["test"], Kind::Test),
    ("cabal", &["build"], Kind::Build),
    ("meson", &["test"], Kind::Test),
];

/// Words in the name of a task, a script or a goal that tell its kind, the first that occurs.
const WORDS: &[(Kind, &[&str])] = &[
    (
        Kind::Format,
        &[
            "fmt",
            "format",
            "formatting",
            "prettier",
            "style",
            "spotlesscheck",
            "ktlintcheck",
        ],
    ),
    (
        Kind::Types,
        &["typecheck", "types", "tsc", "mypy", "type", "typing"],
    ),
    (
        Kind::Lint,
        &[
            "lint", "linter", "linters", "eslint", "clippy", "vet", "spell", "spelling", "analyze",
            "stan",
        ],
    ),
    (
        Kind::Test,
        &[
            "test",
            "tests",
            "spec",
            "e2e",
            "unit",
            "integration",
            "verify",
            "pytest",
        ],
    ),
    (Kind::Docs, &["doc", "docs", "documentation"]),
    (
        Kind::Dependencies,
        &["deps", "dependencies", "lock", "licenses", "audit"],
    ),
    (
        Kind::Build,
        &["build", "compile", "bundle", "dist", "assemble"],
    ),
];

/// The kind of work of an argument vector.
#[must_use]
pub fn of_words(words: &[String]) -> Kind {
    let words = words.get(launch::peel(words).at()..).unwrap_or(words);
    let argv: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = Invocation::of(&argv);
    let program = found.program();
    let arguments = found.arguments();
    let asked = arguments.iter().find(|word| !word.starts_with(['-', '+']));
    if program == "cargo" && arguments.iter().any(|word| word == "deny") {
        return Kind::Dependencies;
    }
    let by_subcommand = SUBCOMMANDS.iter().find(|(name, asked_for, _)| {
        *name == program
            && (asked.is_some_and(|word| asked_for.contains(&&**word))
                || asked_for
                    .iter()
                    .any(|flag| flag.starts_with('-') && found.has(&[flag])))
    });
    if let Some((.., kind)) = by_subcommand {
        return *kind;
    }
    // `cmake --build` compiles; `cmake --build B --target test` is a task's name.
    if let Some((kind, _)) = PROGRAMS.iter().find(|(_, names)| names.contains(&program)) {
        return *kind;
    }
    // The first target of a Makefile is what there is to build.
    if matches!(program, "make" | "gmake" | "ninja")
        && asked.is_none_or(|target| matches!(target.as_str(), "all" | "default"))
    {
        return Kind::Build;
    }
    let named = found.script().map(str::to_owned);
    let texts = named
        .into_iter()
        .chain(
            arguments
                .iter()
                .filter(|word| !word.starts_with('-'))
                .cloned(),
        )
        .chain([program.to_owned()]);
    for text in texts {
        if let Some(kind) = of_name(&text) {
            return kind;
        }
    }
    Kind::Other
}

/// The kind of work that a task's name tells.
#[must_use]
pub fn of_name(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let hit = |all: &[&str]| words.iter().any(|word| all.contains(word));
    WORDS
        .iter()
        .find(|(_, all)| hit(all))
        .map(|(kind, _)| *kind)
}

/// The kind of work of a candidate: of what it runs in the end; of several kinds, the last in the
/// order of the enum but for `Other` (a build before its test is a test).
#[must_use]
pub fn of(candidate: &Candidate) -> Kind {
    let kinds: Vec<Kind> = candidate
        .leaves
        .iter()
        .map(|leaf| of_words(&leaf.words))
        .collect();
    let of_leaves = kinds
        .iter()
        .copied()
        .filter(|kind| *kind != Kind::Other)
        .max();
    let own = || match &candidate.work {
        Work::Words(words) => of_words(words),
        Work::Shell(text) => {
            let words = text
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>();
            of_words(&words)
        }
    };
    of_leaves.unwrap_or_else(own)
}

/// The verb by which a contract has a candidate judged: what a reader of output knows of its
/// programs.
#[must_use]
pub fn verb(candidate: &Candidate) -> check::Kind {
    let Work::Words(words) = &candidate.work else {
        return check::Kind::Shell;
    };
    if candidate.setup {
        return check::Kind::Run;
    }
    let own: Vec<&str> = words.iter().map(String::as_str).collect();
    let found: Vec<Invocation> = if candidate.leaves.is_empty() {
        parts(&own)
    } else {
        let leaves = candidate.leaves.iter();
        leaves
            .flat_map(|leaf| parts(&leaf.words.iter().map(String::as_str).collect::<Vec<_>>()))
            .collect()
    };
    let read = kind_of(&found);
    if matches!(
        of(candidate),
        Kind::Docs | Kind::Dependencies | Kind::Format
    ) {
        return read
            .filter(|kind| *kind == check::Kind::Lint)
            .unwrap_or(check::Kind::Run);
    }
    match read {
        Some(kind @ (check::Kind::Compile | check::Kind::Lint | check::Kind::Test)) => kind,
        _ => check::Kind::Run,
    }
}

/// Programs whose subcommand belongs to the name of a check.
const WITH_SUBCOMMAND: &[&str] = &[
    "biome",
    "buf",
    "composer",
    "dart",
    "deno",
    "dotnet",
    "go",
    "mix",
    "poetry",
    "ruff",
    "swift",
    "taplo",
    "terraform",
    "tofu",
    "uv",
    "zig",
];

/// A short name for a check: of the script or target that it runs, else of its tool, else of its
/// source.
#[must_use]
pub fn name(candidate: &Candidate) -> String {
    if let Some(name) = &candidate.name {
        return word(name.as_bytes());
    }
    // A text of one command is known by it, as its words are.
    let single = match &candidate.work {
        Work::Words(words) => Some(words.clone()),
        Work::Shell(text) => match shell::commands(text).as_slice() {
            [one] if !text.contains(['(', '|', ';', '!']) && one.len() > 1 => Some(one.clone()),
            _ => None,
        },
    };
    let Some(words) = &single else {
        return word(candidate.origin.label.as_bytes());
    };
    // `pnpm turbo run lint` is turbo's; `npm run lint` names a script.
    let peeled = launch::peel(words);
    let words = words.get(peeled.at()..).unwrap_or(words);
    let argv: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = Invocation::of(&argv);
    if let Some(script) = found.script() {
        return word(script.as_bytes());
    }
    let program = found.program();
    let arguments: Vec<&String> = found
        .arguments()
        .iter()
        .filter(|word| !word.starts_with(['-', '+']) && !word.contains('='))
        .collect();
    let first = arguments.first().map(|word| word.as_str());
    match program {
        "make" | "gmake" | "just" | "task" | "rake" | "ninja" => {
            first.map_or_else(|| program.to_owned(), |target| word(target.as_bytes()))
        }
        "cargo" => first.map_or_else(
            || "cargo".to_owned(),
            |asked| match asked {
                "nextest" => "test".to_owned(),
                asked => word(asked.as_bytes()),
            },
        ),
        "cmake" if found.has(&["--build"]) => "build".to_owned(),
        "cmake" => "configure".to_owned(),
        "tox" | "nox" => {
            let session = found
                .arguments()
                .iter()
                .skip_while(|w| !matches!(w.as_str(), "-e" | "-s"));
            let session = session.into_iter().nth(1).map_or("", String::as_str);
            if session.is_empty() {
                program.to_owned()
            } else {
                word(session.as_bytes())
            }
        }
        "turbo" | "nx" | "moon" => {
            let tasks = arguments.iter().map(|w| w.as_str());
            let mut tasks = tasks.filter(|w| !matches!(*w, "run" | "run-many" | "affected"));
            word(
                tasks
                    .next()
                    .unwrap_or(program)
                    .trim_start_matches(':')
                    .as_bytes(),
            )
        }
        // A script is known by its own name.
        "sh" | "bash" | "dash" | "zsh" | "python" | "python3" | "node" | "ruby" | "perl"
            if first.is_some_and(|file| file.contains(['/', '.'])) =>
        {
            let file = base_name(first.unwrap_or_default());
            word(file.split('.').next().unwrap_or(file).as_bytes())
        }
        _ => {
            let own = words.first().map_or("", |w| base_name(w));
            let shown = if program.is_empty() {
                own
            } else {
                base_name(program)
            };
            let shown = shown.rsplit_once('.').map_or(shown, |(stem, ending)| {
                if matches!(ending, "sh" | "py" | "js" | "mjs" | "ts" | "rb" | "bash") {
                    stem
                } else {
                    shown
                }
            });
            match first {
                Some(asked)
                    if WITH_SUBCOMMAND.contains(&program)
                        && !(program == "ruff" && asked == "check") =>
                {
                    word(format!("{shown}-{asked}").as_bytes())
                }
                _ => word(shown.as_bytes()),
            }
        }
    }
}

/// Makes a name of the language from foreign bytes.
#[must_use]
pub fn word(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes.iter().take(40) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => {
                out.push(char::from(byte.to_ascii_lowercase()));
            }
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    let out = out.trim_matches('-');
    match out.as_bytes().first() {
        None => "check".to_owned(),
        Some(b'0'..=b'9') => format!("c-{out}"),
        Some(_) => out.to_owned(),
    }
}
