//! Compares two contracts, check by check.

use super::accept;
use super::difference::{At, Class, ContractDiff, Difference, VERSION, lets_through};
use super::reach::{Divided, Obligation, Question, Reachability};
use super::settings::{self, About, Finding, finding, items, shown};
use super::units::Key;
use super::units::UnitIndex;
use super::units::{Pairs, Unit, Units};
use super::witness::{Solver, Verdict};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Value, Weaker};
use vplan_base::source::Sources;
use vplan_contract::{Check, CheckIndex, ConditionIndex, Contract, Test};

/// A contract, and the files that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// Its files, for the names and lines.
    pub sources: &'a Sources,
}

impl<'a> Side<'a> {
    /// Makes the side of a contract and its files.
    pub fn new(contract: &'a Contract, sources: &'a Sources) -> Self {
        Self { contract, sources }
    }
}

/// Compares two contracts. `tracked`: files of the repository, which make the better examples; it
/// may be empty.
#[must_use]
pub fn compare(old: &Side<'_>, new: &Side<'_>, tracked: &[RepoPath]) -> ContractDiff {
    let pairs = Pairs::new(old.contract, new.contract);
    let mut comparison = Comparison {
        old: *old,
        new: *new,
        pairs: &pairs,
        solver: Solver::new(old.contract, new.contract, &pairs),
        tracked,
        found: Vec::new(),
        answers: BTreeMap::new(),
        divided: None,
        looked: 0,
        conditions: BTreeMap::new(),
        restricted: [old, new]
            .iter()
            .any(|s| s.contract.roles.values().any(|r| !r.only.is_empty())),
    };
    comparison.checks();
    comparison.shared();
    let requests = comparison.solver.requests();
    let mut differences = comparison.found;
    for difference in &mut differences {
        if difference.class != Class::Undecided {
            difference.accept = None;
        } else if difference.accept.is_none() {
            difference.accept = Some(accept::shared(new.contract, &difference.subject));
        }
    }
    differences.sort_by_key(|d| d.class);
    ContractDiff {
        differences,
        kind: "contracts",
        requests,
        version: VERSION,
    }
}

/// The most requests that are searched for among the tracked files.
const MOST_LOOKED: usize = 24;

pub(super) struct Comparison<'a> {
    pub old: Side<'a>,
    pub new: Side<'a>,
    pub pairs: &'a Pairs<'a>,
    solver: Solver<'a>,
    pub tracked: &'a [RepoPath],
    pub found: Vec<Difference>,
    answers: BTreeMap<Key, Reachability>,
    /// All paths, as the last question divided them.
    divided: Option<Divided<'a>>,
    /// The number of requests searched for among the tracked files.
    looked: usize,
    /// Whether two conditions are equivalent.
    conditions: BTreeMap<(ConditionIndex, ConditionIndex), bool>,
    /// Whether tags decide anything.
    pub restricted: bool,
}

/// Whether one side requires less.
pub(super) enum Less {
    No,
    Yes(Option<usize>),
    Undecided(&'static str),
}

pub(super) const MIXED: &str = "the same command stands here with different settings";

const DISAGREE: &str =
    "a request was found, but compiling both contracts for it does not bear it out";

impl<'a> Comparison<'a> {
    fn checks(&mut self) {
        let pairs = self.pairs;
        for (index, unit) in pairs.old.all.numbered() {
            match pairs.to_new.get(&index) {
                Some(partner) => self.pair(index, unit, *partner, &pairs.new.all[*partner]),
                None => self.removed(index, unit),
            }
        }
        let new = pairs.new.all.numbered();
        for (index, unit) in new.filter(|(i, _)| !pairs.to_old.contains_key(i)) {
            self.added(index, unit);
        }
        self.moved();
    }

    /// Whether a failure of a unit of the older contract counts for anything, by itself or for
    /// others.
    pub fn counts(&self, unit: &Unit) -> bool {
        let check = unit.check;
        !(check.has(Row::Severity) || check.has(Row::Setup))
            || !check.needs.is_empty()
            || self.pairs.old.is_needed(unit)
    }

