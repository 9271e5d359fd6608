//! Tests of the agreement of exit code and output: the truth tables.

use super::super::decide::judge;
use super::super::outcome::Output;
use super::super::results::{FailedTest, TestCounts};
use super::*;

fn counts(passed: u64, failed: u64, skipped: u64) -> TestCounts {
    TestCounts {
        failed,
        passed,
        skipped,
        ..TestCounts::default()
    }
}

fn reading(word: &str) -> Option<Reading> {
    let tests = |passed, failed, skipped| Some(counts(passed, failed, skipped));
    let base = Reading::from_format("words");
    Some(match word {
        "silent" | "unread" => return None,
        "clean" => base,
        "ran" => Reading {
            tests: tests(3, 0, 1),
            ..base
        },
        "warned" => Reading {
            tests: tests(3, 0, 0),
            warnings: 2,
            ..base
        },
        "failed" => Reading {
            tests: tests(3, 1, 0),
            ..base
        },
        "none" => Reading {
            tests: tests(0, 0, 2),
            ..base
        },
        "problem" => Reading {
            tests: tests(3, 0, 0),
            problems: vec!["bail out".into()],
            ..base
        },
        "within" => Reading {
            errors: 1,
            warnings: 2,
            ..base
        },
        "errors" => Reading { errors: 2, ..base },
        "warnings" => Reading {
            warnings: 3,
            ..base
        },
        "trouble" => Reading {
            problems: vec!["torn".into()],
            ..base
        },
        other => panic!("{other}"),
    })
}

/// Returns the outcome as a word: `passed`, `warned`, `unread`, or the cause of its failure.
fn word(outcome: &Outcome) -> &'static str {
    match (outcome.status, outcome.cause) {
        (Status::Passed, None) => "passed",
        (Status::PassedWithWarnings, None) => "warned",
        (Status::Passed, Some(Cause::OutputUnread)) => "unread",
        (Status::Failed, Some(cause)) => cause.name(),
        other => panic!("{other:?}"),
    }
}

fn terms<'t>(kind: Kind, exit: &'t [i32], output: Output<'t>) -> Terms<'t> {
    Terms {
        by_budget: false,
        exit,
        kind,
        limit_ms: 1000,
        output,
        skip_exit: &[],
    }
}

/// Judges an attempt by its exit (`0`; `1` that is accepted; `bad`) and what its output says.
fn judged(kind: Kind, output: Output<'_>, exit: &str, said: &str, missing: bool) -> Outcome {
    let (code, accepted): (i32, &[i32]) = match exit {
        "0" => (0, &[0]),
        "1" => (1, &[0, 1]),
        _ => (1, &[0]),
    };
    let stdout = if said == "silent" { " \n" } else { "text\n" };
    let evidence = Evidence {
        exit: Some(code),
        reading: reading(said).map(Box::new),
        report_missing: missing,
        stdout: Captured::from(stdout.as_bytes()),
        ..Evidence::default()
    };
    judge(&terms(kind, accepted, output), &evidence)
}

