//! Reports for each step of a plan which others may run in parallel, and why the rest may not.

use super::effects::StepEffects;
use super::known::{Knowledge, KnownEffects, UnknownEffects};
use super::meeting::meeting;
use super::pairs::{Conflict, ParallelPairs, kept_apart};
use crate::audit::reason;
use crate::containment::predecessors;
use crate::{Plan, Step, StepIndex};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::index::Dense;
use vplan_base::word::visible;

/// Maximum number of conflicting steps that are explained for each step.
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
    #[serde(skip_serializing_if = "crate::is_default")]
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

impl StepBeside {
    fn add(&mut self, reason: String, step: &str) {
        let same = self.not_beside.iter_mut().find(|not| not.reason == reason);
        match same {
            Some(not) => not.steps.push(step.to_owned()),
            None => {
                let steps = vec![step.to_owned()];
                self.not_beside.push(NotBeside { reason, steps });
            }
        }
    }
}

/// Says it for each step, in plan order.
pub fn forecast(plan: &Plan, known: &KnownEffects) -> Vec<StepBeside> {
    let effects = StepEffects::of_all(plan, known);
    let outlook = Outlook {
        plan,
        beside: ParallelPairs::among(&effects),
        before: predecessors(plan),
        effects: &effects,
    };
    let steps = plan.numbered_steps();
    steps
        .map(|(index, step)| outlook.forecast_step(index, step))
        .collect()
}

/// A plan, and what decides which of its steps may run in parallel.
struct Outlook<'a> {
    plan: &'a Plan,
    effects: &'a Dense<StepIndex, StepEffects<'a>>,
    beside: ParallelPairs,
    before: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl Outlook<'_> {
    fn forecast_step(&self, index: StepIndex, step: &Step) -> StepBeside {
        let mut said = StepBeside::default();
        if let Knowledge::Unknown(why) = &self.effects[index].seen {
            said.alone = Some(alone(why, step));
            return said;
        }
        let mut explained = 0;
        for (other, other_step) in self.plan.numbered_steps() {
            if other == index || self.are_ordered(step, other_step) {
                continue;
            }
            let apart = kept_apart(step, other_step).map(by_contract);
            if apart.is_none() && self.beside.may(index, other) {
                said.beside.push(other_step.id.clone());
            } else if explained == EXPLAINED {
                said.more += 1;
            } else {
                explained += 1;
                let reason = apart.unwrap_or_else(|| self.why(index, other));
                said.add(reason, &other_step.id);
            }
        }
        said
    }

    /// Whether one of two steps runs after the other, whatever they do.
    fn are_ordered(&self, one: &Step, other: &Step) -> bool {
        let waits = |one: &Step, other: &Step| {
            let before = self.before.get(one.id.as_str());
            before.is_some_and(|before| before.contains(other.id.as_str()))
        };
        one.tier != other.tier || waits(one, other) || waits(other, one)
    }

    /// Says why two steps that are apart by what they do are.
    fn why(&self, index: StepIndex, other: StepIndex) -> String {
        match &self.effects[other].seen {
            Knowledge::Unknown(why) => unknown(why),
            Knowledge::All(_) => {
                let meeting = meeting(&self.effects[index], &self.effects[other]);
                meeting
                    .map(|meeting| meeting.sentence())
                    .unwrap_or_default()
            }
        }
    }
}

fn by_contract(apart: Conflict<'_>) -> String {
    match apart {
        Conflict::Exclusive(name) => format!("exclusive {}", visible(name)),
        Conflict::Service(name) => format!("both want the service {}", visible(name)),
    }
}

/// Says why a step runs alone, and what would change that.
fn alone(why: &UnknownEffects, step: &Step) -> String {
    let name = visible(step.check());
    match why {
        UnknownEffects::NeverObserved => format!("it was {} (vplan audit {name})", unknown(why)),
        UnknownEffects::Gap(_) | UnknownEffects::Judge => unknown(why),
    }
}

/// Says why not everything is known of a step.
fn unknown(why: &UnknownEffects) -> String {
    match why {
        UnknownEffects::NeverObserved => "never observed".to_owned(),
        UnknownEffects::Gap(gap) => format!("not all was seen: {}", reason(gap)),
        UnknownEffects::Judge => "what a judge does is not observed".to_owned(),
    }
}
