//! Searches for a request for which one contract requires a check and another does not. Exact, or
//! "not decided".
//!
//! The changed files matter to conditions only by the atoms of all selections in which some file
//! lies (`base::glob::automaton`). So each condition, and its opposite, is made of four statements:
//! "some file lies in one of these atoms", "no file lies in one of these", "this path, or a file of
//! this glob, exists", "this tier is reached". A request is found by choosing, for each clause, one
//! statement that makes it true, until nothing is left to choose or nothing fits. What exists by
//! globs is an atom of its own in that search; where no files fit it (`existing`), nothing is
//! decided: what git ignores is there for a path, and not for a glob.

use super::existing::{Existing, existing};
use super::sampled;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::bits;
use vplan_base::glob::automaton::{Atom, Limits, Region, atoms};
use vplan_base::glob::{Glob, Selection};
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_contract::{ConditionIndex, Contract, Risk, Sought, Test};

vplan_base::index!(AtomIndex, "atom", "Position of an atom in its space.");
vplan_base::index!(RegionIndex, "region", "Position of a region in its space.");

/// A set of atoms.
type Bits = bits::Bits<AtomIndex>;

/// The most choices of a search before it gives up.
const BUDGET: usize = 100_000;
/// As many choices as it costs to find out that there are no files for an answer.
const FILES_COST: usize = 1_000;
/// The most clauses that a search considers before it gives up.
const MOST_CLAUSES: usize = 400;

/// The places where one piece of work applies, in one contract.
#[derive(Clone, Debug)]
pub(super) struct Obligation<'a> {
    pub contract: &'a Contract,
    /// Tier and conditions of each place.
    pub places: Vec<(u8, &'a [ConditionIndex])>,
    pub tags: &'a [String],
    /// The directory below which `{changed}` looks, if the command has it.
    pub changed: Option<&'a RepoPath>,
}

/// A request on which two contracts differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Witness {
    pub role: String,
    /// One changed file for each atom that needs one.
    pub files: Vec<Sample>,
    /// The paths that conditions depend on, and whether they exist; one for each glob that a file
    /// must match.
    pub exists: BTreeMap<RepoPath, bool>,
    /// The globs that no file may match.
    pub unmatched: Vec<Glob>,
    /// Whether a high risk reaches tier 1.
    pub high: bool,
    /// Whether the run's end reaches tier 2.
    pub end: bool,
}

impl Witness {
    /// Whether a changed file must not exist, since a condition asks for no file like it.
    pub fn is_gone(&self, file: &RepoPath) -> bool {
        let is_asked =
            |(path, is): (&RepoPath, &bool)| !is && (path == file || file.below(path).is_some());
        self.exists.iter().any(is_asked) || self.unmatched.iter().any(|glob| glob.matches(file))
    }

    /// Whether a path that exists is such a one.
    pub fn has(&self, is: impl Fn(&RepoPath) -> bool) -> bool {
        self.exists.iter().any(|(path, there)| *there && is(path))
    }

    /// Whether `{changed}` must see a file that no glob may match.
    fn lacks_its_files(&self) -> bool {
        let unmatched = |file: &RepoPath| self.unmatched.iter().any(|glob| glob.matches(file));
        self.files
            .iter()
            .any(|sample| sample.must_exist && unmatched(&sample.path))
    }
}

/// A changed file of a witness, which represents all files of its atom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sample {
    pub path: RepoPath,
    /// Whether `{changed}` has to see it.
    pub must_exist: bool,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reachability {
    /// There is no such request.
    Never,
    Request(Witness),
    /// Not decided, for this reason.
    Undecided(&'static str),
}

pub(super) const TOO_LARGE: &str =
    "the selections are too many, or too hard to tell apart, to be compared exactly";
const TOO_MANY_PLACES: &str = "it applies in too many places to be compared exactly";
const IMPOSSIBLE: &str =
    "the request that was found asks for paths and globs of which no file fits all";
const TOO_HARD: &str = "the search for a request was given up";

/// The question: a request in one of these roles for which `old` applies and none of `new` does.
/// Each of them must be in one contract. With `{changed}`, also a request for which the first of
/// `new` sees fewer files.
pub(super) struct Question<'a> {
    pub old: Obligation<'a>,
    pub new: Vec<Obligation<'a>>,
    pub roles: Vec<&'a str>,
    /// The contract that `new` belongs to, also when there is none.
    pub other: &'a Contract,
    /// The paths of which some change, and no others. Then neither the risk nor the run's end
    /// reaches a tier.
    pub within: Option<&'a Selection>,
    /// Real paths, which are the better examples.
    pub tracked: &'a [RepoPath],
}

