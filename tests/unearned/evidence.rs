//! An outcome that is unknown, a count that is impossible or not shown, a summary that failed, and a test
//! that shows no test are not a pass; honest output of the same tools is a whole one.

use super::{caveat, codes};
use crate::support::{Project, Ran};

const FULL: [&str; 5] = ["run", "--format", "json", "--require", "full"];

/// A repository with a check of these lines, whose script is `t.sh`; `src/a` is changed.
fn project(check: &str, script: &str) -> Project {
    let contract = format!("vplan 1\ncheck u {{\n{check}\n}}\n");
    let project = Project::git_with(&[
        (".gitignore", ".vplan/\nout/\n"),
        ("contracts/verify.vplan", contract.as_str()),
        ("src/a", "a\n"),
        ("t.sh", script),
    ]);
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.write("src/a", "b\n");
    project
}

/// Runs a test with these settings.
fn run(settings: &str, script: &str) -> Ran {
    project(&format!("  test sh t.sh\n  {settings}"), script).run(&FULL)
}

/// Runs a test that prints this.
fn printing(settings: &str, text: &str) -> Ran {
    run(settings, &format!("cat <<'END'\n{text}\nEND\n"))
}

/// Runs a test that writes this report.
fn reporting(kind: &str, report: &str) -> Ran {
    let script = format!("mkdir -p out\ncat >out/r.xml <<'END'\n{report}\nEND\n");
    run(&format!("report {kind} \"out/r.xml\""), &script)
}

#[test]
fn a_junit_case_with_an_unknown_outcome() {
    for case in [
        "<testcase name='a'><aborted/></testcase>",
        "<testcase name='a'><pending/></testcase>",
        "<testcase name='a'><incomplete/></testcase>",
        "<testcase name='a' status='failed'/>",
        // Neighbours.
        "<testcase name='a'><x:timed-out xmlns:x='u'/></testcase>",
        "<testcase name='a' result='interrupted'/>",
        "<testcase name='a' status='no-idea'/>",
        "<testcase name='b'/><testcase name='a'><cancelled>x</cancelled></testcase>",
        "<testcase name='a'><rerunFailure/></testcase>",
        "<testcase name='a'><testcase name='b'><failure/></testcase></testcase>",
        "<testcase name='a'>&f;</testcase>",
    ] {
        reporting("junit", &format!("<testsuite name='s'>{case}</testsuite>")).exits(42);
    }
    for case in [
        "<testcase name='a' status='run' result='completed'/>",
        "<testcase name='a' status='PASSED'/>",
        "<testcase name='a'/><testcase name='b' status='pending'><skipped/></testcase>",
        "<testcase name='a'><properties/><attachments/><system-out>aborted</system-out></testcase>",
        "<testcase name='a[1]'/><testcase name='a[1]'/>",
        "<testcase name='a'><flakyFailure/></testcase>",
        "<testcase name='a'><testcase name='b'/></testcase>",
        "<testcase name='a'><system-out>&lt;&#27;&#0;<testcase><failure/></testcase></system-out></testcase>",
    ] {
        reporting("junit", &format!("<testsuite name='s'>{case}</testsuite>")).exits(0);
    }
}

#[test]
fn a_trx_result_with_an_unknown_outcome() {
    let run = |outcome: &str, counters: &str| {
        let report = format!(
            "<TestRun><Results><UnitTestResult testName='a' outcome='Passed'/><UnitTestResult testName='b' outcome='{outcome}'/></Results>\
             <ResultSummary outcome='Completed'><Counters {counters}/></ResultSummary></TestRun>"
        );
        reporting("trx", &report)
    };
    for outcome in ["Pending", "InProgress", "Disconnected", "NoIdea"] {
        run(outcome, "total='2'").exits(42);
    }
    run("Passed", "total='9' passed='9'").exits(42);
    run("Passed", "total='2' passed='2' failed='-1'").exits(42);
    run("Passed", "total='2' passed='2' failed='0'").exits(0);
    run("NotExecuted", "total='2' passed='1' failed='0'").exits(0);
}

