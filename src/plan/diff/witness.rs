//! Confirms that two contracts require different checks: compiles both for a request that was
//! found.

use super::difference::DifferingRequest;
use super::reach::{Sample, Witness};
use super::units::{Pairs, UnitIndex};
use crate::compile::assemble_with;
use crate::expectation::writing::write_expect;
use crate::facts::{Certainty, FactAnswer, Facts, Question};
use crate::prepared::Prepared;
use crate::request::{Boundary, Request, Risk};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::{ChangeSet, ChangedFile, Status};
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, and_more};
use vplan_contract::Contract;
use vplan_contract::expect::AssertionKind;

/// Limit of work in compilations, counted in checks.
const WORK: usize = 400_000;
/// Maximum number of requests that are shown.
const SHOWN: usize = 16;
/// Maximum number of names that a request lists.
const NAMED: usize = 8;

/// The units of a contract that a plan contains.
#[derive(Debug, Default, PartialEq)]
struct Planned {
    /// The name and the words of the command of each unit.
    units: BTreeMap<UnitIndex, (String, BTreeSet<Word>)>,
    /// The names of all steps.
    names: BTreeSet<String>,
}

/// The units that one plan has and the other has not, or has less of.
type Missed = BTreeMap<UnitIndex, Name>;

/// The name of a unit in the plan that contains it.
#[derive(Clone)]
struct Name {
    name: String,
    /// Whether nothing in the other plan has this name, so that a test can show the difference.
    alone: bool,
}

/// Two contracts, and the requests that showed differences so far.
pub(super) struct Solver<'a> {
    pub old: &'a Contract,
    pub new: &'a Contract,
    pub pairs: &'a Pairs<'a>,
    /// Both contracts for many requests, once there is one.
    prepared: Option<(Prepared<'a>, Prepared<'a>)>,
    work: usize,
    shown: Vec<Case>,
}

/// A request with its result.
struct Case {
    witness: Witness,
    found: WitnessChange,
}

/// Units of the older contract that the newer one does not require, and the other way round.
struct WitnessChange {
    lost: Missed,
    gained: Missed,
}

impl WitnessChange {
    /// Whether the newer contract requires less of a unit; `reverse`: the older one.
    fn has(&self, unit: UnitIndex, reverse: bool) -> bool {
        let side = if reverse { &self.gained } else { &self.lost };
        side.contains_key(&unit)
    }
}

/// The result of checking a claim by compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The claim holds: the request with this number shows it.
    Shown(usize),
    /// The claim holds; there are too many requests to show another one.
    True,
    /// The claim does not hold.
    False,
    /// Not checked, because it would take too long.
    Open,
}

impl<'a> Solver<'a> {
    pub fn new(old: &'a Contract, new: &'a Contract, pairs: &'a Pairs<'a>) -> Self {
        Self {
            old,
            new,
            pairs,
            prepared: None,
            work: 0,
            shown: Vec::new(),
        }
    }

    /// Checks whether the newer contract requires less of a unit of the older one; `reverse`: the
    /// older one of the newer one's.
    pub fn rule(&mut self, witness: &Witness, unit: UnitIndex, reverse: bool) -> Verdict {
        let is_shown = |case: &Case| case.found.has(unit, reverse);
        if let Some(known) = self.shown.iter().position(is_shown) {
            return Verdict::Shown(known);
        }
        let Some(found) = self.compare(witness) else {
            return Verdict::Open;
        };
        if !found.has(unit, reverse) {
            return Verdict::False;
        }
        if self.shown.len() == SHOWN {
            return Verdict::True;
        }
        let witness = witness.clone();
        let mut case = Case { witness, found };
        self.shrink(&mut case, unit, reverse);
        self.shown.push(case);
        Verdict::Shown(self.shown.len() - 1)
    }

    /// Leaves out files one by one while the claim holds.
    fn shrink(&mut self, case: &mut Case, unit: UnitIndex, reverse: bool) {
        let mut index = 0;
        while case.witness.files.len() > 1 && index < case.witness.files.len() {
            let mut witness = case.witness.clone();
            witness.files.remove(index);
            match self.compare(&witness) {
                Some(found) if found.has(unit, reverse) => *case = Case { witness, found },
                Some(_) => index += 1,
                None => return,
            }
        }
    }

