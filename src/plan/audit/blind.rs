//! Which tracked files a check reads, although a change of them alone does not plan it.

use super::amendment::Amendment;
use super::context::{Context, Deeds, Finding, FindingKind, planned, request_for};
use super::covering::cover;
use super::observed::ObservedCheck;
use crate::implication::alone;

use crate::facts::{Certainty, FactAnswer, Facts, Question};
use crate::prepared::Prepared;
use crate::request::Request;
use crate::select::selections;
use crate::step::identity_of_check;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::ChangeSet;
use vplan_base::glob::{Glob, Item, Selection, escape};
use vplan_base::matching::group_files;
use vplan_base::path::RepoPath;
use vplan_contract::condition::holds;
use vplan_contract::{Check, CheckIndex, Condition, ConditionIndex, Contract, Placement, Test};

/// Finds the blind spots of all checks.
pub(super) fn find(context: &Context<'_>, seen: &[ObservedCheck<'_>]) -> Vec<Finding> {
    let files = seen.iter().flat_map(|one| one.tracked.iter().copied());
    let changes = ChangeSet::modified(files.collect::<BTreeSet<_>>());
    let mut plans = Plans::new(context, &changes);
    let mut found = Vec::new();
    for one in seen {
        let roles = one.roles.iter();
        let roles = roles.map(|role| role_for(context.contract, one.check, role));
        let roles: BTreeSet<&str> = roles.collect();
        let blind = roles.iter().flat_map(|role| plans.blind(one, role));
        let blind: BTreeSet<&RepoPath> = blind.collect();
        if !blind.is_empty() {
            let blind: Vec<&RepoPath> = blind.into_iter().collect();
            found.push(finding(context, one, &roles, &blind));
        }
    }
    found
}

fn finding(
    context: &Context<'_>,
    seen: &ObservedCheck<'_>,
    roles: &BTreeSet<&str>,
    blind: &[&RepoPath],
) -> Finding {
    let did: Deeds<'_> = seen.deeds(blind);
    let globs = cover(blind, &seen.tracked, context.tracked(), &seen.listed());
    let amendment = mending(context, seen.check, roles, blind, &globs);
    context
        .finding(FindingKind::BlindSpot, seen.check, globs, &did)
        .mended_by(context.contract, amendment)
}

/// The plans for a change of one file, one for all files that meet the same conditions.
struct Plans<'a, 'c> {
    contract: &'a Contract,
    changes: &'c ChangeSet,
    prepared: Prepared<'a>,
    facts: Facts,
    /// The checks that another one needs.
    needed: BTreeSet<CheckIndex>,
    /// For each file the number of its group, and for each group its first file.
    groups: Vec<u32>,
    first: Vec<usize>,
    /// The checks that are planned, for a role, a tier and a group.
    planned: BTreeMap<(String, u8, u32), BTreeSet<String>>,
}

impl<'a, 'c> Plans<'a, 'c> {
    fn new(context: &Context<'a>, changes: &'c ChangeSet) -> Self {
        let contract = context.contract;
        let told_apart = told_apart(contract);
        let mut all = selections(contract);
        all.extend(&told_apart);
        let groups = group_files(&all, changes);
        let mut first = Vec::new();
        for (file, group) in groups.iter().enumerate() {
            if *group as usize == first.len() {
                first.push(file);
            }
        }
        Self {
            contract,
            changes,
            prepared: Prepared::new(contract),
            facts: known_facts(context),
            needed: contract
                .checks
                .iter()
                .flat_map(|c| &c.needs)
                .copied()
                .collect(),
            groups,
            first,
            planned: BTreeMap::new(),
        }
    }

