//! The checks of a contract as a comparison pairs them.

use super::reach::Obligation;
use super::settings::{self};
use crate::step::identity_of_check;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_contract::{Check, CheckIndex, ConditionIndex, Contract};
/// One piece of work of a contract: a check, or all anonymous checks that are the same work.
#[derive(Clone, Debug)]
pub(crate) struct Unit<'a> {
    /// The first of them.
    pub check: &'a Check,
    pub members: Vec<CheckIndex>,
}

impl<'a> Unit<'a> {
    /// Returns where `{changed}` looks, if the command has it.
    pub fn changed(&self) -> Option<&'a RepoPath> {
        changed_in(self.check)
    }

    pub fn checks(&self, contract: &'a Contract) -> Vec<&'a Check> {
        self.members.iter().map(|m| &contract.checks[*m]).collect()
    }

    /// Whether all its checks have the same settings: those of two files with different `defaults`
    /// have not.
    pub(crate) fn is_uniform(&self, contract: &'a Contract) -> bool {
        let same =
            |c: &&Check| c.tags == self.check.tags && settings::compare(self.check, c).is_empty();
        self.members.len() == 1 || self.checks(contract).iter().all(same)
    }

    pub(super) fn places(&self, contract: &'a Contract) -> Vec<(u8, &'a [ConditionIndex])> {
        let places = self.checks(contract).into_iter().flat_map(|c| {
            let places = c.placements.iter();
            places.map(|p| (c.tier, p.conditions.as_slice()))
        });
        places.collect()
    }

    pub(super) fn obligation(&self, contract: &'a Contract) -> Obligation<'a> {
        Obligation {
            contract,
            places: self.places(contract),
            tags: &self.check.tags,
            changed: self.changed(),
        }
    }
}

/// The checks of two contracts, paired where they are the same.
#[derive(Debug)]
pub(crate) struct Pairs<'a> {
    pub old: Units<'a>,
    pub new: Units<'a>,
    pub to_new: BTreeMap<UnitIndex, UnitIndex>,
    pub to_old: BTreeMap<UnitIndex, UnitIndex>,
}

vplan_base::index!(
    UnitIndex,
    "unit of a contract",
    "Position of a piece of work in its contract."
);

/// The pieces of work of a contract.
#[derive(Debug, Default)]
pub(crate) struct Units<'a> {
    pub all: Dense<UnitIndex, Unit<'a>>,
    /// The unit of each check.
    pub of: Dense<CheckIndex, UnitIndex>,
    /// The unit of every id.
    pub by_id: BTreeMap<&'a str, UnitIndex>,
    /// The checks that need each check, ascending.
    pub(super) needers: Dense<CheckIndex, Vec<CheckIndex>>,
}

impl<'a> Units<'a> {
    /// Whether another check needs a unit.
    pub fn is_needed(&self, unit: &Unit) -> bool {
        unit.members.iter().any(|m| !self.needers[*m].is_empty())
    }

    /// Returns the checks that bring one of these into a plan, directly or not. None when they are
    /// too many, or when one may be omitted because no changed file is left for it. Then a request
    /// that was found may not be one.
    pub(super) fn needers(&self, contract: &'a Contract, members: &[CheckIndex]) -> Vec<Unit<'a>> {
        let mut wanted: BTreeSet<CheckIndex> = members.iter().copied().collect();
        let mut found: Vec<Unit> = Vec::new();
        let mut newest: Vec<CheckIndex> = members.to_vec();
        while !newest.is_empty() {
            let mut more = BTreeSet::new();
            for needer in newest.iter().flat_map(|i| &self.needers[*i]) {
                if !wanted.contains(needer) && more.insert(*needer) {
                    // Thousands may need it, and that for each of thousands of units.
                    let is_open = |i: &CheckIndex| changed_in(&contract.checks[*i]).is_some();
                    if found.len() + more.len() > MOST_NEEDERS || is_open(needer) {
                        return Vec::new();
                    }
                }
            }
            wanted.extend(&more);
            newest = more.into_iter().collect();
            found.extend(newest.iter().map(|index| Unit {
                check: &contract.checks[*index],
                members: vec![*index],
            }));
        }
        found
    }
}

impl<'a> Pairs<'a> {
    pub fn new(old: &'a Contract, new: &'a Contract) -> Self {
        let mut pairs = Pairs {
            old: units(old),
            new: units(new),
            to_new: BTreeMap::new(),
            to_old: BTreeMap::new(),
        };
        // Names first, then anonymous checks by their commands, then renamed ones with the same
        // command.
        pairs.match_by(|c| c.named.then(|| c.id.clone()));
        pairs.match_by(|c| (!c.named).then(|| work(c)));
        pairs.match_by(|c| Some(work(c)));
        pairs
    }

