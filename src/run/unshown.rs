//! Tests that passed without showing a test: their exit code is all the evidence.

use super::record::StepRecord;
use vplan_base::word::{and_more, visible};
use vplan_check::Severity;
use vplan_check::commands::parts;
use vplan_check::reading::TestCounts;
use vplan_check::tool::Invocation;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::{Plan, Step};

/// Whether a command of a step only lists or shows tests.
fn is_dry(step: &Step) -> bool {
    let words = step.argv.iter().flatten();
    let words: Vec<_> = words
        .map(|w| String::from_utf8_lossy(w.as_bytes()))
        .collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    parts(&words).iter().any(Invocation::is_dry)
}

/// Makes the caveat about checks with the verb `test`, of the contract or of a request, that passed and whose output shows no test that
/// ran, or whose command runs none; `None` where there are none. A contract that says `min-tests 0` expects that; one that begins to
/// say it is weaker than the one at the base.
pub fn tests_not_shown(plan: &Plan, records: &[StepRecord]) -> Option<Caveat> {
    let mut checks: Vec<&str> = Vec::new();
    for (step, record) in plan.steps.iter().zip(records) {
        let ran = |tests: TestCounts| tests.ran() > 0;
        let shows = record.tests.is_some_and(ran) && !is_dry(step);
        let is_blocking_test = step.is_test() && step.severity == Severity::Blocking;
        if is_blocking_test && record.status.is_pass() && !shows && step.min_tests != Some(0) {
            checks.push(step.check());
        }
    }
    checks.dedup();
    let first = checks.first()?;
    let more = and_more(checks.len().saturating_sub(1));
    let name = visible(first.as_bytes());
    let message =
        format!("`{name}`{more} passed by exit code alone: the output shows no test that ran");
    let checks = checks.iter().map(|check| (*check).to_owned()).collect();
    let help = "name its `format` or `report`; if it runs no tests, its verb is `run`; if its runner prints no count, write \
                `min-tests 0`";
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
        for (what, kind, status, min_tests, tests, is_said) in [
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
