//! Commands and what they are.

use super::*;
use crate::tests::ci_command;

/// The class, verb and words of a command in one line.
fn classified(tree: &RepositoryTree, text: &str) -> String {
    shown_of(tree, &ci_command(text))
}

fn shown_of(tree: &RepositoryTree, found: &SourceCommand) -> String {
    let one = classify(found, tree);
    match one.class {
        CommandClass::Check => format!(
            "{} {}: {}",
            one.verb.verb(),
            one.name,
            one.found.words.join(" ")
        ),
        CommandClass::Instead(inner) => {
            let all: Vec<String> = inner.iter().map(|one| one.words.join(" ")).collect();
            format!("instead: {}", all.join("; "))
        }
        CommandClass::Silent => "silent".to_owned(),
        CommandClass::Out(why) => format!("out: {why}"),
        CommandClass::Setup(how) => format!("setup: {how}"),
    }
}

#[track_caller]
fn compare(tree: &RepositoryTree, cases: &[(&str, &str)]) {
    for (text, want) in cases {
        assert_eq!(classified(tree, text), *want, "{text}");
    }
}

#[test]
fn tools_and_the_form_that_only_checks() {
    let tree = RepositoryTree::default();
    compare(
        &tree,
        &[
            ("ruff check .", "lint ruff: ruff check ."),
            ("cargo fmt", "lint fmt: cargo fmt --check"),
            ("echo hello", "silent"),
            (
                "cargo test --workspace",
                "test test: cargo test --workspace",
            ),
        ],
    );
    assert!(classified(&tree, "npm ci").starts_with("setup: "));
    assert_eq!(
        classified(&tree, "frobnicate --all"),
        "out: not a known tool"
    );
}

#[test]
fn what_cannot_fail_or_be_known_is_no_check() {
    let tree = RepositoryTree::default();
    let mut one = ci_command("pytest");
    one.ending = CommandEnding::Ignored("|| true".to_owned());
    assert_eq!(shown_of(&tree, &one), "out: cannot fail (|| true)");
    one.ending = CommandEnding::Background;
    assert_eq!(shown_of(&tree, &one), "out: runs in the background");
    let mut one = ci_command("pytest");
    one.unknown = Some("$TOKEN".to_owned());
    assert_eq!(shown_of(&tree, &one), "out: `$TOKEN` is known only to CI");
}

#[test]
fn tasks_stay_as_they_are_written() {
    let tree = RepositoryTree::from_files(&[(
        "Makefile",
        "test: build\n\trm -rf out\n\tpytest\nlint:\n\truff check --fix .\nall: \n\tcargo test\nfix:\n\truff check --fix .\n\tpytest\n\tsh/apply --check\n",
    )]);
    compare(
        &tree,
        &[
            // A recipe that removes files is no reason to leave a test out.
            ("make test", "test test: make test"),
            // One command that writes: its checking form.
            ("make lint", "lint lint: ruff check --no-fix ."),
            // An unclear name means what its recipe does.
            ("make all", "test all: make all"),
            // Several, of which one writes: those that check.
            (
                "make fix",
                "instead: ruff check --fix .; pytest; sh/apply --check",
            ),
        ],
    );
}

#[test]
fn a_recipe_that_installs_is_replaced_by_its_checks() {
    let tree = RepositoryTree::from_files(&[(
        "package.json",
        r#"{"scripts": {"test": "npm ci && jest", "format": "prettier --write ."}}"#,
    )]);
    compare(
        &tree,
        &[
            ("npm run test", "instead: npx jest"),
            ("npm run format", "lint format: npx prettier --check ."),
        ],
    );
}

#[test]
fn recipes_are_those_of_the_folder_that_options_name() {
    let root = r#"{"scripts": {"test": "npm ci && jest"}}"#;
    let web = r#"{"scripts": {"test": "npm ci && mocha"}}"#;
    let tree = RepositoryTree::from_files(&[("package.json", root), ("web/package.json", web)]);
    for text in [
        "npm --prefix web test",
        "npm --prefix=web run test",
        "pnpm -C web test",
        "pnpm --dir web run test",
        "yarn --cwd web test",
    ] {
        assert_eq!(classified(&tree, text), "instead: npx mocha", "{text}");
    }
    for text in [
        "npm test -w web",
        "npm run test --workspaces",
        "pnpm -r test",
        "pnpm --filter web test",
        "pnpm --filter=web run test",
        "yarn workspace web test",
        "yarn workspaces run test",
        "yarn workspaces foreach -A run test",
        "bun --filter web test",
        "bun run --filter web test",
        "npm run test -ws",
        "pnpm -F web test",
        "pnpm --recursive run test",
    ] {
        assert!(!classified(&tree, text).starts_with("instead"), "{text}");
    }
}

