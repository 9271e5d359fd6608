//! Whole proposals of small repositories, for what was found by trying public ones.

use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree {
        default_branch: Some("main".to_owned()),
        ..Tree::of(files)
    }
}

/// `NAME: COMMAND` of each check, in the order of the contract.
fn proposed(files: &[(&str, &str)]) -> Vec<String> {
    let proposal = propose(&tree(files), "it");
    let one = |check: &Check| {
        let one = proposal.found.candidate(check.candidate);
        format!("{}: {}", check.name, one.text())
    };
    proposal.checks.iter().map(one).collect()
}

/// A workflow whose only job has these steps.
fn workflow(steps: &str) -> String {
    format!("on: pull_request\njobs:\n  all:\n    runs-on: ubuntu-latest\n    steps:\n{steps}")
}

const WORKFLOW: &str = ".github/workflows/ci.yml";
const CARGO: (&str, &str) = ("Cargo.toml", "[package]\nname = \"it\"\n");

#[test]
fn a_list_that_closes_below_its_key_is_read() {
    let text = "on: push\njobs:\n  all:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n        a: [\n          x,\n        ]\n    steps:\n      - run: cargo test -p ${{ matrix.a }}\n";
    assert_eq!(
        proposed(&[CARGO, (WORKFLOW, text)]),
        ["test: cargo test -p x"]
    );
}

#[test]
fn what_needs_nightly_says_so() {
    let steps = |action: &str| {
        workflow(&format!(
            "      - uses: {action}\n      - run: cargo test\n      - run: cargo miri test\n      - run: cargo check\n        env:\n          RUSTFLAGS: --cfg nightly_things\n"
        ))
    };
    assert_eq!(
        proposed(&[CARGO, (WORKFLOW, &steps("dtolnay/rust-toolchain@nightly"))]),
        [
            "check: cargo +nightly check",
            "test: cargo test",
            "miri: cargo +nightly miri test"
        ]
    );
    let stable = steps("dtolnay/rust-toolchain@stable");
    assert!(proposed(&[CARGO, (WORKFLOW, &stable)]).contains(&"miri: cargo miri test".to_owned()));
    let pinned = steps("dtolnay/rust-toolchain@nightly");
    let pin = ("rust-toolchain", "nightly-2026-01-01\n");
    let pinned = proposed(&[CARGO, pin, (WORKFLOW, &pinned)]);
    assert!(pinned.contains(&"miri: cargo miri test".to_owned()));
}

#[test]
fn tox_builds_the_package_that_another_job_has_built() {
    let text = workflow(
        "      - uses: actions/checkout@v6\n      - uses: actions/download-artifact@v7\n        with:\n          name: Packages\n          path: dist\n      - run: tox run -e unit --installpkg `find dist/*.tar.gz`\n      - run: ./use dist\n",
    );
    let tox = ("tox.ini", "[testenv:unit]\ncommands = pytest\n");
    assert_eq!(
        proposed(&[tox, (WORKFLOW, &text)]),
        ["unit: tox run -e unit"]
    );
}

#[test]
fn tests_that_only_ci_can_start_are_taken_from_the_manifest() {
    let lint = "      - run: ruff check .\n";
    let manifest = (
        "pyproject.toml",
        "[project]\nname = \"it\"\n[dependency-groups]\ntest = [\"pytest\"]\n[tool.pytest.ini_options]\n",
    );
    let tests = ("tests/test_it.py", "");
    let unknown = workflow(&format!("{lint}      - run: pytest -k $WHAT\n"));
    let text = proposed(&[manifest, tests, (WORKFLOW, &unknown)]);
    assert!(text.iter().any(|one| one.ends_with("pytest")), "{text:?}");
    // CI tests, or does not want to.
    for steps in [
        format!("{lint}      - run: pytest -k what\n"),
        lint.to_owned(),
    ] {
        let text = proposed(&[manifest, tests, (WORKFLOW, &workflow(&steps))]);
        assert!(!text.iter().any(|one| one.ends_with("pytest")), "{text:?}");
    }
}

#[test]
fn equal_names_are_told_apart_by_what_differs() {
    let text = workflow(
        "      - run: cargo test --locked\n      - run: cargo test --locked --features raw -- --exact\n      - run: cargo test --locked --no-default-features\n      - run: TEST_BELOW=memcheck cargo test --locked\n      - run: RUSTFLAGS=-Ca=b cargo test --locked\n      - name: Look at it\n        run: jshint ui/*.js\n",
    );
    assert_eq!(
        proposed(&[CARGO, ("ui/a.js", ""), (WORKFLOW, &text)]),
        [
            "test: cargo test --locked",
            "test-raw: cargo test --locked --features raw -- --exact",
            "test-no-default-features: cargo test --locked --no-default-features",
            "test-memcheck: cargo test --locked",
            "test-ca-b: cargo test --locked",
            "jshint: jshint ui/*.js",
        ]
    );
}

#[test]
fn what_each_job_begins_with_is_told_once() {
    let text = "before_script:\n  - git fetch origin\n  - git checkout -f $CI_COMMIT_SHA\nlint:\n  script: [cargo clippy]\nunit:\n  script: [cargo test]\n";
    let proposal = propose(&tree(&[CARGO, (".gitlab-ci.yml", text)]), "it");
    assert_eq!(proposal.checks.len(), 2, "{}", proposal.text);
    assert!(
        proposal
            .text
            .contains("needs the network: `git fetch origin`"),
        "{}",
        proposal.text
    );
}

#[test]
fn an_environment_that_also_measures_stays_whole() {
    let tox = (
        "tox.ini",
        "[testenv:unit]\ncommands =\n    pytest {posargs:tests}\n    coverage report -m\n    python -c 'import os'\n",
    );
    let text = workflow(
        "      - run: tox run -e unit\n        env:\n          PYTEST_ADDOPTS: --color=yes --junitxml=a.xml\n",
    );
    let proposal = propose(&tree(&[tox, (WORKFLOW, &text)]), "it");
    let text = &proposal.text;
    assert_eq!(proposal.checks.len(), 1, "{text}");
    assert!(
        text.contains("tox run -e unit") && !text.contains("PYTEST_ADDOPTS"),
        "{text}"
    );
}

#[test]
fn what_a_manifest_declares_and_ci_runs_is_merged() {
    let make = (
        "Makefile",
        "unit:\n\tgo test ./...\nlint:\n\tgolint ./...\n",
    );
    let text = workflow("      - run: make unit\n      - run: cargo fmt --all -- --check\n");
    let proposal = propose(&tree(&[CARGO, make, (WORKFLOW, &text)]), "it");
    let not_run: Vec<String> = proposal
        .found
        .candidates
        .iter()
        .filter(|one| matches!(one.state, State::Out(Reason::NotRun, _)))
        .map(Candidate::text)
        .collect();
    assert!(not_run.contains(&"make lint".to_owned()), "{not_run:?}");
    assert!(!not_run.contains(&"make unit".to_owned()), "{not_run:?}");
    assert!(
        !not_run.contains(&"cargo fmt --all --check".to_owned()),
        "{not_run:?}"
    );
}
