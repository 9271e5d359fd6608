//! `vplan init`: what it proposes for real trees is valid, explains itself and fits; what a hostile
//! tree makes of it.

use crate::support::{Project, Ran};

/// The proposal, which must be in the canonical layout and valid: no error, and no warning but of
/// programs that this machine lacks. When a contract is there, it says what it would run.
#[track_caller]
fn proposal(project: &Project) -> String {
    let shown = project.run(&["init", "--stdout"]);
    shown.exits(0).is_quiet();
    project.run(&["init", "--force"]).exits(0).is_quiet();
    assert_eq!(
        project.read("contracts/verify.vplan"),
        shown.out(),
        "what is shown is what is written"
    );
    let checked = project.run(&["check", "--format", "json"]);
    checked.exits(0);
    for diagnostic in checked.json()["diagnostics"].as_array().unwrap() {
        assert_eq!(
            diagnostic["code"],
            "vplan::repository::program_not_found",
            "{diagnostic}\n{}",
            shown.out()
        );
    }
    let all = if project.exists(".git") {
        "--all"
    } else {
        "--changed-none"
    };
    project.run(&["explain", all, "--last"]).exits(0);
    shown.out()
}

/// The statements of a proposal, without comments, empty lines and the header.
fn statements(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .skip(2)
        .collect()
}

/// The steps of a plan for all files.
#[track_caller]
fn steps(project: &Project) -> Vec<String> {
    let ran = project.run(&["plan", "--format", "json", "--all"]);
    ran.exits(0);
    ran.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap().to_owned())
        .collect()
}

const LOCKED: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"a\"\n"),
    ("Cargo.lock", "version = 4\n"),
    ("src/lib.rs", ""),
];

#[test]
fn rust() {
    let project = Project::git_with(LOCKED);
    let text = proposal(&project);
    assert_eq!(statements(&text), ["import \"std:rust@3\" as rust"]);
    assert!(
        text.contains("# `Cargo.toml` makes it a Cargo package"),
        "{text}"
    );
    assert_eq!(
        steps(&project),
        [
            "rust/fmt",
            "rust/check",
            "rust/clippy",
            "rust/test",
            "rust/doc"
        ]
    );
    let said = project.run(&["init", "--force"]);
    said.exits(0)
        .says("1 import")
        .says("rust: std:rust@3 (`Cargo.toml` makes it")
        .says("vplan explain --all");

    // Without a lock file that is checked in `--locked` would fail.
    let project = Project::git_with(&[
        ("Cargo.toml", "[package]\n"),
        ("src/lib.rs", ""),
        (".gitignore", "Cargo.lock\n"),
    ]);
    project.write("Cargo.lock", "");
    let text = proposal(&project);
    assert!(
        !text.contains("import")
            && text.contains("compile cargo check --workspace --all-targets\n"),
        "{text}"
    );
    assert_eq!(steps(&project), ["fmt", "check", "test"]);
}

#[test]
fn a_workspace_is_one_import() {
    let project = Project::git_with(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"fuzz\"]\n",
        ),
        ("Cargo.lock", "version = 4\n"),
        ("crates/a/Cargo.toml", "[package]\n"),
        ("crates/a/src/lib.rs", ""),
        ("fuzz/Cargo.toml", "[package]\n"),
        ("fuzz/Cargo.lock", "version = 4\n"),
        ("fuzz/main.rs", ""),
        ("tests/trees/x/Cargo.toml", "[package]\n"),
        ("vendor/x/go.mod", "module x\n"),
        (
            "web/node_modules/x/package.json",
            "{\"scripts\":{\"test\":\"t\"}}",
        ),
    ]);
    let text = proposal(&project);
    assert_eq!(
        statements(&text),
        [
            "import \"std:rust@3\" as rust",
            "import \"std:rust@3\" as fuzz at \"fuzz\""
        ]
    );
}

const ALL_SCRIPTS: &str = r#"{"scripts":{"lint":"l","test":"t","build":"b"}}"#;

