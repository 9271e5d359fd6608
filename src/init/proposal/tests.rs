//! Laws of proposals, and what becomes of small repositories.

use super::*;
use crate::tests::words;
use proptest::prelude::*;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::source::{Source, Sources as Texts};
use vplan_contract::validate::validate;
use vplan_front::lower;

fn workflow(steps: &[&str]) -> String {
    let mut text =
        "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n".to_owned();
    for step in steps {
        text.push_str(&format!("      - run: {step}\n"));
    }
    text
}

/// The checks: verb, name, command and what they need.
fn checks(files: &[(&str, &str)]) -> Vec<String> {
    let proposal = propose(&RepositoryTree::from_files(files), "x");
    valid(&proposal.text);
    let all = &proposal.checks;
    let one = |check: &ProposedCheck| {
        let needs: Vec<&str> = check.needs.iter().map(|at| &*all[*at].name).collect();
        let (verb, name, words) = (check.verb.verb(), &check.name, check.found.words.join(" "));
        format!("{verb} {name}: {words} [{}]", needs.join(" "))
    };
    all.iter().map(one).collect()
}

#[track_caller]
fn valid(text: &str) {
    let mut sources = Texts::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    let contract = validate(&draft, &sources, &mut sink);
    assert!(contract.is_some() && !sink.has_errors(), "{text}\n{sink:?}");
}

#[test]
fn builds_of_a_job_come_before_its_tests() {
    let text = workflow(&[
        "cmake -B build",
        "cmake --build build",
        "ctest --test-dir build",
    ]);
    assert_eq!(
        checks(&[(".github/workflows/ci.yml", &text), ("CMakeLists.txt", "")]),
        [
            "compile cmake: cmake -B build []",
            "compile cmake-build: cmake --build build [cmake]",
            "test ctest: ctest --test-dir build [cmake-build]",
        ]
    );
}

#[test]
fn the_usual_test_fills_a_gap() {
    let text = workflow(&["ruff check"]);
    let files = [
        (".github/workflows/ci.yml", &*text),
        ("pyproject.toml", ""),
        ("a.py", ""),
    ];
    assert_eq!(
        checks(&files),
        ["lint ruff: ruff check []"],
        "no file of tests"
    );
    let files = [&files[..], &[("tests/test_a.py", "")]].concat();
    assert_eq!(
        checks(&files),
        ["lint ruff: ruff check []", "test pytest: pytest []"]
    );
}

#[test]
fn the_usual_test_is_that_of_the_builder_whose_files_are_there() {
    let files = [
        ("pom.xml", ""),
        ("src/main/java/A.java", ""),
        ("src/test/java/A.java", ""),
    ];
    assert_eq!(checks(&files), ["test verify: mvn verify []"]);
}

/// The checks, and the commands and jobs that are left with their reasons.
fn proposed(workflow: &str, more: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let files = [&[(".github/workflows/ci.yml", workflow)], more].concat();
    let account = propose(&RepositoryTree::from_files(&files), "x").account;
    let left = account.left.iter();
    let left = left.map(|left| format!("{}: {}", left.text, left.why));
    let not_read = account.not_read.iter().map(|one| one.why.clone());
    (checks(&files), left.chain(not_read).collect())
}

#[test]
fn a_test_that_needs_a_service_is_left_where_others_need_none() {
    let served = "  b:\n    services: {db: {image: db}}\n    steps:\n      - run: pytest slow\n";
    let own = "  c:\n    steps:\n      - run: docker compose up -d\n      - run: pytest e2e\n";
    let (found, left) = proposed(&format!("{}{served}{own}", workflow(&["pytest"])), &[]);
    assert_eq!(found, ["test pytest: pytest []"]);
    assert_eq!(
        left,
        [
            "pytest slow: its job starts db",
            "pytest e2e: its job starts docker compose up -d",
            "docker compose up -d: needs a service",
        ]
    );
    // What installs the project into the home folder, or for all users, is found by what follows.
    let files = [
        ("install", "#!/bin/sh\ncp x $HOME/bin\n"),
        ("sub/install", "#!/bin/sh\npip install -e .\n"),
    ];
    for (step, count) in [
        ("./install --all", 1),
        ("sudo make -C out install", 1),
        ("tmux new-session -d", 1),
        ("sub/install", 2),
        ("make install", 2),
        ("sudo apt-get install make", 2),
    ] {
        let (found, _) = proposed(&workflow(&["pytest", step, "pytest e2e"]), &files);
        assert_eq!(found.len(), count, "{step}: {found:?}");
    }
    let (found, _) = proposed(&format!("on: push\njobs:\n{served}"), &[]);
    assert_eq!(found, ["test pytest: pytest slow []"]);
}