impl<'a> Question<'a> {
    /// Answers the question. `last`: the paths as the last question divided them, which the same
    /// question of the other side asks for again.
    pub fn answer(&self, last: &mut Option<Divided<'a>>) -> Reachability {
        let places = self.old.places.len() + self.new.iter().map(|d| d.places.len()).sum::<usize>();
        if places > MOST_CLAUSES {
            return Reachability::Undecided(TOO_MANY_PLACES);
        }
        let mut space = Space::default();
        for obligation in std::iter::once(&self.old).chain(&self.new) {
            for (tier, conditions) in &obligation.places {
                if *tier == 1 {
                    space.triggers(self.old.contract);
                    space.triggers(self.other);
                }
                tests(obligation.contract, conditions).for_each(|test| space.test(test));
            }
        }
        if let Some(dir) = self.old.changed {
            space.region(Region::Below(dir));
        }
        if let Some(within) = self.within {
            space.region(Region::Selected(within));
        }
        let divided = match last
            .take()
            .filter(|divided| has_regions_of(divided, &space))
        {
            Some(divided) => last.insert(divided),
            None => last.insert(space.divide()),
        };
        match divided {
            Ok(space) => self.search(space),
            // What single paths show holds; that they show nothing means nothing.
            Err(space) => match self.search(&space.clone().sample(self.tracked)) {
                Reachability::Request(witness) => Reachability::Request(witness),
                Reachability::Never | Reachability::Undecided(_) => {
                    Reachability::Undecided(TOO_LARGE)
                }
            },
        }
    }

    fn search(&self, space: &Space) -> Reachability {
        let mut effort = Effort {
            left: BUDGET,
            no_files: false,
        };
        let mut seen = BTreeSet::new();
        for role in &self.roles {
            if !is_open(&self.old, role) || !seen.insert(self.signature(role)) {
                continue;
            }
            let against = self
                .new
                .iter()
                .enumerate()
                .filter(|(_, obligation)| is_open(obligation, role));
            let denials: Vec<(bool, &Obligation, &[ConditionIndex], Vec<Literal>)> = against
                .flat_map(|(i, obligation)| {
                    obligation
                        .places
                        .iter()
                        .map(move |(tier, conditions)| (i, obligation, *tier, *conditions))
                })
                .filter_map(|(i, obligation, tier, conditions)| {
                    let clause = space.denied(obligation.contract, tier, conditions, role)?;
                    Some((i == 0, obligation, conditions, clause))
                })
                .collect();
            for (tier, conditions) in &self.old.places {
                let Some(asked) =
                    space.required_clauses(self.old.contract, *tier, conditions, role)
                else {
                    continue;
                };
                // With `{changed}`: a file that this place passes on, and that no place of the
                // other side may.
                let files: Vec<Option<AtomIndex>> = match self.old.changed {
                    None => vec![None],
                    Some(dir) => space
                        .handed(self.old.contract, conditions, dir)
                        .into_iter()
                        .map(Some)
                        .collect(),
                };
                for file in files {
                    let matters =
                        |denial: &&(bool, &Obligation, &[ConditionIndex], Vec<Literal>)| match file
                        {
                            Some(atom) if denial.0 && denial.1.changed.is_some() => {
                                space.hands_over(denial.1.contract, denial.2, atom)
                            }
                            _ => true,
                        };
                    let mut clauses = asked.clone();
                    clauses.extend(denials.iter().filter(matters).map(|d| d.3.clone()));
                    clauses.sort_by_key(Vec::len);
                    let mut start = self.start(space);
                    start
                        .musts
                        .extend(file.map(|atom| Bits::of(space.atoms.len(), |a| a == atom)));
                    if !start.is_possible() {
                        continue;
                    }
                    match solve(&clauses, &start, &mut effort) {
                        Solved::Yes(state, files) => {
                            let witness = space.witness(&state, files, role, file, self.tracked);
                            if !witness.lacks_its_files() {
                                return Reachability::Request(witness);
                            }
                            effort.no_files = true;
                        }
                        Solved::No => {}
                        Solved::GaveUp => return Reachability::Undecided(TOO_HARD),
                    }
                }
            }
        }
        if effort.no_files {
            Reachability::Undecided(IMPOSSIBLE)
        } else {
            Reachability::Never
        }
    }