    fn removed(&mut self, index: UnitIndex, unit: &'a Unit<'a>) {
        let at = at(&self.old, unit.check);
        let subject = subject(unit);
        let counts = self.counts(unit);
        let (uncounted, because) = no_count(unit.check);
        let because = because.unwrap_or_default();
        let (class, request, why) = match self.less(index, false, None) {
            Less::No => (
                Class::Cosmetic,
                None,
                "no request was ever asked for it".to_owned(),
            ),
            Less::Yes(request) if counts => (Class::Weakens, request, String::new()),
            Less::Yes(request) => (uncounted, request, because),
            Less::Undecided(why) if counts => (
                Class::Weakens,
                None,
                format!("for which requests cannot be told: {why}"),
            ),
            Less::Undecided(_) => (uncounted, None, because),
        };
        self.push(Difference {
            accept: Some(accept::gone(unit.check)),
            request,
            ..difference(finding(class, "removed", why), subject, Some(at), None)
        });
    }

    fn added(&mut self, index: UnitIndex, unit: &'a Unit<'a>) {
        let at = at(&self.new, unit.check);
        let (class, request, why) = match self.less(index, true, None) {
            Less::No => (Class::Cosmetic, None, "no request asks for it".to_owned()),
            Less::Yes(request) => (Class::Strengthens, request, String::new()),
            Less::Undecided(why) => (
                Class::Strengthens,
                None,
                format!("for which requests cannot be told: {why}"),
            ),
        };
        self.may_change(unit, &at);
        self.push(Difference {
            request,
            ..difference(finding(class, "added", why), subject(unit), None, Some(at))
        });
    }

    /// Reports what a new check may change: others look at it.
    fn may_change(&mut self, unit: &Unit<'a>, at: &At) {
        let check = unit.check;
        let tracked = self.tracked;
        let globs = [Row::Produces, Row::Cleans].into_iter().filter_map(|row| {
            let value = check.value(row)?;
            let Value::Globs(globs) = value.as_ref() else {
                return None;
            };
            let hit = tracked
                .iter()
                .find(|path| globs.iter().any(|g| g.matches(path)));
            let word = row.setting().word;
            hit.map(|path| format!("`{word}` selects {}, which git tracks", shown(path)))
        });
        let permissions = Row::compared().iter().filter_map(|row| {
            let setting = row.setting();
            let value = check.value(*row)?;
            match (setting.weaker, value.as_ref()) {
                (Weaker::More { .. }, Value::Selection(selection)) => {
                    Some(format!("`{}` {}", setting.word, items(selection)))
                }
                _ => None,
            }
        });
        let found: Vec<String> = globs.chain(permissions).collect();
        for what in found {
            let why = "a new check may change what others look at";
            let made = difference(
                finding(Class::Undecided, what, why),
                subject(unit),
                None,
                Some(at.clone()),
            );
            let accept = Some(accept::check(self.new.contract, unit));
            self.push(Difference { accept, ..made });
        }
    }

    fn pair(&mut self, index: UnitIndex, old: &'a Unit<'a>, partner: UnitIndex, new: &'a Unit<'a>) {
        let here = (at(&self.old, old.check), at(&self.new, new.check));
        let counts = self.counts(old);
        let mut findings: Vec<(Finding, Option<usize>)> = Vec::new();
        let is_mixed = !old.is_uniform(self.old.contract) || !new.is_uniform(self.new.contract);
        if is_mixed && !self.same_members(old, new) {
            findings.push((
                finding(
                    Class::Undecided,
                    MIXED,
                    "which of them counts depends on the request",
                ),
                None,
            ));
        }
        if old.check.id != new.check.id && (old.check.named || new.check.named) {
            let what = format!("renamed to {}", shown(&new.check.id));
            findings.push((
                finding(Class::Changes, what, "`--only` and `--skip` go by the name"),
                None,
            ));
        }
        findings.extend(
            settings::compare(old.check, new.check)
                .into_iter()
                .map(|f| (f, None)),
        );
        findings.extend(self.needs(old, new).into_iter().map(|f| (f, None)));
        if !self.same_places(old, new) {
            findings.extend(self.placement(index, old, partner, new));
        } else if self.restricted && old.check.tags != new.check.tags {
            let both = self.both_ways(
                index,
                old,
                partner,
                "what roles with `only` let through".to_owned(),
            );
            findings.extend(both.into_iter().filter(|(f, _)| f.class != Class::Cosmetic));
        }
        for (mut finding, request) in findings {
            if finding.class == Class::Weakens && !counts && finding.about != About::Others {
                (finding.class, finding.why) = no_count(old.check);
            }
            let made = difference(
                finding,
                subject(old),
                Some(here.0.clone()),
                Some(here.1.clone()),
            );
            // Of thousands of checks only the undecided ones are digested.
            let is_open = made.class == Class::Undecided;
            let accept = is_open.then(|| accept::check(self.new.contract, new));
            self.push(Difference {
                accept,
                request,
                ..made
            });
        }
    }