    /// Returns the units that only the older contract requires, and those that only the newer one
    /// does.
    fn compare(&mut self, witness: &Witness) -> Option<WitnessChange> {
        self.work += self.old.checks.len() + self.new.checks.len() + 100;
        if self.work > WORK {
            return None;
        }
        let request = request(witness);
        let prepare = || (Prepared::new(self.old), Prepared::new(self.new));
        let (old, new) = self.prepared.get_or_insert_with(prepare);
        let old = planned(self.old, old, &request, witness, &self.pairs.old.by_id)?;
        let new = planned(self.new, new, &request, witness, &self.pairs.new.by_id)?;
        let pairs = self.pairs;
        Some(WitnessChange {
            lost: missed(&old, &new, &pairs.to_new, |unit, _| pairs.hands_over(unit)),
            gained: missed(&new, &old, &pairs.to_old, |_, unit| pairs.hands_over(unit)),
        })
    }

    /// Returns the requests as they are printed.
    pub fn requests(&self) -> Vec<DifferingRequest> {
        self.shown.iter().map(differing_request).collect()
    }
}

/// Returns the units of a plan that the other lacks. With `{changed}`, fewer files are less, too;
/// other differences of a command do not depend on the request. `counts`: whether fewer words of a
/// unit (the first) with this partner are fewer files.
fn missed(
    mine: &Planned,
    theirs: &Planned,
    partners: &BTreeMap<UnitIndex, UnitIndex>,
    counts: impl Fn(UnitIndex, UnitIndex) -> bool,
) -> Missed {
    let is_less = |unit: UnitIndex, words: &BTreeSet<Word>| {
        let partner = partners.get(&unit);
        let partner = partner.and_then(|p| Some((*p, theirs.units.get(p)?)));
        partner
            .is_none_or(|(partner, (_, others))| counts(unit, partner) && !words.is_subset(others))
    };
    let name = |name: &String| Name {
        name: name.clone(),
        alone: !theirs.names.contains(name),
    };
    let missed = mine.units.iter();
    let missed = missed.filter(|(unit, (_, words))| is_less(**unit, words));
    missed.map(|(unit, (own, _))| (*unit, name(own))).collect()
}

fn differing_request(case: &Case) -> DifferingRequest {
    let request = request(&case.witness);
    let WitnessChange { lost, gained } = &case.found;
    let exists = case.witness.exists.iter().filter(|(_, is)| **is);
    let exists: BTreeSet<RepoPath> = exists.map(|(path, _)| path.clone()).collect();
    // The side whose difference a test can show is shown.
    let can_tell = |missed: &Missed| missed.values().any(|n| n.alone);
    let is_newer = !can_tell(lost) && (can_tell(gained) || lost.is_empty());
    let (side, missed) = match is_newer {
        true => ("newer", gained),
        false => ("older", lost),
    };
    let told = missed.values().filter(|n| n.alone || !can_tell(missed));
    let told: Vec<&Name> = told.collect();
    let first = told.first().map(|n| n.name.as_str()).unwrap_or_default();
    let more = and_more(told.len().saturating_sub(1));
    let title = match can_tell(missed) {
        true => format!("only the {side} contract runs {first}{more}"),
        false => format!("the {side} contract runs {first}{more} with more files"),
    };
    let runs: Vec<String> = told.iter().take(NAMED).map(|n| n.name.clone()).collect();
    let names = |missed: &Missed| {
        let names = missed.values().take(NAMED);
        names.map(|n| n.name.clone()).collect()
    };
    DifferingRequest {
        changed: request.changed.files().to_vec(),
        expect: write_expect(&title, &request, &exists, AssertionKind::Runs, &runs),
        exists: exists.into_iter().collect(),
        gained: names(gained),
        high_risk: case.witness.high,
        lost: names(lost),
        role: case.witness.role.clone(),
        run_end: case.witness.end,
    }
}