#[test]
fn node() {
    let project = Project::git_with(&[
        ("package.json", ALL_SCRIPTS),
        ("pnpm-lock.yaml", ""),
        ("index.js", ""),
    ]);
    assert_eq!(
        statements(&proposal(&project)),
        ["import \"std:node@2\" as node"]
    );
    assert_eq!(
        steps(&project),
        ["node/pnpm-lint", "node/pnpm-test", "node/pnpm-build"]
    );

    // A script that std:node asks for is missing: it would be dropped from each plan, and each
    // coverage be narrowed.
    let scripts = r#"{"scripts":{"lint:css":"x","format:check":"prettier --check .","format":"prettier --write .",
        "test":"npm run test:unit","test:unit":"t","test:e2e":"playwright test","test:watch":"t --watch","dev":"d",
        "type-check":"tsc","check-updates":"ncu","start":"s","prelint:css":"p"}}"#;
    let project = Project::git_with(&[("package.json", scripts), ("index.js", "")]);
    let text = proposal(&project);
    let checks: Vec<&str> = text
        .lines()
        .filter_map(|l| l.trim().strip_prefix("check "))
        .collect();
    assert_eq!(
        checks,
        [
            "test {",
            "format-check {",
            "lint-css {",
            "test-e2e {",
            "type-check {"
        ]
    );
    assert!(
        text.contains("not std:node@2, which also asks for `lint` and `build`"),
        "{text}"
    );
    assert!(
        text.contains("compile npm run type-check\n    env CI=1"),
        "{text}"
    );
    let plan = project.run(&["plan", "--format", "json", "--all"]);
    assert_eq!(
        plan.json()["rewrites"].as_array().map_or(0, Vec::len),
        0,
        "nothing to repair: {}",
        plan.out()
    );

    // What it declares beyond std:node stands beside the import.
    let more = r#"{"scripts":{"lint":"l","typecheck":"t","test":"t","build":"b","verify":"v"}}"#;
    let project = Project::git_with(&[
        ("package.json", more),
        ("tsconfig.json", "{}"),
        ("a.ts", ""),
    ]);
    let text = proposal(&project);
    assert!(
        text.contains("import \"std:node@2\" as node") && text.contains("run npm run verify"),
        "{text}"
    );
    assert_eq!(steps(&project).len(), 5);
}

#[test]
fn packages_of_a_monorepo() {
    let project = Project::git_with(&[
        (
            "package.json",
            r#"{"private":true,"scripts":{"test":"t"},"packageManager":"pnpm@9.0.0"}"#,
        ),
        ("pnpm-lock.yaml", ""),
        ("apps/web/package.json", ALL_SCRIPTS),
        ("apps/web/src/a.js", ""),
        ("packages/web/package.json", ALL_SCRIPTS),
        ("packages/web/pnpm-lock.yaml", ""),
        ("services/api/go.mod", "module api\n"),
        ("services/api/main.go", "package main\n"),
        (
            "tools/report/pyproject.toml",
            "[tool.pytest.ini_options]\n[tool.ruff]\n",
        ),
        ("tools/report/main.py", ""),
        ("3d/[x]/Cargo.toml", "[package]\n"),
        ("3d/[x]/Cargo.lock", ""),
        ("3d/[x]/a.rs", ""),
    ]);
    // Not tracked: somebody's own business.
    project.write("scratch/package.json", ALL_SCRIPTS);
    let text = proposal(&project);
    let statements = statements(&text);
    for import in [
        "import \"std:rust@3\" as x at \"3d/[x]\"",
        "import \"std:go@2\" as api at \"services/api\"",
        "import \"std:node@2\" as packages-web at \"packages/web\"",
        "import \"std:python@3\" as report at \"tools/report\"",
    ] {
        assert!(statements.contains(&import), "{import}\n{text}");
    }
    assert!(!text.contains("scratch"), "{text}");
    // The lock file above tells the package manager, which std:node at the package would not see.
    assert!(
        text.contains("whenChangedAny \"apps/web/**\" \"!**/*.md\" \"pnpm-lock.yaml\" {"),
        "{text}"
    );
    assert!(
        text.contains(
            "check web-lint {\n    lint pnpm run lint\n    dir \"apps/web\"\n    env CI=1\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("lint ruff check --force-exclude {changed}\n    dir \"tools/report\""),
        "{text}"
    );
    let steps = steps(&project);
    for id in [
        "test",
        "web-test",
        "packages-web/pnpm-test",
        "api/test",
        "report/test",
        "report-ruff",
        "x/test",
    ] {
        assert!(steps.contains(&id.to_owned()), "{id} {steps:?}");
    }
}

