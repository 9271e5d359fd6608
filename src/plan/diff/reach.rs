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
use vplan_base::glob::automaton::{Atom, AutomatonLimits, Region, atoms};
use vplan_base::glob::{Glob, Selection};
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_contract::{ConditionIndex, Contract, Risk, Sought, Test};

vplan_base::index!(AtomIndex, "atom", "Position of an atom in its space.");
vplan_base::index!(RegionIndex, "region", "Position of a region in its space.");

/// A set of atoms.
type Bits = bits::Bits<AtomIndex>;

/// Maximum number of choices before a search gives up.
const BUDGET: usize = 100_000;
/// As many choices as it costs to find out that there are no files for an answer.
const FILES_COST: usize = 1_000;
/// Maximum number of clauses before a search gives up.
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

impl<'a> Obligation<'a> {
    fn places(&self) -> impl Iterator<Item = Place<'a>> {
        let contract = self.contract;
        let place = move |(tier, conditions): &(u8, &'a [ConditionIndex])| Place {
            contract,
            tier: *tier,
            conditions,
        };
        self.places.iter().map(place)
    }

    /// Whether the role's restriction lets it through.
    fn is_open(&self, role: &str) -> bool {
        self.contract.lets_through(role, self.tags)
    }
}

/// One of these places.
#[derive(Clone, Copy)]
struct Place<'a> {
    contract: &'a Contract,
    tier: u8,
    conditions: &'a [ConditionIndex],
}

impl<'a> Place<'a> {
    fn tests(self) -> impl Iterator<Item = &'a Test> {
        let conditions = self.conditions.iter();
        conditions.map(move |c| &self.contract.conditions[*c].test)
    }
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
        let mut files = self.files.iter();
        files.any(|sample| sample.must_exist && unmatched(&sample.path))
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
    /// No such request exists.
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
    /// Some of these paths change, and no others. Then neither the risk nor the run's end reaches a
    /// tier.
    pub within: Option<&'a Selection>,
    /// Real paths, which are the better examples.
    pub tracked: &'a [RepoPath],
}