#[test]
fn an_impossible_count() {
    for counters in [
        "failures='-1'",
        "errors='-1'",
        "tests='1.0'",
        "failures='100000000000000000000'",
        "tests='one'",
    ] {
        let report = format!("<testsuite name='s' {counters}><testcase name='a'/></testsuite>");
        reporting("junit", &report).exits(42);
    }
    for (settings, text) in [
        ("format jest", "Tests: -1 failed, 3 passed, 2 total"),
        ("format jest", "Tests: 100000000000000000000 passed"),
        ("format pytest", "100000000000000000000 passed in 1s"),
        (
            "format jest",
            "{\"numFailedTestSuites\":0,\"numFailedTests\":-1,\"numPassedTests\":2,\"success\":true}",
        ),
        ("", "2 tests, -1 failures"),
        ("", "2 tests, 0.5 failures"),
    ] {
        printing(settings, text).exits(42);
    }
}

#[test]
fn an_announced_count_that_is_not_shown() {
    let one = "<testcase name='a'/>";
    for report in [
        format!("<testsuite name='s' tests='10' failures='0'>{one}</testsuite>"),
        format!("<testsuites tests='10'><testsuite name='s'>{one}</testsuite></testsuites>"),
        format!("<testsuites tests='1'><testsuite tests='10'>{one}</testsuite></testsuites>"),
        format!("<testsuite name='s' tests='10' skipped='3'>{one}</testsuite>"),
    ] {
        reporting("junit", &report).exits(42);
    }
    let json = |passed: u32| {
        format!(
            "{{\"numFailedTestSuites\":0,\"numPassedTests\":{passed},\"success\":true,\
             \"testResults\":[{{\"status\":\"passed\",\"assertionResults\":[{{\"status\":\"passed\",\"title\":\"a\"}}]}}]}}"
        )
    };
    printing("format jest", &json(10)).exits(42);
    printing("format tap", "1..10\nok 1").exits(42);
    // Tools that count what they skip and do not show it, or count nothing.
    for report in [
        format!("<testsuite name='s' tests='2' skipped='1'>{one}</testsuite>"),
        format!(
            "<testsuites tests='2' skipped='1'><testsuite tests='2'>{one}</testsuite></testsuites>"
        ),
        format!(
            "<testsuites><testsuite name='s' tests='' errors=''>{one}</testsuite></testsuites>"
        ),
    ] {
        reporting("junit", &report).exits(0);
    }
    printing("format jest", &json(1)).exits(0);
}

#[test]
fn a_summary_that_failed_before_one_that_passed() {
    let vitest = |result: &str| format!(" Test Files  1 {result} (1)\n      Tests  1 {result} (1)");
    let jest =
        |result: &str| format!("Test Suites: 1 {result}, 1 total\nTests: 1 {result}, 1 total");
    let node = |pass: u32, fail: u32| {
        format!(
            "ℹ tests 1\nℹ pass {pass}\nℹ fail {fail}\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1"
        )
    };
    let rule = "-".repeat(70);
    let unittest = |result: &str| format!("{rule}\nRan 1 test in 0.001s\n\n{result}");
    let nextest = |result: &str| {
        format!(
            "    Starting 1 test across 1 binary\n     Summary [   0.001s] 1 test run: {result}, 0 skipped"
        )
    };
    for (format, bad, good) in [
        ("vitest", vitest("failed"), vitest("passed")),
        ("jest", jest("failed"), jest("passed")),
        (
            "mocha",
            "  0 passing (1ms)\n  1 failing\n".to_owned(),
            "  1 passing (1ms)".to_owned(),
        ),
        ("node", node(0, 1), node(1, 0)),
        ("unittest", unittest("FAILED (failures=1)"), unittest("OK")),
        (
            "pytest",
            "F  [100%]\n1 failed in 0.1s".to_owned(),
            ".  [100%]\n1 passed in 0.1s".to_owned(),
        ),
        (
            "nextest",
            nextest("0 passed, 1 failed"),
            nextest("1 passed"),
        ),
        (
            "dotnet",
            "Test summary: total: 1, failed: 1, succeeded: 0, skipped: 0, duration: 1s".to_owned(),
            "Test summary: total: 1, failed: 0, succeeded: 1, skipped: 0, duration: 1s".to_owned(),
        ),
    ] {
        let settings = format!("format {format}");
        printing(&settings, &format!("{bad}\n\n{good}")).exits(42);
        printing(&settings, &format!("{good}\n\n{bad}")).exits(42);
        let ran = printing(&settings, &format!("{good}\n\n{good}"));
        ran.exits(0);
        // A workspace runs many: they are added up.
        let tests = &ran.json()["steps"][0]["tests"];
        if format != "pytest" {
            assert_eq!(tests["passed"], 2, "{format}: {tests}");
        }
    }
}