    /// Returns what is known of each request.
    fn start(&self, space: &Space) -> State {
        let mut start = State::new(space.atoms.len());
        if let Some(within) = self.within {
            let inside = space.of(&Region::Selected(within));
            start.forbidden = inside.opposite();
            start.musts.push(inside);
            (start.high, start.end) = (Some(false), Some(false));
        }
        start
    }

    /// Returns the answers of every condition and restriction here for a role; roles with the same
    /// answers are equivalent.
    fn signature(&self, role: &str) -> Vec<bool> {
        let obligations = || std::iter::once(&self.old).chain(&self.new);
        let mut signature: Vec<bool> = obligations()
            .map(|obligation| is_open(obligation, role))
            .collect();
        for obligation in obligations() {
            for test in obligation
                .places
                .iter()
                .flat_map(|(_, conditions)| tests(obligation.contract, conditions))
            {
                if let Test::Role(roles) = test {
                    signature.push(roles.iter().any(|r| r == role));
                }
            }
        }
        signature
    }
}

/// Whether the role's restriction lets a check through.
fn is_open(obligation: &Obligation, role: &str) -> bool {
    obligation.contract.lets_through(role, obligation.tags)
}

fn tests<'a>(
    contract: &'a Contract,
    conditions: &'a [ConditionIndex],
) -> impl Iterator<Item = &'a Test> {
    conditions.iter().map(|c| &contract.conditions[*c].test)
}

/// Returns the triggers that reach tier 1.
pub(super) fn raising(contract: &Contract) -> impl Iterator<Item = &Risk> {
    contract.risks.iter().filter(|risk| risk.tier > 0)
}

/// A space with all its atoms, or without any where they are too many.
pub(super) type Divided<'a> = Result<Space<'a>, Space<'a>>;

fn has_regions_of(divided: &Divided, space: &Space) -> bool {
    let (Ok(known) | Err(known)) = divided;
    known.known.keys().eq(space.known.keys())
}

/// The regions that some conditions mention, and the atoms that they divide all paths into.
#[derive(Clone, Default)]
pub(super) struct Space<'a> {
    regions: Dense<RegionIndex, Region<'a>>,
    /// Regions by their text, so that each is there once.
    known: BTreeMap<String, RegionIndex>,
    atoms: Dense<AtomIndex, Atom>,
    /// The atoms of each region.
    inside: Dense<RegionIndex, Bits>,
}

impl<'a> Space<'a> {
    fn region(&mut self, region: Region<'a>) {
        let known = self.known.entry(key(&region));
        known.or_insert_with(|| self.regions.push(region));
    }

    fn triggers(&mut self, contract: &'a Contract) {
        raising(contract).for_each(|risk| self.region(Region::Selected(&risk.selection)));
    }

    fn test(&mut self, test: &'a Test) {
        match test {
            Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => {}
            Test::ChangedAny(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
                self.region(Region::Selected(s))
            }
            Test::ChangedAll(s) => {
                self.region(Region::Selected(s));
                s.positive().for_each(|i| self.region(Region::Item(s, i)));
            }
        }
    }