impl<'a> Question<'a> {
    /// Answers the question. `last`: the paths as the last question divided them, which the same
    /// question of the other side asks for again.
    pub fn answer(&self, last: &mut Option<Divided<'a>>) -> Reachability {
        if self.places().count() > MOST_CLAUSES {
            return Reachability::Undecided(TOO_MANY_PLACES);
        }
        let mut space = Space::default();
        for place in self.places() {
            if place.tier == 1 {
                space.triggers(self.old.contract);
                space.triggers(self.other);
            }
            place.tests().for_each(|test| space.test(test));
        }
        if let Some(dir) = self.old.changed {
            space.region(Region::Below(dir));
        }
        if let Some(within) = self.within {
            space.region(Region::Selected(within));
        }
        let known = last
            .take()
            .filter(|divided| has_regions_of(divided, &space));
        match last.insert(known.unwrap_or_else(|| space.divide())) {
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
            if !self.old.is_open(role) || !seen.insert(self.signature(role)) {
                continue;
            }
            let against = self.new.iter().enumerate();
            let against = against.filter(|(_, new)| new.is_open(role));
            let places = against.flat_map(|(i, new)| {
                let hands_over = i == 0 && new.changed.is_some();
                new.places().map(move |place| (hands_over, place))
            });
            let denial = |(hands_over, place)| {
                let clauses = space.clauses(place, role)?;
                Some((hands_over, place, clauses.iter().flat_map(denied).collect()))
            };
            let denials: Vec<(bool, Place<'_>, Vec<Literal>)> = places.filter_map(denial).collect();
            for place in self.old.places() {
                let Some(asked) = space.clauses(place, role) else {
                    continue;
                };
                // With `{changed}`: a file that this place passes on, and that no place of the
                // other side may.
                let files: Vec<Option<AtomIndex>> = match self.old.changed {
                    None => vec![None],
                    Some(dir) => space.handed(place, dir).map(Some).collect(),
                };
                for file in files {
                    let matters = |(hands_over, place, _): &&(bool, Place<'_>, _)| match file {
                        Some(atom) if *hands_over => space.hands_over(*place, atom),
                        _ => true,
                    };
                    let mut clauses = asked.clone();
                    clauses.extend(
                        denials
                            .iter()
                            .filter(matters)
                            .map(|denial| denial.2.clone()),
                    );
                    clauses.sort_by_key(Vec::len);
                    let mut start = self.start(space);
                    let must = file.map(|atom| Bits::from_fn(space.atoms.len(), |a| a == atom));
                    start.musts.extend(must);
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
        let mut start = State {
            forbidden: Bits::none(space.atoms.len()),
            ..State::default()
        };
        if let Some(within) = self.within {
            let inside = space.region_bits(&Region::Selected(within));
            start.forbidden = inside.opposite();
            start.musts.push(inside);
            (start.high, start.end) = (Some(false), Some(false));
        }
        start
    }

    fn obligations(&self) -> impl Iterator<Item = &Obligation<'a>> {
        std::iter::once(&self.old).chain(&self.new)
    }

    fn places(&self) -> impl Iterator<Item = Place<'a>> {
        self.obligations().flat_map(Obligation::places)
    }

    /// Returns the answers of every condition and restriction here for a role; roles with the same
    /// answers are equivalent.
    fn signature(&self, role: &str) -> Vec<bool> {
        let open = self.obligations().map(|one| one.is_open(role));
        let tests = self.places().flat_map(Place::tests);
        let named = tests.filter_map(|test| match test {
            Test::Role(roles) => Some(roles.iter().any(|r| r == role)),
            _ => None,
        });
        open.chain(named).collect()
    }
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
        match atoms(self.regions.as_slice(), &AutomatonLimits::default()) {
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

    fn region_bits(&self, region: &Region) -> Bits {
        match self.known.get(&key(region)) {
            Some(index) => self.inside[*index].clone(),
            None => Bits::none(self.atoms.len()),
        }
    }

    fn all(&self) -> Bits {
        Bits::from_fn(self.atoms.len(), |_| true)
    }

    /// Returns the atoms that a change must touch to reach tier 1.
    fn pulling(&self, contract: &Contract) -> Bits {
        let mut bits = Bits::none(self.atoms.len());
        raising(contract)
            .for_each(|risk| bits.add(&self.region_bits(&Region::Selected(&risk.selection))));
        bits
    }

    /// Returns the clauses that must all hold for a place to apply. `None` when it cannot for this
    /// role.
    fn clauses(&self, place: Place<'_>, role: &str) -> Option<Vec<Vec<Literal>>> {
        let selected = |s: &Selection| self.region_bits(&Region::Selected(s));
        let mut clauses = Vec::new();
        for test in place.tests() {
            match test {
                Test::Role(roles) if roles.iter().any(|r| r == role) => {}
                Test::Role(_) => return None,
                Test::ChangedAny(s) => clauses.push(vec![Literal::Some(selected(s))]),
                Test::ChangedNone(s) => clauses.push(vec![Literal::None(selected(s))]),
                Test::ChangedOnly(s) => {
                    clauses.push(vec![Literal::Some(self.all())]);
                    clauses.push(vec![Literal::None(selected(s).opposite())]);
                }
                Test::ChangedAll(s) => {
                    let items = s
                        .positive()
                        .map(|item| self.region_bits(&Region::Item(s, item)));
                    clauses.extend(items.map(|bits| vec![Literal::Some(bits)]));
                }
                Test::Exists(all) => {
                    clauses.extend(all.iter().map(|s| vec![Literal::Exists(s.clone())]));
                }
                Test::ExistsAny(all) => {
                    clauses.push(all.iter().cloned().map(Literal::Exists).collect());
                }
                Test::Absent(all) => clauses.push(vec![Literal::Absent(all.clone())]),
            }
        }
        match place.tier {
            0 => {}
            1 => clauses.push(vec![
                Literal::High(true),
                Literal::Some(self.pulling(place.contract)),
            ]),
            _ => clauses.push(vec![Literal::End(true)]),
        }
        Some(clauses)
    }

    /// Returns the atoms whose files a place passes to `{changed}`.
    fn handed(&self, place: Place<'_>, dir: &RepoPath) -> impl Iterator<Item = AtomIndex> {
        let below = self.region_bits(&Region::Below(dir));
        let atoms = self.atoms.indices();
        atoms.filter(move |a| below.has(*a) && self.hands_over(place, *a))
    }

    fn hands_over(&self, place: Place<'_>, atom: AtomIndex) -> bool {
        let mut narrowing = place.tests().filter_map(Test::narrowing);
        narrowing.all(|s| self.region_bits(&Region::Selected(s)).has(atom))
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
        let musts = state.musts.iter();
        let mut open: Vec<Bits> = musts.map(|m| m.without(&state.forbidden)).collect();
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
            let real = tracked.iter().filter(|path| {
                let mut regions = self.regions.iter().zip(&atom.inside);
                regions.all(|(region, inside)| region.holds(path) == *inside)
            });
            let real = real.min_by_key(|path| (path.as_bytes().len(), *path));
            Sample {
                path: real.unwrap_or(&atom.example).clone(),
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
    let found = atoms(&regions, &AutomatonLimits::default())?;
    let sides = |atom: &Atom| {
        let (a, b) = atom.inside.split_at_checked(old.len()).unwrap_or_default();
        (a.contains(&true), b.contains(&true))
    };
    let first = |side| {
        let mut found = found.iter();
        let atom = found.find(|atom| sides(atom) == side);
        atom.map(|atom| atom.example.clone())
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

/// Returns the literals that each make a clause false.
fn denied(clause: &Vec<Literal>) -> Vec<Literal> {
    let sought = |literal: &Literal| match literal {
        Literal::Exists(sought) => Some(sought.clone()),
        _ => None,
    };
    match clause.as_slice() {
        [Literal::Some(bits)] => vec![Literal::None(bits.clone())],
        [Literal::None(bits)] => vec![Literal::Some(bits.clone())],
        [Literal::High(true), Literal::Some(bits)] => vec![Literal::NotRaised(bits.clone())],
        [Literal::End(is)] => vec![Literal::End(!is)],
        [Literal::Absent(all)] => all.iter().cloned().map(Literal::Exists).collect(),
        exist => vec![Literal::Absent(exist.iter().filter_map(sought).collect())],
    }
}

/// The statements chosen so far about a request.
#[derive(Clone, Debug, Default)]
struct State {
    musts: Vec<Bits>,
    forbidden: Bits,
    exists: BTreeMap<Sought, bool>,
    high: Option<bool>,
    end: Option<bool>,
}

impl State {
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

    /// Whether each list of atoms in `musts` has one that may change.
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
