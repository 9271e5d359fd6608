//! Says of each check whether every change inside of some globs plans it, some change does, or none.
//! The same search answers it that compares contracts.

use super::contracts::OTHERS_NEED_IT;
use super::reach::{Divided, Obligation, Question, Reachability};
use super::units::{Units, units};
use crate::error::PlanError;
use crate::explain::place;
use crate::facts::Facts;
use crate::prepared::Prepared;
use crate::request::Request;
use crate::select::{ConditionResults, holds, shorten, words};
use crate::skeleton::known_role;
use crate::tier::reach;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use vplan_base::change::{ChangeSet, ChangedFile, Status};
use vplan_base::glob::Selection;
use vplan_base::index::Dense;
use vplan_base::matching::Selected;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_contract::{Check, CheckIndex, ConditionIndex, Contract, Placement, Risk, Test};

vplan_base::vocabulary! {
    /// Which changes plan a check.
    When {
        /// Every one.
        Always = "always",
        /// Some.
        Possible = "possible",
        /// None.
        Never = "never",
    }
}

/// What a change inside of some globs may need of one check.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PossibleCheck {
    /// Its name.
    pub id: String,
    /// Changed files that plan it, sorted: as few as do, each the shortest there is. Empty unless it
    /// is possible.
    pub paths: Vec<RepoPath>,
    /// The conditions that these files meet, or why no change plans it.
    pub reason: Option<String>,
    /// The reason why it could not be decided. It counts as possible.
    pub undecided: Option<&'static str>,
    /// Which changes plan it.
    pub when: When,
}

/// A place of a check that the request, and what exists today, leave open. It holds the tier that a
/// change must reach, and the conditions about changed files.
type Place = (u8, Vec<ConditionIndex>);

/// A query: a contract, and a request without its changed files.
pub struct Possible<'a> {
    contract: &'a Contract,
    units: Units<'a>,
    prepared: Prepared<'a>,
    /// Of each check, the places that a change can make apply, and if there is none, why.
    places: Dense<CheckIndex, (Vec<Place>, String)>,
    within: &'a Selection,
    tracked: &'a [RepoPath],
}

/// The role of a search in which roles have been decided: no contract has one of this name, which would
/// have restrictions.
const ANY_ROLE: &str = "";

/// Whether a change of some files plans a check.
#[derive(Clone)]
enum Own {
    No,
    Yes(Vec<RepoPath>),
    Open(&'static str),
}

impl<'a> Possible<'a> {
    /// Prepares the answers. `facts`: what exists, of all that the contract asks for; `within`: the
    /// globs of the change; `tracked`: real paths, which are the better examples.
    ///
    /// # Errors
    /// An unknown role.
    pub fn new(
        contract: &'a Contract,
        request: &'a Request,
        facts: &Facts,
        within: &'a Selection,
        tracked: &'a [RepoPath],
    ) -> Result<Self, PlanError> {
        let role = known_role(contract, request)?;
        let (tiers, _) = reach(&[], &Dense::default(), request);
        let decide = |check: &Check| {
            if !contract.lets_through(role, &check.tags) {
                return (
                    Vec::new(),
                    format!("role {} does not run it", visible(role)),
                );
            }
            let tier = match check.tier {
                tier if tiers.iter().any(|reached| reached.tier == tier) => 0,
                1 => 1,
                tier => return (Vec::new(), format!("tier {tier} is not reached")),
            };
            let mut places = Vec::new();
            let mut closed = String::from("nothing uses it");
            for placement in &check.placements {
                match open_conditions(contract, placement, role, facts) {
                    Ok(conditions) => places.push((tier, conditions)),
                    Err(unmet) => {
                        let but = match contract.conditions[unmet].test {
                            Test::Role(_) => format!("the role is {}", visible(role)),
                            _ => "it does not hold today".to_owned(),
                        };
                        closed = format!("{}: {but}", cited(contract, unmet));
                    }
                }
            }
            (places, closed)
        };
        Ok(Self {
            contract,
            units: units(contract),
            prepared: Prepared::new(contract),
            places: contract.checks.iter().map(decide).collect(),
            within,
            tracked,
        })
    }