#[test]
fn a_recipe_that_runs_hooks_is_replaced_by_them() {
    let tree = RepositoryTree::from_files(&[
        (
            "tox.ini",
            "[testenv:lint]\ncommands = pre-commit run --all-files\n",
        ),
        (
            ".pre-commit-config.yaml",
            "repos:\n- repo: x\n  hooks:\n  - id: flake8\n",
        ),
    ]);
    compare(
        &tree,
        &[
            ("tox -e lint", "instead: pre-commit run --all-files"),
            ("pre-commit run --all-files", "instead: flake8"),
        ],
    );
}

#[test]
fn scripts_by_their_names() {
    let tree = RepositoryTree::from_files(&[
        ("ci/run-tests.sh", ""),
        ("ci/go.sh", ""),
        ("ci/deploy.sh", ""),
        (".ci.vet.sh", "set -e\ngo vet ./...\n"),
        ("ci/careful", "#!/bin/bash\ncargo careful test\n"),
        ("ci/fetch.sh", "curl -sSf https://example.com/x | sh\n"),
    ]);
    compare(
        &tree,
        &[
            ("./ci/run-tests.sh", "test run-tests: ./ci/run-tests.sh"),
            ("bash ci/go.sh lint", "lint lint: bash ci/go.sh lint"),
            ("./.ci.vet.sh", "lint ci.vet: ./.ci.vet.sh"),
            ("ci/careful", "test careful: ci/careful"),
            ("ci/go.sh", "run go: ci/go.sh"),
            (
                "ci/fetch.sh",
                "out: reaches the network, or changes git's state",
            ),
        ],
    );
    let mut printed = ci_command("ci/go.sh");
    printed.text = "ci/go.sh > out.txt".to_owned();
    assert!(shown_of(&tree, &printed).starts_with("out: a script whose name"));
    assert!(classified(&tree, "ci/deploy.sh").ends_with(", by its name"));
    let mut named = ci_command("ci/go.sh");
    named.label = "Run the unit tests".to_owned();
    assert_eq!(shown_of(&tree, &named), "test go: ci/go.sh");
}

#[test]
fn tools_that_are_not_known_but_installed_by_the_project() {
    let unknown = "out: not a known tool";
    compare(
        &RepositoryTree::default(),
        &[
            (
                "bundle exec yard-junk --path lib",
                "run yard-junk: bundle exec yard-junk --path lib",
            ),
            (
                "npx check-exports .",
                "lint check-exports: npx check-exports .",
            ),
            (
                "bundle exec bake test:external",
                "out: tests other projects",
            ),
            ("npx degit a/b --fix", unknown),
            ("yard-junk --path lib", unknown),
        ],
    );
}

#[test]
fn a_name_that_says_test_is_trusted_less_than_its_recipe() {
    let scripts = r#"{"scripts": {"test:types": "tsc", "test:js": "tsc && node a.js",
        "test:report": "nyc report --reporter=lcov"}}"#;
    compare(
        &RepositoryTree::from_files(&[("package.json", scripts)]),
        &[
            (
                "npm run test:types",
                "compile test:types: npm run test:types",
            ),
            ("npm run test:js", "test test:js: npm run test:js"),
            ("npm run test:report", "out: its recipe verifies nothing"),
        ],
    );
}