/// Each row: the exit (`0`; `1` that is accepted; `bad`), what the output says, and what comes
/// of it by column.
fn check(kind: Kind, columns: &[(&str, Output<'_>)], table: &str) {
    let mut rows = 0;
    for row in table.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let mut cells = row.split_whitespace();
        let (exit, said) = (cells.next().unwrap(), cells.next().unwrap());
        let cells: Vec<&str> = cells.collect();
        assert_eq!(cells.len(), columns.len(), "{row}");
        for ((name, output), want) in columns.iter().zip(cells) {
            let outcome = judged(kind, *output, exit, said, *name == "missing");
            assert_eq!(
                word(&outcome),
                want,
                "{kind:?} {name}: {row}: {:?}",
                outcome.detail
            );
            assert_eq!(outcome.detail.is_none(), want == "passed", "{row}");
            rows += 1;
        }
    }
    assert!(rows > 0);
}

#[test]
fn every_combination_for_tests() {
    let named = Output {
        format: Some("tap"),
        ..Output::default()
    };
    let report = Output {
        report: Some("r.xml"),
        ..Output::default()
    };
    let least = |min_tests, output| Output {
        min_tests: Some(min_tests),
        ..output
    };
    let columns = [
        ("auto", Output::default()),
        ("auto, min-tests 1", least(1, Output::default())),
        ("auto, min-tests 0", least(0, Output::default())),
        ("auto, min-tests 4", least(4, Output::default())),
        ("named", named),
        ("named, min-tests 0", least(0, named)),
        ("report", report),
        ("missing", report),
    ];
    check(
            Kind::Test,
            &columns,
            "
            0   silent   unread        no_evidence   unread        no_evidence   no_evidence   no_evidence   no_evidence   no_evidence
            0   unread   unread        no_evidence   unread        no_evidence   no_evidence   no_evidence   no_evidence   no_evidence
            0   clean    unread        no_evidence   passed        no_evidence   no_evidence   passed        no_evidence   no_evidence
            0   within   contradiction contradiction contradiction contradiction contradiction contradiction contradiction contradiction
            0   ran      passed        passed        passed        too_few_tests passed        passed        passed        no_evidence
            0   warned   warned        warned        warned        too_few_tests warned        warned        warned        no_evidence
            0   failed   contradiction contradiction contradiction contradiction contradiction contradiction contradiction contradiction
            0   none     too_few_tests too_few_tests passed        too_few_tests too_few_tests passed        too_few_tests too_few_tests
            0   problem  contradiction contradiction contradiction contradiction contradiction contradiction contradiction contradiction
            1   silent   unread        no_evidence   unread        no_evidence   no_evidence   no_evidence   no_evidence   no_evidence
            1   unread   unread        no_evidence   unread        no_evidence   no_evidence   no_evidence   no_evidence   no_evidence
            1   clean    unread        no_evidence   passed        no_evidence   no_evidence   passed        no_evidence   no_evidence
            1   within   errors        errors        errors        errors        errors        errors        errors        errors
            1   ran      passed        passed        passed        too_few_tests passed        passed        passed        no_evidence
            1   warned   warned        warned        warned        too_few_tests warned        warned        warned        no_evidence
            1   failed   tests_failed  tests_failed  tests_failed  tests_failed  tests_failed  tests_failed  tests_failed  tests_failed
            1   none     too_few_tests too_few_tests passed        too_few_tests too_few_tests passed        too_few_tests too_few_tests
            1   problem  contradiction contradiction contradiction contradiction contradiction contradiction contradiction contradiction
            bad silent   exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code
            bad unread   exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code
            bad clean    exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code
            bad within   errors        errors        errors        errors        errors        errors        errors        errors
            bad ran      contradiction contradiction contradiction exit_code     contradiction contradiction contradiction exit_code
            bad warned   contradiction contradiction contradiction exit_code     contradiction contradiction contradiction exit_code
            bad failed   tests_failed  tests_failed  tests_failed  tests_failed  tests_failed  tests_failed  tests_failed  tests_failed
            bad none     too_few_tests too_few_tests contradiction too_few_tests too_few_tests contradiction too_few_tests too_few_tests
            bad problem  exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code     exit_code
            ",
        );
}

#[test]
fn every_combination_for_findings() {
    let limits = Output {
        max_errors: 1,
        max_warnings: Some(2),
        ..Output::default()
    };
    let none = Output::default();
    let columns = |output: Output<'static>| {
        let named = Output {
            format: Some("gcc"),
            ..output
        };
        let report = Output {
            report: Some("r.sarif"),
            ..output
        };
        [
            ("auto", output),
            ("named", named),
            ("report", report),
            ("missing", report),
        ]
    };
    for kind in [Kind::Compile, Kind::Lint] {
        let table = "
            0   silent   passed        passed        no_evidence   no_evidence
            0   unread   unread        no_evidence   no_evidence   no_evidence
            0   clean    passed        passed        passed        no_evidence
            0   within   warned        warned        warned        no_evidence
            0   errors   OVER          OVER          OVER          OVER
            0   warnings warnings      warnings      warnings      warnings
            0   trouble  contradiction contradiction contradiction contradiction
            1   silent   unread        no_evidence   no_evidence   no_evidence
            1   unread   unread        no_evidence   no_evidence   no_evidence
            1   clean    passed        passed        passed        no_evidence
            1   within   warned        warned        warned        no_evidence
            1   errors   errors        errors        errors        errors
            1   warnings warnings      warnings      warnings      warnings
            1   trouble  contradiction contradiction contradiction contradiction
            bad silent   exit_code     exit_code     exit_code     exit_code
            bad unread   exit_code     exit_code     exit_code     exit_code
            bad clean    contradiction contradiction contradiction exit_code
            bad within   exit_code     exit_code     exit_code     exit_code
            bad errors   errors        errors        errors        errors
            bad warnings warnings      warnings      warnings      warnings
            bad trouble  exit_code     exit_code     exit_code     exit_code
            ";
        let (over, warned) = match kind {
            Kind::Lint => ("errors", "warnings"),
            _ => ("contradiction", "contradiction"),
        };
        check(kind, &columns(limits), &table.replace("OVER", over));
        // By default no error may be, and any number of warnings.
        let table = "
            0   within   OVER          OVER          OVER          OVER
            0   warnings warned        warned        warned        no_evidence
            1   within   errors        errors        errors        errors
            bad within   errors        errors        errors        errors
            bad warnings WARNED        WARNED        WARNED        exit_code
            ";
        let table = table.replace("OVER", over).replace("WARNED", warned);
        check(kind, &columns(none), &table);
    }
}