    /// Whether a path can lie inside of the globs.
    pub fn is_any_inside(&self) -> bool {
        let anything = self.anything();
        self.ask(anything, Vec::new(), &mut None) != Reachability::Never
    }

    /// Returns the answers, in the order of the contract.
    pub fn checks(&self) -> Vec<PossibleCheck> {
        let mut last = None;
        let own = |index: CheckIndex| match self.ask(self.obligation(index), Vec::new(), &mut last)
        {
            Reachability::Never => Own::No,
            Reachability::Request(witness) => {
                let paths: BTreeSet<RepoPath> = witness.files.into_iter().map(|f| f.path).collect();
                Own::Yes(paths.into_iter().collect())
            }
            Reachability::Undecided(why) => Own::Open(why),
        };
        let own: Dense<CheckIndex, Own> = self.places.indices().map(own).collect();
        let mut last = None;
        let units = self.units.all.iter();
        units
            .map(|unit| {
                let mut all = unit.members.clone();
                all.extend(self.needers(&unit.members));
                self.check(unit.check, unit.members.len(), &all, &own, &mut last)
            })
            .collect()
    }

    /// Whether a change of this file alone plans any check.
    pub fn guards(&self, file: &RepoPath) -> bool {
        let results = self.judge(std::slice::from_ref(file));
        let applies = |index: CheckIndex| {
            let check = &self.contract.checks[index];
            let is_seen = !check.has_changed() || file.below(&check.dir).is_some();
            is_seen && (self.open(index).iter()).any(|place| self.applies(place, &results))
        };
        self.places.indices().any(applies)
    }

    /// Answers for one check. `all`: the checks that bring it into a plan, the first `members` of
    /// which are itself.
    fn check<'s>(
        &'s self,
        check: &Check,
        members: usize,
        all: &[CheckIndex],
        own: &Dense<CheckIndex, Own>,
        last: &mut Option<Divided<'s>>,
    ) -> PossibleCheck {
        let found = |paths, reason, undecided, when| PossibleCheck {
            id: check.id.clone(),
            paths,
            reason,
            undecided,
            when,
        };
        let by = all
            .iter()
            .enumerate()
            .find_map(|(at, index)| match &own[*index] {
                Own::Yes(paths) => Some((at, *index, paths)),
                Own::No | Own::Open(_) => None,
            });
        let open = all.iter().find_map(|index| match own[*index] {
            Own::Open(why) => Some(why),
            Own::Yes(_) | Own::No => None,
        });
        let Some((at, index, paths)) = by else {
            let first = all.first().map(|index| &self.places[*index]);
            let unmet = || "no change inside of the globs meets its conditions".to_owned();
            let closed = first.filter(|(places, _)| places.is_empty());
            let reason = Some(closed.map_or_else(unmet, |(_, why)| why.clone()));
            return match open {
                Some(why) => found(Vec::new(), None, Some(why), When::Possible),
                None => found(Vec::new(), reason, None, When::Never),
            };
        };
        // It is omitted if no changed file is left for it, whatever else holds.
        if check.has_changed() && at >= members {
            return found(Vec::new(), None, Some(OTHERS_NEED_IT), When::Possible);
        }
        let sees_all = |index: &&CheckIndex| !self.contract.checks[**index].has_changed();
        let obligations = all.iter().filter(sees_all).map(|i| self.obligation(*i));
        let undecided = match check.has_changed() {
            true => None,
            false => match self.ask(self.anything(), obligations.collect(), last) {
                Reachability::Never => return found(Vec::new(), None, None, When::Always),
                Reachability::Request(_) => None,
                Reachability::Undecided(why) => Some(why),
            },
        };
        let mut reason = self.reason(index, paths);
        if at >= members {
            let needer = visible(&self.contract.checks[index].id);
            reason = format!("{needer} needs it: {reason}");
        }
        found(paths.clone(), Some(reason), undecided, When::Possible)
    }

