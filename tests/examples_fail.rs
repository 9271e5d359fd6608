//! Each check of the examples of the language, of `contracts/examples/` and of the std contracts
//! passes where its tool finds nothing, and fails where it does: no example that cannot fail.
//!
//! Programs are stand-ins that know these commands alone, with the exit codes and the output that the
//! tools document; `sh`, `cat` and `grep` are the real ones. `tests/examples.rs` and `tests/std.rs` have
//! the real tools on real trees.

use crate::support::{Project, Ran};
use std::collections::BTreeMap;
use std::path::Path;
use vplan::lang::GRAMMAR;

/// Commands that fail with 1 and write nothing.
const PLAIN: &str = "
    autoreconf -i
    build --host=* --out *
    app --version
    cargo *
    cargo-*
    configure --*
    curl -sSf http://localhost:*
    docker build --file ops/docker/worker.Dockerfile .
    flash.sh
    go build ./...
    go mod tidy -diff
    go test ./...
    go vet ./...
    golangci-lint run
    make
    make *
    markdownlint-cli2*
    mdbook build
    mkdir -p build/*
    mkdocs build --strict
    mypy .
    npm run *
    bun run *
    yarn run *
    pnpm run *
    pnpm test
    pnpm build
    pnpm e2e
    pnpm typecheck
    pnpm lint:ci
    pnpm test:coverage
    pnpm install --frozen-lockfile*
    pnpm --filter @storefront/api test
    pnpm --filter ./packages/* build
    pnpm --filter ./packages/* test
    pnpm exec eslint *
    pnpm exec markdownlint *
    pnpm exec cspell *
    publish.sh
    own.sh
    pyright
    pytest tests/*
    python3 -c import*
    python3 -m compileall -q inventory tests
    python3 -m pytest
    python3 -m sphinx -W -b html docs docs/_build/html
    python3 tools/style.py *
    node scripts/prose.js *
    regenerate-readmes.sh
    ruff check*
    style.sh
    tox run -e py*
    uvx ruff check --no-fix *
    uv run --locked --group dev tox run -e docs
    uv run --locked --group dev tox run -e typing
    markdownlint *
    vale *
    codespell *
    typos --force-exclude *
    cspell lint --no-progress --no-must-find-files *
";

/// Commands whose output is read: the output where nothing is wrong and where something is, and the exit
/// code of the tool then.
const READ: &[(&str, &str, &str, i32)] = &[
    (
        "npm test*",
        " Test Files  2 passed (2)\n      Tests  20 passed (20)\n",
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 19 passed (20)\n",
        1,
    ),
    (
        "gradlew test",
        "/bin/mkdir -p build/test-results/test; echo '<testsuite name=\"a\" tests=\"1\"><testcase name=\"b\"/></testsuite>' > build/test-results/test/a.xml",
        "/bin/mkdir -p build/test-results/test; echo '<testsuite name=\"a\" tests=\"1\" failures=\"1\"><testcase name=\"b\"><failure/></testcase></testsuite>' > build/test-results/test/a.xml",
        1,
    ),
    // Three errors are allowed, and the exit code that comes with them.
    ("npx eslint src", ESLINT_3, ESLINT_4, 1),
    (
        "npx tsc --noEmit",
        "",
        "src/a.ts(1,7): error TS2322: Type 'number' is not assignable to type 'string'.\n",
        2,
    ),
    (
        "own-lint",
        "3 files inspected, no offenses detected\n",
        "a.x:1:2: E: Own/Name: wrong\n",
        1,
    ),
    (
        "make check",
        "# PASS: 3\n# FAIL: 0\n",
        "# PASS: 2\n# FAIL: 1\n",
        2,
    ),
    (
        "make check VERBOSE=yes",
        "# PASS: 3\n# FAIL: 0\n",
        "# PASS: 2\n# FAIL: 1\n",
        2,
    ),
    (
        "uv run --locked --group dev tox run -e *",
        "===== 3 passed in 0.12s =====\n",
        "FAILED tests/test_a.py::test_b - assert 1 == 2\n===== 1 failed, 2 passed in 0.12s =====\n",
        1,
    ),
    (
        "python3 -m unittest discover -s tests",
        UNITTEST,
        UNITTEST_FAILED,
        1,
    ),
    (
        "cargo +* local-nt run --profile ci",
        NEXTEST,
        NEXTEST_FAILED,
        100,
    ),
    (
        "cargo +* nextest run --profile ci",
        NEXTEST,
        NEXTEST_FAILED,
        100,
    ),
    (
        "nextest-without-rustup.sh run --profile ci",
        NEXTEST,
        NEXTEST_FAILED,
        100,
    ),
    (
        "judge.sh",
        "{\"verdict\":\"pass\",\"reasoning\":\"clear\"}",
        "{\"verdict\":\"fail\",\"reasoning\":\"step 2 is missing\"}",
        0,
    ),
];

const ESLINT_3: &str = "/w/src/a.js\n  1:1  error  a  no-undef\n  2:1  error  b  no-undef\n  3:1  error  c  no-undef\n\n✖ 3 problems (3 errors, 0 warnings)\n";
const ESLINT_4: &str = "/w/src/a.js\n  1:1  error  a  no-undef\n  2:1  error  b  no-undef\n  3:1  error  c  no-undef\n  4:1  error  d  no-undef\n\n✖ 4 problems (4 errors, 0 warnings)\n";
const UNITTEST: &str = "..\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n";
const UNITTEST_FAILED: &str = "F.\n======================================================================\nFAIL: test_a (t.T.test_a)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"t.py\", line 1, in test_a\nAssertionError\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n";
const NEXTEST: &str = "    Starting 1 test across 1 binary\n        PASS [   0.004s] a::b c\n------------\n     Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n";
const NEXTEST_FAILED: &str = "    Starting 1 test across 1 binary\n        FAIL [   0.004s] a::b c\n------------\n     Summary [   0.010s] 1 test run: 0 passed, 1 failed, 0 skipped\n        FAIL [   0.004s] a::b c\n";

/// Files that checks look at themselves: where nothing is wrong, and where something is.
const FILES: &[(&str, Option<&str>, Option<&str>)] = &[
    ("README.md", Some("# Shop\n"), Some("<<<<<<< ours\n")),
    (
        "apps/web/dist/app.js",
        Some("\"use strict\";\n"),
        Some("var a;\n"),
    ),
    ("dist/app.js", Some("\"use strict\";\n"), Some("")),
    (
        "docs/calc.1",
        Some(".TH CALC 1\n"),
        Some(".TH CALC 1\nFIXME\n"),
    ),
    ("inventory/py.typed", Some(""), None),
    ("my log.txt", Some("[ok]\n"), Some("ok\n")),
    ("package-lock.json", None, Some("{}\n")),
    ("src/a.c", Some("int a;\n"), Some("int a; // TODO\n")),
];

/// Programs that are looked for on PATH, and in the repository.
const ON_PATH: &str = "autoreconf bun cargo codespell cspell curl docker go golangci-lint make markdownlint \
    markdownlint-cli2 mdbook mkdir mkdocs mypy node npm npx pnpm pyright pytest python3 ruff tox typos uv uvx vale yarn \
    pg_isready";
const IN_REPOSITORY: &str = "build/app build/calc configure gradlew own-lint own.sh scripts/flash.sh scripts/judge.sh \
    scripts/nextest-without-rustup.sh scripts/postgres.sh scripts/publish.sh scripts/regenerate-readmes.sh scripts/style.sh";

/// The stand-in for every program, in one of the two states.
fn stand_in(is_bad: bool) -> String {
    let pattern = |command: &str| {
        let mut quoted = String::new();
        for part in command.split('*') {
            quoted.push_str(&format!("'{part}'*"));
        }
        quoted.truncate(quoted.len() - 1);
        quoted
    };
    // Services, and what the next step needs to be there.
    let mut cases = String::from(
        "'mkdir -p build/'*) exec /bin/mkdir \"$@\";;\n'postgres.sh '*) exec tail -f /dev/null;;\n'pg_isready '*) exit 0;;\n'python3 -m http.server '*) exec /usr/bin/python3 \"$@\";;\n",
    );
    if is_bad {
        cases = cases.replacen("exec /bin/mkdir", "exit 1; exec /bin/mkdir", 1);
    }
    for (command, good, bad, exit) in READ {
        let text = if is_bad { bad } else { good };
        let exit = if is_bad || *command == "npx eslint src" {
            *exit
        } else {
            0
        };
        let act = match text.starts_with("/bin/mkdir ") {
            true => (*text).to_owned(),
            // These two report on standard error.
            false if text.contains("Ran 2 tests") || text.contains("Starting 1 test") => {
                format!("printf %s '{text}' >&2")
            }
            false => format!("printf %s '{}'", text.replace('\'', "'\\''")),
        };
        cases.push_str(&format!("{}) {act}; exit {exit};;\n", pattern(command)));
    }
    let exit = u8::from(is_bad);
    let plain: Vec<&str> = PLAIN.lines().map(str::trim).collect();
    for command in plain.into_iter().filter(|line| !line.is_empty()) {
        cases.push_str(&format!("{}) exit {exit};;\n", pattern(command)));
    }
    format!(
        "#!/bin/sh\nname=${{0##*/}}\ntest $# = 0 || name=\"$name $*\"\ncase $name in\n{cases}*) echo \"no stand-in: $name\" >&2; exit 99;;\nesac\n"
    )
}

