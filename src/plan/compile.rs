//! How does a plan come about? Collect, select, merge, close, order, cut (engine.md section 3).

use super::Plan;
use super::error::PlanError;
use super::facts::{Facts, Question};
use super::request::Request;
use crate::contract::Contract;
use std::collections::BTreeSet;

/// What compiling gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// The plan, sealed with its digest.
    Plan(Box<Plan>),
    /// Facts that are still missing. Gather them, add them, compile again; at most four rounds.
    Needs(BTreeSet<Question>),
}

/// Compiles. Pure: the same arguments give the same bytes.
///
/// # Errors
/// Requests that do not fit the contract (an unknown role, an unknown name in `--only`, a skip of a needed check): exit 2.
pub fn compile(_contract: Option<&Contract>, _request: &Request, _facts: &Facts) -> Result<Compiled, PlanError> {
    Ok(Compiled::Needs(BTreeSet::new()))
}