    /// Returns the conditions that these files meet.
    fn reason(&self, index: CheckIndex, files: &[RepoPath]) -> String {
        let results = self.judge(files);
        let mut places = self.open(index).iter();
        let Some((tier, conditions)) = places.find(|place| self.applies(place, &results)) else {
            return String::new();
        };
        let conditions = conditions.iter();
        let mut texts: Vec<String> = conditions
            .map(|index| cited(self.contract, *index))
            .collect();
        if *tier > 0
            && let Some(risk) = self.pulled(&results).next()
        {
            texts.push(format!(
                "risk {} ({})",
                visible(&risk.name),
                place(None, risk.line)
            ));
        }
        if texts.is_empty() {
            texts.push("a file is left for {changed}".to_owned());
        }
        texts.join(", ")
    }

    /// Evaluates all conditions for a change of exactly these files.
    fn judge(&self, files: &[RepoPath]) -> ConditionResults {
        let file = |path: &RepoPath| ChangedFile {
            path: path.clone(),
            status: Status::Modified,
        };
        let changes = ChangeSet::new(files.iter().map(file).collect());
        let judged = self.prepared.judge(ANY_ROLE, &changes, &Facts::default());
        judged.into_results()
    }

    /// The triggers of tier 1 that were pulled.
    fn pulled(&self, results: &ConditionResults) -> impl Iterator<Item = &'a Risk> {
        let risks = self.contract.risks.iter().zip(&results.pulled);
        risks.filter_map(|(risk, pulled)| (*pulled && risk.tier > 0).then_some(risk))
    }

    /// Whether a place applies.
    fn applies(&self, (tier, conditions): &Place, results: &ConditionResults) -> bool {
        let is_reached = *tier == 0 || self.pulled(results).next().is_some();
        is_reached && conditions.iter().all(|index| results.holds.has(*index))
    }

    /// Returns the places of a check that a change can make apply.
    fn open(&self, index: CheckIndex) -> &[Place] {
        &self.places[index].0
    }

    /// Returns the checks that bring one of these into a plan, directly or not.
    fn needers(&self, members: &[CheckIndex]) -> BTreeSet<CheckIndex> {
        let mut found = BTreeSet::new();
        let mut newest = members.to_vec();
        while let Some(index) = newest.pop() {
            let needers = self.units.needers[index].iter().copied();
            newest.extend(needers.filter(|needer| found.insert(*needer)));
        }
        found
    }

    fn obligation(&self, index: CheckIndex) -> Obligation<'_> {
        let check = &self.contract.checks[index];
        let places = self.open(index).iter();
        Obligation {
            places: places.map(|(tier, all)| (*tier, all.as_slice())).collect(),
            changed: check.has_changed().then_some(&check.dir),
            ..self.anything()
        }
    }

    /// Returns what applies to every change. Roles have been decided: it has no tags.
    fn anything(&self) -> Obligation<'_> {
        Obligation {
            contract: self.contract,
            places: vec![(0, &[])],
            tags: &[],
            changed: None,
        }
    }

    fn ask<'s>(
        &'s self,
        old: Obligation<'s>,
        new: Vec<Obligation<'s>>,
        last: &mut Option<Divided<'s>>,
    ) -> Reachability {
        let question = Question {
            old,
            new,
            roles: vec![ANY_ROLE],
            other: self.contract,
            within: Some(self.within),
            tracked: self.tracked,
        };
        question.answer(last)
    }
}

/// Returns the conditions of a placement that depend on the changed files.
///
/// # Errors
/// Another condition that does not hold, so that it cannot apply.
fn open_conditions(
    contract: &Contract,
    placement: &Placement,
    role: &str,
    facts: &Facts,
) -> Result<Vec<ConditionIndex>, ConditionIndex> {
    let nothing = ChangeSet::default();
    let mut left = Vec::new();
    for index in &placement.conditions {
        let test = &contract.conditions[*index].test;
        if test.selection().is_some() {
            left.push(*index);
        } else if holds(test, role, &nothing, facts, &Selected::default()) == Some(false) {
            return Err(*index);
        }
    }
    Ok(left)
}

