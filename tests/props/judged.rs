//! Properties of `check::agreement`: no pass against the evidence, and worse evidence is never
//! better.

use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::check::Kind;
use vplan::check::decide::judge;
use vplan::check::evidence::{Captured, Evidence};
use vplan::check::outcome::{Cause, Outcome, Output, Status, Terms};
use vplan::check::results::{FailedTest, Finding, Reading, TestCounts};

/// Small numbers, so that limits are met exactly, and the largest.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![9 => 0..4_u64, 1 => Just(u64::MAX)]
}

fn readings() -> impl Strategy<Value = Reading> {
    let tests = (number(), number(), number()).prop_map(|(failed, passed, skipped)| TestCounts {
        failed,
        passed,
        skipped,
        ..TestCounts::default()
    });
    let text = || {
        prop_oneof![
            Just(String::new()),
            "\\PC{0,40}",
            Just("a\u{1b}[31m\nb".to_owned())
        ]
    };
    let problems = proptest::collection::vec(text(), 0..2);
    let failed = proptest::collection::vec(
        text().prop_map(|name| FailedTest {
            name,
            ..FailedTest::default()
        }),
        0..5,
    );
    let findings = (text(), proptest::option::of(text()));
    let findings = findings.prop_map(|(message, file)| Finding {
        file,
        message,
        line: Some(3),
        ..Finding::default()
    });
    let findings = proptest::collection::vec(findings, 0..3);
    (
        proptest::option::weighted(0.7, tests),
        number(),
        number(),
        problems,
        failed,
        findings,
    )
        .prop_map(
            |(tests, errors, warnings, problems, failed_tests, findings)| Reading {
                tests,
                errors,
                warnings,
                problems: problems.into_iter().filter(|p| !p.is_empty()).collect(),
                failed_tests,
                findings,
                format: "words".to_owned(),
                unread: Vec::new(),
            },
        )
}

#[derive(Clone, Debug)]
struct Case {
    kind: Kind,
    exit: Vec<i32>,
    skip_exit: Vec<i32>,
    output: Output<'static>,
    evidence: Evidence,
}

impl Case {
    fn outcome(&self) -> Outcome {
        let Case {
            kind,
            exit,
            skip_exit,
            output,
            evidence,
        } = self;
        let terms = Terms {
            by_budget: false,
            exit,
            kind: *kind,
            limit_ms: 1000,
            output: *output,
            skip_exit,
        };
        judge(&terms, evidence)
    }

