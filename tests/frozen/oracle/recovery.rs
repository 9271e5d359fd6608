//! Recovery: what a tool prints, and what becomes of a plan when steps fail.

use super::choices::{Choices, fields};
use super::rewrites::{check_classification, check_recovery};
use proptest::prelude::*;
use std::cell::RefCell;
use vplan::arbitrary::drawn;
use vplan::arbitrary::recover as any_of;
use vplan::base::command::Command;
use vplan::base::index::Index as _;
use vplan::base::vocabulary::FailureCode;
use vplan::check::evidence::{Captured, Evidence};
use vplan::lang::command::parse_command;
use vplan::plan::digest::digest;
use vplan::plan::facts::Facts;
use vplan::plan::soundness::sound;
use vplan::plan::{Coverage, Plan};
use vplan::recover::bare::bare_plan;
use vplan::recover::{Failure, Recovery, classify as classified, preflight};

/// An exit code, commands, a line each, a zero, standard output, a zero, standard error: what a
/// step prints only ever triggers what is bound to that very tool, and no law of recovery breaks.
pub fn classify(bytes: &[u8]) {
    let (exit, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let [commands, stdout, stderr] = fields(rest);
    let commands = String::from_utf8_lossy(commands);
    let commands: Vec<Command> = commands.split('\n').take(6).map(parse_command).collect();
    let plan = bare_plan(&commands);
    let evidence = Evidence {
        exit: Some(i32::from(*exit)),
        stdout: Captured::from(stdout),
        stderr: Captured::from(stderr),
        ..Evidence::default()
    };
    let mut failures = Vec::new();
    for (index, _) in plan.numbered_steps() {
        check_classification(&plan, index.position(), &evidence, &Facts::default()).unwrap();
        failures.push(classified(&plan, index, &evidence, &Facts::default()));
    }
    check_recovery(&plan, &failures, &Facts::default()).unwrap();
}

thread_local! {
    static PLANS: RefCell<BoxedStrategy<Plan>> =
        RefCell::new(prop_oneof![2 => any_of::plan(), 1 => any_of::list(), 1 => any_of::early_cleanup()].boxed());
    static FACTS: RefCell<BoxedStrategy<Facts>> = RefCell::new(any_of::facts().boxed());
}

/// A plan and facts, drawn by the first sixteen bytes, and any failures of it: every law of
/// rewriting, to the end; several failures together never leave less verified than they say, and a
/// plan that nothing is wrong with stays as it is.
pub fn recover(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let plan = PLANS.with_borrow(|all| drawn(all, choices.take(8)));
    let facts = FACTS.with_borrow(|all| drawn(all, choices.take(8)));
    let (Some(mut plan), Some(facts)) = (plan, facts) else {
        return;
    };
    let mut failures: Vec<Failure> = Vec::new();
    for _ in 0..8 {
        if choices.is_over() || plan.steps.is_empty() {
            break;
        }
        let step = plan.steps[usize::from(choices.byte()) % plan.steps.len()]
            .id
            .clone();
        let code = choices.one(&FailureCode::ALL);
        failures.push(Failure {
            step,
            code,
            rule: "made up".to_owned(),
            evidence: "x".to_owned(),
        });
    }
    if choices.byte() % 4 == 1 {
        plan.policy
            .recover
            .truncate(usize::from(choices.byte()) % 8);
        plan = vplan::plan::digest::seal(plan);
    }
    let count = check_recovery(&plan, &failures, &facts).unwrap();
    assert!(
        count <= 64 * (plan.steps.len() + 1),
        "{count} rewrites of {} steps",
        plan.steps.len()
    );
    let once = preflight(plan.clone(), &facts);
    assert_eq!(
        preflight(once.clone(), &facts),
        once,
        "preflight is not done when it says so"
    );
    assert_eq!(
        once.digest.as_ref().map(|d| d == &digest(&once)),
        plan.digest.as_ref().map(|_| true),
        "a stale digest"
    );
    if let Recovery::Rewritten { rewrite, .. } = vplan::recover::recover(&plan, &[], &facts) {
        panic!("repaired without a failure: {rewrite:?}");
    }
    if sound(&plan).is_ok() {
        let mut now = plan.clone();
        while let Recovery::Rewritten {
            plan: next,
            rewrite,
        } = vplan::recover::recover(&now, &failures, &facts)
        {
            sound(&next).unwrap_or_else(|why| panic!("{}: {why:?}", rewrite.recovery_rule));
            let narrowed = rewrite.coverage == Coverage::Narrowed;
            assert_eq!(narrowed, !rewrite.dropped.is_empty(), "{rewrite:?}");
            assert!(
                !narrowed
                    || rewrite
                        .dropped
                        .iter()
                        .all(|id| next.steps.iter().all(|s| s.id != *id)),
                "{rewrite:?}"
            );
            now = *next;
        }
    }
}