#[test]
fn one_number_of_tap_with_two_outcomes() {
    for text in [
        "1..2\nok 1\nok 2\rnot ok 2",
        "1..2\nok 1\nok 1",
        "ok 2\nok 1\nok 2\n1..3",
    ] {
        printing("format tap", text).exits(42);
    }
    for text in [
        "1..2\nok 1 - a\nok 2 - a",
        "1..2\nok 2\nok 1",
        "1..1\nok 1\n1..1\nok 1",
        "ok 1\n1..1\nok 1\n1..1",
        "1..2\nok - a\nok - a",
        "1..2\r\nok 1\r\nok 2\r",
    ] {
        printing("format tap", text).exits(0);
    }
}

#[test]
fn a_failure_that_a_carriage_return_hides() {
    printing(
        "format pytest",
        "F  [100%]\n1 failed in 0.1s\r1 passed in 0.1s",
    )
    .exits(42);
    printing("", "2 examples, 1 failure\r2 examples, 0 failures").exits(42);
    printing(
        "format pytest",
        "working 10 %\rworking 90 %\r1 passed in 0.1s\r",
    )
    .exits(0);
}

#[test]
fn a_test_that_shows_no_test_narrows() {
    for check in [
        "  test true",
        "  test echo fine",
        "  test sh t.sh\n  retries 1",
        "  test true\n  inputs \"src/**\"",
    ] {
        let project = project(check, "echo done\n");
        for args in [
            &FULL[..],
            &["run", "--format", "json", "--require", "full", "--staged"],
        ] {
            let ran = project.run(args);
            ran.exits(44);
            let report = ran.json();
            let said = caveat(&report, "tests_not_shown");
            assert_eq!(said["effect"], "narrows", "{said}");
            assert_eq!(said["checks"], serde_json::json!(["u"]));
        }
        project
            .run(&["run"])
            .exits(0)
            .says("shows no test that ran");
    }
}

#[test]
fn a_change_that_begins_to_expect_no_tests() {
    let project = project("  test true", "");
    let text = "vplan 1\ncheck u {\n  test true\n  min-tests 0\n}\n";
    project.write("contracts/verify.vplan", text);
    let ran = project.run(&FULL);
    ran.exits(44);
    assert!(codes(&ran.json()).contains(&"contract_weakened"));
}

#[test]
fn what_need_not_show_tests_is_a_whole_pass() {
    for check in [
        "  test true\n  min-tests 0",
        "  run true",
        "  lint true",
        "  compile true",
        "  test sh t.sh",
        "  test sh t.sh\n  min-tests 2",
    ] {
        let ran = project(check, "echo '2 examples, 0 failures'\n").run(&FULL);
        ran.exits(0);
        assert_eq!(codes(&ran.json()), [""; 0], "{check}");
    }
    // What only warns decides nothing.
    let warns = "  test true\n  severity warning";
    let project = project(warns, "");
    project.write(
        "contracts/verify.vplan",
        format!("vplan 1\ncheck u {{\n{warns}\n}}\ncheck v: true\n"),
    );
    let report = project.run(&["run", "--format", "json"]);
    assert!(!codes(&report.json()).contains(&"tests_not_shown"));
}

