//! Compares two contracts, check by check.

use super::accept;
use super::difference::{At, Class, ContractDiff, Difference, VERSION};
use super::reach::{Divided, Obligation, Question, Reachability};
use super::settings::{self, Finding, Topic, finding, items, quote};
use super::units::Key;
use super::units::UnitIndex;
use super::units::{Pairs, Unit, Units};
use super::witness::{Solver, Verdict};
use crate::select::words;
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Weaker};
use vplan_base::source::Sources;
use vplan_contract::{Check, CheckIndex, ConditionIndex, Contract, Test};

/// A contract, and the files that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The contract of this side.
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
        restricted: [old, new].iter().any(|side| {
            let mut roles = side.contract.roles.values();
            roles.any(|role| !role.only.is_empty())
        }),
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

/// Maximum number of requests searched for among the tracked files.
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

pub(super) const OTHERS_NEED_IT: &str =
    "others need it, and which changed files it then sees cannot be compared";

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
        let at = Some(at(&self.old, unit.check));
        let counts = self.counts(unit);
        let less = self.less(index, false, None);
        let never = "no request was ever asked for it";
        let (mut said, request) = of_less(less, "removed", Class::Weakens, never);
        if said.class == Class::Weakens && !counts {
            (said.class, said.why) = no_count(unit.check);
        }
        self.push(Difference {
            accept: Some(accept::removed_check(unit.check)),
            request,
            ..difference(said, subject(unit), at, None)
        });
    }

    fn added(&mut self, index: UnitIndex, unit: &'a Unit<'a>) {
        let at = at(&self.new, unit.check);
        let less = self.less(index, true, None);
        let never = "no request asks for it";
        let (said, request) = of_less(less, "added", Class::Strengthens, never);
        self.may_change(unit, &at);
        self.push(Difference {
            request,
            ..difference(said, subject(unit), None, Some(at))
        });
    }

    /// Reports what a new check may change: others look at it.
    fn may_change(&mut self, unit: &Unit<'a>, at: &At) {
        let check = unit.check;
        let tracked = self.tracked;
        let globs = [Row::Produces, Row::Cleans].into_iter().filter_map(|row| {
            let globs = check.globs(row);
            let mut tracked = tracked.iter();
            let hit = tracked.find(|path| globs.iter().any(|g| g.matches(path)))?;
            let word = row.setting().word;
            Some(format!("`{word}` selects {}, which git tracks", quote(hit)))
        });
        let permissions = Row::compared().iter().filter_map(|row| {
            let setting = row.setting();
            let is_permission = matches!(setting.weaker, Weaker::More { .. });
            let selection = check.selection(*row).filter(|_| is_permission)?;
            Some(format!("`{}` {}", setting.word, items(selection)))
        });
        let found: Vec<String> = globs.chain(permissions).collect();
        for what in found {
            let why = "a new check may change what others look at";
            let said = finding(Class::Undecided, what, why);
            self.push(Difference {
                accept: Some(accept::check(self.new.contract, unit)),
                ..difference(said, subject(unit), None, Some(at.clone()))
            });
        }
    }

    fn pair(&mut self, index: UnitIndex, old: &'a Unit<'a>, partner: UnitIndex, new: &'a Unit<'a>) {
        let here = (at(&self.old, old.check), at(&self.new, new.check));
        let counts = self.counts(old);
        let mut alone: Vec<Finding> = Vec::new();
        let is_mixed = !old.is_uniform(self.old.contract) || !new.is_uniform(self.new.contract);
        if is_mixed && !self.same_members(old, new) {
            let why = "which of them counts depends on the request";
            alone.push(finding(Class::Undecided, MIXED, why));
        }
        if old.check.id != new.check.id && (old.check.named || new.check.named) {
            let what = format!("renamed to {}", quote(&new.check.id));
            let why = "`--only` and `--skip` go by the name";
            alone.push(finding(Class::Changes, what, why));
        }
        alone.extend(settings::compare(old.check, new.check));
        alone.extend(self.needs(old, new));
        let alone = alone.into_iter().map(|finding| (finding, None));
        let mut findings: Vec<(Finding, Option<usize>)> = alone.collect();
        if !self.same_places(old, new) {
            findings.extend(self.placement(index, old, partner, new));
        } else if self.restricted && old.check.tags != new.check.tags {
            let what = "what roles with `only` let through".to_owned();
            let both = self.both_ways(index, old, partner, what);
            findings.extend(both.into_iter().filter(|(f, _)| f.class != Class::Cosmetic));
        }
        for (mut finding, request) in findings {
            if finding.class == Class::Weakens && !counts && finding.about != Topic::Others {
                (finding.class, finding.why) = no_count(old.check);
            }
            // Of thousands of checks only the undecided ones are digested.
            let is_open = finding.class == Class::Undecided;
            let (before, after) = here.clone();
            self.push(Difference {
                accept: is_open.then(|| accept::check(self.new.contract, new)),
                request,
                ..difference(finding, subject(old), Some(before), Some(after))
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
        let before = applies(self.old.contract, old);
        let after = applies(self.new.contract, new);
        let what = if before == after {
            // The values of a name of `paths` differ, or one is too long to be printed.
            format!("applies {after}, in which a selection differs")
        } else {
            format!("applies {before} -> {after}")
        };
        if old.changed().is_some() && self.pairs.old.is_needed(old) {
            return vec![(finding(Class::Undecided, what, OTHERS_NEED_IT), None)];
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
        let sees = match old.changed() {
            Some(_) => ", or asked for with fewer files",
            None => "",
        };
        let said = |class, why: String, request| (finding(class, what.clone(), why), request);
        let mut found = Vec::from_iter(match self.less(index, false, None) {
            Less::No => None,
            Less::Yes(request) => {
                let why = format!("some requests are no longer asked for it{sees}");
                Some(said(Class::Weakens, why, request))
            }
            Less::Undecided(why) => Some(said(Class::Undecided, why.to_owned(), None)),
        });
        match self.less(partner, true, None) {
            Less::Yes(request) => {
                let why = format!("more requests are asked for it{sees}").replace("fewer", "more");
                found.push(said(Class::Strengthens, why, request));
            }
            Less::Undecided(why) if found.is_empty() => {
                let why = format!("whether for more requests: {why}");
                found.push(said(Class::Changes, why, None));
            }
            Less::No if found.is_empty() => {
                let why = "the same requests are asked for it".to_owned();
                found.push(said(Class::Cosmetic, why, None));
            }
            Less::No | Less::Undecided(_) => {}
        }
        found
    }

    fn needs(&self, old: &Unit, new: &Unit) -> Vec<Finding> {
        let pairs = self.pairs;
        let name = |contract: &Contract, i: &CheckIndex| quote(&contract.checks[*i].id);
        type Needs = BTreeMap<UnitIndex, CheckIndex>;
        let by_unit = |unit: &Unit, units: &Units| -> Needs {
            let needs = unit.check.needs.iter();
            needs.map(|i| (units.of[*i], *i)).collect()
        };
        let (before, after) = (by_unit(old, &pairs.old), by_unit(new, &pairs.new));
        let mut found = Vec::new();
        let has = |partner: Option<&UnitIndex>, needs: &Needs| {
            partner.is_some_and(|partner| needs.contains_key(partner))
        };
        let lost = before.iter();
        for (_, index) in lost.filter(|(unit, _)| !has(pairs.to_new.get(unit), &after)) {
            let what = format!("no longer needs {}", name(self.old.contract, index));
            let why = "its failure does not keep this check from passing";
            found.push(finding(Class::Weakens, what, why));
        }
        let gained = after.iter();
        for (_, index) in gained.filter(|(unit, _)| !has(pairs.to_old.get(unit), &before)) {
            let what = format!("needs {}", name(self.new.contract, index));
            found.push(finding(Class::Strengthens, what, ""));
        }
        found
    }

    /// Whether two units apply in places that read the same.
    pub(crate) fn same_places(&mut self, old: &Unit<'a>, new: &Unit<'a>) -> bool {
        let (a, b) = (old.places(self.old.contract), new.places(self.new.contract));
        a.len() == b.len()
            && a.iter().zip(&b).all(|((tier, before), (other, after))| {
                let mut conditions = before.iter().zip(*after);
                tier == other
                    && before.len() == after.len()
                    && conditions.all(|(x, y)| self.same_condition(*x, *y))
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
        let is_same = || match (a, b) {
            (Test::Role(a), Test::Role(b)) => {
                a.iter().all(|r| b.contains(r)) && b.iter().all(|r| a.contains(r))
            }
            (a, b) => a == b,
        };
        *self.conditions.entry((old, new)).or_insert_with(is_same)
    }

    /// Whether the newer contract requires less of a unit of the older one; `reverse`: the older
    /// one of the newer one's.
    pub fn less(&mut self, index: UnitIndex, reverse: bool, roles: Option<&[String]>) -> Less {
        let pairs = self.pairs;
        let sides = [
            (self.old.contract, &pairs.old, &pairs.to_new),
            (self.new.contract, &pairs.new, &pairs.to_old),
        ];
        let [(mine, units, partners), (theirs, others, _)] = match (sides, reverse) {
            ([old, new], true) => [new, old],
            (sides, false) => sides,
        };
        let partner = partners.get(&index).copied();
        let old_index = if reverse { partner } else { Some(index) };
        let unit = &units.all[index];
        let same_command = old_index.is_some_and(|i| pairs.hands_over(i));
        let mut against: Vec<Obligation> = Vec::new();
        if let Some(partner) = partner.map(|p| &others.all[p]) {
            let own = partner.obligation(theirs);
            let changed = own.changed.filter(|_| same_command);
            against.push(Obligation { changed, ..own });
            if unit.changed().is_none() {
                let needers = others.needers(theirs, &partner.members).into_iter();
                against.extend(needers.map(|needer| needer.obligation(theirs)));
            }
        }
        let roles_of_both = mine.roles.keys().filter(|r| theirs.roles.contains_key(*r));
        let mut known: Vec<&str> = roles_of_both.map(String::as_str).collect();
        if let Some(roles) = roles {
            known.retain(|r| roles.iter().any(|role| role == r));
        }
        // Most common role first.
        known.sort_by_key(|r| *r != "worker");
        let places = |d: &Obligation| {
            let places = d.places.iter().map(|(t, c)| (*t, c.to_vec()));
            (places.collect(), d.tags.to_vec())
        };
        // The first requests are shown; to find real paths for more of them would only take time.
        let tracked = if self.looked < MOST_LOOKED {
            self.tracked
        } else {
            &[]
        };
        let question = Question {
            old: unit.obligation(mine),
            new: against,
            roles: known,
            other: theirs,
            within: None,
            tracked,
        };
        let key = Key {
            reverse,
            old: places(&question.old),
            new: question.new.iter().map(places).collect(),
            changed: question.old.changed.map(|dir| (dir.clone(), same_command)),
            roles: roles.map(<[String]>::to_vec),
        };
        let answer = self.answers.entry(key);
        let answer = answer.or_insert_with(|| question.answer(&mut self.divided));
        let answer = answer.clone();
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
        let what = match order.len() - stay {
            0 => return,
            1 => "1 check stands elsewhere in the file".to_owned(),
            count => format!("{count} checks stand elsewhere in the file"),
        };
        let why = "steps that nothing orders run in the order of the file";
        let said = finding(Class::Cosmetic, what, why);
        self.push(difference(said, "order".to_owned(), None, None));
    }

    pub fn push(&mut self, difference: Difference) {
        self.found.push(difference);
    }
}

/// Returns what it means that one side requires less of a unit that the other does not have.
fn of_less(less: Less, what: &str, class: Class, never: &str) -> (Finding, Option<usize>) {
    match less {
        Less::No => (finding(Class::Cosmetic, what, never), None),
        Less::Yes(request) => (finding(class, what, ""), request),
        Less::Undecided(why) => {
            let why = format!("for which requests cannot be told: {why}");
            (finding(class, what, why), None)
        }
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

pub(super) fn subject(unit: &Unit) -> String {
    format!("check {}", quote(&unit.check.id))
}

pub(super) fn at(side: &Side, check: &Check) -> At {
    let source = side.sources.get(check.place.source);
    let file = source.map_or(side.contract.path.as_str(), |s| s.name());
    At {
        file: file.to_owned(),
        line: check.line,
    }
}

/// Describes where a unit applies, in one line.
fn applies(contract: &Contract, unit: &Unit) -> String {
    const SHOWN: usize = 3;
    let places = unit.places(contract);
    let place = |(tier, conditions): &(u8, &[ConditionIndex])| {
        let tests = conditions.iter().map(|c| &contract.conditions[*c].test);
        let tier = (*tier > 0).then(|| format!("tier {tier}"));
        let words: Vec<String> = tier.into_iter().chain(tests.map(condition)).collect();
        match words.as_slice() {
            [] => "always".to_owned(),
            words => format!("`{}`", words.join(", ")),
        }
    };
    let mut words: Vec<String> = places.iter().take(SHOWN).map(place).collect();
    if places.len() > SHOWN {
        words.push(format!("{} more", places.len() - SHOWN));
    }
    words.join(" or ")
}

fn condition(test: &Test) -> String {
    let selection = test.selection();
    let text = selection.map_or_else(|| words(test).join(" "), items);
    format!("{} {text}", test.keyword())
}

#[cfg(test)]
mod tests;