    /// Finds all atoms; the space as it was where they are too many.
    fn divide(self) -> Divided<'a> {
        match atoms(self.regions.as_slice(), &Limits::default()) {
            Some(atoms) => Ok(self.with(atoms)),
            None => Err(self),
        }
    }

    /// Finds some of the atoms.
    fn sample(self, tracked: &[RepoPath]) -> Self {
        let atoms = sampled::atoms(self.regions.as_slice(), tracked);
        self.with(atoms)
    }

    fn with(mut self, atoms: Vec<Atom>) -> Self {
        self.atoms = atoms.into();
        self.inside = Dense::filled(Bits::none(self.atoms.len()), self.regions.len());
        for (index, atom) in self.atoms.numbered() {
            let regions = self.inside.iter_mut().zip(&atom.inside);
            let lies_in = regions.filter(|(_, is_inside)| **is_inside);
            lies_in.for_each(|(bits, _)| bits.set(index));
        }
        self
    }

    fn of(&self, region: &Region) -> Bits {
        match self.known.get(&key(region)) {
            Some(index) => self.inside[*index].clone(),
            None => Bits::none(self.atoms.len()),
        }
    }

    fn all(&self) -> Bits {
        Bits::of(self.atoms.len(), |_| true)
    }

    /// Returns the atoms that a change must touch to reach tier 1.
    fn pulling(&self, contract: &Contract) -> Bits {
        let mut bits = Bits::none(self.atoms.len());
        raising(contract).for_each(|risk| bits.add(&self.of(&Region::Selected(&risk.selection))));
        bits
    }

    /// Returns the clauses, all of which must hold, that make a place apply. `None` when it cannot
    /// for this role.
    fn required_clauses(
        &self,
        contract: &Contract,
        tier: u8,
        conditions: &[ConditionIndex],
        role: &str,
    ) -> Option<Vec<Vec<Literal>>> {
        let mut clauses = Vec::new();
        for test in tests(contract, conditions) {
            match test {
                Test::Role(roles) if roles.iter().any(|r| r == role) => {}
                Test::Role(_) => return None,
                Test::ChangedAny(s) => {
                    clauses.push(vec![Literal::Some(self.of(&Region::Selected(s)))])
                }
                Test::ChangedNone(s) => {
                    clauses.push(vec![Literal::None(self.of(&Region::Selected(s)))])
                }
                Test::ChangedOnly(s) => {
                    clauses.push(vec![Literal::Some(self.all())]);
                    clauses.push(vec![Literal::None(
                        self.of(&Region::Selected(s)).opposite(),
                    )]);
                }
                Test::ChangedAll(s) => {
                    clauses.extend(
                        s.positive()
                            .map(|i| vec![Literal::Some(self.of(&Region::Item(s, i)))]),
                    );
                }
                Test::Exists(all) => {
                    clauses.extend(all.iter().map(|s| vec![Literal::Exists(s.clone())]))
                }
                Test::ExistsAny(all) => {
                    clauses.push(all.iter().map(|s| Literal::Exists(s.clone())).collect())
                }
                Test::Absent(all) => clauses.push(vec![Literal::Absent(all.clone())]),
            }
        }
        match tier {
            0 => {}
            1 => clauses.push(vec![
                Literal::High(true),
                Literal::Some(self.pulling(contract)),
            ]),
            _ => clauses.push(vec![Literal::End(true)]),
        }
        Some(clauses)
    }

    /// Returns the literals, any of which keeps a place from applying. `None` when the role alone
    /// does.
    fn denied(
        &self,
        contract: &Contract,
        tier: u8,
        conditions: &[ConditionIndex],
        role: &str,
    ) -> Option<Vec<Literal>> {
        let mut clause = Vec::new();
        for test in tests(contract, conditions) {
            match test {
                Test::Role(roles) if roles.iter().any(|r| r == role) => {}
                Test::Role(_) => return None,
                Test::ChangedAny(s) => clause.push(Literal::None(self.of(&Region::Selected(s)))),
                Test::ChangedNone(s) => clause.push(Literal::Some(self.of(&Region::Selected(s)))),
                Test::ChangedOnly(s) => {
                    clause.push(Literal::None(self.all()));
                    clause.push(Literal::Some(self.of(&Region::Selected(s)).opposite()));
                }
                Test::ChangedAll(s) => {
                    clause.extend(
                        s.positive()
                            .map(|i| Literal::None(self.of(&Region::Item(s, i)))),
                    );
                }
                Test::Exists(all) => {
                    clause.extend(all.iter().map(|s| Literal::Absent(vec![s.clone()])))
                }
                Test::ExistsAny(all) => clause.push(Literal::Absent(all.clone())),
                Test::Absent(all) => clause.extend(all.iter().map(|s| Literal::Exists(s.clone()))),
            }
        }
        match tier {
            0 => {}
            1 => clause.push(Literal::NotRaised(self.pulling(contract))),
            _ => clause.push(Literal::End(false)),
        }
        Some(clause)
    }

    /// Returns the atoms whose files a place passes to `{changed}`.
    fn handed(
        &self,
        contract: &Contract,
        conditions: &[ConditionIndex],
        dir: &RepoPath,
    ) -> Vec<AtomIndex> {
        let below = self.of(&Region::Below(dir));
        self.atoms
            .indices()
            .filter(|a| below.has(*a) && self.hands_over(contract, conditions, *a))
            .collect()
    }

    fn hands_over(
        &self,
        contract: &Contract,
        conditions: &[ConditionIndex],
        atom: AtomIndex,
    ) -> bool {
        let mut narrowing = tests(contract, conditions).filter_map(Test::narrowing);
        narrowing.all(|s| self.of(&Region::Selected(s)).has(atom))
    }

    /// Returns the smallest request that a state allows: as few files as are needed, each as
    /// readable as possible.
    fn witness(
        &self,
        state: &State,
        existing: Existing,
        role: &str,
        file: Option<AtomIndex>,
        tracked: &[RepoPath],
    ) -> Witness {
        let mut open: Vec<Bits> = state
            .musts
            .iter()
            .map(|must| must.without(&state.forbidden))
            .collect();
        let mut chosen: BTreeSet<AtomIndex> = file.into_iter().collect();
        open.retain(|must| !chosen.iter().any(|a| must.has(*a)));
        while !open.is_empty() {
            let hits = |atom: &AtomIndex| open.iter().filter(|must| must.has(*atom)).count();
            // Of those that satisfy most, the first, which is the most readable one.
            let atoms = self.atoms.indices();
            let Some(best) = atoms.max_by_key(|a| (hits(a), std::cmp::Reverse(*a))) else {
                break;
            };
            chosen.insert(best);
            open.retain(|must| !must.has(best));
        }
        let sample = |index: &AtomIndex| {
            let atom = &self.atoms[*index];
            let real = tracked.iter().filter(|p| {
                self.regions
                    .iter()
                    .zip(&atom.inside)
                    .all(|(region, inside)| region.holds(p) == *inside)
            });
            let path = real
                .min_by_key(|p| (p.as_bytes().len(), (*p).clone()))
                .unwrap_or(&atom.example)
                .clone();
            Sample {
                path,
                must_exist: file == Some(*index),
            }
        };
        Witness {
            role: role.to_owned(),
            files: chosen.iter().map(sample).collect(),
            exists: existing.paths,
            unmatched: existing.unmatched,
            high: state.high == Some(true),
            end: state.end == Some(true),
        }
    }
}