    /// Returns those of the tracked files that a check read whose change does not plan it.
    fn blind<'s>(&mut self, seen: &ObservedCheck<'s>, role: &str) -> Vec<&'s RepoPath> {
        let check = &self.contract.checks[seen.check];
        let alike = alike(self.contract, check);
        let mut is_planned: BTreeMap<u32, bool> = BTreeMap::new();
        let mut blind = Vec::new();
        let mut files = self.changes.files().iter().enumerate();
        for path in &seen.tracked {
            // Both are sorted, and this one is part of the other.
            let Some((file, _)) = files.find(|(_, file)| file.path == **path) else {
                break;
            };
            let group = self.groups.get(file).copied().unwrap_or_default();
            let planned = is_planned.entry(group).or_insert_with(|| {
                let own = self.applies(seen.check, role, group);
                own.unwrap_or_else(|| self.plans(role, check.tier, group, &alike))
            });
            blind.extend((!*planned).then_some(*path));
        }
        blind
    }

    /// Whether a check applies by its own conditions to a change of a file of a group. `None` where
    /// only a plan tells: what exists may decide, or what another check needs.
    fn applies(&self, index: CheckIndex, role: &str, group: u32) -> Option<bool> {
        let check = &self.contract.checks[index];
        let places = check.placements.iter();
        let mut conditions = places.flat_map(|place| self.contract.around(place));
        if check.has_changed() || conditions.any(|condition| condition.test.sought().is_some()) {
            return None;
        }
        let changes = self.change(group);
        let is_met = |condition: &Condition| holds(&condition.test, role, &changes, |_| true);
        let mut placements = check.placements.iter();
        let applies = placements.any(|place| self.contract.around(place).all(is_met));
        if applies {
            return self
                .contract
                .lets_through(role, &check.tags)
                .then_some(true);
        }
        (check.named && !self.needed.contains(&index)).then_some(false)
    }

    /// The change of the first file of a group.
    fn change(&self, group: u32) -> ChangeSet {
        let first = self.first.get(group as usize);
        let first = first.and_then(|first| self.changes.files().get(*first));
        ChangeSet::new(first.into_iter().cloned().collect())
    }

    /// Whether a change of a file of a group plans one of these checks.
    fn plans(&mut self, role: &str, tier: u8, group: u32, checks: &[&str]) -> bool {
        let key = (role.to_owned(), tier, group);
        if !self.planned.contains_key(&key) {
            let planned = self.plan(role, tier, group);
            self.planned.insert(key.clone(), planned);
        }
        let planned = self.planned.get(&key);
        planned.is_some_and(|planned| checks.iter().any(|check| planned.contains(*check)))
    }

    fn plan(&mut self, role: &str, tier: u8, group: u32) -> BTreeSet<String> {
        let request = Request {
            changed: self.change(group),
            ..request_for(role, tier)
        };
        let facts = &mut self.facts;
        match planned(self.contract, &request, facts, Some(&self.prepared)) {
            Some(plan) => plan.steps.iter().map(|s| s.check().to_owned()).collect(),
            // What cannot be planned does not pass either.
            // What cannot be planned is not said to be blind.
            None => self.contract.checks.iter().map(|c| c.id.clone()).collect(),
        }
    }
}

/// Returns selections that tell files apart which are planned differently although the same
/// conditions select them: each item of a `whenChangedAll`, and the folders of `{changed}`.
fn told_apart(contract: &Contract) -> Vec<Selection> {
    let mut all = Vec::new();
    for condition in contract.conditions.iter() {
        let Test::ChangedAll(selection) = &condition.test else {
            continue;
        };
        all.extend(alone(selection));
    }
    let open = contract.checks.iter().filter(|check| check.has_changed());
    let folders = open.map(|check| &check.dir);
    let folders: BTreeSet<&RepoPath> = folders.filter(|dir| !dir.is_root()).collect();
    all.extend(folders.into_iter().filter_map(|dir| {
        let text = format!("{}/**", escape(std::str::from_utf8(dir.as_bytes()).ok()?));
        Some([Glob::parse(&text).ok()?].into_iter().collect())
    }));
    all
}

/// Returns the known facts, and answers the others so that no check is omitted.
fn known_facts(context: &Context<'_>) -> Facts {
    let mut facts = context.subject.facts.clone();
    facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
    for question in context.contract.sought().into_iter().map(Question::exists) {
        let answers = facts.0.entry(question);
        answers.or_insert(FactAnswer::Word(Certainty::Unknown));
    }
    facts
}