    pub(super) fn match_by(&mut self, key: impl Fn(&Check) -> Option<String>) {
        let mut free: BTreeMap<String, Vec<UnitIndex>> = BTreeMap::new();
        for (index, unit) in self.new.all.numbered().rev() {
            if !self.to_old.contains_key(&index)
                && let Some(key) = key(unit.check)
            {
                free.entry(key).or_default().push(index);
            }
        }
        for (index, unit) in self.old.all.numbered() {
            if !self.to_new.contains_key(&index)
                && let Some(partner) = key(unit.check).and_then(|key| free.get_mut(&key)?.pop())
            {
                self.to_new.insert(index, partner);
                self.to_old.insert(partner, index);
            }
        }
    }

    /// Whether a unit of the older contract passes changed files to the same command in both.
    pub(crate) fn hands_over(&self, unit: UnitIndex) -> bool {
        let a = &self.old.all[unit];
        let partner = self.to_new.get(&unit).map(|p| &self.new.all[*p]);
        partner.is_some_and(|b| {
            a.changed().is_some() && a.check.body == b.check.body && a.check.dir == b.check.dir
        })
    }
}

pub(crate) fn units(contract: &Contract) -> Units<'_> {
    let mut units = Units {
        needers: Dense::filled(Vec::new(), contract.checks.len()),
        ..Units::default()
    };
    let mut anonymous = BTreeMap::new();
    for (index, check) in contract.checks.numbered() {
        let mut make = || {
            let members = Vec::new();
            units.all.push(Unit { check, members })
        };
        let unit = match identity_of_check(check).filter(|_| !check.named) {
            Some(identity) => *anonymous.entry(identity).or_insert_with(make),
            None => make(),
        };
        units.all[unit].members.push(index);
        units.of.push(unit);
        units.by_id.insert(&check.id, unit);
        for need in &check.needs {
            let needers = &mut units.needers[*need];
            // A check may name another one twice.
            if needers.last() != Some(&index) {
                needers.push(index);
            }
        }
    }
    units
}

/// The tiers and conditions of some places.
pub(super) type Places = Vec<(u8, Vec<ConditionIndex>)>;

/// Everything that an answer depends on.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) reverse: bool,
    pub(super) old: (Places, Vec<String>),
    pub(super) new: Vec<(Places, Vec<String>)>,
    pub(super) changed: Option<(RepoPath, bool)>,
    pub(super) roles: Option<Vec<String>>,
}

/// Returns where `{changed}` of a check looks, if its command has it.
pub(super) fn changed_in(check: &Check) -> Option<&RepoPath> {
    check.has_changed().then_some(&check.dir)
}

/// Maximum number of checks that need one, directly or not, and that a question considers.
pub(super) const MOST_NEEDERS: usize = 48;

/// Returns the identity of a check's work, as a text that is compared within the same process only.
pub(crate) fn work(check: &Check) -> String {
    let Check {
        body,
        env,
        dir,
        kind,
        ..
    } = check;
    format!("{body:?} {env:?} {dir} {kind:?}")
}