/// Returns a region's text: regions with one text are one.
fn key(region: &Region) -> String {
    let text = |selection: &Selection| serde_json::to_string(selection).unwrap_or_default();
    match region {
        Region::Selected(s) => format!("s{}", text(s)),
        Region::Item(s, item) => {
            let alone = Selection {
                items: vec![(*item).clone()],
            };
            format!("i{} {}", text(&alone), text(s))
        }
        Region::Below(dir) => format!("b{dir}"),
    }
}

/// Returns the atoms in which two lists of selections differ: those that only the first ones
/// select, those that only the second ones do; a path for each. `None` when not decided.
pub(super) fn differing_atoms(
    old: &[&Selection],
    new: &[&Selection],
) -> Option<(Option<RepoPath>, Option<RepoPath>)> {
    let regions: Vec<Region> = old.iter().chain(new).map(|s| Region::Selected(s)).collect();
    let found = atoms(&regions, &Limits::default())?;
    let sides = |atom: &Atom| {
        let (a, b) = atom.inside.split_at_checked(old.len()).unwrap_or_default();
        (a.contains(&true), b.contains(&true))
    };
    let first = |side: (bool, bool)| {
        found
            .iter()
            .find(|atom| sides(atom) == side)
            .map(|atom| atom.example.clone())
    };
    Some((first((true, false)), first((false, true))))
}