#[test]
fn the_counts_of_a_runner_that_is_not_known() {
    for text in [
        "2 tests, 0 passed, 0 warnings, 2 failures",
        "3 examples, 1 failure",
        "3 runs, 5 assertions, 0 failures, 1 errors, 0 skips",
        "5 tests, 0 failures\n5 tests, 1 failure",
        "1 test, 2 passed, 0 failures",
    ] {
        printing("", text).exits(42);
    }
    for text in [
        "2 tests, 2 passed, 0 warnings, 0 failures, 0 exceptions",
        "2 doctests, 5 tests, 0 failures",
        "3 runs, 5 assertions, 0 failures, 0 errors, 0 skips",
    ] {
        printing("", text).exits(0);
    }
}

#[test]
fn what_a_tool_tried_again_is_flaky() {
    let nextest = "    Starting 2 tests across 1 binary\n     Summary [   0.001s] 2 tests run: 2 passed (1 flaky), 0 skipped";
    let vitest = " ✓ a.ts (2 tests) 3ms\n   ✓ x (retry x1) 1ms\n Test Files  1 passed (1)\n      Tests  2 passed (2)";
    for ran in [
        printing("format nextest", nextest),
        printing("format pytest", "2 passed, 1 rerun in 0.12s"),
        printing("format vitest", vitest),
        reporting(
            "junit",
            "<testsuite><testcase name='a'><flakyFailure message='x'/></testcase><testcase name='b'/></testsuite>",
        ),
    ] {
        ran.exits(0);
        let step = &ran.json()["steps"][0];
        assert_eq!(
            (&step["status"], &step["reason"]),
            (&"flaky".into(), &"retried".into())
        );
        assert_eq!(step["tests"]["flaky"], 1, "{step}");
        assert_eq!(step["detail"], "1 test passed only when tried again");
    }
    let steady = printing("format pytest", "2 passed in 0.12s");
    assert_eq!(steady.json()["steps"][0]["status"], "passed");
}

/// A file that ESLint ignores was not linted, and nothing in it is to be repaired.
#[test]
fn a_file_that_eslint_ignores_is_not_a_finding() {
    let said = "/r/a.js\n  0:0  warning  File ignored because of a matching ignore pattern.\n\n✖ 1 problem (0 errors, 1 warning)\n";
    for exit in [0, 1] {
        let script = format!("cat <<'END'\n{said}\nEND\nexit {exit}\n");
        let project = project("  lint sh t.sh\n  format eslint\n  max-warnings 0", &script);
        let ran = project.run(&["run", "--format", "json"]);
        ran.exits(if exit == 0 { 0 } else { 40 });
        let report = ran.json();
        let detail = report["steps"][0]["detail"].as_str().unwrap();
        assert!(
            detail.contains("`/r/a.js`, which ESLint ignores"),
            "{detail}"
        );
        assert_eq!(report["steps"][0]["warnings"], 0);
        if exit == 1 {
            project
                .run(&["feedback"])
                .says("ESLint ignores a file")
                .never_says("repair what");
        }
    }
}

/// How each of these outputs is judged: the format, and the text.
fn judged(verb: &str, exit: i32, outputs: &[(&str, &str)]) {
    for (format, text) in outputs {
        let format = match *format {
            "" => String::new(),
            format => format!("format {format}"),
        };
        let script = format!("cat <<'END'\n{text}\nEND\n");
        let project = project(&format!("  {verb} sh t.sh\n  {format}"), &script);
        project.run(&FULL).exits(exit);
    }
}

