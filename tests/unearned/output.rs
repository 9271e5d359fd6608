//! No launcher, no document, no other tool and no prefix hides a failure that the output says.

use crate::support::Project;
use serde_json::Value;
use vplan::check::Kind;
use vplan::check::output::guessed;

const CARGO: &str = "   Compiling a v0.1.0\n     Running unittests src/lib.rs (target/debug/a)\n\n\
                     running 1 test\ntest handles_an_error ... ok\n\n\
                     test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
                     finished in 0.00s\n\n";
const PYTEST: &str = "..F [100%]\n=== short test summary info ===\nFAILED t.py::test_a - assert 0\n\
                      1 failed, 2 passed in 0.01s\n";
const JUNIT: &str = "<?xml version=\"1.0\"?>\n<testsuites>\n\
                     <testsuite name=\"a\" tests=\"1\" failures=\"0\" errors=\"0\">\n\
                     <testcase classname=\"a\" name=\"t\" time=\"0.1\">TEXT</testcase>\n\
                     </testsuite>\n</testsuites>\n";

fn passing() -> String {
    PYTEST
        .replace("..F", "...")
        .replace(
            "=== short test summary info ===\nFAILED t.py::test_a - assert 0\n",
            "",
        )
        .replace("1 failed, 2 passed", "3 passed")
}

fn junit(text: &str) -> String {
    JUNIT.replace("TEXT", &format!("<system-out>{text}</system-out>"))
}

/// Runs a test whose command prints this and exits with 0; vplan must exit with this code.
fn printing(command: &str, stdout: &str, stderr: &str, exit: i32) -> Value {
    run_as("test", command, stdout, stderr, exit)
}

/// Runs a check with this verb; returns the record of its step.
fn run_as(verb: &str, command: &str, stdout: &str, stderr: &str, exit: i32) -> Value {
    let contract = format!(
        "vplan 1\nwhenChangedAny \"src/**\" {{\n  check unit {{\n    {verb} {command}\n  }}\n}}\n"
    );
    let files = [
        ("contracts/verify.vplan", contract.as_str()),
        ("out.txt", stdout),
        ("err.txt", stderr),
        ("src/a", "a\n"),
    ];
    let project = Project::git_with(&files);
    for name in ["say", "go", "node", "cargo"] {
        project.script(name, "#!/bin/sh\ncat out.txt\ncat err.txt >&2\n");
    }
    project.script("own", "#!/bin/sh\ncat err.txt\n");
    project.commit("scripts");
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.write("src/a", "b\n");
    let ran = project.run(&["run", "--format", "json"]);
    assert_eq!(
        ran.exit,
        Some(exit),
        "{command}\n{stdout}\n{stderr}\n{}\n{}",
        ran.out(),
        ran.err()
    );
    ran.json()["steps"][0].clone()
}

/// Whether a pass is said to be of an output of which not all was read.
fn is_partial(step: &Value) -> bool {
    let detail = step["detail"].as_str().unwrap_or_default();
    step["reason"] == "output_unread" && detail.contains("not all of its output was read")
}

#[test]
fn a_launcher_does_not_change_which_formats_are_read() {
    let launchers = [
        "timeout -k 5 60",
        "nice -n 5",
        "nohup",
        "env -u X A=1",
        "time -p",
        "stdbuf -oL",
        "setsid -w",
        "npx",
        "pnpm exec",
        "corepack pnpm exec",
        "uv run",
        "poetry run",
        "sudo -u ci",
        "c8 --reporter lcov",
    ];
    let tools = [
        ("go test ./...", Kind::Test),
        ("cargo +nightly test", Kind::Test),
        ("cargo nextest run", Kind::Test),
        ("python -m pytest", Kind::Test),
        ("python -m unittest", Kind::Test),
        ("jest", Kind::Test),
        ("vitest run", Kind::Test),
        ("mocha", Kind::Test),
        ("node --test", Kind::Test),
        ("dotnet test", Kind::Test),
        ("eslint .", Kind::Lint),
        ("ruff check", Kind::Lint),
        ("tsc -b", Kind::Compile),
        ("gcc -c a.c", Kind::Compile),
        ("mvn verify", Kind::Compile),
        ("shellcheck a.sh", Kind::Lint),
    ];
    for (tool, kind) in tools {
        let ids = |command: &str| -> Vec<&str> {
            let words: Vec<&str> = command.split(' ').collect();
            guessed(&words, kind).iter().map(|f| f.id).collect()
        };
        let bare = ids(tool);
        assert!(bare.len() < ids("make").len(), "{tool} is known");
        for launcher in launchers {
            assert_eq!(
                ids(&format!("{launcher} {tool}")),
                bare,
                "{launcher} {tool}"
            );
        }
    }
}