/// A contract in which each check is on its own: without what it waits for, without conditions on the
/// tree and on roles, without confinement, which stand-ins outside of the repository do not know.
fn each_alone(text: &str) -> String {
    let mut alone = String::new();
    let mut skipped = 0;
    for line in text.lines() {
        let word = line.trim_start();
        if skipped > 0
            || ["expect ", "role ", "scope "]
                .iter()
                .any(|w| word.starts_with(w))
        {
            // A block is left out up to its end.
            skipped += usize::from(word.ends_with('{'));
            skipped -= usize::from(word == "}");
            continue;
        }
        let first = word.split(' ').next().unwrap();
        let is_left_out = matches!(
            first,
            "needs"
                | "setup"
                | "sandbox"
                | "network"
                | "reads"
                | "on"
                | "shared"
                | "tool-path"
                | "sequence"
        );
        if is_left_out && !word.ends_with('{') {
            continue;
        }
        let condition = ["whenExists", "whenAbsent", "byRole", "whenChanged"];
        if condition.iter().any(|c| first.starts_with(c))
            && word.ends_with('{')
            && !["in-folders", "in-workspace"]
                .iter()
                .any(|rows| text.contains(rows))
        {
            alone.push_str("whenChangedAny \"**\" {\n");
        } else {
            alone.push_str(line);
            alone.push('\n');
        }
    }
    alone
}

