//! Measures how much of a contract its tests touched.
//!
//! The measure counts *items*: each check (covered when it is in the plan of some test), each
//! conditional block twice (covered when some test found it true, and when some test found it
//! false; a test counts for a block only when all blocks around it apply, since otherwise the
//! answer decides nothing), each `risk` trigger (covered when a changed file of some test pulled
//! it), and each role that a `byRole` or a `role` block names (covered when some test has it).
//! Covered means touched, not asserted: a test that only says `skips a` covers whatever else its
//! plan holds.

use crate::select::{ConditionResults, words};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::bits::Bits;

use vplan_base::index::{Dense, at, numbered};
use vplan_base::span::{Place, SourceId, Span};

use vplan_contract::{CheckIndex, ConditionIndex, Contract, RiskIndex, Test};

/// The parts of a contract that one test touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The role of the test's request.
    pub role: String,
    /// The checks of the plan.
    pub checks: Vec<CheckIndex>,
    /// The conditions that decided something and hold.
    pub held: Bits<ConditionIndex>,
    /// The conditions that decided something and do not hold.
    pub failed: Bits<ConditionIndex>,
    /// The triggers that were pulled.
    pub pulled: Vec<RiskIndex>,
}

impl Touched {
    /// The same parts of another reading of the contract, in which the rows of `each` blocks may be
    /// others: of a definition the first.
    pub fn onto(&self, from: &Contract, to: &Contract) -> Self {
        fn definition(contract: &Contract, place: Place) -> (&str, Span) {
            (contract.file(place.source), place.span)
        }
        /// The first position of each definition.
        fn first<I: Copy>(
            contract: &Contract,
            all: impl DoubleEndedIterator<Item = (I, Place)>,
        ) -> BTreeMap<(&str, Span), I> {
            let all = all
                .rev()
                .map(|(index, place)| (definition(contract, place), index));
            all.collect()
        }
        let checks = first(to, to.checks.numbered().map(|(i, c)| (i, c.place)));
        let conditions = first(to, to.conditions.numbered().map(|(i, c)| (i, c.place)));
        let risks = first(to, numbered(&to.risks).map(|(i, r)| (i, r.place)));
        let moved = |bits: &Bits<ConditionIndex>| {
            let mut moved = Bits::none(to.conditions.len());
            for (index, condition) in from.conditions.numbered() {
                let there = conditions.get(&definition(from, condition.place));
                if let Some(there) = there.filter(|_| bits.has(index)) {
                    moved.set(*there);
                }
            }
            moved
        };
        let check = |index: &CheckIndex| checks.get(&definition(from, from.checks[*index].place));
        let risk = |index: &RiskIndex| risks.get(&definition(from, at(&from.risks, *index).place));
        Self {
            role: self.role.clone(),
            checks: self.checks.iter().filter_map(check).copied().collect(),
            held: moved(&self.held),
            failed: moved(&self.failed),
            pulled: self.pulled.iter().filter_map(risk).copied().collect(),
        }
    }
}

/// Which conditions are around which others.
#[derive(Debug)]
pub(super) struct Blocks {
    /// For each condition, the conditions around it, outermost first.
    around: Dense<ConditionIndex, Vec<ConditionIndex>>,
    /// For each condition, those directly inside it.
    inside: Dense<ConditionIndex, Vec<ConditionIndex>>,
    /// The conditions around which there is none.
    outermost: Bits<ConditionIndex>,
    /// The conditions in which there is none.
    empty: Bits<ConditionIndex>,
}

impl Blocks {
    /// Finds them.
    pub(super) fn new(contract: &Contract) -> Self {
        let count = contract.conditions.len();
        let mut around: Dense<_, Option<Vec<ConditionIndex>>> = Dense::filled(None, count);
        for placement in contract.checks.iter().flat_map(|c| &c.placements) {
            for (depth, condition) in placement.conditions.iter().enumerate() {
                let before = || placement.conditions.iter().take(depth).copied().collect();
                around[*condition].get_or_insert_with(before);
            }
        }
        let around = around.into_iter().map(Option::unwrap_or_default);
        let around: Dense<_, Vec<ConditionIndex>> = around.collect();
        let mut inside: Dense<_, Vec<ConditionIndex>> = Dense::filled(Vec::new(), count);
        for (condition, around) in around.numbered() {
            if let Some(innermost) = around.last() {
                inside[*innermost].push(condition);
            }
        }
        Self {
            outermost: Bits::from_fn(count, |i| around[i].is_empty()),
            empty: Bits::from_fn(count, |i| inside[i].is_empty()),
            around,
            inside,
        }
    }

