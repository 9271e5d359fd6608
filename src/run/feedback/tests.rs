//! Tests that feedback is bounded, inert, ordered and complete.

use super::*;
use crate::check_feedback::check_feedback;
use crate::report::Report;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_base::word::Word;
use vplan_check::evidence::{Captured, Evidence};
use vplan_check::outcome::Outcome;
use vplan_check::results::Level;
use vplan_check::results::{FailedTest, Finding};
use vplan_plan::scope::List;
use vplan_plan::{Note, Origin, step::empty};

fn step(id: &str, argv: &[&str]) -> Step {
    Step {
        argv: Some(argv.iter().map(|w| Word::from(*w)).collect()),
        command: argv.join(" "),
        id: id.to_owned(),
        ..empty(vplan_check::Kind::Run, Origin::Contract)
    }
}

fn plan(steps: Vec<Step>) -> Plan {
    let mut plan = Plan::of_steps(steps);
    plan.request.role = "worker".to_owned();
    vplan_plan::digest::seal(plan)
}

fn failed(step: &Step, evidence: &Evidence) -> StepRecord {
    let outcome = Outcome::new(Status::Failed, Cause::ExitCode, "exit code 1");
    StepRecord::with_evidence(step, outcome, evidence, 1, 1)
}

fn round() -> FeedbackRound<'static> {
    FeedbackRound {
        attempt: 1,
        caveats: &[],
        retries_remaining: 2,
        run_id: "r",
    }
}

#[test]
fn excerpts_are_bounded() {
    let short = Captured::from(&b"abcdef"[..]);
    assert_eq!(
        Excerpt::new(&short, 3),
        Excerpt {
            head: "abcdef".into(),
            omitted_bytes: 0,
            tail: String::new()
        }
    );
    assert_eq!(
        Excerpt::new(&short, 2),
        Excerpt {
            head: "ab".into(),
            omitted_bytes: 2,
            tail: "ef".into()
        }
    );
    let cut = Captured {
        head: Word::from("ab"),
        tail: Word::from("yz"),
        total: 100,
    };
    assert_eq!(
        Excerpt::new(&cut, 2),
        Excerpt {
            head: "ab".into(),
            omitted_bytes: 96,
            tail: "yz".into()
        }
    );
    let long = Excerpt::new(&cut, 3);
    assert_eq!(
        (long.omitted_bytes, long.head.len() + long.tail.len()),
        (96, 4)
    );
}

#[test]
fn the_worst_case_is_bounded() {
    // Bytes that take the most space: invalid ones become three bytes each, quotes and backslashes
    // two.
    for byte in [0xff, b'"', b'\\', b'\n'] {
        let plan = plan((0..40).map(|i| step(&format!("s{i}"), &["x"])).collect());
        let noise = vec![byte; 20_000];
        let evidence = Evidence {
            stdout: Captured::from(&noise[..]),
            stderr: Captured::from(&noise[..]),
            ..Evidence::default()
        };
        let text = String::from_utf8_lossy(&noise).into_owned();
        let records: Vec<StepRecord> = plan
            .steps
            .iter()
            .map(|step| {
                let mut record = failed(step, &evidence);
                let finding = Finding {
                    message: text.clone(),
                    file: Some(text.clone()),
                    ..Finding::default()
                };
                record.diagnostics = vec![finding; 100];
                record.failed_tests = vec![
                    FailedTest {
                        name: text.clone(),
                        message: Some(text.clone()),
                        ..FailedTest::default()
                    };
                    100
                ];
                record.problems = vec![text.clone(); 20];
                record.command = text.clone();
                record
            })
            .collect();
        let made = feedback(&plan, &records, &round()).unwrap();
        let size = json_size(&made);
        assert!(
            size <= FEEDBACK_BYTES + 1_000 && size > FEEDBACK_BYTES / 4,
            "{byte}: {size}"
        );
        assert_eq!(made.other_failures_count, 39);
        assert_eq!((made.failing.len(), made.failing[39].as_str()), (40, "s39"));
        assert!(!made.stdout.tail.is_empty());
        // Each has some details, the first one most.
        assert_eq!(made.other_failures.len(), 39);
        let of = |check: &FailedCheck| check.stdout.head.len() + check.stderr.head.len();
        let first = made.first();
        for other in &made.other_failures {
            assert!(other.cut && !other.diagnostics.is_empty(), "{}", other.id);
            assert!(of(other) <= of(&first), "{}", other.id);
        }
    }
}

#[test]
fn every_name_of_thousands_stays() {
    let plan = plan((0..3_000).map(|i| step(&format!("s{i}"), &["x"])).collect());
    let records: Vec<StepRecord> = plan
        .steps
        .iter()
        .map(|step| failed(step, &Evidence::default()))
        .collect();
    let made = feedback(&plan, &records, &round()).unwrap();
    assert_eq!(
        (made.failing.len(), made.other_failures_count),
        (3_000, 2_999)
    );
    assert_eq!(made.failing[2_999], "s2999");
    assert!(made.other_failures.len() > 100 && made.other_failures.len() < 2_999);
    assert_eq!(made.other_failures[0].detail, "exit code 1");
    let less = made.within(LEAST_BYTES, &json_size);
    assert_eq!(less.failing, made.failing);
    assert_eq!(less.detail, "exit code 1");
}