#[test]
fn what_a_package_manager_announces_is_no_output() {
    for (stdout, stderr, silent) in [
        ("", "", true),
        (
            "\n> q@1.0.0 tsc\n> tsc --noEmit\n\n",
            "npm warn Unknown user config\n",
            true,
        ),
        ("\n> q@1.0.0 tsc /r\r\n> tsc --noEmit\r\n", "", true),
        ("> quoted\n", "", false),
        (
            "\n> q@1.0.0 tsc\n> tsc --noEmit\n\nall is well\n",
            "",
            false,
        ),
        ("", "npm error missing script\n", false),
    ] {
        let evidence = Evidence {
            stderr: Captured::from(stderr.as_bytes()),
            stdout: Captured::from(stdout.as_bytes()),
            ..Evidence::default()
        };
        assert_eq!(is_silent(&evidence), silent, "{stdout:?} {stderr:?}");
    }
}

#[test]
fn a_tool_that_says_that_nothing_was_tested_ran_no_tests() {
    let said = |text: &str, exit| Evidence {
        exit: Some(exit),
        stdout: text.as_bytes().into(),
        ..Evidence::default()
    };
    let read = |command: &str, kind, evidence: &Evidence| {
        let words: Vec<&str> = command.split(' ').collect();
        nothing(&Invocation::parse(&words), kind, evidence).and_then(|reading| reading.tests)
    };
    let none = said("No tasks were executed as part of this run.\n", 0);
    let no_test = Some(TestCounts::default());
    assert_eq!(read("npx turbo run test", Kind::Test, &none), no_test);
    // Of another tool, for another verb, and where it failed.
    assert_eq!(read("make test", Kind::Test, &none), None);
    assert_eq!(read("npx turbo run build", Kind::Compile, &none), None);
    let failed = said("No tasks were executed as part of this run.\n", 1);
    assert_eq!(read("npx turbo run test", Kind::Test, &failed), None);
}

