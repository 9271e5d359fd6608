//! Repairs a plan that was itself wrong: plan and failures in, a plan or a refusal out. Pure (src/engine.md
//! section 6).

#![forbid(unsafe_code)]

pub mod bare;
mod change;
pub mod failure;
pub mod obstacle;
mod preflight;
mod repair;
pub mod rewrite;
pub mod rules;

pub use failure::Failure;
pub use repair::{Recovery, recover};
use std::collections::BTreeSet;
use vplan_base::vocabulary::FailureCode;
use vplan_check::evidence::Evidence;
use vplan_plan::facts::{Facts, Question};
use vplan_plan::{Plan, Step, StepIndex};

/// Returns the facts on which classifying this step's failure, or repairing it, depends. Gather
/// them before [`classify`] and [`recover`].
#[must_use]
pub fn questions(step: &Step) -> BTreeSet<Question> {
    failure::questions(step)
}

/// Classifies why a step of the plan failed.
#[must_use]
pub fn classify(plan: &Plan, step: StepIndex, evidence: &Evidence, facts: &Facts) -> Failure {
    failure::classify(plan, step, evidence, facts)
}

/// Returns the facts beyond those of classifying on which [`advice`] about a classified failure
/// depends.
#[must_use]
pub fn advice_questions(step: &Step, code: FailureCode) -> BTreeSet<Question> {
    failure::advice_questions(step, code)
}

/// Returns advice about the names that a failed step's command requests, if they are the cause: the
/// missing name, similar ones, and the file. In vplan's own words, with plain names only.
#[must_use]
pub fn advice(step: &Step, code: FailureCode, stderr: &[u8], facts: &Facts) -> Option<String> {
    failure::advice(step, code, stderr, facts)
}

/// Repairs steps that are certain to fail, before anything runs: classifies from facts alone and
/// applies rules until none applies. The answers to [`preflight_questions`] must be among `facts`;
/// those that the repair depended on are recorded in the plan. A step whose repair is refused stays
/// unchanged.
#[must_use]
pub fn preflight(plan: Plan, facts: &Facts) -> Plan {
    preflight::repair(plan, facts)
}

/// Returns the failures that [`preflight()`] foresees, in plan order, before any repair.
#[must_use]
pub fn foreseen(plan: &Plan, facts: &Facts) -> Vec<Failure> {
    preflight::foreseen(plan, facts)
}

/// Returns the facts that [`preflight()`] depends on and that are not among `facts` yet. Call it
/// until it returns none: questions depend on the answers so far. So a plan without errors only
/// costs reading a makefile or a package.json.
#[must_use]
pub fn preflight_questions(plan: &Plan, facts: &Facts) -> BTreeSet<Question> {
    preflight::needed(plan, facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bare::{plan_of_lines, plan_of_words, reported_failure};
    use vplan_base::vocabulary::RewriteRule;
    use vplan_plan::Refusal;

    #[test]
    fn a_rule_applies_only_where_the_policy_names_it() {
        let mut plan = plan_of_words(&["npm run x", "npm run lint"]);
        let failures = [reported_failure(1, FailureCode::MissingScript)];
        plan.policy.recover = vec![RewriteRule::DropMissingMakeTarget.into()];
        let refusal = Refusal {
            reason: "the plan's policy does not allow it".to_owned(),
            recovery_rule: RewriteRule::DropMissingScript.into(),
            step: "command-1".to_owned(),
        };
        assert_eq!(
            recover(&plan, &failures, &Facts::default()),
            Recovery::Refused(vec![refusal])
        );
        plan.policy.recover = vec![RewriteRule::DropMissingScript.into()];
        let Recovery::Rewritten { rewrite, .. } = recover(&plan, &failures, &Facts::default())
        else {
            panic!("not repaired");
        };
        assert_eq!(rewrite.dropped, ["command-1"]);
    }

    #[test]
    fn what_a_step_asks_of_the_repository() {
        for (command, want) in [
            ("npm run x", &["scripts:.", "base-scripts:."][..]),
            (
                "make -C web x",
                &["make-targets:web", "base-make-targets:web"],
            ),
            ("env CI=1 npm run x", &["scripts:.", "base-scripts:."]),
            ("npm run x -w a", &[]),
            (
                "make -f other.mk x",
                &[
                    "makefile-targets:other.mk",
                    "base-makefile-targets:other.mk",
                ],
            ),
            (
                "make -C web -f ci/a.mk x",
                &[
                    "makefile-targets:web/ci/a.mk",
                    "base-makefile-targets:web/ci/a.mk",
                ],
            ),
            ("make -f a.mk -f b.mk x", &[]),
            ("make -f - x", &[]),
            ("make --file=../a.mk x", &[]),
            ("env MAKEFILES=o.mk make x", &[]),
            ("env MAKEFLAGS=-k make x", &[]),
            ("make MAKEFLAGS=--eval=x: x", &[]),
            ("make VPATH:=src x", &[]),
            ("cargo test", &[]),
        ] {
            let plan = plan_of_words(&[command]);
            let asked = questions(&plan.steps[0])
                .iter()
                .map(|q| String::from_utf8(q.to_word().as_bytes().to_vec()).unwrap())
                .collect::<Vec<_>>();
            assert_eq!(asked, want, "{command}");
        }
    }

    /// Checks that a failure of a step that does not exist belongs to no step, also after steps
    /// were given new ids.
    #[test]
    fn no_new_step_is_called_as_one_that_failed() {
        let mut plan = plan_of_lines(&["make && make x", "make y"]);
        plan.steps[1].id = "command-1-1".to_owned();
        let elsewhere = |id: &str| Failure {
            step: id.to_owned(),
            ..reported_failure(1, FailureCode::MissingMakeTarget)
        };
        let failures = [
            elsewhere("command-1-2"),
            reported_failure(1, FailureCode::UnsupportedFormat),
        ];
        let Recovery::Rewritten { plan, .. } = recover(&plan, &failures, &Facts::default()) else {
            panic!("not repaired");
        };
        let ids: Vec<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["command-1-3", "command-1-4", "command-1-1"]);
        assert_eq!(
            recover(&plan, &failures, &Facts::default()),
            Recovery::NotApplicable
        );
    }
}