#[test]
fn a_text_that_does_not_say_how_all_tests_ended() {
    let started =
        |n: u32| format!("    Starting {n} tests across 1 binary\n     Summary [   0.001s] ");
    let nextest = |result: &str| format!("{}3 tests run: {result}", started(3));
    let node = |tests: u32, more: &str| {
        format!(
            "ℹ tests {tests}\nℹ suites 1\nℹ pass 1\nℹ fail 0\n{more}ℹ cancelled 0\nℹ skipped 1\nℹ todo 1\nℹ duration_ms 1"
        )
    };
    let rule = "-".repeat(70);
    let unittest = |result: &str| format!("{rule}\nRan 3 tests in 0.001s\n\n{result}");
    let vitest = |files: &str, tests: &str| format!(" Test Files  {files}\n      Tests  {tests}");
    let jest = |suites: &str, tests: &str| format!("Test Suites: {suites}\nTests: {tests}");
    let session = |items: &str, result: &str| {
        format!("=== test session starts ===\ncollected {items}\n\n=== {result} in 0.1s ===")
    };
    judged(
        "test",
        42,
        &[
            ("jest", &jest("1 passed, 1 total", "3 passed, 10 total")),
            ("jest", &jest("1 passed, 2 total", "3 passed, 3 total")),
            (
                "jest",
                &jest("1 aborted, 1 passed, 2 total", "1 passed, 1 total"),
            ),
            (
                "jest",
                &jest("1 passed, 1 total", "1 passed, 2 aborted, 3 total"),
            ),
            ("jest", &jest("1 passed, 1 total", "3 passed, 2 total")),
            ("vitest", &vitest("1 passed (1)", "1 passed (3)")),
            ("vitest", &vitest("1 passed (2)", "1 passed (1)")),
            (
                "vitest",
                &vitest("1 passed (1)", "1 passed | 2 cancelled (3)"),
            ),
            ("node", &node(9, "")),
            ("node", &node(4, "ℹ aborted 1\n")),
            (
                "dotnet",
                "Passed!  - Failed:     0, Passed:     1, Skipped:     0, Total:     9, Duration: 1 s - a.dll (net8.0)",
            ),
            (
                "dotnet",
                "Test summary: total: 9, failed: 0, succeeded: 1, skipped: 0, duration: 1s",
            ),
            (
                "dotnet",
                "Test summary: total: 2, failed: 0, succeeded: 1, skipped: 0, aborted: 1, duration: 1s",
            ),
            (
                "dotnet",
                "Total tests: 9. Passed: 1. Failed: 0. Skipped: 0.",
            ),
            ("nextest", &nextest("1 passed, 0 skipped")),
            ("nextest", &nextest("1 passed, 2 aborted, 0 skipped")),
            ("unittest", &unittest("OK (aborted=2)")),
            ("mocha", "  1 passing (1ms)\n  2 aborted"),
            ("pytest", "1 passed, 2 aborted in 0.1s"),
            ("pytest", "1 passed, 2 subtests failed in 0.1s"),
            ("pytest", &session("3 items / 1 error", "3 passed")),
            ("", "5 tests, 2 passed, 0 failures"),
        ],
    );
    // The other words of the same tools.
    judged(
        "test",
        0,
        &[
            (
                "jest",
                &jest(
                    "1 skipped, 3 passed, 3 of 4 total",
                    "2 skipped, 1 todo, 5 passed, 8 total",
                ),
            ),
            (
                "vitest",
                &vitest(
                    "2 passed | 1 skipped (3)",
                    "5 passed | 1 expected fail | 2 skipped | 1 todo (9)",
                ),
            ),
            ("node", &node(3, "")),
            ("node", &node(2, "")),
            (
                "dotnet",
                "Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6, Duration: 1 s - a.dll (net8.0)",
            ),
            (
                "dotnet",
                "Test summary: total: 3, failed: 0, succeeded: 2, skipped: 1, duration: 1s",
            ),
            (
                "nextest",
                &nextest("3 passed (1 slow, 1 flaky, 1 leaky), 2 skipped"),
            ),
            ("unittest", &unittest("OK (skipped=1, expected failures=1)")),
            ("unittest", &unittest("OK (SKIP=1)")),
            ("mocha", "  3 passing (1ms)\n  2 pending\n\n  2 files"),
            (
                "pytest",
                "1 passed, 2 skipped, 1 xfailed, 3 warnings, 2 deselected, 5 subtests passed, 1 rerun, 1 retried in 0.1s",
            ),
            (
                "pytest",
                &session(
                    "10 items / 7 deselected / 3 selected",
                    "3 passed, 7 deselected",
                ),
            ),
            (
                "pytest",
                &session("9 items / 1 skipped", "9 passed, 1 skipped"),
            ),
            (
                "",
                "5 tests, 3 passed, 2 warnings, 0 failures, 0 exceptions",
            ),
            (
                "",
                "5 tests, 5 passed, 2 warnings, 0 failures, 0 exceptions",
            ),
            ("", "3 runs, 5 assertions, 0 failures, 0 errors, 1 skips"),
        ],
    );
    // A plug-in may have taken the others out: no failure, and no whole pass.
    let lost = session("10 items", "3 passed");
    let cargo = |lines: &str| {
        format!(
            "running 3 tests\n{lines}\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
        )
    };
    for (settings, text, is_whole) in [
        ("format pytest", &lost, false),
        ("format pytest\n  min-tests 3", &lost, true),
        (
            "format pytest",
            &session("10 items", "3 passed, 7 deselected"),
            true,
        ),
        (
            "format pytest",
            &session("10 items\nRunning 3 items in this shard", "3 passed"),
            true,
        ),
        (
            "format pytest",
            &session(
                "4 items",
                "1 passed, 1 skipped, 1 xfailed, 1 rerun, 9 subtests passed, 1 deselected",
            ),
            true,
        ),
        (
            "format cargo",
            &cargo("test a ... ok\ntest b ... ok\n"),
            false,
        ),
        ("format cargo", &cargo("...\n"), true),
        (
            "format cargo",
            &cargo("test a ... ok\ntest b ... printed\nok\nno line endtest c ... ok\n"),
            true,
        ),
    ] {
        let ran = printing(settings, text);
        ran.exits(if is_whole { 0 } else { 44 });
        let (report, code) = (ran.json(), "tests_not_shown");
        assert_eq!(
            codes(&report).contains(&code),
            !is_whole,
            "{settings} {text}"
        );
    }
    // Nor is a remark made where nothing is left out.
    let text = jest("1 skipped, 3 passed, 3 of 4 total", "5 passed, 5 total");
    let step = &printing("format jest", &text).exits(0).json()["steps"][0];
    assert!(step["reason"].is_null(), "{step:#}");
}