    /// Returns the conditions that decide something: all conditions around them hold.
    fn deciding(&self, results: &ConditionResults) -> Bits<ConditionIndex> {
        let mut deciding = self.outermost.clone();
        for holding in results.holds.without(&self.empty).iter() {
            for condition in &self.inside[holding] {
                let around = &self.around[*condition];
                deciding.put(*condition, around.iter().all(|c| results.holds.has(*c)));
            }
        }
        deciding
    }
}

impl Touched {
    /// Makes it of the results of one test.
    pub(super) fn new(
        role: String,
        checks: Vec<CheckIndex>,
        seen: &ConditionResults,
        blocks: &Blocks,
    ) -> Self {
        let deciding = blocks.deciding(seen);
        let mut failed = deciding.without(&seen.holds);
        let held = deciding.without(&failed);
        for open in &seen.open {
            failed.put(*open, false);
        }
        let pulled = seen.pulled.indices().filter(|i| seen.pulled[*i]).collect();
        Self {
            role,
            checks,
            held,
            failed,
            pulled,
        }
    }
}

vplan_base::vocabulary! {
    /// A kind of item.
    ItemKind {
        /// A check.
        Check = "check",
        /// A conditional block that held, or one that did not.
        Condition = "condition",
        /// A `risk` trigger.
        Trigger = "trigger",
        /// A role.
        Role = "role",
    }
}

impl ItemKind {
    /// Returns the name of several of them.
    pub fn plural(self) -> &'static str {
        match self {
            ItemKind::Check => "checks",
            ItemKind::Condition => "conditions",
            ItemKind::Trigger => "triggers",
            ItemKind::Role => "roles",
        }
    }
}

/// Something that a test can touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The file that it is in: the contract, or what it imports.
    pub file: String,
    /// The kind.
    pub kind: ItemKind,
    /// Its line in that file.
    pub line: usize,
    /// The check, the trigger, the role, or the head of the block.
    pub name: String,
    /// The missing case, for people: `in no plan`, `never true`, `never false`, `never pulled`, `in
    /// no test`.
    pub never: &'static str,
}

/// The number of items of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Items that some test touched.
    pub covered: usize,
    /// All items.
    pub total: usize,
}

impl Count {
    /// Returns the percentage, rounded down, so that 100 is all; 100 also when there is nothing to
    /// cover.
    pub fn percent(self) -> usize {
        (self.covered * 100).checked_div(self.total).unwrap_or(100)
    }
}

/// The coverage of a contract by its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCoverage {
    /// Items of files that are not of this repository (`std:`, `git+`), which have their own
    /// tests: they are counted nowhere else.
    pub elsewhere: usize,
    /// The counts by kind.
    pub kinds: BTreeMap<ItemKind, Count>,
    /// The items that no test touched, by kind, then in file order.
    pub uncovered: Vec<Item>,
}

