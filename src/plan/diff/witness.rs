//! Do two contracts really ask for different checks? Compiles both for a request that was found.

use super::contracts::Pairs;
use super::reach::{Sample, Witness};
use super::{Asked, expect};
use crate::base::change::{ChangeSet, ChangedFile, Status};
use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::contract::Contract;
use crate::plan::compile::{Compiled, compile};
use crate::plan::facts::{Answer, Certainty, Facts, Question};
use crate::plan::request::{Boundary, Request, Risk};
use std::collections::{BTreeMap, BTreeSet};

/// Compilations that are worth it, counted in checks.
const WORK: usize = 400_000;
/// Requests that are shown.
const SHOWN: usize = 16;
/// Names that a request lists.
const NAMED: usize = 8;
/// Compiling asks for facts, gets them, and asks again: a bounded number of times.
const ROUNDS: usize = 8;

/// What each check of a contract runs, in a plan.
type Planned = BTreeMap<usize, BTreeSet<Word>>;

/// Two contracts, and the requests that told them apart so far.
pub(super) struct Court<'a> {
    pub old: &'a Contract,
    pub new: &'a Contract,
    pub pairs: &'a Pairs<'a>,
    work: usize,
    shown: Vec<Case>,
}

/// A request with what came of it.
struct Case {
    witness: Witness,
    /// Units of the older contract that the newer one does not ask for, and the other way round.
    lost: BTreeSet<usize>,
    gained: BTreeSet<usize>,
}

/// What compiling says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// It is so: the request with this number shows it.
    Shown(usize),
    /// It is so; there are too many requests to show another one.
    True,
    /// It is not.
    False,
    /// Nobody looked, for it would take too long.
    Open,
}

impl<'a> Court<'a> {
    pub fn new(old: &'a Contract, new: &'a Contract, pairs: &'a Pairs<'a>) -> Self {
        Self { old, new, pairs, work: 0, shown: Vec::new() }
    }

    /// Whether the newer contract asks for less of a unit of the older one; `reverse`: the older one of the newer one's.
    pub fn rule(&mut self, witness: &Witness, unit: usize, reverse: bool) -> Ruling {
        let of = |case: &Case| if reverse { case.gained.contains(&unit) } else { case.lost.contains(&unit) };
        if let Some(known) = self.shown.iter().position(of) {
            return Ruling::Shown(known);
        }
        let Some((lost, gained)) = self.compare(witness) else { return Ruling::Open };
        let held = if reverse { &gained } else { &lost };
        if !held.contains(&unit) {
            return Ruling::False;
        }
        if self.shown.len() == SHOWN {
            return Ruling::True;
        }
        let mut case = Case { witness: witness.clone(), lost, gained };
        self.shrink(&mut case, unit, reverse);
        self.shown.push(case);
        Ruling::Shown(self.shown.len() - 1)
    }

    /// Leaves out files one by one while the claim holds.
    fn shrink(&mut self, case: &mut Case, unit: usize, reverse: bool) {
        let mut index = 0;
        while case.witness.files.len() > 1 && index < case.witness.files.len() {
            let mut less = case.witness.clone();
            less.files.remove(index);
            match self.compare(&less) {
                Some((lost, gained)) if (if reverse { &gained } else { &lost }).contains(&unit) => {
                    *case = Case { witness: less, lost, gained };
                }
                Some(_) => index += 1,
                None => return,
            }
        }
    }