#[test]
fn a_shell_that_compares_output_is_the_tool_in_it() {
    let tree = RepositoryTree::default();
    let mut one = ci_command("");
    one.words = ["sh", "-c", "test -z \"$(gofmt -l .)\""]
        .map(str::to_owned)
        .to_vec();
    let shown = shown_of(&tree, &one);
    assert!(shown.starts_with("lint gofmt: sh -c test"), "{shown}");
    // Alone it cannot fail.
    for text in ["gofmt -l .", "gofmt -d .", "goimports -l ."] {
        let shown = shown_of(&tree, &ci_command(text));
        assert!(shown.starts_with("out: cannot fail"), "{text}: {shown}");
    }
    for text in [
        "flake8 . --count --exit-zero --statistics",
        "ruff check --fix --exit-zero",
        "golangci-lint run --issues-exit-code 0",
        "golangci-lint run --issues-exit-code=0",
        "hadolint --no-fail Dockerfile",
        "semgrep scan",
    ] {
        let shown = shown_of(&tree, &ci_command(text));
        assert!(shown.starts_with("out: cannot fail"), "{text}: {shown}");
    }
    for text in [
        "flake8 --count .",
        "golangci-lint run --issues-exit-code 2",
        "semgrep scan --error",
    ] {
        let shown = shown_of(&tree, &ci_command(text));
        assert!(shown.starts_with("lint "), "{text}: {shown}");
    }
    one = ci_command("gofmt -l .");
    one.unknown = Some("its output is compared".to_owned());
    assert_eq!(shown_of(&tree, &one), "out: its output is compared");
    for (text, want) in [
        (
            "[ -z \"$(gofmt -l .)\" ]",
            "lint gofmt: sh -c found=$(gofmt -l .) && ",
        ),
        (
            "[ \"$(gofmt -l . | wc -l)\" = 0 ]",
            "lint gofmt: sh -c found=$(gofmt -l .) && ",
        ),
        (
            "[ -z \"$(gofmt -l . | grep -v a)\" ]",
            "out: its output is compared",
        ),
        (
            "[ $(gofmt -l . | wc -l) -lt 9 ]",
            "out: its output is compared",
        ),
        (
            "[ -z \"$(gofmt -l . $(ls))\" ]",
            "out: its output is compared",
        ),
    ] {
        one.text = text.to_owned();
        let shown = shown_of(&tree, &one);
        assert!(shown.starts_with(want), "{text}: {shown}");
        one.ending = CommandEnding::Ignored("|| true".to_owned());
        let shown = shown_of(&tree, &one);
        assert!(shown.starts_with("out: "), "{text}: {shown}");
        one.ending = CommandEnding::Counts;
    }
    // A number of findings may be allowed.
    one = ci_command("flake8 --exit-zero src");
    one.text = "[ $(flake8 --exit-zero src | wc -l) -lt 9 ]".to_owned();
    one.unknown = Some("its output is compared".to_owned());
    assert_eq!(shown_of(&tree, &one), "out: its output is compared");
    let shown = shown_of(&tree, &ci_command("gofmt -w ."));
    assert!(
        shown.starts_with("lint gofmt: sh -c found=$(gofmt -d .) &&"),
        "{shown}"
    );
}

#[test]
fn what_is_compared_afterwards_may_write() {
    let mut one = ci_command("go generate ./...");
    one.ending = CommandEnding::TreeCompared;
    let made = classify(&one, &RepositoryTree::default());
    assert_eq!((made.class, made.unchanged), (CommandClass::Check, true));
}

#[test]
fn what_writes_and_then_compares_leaves_the_tree_as_it_is() {
    let makefile =
        "gen-check:\n\tgo generate ./...\n\tgit diff --exit-code\ngen:\n\tgo generate ./...\n";
    let script =
        "#!/bin/sh\ngo generate ./...\nif [ -n \"$(git status --porcelain)\" ]; then exit 1; fi\n";
    let tree = RepositoryTree::from_files(&[
        ("Makefile", makefile),
        ("ci/generated.sh", script),
        ("ci/check-generated.sh", script),
        (
            "ci/lint.sh",
            "#!/bin/sh\ngit diff --name-only | xargs shellcheck\n",
        ),
    ]);
    for (command, unchanged) in [
        ("make gen-check", true),
        ("ci/generated.sh", true),
        ("ci/check-generated.sh", true),
        ("ci/lint.sh", false),
    ] {
        let one = classify(&ci_command(command), &tree);
        assert_eq!(
            (one.class, one.unchanged),
            (CommandClass::Check, unchanged),
            "{command}"
        );
    }
    assert!(classified(&tree, "make gen").starts_with("out: "));
}

#[test]
fn options_and_the_origin_say_what_a_name_does_not() {
    let scripts = r#"{"scripts": {"test:dev": "node x.js", "dev": "vite"}}"#;
    let tree = RepositoryTree::from_files(&[
        ("package.json", scripts),
        ("capi/gen_header.sh", "#!/bin/sh\nsome-generator\n"),
        ("tool", "#!/bin/sh\nexec java\n"),
    ]);
    compare(
        &tree,
        &[
            (
                "capi/gen_header.sh --verify",
                "lint gen_header: capi/gen_header.sh --verify",
            ),
            ("capi/gen_header.sh", "out: writes, by its name"),
            ("./tool --version", "silent"),
            ("npm run test:dev", "test test:dev: npm run test:dev"),
            ("npm run dev", "out: verifies nothing, by its name"),
        ],
    );
    let mut local = ci_command("npm run test:dev");
    local.origin = CommandOrigin::Manifest;
    assert_eq!(
        shown_of(&tree, &local),
        "out: verifies nothing, by its name"
    );
}

