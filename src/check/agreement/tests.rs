//! Tests of the agreement of exit code and output: the truth tables.

use super::super::outcome::Output;
use super::super::reading::{FailedTest, TestCounts};
use super::*;

fn reading(word: &str) -> Option<Reading> {
    let tests = |passed, failed, skipped| {
        Some(TestCounts {
            failed,
            passed,
            skipped,
            ..TestCounts::default()
        })
    };
    let base = Reading::of("words");
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

/// Each row: the exit (`0`; `1` that is accepted; `bad`), what the output says, and what comes
/// of it by column.
fn check(kind: Kind, columns: &[(&str, Output<'_>)], table: &str) {
    let mut rows = 0;
    for row in table.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let mut cells = row.split_whitespace();
        let (exit, said) = (cells.next().unwrap(), cells.next().unwrap());
        let (code, accepted): (i32, &[i32]) = match exit {
            "0" => (0, &[0]),
            "1" => (1, &[0, 1]),
            _ => (1, &[0]),
        };
        let cells: Vec<&str> = cells.collect();
        assert_eq!(cells.len(), columns.len(), "{row}");
        for ((name, output), want) in columns.iter().zip(cells) {
            let terms = Terms {
                by_budget: false,
                exit: accepted,
                kind,
                limit_ms: 1000,
                output: *output,
                skip_exit: &[],
            };
            let evidence = Evidence {
                exit: Some(code),
                reading: reading(said).map(Box::new),
                report_missing: *name == "missing",
                stdout: Captured::from(if said == "silent" {
                    &b" \n"[..]
                } else {
                    b"text\n"
                }),
                ..Evidence::default()
            };
            let outcome = super::super::decide::judge(&terms, &evidence);
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
        [
            ("auto", output),
            (
                "named",
                Output {
                    format: Some("gcc"),
                    ..output
                },
            ),
            (
                "report",
                Output {
                    report: Some("r.sarif"),
                    ..output
                },
            ),
            (
                "missing",
                Output {
                    report: Some("r.sarif"),
                    ..output
                },
            ),
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
        let over = if kind == Kind::Lint {
            "errors"
        } else {
            "contradiction"
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
        let warned = if kind == Kind::Lint {
            "warnings"
        } else {
            "contradiction"
        };
        check(
            kind,
            &columns(none),
            &table.replace("OVER", over).replace("WARNED", warned),
        );
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
        nothing(&Invocation::of(&words), kind, evidence).and_then(|reading| reading.tests)
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
    for (name, kind, evidence, counts) in [
        ("a compiler", Kind::Compile, quiet.clone(), true),
        ("a linter", Kind::Lint, quiet.clone(), true),
        ("a test runner", Kind::Test, quiet.clone(), false),
        (
            "one that failed",
            Kind::Compile,
            Evidence {
                exit: Some(1),
                ..quiet.clone()
            },
            false,
        ),
        (
            "one that did not end",
            Kind::Compile,
            Evidence {
                exit: None,
                ..quiet.clone()
            },
            false,
        ),
        (
            "one that was stopped",
            Kind::Compile,
            Evidence {
                timed_out: true,
                ..quiet
            },
            false,
        ),
        ("one that spoke", Kind::Compile, spoken, false),
    ] {
        assert_eq!(
            silence("gcc", kind, &evidence),
            counts.then(|| Reading::of("gcc")),
            "{name}"
        );
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
            by_budget: false,
            exit: &[],
            kind: Kind::Test,
            limit_ms: 1000,
            output,
            skip_exit: &[77],
        };
        let evidence = Evidence {
            exit: Some(77),
            reading: reading(said).map(Box::new),
            ..Evidence::default()
        };
        assert_eq!(
            super::super::decide::judge(&terms, &evidence).status,
            status,
            "{said}"
        );
    }
}

#[test]
fn what_people_read() {
    let failed = |name: &str| FailedTest {
        name: name.to_owned(),
        ..FailedTest::default()
    };
    let counts = |passed, failed| {
        Some(TestCounts {
            failed,
            passed,
            skipped: 0,
            ..TestCounts::default()
        })
    };
    let find = |file: &str, message: &str| Finding {
        code: Some("E1".into()),
        column: Some(5),
        file: Some(file.to_owned()),
        line: Some(3),
        message: message.to_owned(),
        severity: Level::Error,
    };
    let long = "x".repeat(500);
    for (kind, exit, reading, want) in [
        (
            Kind::Test,
            1,
            Reading {
                tests: counts(12, 2),
                failed_tests: vec![failed("tests::a"), failed("tests::\u{1b}b")],
                ..Reading::default()
            },
            "2 of 14 tests failed: tests::a, tests::\\u{1b}b".to_owned(),
        ),
        (
            Kind::Test,
            0,
            Reading {
                tests: counts(0, 5),
                failed_tests: vec![failed("a"), failed("b"), failed("c"), failed("d")],
                ..Reading::default()
            },
            "exit code 0, but 5 of 5 tests failed: a, b, c and 2 more".to_owned(),
        ),
        (
            Kind::Compile,
            1,
            Reading {
                errors: 3,
                findings: vec![find("src/a.rs", "no\nmore"), find("b", "c")],
                ..Reading::default()
            },
            "3 errors, first src/a.rs:3:5: E1: no".to_owned(),
        ),
        (
            Kind::Lint,
            0,
            Reading {
                errors: 1,
                findings: vec![find(&long, "no")],
                ..Reading::default()
            },
            format!("1 error: {}…:3:5: E1: no", "x".repeat(SHOWN)),
        ),
        (
            Kind::Lint,
            1,
            Reading {
                warnings: 1,
                findings: vec![Finding {
                    severity: Level::Warning,
                    ..find("a", "no")
                }],
                ..Reading::default()
            },
            "exit code 1, with 1 warning: a:3:5: E1: no".to_owned(),
        ),
        (
            Kind::Test,
            1,
            Reading {
                tests: counts(3, 0),
                problems: vec!["a".into(), "b".into()],
                ..Reading::default()
            },
            "exit code 1; a (and 1 more)".to_owned(),
        ),
        (
            Kind::Test,
            1,
            Reading {
                tests: counts(3, 0),
                ..Reading::default()
            },
            "exit code 1, but its output shows no failure: 3 tests passed".to_owned(),
        ),
        // That none ran is no good news.
        (
            Kind::Lint,
            1,
            Reading {
                tests: counts(0, 0),
                ..Reading::default()
            },
            "exit code 1, but its output shows no failure".to_owned(),
        ),
    ] {
        let terms = Terms {
            by_budget: false,
            exit: &[],
            kind,
            limit_ms: 1000,
            output: Output::default(),
            skip_exit: &[],
        };
        let evidence = Evidence {
            exit: Some(exit),
            reading: Some(Box::new(reading)),
            ..Evidence::default()
        };
        assert_eq!(
            super::super::decide::judge(&terms, &evidence).detail,
            Some(want)
        );
    }
}

/// The outcome of an attempt, by kind, limits, exit code, the word of a reading, and whether it
/// wrote anything.
#[test]
fn what_people_read_of_every_combination() {
    let auto = Output::default();
    let named = Output {
        format: Some("gcc"),
        ..auto
    };
    let errors = Output {
        max_errors: 2,
        ..auto
    };
    let both = Output {
        max_errors: 1,
        max_warnings: Some(2),
        ..auto
    };
    let most = Output {
        max_warnings: Some(2),
        ..auto
    };
    for (kind, output, exit, accepted, said, want) in [
        (
            Kind::Compile,
            auto,
            1,
            false,
            "silent",
            "exit code 1, and it wrote nothing",
        ),
        (Kind::Compile, auto, 1, false, "unread", "exit code 1"),
        (Kind::Test, auto, 1, false, "clean", "exit code 1"),
        (
            Kind::Compile,
            named,
            1,
            false,
            "silent",
            "exit code 1; it wrote nothing",
        ),
        (
            Kind::Compile,
            named,
            1,
            false,
            "unread",
            "exit code 1; nothing in its output is of the format `gcc`",
        ),
        (
            Kind::Test,
            named,
            1,
            false,
            "silent",
            "exit code 1; it wrote nothing that would show that tests ran",
        ),
        (
            Kind::Test,
            named,
            0,
            true,
            "unread",
            "nothing in its output is of the format `gcc`",
        ),
        (
            Kind::Test,
            named,
            0,
            true,
            "clean",
            "nothing in its output shows that tests ran",
        ),
        (Kind::Compile, named, 1, true, "silent", "it wrote nothing"),
        (
            Kind::Compile,
            both,
            1,
            false,
            "within",
            "exit code 1, although 1 error, 2 warnings would be within the limits",
        ),
        (
            Kind::Compile,
            errors,
            1,
            false,
            "errors",
            "exit code 1, although 2 errors would be within the limits",
        ),
        (
            Kind::Lint,
            auto,
            1,
            false,
            "warnings",
            "exit code 1, with 3 warnings",
        ),
        (
            Kind::Compile,
            auto,
            1,
            false,
            "warnings",
            "exit code 1, but its output shows no failure: 3 warnings",
        ),
        (
            Kind::Compile,
            auto,
            1,
            false,
            "clean",
            "exit code 1, but its output shows no failure",
        ),
        (
            Kind::Compile,
            auto,
            0,
            true,
            "errors",
            "exit code 0, but 2 errors",
        ),
        (
            Kind::Compile,
            both,
            1,
            true,
            "errors",
            "2 errors (1 is allowed)",
        ),
        (
            Kind::Compile,
            Output {
                max_errors: 1,
                ..auto
            },
            0,
            true,
            "errors",
            "exit code 0, but 2 errors (1 is allowed)",
        ),
        (
            Kind::Compile,
            most,
            0,
            true,
            "warnings",
            "3 warnings (2 are allowed)",
        ),
        (
            Kind::Compile,
            Output {
                max_warnings: Some(0),
                ..auto
            },
            0,
            true,
            "warnings",
            "3 warnings (none is allowed)",
        ),
        (
            Kind::Compile,
            Output {
                max_warnings: Some(1),
                ..auto
            },
            0,
            true,
            "warnings",
            "3 warnings (1 is allowed)",
        ),
        (
            Kind::Compile,
            both,
            0,
            true,
            "within",
            "1 error (1 is allowed), 2 warnings",
        ),
        (
            Kind::Compile,
            errors,
            0,
            true,
            "errors",
            "2 errors (2 are allowed)",
        ),
        (Kind::Compile, errors, 0, true, "warnings", "3 warnings"),
        (
            Kind::Test,
            auto,
            0,
            true,
            "none",
            "no tests ran (2 were skipped)",
        ),
        (
            Kind::Test,
            Output {
                min_tests: Some(4),
                ..auto
            },
            0,
            true,
            "ran",
            "3 tests ran (1 was skipped); at least 4 must",
        ),
        (
            Kind::Test,
            Output {
                min_tests: Some(4),
                ..auto
            },
            1,
            true,
            "clean",
            "nothing in its output shows how many tests ran; at least 4 must",
        ),
        (
            Kind::Test,
            auto,
            0,
            true,
            "clean",
            "passed by exit code alone: its output shows nothing, and no tests",
        ),
        (
            Kind::Test,
            errors,
            0,
            true,
            "errors",
            "passed by exit code alone: its output shows 2 errors, and no tests",
        ),
        (
            Kind::Test,
            auto,
            0,
            true,
            "silent",
            "passed by exit code alone: it wrote nothing that shows that tests ran",
        ),
        (
            Kind::Compile,
            auto,
            1,
            true,
            "silent",
            "passed by exit code alone: exit code 1, and it wrote nothing",
        ),
        (
            Kind::Compile,
            auto,
            0,
            true,
            "unread",
            "passed by exit code alone: its output is in no format that is known",
        ),
        (
            Kind::Compile,
            both,
            0,
            true,
            "unread",
            "passed by exit code alone: its output is in no format that is known, so `max-errors` and `max-warnings` were not checked",
        ),
        (
            Kind::Compile,
            errors,
            0,
            true,
            "unread",
            "passed by exit code alone: its output is in no format that is known, so `max-errors` was not checked",
        ),
        (
            Kind::Compile,
            most,
            0,
            true,
            "unread",
            "passed by exit code alone: its output is in no format that is known, so `max-warnings` was not checked",
        ),
    ] {
        let accepted: &[i32] = if accepted { &[0, 1] } else { &[0] };
        let terms = Terms {
            by_budget: false,
            exit: accepted,
            kind,
            limit_ms: 1000,
            output,
            skip_exit: &[],
        };
        let evidence = Evidence {
            exit: Some(exit),
            reading: reading(said).map(Box::new),
            stdout: Captured::from(if said == "silent" {
                &b" \n"[..]
            } else {
                b"text\n"
            }),
            ..Evidence::default()
        };
        let got = super::super::decide::judge(&terms, &evidence).detail;
        // Which codes are accepted is said by `wrong_exit`, and tested there.
        assert_eq!(
            got.as_deref(),
            Some(want),
            "{kind:?} {output:?} {exit} {said}"
        );
    }
}