    /// Compares where a check applies.
    fn placement(
        &mut self,
        index: UnitIndex,
        old: &'a Unit<'a>,
        partner: UnitIndex,
        new: &'a Unit<'a>,
    ) -> Vec<(Finding, Option<usize>)> {
        let (before, after) = (
            applies(self.old.contract, old),
            applies(self.new.contract, new),
        );
        let what = if before == after {
            // The values of a name of `paths` differ, or one is too long to be printed.
            format!("applies {after}, in which a selection differs")
        } else {
            format!("applies {before} -> {after}")
        };
        if old.changed().is_some() && self.pairs.old.is_needed(old) {
            let why = "others need it, and which changed files it then sees cannot be compared";
            return vec![(finding(Class::Undecided, what, why), None)];
        }
        self.both_ways(index, old, partner, what)
    }

    fn both_ways(
        &mut self,
        index: UnitIndex,
        old: &'a Unit<'a>,
        partner: UnitIndex,
        what: String,
    ) -> Vec<(Finding, Option<usize>)> {
        let sees = if old.changed().is_some() {
            ", or asked for with fewer files"
        } else {
            ""
        };
        let mut found = Vec::new();
        match self.less(index, false, None) {
            Less::No => {}
            Less::Yes(request) => {
                let why = format!("some requests are no longer asked for it{sees}");
                found.push((finding(Class::Weakens, what.clone(), why), request));
            }
            Less::Undecided(why) => {
                found.push((finding(Class::Undecided, what.clone(), why), None))
            }
        }
        match self.less(partner, true, None) {
            Less::No => {}
            Less::Yes(request) => {
                let why = format!("more requests are asked for it{sees}").replace("fewer", "more");
                found.push((finding(Class::Strengthens, what.clone(), why), request));
            }
            Less::Undecided(why) if found.is_empty() => {
                found.push((
                    finding(
                        Class::Changes,
                        what.clone(),
                        format!("whether for more requests: {why}"),
                    ),
                    None,
                ));
            }
            Less::Undecided(_) => {}
        }
        if found.is_empty() {
            found.push((
                finding(Class::Cosmetic, what, "the same requests are asked for it"),
                None,
            ));
        }
        found
    }

    fn needs(&self, old: &Unit, new: &Unit) -> Vec<Finding> {
        let pairs = self.pairs;
        let name = |contract: &Contract, i: &CheckIndex| shown(&contract.checks[*i].id);
        let by_unit = |unit: &Unit, units: &Units| -> BTreeMap<UnitIndex, CheckIndex> {
            let needs = unit.check.needs.iter();
            needs.map(|i| (units.of[*i], *i)).collect()
        };
        let (before, after) = (by_unit(old, &pairs.old), by_unit(new, &pairs.new));
        let mut found = Vec::new();
        for (unit, index) in &before {
            match pairs.to_new.get(unit) {
                Some(partner) if after.contains_key(partner) => {}
                _ => found.push(finding(
                    Class::Weakens,
                    format!("no longer needs {}", name(self.old.contract, index)),
                    "its failure does not keep this check from passing",
                )),
            }
        }
        for (unit, index) in &after {
            if !pairs
                .to_old
                .get(unit)
                .is_some_and(|partner| before.contains_key(partner))
            {
                found.push(finding(
                    Class::Strengthens,
                    format!("needs {}", name(self.new.contract, index)),
                    "",
                ));
            }
        }
        found
    }