impl TestCoverage {
    /// Sums up what the tests touched.
    pub fn new<'t>(contract: &Contract, tests: impl Iterator<Item = &'t Touched>) -> Self {
        let (mut checks, mut pulled) =
            (BTreeSet::<CheckIndex>::new(), BTreeSet::<RiskIndex>::new());
        let mut held: Bits<ConditionIndex> = Bits::none(contract.conditions.len());
        let (mut failed, mut roles) = (held.clone(), BTreeSet::new());
        for touched in tests {
            checks.extend(&touched.checks);
            held.add(&touched.held);
            failed.add(&touched.failed);
            pulled.extend(&touched.pulled);
            roles.insert(touched.role.as_str());
        }
        let mut coverage = Self {
            elsewhere: 0,
            kinds: ItemKind::ALL.map(|k| (k, Count::default())).into(),
            uncovered: Vec::new(),
        };
        let mut definitions = Definitions::new(contract);
        for (i, check) in contract.checks.numbered() {
            let is_covered = checks.contains(&i);
            let what = (ItemKind::Check, "in no plan");
            definitions.see(check.place, what, is_covered, check.line, || {
                check.id.clone()
            });
        }
        for (i, condition) in contract.conditions.numbered() {
            let name = || head(&condition.test);
            for (never, is_covered) in [("never true", held.has(i)), ("never false", failed.has(i))]
            {
                let what = (ItemKind::Condition, never);
                definitions.see(condition.place, what, is_covered, condition.line, name);
            }
        }
        for (i, risk) in numbered(&contract.risks) {
            let is_pulled = pulled.contains(&i);
            let what = (ItemKind::Trigger, "never pulled");
            definitions.see(risk.place, what, is_pulled, risk.line, || risk.name.clone());
        }
        for (item, is_covered) in definitions.all {
            coverage.add(is_covered, item);
        }
        for (role, (file, line)) in roles_of(contract) {
            let item = Item {
                file: file.to_owned(),
                kind: ItemKind::Role,
                line,
                name: role.to_owned(),
                never: "in no test",
            };
            coverage.add(roles.contains(role), item);
        }
        coverage
    }

    /// Returns the count of all items.
    pub fn total(&self) -> Count {
        let sum = |f: fn(&Count) -> usize| self.kinds.values().map(f).sum();
        Count {
            covered: sum(|c| c.covered),
            total: sum(|c| c.total),
        }
    }

    fn add(&mut self, covered: bool, item: Item) {
        if item.file.starts_with("std:") || item.file.starts_with("git+") {
            self.elsewhere += 1;
            return;
        }
        let count = self.kinds.entry(item.kind).or_default();
        count.total += 1;
        count.covered += usize::from(covered);
        self.uncovered.extend((!covered).then_some(item));
    }
}

/// What the text of a contract defines, which is one thing whatever the number of its rows.
struct Definitions<'c> {
    contract: &'c Contract,
    /// Each definition, and whether it is covered.
    all: Vec<(Item, bool)>,
    /// Of those in an `each`, where they are in `all`.
    known: BTreeMap<(SourceId, Span, &'static str), usize>,
}

impl<'c> Definitions<'c> {
    fn new(contract: &'c Contract) -> Self {
        Self {
            contract,
            all: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    /// Adds a definition, or another row of it.
    fn see(
        &mut self,
        place: Place,
        (kind, never): (ItemKind, &'static str),
        is_covered: bool,
        line: usize,
        named: impl Fn() -> String,
    ) {
        let row = self.contract.rows.get(place);
        let key = (place.source, place.span, never);
        if let Some(known) = row.and_then(|_| self.known.get(&key)) {
            if let Some((_, known)) = self.all.get_mut(*known) {
                *known |= is_covered;
            }
            return;
        }
        let name = named();
        let name = match row {
            Some(values) => {
                self.known.insert(key, self.all.len());
                let written = values.with_holes(&name);
                match written == name {
                    true => values.in_names().with_holes(&name),
                    false => written,
                }
            }
            None => name,
        };
        let item = Item {
            file: self.contract.file(place.source).to_owned(),
            kind,
            line,
            name,
            never,
        };
        self.all.push((item, is_covered));
    }
}

/// Returns the roles that the contract names, each with the place of its block, or else of the
/// first condition that names it.
fn roles_of(contract: &Contract) -> BTreeMap<&str, (&str, usize)> {
    let own = contract.path.as_str();
    let blocks = contract
        .roles
        .iter()
        .filter_map(|(name, role)| Some((name.as_str(), (own, role.line?))));
    let mut places: BTreeMap<&str, (&str, usize)> = blocks.collect();
    for condition in &contract.conditions {
        let Test::Role(roles) = &condition.test else {
            continue;
        };
        let file = contract.file(condition.place.source);
        for role in roles {
            places.entry(role).or_insert((file, condition.line));
        }
    }
    places
}

/// Returns the head of a conditional block, as it is written.
fn head(test: &Test) -> String {
    format!("{} {}", test.keyword(), words(test).join(" "))
}
