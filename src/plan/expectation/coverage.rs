//! Measures how much of a contract its tests touched.
//!
//! The measure counts *items*: each check (covered when it is in the plan of some test), each
//! conditional block twice (covered when some test found it true, and when some test found it
//! false; a test counts for a block only when all blocks around it apply, since otherwise the
//! answer decides nothing), each `risk` trigger (covered when a changed file of some test pulled
//! it), and each role that a `byRole` or a `role` block names (covered when some test has it).
//! Covered means touched, not asserted: a test that only says `skips a` covers whatever else its
//! plan holds.

use crate::select::ConditionResults;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::bits::Bits;
use vplan_base::glob::{Item as SelItem, ItemContent, Selection};
use vplan_base::index::{Dense, at, numbered};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::word::visible;
use vplan_contract::{CheckIndex, ConditionIndex, Contract, RiskIndex, Test};

/// The parts of a contract that one test touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Its role.
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
    #[must_use]
    pub fn onto(&self, from: &Contract, to: &Contract) -> Self {
        type Definition<'c> = (&'c str, Span);
        fn definition(contract: &Contract, place: Place) -> Definition<'_> {
            let file = contract.imported(place.source);
            (file.unwrap_or(&contract.path), place.span)
        }
        let mut checks: BTreeMap<Definition<'_>, CheckIndex> = BTreeMap::new();
        for (index, check) in to.checks.numbered() {
            checks.entry(definition(to, check.place)).or_insert(index);
        }
        let mut conditions: BTreeMap<Definition<'_>, ConditionIndex> = BTreeMap::new();
        for (index, condition) in to.conditions.numbered() {
            conditions
                .entry(definition(to, condition.place))
                .or_insert(index);
        }
        let mut risks: BTreeMap<Definition<'_>, RiskIndex> = BTreeMap::new();
        for (index, risk) in numbered(&to.risks) {
            risks.entry(definition(to, risk.place)).or_insert(index);
        }
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
    /// For each condition, those of which it is the innermost around.
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
            outermost: Bits::of(count, |i| around[i].is_empty()),
            empty: Bits::of(count, |i| inside[i].is_empty()),
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
    #[must_use]
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
    #[must_use]
    pub fn percent(self) -> usize {
        (self.covered * 100).checked_div(self.total).unwrap_or(100)
    }
}

/// The coverage of a contract by its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Items of files that are not of this repository (`std:`, `git+`), which have their own
    /// tests: they are counted nowhere else.
    pub elsewhere: usize,
    /// The counts by kind.
    pub kinds: BTreeMap<ItemKind, Count>,
    /// The items that no test touched, by kind, then in file order.
    pub uncovered: Vec<Item>,
}

impl Coverage {
    /// Sums up what the tests touched.
    #[must_use]
    pub fn of<'t>(contract: &Contract, tests: impl Iterator<Item = &'t Touched>) -> Self {
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
        let file = |source| contract.imported(source).unwrap_or(&contract.path);
        let mut definitions = Definitions::new(contract);
        for (i, check) in contract.checks.numbered() {
            let never = "in no plan";
            definitions.see(
                check.place,
                ItemKind::Check,
                never,
                checks.contains(&i),
                || (check.id.clone(), check.line),
            );
        }
        for (i, condition) in contract.conditions.numbered() {
            for (never, is_covered) in [("never true", held.has(i)), ("never false", failed.has(i))]
            {
                definitions.see(
                    condition.place,
                    ItemKind::Condition,
                    never,
                    is_covered,
                    || (head(&condition.test), condition.line),
                );
            }
        }
        for (i, risk) in numbered(&contract.risks) {
            let (never, is_pulled) = ("never pulled", pulled.contains(&i));
            definitions.see(risk.place, ItemKind::Trigger, never, is_pulled, || {
                (risk.name.clone(), risk.line)
            });
        }
        for definition in definitions.all {
            let Definition {
                kind,
                never,
                is_covered,
                name,
                ..
            } = definition;
            let place = (file(definition.place.source), definition.line);
            coverage.add(is_covered, kind, &name, place, never);
        }
        for (role, place) in roles_of(contract) {
            coverage.add(
                roles.contains(role),
                ItemKind::Role,
                role,
                place,
                "in no test",
            );
        }
        coverage
    }

    /// Returns the count of all items.
    #[must_use]
    pub fn total(&self) -> Count {
        let sum = |f: fn(&Count) -> usize| self.kinds.values().map(f).sum();
        Count {
            covered: sum(|c| c.covered),
            total: sum(|c| c.total),
        }
    }

    fn add(
        &mut self,
        covered: bool,
        kind: ItemKind,
        name: &str,
        (file, line): (&str, usize),
        never: &'static str,
    ) {
        if file.starts_with("std:") || file.starts_with("git+") {
            self.elsewhere += 1;
            return;
        }
        let count = self.kinds.entry(kind).or_default();
        count.total += 1;
        count.covered += usize::from(covered);
        if !covered {
            self.uncovered.push(Item {
                file: file.to_owned(),
                kind,
                line,
                name: name.to_owned(),
                never,
            });
        }
    }
}

/// What the text of a contract defines, which is one thing whatever the number of its rows.
struct Definitions<'c> {
    contract: &'c Contract,
    all: Vec<Definition>,
    /// Of those in an `each`, where they are in `all`.
    known: BTreeMap<(SourceId, Span, &'static str), usize>,
}

struct Definition {
    kind: ItemKind,
    name: String,
    place: Place,
    line: usize,
    never: &'static str,
    is_covered: bool,
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
        kind: ItemKind,
        never: &'static str,
        is_covered: bool,
        named: impl Fn() -> (String, usize),
    ) {
        let row = self.contract.rows.of(place);
        let key = (place.source, place.span, never);
        if let Some(known) = row.and_then(|_| self.known.get(&key)) {
            if let Some(definition) = self.all.get_mut(*known) {
                definition.is_covered |= is_covered;
            }
            return;
        }
        let (name, line) = named();
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
        self.all.push(Definition {
            kind,
            name,
            place,
            line,
            never,
            is_covered,
        });
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
        let file = contract.imported(condition.place.source).unwrap_or(own);
        for role in roles {
            places.entry(role).or_insert((file, condition.line));
        }
    }
    places
}

/// Returns the head of a conditional block, as it is written.
fn head(test: &Test) -> String {
    let list = match test {
        Test::Role(roles) => roles.iter().map(visible).collect::<Vec<_>>(),
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => {
            all.iter().map(|sought| format!("\"{sought}\"")).collect()
        }
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            items(s)
        }
    };
    format!("{} {}", test.keyword(), list.join(" "))
}

fn items(selection: &Selection) -> Vec<String> {
    let item = |item: &SelItem| {
        let not = if item.not { "!" } else { "" };
        match &item.what {
            ItemContent::Glob(glob) => format!("\"{not}{}\"", visible(glob.text())),
            ItemContent::Paths { name, .. } => format!("{not}{}", visible(name)),
        }
    };
    selection.items.iter().map(item).collect()
}