fn request(witness: &Witness) -> Request {
    // A file that conditions select and that does not exist can only have been deleted.
    let gone = |sample: &Sample| !sample.must_exist && witness.is_gone(&sample.path);
    let file = |sample: &Sample| ChangedFile {
        path: sample.path.clone(),
        status: match gone(sample) {
            true => Status::Deleted,
            false => Status::Modified,
        },
    };
    Request {
        role: Some(witness.role.clone()),
        changed: ChangeSet::new(witness.files.iter().map(file).collect()),
        risk: match witness.high {
            true => Risk::High,
            false => Risk::Medium,
        },
        boundaries: Vec::from_iter(witness.end.then_some(Boundary::RunEnd)),
        ..Request::default()
    }
}

/// Finds which units a contract requires, and with which words.
fn planned(
    contract: &Contract,
    prepared: &Prepared<'_>,
    request: &Request,
    witness: &Witness,
    units: &BTreeMap<&str, UnitIndex>,
) -> Option<Planned> {
    let there = |is| FactAnswer::Word(if is { Certainty::Yes } else { Certainty::No });
    let answer = |question: &Question| match question {
        Question::Exists(path) => there(witness.has(|there| there == path)),
        Question::ExistsMatch(glob) => there(witness.has(|path| glob.matches(path))),
        _ => FactAnswer::List(Vec::new()),
    };
    let facts = &mut Facts::default();
    let plan = assemble_with(contract, request, facts, Some(prepared), answer)?;
    let mut planned = Planned::default();
    for step in &plan.steps {
        let name = step.check();
        planned.names.insert(name.to_owned());
        if let Some(unit) = units.get(name) {
            let unit = planned.units.entry(*unit);
            let (_, words) = unit.or_insert_with(|| (name.to_owned(), BTreeSet::new()));
            words.extend(step.argv.iter().flatten().cloned());
        }
    }
    Some(planned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{contract, path_of, request as any_request};
    use crate::compile::{Compiled, compile};
    use crate::diff::units::units;
    use proptest::prelude::*;
    use vplan_arbitrary::config;

    /// Compiles the whole plan, with reasons and digest.
    fn obvious(
        contract: &Contract,
        request: &Request,
        witness: &Witness,
        units: &BTreeMap<&str, UnitIndex>,
    ) -> Option<Planned> {
        let mut facts = Facts::default();
        for sought in contract.sought() {
            let there = witness
                .exists
                .iter()
                .filter(|(_, is)| **is)
                .map(|(path, _)| path);
            let answer = if sought.is_among(there) {
                Certainty::Yes
            } else {
                Certainty::No
            };
            facts.add(Question::exists(sought), FactAnswer::Word(answer));
        }
        facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
        let Ok(Compiled::Plan(plan)) = compile(Some(contract), request, &facts) else {
            return None;
        };
        let mut planned = Planned::default();
        for step in &plan.steps {
            planned.names.insert(step.check().to_owned());
            if let Some(unit) = units.get(step.check()) {
                let nothing = || (step.check().to_owned(), BTreeSet::new());
                let (_, words) = planned.units.entry(*unit).or_insert_with(nothing);
                words.extend(step.argv.iter().flatten().cloned());
            }
        }
        Some(planned)
    }

    proptest! {
        #![proptest_config(config(256))]

        /// One after another, as a comparison asks.
        #[test]
        fn a_prepared_contract_requires_the_same(
            contract in contract(),
            requests in prop::collection::vec((any_request(), any::<u64>()), 1..5),
        ) {
            let units = units(&contract);
            let prepared = Prepared::new(&contract);
            let asked = contract.sought();
            for (drawn, dice) in requests {
                let is = |i: usize| (dice >> i) & 1 == 1;
                let files = drawn.changed.files().iter();
                let witness = Witness {
                    role: drawn.role.clone().unwrap_or("worker".to_owned()),
                    files: files.map(|f| Sample { path: f.path.clone(), must_exist: is(60) }).collect(),
                    exists: asked.iter().enumerate().map(|(i, s)| (path_of(s), is(i))).collect(),
                    unmatched: Vec::new(),
                    high: is(61),
                    end: is(62),
                };
                let request = request(&witness);
                let found = planned(&contract, &prepared, &request, &witness, &units.by_id);
                let want = obvious(&contract, &request, &witness, &units.by_id);
                prop_assert!(want.is_some());
                prop_assert_eq!(found, want);
            }
        }
    }
}