#[test]
fn a_line_of_another_format_is_no_test_of_a_tool_behind_a_launcher() {
    let none = "ok 1 - x\n1..1\n?   \tm\t[no test files]\n";
    for launcher in [
        "",
        "timeout 60 ",
        "nice -n 5 timeout -k 5 60 ",
        "env -u X A=1 ",
    ] {
        printing(&format!("{launcher}./go test ./..."), none, "", 42);
    }
    printing("timeout 60 ./go test ./...", "ok  \tm\t0.1s\n", "", 0);
}

#[test]
fn an_earlier_run_of_unittest_that_failed_is_not_passed() {
    let (double, rule) = ("=".repeat(70), "-".repeat(70));
    let failed = format!(
        "F\n{double}\nFAIL: test_a (t.T)\n{rule}\nTraceback (most recent call last):\n  \
         File \"t.py\", line 3, in test_a\nAssertionError\n\n{rule}\nRan 1 test in 0.001s\n\n\
         FAILED (failures=1)\n"
    );
    let good = format!("..\n{rule}\nRan 2 tests in 0.001s\n\nOK\n");
    printing("./say", "", &format!("{failed}{good}"), 42);
    printing("./say", "", &format!("{failed}{good}{good}"), 42);
    printing("./say", "", &format!("{good}{failed}"), 42);
    printing("./say", "", &format!("{good}{good}"), 0);
    // Summaries are added, also one without what failed.
    let alone = format!("{rule}\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n");
    printing("./say", "", &format!("{alone}{good}"), 42);
}

#[test]
fn a_document_does_not_silence_what_is_beside_it() {
    let good = junit("fine");
    printing("./say", &good, PYTEST, 42);
    printing("./say", &format!("{good}{PYTEST}"), "", 42);
    printing("./say", &good, &passing(), 0);
    // What it holds is no output of its own.
    printing("./say", &junit(PYTEST), "", 0);
    let json = "{\"numTotalTestSuites\":1,\"numFailedTests\":0,\"numPassedTests\":1,\"numTotalTests\":1,\"success\":true,\
                \"testResults\":[{\"name\":\"a.js\",\"status\":\"passed\",\"assertionResults\":\
                [{\"fullName\":\"a\",\"title\":\"a\",\"ancestorTitles\":[],\"status\":\"passed\",\
                \"failureMessages\":[]}]}]}\n";
    printing("./say", json, "", 0);
    printing("./say", &format!("{json}{PYTEST}"), "", 42);
    printing("./say", &format!("{PYTEST}{json}"), "", 42);
}

#[test]
fn a_passing_report_of_node_does_not_silence_tap() {
    let node = "✔ a (0.5ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\n\
                ℹ skipped 0\nℹ todo 0\nℹ duration_ms 40.1\n";
    let tap = "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n";
    printing("./node --test", &format!("{node}{tap}"), "", 42);
    printing("./node --test", &format!("{tap}{node}"), "", 42);
    printing("./node --test", node, "", 0);
    printing(
        "./node --test",
        &format!("{node}{}", tap.replace("not ok", "ok")),
        "",
        0,
    );
}

#[test]
fn a_name_in_front_of_each_line_hides_no_failure() {
    for prefix in [
        "web:test: ",
        "@shop/web:test: ",
        "packages/web test: ",
        "web: ",
        "web-1  | ",
        "[0] ",
        "[web] ",
        "a.py\t",
    ] {
        let lines = |text: &str| -> String {
            text.lines()
                .map(|line| format!("{prefix}{line}\n"))
                .collect()
        };
        let other = "api:test: cache hit\n";
        printing("./say", &format!("{other}{}", lines(PYTEST)), "", 42);
        printing(
            "./say",
            &format!("{}{}", lines(&passing()), lines(PYTEST)),
            "",
            42,
        );
        printing("./say", &format!("{}{}", passing(), lines(PYTEST)), "", 42);
        printing("./say", &lines(&passing()), "", 0);
    }
}