/// What is marked as failed and not counted.
#[test]
fn a_failure_that_the_summary_does_not_count() {
    let cargo = |lines: &str| {
        format!(
            "running 2 tests\n{lines}\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
        )
    };
    let vitest = |before: &str, behind: &str| {
        format!(
            " RUN  v4 /r\n{before}\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n{behind}"
        )
    };
    let pytest = |lines: &str, end: &str| {
        format!(
            "=== test session starts ===\ncollected 2 items\n{lines}\n=== 2 passed in 0.1s ===\n{end}"
        )
    };
    let nextest = |line: &str| {
        format!(
            "    Starting 2 tests across 1 binary\n{line}\n     Summary [   0.001s] 2 tests run: 2 passed, 0 skipped"
        )
    };
    let node = |lines: &str| {
        format!(
            "ℹ tests 1\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1\n{lines}"
        )
    };
    let (double, rule) = ("=".repeat(70), "-".repeat(70));
    let unittest = |title: &str| format!("{title}{rule}\nRan 3 tests in 0.001s\n\nOK");
    let dotnet = |word: &str| {
        format!(
            "{word}!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 1 s - a.dll (net8.0)"
        )
    };
    judged(
        "test",
        42,
        &[
            ("cargo", &cargo("test a ... ok\ntest b ... FAILED\n")),
            (
                "cargo",
                &cargo("test a ... ok\ntest b ... ok\n\nfailures:\n    b\n"),
            ),
            ("vitest", &vitest("⎯⎯⎯ Unhandled Errors ⎯⎯⎯", "")),
            ("vitest", &vitest(" FAIL  a.test.ts > x\nError: y", "")),
            ("vitest", &vitest("", "Type Errors  1 error")),
            (
                "vitest",
                &vitest(
                    "",
                    "ERROR: Coverage for lines (10%) does not meet global threshold (90%)",
                ),
            ),
            (
                "jest",
                "FAIL a.js\n  ● x › y\n\n    no\n\nTest Suites: 1 passed, 1 total\nTests: 3 passed, 3 total",
            ),
            (
                "pytest",
                &pytest("t.py::a PASSED [ 50%]\nt.py::b FAILED [100%]", ""),
            ),
            ("pytest", &pytest("INTERNALERROR> Traceback", "")),
            ("pytest", &pytest("", "!!! _pytest.outcomes.Exit: bye !!!")),
            ("pytest", ".F  [100%]\n2 passed in 0.1s"),
            ("pytest", "..  [ 20%]\n2 passed in 0.1s"),
            (
                "pytest",
                "..  [100%]\nFAIL Required test coverage of 90% not reached. Total coverage: 50%\n2 passed in 0.1s",
            ),
            ("nextest", &nextest("        FAIL [   0.004s] a::b")),
            (
                "node",
                &node("ℹ Error: 50.00% line coverage does not meet threshold of 90%."),
            ),
            (
                "node",
                &node("✖ failing tests:\n\ntest at a.js:1:1\n✖ a (1ms)"),
            ),
            (
                "unittest",
                &unittest(&format!(
                    "{double}\nERROR: setUpClass (t.T)\n{rule}\nX: y\n\n"
                )),
            ),
            ("dotnet", &dotnet("Failed")),
            (
                "dotnet",
                "Total tests: 3\n     Passed: 3\n Total time: 1 s\nTest Run Failed.",
            ),
            (
                "",
                "2 examples, 0 failures, 1 error occurred outside of examples",
            ),
            ("", "Tests: 2, Assertions: 2, PHPUnit Errors: 1."),
        ],
    );
    judged(
        "test",
        0,
        &[
            (
                "cargo",
                &cargo("test a ... ok\ntest x ... FAILED\ntest b ... ok\n"),
            ),
            (
                "vitest",
                &vitest(" ✓ a.test.ts (2 tests) 3ms", "Type Errors  no errors"),
            ),
            (
                "pytest",
                &pytest("t.py::a PASSED [ 50%]\nt.py::b PASSED [100%]", ""),
            ),
            (
                "pytest",
                "..  [ 66%]\n..  [100%]\nRequired test coverage of 90% reached.\n4 passed in 0.1s",
            ),
            ("nextest", &nextest("        PASS [   0.004s] a::b")),
            ("node", &node("")),
            ("unittest", &unittest("")),
            ("dotnet", &dotnet("Passed")),
            ("", "2 examples, 0 failures, 1 pending"),
            ("", "Tests: 2, Assertions: 2, Risky: 1."),
        ],
    );
}