/// All contracts, by the place in which a reader finds them.
fn contracts() -> BTreeMap<String, String> {
    let blocks = GRAMMAR.split("```vplan\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").unwrap().0);
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (number, block) in blocks.enumerate() {
        // Files next to the contract, and contracts of them: each check in them is in another one.
        let is_part =
            block.starts_with("# contracts/") || block.contains("import \"package.vplan\"");
        let header = if block.starts_with("vplan 1") {
            ""
        } else {
            "vplan 1\n"
        };
        if !is_part {
            all.insert(
                format!("language, example {number}"),
                format!("{header}{block}"),
            );
        }
    }
    for folder in ["examples", "std"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("contracts")
            .join(folder);
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !name.ends_with(".test.vplan") {
                all.insert(
                    format!("{folder}/{name}"),
                    std::fs::read_to_string(path).unwrap(),
                );
            }
        }
    }
    all
}

fn project(contract: &str) -> Project {
    let project = Project::git_empty();
    for folder in [
        "apps/api",
        "packages/core",
        "fixtures/nextest-metadata-msrv",
        "docs/deep",
        "out",
    ] {
        project.write(format!("{folder}/x.md"), "x\n");
    }
    for file in [
        "src/a.py",
        "src/a.ts",
        "inventory/a.py",
        "packages/web/package.json",
        "apps/web/x.js",
    ] {
        project.write(file, "{}\n");
    }
    if contract.contains("in-workspace") {
        let members = "{\"name\": \"root\", \"workspaces\": [\"packages/*\"]}";
        project.write("package.json", members);
        project.write("packages/ui/package.json", "{\"name\": \"@acme/ui\"}");
        let web = "{\"name\": \"@acme/web\", \"dependencies\": {\"@acme/ui\": \"*\"}}";
        project.write("packages/web/package.json", web);
    }
    project.write(".gitignore", "/bin/\nbuild/\ndist/\ntarget/\n");
    project.write("contracts/verify.vplan", each_alone(contract));
    let path = format!("{}:/usr/bin:/bin", project.parent().join("bin").display());
    project.env("PATH", path)
}