#[test]
fn a_process_whose_output_is_compared_with_nothing_is_the_check() {
    let tree =
        RepositoryTree::from_files(&[("Taskfile.yml", "tasks: {lint: {cmds: [gofmt -d .]}}\n")]);
    let text = "diff -u <(echo -n) <(task lint)";
    let all = crate::shell::split(text, &ShellScope::default());
    let want = format!("lint lint: bash -c {text}");
    assert_eq!(shown_of(&tree, &all[0]), want);
}

#[test]
fn the_tests_of_other_projects_are_no_check() {
    let shown = classified(&RepositoryTree::default(), "bundle exec bake test:external");
    assert!(shown.starts_with("out: tests other projects"), "{shown}");
}

#[test]
fn keys_of_the_same_work() {
    let tree = RepositoryTree::default();
    let key = |text: &str| classify(&ci_command(text), &tree).key;
    for (a, b, same) in [
        ("cargo test --locked", "cargo test", true),
        ("cargo test --doc", "cargo test", false),
        ("cargo test -p a", "cargo test", false),
        ("cargo test --features a", "cargo test", false),
        ("cargo test --release", "cargo test", false),
        ("cargo +nightly test", "cargo test", true),
        ("tox -e py310", "tox -e py3.14", true),
        ("tox -e lint", "tox -e py", false),
        ("go test -race ./...", "go test ./...", true),
        ("go test -fuzz=A ./a", "go test -fuzz=B ./a", false),
        ("npm run lint", "npm run test", false),
        ("yarn workspace a test", "yarn workspace a run test", true),
        ("yarn workspace a test", "yarn workspace b test", false),
        ("yarn workspace a test", "yarn test", false),
        ("bin/bats test", "bats --filter-tags slow test/", true),
        ("bats unit", "bats test", false),
        (
            "phpunit --coverage-clover a.xml",
            "vendor/bin/phpunit",
            true,
        ),
    ] {
        assert_eq!(
            key(a) == key(b),
            same,
            "{a} and {b}: {:?} {:?}",
            key(a),
            key(b)
        );
    }
}

#[test]
fn verbs_of_commands() {
    let tree = RepositoryTree::default();
    let verb = |text: &str| match classify(&ci_command(text), &tree) {
        one if one.class == CommandClass::Check => one.verb,
        _ => Kind::Run,
    };
    for (text, want) in [
        ("python3 -m unittest", Kind::Test),
        ("make test", Kind::Test),
        ("true", Kind::Run),
        ("./x", Kind::Run),
    ] {
        assert_eq!(verb(text), want, "{text}");
    }
}

const TOX: &str = "[tox]\nenv_list =\n    lint-{ruff,hooks},\n    3.1{0-2}-tests,\n    # a remark\n    3.1{0-2}-mypy,\n    docs\n[testenv]\ncommands =\n    tests: pytest {posargs:-n auto}\n    mypy: mypy src\n[testenv:docs]\nchangedir = docs\ncommands = sphinx-build -d {envtmpdir} . out\n[testenv:lint-{ruff,hooks}]\ncommands =\n    ruff: ruff check --fix .\n    hooks: pre-commit run\n";

#[test]
fn environments_that_tox_is_given() {
    let hooks = "repos:\n- repo: r\n  hooks: [{id: codespell}]\n";
    let tree = RepositoryTree::from_files(&[("tox.ini", TOX), (".pre-commit-config.yaml", hooks)]);
    compare(
        &tree,
        &[
            ("tox -e py-tests", "test py-tests: tox -e py-tests"),
            (
                "tox run -e 3.12-mypy",
                "lint 3.12-mypy: tox run -e 3.12-mypy",
            ),
            ("tox run -f mypy", "lint mypy: tox run -f mypy"),
            (
                "tox run -f lint",
                "instead: ruff check --fix .; pre-commit run",
            ),
        ],
    );
    let mut by_variable = ci_command("tox");
    by_variable.env = [("TOXENV".to_owned(), "docs".to_owned())].into();
    assert_eq!(shown_of(&tree, &by_variable), "compile docs: tox -e docs");
    for (text, unknown, want) in [
        (
            "tox run -f $PYTHON-tests",
            "$PYTHON",
            "test py-tests: tox run -e py-tests",
        ),
        (
            "tox run --installpkg dist/x.whl -e $PYTHON-tests",
            "$PYTHON",
            "test py-tests: tox run -e py-tests",
        ),
        (
            "tox -e $PYTHON-other",
            "$PYTHON",
            "out: `$PYTHON` is known only to CI",
        ),
        (
            "tox -e $PYTHON-mypy -- $X",
            "$PYTHON",
            "out: `$PYTHON` is known only to CI",
        ),
    ] {
        let mut one = ci_command(text);
        one.unknown = Some(unknown.to_owned());
        assert_eq!(shown_of(&tree, &one), want, "{text}");
    }
}

