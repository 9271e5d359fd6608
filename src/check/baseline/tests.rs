//! Fingerprints, and each thing that keeps a known finding from excusing a failure.

use super::*;
use crate::outcome::Output;
use crate::results::TestCounts;

const ESLINT: &[&str] = &["eslint", "."];
const PYTEST: &[&str] = &["pytest"];

fn finding(line: u64, message: &str) -> Finding {
    Finding {
        code: Some("semi".to_owned()),
        file: Some("a.js".to_owned()),
        line: Some(line),
        message: message.to_owned(),
        ..Finding::default()
    }
}

fn lint(findings: &[Finding]) -> Reading {
    let mut reading = Reading::from_format("eslint");
    findings.iter().cloned().for_each(|f| reading.find(f));
    reading
}

/// A file in which each line is its own number, but for those that are given.
fn lines(same: &[u64]) -> impl Fn(&Finding) -> Option<Line> {
    let same = same.to_vec();
    move |finding| {
        let line = finding.line?;
        let text = if same.contains(&line) { 0 } else { line };
        Some(Line {
            file: finding.file.clone()?,
            text: format!("  x({text})\r").into_bytes(),
        })
    }
}

fn prints(check: &str, argv: &[&str], reading: &Reading, same: &[u64]) -> Vec<Option<Digest>> {
    let made = fingerprints(check, argv, reading, &mut lines(same));
    made.into_iter().map(|made| made.fingerprint).collect()
}

fn terms(kind: Kind) -> Terms<'static> {
    Terms {
        by_budget: false,
        exit: &[],
        kind,
        limit_ms: 1000,
        output: Output::default(),
        skip_exit: &[],
    }
}