#[test]
fn one_check_alone() {
    let plan = plan(vec![
        step("a", &["x"]),
        step("b", &["x"]),
        step("c", &["x"]),
    ]);
    let noise = "y".repeat(10_000);
    let evidence = Evidence {
        stderr: Captured::from(noise.as_bytes()),
        ..Evidence::default()
    };
    let mut records: Vec<StepRecord> = plan.steps.iter().map(|s| failed(s, &evidence)).collect();
    records[2] = StepRecord::without_evidence(
        &plan.steps[2],
        Outcome::new(Status::NotRun, Cause::Needs, "x"),
    );
    let ending = crate::state::StateEnding::default();
    let whole = crate::report::report(&plan, records, &ending, Default::default());
    // As it is read back: without evidence.
    let text = vplan_base::canon::to_canonical(&whole);
    let read: Report = serde_json::from_str(&text).unwrap();
    let told = check_feedback(&read, Some(&plan), "b").unwrap();
    assert_eq!((told.step_id.as_str(), told.other_failures_count), ("b", 1));
    assert_eq!(told.failing, ["a", "b"]);
    assert!(told.other_failures.is_empty() && !told.suggestion.is_empty());
    assert!(told.stderr.len() >= 8_000, "{}", told.stderr.len());
    assert_eq!(check_feedback(&read, None, "c"), None);
    assert_eq!(check_feedback(&read, None, "d"), None);
    assert!(
        !check_feedback(&read, None, "a")
            .unwrap()
            .suggestion
            .is_empty()
    );
}

#[test]
fn errors_with_a_place_come_first() {
    let plan = plan(vec![
        step("a", &["x"]),
        step("b", &["x"]),
        step("c", &["x"]),
    ]);
    let finding = |severity, line: Option<u64>, message: &str| Finding {
        file: line.map(|_| "f".to_owned()),
        line,
        message: message.to_owned(),
        severity,
        ..Finding::default()
    };
    let mut records: Vec<StepRecord> = plan
        .steps
        .iter()
        .map(|s| failed(s, &Evidence::default()))
        .collect();
    records[0].status = Status::Passed;
    records[1].diagnostics = vec![
        finding(Level::Warning, Some(1), "w"),
        finding(Level::Error, None, "nowhere"),
        finding(Level::Error, Some(9), "\u{1b}[31mfirst\u{7}"),
    ];
    let made = feedback(&plan, &records, &round()).unwrap();
    let shown: Vec<&str> = made
        .diagnostics
        .iter()
        .map(|d| d.message.as_str())
        .collect();
    assert_eq!(shown, ["first\u{fffd}", "nowhere", "w"]);
    assert_eq!((made.step_id.as_str(), made.other_failures.len()), ("b", 1));
    assert_eq!(made.other_failures[0].id, "c");
    records.iter_mut().for_each(|r| r.status = Status::Passed);
    assert_eq!(feedback(&plan, &records, &round()), None);
}

#[test]
fn what_had_no_time_is_told_too() {
    let plan = plan(vec![step("a", &["x"])]);
    let outcome = Outcome::new(Status::NotRun, Cause::Budget, "no time left");
    let records = [StepRecord::without_evidence(&plan.steps[0], outcome)];
    assert!(
        feedback(&plan, &records, &round())
            .unwrap()
            .suggestion
            .contains("budget")
    );
    let behind = [StepRecord::without_evidence(
        &plan.steps[0],
        Outcome::new(Status::NotRun, Cause::Needs, "x"),
    )];
    assert_eq!(feedback(&plan, &behind, &round()), None);
}

#[test]
fn outside_the_scope() {
    let note = |path: &str, how: &str| Note {
        kind: OUTSIDE.to_owned(),
        message: format!("`{path}` is changed, which the contract's scope {how}"),
        path: RepoPath::from_exact(path.as_bytes()),
    };
    let mut plan = plan(vec![step("build", &["cargo", "build"])]);
    plan.notes = [
        ("secret/Cargo.lock", "denies"),
        ("Cargo.lock", "does not allow"),
        ("a/b/Cargo.toml", "does not allow"),
        ("x*/Cargo.toml", "does not allow"),
        (".cargo/Cargo.toml", "does not allow"),
        ("Makefile", "does not allow"),
    ]
    .map(|(path, how)| note(path, how))
    .to_vec();
    let made = feedback(&plan, &[], &round()).unwrap();
    assert_eq!(made.failure_code, Some(FailureCode::PolicyViolation.into()));
    let lists: Vec<List> = made.outside_scope.iter().map(|o| o.list).collect();
    assert_eq!(
        lists,
        [
            List::Deny,
            List::Allow,
            List::Allow,
            List::Allow,
            List::Allow,
            List::Allow
        ]
    );
    let needed: Vec<(&str, &str)> = made
        .allowed_paths_needed
        .iter()
        .map(|n| (n.path.as_str(), n.step_id.as_str()))
        .collect();
    assert_eq!(
        needed,
        [("Cargo.lock", "build"), ("a/b/Cargo.toml", "build")]
    );
    assert!(made.suggestion.contains("do not change the contract"));
}
