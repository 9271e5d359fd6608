//! What is known of a step's effects.

use super::super::Step;
use super::declared::{Declared, declared};
use super::known::{Knowledge, KnownEffects};
/// What is known of a step's effects.
#[derive(Clone, Debug)]
pub struct Effects<'a> {
    pub(super) seen: Knowledge<'a>,
    pub(super) declared: Declared,
}

impl<'a> Effects<'a> {
    pub(crate) fn of(step: &Step, known: &'a KnownEffects) -> Self {
        Self {
            seen: known.of(step),
            declared: declared(step),
        }
    }
}