#[test]
fn a_test_of_go_that_began_and_did_not_end() {
    let events = |events: &[(&str, &str)]| -> String {
        let line = |(action, test): &(&str, &str)| match *test {
            "" => format!("{{\"Action\":\"{action}\",\"Package\":\"p\"}}\n"),
            _ => format!("{{\"Action\":\"{action}\",\"Package\":\"p\",\"Test\":\"{test}\"}}\n"),
        };
        events.iter().map(line).collect()
    };
    let glued =
        "{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"x--- PASS: B (0.00s)\\n\"}\n";
    let begun = [("run", "A"), ("pass", "A"), ("run", "B")];
    let not_built = "{\"ImportPath\":\"q\",\"Action\":\"build-fail\"}\n";
    let well = events(&[("run", "A"), ("attr", "A"), ("pass", "A"), ("pass", "")]);
    judged(
        "test",
        42,
        &[
            ("go", &events(&[&begun[..], &[("pass", "")]].concat())),
            (
                "go",
                &events(&[&begun[..2], &[("aborted", "B"), ("pass", "")]].concat()),
            ),
            ("go", &format!("{not_built}{well}")),
        ],
    );
    judged(
        "test",
        0,
        &[
            ("go", &well),
            (
                "go",
                &events(
                    &[
                        &begun[..],
                        &[("pause", "B"), ("cont", "B"), ("skip", "B"), ("pass", "")],
                    ]
                    .concat(),
                ),
            ),
            (
                "go",
                &events(&[
                    ("run", "A"),
                    ("pass", "A"),
                    ("run", "BenchmarkA"),
                    ("artifacts", "A"),
                    ("later", "A"),
                    ("pass", ""),
                ]),
            ),
            (
                "go",
                &format!("{}{glued}{}", events(&begun), events(&[("pass", "")])),
            ),
            (
                "go",
                &format!("{well}{{\"Action\":\"login\",\"Package\":\"p\",\"Test\":\"x\"}}\n"),
            ),
        ],
    );
}