#[test]
fn a_known_tool_that_passes_does_not_hide_that_another_one_failed() {
    for failure in [
        "3 checks FAILED",
        "own-runner: 2 failures",
        "FAIL login",
        "error: no such table",
        "login ... failed",
        "not ok 7 of own",
        "\u{2717} login",
        "failed=2 passed=7",
        "Traceback (most recent call last):",
        "make: [Makefile:2: own] Error 1 (ignored)",
    ] {
        for command in [
            "./say",
            "sh -c './say && ./own'",
            "sh -c './cargo test && ./own'",
        ] {
            let step = printing(command, &format!("{CARGO}{failure}\n"), "", 0);
            assert!(is_partial(&step), "{command} {failure}: {step:#}");
            assert!(
                step["detail"]
                    .as_str()
                    .unwrap()
                    .starts_with("1 test passed, but")
            );
        }
        let step = printing("./say", &format!("{failure}\n{CARGO}"), "", 0);
        assert!(is_partial(&step), "before: {failure}: {step:#}");
    }
    // People see it, too.
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck unit {\n  test cat out.txt\n}\n",
        ),
        ("out.txt", &format!("{CARGO}3 checks FAILED\n")),
    ]);
    let ran = project.run(&["run", "--all"]);
    ran.exits(0)
        .says("! unit: 1 test passed, but not all of its output was read: `3 checks FAILED`");
    // After the other tools' results, too.
    let step = printing(
        "./say",
        &format!("{}1 of 2 checks failed\n", passing()),
        "",
        0,
    );
    assert!(is_partial(&step), "{step:#}");
}

#[test]
fn what_reports_no_failure_makes_no_pass_partial() {
    for other in [
        "7 checks ok",
        "0 failures, 0 errors",
        "no errors",
        "errors: 0",
        "failed=0 passed=7",
        "make[1]: Leaving directory `/a/error`",
        "cc -Werror -c error.c",
        "warning: unused variable: `error`",
        "Done in 3.2s.",
        "----------|---------|----------|",
    ] {
        for text in [format!("{CARGO}{other}\n"), format!("{other}\n{CARGO}")] {
            let step = printing("./say", &text, "", 0);
            assert!(step["reason"].is_null(), "{other}: {step:#}");
            assert_eq!(step["tests"]["passed"], 1);
        }
    }
    // What a test prints is the test's, and what a known tool starts prints nothing else.
    let inside = CARGO.replace("test handles", "3 checks FAILED\ntest handles");
    assert!(printing("./say", &inside, "", 0)["reason"].is_null());
    let behind = format!("{CARGO}3 checks FAILED\n");
    assert!(printing("./cargo test", &behind, "", 0)["reason"].is_null());
    assert!(
        printing("sh -c './cargo test; echo 3 checks FAILED'", CARGO, "", 0)["reason"].is_null()
    );
}

#[test]
fn a_known_linter_that_passes_does_not_hide_that_another_one_failed() {
    let ruff = "All checks passed!\n";
    for failure in [
        "3 errors, 0 warnings, 0 informations",
        "[warn] Code style issues found in 2 files.",
        "12 problems",
    ] {
        for text in [format!("{ruff}{failure}\n"), format!("{failure}\n{ruff}")] {
            let step = run_as("lint", "./say", &text, "", 0);
            assert!(is_partial(&step), "{failure}: {step:#}");
        }
    }
    for other in [
        "0 errors, 0 warnings, 0 informations",
        "Success: no issues found in 3 files",
    ] {
        let step = run_as("lint", "./say", &format!("{ruff}{other}\n"), "", 0);
        assert!(step["reason"].is_null(), "{other}: {step:#}");
    }
}