    /// Whether two units apply in places that read the same.
    pub(crate) fn same_places(&mut self, old: &Unit<'a>, new: &Unit<'a>) -> bool {
        let (a, b) = (old.places(self.old.contract), new.places(self.new.contract));
        a.len() == b.len()
            && a.iter().zip(&b).all(|((tier, before), (other, after))| {
                tier == other
                    && before.len() == after.len()
                    && before
                        .iter()
                        .zip(*after)
                        .all(|(x, y)| self.same_condition(*x, *y))
            })
    }

    /// Whether the checks that two units are made of are the same one by one.
    fn same_members(&mut self, old: &Unit<'a>, new: &Unit<'a>) -> bool {
        let (a, b) = (old.checks(self.old.contract), new.checks(self.new.contract));
        let same =
            |(a, b): (&&Check, &&Check)| a.tags == b.tags && settings::compare(a, b).is_empty();
        a.len() == b.len() && a.iter().zip(&b).all(same) && self.same_places(old, new)
    }

    fn same_condition(&mut self, old: ConditionIndex, new: ConditionIndex) -> bool {
        let test = |side: &Side<'a>, i| &side.contract.conditions[i].test;
        let (a, b) = (test(&self.old, old), test(&self.new, new));
        *self
            .conditions
            .entry((old, new))
            .or_insert_with(|| match (a, b) {
                (Test::Role(a), Test::Role(b)) => {
                    a.iter().all(|r| b.contains(r)) && b.iter().all(|r| a.contains(r))
                }
                (a, b) => a == b,
            })
    }

    /// Whether the newer contract requires less of a unit of the older one; `reverse`: the older
    /// one of the newer one's.
    pub fn less(&mut self, index: UnitIndex, reverse: bool, roles: Option<&[String]>) -> Less {
        let pairs = self.pairs;
        let (mine, theirs) = if reverse {
            (self.new, self.old)
        } else {
            (self.old, self.new)
        };
        let (units, partners, others) = if reverse {
            (&pairs.new, &pairs.to_old, &pairs.old)
        } else {
            (&pairs.old, &pairs.to_new, &pairs.new)
        };
        let unit = &units.all[index];
        let partner = partners.get(&index).map(|p| &others.all[*p]);
        let old_index = if reverse {
            pairs.to_old.get(&index).copied()
        } else {
            Some(index)
        };
        let same_command = old_index.is_some_and(|i| pairs.hands_over(i));
        let mut against: Vec<Obligation> = partner
            .into_iter()
            .map(|p| p.obligation(theirs.contract))
            .collect();
        if let Some(first) = against.first_mut().filter(|_| !same_command) {
            first.changed = None;
        }
        if unit.changed().is_none()
            && let Some(partner) = partner
        {
            against.extend(
                others
                    .needers(theirs.contract, &partner.members)
                    .into_iter()
                    .map(|c| c.obligation(theirs.contract)),
            );
        }
        let mut known: Vec<&str> = mine
            .contract
            .roles
            .keys()
            .filter(|r| theirs.contract.roles.contains_key(*r))
            .map(String::as_str)
            .collect();
        if let Some(roles) = roles {
            known.retain(|r| roles.iter().any(|role| role == r));
        }
        // The most common role first.
        known.sort_by_key(|r| *r != "worker");
        let places = |d: &Obligation| {
            (
                d.places.iter().map(|(t, c)| (*t, c.to_vec())).collect(),
                d.tags.to_vec(),
            )
        };
        // The first requests are shown; to find real paths for more of them would only take time.
        let tracked = if self.looked < MOST_LOOKED {
            self.tracked
        } else {
            &[]
        };
        let question = Question {
            old: unit.obligation(mine.contract),
            new: against,
            roles: known,
            other: theirs.contract,
            tracked,
        };
        let key = Key {
            reverse,
            old: places(&question.old),
            new: question.new.iter().map(places).collect(),
            changed: question.old.changed.map(|dir| (dir.clone(), same_command)),
            roles: roles.map(<[String]>::to_vec),
        };
        let answer = self
            .answers
            .entry(key)
            .or_insert_with(|| question.answer(&mut self.divided))
            .clone();
        self.looked += usize::from(matches!(answer, Reachability::Request(_)));
        match answer {
            Reachability::Never => Less::No,
            Reachability::Undecided(why) => Less::Undecided(why),
            Reachability::Request(witness) => match self.solver.rule(&witness, index, reverse) {
                Verdict::Shown(number) => Less::Yes(Some(number)),
                Verdict::True | Verdict::Open => Less::Yes(None),
                Verdict::False => Less::Undecided(DISAGREE),
            },
        }
    }

