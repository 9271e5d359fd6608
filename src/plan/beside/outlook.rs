//! Says beside which others each step of a plan may run, and why not beside the rest.

use super::known::{KnownEffects, Seen, Unknown};
use super::meeting::meeting;
use super::{Apart, Beside, Effects, kept_apart};
use crate::base::index::Dense;
use crate::base::word::visible;
use crate::plan::audit::reason;
use crate::plan::contains::predecessors;
use crate::plan::{Plan, Step, StepIndex};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The most steps of which is said why another one does not run beside them.
const EXPLAINED: usize = 16;

/// Beside which steps another one may run: those of its tier that neither wait for it nor it for
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepBeside {
    /// Why it runs alone, whatever the others do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// The steps beside which it may run, in plan order.
    pub beside: Vec<String>,
    /// The number of further steps beside which it does not run.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The steps beside which it does not run, by the reason.
    pub not_beside: Vec<NotBeside>,
}

/// Steps beside which another one does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotBeside {
    /// Why, for people.
    pub reason: String,
    /// The steps, in plan order.
    pub steps: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Says it for each step, in plan order.
#[must_use]
pub fn outlook(plan: &Plan, known: &KnownEffects) -> Vec<StepBeside> {
    let effects = plan.steps.iter().map(|step| Effects::of(step, known));
    let effects: Dense<StepIndex, Effects<'_>> = effects.collect();
    let beside = Beside::among(&effects);
    let before = predecessors(plan);
    let waits = |step: &Step, other: &Step| {
        let before = before.get(step.id.as_str());
        before.is_some_and(|before| before.contains(other.id.as_str()))
    };
    let of_step = |(index, step): (StepIndex, &Step)| {
        let mut said = StepBeside::default();
        if let Seen::Unknown(why) = &effects[index].seen {
            said.alone = Some(unknown(why, "it", step));
            return said;
        }
        let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let others = plan.numbered_steps().filter(|(other, others)| {
            *other != index
                && others.tier == step.tier
                && !waits(step, others)
                && !waits(others, step)
        });
        let mut explained = 0;
        for (other, other_step) in others {
            let apart = kept_apart(step, other_step).map(by_contract);
            if apart.is_none() && beside.may(index, other) {
                said.beside.push(other_step.id.clone());
                continue;
            }
            if explained == EXPLAINED {
                said.more += 1;
                continue;
            }
            explained += 1;
            let reason = apart.unwrap_or_else(|| match &effects[other].seen {
                Seen::Unknown(why) => unknown(why, "that", other_step),
                Seen::All(_) => meeting(&effects[index], &effects[other])
                    .map(|meeting| meeting.sentence())
                    .unwrap_or_default(),
            });
            reasons
                .entry(reason)
                .or_default()
                .push(other_step.id.clone());
        }
        let reasons = reasons.into_iter();
        said.not_beside = reasons
            .map(|(reason, steps)| NotBeside { reason, steps })
            .collect();
        said
    };
    plan.numbered_steps().map(of_step).collect()
}

fn by_contract(apart: Apart<'_>) -> String {
    match apart {
        Apart::Exclusive(name) => format!("exclusive {}", visible(name.as_bytes())),
        Apart::Service(name) => format!("both want the service {}", visible(name.as_bytes())),
    }
}

/// Says why not everything is known of a step.
fn unknown(why: &Unknown, it: &str, step: &Step) -> String {
    match why {
        Unknown::NeverObserved => {
            let name = visible(step.check().as_bytes());
            format!("{it} was never observed (vplan audit {name})")
        }
        Unknown::Gap(gap) => format!("not all of what {it} does was seen: {}", reason(gap)),
        Unknown::Judge => format!("a judge answers {it}, which is not observed"),
    }
}