#[test]
fn results_of_tools_that_are_not_known_to_have_run_are_not_added_up() {
    let both = format!("{CARGO}{}", passing());
    let step = printing("./say", &both, "", 0);
    assert!(is_partial(&step), "{step:#}");
    assert_eq!(step["tests"]["passed"], 1, "{step:#}");
    for command in [
        "sh -c './say; true pytest' cargo test",
        "./say cargo test pytest",
        "sh -c './say && ./cargo test'",
    ] {
        assert!(is_partial(&printing(command, &both, "", 0)), "{command}");
    }
    // What was printed as a command, or is one, has run.
    for echo in [
        "cargo test\npytest -q\n",
        "> cargo test && pytest\n",
        "$ cargo test\n+ python3 -m pytest\n",
    ] {
        let step = printing("./say", &format!("{echo}{both}"), "", 0);
        assert!(step["reason"].is_null(), "{echo}: {step:#}");
        assert_eq!(step["tests"]["passed"], 4);
    }
    // A failure counts, whichever tool it is of.
    printing("./say", &format!("{CARGO}{PYTEST}"), "", 42);
    printing("./say", &format!("{PYTEST}{CARGO}"), "", 42);
}

#[test]
fn a_line_of_tap_is_no_test_of_a_tool_that_found_none() {
    let text = "ok 1 - x\n1..1\n?   \tm\t[no test files]\n";
    assert!(is_partial(&printing("./say", text, "", 0)));
    let step = printing("./say", "ok 1 - x\n1..1\n", "", 0);
    assert!(step["reason"].is_null(), "{step:#}");
}

#[test]
fn names_beyond_those_that_are_told_apart_are_said() {
    let lanes = |number: usize, text: &str| -> String {
        (0..number)
            .flat_map(|n| text.lines().map(move |line| format!("pkg{n}: {line}\n")))
            .collect()
    };
    let step = printing("./say", &lanes(64, &passing()), "", 0);
    assert!(step["reason"].is_null(), "{step:#}");
    assert_eq!(step["tests"]["passed"], 192);
    let step = printing("./say", &lanes(65, &passing()), "", 0);
    assert!(is_partial(&step), "{step:#}");
    // An unknown tool beside known ones, each behind its name.
    let other = |line: &str| format!("{}own: {line}\n", lanes(2, &passing()));
    assert!(is_partial(&printing(
        "./say",
        &other("3 checks FAILED"),
        "",
        0
    )));
    assert!(printing("./say", &other("3 checks passed"), "", 0)["reason"].is_null());
}

#[test]
fn workflow_commands_in_what_is_printed_of_a_plan() {
    let words = "##vso[task.setvariable]x ##VSO[y] ##[error]z";
    let project = Project::contract(&format!("vplan 1\ncheck a: printf %s '{words}'\n"));
    for format in ["dot", "mermaid", "shell", "text", "json"] {
        let ran = project.run(&["explain", "--all", "--format", format]);
        let text = ran.exits(0).out().to_lowercase();
        assert!(!text.contains("##[") && !text.contains("##vso["), "{text}");
    }
    // A script does what it did.
    let script = project
        .run(&["explain", "--all", "--format", "shell"])
        .out();
    project.write("script", &script);
    let ran = std::process::Command::new("sh")
        .arg("script")
        .current_dir(project.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), words);
    let ran = project.run(&["run", "--all", "--keep-going"]);
    let text = (ran.out() + &ran.err()).to_lowercase();
    assert!(!text.contains("##[") && !text.contains("##vso["), "{text}");
    project.run(&["log", "a"]).exits(0).says("##vso [task");
}

#[test]
fn workflow_commands_in_a_contract_on_standard_output() {
    let project = Project::git_empty();
    let import = ["import", "--from", "github-workflow", "--stdout", "ci.yml"];
    let workflow = |step: &str| {
        let steps = format!("      - run: make lint\n      - {step}\n");
        format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}")
    };
    project.write("ci.yml", workflow("uses: 'x##vso[y]/z@v1'"));
    let ran = project.run(&import);
    let (out, err) = (ran.exits(0).out(), ran.err());
    assert!(!out.contains("##vso["), "{out}");
    assert!(!err.contains("##vso["), "{err}");
    // In a statement it would mean something else.
    project.write("ci.yml", workflow("run: make 'lint##vso[y]'"));
    let refused = project.run(&import);
    assert_eq!(refused.exits(2).out(), "");
    let json = project.run(&[&import[..], &["--format", "json"]].concat());
    assert!(!json.exits(0).out().contains("##vso["));
}
