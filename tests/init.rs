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

/// The lines of the checks' commands.
fn commands(text: &str) -> Vec<&str> {
    let verbs = ["run ", "test ", "lint ", "compile "];
    text.lines()
        .map(str::trim)
        .filter(|line| verbs.iter().any(|verb| line.starts_with(verb)))
        .collect()
}

#[test]
fn manifests_where_nothing_else_speaks() {
    for (files, want) in [
        (
            &[("Cargo.toml", "[package]\n"), ("src/lib.rs", "")][..],
            &["compile cargo check", "test cargo test"][..],
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"scripts":{"lint":"eslint .","test":"jest","dev":"d","release":"r"}}"#,
                ),
                ("pnpm-lock.yaml", ""),
            ],
            &["lint pnpm run lint", "test pnpm run test"],
        ),
        (
            &[
                ("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n"),
                ("test_a.py", ""),
            ],
            &["lint ruff check", "compile mypy .", "test pytest"],
        ),
        (
            &[(
                "Makefile",
                "all:\n\ttrue\ntest:\n\ttrue\nlint:\n\ttrue\nclean:\n\ttrue\n",
            )],
            &["test make test", "lint make lint"],
        ),
        // A manifest without a test, and no file of tests.
        (
            &[("go.mod", "module x\n"), ("a.go", "package a\n")],
            &["lint go vet ./..."],
        ),
        (&[("Makefile", "out: a.c\n\tcc a.c\n")], &["compile make"]),
    ] {
        let project = Project::git_with(files);
        let text = proposal(&project);
        assert_eq!(commands(&text), want, "{text}");
    }
}

#[test]
fn ci_is_what_maintainers_mean() {
    let project = Project::git_with(&[
        (
            ".github/workflows/ci.yml",
            "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm ci\n      - run: npm run test\n      - run: npm run lint || true\n      - run: ./own-tool --all\n",
        ),
        (
            "package.json",
            r#"{"scripts":{"test":"jest","lint":"eslint --fix .","build":"b"}}"#,
        ),
    ]);
    let text = proposal(&project);
    assert_eq!(commands(&text), ["test npm run test"], "{text}");
    let said = project.run(&["init", "--force"]);
    said.exits(0)
        .says("1 check from 1 workflow\n")
        .says("tests: test; every test that was found is covered\n")
        .says("npm run lint")
        .says("cannot fail")
        .says("./own-tool --all")
        .says("ci.yml:9")
        .says("not a known tool")
        .says("npm ci");
}

#[test]
fn a_test_that_is_not_covered_is_said_first() {
    let project = Project::git_with(&[(
        ".github/workflows/ci.yml",
        "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pytest\n      - run: pytest --token ${{ secrets.X }}x\n",
    )]);
    proposal(&project);
    let said = project.run(&["init", "--force"]);
    said.exits(0)
        .says("tests: pytest; not covered: pytest --token");
    assert!(
        project
            .read("contracts/verify.vplan")
            .contains("# Not covered: pytest --token")
    );
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
    assert_eq!(commands(&text), ["test make test"], "{text}");
}

#[test]
fn nothing_there() {
    let project = Project::git_with(&[("a", "1")]);
    let shown = project.run(&["init"]);
    shown.exits(0).says("no check found").says("looked for");
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
        project.write(
            format!("{dir}/package.json"),
            "{\"scripts\":{\"test\":\"t\"}}",
        );
    }
    project.write_bytes(
        b"not\xffutf8/package.json",
        "{\"scripts\":{\"test\":\"t\"}}",
    );
    project.write("broken/package.json", "{\"scripts\":");
    project.write("huge/package.json", vec![b' '; 5 << 20]);
    project.write("../outside.json", "{\"scripts\":{\"lint\":\"t\"}}");
    project
        .mkdir("link")
        .symlink("link/package.json", "../../outside.json");
    project.commit("hostile");
    let text = proposal(&project);
    assert!(
        text.chars().all(|c| !c.is_control() || c == '\n') && !text.contains('\u{202e}'),
        "{text}"
    );
    let said = project.run(&["init", "--force", "-v"]);
    for file in ["broken", "huge", "link"] {
        said.says(&format!("{file}/package.json"));
    }
    assert!(!project.exists("x"));
}

#[test]
fn broken_sources_are_lines_of_the_account() {
    let project = Project::git_with(&[
        (".github/workflows/a.yml", "on: [pull_request\njobs: {"),
        (".pre-commit-config.yaml", "repos: ["),
        ("Makefile", "include missing.mk\ntest:\n\ttrue\n"),
    ]);
    let text = proposal(&project);
    assert_eq!(commands(&text), ["test make test"], "{text}");
    let said = project.run(&["init", "--force"]);
    said.exits(0).says("a.yml").says(".pre-commit-config.yaml");
}

#[test]
fn ten_thousand_packages() {
    let project = Project::git_empty();
    for i in 0..10_000 {
        project.write(
            format!("packages/p{i:05}/package.json"),
            r#"{"scripts":{"test":"t"}}"#,
        );
    }
    project.commit("many");
    let text = proposal(&project);
    assert_eq!(commands(&text).len(), 14);
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
