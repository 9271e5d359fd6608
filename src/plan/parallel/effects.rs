//! What is known of a step's effects.

use super::declared::{Declared, declared};
use super::known::{Knowledge, KnownEffects};
use crate::{Plan, Step, StepIndex};
use vplan_base::index::Dense;
/// What is known of a step's effects.
#[derive(Clone, Debug)]
pub struct StepEffects<'a> {
    pub(super) seen: Knowledge<'a>,
    pub(super) declared: Declared,
}

impl<'a> StepEffects<'a> {
    pub(crate) fn new(step: &Step, known: &'a KnownEffects) -> Self {
        Self {
            seen: known.get(step),
            declared: declared(step),
        }
    }

    /// Returns those of all steps of a plan.
    pub(crate) fn of_all(plan: &Plan, known: &'a KnownEffects) -> Dense<StepIndex, Self> {
        plan.steps
            .iter()
            .map(|step| Self::new(step, known))
            .collect()
    }
}