#[test]
fn silence_says_that_all_is_well_where_tools_say_so() {
    let quiet = Evidence {
        exit: Some(0),
        ..Evidence::default()
    };
    let spoken = Evidence {
        stdout: Captured::from(&b"text"[..]),
        ..quiet.clone()
    };
    let ended = |exit, timed_out| Evidence {
        exit,
        timed_out,
        ..Evidence::default()
    };
    for (name, kind, evidence, counts) in [
        ("a compiler", Kind::Compile, quiet.clone(), true),
        ("a linter", Kind::Lint, quiet.clone(), true),
        ("a test runner", Kind::Test, quiet, false),
        (
            "one that failed",
            Kind::Compile,
            ended(Some(1), false),
            false,
        ),
        (
            "one that did not end",
            Kind::Compile,
            ended(None, false),
            false,
        ),
        (
            "one that was stopped",
            Kind::Compile,
            ended(Some(0), true),
            false,
        ),
        ("one that spoke", Kind::Compile, spoken, false),
    ] {
        let want = counts.then(|| Reading::from_format("gcc"));
        assert_eq!(silence("gcc", kind, &evidence), want, "{name}");
    }
}

#[test]
fn skipping_is_no_way_out() {
    for (said, status) in [
        ("silent", Status::Skipped),
        ("ran", Status::Skipped),
        ("none", Status::Skipped),
        ("failed", Status::Failed),
        ("errors", Status::Failed),
    ] {
        let output = Output {
            format: Some("tap"),
            ..Output::default()
        };
        let terms = Terms {
            skip_exit: &[77],
            ..terms(Kind::Test, &[], output)
        };
        let evidence = Evidence {
            exit: Some(77),
            reading: reading(said).map(Box::new),
            ..Evidence::default()
        };
        assert_eq!(judge(&terms, &evidence).status, status, "{said}");
    }
}

#[test]
fn what_people_read() {
    let failed_test = |name: &str| FailedTest {
        name: name.to_owned(),
        ..FailedTest::default()
    };
    let of_tests = |passed, failed, names: &[&str]| Reading {
        tests: Some(counts(passed, failed, 0)),
        failed_tests: names.iter().map(|name| failed_test(name)).collect(),
        ..Reading::default()
    };
    let of_findings = |errors, warnings, findings| Reading {
        errors,
        warnings,
        findings,
        ..Reading::default()
    };
    let find = |file: &str, message: &str| Finding {
        code: Some("E1".into()),
        column: Some(5),
        file: Some(file.to_owned()),
        line: Some(3),
        message: message.to_owned(),
        severity: Level::Error,
    };
    let (long, cut) = ("x".repeat(500), "x".repeat(SHOWN));
    let warning = Finding {
        severity: Level::Warning,
        ..find("a", "no")
    };
    let problems = Reading {
        problems: vec!["a".into(), "b".into()],
        ..of_tests(3, 0, &[])
    };
    let two = of_tests(12, 2, &["tests::a", "tests::\u{1b}b"]);
    let five = of_tests(0, 5, &["a", "b", "c", "d"]);
    let errors = of_findings(3, 0, vec![find("src/a.rs", "no\nmore"), find("b", "c")]);
    for (kind, exit, reading, want) in [
        (
            Kind::Test,
            1,
            two,
            "2 of 14 tests failed: tests::a, tests::\\u{1b}b",
        ),
        (
            Kind::Test,
            0,
            five,
            "exit code 0, but 5 of 5 tests failed: a, b, c and 2 more",
        ),
        (
            Kind::Compile,
            1,
            errors,
            "3 errors, first src/a.rs:3:5: E1: no",
        ),
        (
            Kind::Lint,
            0,
            of_findings(1, 0, vec![find(&long, "no")]),
            &format!("1 error: {cut}…:3:5: E1: no"),
        ),
        (
            Kind::Lint,
            1,
            of_findings(0, 1, vec![warning]),
            "exit code 1, with 1 warning: a:3:5: E1: no",
        ),
        (Kind::Test, 1, problems, "exit code 1; a (and 1 more)"),
        (
            Kind::Test,
            1,
            of_tests(3, 0, &[]),
            "exit code 1, but its output shows no failure: 3 tests passed",
        ),
        // That none ran is not a pass.
        (
            Kind::Lint,
            1,
            of_tests(0, 0, &[]),
            "exit code 1, but its output shows no failure",
        ),
    ] {
        let evidence = Evidence {
            exit: Some(exit),
            reading: Some(Box::new(reading)),
            ..Evidence::default()
        };
        let outcome = judge(&terms(kind, &[], Output::default()), &evidence);
        assert_eq!(outcome.detail.as_deref(), Some(want));
    }
}

