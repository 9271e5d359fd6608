//! Applies the first rule that repairs a failure.

use crate::failure::Failure;
use crate::obstacle::Obstacle;
use crate::rewrite;
use crate::rules::{self, RepairCase, Rule};
use std::cell::OnceCell;
use vplan_plan::facts::Facts;
use vplan_plan::{Plan, Refusal, Rewrite, StepIndex};

/// The result of an attempt to repair a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// Another plan, sealed, its `rewrites` longer by `rewrite`.
    Rewritten {
        /// The repaired plan.
        plan: Box<Plan>,
        /// The record of the rewrite.
        rewrite: Rewrite,
    },
    /// A rule matched, but must not be applied: the reason, for people. Several rules give several
    /// reasons.
    Refused(Vec<Refusal>),
    /// No rule applies to these failures.
    NotApplicable,
}

/// Applies the first applicable rule to the failures, once; the caller repeats it until none
/// applies. The result depends on the set of failures, not on their order. Failures of steps
/// outside of the plan are ignored.
pub fn recover(plan: &Plan, failures: &[Failure], facts: &Facts) -> Recovery {
    let positions = plan.positions();
    let index = |failure: &Failure| positions.get(failure.step.as_str()).copied();
    let mut known: Vec<(StepIndex, Failure)> = failures
        .iter()
        .filter_map(|f| Some((index(f)?, f.clone())))
        .collect();
    known.sort();
    known.dedup();
    let mut refusals = Vec::new();
    let rules: Vec<Rule> = rules::all().collect();
    let together = OnceCell::new();
    for (index, failure) in &known {
        let step = plan.step(*index);
        let case = RepairCase {
            plan,
            index: *index,
            step,
            code: failure.code,
            failures,
            facts,
            rules: &rules,
            together: &together,
        };
        for rule in rules.iter().filter(|rule| rule.fires_on == failure.code) {
            let reason = match (rule.rewrite)(&case) {
                None => {
                    tracing::debug!(step = %step.id, rule = rule.name.name(), "a rule has nothing to say");
                    continue;
                }
                Some(_) if !plan.policy.recover.contains(&rule.name.into()) => Obstacle::Policy,
                Some(Err(reason)) => reason,
                Some(Ok(_)) if !rewrite::has_room(plan, &plan.rewrites) => {
                    Obstacle::TooManyRewrites
                }
                Some(Ok(change)) => {
                    let (plan, rewrite) = rewrite::apply(plan, rule, failure, change);
                    match rewrite::well_formed(&plan) {
                        Ok(()) => {
                            tracing::debug!(step = %step.id, rule = rule.name.name(), "a rule applies");
                            return Recovery::Rewritten {
                                plan: Box::new(plan),
                                rewrite,
                            };
                        }
                        Err(reason) => reason.into(),
                    }
                }
            };
            tracing::debug!(step = %step.id, rule = rule.name.name(), %reason, "a rule is refused");
            refusals.push(Refusal {
                reason: reason.to_string(),
                recovery_rule: rule.name.into(),
                step: step.id.clone(),
            });
        }
    }
    if refusals.is_empty() {
        Recovery::NotApplicable
    } else {
        Recovery::Refused(refusals)
    }
}