#[test]
fn manifests_say_what_a_workflow_of_another_repository_may_run() {
    let away = "  b:\n    uses: other/meta/.github/workflows/lint.yml@main\n";
    let tasks = r#"{"scripts": {"lint": "eslint .", "test": "jest"}}"#;
    let own = workflow(&["npm test"]);
    let more = [("package.json", tasks)];
    let (found, left) = proposed(&format!("{own}{away}"), &more);
    let both = ["test test: npm test []", "lint lint: npm run lint []"];
    assert_eq!(found, both);
    let why = "a workflow of another repository: other/meta/.github/workflows/lint.yml@main";
    assert_eq!(left, [why]);
    assert_eq!(proposed(&own, &more).0, both[..1]);
    // A linter of prose says nothing of the code, and its own script is the same work.
    let own = workflow(&["npm test", "./node_modules/.bin/markdownlint"]);
    let tasks = tasks.replace("{\"lint\"", "{\"lint:md\": \"markdownlint\", \"lint\"");
    let tasks = tasks.replace(
        "\"lint:md\"",
        "\"build:validation\": \"node v.js\", \"lint:md\"",
    );
    let tasks = tasks.replace("jest", "npm run lint && npm run build:validation && jest");
    let (found, _) = proposed(&format!("{own}{away}"), &[("package.json", &tasks)]);
    let prose = "lint markdownlint: ./node_modules/.bin/markdownlint []";
    assert_eq!(found, [both[0], prose, both[1]]);
}

#[test]
fn a_script_is_one_check_whatever_starts_it_and_reports_it() {
    let tasks = r#"{"scripts": {"unit": "borp", "types": "tstyche", "ci": "npm run unit && npm run types"}}"#;
    let more = [("package.json", tasks), ("pnpm-lock.yaml", "")];
    let steps = [
        "COVERALLS=yes yarn unit",
        "pnpm unit",
        "bun run types",
        "earthly +test",
    ];
    let (found, left) = proposed(&workflow(&steps), &more);
    let both = ["test unit: pnpm unit []", "compile types: bun run types []"];
    assert_eq!(found, both);
    assert_eq!(left, ["earthly +test: needs a service"]);
    let steps = ["npm run unit", "npm run types", "MODE=a yarn ci"];
    let both = [
        "test unit: npm run unit []",
        "compile types: npm run types []",
    ];
    assert_eq!(proposed(&workflow(&steps), &more).0, both);
}

#[test]
fn what_every_change_starts_comes_before_what_some_changes_or_a_push_start() {
    let every = workflow(&["npm test"]);
    let some = every.replace("on: pull_request", "on: {push: {paths: [src/**]}}");
    let release = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{run: make dist}, {run: npm publish}]\n";
    let files = [
        (".github/workflows/a.yml", &*some),
        (".github/workflows/b.yml", &*every),
        (".github/workflows/c.yml", release),
    ];
    let proposal = propose(&RepositoryTree::from_files(&files), "x");
    assert!(proposal.text.contains("# b.yml:6"), "{}", proposal.text);
    assert!(!proposal.text.contains("paths of") && !proposal.text.contains("dist"));
    let why = &proposal.account.not_read[0].why;
    assert_eq!(why, "only a push starts it, and it publishes or measures");
}

#[test]
fn what_another_cell_of_a_matrix_proposes_is_covered() {
    let text = workflow(&["pytest"])
        .replace("    steps:", "    strategy: {matrix: {odd: [true, false]}}\n    continue-on-error: ${{ matrix.odd }}\n    steps:");
    let (found, left) = proposed(&text, &[]);
    assert_eq!((found.len(), left), (1, Vec::new()));
    let other = "      - {run: pytest, continue-on-error: true}\n";
    let (found, left) = proposed(&(workflow(&["pytest"]) + other), &[]);
    assert_eq!((found.len(), left), (1, Vec::new()), "another step");
}