#[test]
fn tasks_of_gradle_that_the_later_ones_contain_are_the_same_work() {
    let tree = RepositoryTree::default();
    let key = |text: &str| classify(&ci_command(text), &tree).key;
    assert_eq!(key("./gradlew :core:test"), key("./gradlew build"));
    assert_eq!(key("./mvnw verify"), key("./mvnw clean test"));
    assert_eq!(key("mvn --errors"), key("mvn verify"));
    for other in [
        "functionalTest",
        ":app:integrationTest",
        "check functionalTest",
    ] {
        let text = format!("./gradlew {other}");
        assert_ne!(key(&text), key("./gradlew build"), "{other}");
    }
}

#[test]
fn hooks_behind_a_launcher_with_a_value_of_their_name() {
    let command = ci_command("uv run --group pre-commit pre-commit run --all-files");
    let one = classify(&command, &RepositoryTree::default());
    assert_eq!(one.class, CommandClass::Instead(Vec::new()));
}

#[test]
fn scripts_that_wait_or_test_other_projects_are_no_checks() {
    let tree = RepositoryTree::from_files(&[
        ("test_files/wait_for_ftp.php", ""),
        ("downstream/run_downstream.py", ""),
    ]);
    compare(
        &tree,
        &[
            (
                "php test_files/wait_for_ftp.php 21",
                "out: verifies nothing, by its name",
            ),
            (
                "uv run downstream/run_downstream.py pytest",
                "out: tests other projects",
            ),
        ],
    );
}

#[test]
fn a_tool_that_writes_by_its_configuration_is_told_not_to() {
    let tree = RepositoryTree::from_files(&[
        ("pyproject.toml", "[tool.ruff]\nfix = true\n"),
        ("a/ruff.toml", "fix = false\n"),
        (".golangci.yml", "issues: {fix: true}\n"),
        (
            "Makefile",
            "style:\n\truff check\nlint:\n\truff check --no-fix\n",
        ),
    ]);
    compare(
        &tree,
        &[
            ("ruff check .", "lint ruff: ruff check --no-fix ."),
            ("ruff check --no-fix", "lint ruff: ruff check --no-fix"),
            (
                "golangci-lint run ./...",
                "lint golangci-lint: golangci-lint run --fix=false ./...",
            ),
            ("make style", "lint style: ruff check --no-fix"),
            ("make lint", "lint lint: make lint"),
        ],
    );
    let tree = RepositoryTree::from_files(&[("ruff.toml", "fix = false\n")]);
    assert_eq!(
        classified(&tree, "uv run ruff check"),
        "lint ruff: uv run ruff check"
    );
}

#[test]
fn what_insists_on_a_lock_file_needs_one() {
    let out = "out: git tracks no `Cargo.lock`";
    compare(&RepositoryTree::default(), &[("cargo check --locked", out)]);
    let tree = RepositoryTree::from_files(&[("a/Cargo.lock", "")]);
    let want = "compile build: cargo check --locked";
    compare(&tree, &[("cargo check --locked", want)]);
}

#[test]
fn scripts_of_a_package_that_yarn_starts() {
    compare(
        &RepositoryTree::default(),
        &[
            (
                "yarn workspace web test",
                "test test: yarn workspace web test",
            ),
            (
                "yarn workspace web run lint",
                "lint lint: yarn workspace web run lint",
            ),
            (
                "yarn workspace web jest",
                "test jest: yarn workspace web jest",
            ),
            (
                "yarn workspaces run test",
                "test test: yarn workspaces run test",
            ),
            ("npm test -w web", "test test: npm test -w web"),
        ],
    );
}

#[test]
fn an_environment_by_a_variable_and_the_default_of_another() {
    let ini = "[tox]\nenvlist = docs,py\n[testenv]\ncommands = {env:RUN:pytest} {posargs}\n[testenv:docs]\ncommands = sphinx-build a b\n";
    let tree = RepositoryTree::from_files(&[("tox.ini", ini)]);
    let mut one = ci_command("tox run");
    one.env = [("TOX_ENV".to_owned(), "py-cover".to_owned())].into();
    assert_eq!(shown_of(&tree, &one), "test tox: tox run");
}