/// Returns the checks that can replace this one in a plan: of equal anonymous commands, one runs
/// for all.
fn alike<'a>(contract: &'a Contract, check: &'a Check) -> Vec<&'a str> {
    if check.named {
        return vec![&check.id];
    }
    let own = identity_of_check(check);
    let checks = contract.checks.iter();
    let same = checks.filter(|other| !other.named && identity_of_check(other) == own);
    same.map(|other| other.id.as_str()).collect()
}

/// Returns the role for which a check is examined: the one for which it ran, if it has the check,
/// else the first that has it. A check run by name may not belong to the role.
fn role_for<'a>(contract: &'a Contract, check: CheckIndex, ran: &'a str) -> &'a str {
    let check = &contract.checks[check];
    let has = |role: &str| {
        let names = |condition: &Condition| match &condition.test {
            Test::Role(roles) => roles.iter().any(|named| named == role),
            _ => true,
        };
        contract.lets_through(role, &check.tags)
            && check
                .placements
                .iter()
                .any(|placement| contract.around(placement).all(names))
    };
    if has(ran) {
        return ran;
    }
    let mut roles = contract.roles.keys().map(String::as_str);
    roles.find(|role| has(role)).unwrap_or(ran)
}

/// Returns the change of the contract after which a change of each of these files plans a check, for
/// each of these roles.
fn mending(
    context: &Context<'_>,
    index: CheckIndex,
    roles: &BTreeSet<&str>,
    blind: &[&RepoPath],
    globs: &[String],
) -> Option<Amendment> {
    let contract = context.contract;
    let check = context.check(index);
    // Files that merely decide would become arguments of `{changed}`.
    if globs.is_empty() || check.has_changed() {
        return None;
    }
    let mut placements = check.placements.iter();
    let condition = placements.find_map(|placement| widened(contract, placement, roles, blind));
    if let Some(condition) = condition {
        return Some(Amendment::Condition {
            condition,
            globs: globs.to_vec(),
        });
    }
    let fits = |test: &Test| match test {
        Test::Role(named) => roles
            .iter()
            .all(|role| named.iter().any(|name| name == role)),
        test => test.sought().is_some(),
    };
    let asks_more = |placement: &&Placement| {
        let mut around = contract.around(placement);
        around.any(|c| matches!(c.test, Test::Role(_)) && !fits(&c.test))
    };
    let mut placements = check.placements.iter().filter(|_| check.named);
    let first = placements.clone().find(|placement| !asks_more(placement));
    let around = contract.around(first.or_else(|| placements.next())?);
    Some(Amendment::Use {
        around: around.map(|c| c.test.clone()).filter(fits).collect(),
        check: check.id.clone(),
        globs: globs.to_vec(),
    })
}

/// Returns the one condition of a place that these files do not meet, if to add them to it is enough.
fn widened(
    contract: &Contract,
    placement: &Placement,
    roles: &BTreeSet<&str>,
    blind: &[&RepoPath],
) -> Option<ConditionIndex> {
    let mut failing = BTreeSet::new();
    for path in blind {
        let changes = ChangeSet::modified([*path]);
        for index in &placement.conditions {
            let test = &contract.conditions[*index].test;
            let is_met = |role: &&str| holds(test, role, &changes, |_| true);
            if test.sought().is_none() && !roles.iter().all(is_met) {
                failing.insert(*index);
            }
        }
    }
    let index = failing.pop_first().filter(|_| failing.is_empty())?;
    let condition = &contract.conditions[index];
    let Test::ChangedAny(selection) = &condition.test else {
        return None;
    };
    let excludes = |item: &Item| blind.iter().any(|path| item.selects(path));
    let is_excluded = selection.excluding().any(excludes);
    // A block of an `each` is written once for all its rows.
    let is_own = contract.imported(condition.place.source).is_none() && condition.place.row == 0;
    (is_own && !is_excluded).then_some(index)
}
