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
    ] {
        reporting("junit", &format!("<testsuite name='s'>{case}</testsuite>")).exits(42);
    }
    for case in [
        "<testcase name='a' status='run' result='completed'/>",
        "<testcase name='a' status='PASSED'/>",
        "<testcase name='a'/><testcase name='b' status='pending'><skipped/></testcase>",
        "<testcase name='a'><properties/><attachments/><system-out>aborted</system-out></testcase>",
        "<testcase name='a[1]'/><testcase name='a[1]'/>",
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