/// Returns a condition as the contract writes it, with its place.
fn cited(contract: &Contract, index: ConditionIndex) -> String {
    let condition = &contract.conditions[index];
    let at = place(contract.imported(condition.place.source), condition.line);
    let words = shorten(words(&condition.test));
    format!("{} {words} ({at})", condition.test.keyword())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::plan::{changes, contract, request, selection};
    use crate::compile::assemble_with;
    use crate::facts::{Certainty, FactAnswer, Question as Fact};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use vplan_arbitrary::config;
    use vplan_base::glob::ItemContent;

    /// In the contract a name may mean other globs.
    fn has_no_name(selection: &Selection) -> bool {
        let mut items = selection.items.iter();
        items.all(|item| matches!(item.what, ItemContent::Glob(_)))
    }

    /// The names of the checks in the plan of a change.
    fn planned(
        contract: &Contract,
        request: &Request,
        facts: &Facts,
        files: Vec<ChangedFile>,
    ) -> BTreeSet<String> {
        let changed = ChangeSet::new(files);
        let request = Request {
            changed,
            ..request.clone()
        };
        let nothing = |_: &Fact| FactAnswer::List(Vec::new());
        let plan = assemble_with(contract, &request, &mut facts.clone(), None, nothing).unwrap();
        plan.steps
            .iter()
            .map(|step| step.check().to_owned())
            .collect()
    }

    proptest! {
        #![proptest_config(config(128))]

        /// Against the compiler, for changes inside of the globs.
        #[test]
        fn no_plan_contradicts_the_answer(
            contract in contract(),
            request in request(),
            within in selection().prop_filter("a name", has_no_name),
            changed in prop::collection::vec(changes(), 1..6),
            dice in any::<u64>(),
        ) {
            let Request { role, risk, boundaries, min_tier, .. } = request;
            let request = Request { role, risk, boundaries, min_tier, ..Request::default() };
            let sought = contract.sought();
            let facts = sought.iter().enumerate().map(|(i, sought)| {
                let is = if (dice >> (i % 64)) & 1 == 1 { Certainty::Yes } else { Certainty::No };
                (Fact::exists(sought), FactAnswer::Word(is))
            });
            let facts = Facts(facts.collect());
            let tracked: Vec<RepoPath> = Vec::new();
            let possible = Possible::new(&contract, &request, &facts, &within, &tracked).unwrap();
            prop_assume!(possible.is_any_inside());
            let units = units(&contract);
            let answers: BTreeMap<_, _> = possible
                .checks()
                .into_iter()
                .map(|check| (units.by_id[check.id.as_str()], check))
                .collect();
            let of = |names: BTreeSet<String>| -> BTreeSet<_> {
                names.iter().map(|name| units.by_id[name.as_str()]).collect()
            };
            for changes in changed {
                let inside = |file: &&ChangedFile| within.selects(&file.path);
                let files: Vec<ChangedFile> = changes.files().iter().filter(inside).cloned().collect();
                if files.is_empty() {
                    continue;
                }
                let alone: Vec<_> = files.iter().map(|f| (possible.guards(&f.path), f.clone())).collect();
                let plan = of(planned(&contract, &request, &facts, files));
                for (unit, check) in &answers {
                    match check.when {
                        When::Always => prop_assert!(plan.contains(unit), "always {check:?}"),
                        When::Never => prop_assert!(!plan.contains(unit), "never {check:?}"),
                        When::Possible => {}
                    }
                }
                for (guards, file) in alone.into_iter().filter(|(_, f)| f.status != Status::Deleted) {
                    let plan = planned(&contract, &request, &facts, vec![file.clone()]);
                    prop_assert_eq!(guards, !plan.is_empty(), "{}", file.path);
                }
            }
            for (unit, check) in &answers {
                let file = |path: &RepoPath| ChangedFile { path: path.clone(), status: Status::Modified };
                let plan = of(planned(&contract, &request, &facts, check.paths.iter().map(file).collect()));
                let is_shown = check.when == When::Possible && check.undecided.is_none();
                prop_assert!(check.paths.iter().all(|path| within.selects(path)));
                prop_assert!(!is_shown || plan.contains(unit), "{check:?}");
                prop_assert_ne!(check.reason.as_deref(), Some(""));
            }
        }
    }
}