/// Brings programs and files into a state.
fn become_(project: &Project, [bad_programs, bad_files]: [bool; 2]) {
    let script = stand_in(bad_programs);
    let bin = ON_PATH
        .split_whitespace()
        .map(|name| format!("../bin/{name}"));
    let own = IN_REPOSITORY.split_whitespace().map(str::to_owned);
    for program in bin.chain(own) {
        project.script(&program, &script);
    }
    for (path, good, bad) in FILES {
        match if bad_files { bad } else { good } {
            Some(content) => drop(project.write(path, content)),
            None if project.exists(path) => drop(project.remove(path)),
            None => {}
        }
    }
    if bad_files {
        project.mode("build/app", 0o644).write("build/calc", "");
    } else {
        project.write("build/calc", "x".repeat(2000));
    }
}

/// The ids and statuses of what runs, in byte order.
fn statuses(ran: &Ran) -> BTreeMap<String, String> {
    let report = ran.json();
    let steps = report["steps"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let status = |s: &serde_json::Value| (text(&s["id"]), text(&s["status"]));
    steps.iter().map(status).collect()
}

#[test]
fn each_check_of_the_language_page_passes_and_fails() {
    each_passes_and_fails("language", 35);
}

#[test]
fn each_check_of_the_examples_passes_and_fails() {
    each_passes_and_fails("examples/", 100);
}

#[test]
fn each_check_of_the_std_contracts_passes_and_fails() {
    each_passes_and_fails("std/", 60);
}

/// Runs each check of the contracts of one place in all states; there are at least so many.
fn each_passes_and_fails(place: &str, least: usize) {
    const RUN: [&str; 10] = [
        "run",
        "--all",
        "--min-tier",
        "2",
        "--last",
        "--keep-going",
        "--no-cache",
        "--no-recover",
        "--format",
        "json",
    ];
    let mut checks = 0;
    let mut wrong = Vec::new();
    let contracts = contracts().into_iter();
    for (name, contract) in contracts.filter(|(name, _)| name.starts_with(place)) {
        let project = project(&contract);
        let states = [[false, false], [true, false], [false, true]].map(|state| {
            become_(&project, state);
            project.commit("state");
            let ran = project.run_in_time(&RUN);
            if ran.stdout.is_empty() {
                wrong.push(format!("{name}: {}", ran.err()));
                return BTreeMap::new();
            }
            statuses(&ran)
        });
        let [good, bad_programs, bad_files] = &states;
        for (id, status) in good {
            let fails =
                [bad_programs, bad_files].map(|state| state.get(id).map_or("", String::as_str));
            if !status.starts_with("passed") || !fails.contains(&"failed") {
                wrong.push(format!("{name}: {id}: {status}, then {fails:?}"));
            }
        }
        checks += good.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checks >= least, "{checks}");
}
