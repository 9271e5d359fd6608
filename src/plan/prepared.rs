//! Prepares a contract for many requests, so that each costs what it selects and not what there is.

use super::facts::Facts;
use super::select::{ConditionResults, Judged, SelectionDetail, holds, selections};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::bits::Bits;
use vplan_base::change::ChangeSet;
use vplan_base::index::{Dense, Index as _};
use vplan_base::matching::{Matcher, Selected};
use vplan_contract::{CheckIndex, ConditionIndex, Contract, Placement, RiskIndex, Test};

/// A contract with what all requests share.
#[derive(Debug)]
pub(super) struct Prepared<'c> {
    contract: &'c Contract,
    matcher: Matcher<'c>,
    /// The conditions that have a selection, in the order of the matcher; the triggers follow.
    selecting: Vec<ConditionIndex>,
    /// The conditions that hold when they select no changed file.
    unselected: Bits<ConditionIndex>,
    /// The conditions that name each role.
    of_role: BTreeMap<&'c str, Vec<ConditionIndex>>,
    /// The conditions that ask for facts.
    asking: Vec<ConditionIndex>,
    /// For some conditions the checks with a place that cannot apply unless it holds.
    behind: Dense<ConditionIndex, Vec<CheckIndex>>,
    /// The checks with a place that depends on none of them.
    free: Vec<CheckIndex>,
}

impl<'c> Prepared<'c> {
    /// Prepares a contract.
    pub fn new(contract: &'c Contract) -> Self {
        let conditions = &contract.conditions;
        let with = |wanted: &dyn Fn(&Test) -> bool| -> Vec<ConditionIndex> {
            let found = conditions.numbered().filter(|(_, c)| wanted(&c.test));
            found.map(|(i, _)| i).collect()
        };
        let mut of_role: BTreeMap<&str, Vec<ConditionIndex>> = BTreeMap::new();
        for (index, condition) in conditions.numbered() {
            if let Test::Role(roles) = &condition.test {
                let roles = roles.iter().map(String::as_str);
                roles.for_each(|role| of_role.entry(role).or_default().push(index));
            }
        }
        let mut behind: Dense<_, Vec<CheckIndex>> = Dense::filled(Vec::new(), conditions.len());
        let mut free = Vec::new();
        for (index, check) in contract.checks.numbered() {
            for placement in &check.placements {
                match decisive(contract, placement) {
                    Some(condition) => behind[condition].push(index),
                    None => free.push(index),
                }
            }
        }
        Self {
            contract,
            matcher: Matcher::new(&selections(contract)),
            selecting: with(&|test| test.selection().is_some()),
            unselected: Bits::from_fn(conditions.len(), |i| holds_alone(&conditions[i].test)),
            of_role,
            asking: with(&|test| test.sought().is_some()),
            behind,
            free,
        }
    }

    /// Evaluates the conditions and triggers for a request, without reasons.
    pub fn judge(&self, role: &str, changes: &ChangeSet, facts: &Facts) -> Judged<'c> {
        let mut results = ConditionResults {
            holds: self.unselected.clone(),
            open: BTreeSet::new(),
            pulled: Dense::filled(false, self.contract.risks.len()),
        };
        let mut candidates: BTreeSet<CheckIndex> = self.free.iter().copied().collect();
        let mut hits = BTreeMap::new();
        let evaluate = |condition: ConditionIndex, selected: &Selected| {
            let test = &self.contract.conditions[condition].test;
            holds(test, role, changes, facts, selected)
        };
        for (position, selected) in self.matcher.matches(changes) {
            let Some(condition) = self.selecting.get(position).copied() else {
                results.pulled[RiskIndex::new(position - self.selecting.len())] = true;
                continue;
            };
            results.put(condition, evaluate(condition, &selected));
            hits.insert(condition, selected.all);
            candidates.extend(&self.behind[condition]);
        }
        for condition in self.of_role.get(role).into_iter().flatten() {
            results.put(*condition, Some(true));
            candidates.extend(&self.behind[*condition]);
        }
        for condition in &self.asking {
            results.put(*condition, evaluate(*condition, &Selected::default()));
        }
        Judged {
            contract: self.contract,
            results,
            hits,
            detail: SelectionDetail::Candidates(candidates.into_iter().collect()),
        }
    }
}

/// Whether a condition holds when it selects no changed file.
fn holds_alone(test: &Test) -> bool {
    match test {
        Test::ChangedNone(_) => true,
        Test::ChangedAll(selection) => selection.positive().next().is_none(),
        Test::ChangedAny(_)
        | Test::ChangedOnly(_)
        | Test::Role(_)
        | Test::Exists(_)
        | Test::ExistsAny(_)
        | Test::Absent(_) => false,
    }
}

/// Returns a condition around a place that holds for few requests: one that selects changed files,
/// the innermost of them, else one that names roles.
fn decisive(contract: &Contract, placement: &Placement) -> Option<ConditionIndex> {
    let test = |c: &&ConditionIndex| &contract.conditions[**c].test;
    let selects = |c: &&ConditionIndex| test(c).selection().is_some() && !holds_alone(test(c));
    let names_roles = |c: &&ConditionIndex| matches!(test(c), Test::Role(_));
    let around = &placement.conditions;
    let found = around.iter().rev().find(selects);
    found.or_else(|| around.iter().find(names_roles)).copied()
}

#[cfg(test)]
mod tests;