#[test]
fn packages_that_depend_on_each_other() {
    let of = |name: &str, on: &str| {
        format!(
            r#"{{"name":"{name}","dependencies":{{"{on}":"*"}},"scripts":{{"lint":"l","test":"t","build":"b"}}}}"#
        )
    };
    let project = Project::git_with(&[
        ("package.json", r#"{"scripts":{"test":"turbo run test"}}"#),
        ("package-lock.json", "{}"),
        ("apps/web/package.json", &of("web", "@x/ui")),
        ("apps/web/a.js", ""),
        ("packages/ui/package.json", &of("@x/ui", "@x/core")),
        ("packages/ui/a.js", ""),
        ("packages/core/package.json", &of("@x/core", "react")),
        ("packages/core/a.js", ""),
    ]);
    let text = proposal(&project);
    assert!(
        text.contains("import \"std:node@2\" as core at \"packages/core\""),
        "{text}"
    );
    let web = "whenChangedAny \"apps/web/**\" \"packages/core/**\" \"packages/ui/**\" \"!**/*.md\" \"package-lock.json\" {";
    assert!(text.contains(web), "{text}");
    assert!(
        text.contains("which would not see a change of `packages/core`, on which this depends"),
        "{text}"
    );
    assert!(
        text.contains("`test`; it seems to run what is below for each package"),
        "{text}"
    );
    let ran = project.run(&[
        "plan",
        "--format",
        "json",
        "--changed",
        "packages/core/a.js",
    ]);
    let ids: Vec<String> = ran.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap().to_owned())
        .collect();
    for id in ["web-test", "ui-test", "core/test"] {
        assert!(ids.contains(&id.to_owned()), "{ids:?}");
    }
    let ran = project.run(&["plan", "--format", "json", "--changed", "apps/web/a.js"]);
    assert!(!ran.out().contains("core/test\",\"kind"), "{}", ran.out());
}

#[test]
fn python_go_make_and_prose() {
    let project = Project::git_with(&[
        (
            "pyproject.toml",
            "[project]\n[dependency-groups]\ndev = [\"pytest>=8\"]\n[tool.mypy]\n",
        ),
        ("a.py", ""),
        ("README.md", "x\n"),
        (".markdownlint.json", "{}"),
        ("Makefile", "test:\n\tpytest\n"),
    ]);
    let text = proposal(&project);
    let checks: Vec<&str> = text
        .lines()
        .filter(|l| l.trim().starts_with("check ") || l.starts_with("import "))
        .collect();
    assert_eq!(
        checks,
        [
            "check test {",
            "import \"std:python@3\" as python",
            "  check mypy {",
            "import \"std:docs@1\" as docs",
        ]
    );
    assert!(
        text.contains("    produces \"**/.mypy_cache/**\"\n"),
        "{text}"
    );
    // Prose alone, without a tool that is set up, is no reason.
    let project = Project::git_with(&[
        ("README.md", "x\n"),
        ("go.mod", "module x\n"),
        ("a.go", "package a\n"),
    ]);
    assert_eq!(
        statements(&proposal(&project)),
        ["import \"std:go@2\" as go"]
    );
    let all = "lint:\n\ttrue\nall:\n\ttrue\ncheck:\n\ttrue\ntest:\n\ttrue\n";
    let project = Project::git_with(&[("Makefile", all)]);
    assert_eq!(
        statements(&proposal(&project)),
        ["import \"std:make@2\" as make"]
    );
    project.run(&["run", "--all"]).exits(0);
}

#[test]
fn where_it_writes() {
    let project = Project::git_with(&[("Makefile", "test:\n\ttrue\n")]);
    proposal(&project);
    project
        .run(&["init"])
        .exits(2)
        .warns("vplan::init::exists")
        .warns("--force");
    project
        .run(&["init", "--contract", "other.vplan"])
        .exits(0)
        .says("--contract other.vplan");
    assert!(project.exists("other.vplan"));
    project
        .run(&["init", "--contract", "../outside.vplan"])
        .exits(2);
    project.run(&["init", "--format", "json"]).exits(2);
    // Not through a symlink, wherever it leads; and a symlink in the contract's own place counts as
    // a contract.
    let project = Project::git_with(&[("Makefile", "test:\n\ttrue\n")]);
    std::fs::create_dir(project.parent().join("elsewhere")).unwrap();
    project.symlink("contracts", "../elsewhere");
    project.run(&["init"]).exits(5).warns("symlink");
    project.run(&["init", "--force"]).exits(5);
    assert_eq!(
        std::fs::read_dir(project.parent().join("elsewhere"))
            .unwrap()
            .count(),
        0
    );
    project
        .remove("contracts")
        .symlink("contracts/verify.vplan", "../gone");
    project.run(&["init"]).exits(2).warns("vplan::init::exists");
    assert!(!project.exists("gone"));
}

