//! Pairs of steps that may run in parallel.

use super::super::{Plan, Step, StepIndex};
use super::effects::StepEffects;
use super::known::{Knowledge, KnownEffects};
use vplan_base::bits::Bits;
use vplan_base::index::Dense;
use vplan_base::service::Service;
/// What the contract says that keeps two steps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict<'s> {
    /// Both have this `exclusive`.
    Exclusive(&'s str),
    /// Both want this service.
    Service(&'s str),
}

/// Returns what the contract says that keeps two steps apart, if it says anything.
pub fn kept_apart<'s>(one: &'s Step, other: &Step) -> Option<Conflict<'s>> {
    let exclusive = one.exclusive.as_deref();
    let exclusive = exclusive.filter(|name| other.exclusive.as_deref() == Some(name));
    let is_shared = |service: &&Service| other.with.iter().any(|s| s.name == service.name);
    let service = || one.with.iter().find(is_shared);
    exclusive
        .map(Conflict::Exclusive)
        .or_else(|| service().map(|service| Conflict::Service(&service.name)))
}

/// Which steps of a plan may run in parallel, as far as their effects are known.
#[derive(Clone, Debug)]
pub struct ParallelPairs {
    /// The steps with unknown effects.
    pub(super) unknown: Bits<StepIndex>,
    /// For each step those that it meets.
    pub(super) meets: Dense<StepIndex, Bits<StepIndex>>,
}

impl ParallelPairs {
    /// Decides it for all pairs of a plan's steps. Takes time for the paths and for what the pairs
    /// share of them, not for each pair's paths.
    pub fn decide(plan: &Plan, known: &KnownEffects) -> Self {
        Self::among(&StepEffects::of_all(plan, known))
    }

    pub(crate) fn among(steps: &Dense<StepIndex, StepEffects<'_>>) -> Self {
        let none = Bits::none(steps.len());
        let mut meets = Dense::filled(none, steps.len());
        let used = super::paths::meet(steps, &mut meets);
        super::areas::meet(steps, &used, &mut meets);
        for (step, met) in meets.clone().numbered() {
            met.iter().for_each(|other| meets[other].set(step));
        }
        let is_unknown = |step: StepIndex| matches!(steps[step].seen, Knowledge::Unknown(_));
        Self {
            unknown: Bits::from_fn(steps.len(), is_unknown),
            meets,
        }
    }

    /// Whether two steps may run in parallel.
    pub fn may(&self, one: StepIndex, other: StepIndex) -> bool {
        !self.unknown.has(one) && !self.unknown.has(other) && !self.meets[one].has(other)
    }
}