/// The outcome of a try with reading `now`, of a check `c` with the known findings of `known`.
fn judged(
    known: &Reading,
    now: &Reading,
    argv: &[&str],
    exit: i32,
    change: impl FnOnce(&mut Terms<'static>, &mut Evidence),
) -> Outcome {
    let kind = if now.tests.is_some() {
        Kind::Test
    } else {
        Kind::Lint
    };
    let listed = prints("c", argv, known, &[])
        .into_iter()
        .flatten()
        .collect();
    let known = KnownFindings {
        checks: BTreeMap::from([("c".to_owned(), listed)]),
        origin: "the base".to_owned(),
    };
    let mut terms = terms(kind);
    let mut evidence = Evidence {
        exit: Some(exit),
        identities: fingerprints("c", argv, now, &mut lines(&[])),
        reading: Some(Box::new(now.clone())),
        ..Evidence::default()
    };
    change(&mut terms, &mut evidence);
    let outcome = crate::decide::judge(&terms, &evidence);
    judge(Some(&known), "c", &terms, &evidence, outcome)
}

fn passes(outcome: &Outcome) -> bool {
    let is_known = outcome.cause == Some(Cause::Known);
    assert_eq!(outcome.status.is_pass(), is_known, "{outcome:?}");
    is_known
}

#[test]
fn a_fingerprint_is_of_content() {
    let one = |check: &str, f: &Finding, same: &[u64]| {
        prints(check, ESLINT, &lint(std::slice::from_ref(f)), same)
            .remove(0)
            .unwrap()
    };
    let at = |line| finding(line, "Missing semicolon.");
    let base = one("c", &at(3), &[3, 9]);
    assert_eq!(base, one("c", &at(9), &[3, 9]), "a line that moved");
    assert_ne!(base, one("c", &at(3), &[]), "another text of the line");
    assert_ne!(base, one("d", &at(3), &[3]), "another check");
    for other in [
        finding(3, "Missing comma."),
        Finding {
            code: Some("comma".to_owned()),
            ..at(3)
        },
        Finding {
            file: Some("b.js".to_owned()),
            ..at(3)
        },
    ] {
        assert_ne!(base, one("c", &other, &[3]), "{other:?}");
    }
    // Equal ones are distinguished by their number.
    let twice = prints("c", ESLINT, &lint(&[at(3), at(9)]), &[3, 9]);
    assert_eq!(twice[0].as_ref(), Some(&base));
    assert_ne!(twice[1].as_ref(), Some(&base));
}

#[test]
fn messages_without_lines() {
    for (message, want) in [
        ("unused since  line 12", "unused since line #"),
        ("see a.py:12:5", "see a.py:#:#"),
        ("Lines 3-4 differ", "Lines #-# differ"),
        ("complexity is 21", "complexity is 21"),
        ("too long (81 > 80)", "too long (81 > 80)"),
        ("ratio: 3", "ratio: 3"),
        ("", ""),
    ] {
        assert_eq!(without_lines(message), want);
    }
}

#[test]
fn what_cannot_be_known() {
    let parse = Finding {
        code: None,
        ..finding(1, "Parsing error: no")
    };
    let nowhere = Finding {
        line: None,
        ..finding(1, "x")
    };
    let reading = lint(&[parse, nowhere, finding(2, "x")]);
    let made = prints("c", ESLINT, &reading, &[]);
    assert!(made[0].is_none() && made[1].is_none() && made[2].is_some());
    for argv in [&["npm", "run", "lint"][..], &["make"]] {
        assert_eq!(prints("c", argv, &reading, &[]), [None, None, None]);
        assert!(cannot_be_known("eslint", argv).is_some());
    }
    let junit = Reading {
        format: "junit".to_owned(),
        ..reading
    };
    assert_eq!(prints("c", ESLINT, &junit, &[]), [None, None, None]);
}

#[test]
fn a_lint_with_known_findings_only() {
    let (a, b) = (finding(1, "a"), finding(2, "b"));
    let (both, one) = (
        lint(&[a.clone(), b.clone()]),
        lint(std::slice::from_ref(&a)),
    );
    let as_is = |_: &mut Terms<'static>, _: &mut Evidence| {};
    let found = judged(&both, &both, ESLINT, 1, as_is);
    assert!(passes(&found));
    assert_eq!(found.status, Status::PassedWithWarnings);
    assert_eq!(
        found.detail.as_deref(),
        Some("2 known findings of the base")
    );
    assert!(passes(&judged(&both, &one, ESLINT, 1, as_is)), "fewer");
    let more = judged(&one, &both, ESLINT, 1, as_is);
    assert!(!passes(&more));
    let detail = more.detail.unwrap();
    assert!(
        detail.ends_with("1 known of the base, but 1 more"),
        "{detail}"
    );
    // Two that are equal but for their number need two entries.
    let twice = lint(&[a.clone(), a.clone()]);
    assert!(!passes(&judged(&one, &twice, ESLINT, 1, as_is)));
    for exit in [0, 2, 127, 139] {
        assert!(
            !passes(&judged(&both, &both, ESLINT, exit, as_is)),
            "{exit}"
        );
    }
    type Change = fn(&mut Terms<'static>, &mut Evidence);
    let changes: [(&str, Change); 8] = [
        ("a signal", |_, e| e.signal = Some("SIGSEGV".to_owned())),
        ("out of time", |_, e| e.timed_out = true),
        ("accepted codes", |t, _| t.exit = &[1]),
        ("a problem", |_, e| {
            e.reading.as_mut().unwrap().object("it crashed")
        }),
        ("not all read", |_, e| {
            e.reading.as_mut().unwrap().leave_out("a part")
        }),
        ("more than listed", |_, e| {
            e.reading.as_mut().unwrap().errors = 3
        }),
        ("no fingerprints", |_, e| e.identities.clear()),
        ("no report", |_, e| e.report_missing = true),
    ];
    for (what, change) in changes {
        assert!(!passes(&judged(&both, &both, ESLINT, 1, change)), "{what}");
    }
}

#[test]
fn warnings_count_where_they_fail_it() {
    let warning = |line| Finding {
        severity: Level::Warning,
        ..finding(line, "w")
    };
    let known = lint(&[finding(1, "a"), warning(2)]);
    let more = lint(&[finding(1, "a"), warning(2), warning(3)]);
    let most = |n| move |t: &mut Terms<'static>, _: &mut Evidence| t.output.max_warnings = n;
    assert!(passes(&judged(&known, &more, ESLINT, 1, most(None))));
    assert!(passes(&judged(&known, &more, ESLINT, 1, most(Some(2)))));
    assert!(!passes(&judged(&known, &more, ESLINT, 1, most(Some(1)))));
    let only = lint(&[warning(2)]);
    assert!(passes(&judged(&only, &only, ESLINT, 0, most(Some(0)))));
    let two = lint(&[warning(2), warning(3)]);
    assert!(!passes(&judged(&only, &two, ESLINT, 0, most(Some(0)))));
}

#[test]
fn tests_that_are_known_to_fail() {
    let reading = |names: &[&str], passed, skipped| {
        let mut reading = Reading::from_format("pytest");
        for name in names {
            reading.fail(FailedTest {
                name: (*name).to_owned(),
                ..FailedTest::default()
            });
        }
        let failed = u64::try_from(names.len()).unwrap();
        reading.tests = Some(TestCounts {
            failed,
            passed,
            skipped,
            ..TestCounts::default()
        });
        reading
    };
    let as_is = |_: &mut Terms<'static>, _: &mut Evidence| {};
    let known = reading(&["t.py::a", "t.py::b"], 3, 0);
    let one = reading(&["t.py::a"], 4, 0);
    assert!(passes(&judged(&known, &known, PYTEST, 1, as_is)));
    assert!(passes(&judged(&known, &one, PYTEST, 1, as_is)));
    assert!(!passes(&judged(&one, &known, PYTEST, 1, as_is)));
    assert!(!passes(&judged(&known, &known, PYTEST, 2, as_is)));
    assert!(!passes(&judged(
        &known,
        &known,
        &["pytest", "-x"],
        1,
        as_is
    )));
    // A file that could not be collected hides its tests.
    let file = reading(&["t.py"], 3, 0);
    assert!(!passes(&judged(&file, &file, PYTEST, 1, as_is)));
    let least = |t: &mut Terms<'static>, _: &mut Evidence| t.output.min_tests = Some(9);
    assert!(!passes(&judged(&known, &known, PYTEST, 1, least)));
}