    /// What only the older contract asks for, and what only the newer one does.
    fn compare(&mut self, witness: &Witness) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
        self.work += self.old.checks.len() + self.new.checks.len() + 100;
        if self.work > WORK {
            return None;
        }
        let request = request(witness);
        let old = planned(self.old, &request, witness, &self.pairs.old_unit)?;
        let new = planned(self.new, &request, witness, &self.pairs.new_unit)?;
        let changed = |unit: &usize| self.pairs.hands_over(*unit);
        // With `{changed}`, fewer files are less, too; what else differs in a command is no question of requests.
        let less = |mine: Option<&BTreeSet<Word>>, theirs: Option<&BTreeSet<Word>>, counts: bool| match (mine, theirs) {
            (Some(_), None) => true,
            (Some(mine), Some(theirs)) => counts && !mine.is_subset(theirs),
            (None, _) => false,
        };
        let lost = old.keys().filter(|unit| {
            let partner = self.pairs.to_new.get(unit);
            less(old.get(unit), partner.and_then(|p| new.get(p)), changed(unit))
        });
        let gained = new.keys().filter(|unit| {
            let partner = self.pairs.to_old.get(unit);
            less(new.get(unit), partner.and_then(|p| old.get(p)), partner.is_some_and(&changed))
        });
        Some((lost.copied().collect(), gained.copied().collect()))
    }

    /// The requests, as they are printed.
    pub fn requests(&self) -> Vec<Asked> {
        self.shown.iter().map(|case| self.asked(case)).collect()
    }

    fn asked(&self, case: &Case) -> Asked {
        let names = |units: &BTreeSet<usize>, of: &[super::contracts::Unit]| -> Vec<String> {
            units.iter().take(NAMED).filter_map(|u| of.get(*u)).map(|u| u.check.id.clone()).collect()
        };
        let (lost, gained) = (names(&case.lost, &self.pairs.old), names(&case.gained, &self.pairs.new));
        let title = match (lost.first(), gained.first()) {
            (Some(name), _) => format!("only the older contract runs {name}{}", more(case.lost.len())),
            (None, Some(name)) => format!("only the newer contract runs {name}{}", more(case.gained.len())),
            (None, None) => String::new(),
        };
        let changed: Vec<ChangedFile> = request(&case.witness).changed.files().to_vec();
        let exists: Vec<RepoPath> =
            case.witness.exists.iter().filter(|(_, is)| **is).map(|(path, _)| path.clone()).collect();
        let text = expect::write(&expect::Case {
            title: &title,
            role: &case.witness.role,
            changed: &changed,
            exists: &exists,
            high_risk: case.witness.high,
            run_end: case.witness.end,
            runs: if lost.is_empty() { &gained } else { &lost },
        });
        Asked {
            changed,
            exists,
            expect: text,
            gained,
            high_risk: case.witness.high,
            lost,
            role: case.witness.role.clone(),
            run_end: case.witness.end,
        }
    }
}

fn more(count: usize) -> String {
    if count > 1 { format!(" and {} more", count - 1) } else { String::new() }
}

fn request(witness: &Witness) -> Request {
    // A file that conditions ask for and that does not exist can only have been deleted.
    let gone = |sample: &Sample| {
        !sample.must_exist
            && witness.exists.iter().any(|(p, is)| !is && (*p == sample.path || sample.path.below(p).is_some()))
    };
    let file = |sample: &Sample| ChangedFile {
        path: sample.path.clone(),
        status: if gone(sample) { Status::Deleted } else { Status::Modified },
    };
    Request {
        role: Some(witness.role.clone()),
        changed: ChangeSet::new(witness.files.iter().map(file).collect()),
        risk: if witness.high { Risk::High } else { Risk::Medium },
        boundaries: witness.end.then_some(Boundary::RunEnd).into_iter().collect(),
        ..Request::default()
    }
}

/// Which units a contract asks for, and with which words.
fn planned(
    contract: &Contract,
    request: &Request,
    witness: &Witness,
    units: &BTreeMap<String, usize>,
) -> Option<Planned> {
    let mut facts = Facts::default();
    for _ in 0..ROUNDS {
        match compile(Some(contract), request, &facts).ok()? {
            Compiled::Plan(plan) => {
                let mut planned = Planned::new();
                for step in &plan.steps {
                    if let Some(unit) = units.get(step.check()) {
                        planned.entry(*unit).or_default().extend(step.argv.iter().flatten().cloned());
                    }
                }
                return Some(planned);
            }
            Compiled::Needs(questions) => {
                for question in questions {
                    let answer = match &question {
                        Question::Exists(path) if witness.exists.get(path) == Some(&true) => {
                            Answer::Word(Certainty::Yes)
                        }
                        Question::Exists(_) => Answer::Word(Certainty::No),
                        _ => Answer::List(Vec::new()),
                    };
                    facts.add(question, answer);
                }
            }
        }
    }
    None
}
