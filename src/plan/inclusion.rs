//! What is decided on each check while a plan is compiled.

use super::request::Request;
use super::{Omitted, Origin, Reason, Step};
use std::collections::BTreeMap;
use vplan_base::carried::Carried;
use vplan_base::command::Command;
use vplan_base::word::{Word, visible};
use vplan_check::{Kind, verb};
use vplan_contract::{Check, CheckIndex, Contract, Placement, Role};
/// The reason of a check that the request names, and of one that it does not name.
pub(crate) const NAMED: &str = "named";

/// The arguments that do not change while compiling.
pub(crate) struct Input<'a> {
    pub declared: Option<&'a Contract>,
    pub contract: &'a Contract,
    pub request: &'a Request,
    pub role: &'a str,
    /// What the role restricts, if it restricts anything.
    pub restriction: Option<&'a Role>,
}

impl Input<'_> {
    /// Leaves out what the role does not run.
    pub fn outside_role(&self, id: &str, runs: impl FnOnce(&Role) -> bool) -> Option<Omitted> {
        let restriction = self.restriction.filter(|role| !runs(role))?;
        let tags = visible(restriction.only.join(" or "));
        let role = visible(self.role);
        let text = format!("role {role} runs only checks tagged {tags}");
        let reason = Reason {
            line: restriction.line,
            names: restriction.only.clone(),
            ..Reason::from_condition("role")
        };
        Some(Omitted {
            reasons: vec![reason],
            ..omitted(id, text, "")
        })
    }
}

/// The decisions on the checks of a contract; none on an omitted check if no reason is requested.
pub(crate) type Fates<'a> = BTreeMap<CheckIndex, Inclusion<'a>>;

/// The decision on a contract's check.
pub(crate) enum Inclusion<'a> {
    Included(Chosen<'a>),
    Omitted(Box<Omitted>),
    /// It is the same work as an earlier check.
    Duplicate,
}

/// A contract's check that is part of the plan.
#[derive(Default)]
pub(crate) struct Chosen<'a> {
    pub placements: Vec<&'a Placement>,
    pub reasons: Vec<Reason>,
    pub tier: u8,
    /// The files for `{changed}`.
    pub files: Vec<Word>,
}

/// A command of the request, proposed, or inferred.
pub(crate) struct RequestedCommand<'a> {
    pub command: &'a Command,
    /// The verb that the caller states.
    pub verb: Option<Kind>,
    /// The directory and variables, in addition to its own, that the `cd` and `export` before it in
    /// its list set.
    pub carried: Carried,
    pub id: String,
    pub origin: Origin,
    /// The reason why it was proposed.
    pub describe: Option<&'a str>,
}

impl RequestedCommand<'_> {
    /// Returns its verb and its `min-tests`.
    pub fn demand(&self) -> (Kind, Option<u64>) {
        verb::of_command(self.verb, self.command)
    }
}

/// A node of the plan: the steps of one check.
pub(crate) struct PlanNode<'a> {
    pub check: Option<&'a Check>,
    pub steps: Vec<Step>,
}

/// Whether a check is part of the plan.
pub(crate) fn is_in(fates: &Fates<'_>, index: CheckIndex) -> bool {
    matches!(fates.get(&index), Some(Inclusion::Included(_)))
}

/// Returns the checks that are part of the plan, in order.
pub(crate) fn included(fates: &Fates<'_>) -> Vec<CheckIndex> {
    let is_in = |(_, fate): &(_, &Inclusion)| matches!(fate, Inclusion::Included(_));
    fates.iter().filter(is_in).map(|(i, _)| *i).collect()
}

pub(crate) fn omitted(id: &str, reason: String, condition: &str) -> Omitted {
    Omitted {
        id: id.to_owned(),
        reason,
        reasons: vec![Reason::from_condition(condition)],
        ..Omitted::default()
    }
}

/// Creates the entry of a check that is omitted because others were named.
pub(crate) fn unnamed(id: &str) -> Omitted {
    omitted(id, "not among the names".to_owned(), NAMED)
}

pub(crate) fn no_file_left(id: &str) -> Omitted {
    let reason = "no changed file is left for {changed}".to_owned();
    omitted(id, reason, "changed")
}