/// The outcome of an attempt, by kind, limits, exit code as in [`check`], and the word of a reading.
#[test]
fn what_people_read_of_every_combination() {
    let table = "
        compile auto                bad silent   | exit code 1, and it wrote nothing
        compile auto                bad unread   | exit code 1
        test    auto                bad clean    | exit code 1
        compile named               bad silent   | exit code 1; it wrote nothing
        compile named               bad unread   | exit code 1; nothing in its output is of the format `gcc`
        test    named               bad silent   | exit code 1; it wrote nothing that would show that tests ran
        test    named               0   unread   | nothing in its output is of the format `gcc`
        test    named               0   clean    | nothing in its output shows that tests ran
        compile named               1   silent   | it wrote nothing
        compile errors=1,warnings=2 bad within   | exit code 1, although 1 error, 2 warnings would be within the limits
        compile errors=2            bad errors   | exit code 1, although 2 errors would be within the limits
        lint    auto                bad warnings | exit code 1, with 3 warnings
        compile auto                bad warnings | exit code 1, but its output shows no failure: 3 warnings
        compile auto                bad clean    | exit code 1, but its output shows no failure
        compile auto                0   errors   | exit code 0, but 2 errors
        compile errors=1,warnings=2 1   errors   | 2 errors (1 is allowed)
        compile errors=1            0   errors   | exit code 0, but 2 errors (1 is allowed)
        compile warnings=2          0   warnings | 3 warnings (2 are allowed)
        compile warnings=0          0   warnings | 3 warnings (none is allowed)
        compile warnings=1          0   warnings | 3 warnings (1 is allowed)
        compile errors=1,warnings=2 0   within   | 1 error (1 is allowed), 2 warnings
        compile errors=2            0   errors   | 2 errors (2 are allowed)
        compile errors=2            0   warnings | 3 warnings
        test    auto                0   none     | no tests ran (2 were skipped)
        test    tests=4             0   ran      | 3 tests ran (1 was skipped); at least 4 must
        test    tests=4             1   clean    | nothing in its output shows how many tests ran; at least 4 must
        test    auto                0   clean    | passed by exit code alone: its output shows nothing, and no tests
        test    errors=2            0   errors   | passed by exit code alone: its output shows 2 errors, and no tests
        test    auto                0   silent   | passed by exit code alone: it wrote nothing that shows that tests ran
        compile auto                1   silent   | passed by exit code alone: exit code 1, and it wrote nothing
        compile auto                0   unread   | passed by exit code alone: its output is in no format that is known
        compile errors=1,warnings=2 0   unread   | passed by exit code alone: its output is in no format that is known, so `max-errors` and `max-warnings` were not checked
        compile errors=2            0   unread   | passed by exit code alone: its output is in no format that is known, so `max-errors` was not checked
        compile warnings=2          0   unread   | passed by exit code alone: its output is in no format that is known, so `max-warnings` was not checked
        ";
    for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (cells, want) = row.split_once(" | ").unwrap();
        let cells: Vec<&str> = cells.split_whitespace().collect();
        let [kind, limits, exit, said] = cells.try_into().unwrap();
        let kind = Kind::ALL.iter().find(|known| known.verb() == kind).unwrap();
        let number = |key: &str| {
            let mut parts = limits.split(',');
            parts.find_map(|part| part.strip_prefix(key)?.parse().ok())
        };
        let output = Output {
            format: (limits == "named").then_some("gcc"),
            max_errors: number("errors=").unwrap_or_default(),
            max_warnings: number("warnings="),
            min_tests: number("tests="),
            ..Output::default()
        };
        // `wrong_exit` reports which codes are accepted, and is tested there.
        let got = judged(*kind, output, exit, said, false).detail;
        assert_eq!(got.as_deref(), Some(want), "{row}");
    }
}