#[test]
fn a_linter_that_counts_more_than_it_shows() {
    let eslint = |errors: u32, messages: &str| {
        format!(
            "[{{\"filePath\":\"/a.js\",\"messages\":[{messages}],\"errorCount\":{errors},\"warningCount\":1}}]"
        )
    };
    let sarif = |results: &str| {
        format!(
            "{{\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":{{\"name\":\"x\"}}}}{results}}}]}}"
        )
    };
    let result = |level: &str| {
        sarif(&format!(
            ",\"results\":[{{\"ruleId\":\"r\",\"level\":\"{level}\",\"message\":{{\"text\":\"m\"}}}}]"
        ))
    };
    let msbuild =
        |errors: u32| format!("Build succeeded.\n    0 Warning(s)\n    {errors} Error(s)");
    let warning = "{\"ruleId\":\"x\",\"severity\":1,\"message\":\"m\",\"line\":1,\"column\":1}";
    judged(
        "lint",
        40,
        &[("eslint", &eslint(2, "")), ("sarif", &result("critical"))],
    );
    judged("compile", 41, &[("msbuild", &msbuild(1))]);
    judged(
        "lint",
        0,
        &[
            ("eslint", &eslint(0, warning)),
            ("sarif", &result("note")),
            ("sarif", &result("warning")),
            ("sarif", &sarif(",\"results\":[]")),
        ],
    );
    judged("compile", 0, &[("msbuild", &msbuild(0))]);
    // Tools in Go write no list where they found nothing; a run without a scan has none, too.
    for results in [",\"results\":null", ""] {
        let script = format!("cat <<'END'\n{}\nEND\n", sarif(results));
        let ran = project("  lint sh t.sh\n  format sarif", &script).run(&FULL);
        assert_eq!(
            ran.exits(0).json()["steps"][0]["reason"],
            "output_unread",
            "{results}"
        );
    }
}

/// PHPUnit's `Tests: 10, …` is no line of jest's, which would count no test.
#[test]
fn phpunit_is_not_taken_for_jest() {
    let head =
        "PHPUnit 11.0.0 by Sebastian Bergmann and contributors.\n\n.........S  10 / 10 (100%)\n\n";
    let run = |end: &str| {
        let text = format!("{head}{end}");
        let project = project("  test vendor/bin/phpunit", "");
        project.write("out.txt", &text);
        project.script("vendor/bin/phpunit", "#!/bin/sh\ncat out.txt\n");
        project.commit("phpunit");
        project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        project.write("src/a", "c\n");
        project.run(&FULL)
    };
    let skipped = "OK, but some tests were skipped!\nTests: 10, Assertions: 20, Skipped: 1.\n";
    for (end, passed) in [(skipped, 9), ("OK (10 tests, 20 assertions)\n", 10)] {
        let ran = run(end);
        let tests = &ran.exits(0).json()["steps"][0]["tests"];
        assert_eq!(tests["passed"], passed, "{end}");
    }
    run("FAILURES!\nTests: 10, Assertions: 20, Failures: 1.\n").exits(42);
    run("No tests executed!\n").exits(42);
}