#[test]
fn a_job_of_a_push_that_commits_is_not_read() {
    let job = |events: &str| {
        let steps =
            "      - run: make assets\n      - uses: stefanzweifel/git-auto-commit-action@v5\n";
        format!("on: {events}\njobs:\n  a:\n    steps:\n{steps}")
    };
    let (found, left) = proposed(&job("push"), &[]);
    let why = "only a push starts it, and it commits what it makes";
    assert_eq!((found.len(), &*left), (0, &[why.to_owned()][..]));
    let (found, _) = proposed(&job("pull_request"), &[]);
    assert_eq!(found, ["compile assets: make assets []"]);
}

#[test]
fn variants_of_the_same_work_are_one_check() {
    let text = workflow(&[
        "composer exec phpunit -- --exclude-group a",
        "composer exec phpunit -- --group a,b",
        "pnpm run build",
        "pnpm build",
        "./gradlew build check -Pmode=FAST",
        "./gradlew build check -Pmode=FULL",
        "./gradlew check -Pjdk=17",
    ]);
    let (found, _) = proposed(
        &text,
        &[("package.json", r#"{"scripts": {"build": "tsc"}}"#)],
    );
    assert_eq!(
        found,
        [
            "test phpunit: composer exec phpunit -- --exclude-group a []",
            "compile build: pnpm run build []",
            "test build-check: ./gradlew build check -Pmode=FAST []",
            "test build-check-pmode-full: ./gradlew build check -Pmode=FULL []",
        ]
    );
}

#[test]
fn documentation_is_a_check_only_where_ci_makes_it() {
    let makefile = "test:\n\tpytest\nhtml:\n\tsphinx-build . out\ndocs: html\n";
    let files = [("Makefile", makefile)];
    assert_eq!(checks(&files), ["test test: make test []"]);
    let ci = workflow(&["make html"]);
    let files = [("Makefile", makefile), (".github/workflows/ci.yml", &*ci)];
    assert_eq!(checks(&files), ["compile html: make html []"]);
}

#[test]
fn an_environment_with_a_version_that_a_shell_makes_is_one_check() {
    let ci = workflow(&["tox -e \"ci-py${VERSION//.}\""]).replace(
        "    steps:",
        "    strategy: {matrix: {version: [\"3.9\", \"3.12\", \"3.10\"]}}\n    env: {VERSION: \"${{ matrix.version }}\"}\n    steps:",
    );
    let tox = "[tox]\nenvlist = ci-py{39,310,312},lint\n[testenv]\ncommands = pytest\n";
    let (found, left) = proposed(&ci, &[("tox.ini", tox)]);
    let want = "test ci-py312: tox -e ci-py312 []".to_owned();
    assert_eq!((found, left), (vec![want.clone()], Vec::new()));
    let piped = ci.replace("${VERSION//.}", "$(echo $VERSION | tr -d '.')");
    assert_eq!(proposed(&piped, &[("tox.ini", tox)]).0, [&*want]);
    let unknown = ci.replace(
        "[\"3.9\", \"3.12\", \"3.10\"]",
        "\"${{ fromJSON(needs.a.outputs.all) }}\"",
    );
    assert_eq!(proposed(&unknown, &[("tox.ini", tox)]).0, [want]);
}

#[test]
fn cells_that_give_a_tool_another_word_are_one_check() {
    let of = |values: &str| {
        let text = workflow(&["bundle exec frob ${{ matrix.value }} --fast"]);
        let matrix = format!("    strategy: {{matrix: {{value: [{values}]}}}}\n    steps:");
        let files = [("tests/a.rb", ""), ("tests/b.rb", "")];
        proposed(&text.replace("    steps:", &matrix), &files)
            .0
            .len()
    };
    assert_eq!(of("mysql, sqlite"), 1);
    let rust = workflow(&["cargo test ${{ matrix.features }}"]).replace(
        "    steps:",
        "    strategy: {matrix: {include: [{rust: stable, features: --features a}, {rust: nightly, features: '--features a,b'}]}}\n    steps:",
    );
    let (found, _) = proposed(&rust, &[]);
    assert_eq!(
        found,
        ["test test: cargo test --features a []"],
        "an odd one"
    );
    assert_eq!(of("tests/a.rb, tests/b.rb"), 2, "files of the tree");
    let tox = "[testenv]\ncommands = pytest\n[testenv:min]\ndeps = a\n[testenv:docs]\ncommands = sphinx-build . out\n[testenv:slow-test]\n[testenv:loop]\ncommands = {[testenv]commands} --loop=x\n";
    let matrix = "    strategy: {matrix: {include: [{env: {TOXENV: py}}, {env: {TOXENV: min}}, {env: {TOXENV: loop}}, {env: {TOXENV: docs}}, {env: {TOXENV: slow-test}}, {env: {TOXENV: other}}]}}\n    steps:";
    let text = workflow(&["tox\n        env: ${{ matrix.env }}"]).replace("    steps:", matrix);
    let (found, _) = proposed(&text, &[("tox.ini", tox)]);
    assert_eq!(
        found,
        [
            "test py: tox -e py []",
            "compile docs: tox -e docs []",
            "test slow-test: tox -e slow-test []",
        ],
        "what is installed differs, or an option"
    );
}

#[test]
fn a_job_of_which_nothing_is_taken_over_is_named() {
    let job = |name: &str, steps: &str| format!("  {name}:\n    steps: [{steps}]\n");
    let jobs = [
        workflow(&["pytest"]),
        job(
            "changelog",
            "{run: \"git diff --name-only origin/main | grep -q CHANGELOG\"}",
        ),
        job("pass", "{uses: actions/checkout@v4}, {run: exit 0}"),
        job("unknown", "{run: frobnicate}"),
    ];
    let account = propose(
        &RepositoryTree::from_files(&[(".github/workflows/ci.yml", &*jobs.concat())]),
        "x",
    )
    .account;
    let parts: Vec<_> = account
        .not_read
        .iter()
        .filter_map(|one| one.part.clone())
        .collect();
    assert_eq!(parts, ["job `changelog`", "job `pass`"]);
    assert!(account.left.iter().any(|left| left.text == "frobnicate"));
}

#[test]
fn a_hook_that_starts_staged_hooks_is_replaced_by_them() {
    let manifest = r#"{"packageManager": "pnpm@9", "simple-git-hooks": {"pre-commit": "pnpm lint-staged"},
        "lint-staged": {"*.js": ["prettier --write", "git add"]}}"#;
    assert_eq!(
        checks(&[("package.json", manifest), ("a.js", "")]),
        ["lint prettier: pnpm exec prettier --check {changed} []"]
    );
}

#[test]
fn the_paths_of_a_workflow_keep_its_name_in_a_recipe() {
    let text =
        "on: {pull_request: {paths: ['src/**']}}\njobs:\n  a:\n    steps:\n      - run: just ci\n";
    let files = [
        (".github/workflows/ci.yml", text),
        ("justfile", "ci:\n  npm install\n  eslint .\n"),
    ];
    let proposal = propose(&RepositoryTree::from_files(&files), "x");
    assert!(
        proposal.text.contains("# paths of ci.yml\n"),
        "{}",
        proposal.text
    );
    assert!(
        proposal.text.contains("# justfile:3\n"),
        "{}",
        proposal.text
    );
}

#[test]
fn a_second_ci_system_is_a_line() {
    let text = workflow(&["pytest"]);
    let tree = RepositoryTree::from_files(&[
        (".github/workflows/ci.yml", &text),
        (".gitlab-ci.yml", "a:\n  script: make test\n"),
        (".travis.yml", "script: make test\n"),
    ]);
    let proposal = propose(&tree, "x");
    assert_eq!(proposal.checks.len(), 1);
    let lines: Vec<&str> = proposal
        .account
        .not_read
        .iter()
        .map(|one| &*one.why)
        .collect();
    let unread = "`init` does not read it";
    assert_eq!(lines, ["a second CI system", unread]);
}

#[test]
fn what_packs_is_no_check_without_ci() {
    let makefile = "package:\n\ttar cf x.tar src\nbuild:\n\tcc a.c\n";
    assert_eq!(
        checks(&[("Makefile", makefile)]),
        ["compile build: make build []"]
    );
}

#[test]
fn the_rest_is_listed_where_there_are_too_many() {
    let steps: Vec<String> = (0..20).map(|n| format!("make test-{}", word(n))).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let text = workflow(&steps);
    let proposal = propose(
        &RepositoryTree::from_files(&[(".github/workflows/ci.yml", &text)]),
        "x",
    );
    assert_eq!(proposal.checks.len(), 14);
    assert_eq!(proposal.account.tests().count(), 6);
}

fn word(number: u32) -> String {
    char::from_u32('a' as u32 + number).unwrap().to_string()
}

#[test]
fn a_recipe_that_names_itself_ends() {
    let files = [
        (
            "package.json",
            r#"{"scripts": {"ci": "npm install && npm run ci"}}"#,
        ),
        (".github/workflows/ci.yml", &*workflow(&["npm run ci"])),
    ];
    let proposal = propose(&RepositoryTree::from_files(&files), "x");

    assert!(proposal.checks.is_empty() && proposal.account.left.len() == 1);
}

/// A workspace of packages, each of which uses the next one, with these scripts; and at the root.
fn npm_workspace(count: usize, scripts: &str, root: &str) -> Vec<(String, String)> {
    let manifest = |at: usize| {
        let uses = format!(r#""dependencies": {{"@acme/p{}": "*"}}"#, at + 1);
        let text = format!(r#"{{"name": "@acme/p{at}", "scripts": {{{scripts}}}, {uses}}}"#);
        (format!("packages/p{at}/package.json"), text)
    };
    let root = format!(r#"{{"workspaces": ["packages/*"], "scripts": {{{root}}}}}"#);
    let mut files: Vec<_> = (0..count).map(manifest).collect();
    files.extend((0..count).map(|at| (format!("packages/p{at}/a.test.js"), String::new())));
    files.push(("package.json".to_owned(), root));
    files
}

fn tree_of(files: &[(String, String)]) -> RepositoryTree {
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    RepositoryTree::from_files(&files)
}

const TESTS: &str = r#""test": "jest", "lint": "eslint .""#;

#[test]
fn the_packages_of_a_workspace_are_rows() {
    let proposal = propose(&tree_of(&npm_workspace(40, TESTS, "")), "x");
    valid(&proposal.text);
    let text = &proposal.text;
    assert!(text.lines().count() < 60, "{text}");
    for part in [
        "paths shared = \"**\" \"!packages/*/**\"\n",
        "each pkg in-workspace {\n  whenChangedAny dependents {pkg} shared {\n",
        "check test-{pkg.name} {\n      test npm run test\n      dir \"{pkg}\"\n",
        "lint npm run lint\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(proposal.checks.len(), 2);
    assert_eq!(proposal.account.folded.len(), 78, "each is in the account");
}

#[test]
fn a_package_without_the_task_leaves_them_as_they_are() {
    let mut files = npm_workspace(4, TESTS, "");
    files.push((
        "packages/q/package.json".to_owned(),
        r#"{"name": "q"}"#.to_owned(),
    ));
    let text = propose(&tree_of(&files), "x").text;
    assert!(
        !text.contains("each") && text.contains("dir \"packages/p0\""),
        "{text}"
    );
}

#[test]
fn a_task_of_the_root_for_all_packages_is_theirs() {
    for (root, want) in [
        (r#""test": "npm run test --workspaces""#, false),
        (r#""test": "jest own""#, true),
    ] {
        let text = propose(&tree_of(&npm_workspace(4, r#""test": "jest""#, root)), "x").text;
        assert_eq!(text.contains("each pkg in-workspace"), want, "{text}");
        assert!(text.contains("check test {"), "{text}");
    }
}

#[test]
fn packages_that_ci_names_one_by_one_are_rows() {
    let rows = |steps: &[&str], manifests: &[(&str, &str)]| {
        let text = workflow(steps);
        let files = [&[(".github/workflows/ci.yml", &*text)], manifests].concat();
        let proposal = propose(&RepositoryTree::from_files(&files), "x");
        valid(&proposal.text);
        proposal.text
    };
    let cargo = [
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/a/Cargo.toml", "[package]\nname = \"x-a\"\n"),
        ("crates/b/Cargo.toml", "[package]\nname = \"x-b\"\n"),
        ("crates/c/Cargo.toml", "[package]\nname = \"x-c\"\n"),
    ];
    let [a, b, c] = [
        "cargo test -p x-a",
        "cargo test -p x-b",
        "cargo test -p x-c",
    ];
    let text = rows(&[a, b, c], &cargo);
    assert!(
        text.contains("test cargo test -p \"{pkg.name}\"\n"),
        "{text}"
    );
    assert!(!rows(&[a, b], &cargo).contains("each"), "one has no test");
    let text = rows(&["cargo test --workspace"], &cargo);
    assert!(
        !text.contains("each") && text.contains("cargo test --workspace"),
        "{text}"
    );
    let built = rows(&["npm run build", a, b, c], &cargo);
    assert!(
        !built.contains("each"),
        "behind a build of their job: {built}"
    );
}

#[test]
fn modules_of_go_have_the_usual_test_each() {
    let mut files = vec![(
        "go.work".to_owned(),
        "go 1.22\nuse ./a\nuse ./b\nuse ./c\n".to_owned(),
    )];
    for name in ["a", "b", "c"] {
        files.push((format!("{name}/go.mod"), format!("module x/{name}\n")));
        files.push((format!("{name}/x_test.go"), String::new()));
    }
    files.push((
        ".github/workflows/ci.yml".to_owned(),
        workflow(&["golangci-lint run"]),
    ));
    let text = propose(&tree_of(&files), "x").text;
    valid(&text);
    assert!(
        text.contains("test go test ./...\n      dir \"{pkg}\"\n"),
        "{text}"
    );
    files.push(("d/go.mod".to_owned(), "module x/d\n".to_owned()));
    files.push((
        "go.work".to_owned(),
        "go 1.22\nuse (\n./a\n./b\n./c\n./d\n)\n".to_owned(),
    ));
    assert!(
        !propose(&tree_of(&files), "x").text.contains("each"),
        "one has no test"
    );
}

proptest! {
    /// Whatever is declared, the text is a contract, the same one twice, and each line of a source
    /// is kept, folded, or in the account.
    #[test]
    fn laws(commands in proptest::collection::vec(
        (prop_oneof![
            Just("pytest"), Just("ruff check --fix"), Just("make test"), Just("npm ci"),
            Just("docker run x"), Just("cargo fmt"), Just("frob"), Just("black ."), Just("tox -e py310"),
        ], ".{0,12}", ".{0,8}", ".{0,8}"),
        0..9,
    )) {
        let tree = RepositoryTree::default();
        let mut reading = SourceReading::default();
        for (line, (command, argument, label, value)) in (1..).zip(&commands) {
            let dir = RepoPath::parse(label.as_bytes()).unwrap_or_default();
            let mut words = words(command);
            words.extend((!argument.is_empty()).then(|| argument.clone()));
            let mut one = SourceCommand::at(Place::new(&RepoPath::root(), 1), words, &dir);
            one.place.line = line;
            one.label.clone_from(label);
            one.paths = vec![value.clone(), "**".to_owned()];
            one.env.insert("A_B".to_owned(), value.clone());
            reading.found.push(one);
        }
        let proposal = translate(&tree, reading.clone(), "ci");
        valid(&proposal.text);
        prop_assert_eq!(&proposal.text, &translate(&tree, reading.clone(), "ci").text);
        let account = &proposal.account;
        let places: BTreeSet<u32> = proposal.checks.iter().map(|check| check.found.place.line)
            .chain(account.folded.iter().map(|one| one.place.line))
            .chain(account.left.iter().chain(&account.setup).map(|one| one.place.line))
            .collect();
        for one in &reading.found {
            let is_silent = classify(one, &tree).class == CommandClass::Silent;
            prop_assert!(is_silent || places.contains(&one.place.line), "{:?}", one.words);
        }
    }
}