/// A statement about a request.
#[derive(Clone, Debug)]
enum Literal {
    /// A file in one of these atoms changed.
    Some(Bits),
    /// No file in any of these atoms changed.
    None(Bits),
    /// This exists.
    Exists(Sought),
    /// None of these exists.
    Absent(Vec<Sought>),
    /// The risk is high.
    High(bool),
    /// The risk is not high, and no file in these atoms changed.
    NotRaised(Bits),
    /// It is the run's end.
    End(bool),
}

/// The statements chosen so far about a request.
#[derive(Clone, Debug)]
struct State {
    musts: Vec<Bits>,
    forbidden: Bits,
    exists: BTreeMap<Sought, bool>,
    high: Option<bool>,
    end: Option<bool>,
}

impl State {
    fn new(atoms: usize) -> Self {
        let forbidden = Bits::none(atoms);
        Self {
            musts: Vec::new(),
            forbidden,
            exists: BTreeMap::new(),
            high: None,
            end: None,
        }
    }

    /// Returns the state with one more statement; `None` if it contradicts the others.
    fn with(&self, literal: &Literal) -> Option<Self> {
        let mut state = self.clone();
        let fits = match literal {
            Literal::Some(bits) => {
                state.musts.push(bits.clone());
                bits.exceeds(&state.forbidden)
            }
            Literal::None(bits) => state.forbid(bits),
            Literal::Exists(sought) => state.exist(sought, true),
            Literal::Absent(all) => all.iter().all(|sought| state.exist(sought, false)),
            Literal::High(is) => *state.high.get_or_insert(*is) == *is,
            Literal::NotRaised(bits) => !*state.high.get_or_insert(false) && state.forbid(bits),
            Literal::End(is) => *state.end.get_or_insert(*is) == *is,
        };
        fits.then_some(state)
    }

    fn exist(&mut self, sought: &Sought, is: bool) -> bool {
        *self.exists.entry(sought.clone()).or_insert(is) == is
    }

    fn forbid(&mut self, bits: &Bits) -> bool {
        self.forbidden.add(bits);
        self.is_possible()
    }

    /// Whether each list of atoms of which one must change has one that may.
    fn is_possible(&self) -> bool {
        self.musts.iter().all(|must| must.exceeds(&self.forbidden))
    }
}

enum Solved {
    Yes(Box<State>, Existing),
    No,
    GaveUp,
}

/// What a search may still do, and what became of it.
struct Effort {
    /// The choices that are left.
    left: usize,
    /// Whether an answer was dropped because there are no files for it.
    no_files: bool,
}

fn solve(clauses: &[Vec<Literal>], state: &State, effort: &mut Effort) -> Solved {
    let Some((clause, rest)) = clauses.split_first() else {
        let Some(existing) = existing(&state.exists) else {
            effort.no_files = true;
            effort.left = effort.left.saturating_sub(FILES_COST);
            return Solved::No;
        };
        return Solved::Yes(Box::new(state.clone()), existing);
    };
    // Statements that need no file come first, so that the request stays small.
    let (files, others): (Vec<&Literal>, Vec<&Literal>) =
        clause.iter().partition(|l| matches!(l, Literal::Some(_)));
    for literal in others.into_iter().chain(files) {
        if effort.left == 0 {
            return Solved::GaveUp;
        }
        effort.left -= 1;
        if let Some(next) = state.with(literal) {
            match solve(rest, &next, effort) {
                Solved::No => {}
                found => return found,
            }
        }
    }
    Solved::No
}
