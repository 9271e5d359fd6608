//! Tests that passed without showing a test, or some of those that they announce: their exit code is all the
//! evidence.

use super::record::StepRecord;
use vplan_base::word::{and_more, count, visible};
use vplan_check::Severity;
use vplan_check::commands::parts;
use vplan_check::results::TestCounts;
use vplan_check::tool::Invocation;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::{Plan, Step};

/// Whether a command of a step only lists or shows tests.
fn is_dry(step: &Step) -> bool {
    step.with_words(parts).iter().any(Invocation::is_dry)
}

/// Makes the caveat about checks with the verb `test`, of the contract or of a request, that passed and whose output shows no test that
/// ran, whose command runs none, or no outcome of some that it announces; `None` if there are none. A contract with `min-tests 0`
/// expects the first two, one with any `min-tests` the third; one that begins to say `min-tests 0` is weaker than the one at the base.
pub fn tests_not_shown(plan: &Plan, records: &[StepRecord]) -> Option<Caveat> {
    // With the number of tests without an outcome, where others have one.
    let mut checks: Vec<(&str, u64)> = Vec::new();
    for (step, record) in plan.steps.iter().zip(records) {
        let tests = record
            .tests
            .filter(|tests: &TestCounts| tests.ran() > 0 && !is_dry(step));
        let is_shown = match tests {
            Some(tests) => tests.unshown == 0 || step.min_tests.is_some(),
            None => step.min_tests == Some(0),
        };
        let is_blocking_test = step.is_test() && step.severity == Severity::Blocking;
        if is_blocking_test && record.status.is_pass() && !is_shown {
            checks.push((step.check(), tests.map_or(0, |tests| tests.unshown)));
        }
    }
    checks.dedup();
    let (first, unshown) = checks.first().copied()?;
    let more = and_more(checks.len().saturating_sub(1));
    let name = visible(first.as_bytes());
    let (message, help) = match unshown {
        0 => (
            format!("`{name}`{more} passed by exit code alone: the output shows no test that ran"),
            "name its `format` or `report`; if it runs no tests, its verb is `run`; if its runner prints no count, write \
             `min-tests 0`",
        ),
        n => (
            format!(
                "`{name}`{more} passed, and the output does not say how {} ended",
                count(n, "announced test")
            ),
            "if other machines run them, write how many run here (`min-tests`)",
        ),
    };
    let checks = checks
        .iter()
        .map(|(check, _)| (*check).to_owned())
        .collect();
    Some(
        Caveat::new(Code::TestsNotShown, Effect::Narrows, message)
            .of_checks(checks)
            .way_out(help),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_check::Kind;
    use vplan_check::outcome::{Outcome, Status};
    use vplan_plan::bare::plan_of_words;

    #[test]
    fn only_tests_that_pass_and_show_nothing() {
        let ran = |passed, failed| {
            Some(TestCounts {
                passed,
                failed,
                ..TestCounts::default()
            })
        };
        let lost = ran(1, 0).map(|tests| TestCounts {
            unshown: 2,
            ..tests
        });
        for (what, kind, status, min_tests, tests, is_said) in [
            ("some lost", Kind::Test, Status::Passed, None, lost, true),
            (
                "some elsewhere",
                Kind::Test,
                Status::Passed,
                Some(1),
                lost,
                false,
            ),
            ("silent", Kind::Test, Status::Passed, None, None, true),
            ("cached", Kind::Test, Status::Cached, None, None, true),
            (
                "read, none ran",
                Kind::Test,
                Status::Passed,
                Some(1),
                ran(0, 0),
                true,
            ),
            ("expected", Kind::Test, Status::Passed, Some(0), None, false),
            ("shown", Kind::Test, Status::Passed, None, ran(1, 0), false),
            (
                "known failures",
                Kind::Test,
                Status::PassedWithWarnings,
                None,
                ran(0, 1),
                false,
            ),
            ("failed", Kind::Test, Status::Failed, None, None, false),
            ("another verb", Kind::Run, Status::Passed, None, None, false),
        ] {
            let mut plan = plan_of_words(&["a"]);
            for step in &mut plan.steps {
                (step.kind, step.min_tests) = (kind, min_tests);
            }
            let step = plan.steps.first().unwrap();
            let mut record = StepRecord::without_evidence(step, Outcome::PASSED);
            (record.status, record.tests) = (status, tests);
            let caveat = tests_not_shown(&plan, &[record]);
            assert_eq!(caveat.is_some(), is_said, "{what}");
        }
    }
}