#[test]
fn without_git() {
    let project = Project::bare();
    project
        .write("Makefile", "test:\n\ttrue\n")
        .write("sub/go.mod", "module x\n");
    let text = proposal(&project);
    assert!(
        text.contains("make test") && !text.contains("std:go"),
        "{text}"
    );
    assert!(
        text.contains("# Left out: git lists no files here: only the root was looked at"),
        "{text}"
    );
    project
        .run(&["init", "--force"])
        .exits(0)
        .says("left out: git lists no files here");
}

#[test]
fn nothing_there() {
    let project = Project::git_with(&[("a", "1")]);
    let shown = project.run(&["init"]);
    shown.exits(0).says("0 checks");
    project.run(&["check"]).exits(0);
    assert!(
        project
            .read("contracts/verify.vplan")
            .contains("# Nothing was found")
    );
}

#[test]
fn hostile_names_and_manifests() {
    let scripts = "{\"scripts\":{\"lint:\\n\":\"a\",\"test:\\u202e\":\"b\",\"test:$(x)\":\"c\",\"-test\":\"d\",\"test\":\"e\"}}";
    let project = Project::git_with(&[("package.json", scripts), ("index.js", "")]);
    for dir in [
        "a \"quote'",
        "new\nline",
        "bidi\u{202e}",
        "$(touch x)",
        "back\\slash",
        "a!b",
        "-x",
        "é",
    ] {
        project
            .write(format!("{dir}/go.mod"), "module x\n")
            .write(format!("{dir}/a.go"), "package a\n");
        project.write(
            format!("{dir}/package.json"),
            "{\"scripts\":{\"test\":\"t\"}}",
        );
    }
    project.write_bytes(b"not\xffutf8/go.mod", "module x\n");
    project.write("deep/b/c/d/e/f/go.mod", "module x\n");
    project.write("broken/package.json", "{\"scripts\":");
    project.write("wrong/package.json", "[1]");
    project.write("huge/package.json", vec![b' '; 5 << 20]);
    project.write("../outside.json", ALL_SCRIPTS);
    project
        .mkdir("link")
        .symlink("link/package.json", "../../outside.json");
    project.commit("hostile");
    let text = proposal(&project);
    assert!(
        text.chars().all(|c| !c.is_control() || c == '\n') && !text.contains('\u{202e}'),
        "{text}"
    );
    for said in [
        "scripts of `package.json` with unusual names: 4",
        "directories whose path is no plain text, or long: 3",
        "manifests deeper than 4 directories: 1, such as `deep/b/c/d/e/f`",
        "`broken/package.json` is no JSON object with scripts",
        "`wrong/package.json` is no JSON object with scripts",
        "`huge/package.json` was not read: it is larger than 1MiB",
        "`link/package.json` was not read: it leads out of the repository",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let steps = steps(&project);
    assert!(
        steps.contains(&"touch-x-go/build".to_owned())
            && steps.contains(&"a-quote-go/build".to_owned()),
        "{steps:?}"
    );
    assert!(!project.exists("x"));
}

#[test]
fn ten_thousand_packages() {
    let project = Project::git_empty();
    for i in 0..10_000 {
        project.write(format!("packages/p{i:05}/package.json"), ALL_SCRIPTS);
    }
    project.commit("many");
    let text = proposal(&project);
    assert_eq!(text.matches("import ").count(), 40);
    assert!(
        text.contains("# Left out: 9960 more directories with a manifest"),
        "{text}"
    );
    assert!(steps(&project).len() >= 120);
}

/// What the run of a proposal shows for a real tree: it is not only valid, it verifies.
#[test]
fn a_proposal_verifies() {
    let project = Project::git_with(&[
        ("Makefile", "lint:\n\ttrue\ntest:\n\ttest -f a\n"),
        ("a", "1\n"),
        ("sub/package.json", "{\"scripts\":{\"test\":\"node -e 0\"}}"),
    ]);
    proposal(&project);
    let ran: Ran = project.run(&["run", "--all", "--only", "lint", "--only", "test"]);
    ran.exits(0);
    project.remove("a");
    project
        .run(&["run", "--only", "lint", "--only", "test"])
        .exits(42);
}