    /// Reports how many checks have moved: the fewest that explain the new order.
    fn moved(&mut self) {
        let order: Vec<UnitIndex> = self.pairs.to_new.values().copied().collect();
        let stay = super::plans::longest_ascending(&order).len();
        if stay < order.len() {
            let count = order.len() - stay;
            let what = format!(
                "{count} {} elsewhere in the file",
                if count == 1 {
                    "check stands"
                } else {
                    "checks stand"
                }
            );
            self.push(difference(
                finding(
                    Class::Cosmetic,
                    what,
                    "steps that nothing orders run in the order of the file",
                ),
                "order".to_owned(),
                None,
                None,
            ));
        }
    }

    pub fn push(&mut self, difference: Difference) {
        self.found.push(difference);
    }
}

pub(super) fn difference(
    finding: Finding,
    subject: String,
    old: Option<At>,
    new: Option<At>,
) -> Difference {
    Difference {
        accept: None,
        accepted: false,
        class: finding.class,
        request: None,
        new,
        old,
        subject,
        what: finding.what,
        why: finding.why,
    }
}

/// Returns the class of what weakens a check whose own failure verifies nothing, and why.
fn no_count(check: &Check) -> (Class, Option<String>) {
    let only_warns = check.has(Row::Severity);
    let (class, why) = if check.has(Row::Setup) && !only_warns {
        let why = "it is `setup`: it verifies nothing, but others find what it leaves";
        (Class::Undecided, why)
    } else {
        (Class::Changes, "its failure is only a warning")
    };
    (class, Some(why.to_owned()))
}

fn subject(unit: &Unit) -> String {
    format!("check {}", shown(&unit.check.id))
}

pub(super) fn at(side: &Side, check: &Check) -> At {
    let file = side
        .sources
        .get(check.place.source)
        .map_or(side.contract.path.as_str(), |s| s.name());
    At {
        file: file.to_owned(),
        line: check.line,
    }
}

/// Describes where a unit applies, in one line.
fn applies(contract: &Contract, unit: &Unit) -> String {
    const SHOWN: usize = 3;
    let places = unit.places(contract);
    let mut words: Vec<String> = places
        .iter()
        .take(SHOWN)
        .map(|(tier, conditions)| {
            let mut words: Vec<String> = conditions
                .iter()
                .map(|c| condition(&contract.conditions[*c].test))
                .collect();
            if *tier > 0 {
                words.insert(0, format!("tier {tier}"));
            }
            if words.is_empty() {
                "always".to_owned()
            } else {
                format!("`{}`", words.join(", "))
            }
        })
        .collect();
    if places.len() > SHOWN {
        words.push(format!("{} more", places.len() - SHOWN));
    }
    words.join(" or ")
}

fn condition(test: &Test) -> String {
    let text = match test {
        Test::Role(roles) => roles.join(" "),
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => all
            .iter()
            .map(|sought| format!("\"{sought}\""))
            .collect::<Vec<_>>()
            .join(" "),
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            items(s)
        }
    };
    format!("{} {text}", test.keyword())
}

/// Whether a role's restriction lets a unit through.
pub(super) fn open_to(contract: &Contract, role: &str, unit: &Unit) -> bool {
    lets_through(contract, role, &unit.check.tags)
}

#[cfg(test)]
mod tests;