    fn reading(&mut self) -> Option<&mut Reading> {
        self.evidence.reading.as_deref_mut()
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let kind = prop::sample::select(vec![Kind::Compile, Kind::Test, Kind::Lint]);
    let exit = prop::sample::select(vec![vec![], vec![0], vec![0, 1], vec![1]]);
    let limits = (
        number(),
        proptest::option::of(number()),
        proptest::option::of(number()),
    );
    let sources = (proptest::bool::weighted(0.3), proptest::bool::weighted(0.3));
    let output =
        (limits, sources).prop_map(|((max_errors, max_warnings, min_tests), (named, report))| {
            Output {
                is_defined: false,
                format: named.then_some("words"),
                max_errors,
                max_warnings,
                min_tests,
                report: report.then_some("r.xml"),
            }
        });
    let reading = proptest::option::weighted(0.8, readings());
    let evidence = (
        0..3_i32,
        reading,
        any::<bool>(),
        proptest::bool::weighted(0.2),
    )
        .prop_map(|(exit, reading, silent, report_missing)| Evidence {
            exit: Some(exit),
            reading: reading.map(Box::new),
            report_missing,
            stdout: Captured::from(if silent { &b"\n"[..] } else { b"text\n" }),
            ..Evidence::default()
        });
    (kind, exit, output, evidence).prop_map(|(kind, exit, mut output, evidence)| {
        if kind == Kind::Test {
            // These are not settings of `test`.
            (output.max_errors, output.max_warnings) = (0, None);
        } else {
            output.min_tests = None;
        }
        // What a step is judged by is counted as its verb counts.
        let reading = evidence.reading.map(|r| Box::new(r.counted_by(kind)));
        Case {
            kind,
            exit,
            skip_exit: vec![2],
            output,
            evidence: Evidence {
                reading,
                ..evidence
            },
        }
    })
}

/// Ways to make evidence worse.
const WORSE: &[fn(&mut Case, u64)] = &[
    |case, n| {
        case.reading()
            .into_iter()
            .for_each(|r| r.errors = r.errors.saturating_add(n))
    },
    |case, n| {
        case.reading()
            .into_iter()
            .for_each(|r| r.warnings = r.warnings.saturating_add(n))
    },
    |case, _| {
        case.reading()
            .into_iter()
            .for_each(|r| r.problems.push("torn".to_owned()))
    },
    |case, n| {
        let is_test = case.kind == Kind::Test;
        let tests = case.reading().and_then(|r| r.tests.as_mut());
        tests
            .filter(|_| is_test)
            .into_iter()
            .for_each(|t| t.failed = t.failed.saturating_add(n));
    },
    |case, n| {
        let tests = case.reading().and_then(|r| r.tests.as_mut());
        tests
            .into_iter()
            .for_each(|t| t.passed = t.passed.saturating_sub(n));
    },
    |case, _| {
        let accepts = |code: i32| {
            if case.exit.is_empty() {
                code == 0
            } else {
                case.exit.contains(&code)
            }
        };
        if accepts(case.evidence.exit.unwrap()) {
            case.evidence.exit = Some(9);
        }
    },
    |case, _| case.evidence.report_missing |= case.output.report.is_some(),
    |case, _| case.evidence.timed_out = true,
];

proptest! {
    #![proptest_config(config(2048))]

    #[test]
    fn contradiction_never_passed(mut case in cases()) {
        let Outcome { cause, detail, status } = case.outcome();
        let output = case.output;
        let exit = case.evidence.exit.unwrap();
        let accepted = if case.exit.is_empty() { exit == 0 } else { case.exit.contains(&exit) };
        let (kind, missing) = (case.kind, case.evidence.report_missing);
        if status.is_pass() {
            prop_assert!(accepted);
            match case.reading() {
                Some(reading) => {
                    let tests = reading.tests.filter(|_| kind == Kind::Test);
                    prop_assert!(tests.is_none_or(|t| t.failed == 0 && t.ran() >= output.min_tests.unwrap_or(1)));
                    prop_assert!(reading.errors <= output.max_errors && reading.problems.is_empty());
                    prop_assert!(output.max_warnings.is_none_or(|most| reading.warnings <= most));
                    prop_assert_eq!(
                        status == Status::PassedWithWarnings,
                        (reading.errors > 0 || reading.warnings > 0) && cause.is_none()
                    );
                }
                // What says how its evidence looks has shown some, but for a compiler or linter without a word.
                None => {
                    let promised = output.format.is_some() || output.report.is_some();
                    prop_assert!(!promised || (kind != Kind::Test && output.report.is_none()));
                    prop_assert!(output.min_tests.is_none_or(|least| least == 0));
                }
            }
            prop_assert!(output.report.is_none() || !missing);
        } else {
            prop_assert!(cause.is_some() && detail.is_some());
        }
        // Whatever the output holds, the line is one, short, and safe to show.
        if let Some(detail) = detail {
            prop_assert!(!detail.is_empty() && detail.chars().count() < 2000, "{}", detail);
            prop_assert!(!detail.chars().any(char::is_control), "{:?}", detail);
        }
        prop_assert!(cause != Some(Cause::OutputUnread) || status == Status::Passed);
    }

    #[test]
    fn worse_evidence_is_never_better(
        case in cases(),
        ways in proptest::collection::vec((0..WORSE.len(), 1..4_u64), 1..4),
    ) {
        let before = case.outcome().status;
        let mut worse = case;
        for (way, by) in ways {
            WORSE[way](&mut worse, by);
        }
        prop_assert!(before.is_pass() || !worse.outcome().status.is_pass(), "{:?}", worse);
    }
}
