//! Which steps of a plan may run beside each other, by what the contract says and by what earlier
//! runs of the same commands were seen to do. A step of which nothing is known runs alone.
//!
//! Two steps meet where one writes a file and the other writes it too, reads it, looks for it, uses
//! something below it, or lists the folder that it is in.

mod declared;
pub mod known;
mod meeting;
mod outlook;
mod paths;

use super::{Plan, Step, StepIndex};
use crate::base::bits::Bits;
use crate::base::index::Dense;
use crate::base::service::Service;
use declared::{Declared, declared};
use known::{Knowledge, KnownEffects};
pub use meeting::Meeting;
pub use outlook::{NotBeside, StepBeside, outlook};

/// What is known of a step's effects.
#[derive(Clone, Debug)]
pub(super) struct Effects<'a> {
    seen: Knowledge<'a>,
    declared: Declared,
}

impl<'a> Effects<'a> {
    pub(super) fn of(step: &Step, known: &'a KnownEffects) -> Self {
        Self {
            seen: known.of(step),
            declared: declared(step),
        }
    }
}

/// What the contract says that keeps two steps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart<'s> {
    /// Both have this `exclusive`.
    Exclusive(&'s str),
    /// Both want this service.
    Service(&'s str),
}

/// Returns what the contract says that keeps two steps apart, if it says anything.
#[must_use]
pub fn kept_apart<'s>(one: &'s Step, other: &Step) -> Option<Apart<'s>> {
    let exclusive = one.exclusive.as_deref();
    let exclusive = exclusive.filter(|name| other.exclusive.as_deref() == Some(name));
    let is_shared = |service: &&Service| other.with.iter().any(|s| s.name == service.name);
    let service = || one.with.iter().find(is_shared);
    exclusive
        .map(Apart::Exclusive)
        .or_else(|| service().map(|service| Apart::Service(&service.name)))
}

/// Which steps of a plan may run beside each other, as far as their effects are known.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The steps of which something is not known.
    unknown: Bits<StepIndex>,
    /// For each step those that it meets.
    meets: Dense<StepIndex, Bits<StepIndex>>,
}

impl Beside {
    /// Decides it for all pairs of a plan's steps. Takes time for the paths and for what the pairs
    /// share of them, not for each pair's paths.
    #[must_use]
    pub fn of(plan: &Plan, known: &KnownEffects) -> Self {
        let steps = plan.steps.iter().map(|step| Effects::of(step, known));
        let steps: Dense<StepIndex, Effects<'_>> = steps.collect();
        Self::among(&steps)
    }

    pub(super) fn among(steps: &Dense<StepIndex, Effects<'_>>) -> Self {
        let none = Bits::none(steps.len());
        let mut meets = Dense::filled(none, steps.len());
        let used = paths::meet(steps, &mut meets);
        declared::meet(steps, &used, &mut meets);
        for (step, met) in meets.clone().numbered() {
            met.iter().for_each(|other| meets[other].set(step));
        }
        let is_unknown = |step: StepIndex| matches!(steps[step].seen, Knowledge::Unknown(_));
        Self {
            unknown: Bits::of(steps.len(), is_unknown),
            meets,
        }
    }

    /// Whether two steps may run beside each other.
    #[must_use]
    pub fn may(&self, one: StepIndex, other: StepIndex) -> bool {
        !self.unknown.has(one) && !self.unknown.has(other) && !self.meets[one].has(other)
    }
}

#[cfg(test)]
mod tests;
