//! Searches the reachable states of the product, each with its most readable path.

use super::alphabet::{Family, Letter};
use super::atom::{Atom, AutomatonLimits, Set};
use super::machine::{GlobIndex, Machine, NodeIndex, Token};

use crate::index::Dense;
use crate::path::RepoPath;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

/// The position of a path within a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// At its beginning.
    Start,
    /// After `.`.
    Dot,
    /// After `..`.
    DotDot,
    /// In a name that no path forbids.
    Name,
}

/// A state of the product: the position in the segment, the states of the globs, and the certain
/// membership of each set, for any continuation.
type State = (Spot, Vec<NodeIndex>, Vec<Option<bool>>);

crate::index!(
    StateIndex,
    "state of a product",
    "Number of a state of the product."
);

/// The cheapest way to a state: its predecessor and the letter (`None` is `/`).
struct Reached {
    from: Option<(StateIndex, Option<Letter>)>,
    state: Rc<State>,
    /// The cost of the most readable known path.
    cost: u64,
}

const SLASH: u64 = 7;
/// The additional cost of a name that begins with a dot.
const HIDDEN: u64 = 20;

/// Returns all atoms of some sets of paths, the most readable first: states are visited in the
/// order of how readable a path to them is. `globs`: how many there are in the machine.
pub(super) fn explore(
    machine: &Machine,
    sets: &[Set],
    globs: usize,
    limits: &AutomatonLimits,
) -> Option<Vec<Atom>> {
    let families = machine.alphabet();
    let mut settling = Settling::new(machine, sets, globs);
    let mut named = Vec::new();
    let mut next: State = (Spot::Start, machine.start.clone(), Vec::new());
    settling.settle(&mut next, &vec![None; sets.len()]);
    let start = Rc::new(next.clone());
    let mut reached: Dense<StateIndex, Reached> = Dense::default();
    let first = reached.push(Reached {
        from: None,
        state: start.clone(),
        cost: 0,
    });
    let mut numbers: BTreeMap<Rc<State>, StateIndex> = BTreeMap::from([(start, first)]);
    let mut heap = BinaryHeap::from([Reverse((0_u64, first))]);
    let mut known: BTreeSet<Vec<bool>> = BTreeSet::new();
    let mut atoms = Vec::new();
    while let Some(Reverse((cost, number))) = heap.pop() {
        if cost > reached[number].cost {
            continue;
        }
        let state = Rc::clone(&reached[number].state);
        let (spot, nodes, fates) = &*state;
        if *spot == Spot::Name {
            let mut accepted = Dense::filled(false, globs);
            for glob in nodes.iter().filter_map(|n| machine.nodes[*n].accepts) {
                accepted[glob] = true;
            }
            let inside: Vec<bool> = sets
                .iter()
                .zip(fates)
                .map(|(set, fate)| fate.unwrap_or_else(|| set.holds(&accepted)))
                .collect();
            if known.insert(inside.clone()) {
                if atoms.len() == limits.atoms {
                    return None;
                }
                atoms.push(Atom {
                    inside,
                    example: path(&reached, number)?,
                });
            }
        }
        let mut is_full = false;
        let of = (*spot, &nodes[..]);
        successors(
            machine,
            &families,
            of,
            &mut named,
            &mut next,
            |letter, more, next| {
                settling.settle(next, fates);
                let total = cost + more;
                let target = match numbers.get(next) {
                    Some(target) => *target,
                    None if reached.len() == limits.states => {
                        is_full = true;
                        return;
                    }
                    None => {
                        let state = Rc::new(next.clone());
                        let target = reached.push(Reached {
                            from: None,
                            state: Rc::clone(&state),
                            cost: u64::MAX,
                        });
                        numbers.insert(state, target);
                        target
                    }
                };
                let entry = &mut reached[target];
                if total < entry.cost {
                    entry.cost = total;
                    entry.from = Some((number, letter));
                    heap.push(Reverse((total, target)));
                }
            },
        );
        if is_full {
            return None;
        }
    }
    Some(atoms)
}

/// Settles states of the product, in memory that is used again: there are many, each of few bytes.
struct Settling<'m> {
    machine: &'m Machine<'m>,
    sets: &'m [Set],
    /// The certain facts about each glob.
    certain: Dense<GlobIndex, Option<bool>>,
    /// The globs that sets depend on which are not decided.
    asked: Dense<GlobIndex, bool>,
}

impl<'m> Settling<'m> {
    fn new(machine: &'m Machine<'m>, sets: &'m [Set], globs: usize) -> Self {
        Self {
            machine,
            sets,
            certain: Dense::filled(None, globs),
            asked: Dense::filled(false, globs),
        }
    }

    /// Marks sets as decided if the states decide them, and removes states that no longer matter.
    /// These are states of a glob that selects any continuation, except the accepting one, and of
    /// globs that only decided sets depend on. Otherwise globs such as `**/x/**` would each
    /// remember that they have matched their `x`, and a handful of them would give too many states.
    /// `fates`: those of the previous state.
    fn settle(&mut self, (_, nodes, decided): &mut State, fates: &[Option<bool>]) {
        let Self {
            machine,
            sets,
            certain,
            asked,
        } = self;
        // A glob without a state can no longer select the path.
        certain.iter_mut().for_each(|slot| *slot = Some(false));
        for node in nodes.iter().map(|n| &machine.nodes[*n]) {
            let slot = &mut certain[node.glob];
            *slot = if node.forever {
                Some(true)
            } else {
                slot.filter(|c| *c)
            };
        }
        decided.clear();
        let known = sets.iter().zip(fates);
        decided.extend(known.map(|(set, fate)| fate.or_else(|| set.fate(certain))));
        asked.iter_mut().for_each(|slot| *slot = false);
        sets.iter()
            .zip(&*decided)
            .filter(|(_, fate)| fate.is_none())
            .for_each(|(set, _)| set.mark(asked));
        nodes.retain(|n| {
            let node = &machine.nodes[*n];
            asked[node.glob] && (node.forever || certain[node.glob] != Some(true))
        });
    }
}

/// Visits the successors of a state, each with the letter that leads there (`None` is `/`) and its cost, in
/// `next`. Letters that lead to the same state are one. `named`: memory for the characters that count.
fn successors(
    machine: &Machine,
    families: &[Family],
    (spot, nodes): (Spot, &[NodeIndex]),
    named: &mut Vec<char>,
    next: &mut State,
    mut visit: impl FnMut(Option<Letter>, u64, &mut State),
) {
    let live = || nodes.iter().map(|n| &machine.nodes[*n]);
    if spot == Spot::Name {
        next.0 = Spot::Start;
        fill(&mut next.1, live().map(|node| &node.slash));
        visit(None, SLASH, next);
    }
    named.clear();
    named.extend(live().filter_map(|n| match &n.step {
        Some((Token::Char(c), _)) => Some(*c),
        _ => None,
    }));
    if spot != Spot::Name {
        named.push('.');
    }
    named.sort_unstable();
    named.dedup();
    for (held, letters) in families {
        let mut other = false;
        for letter in letters {
            let is_named = letter
                .shown
                .is_some_and(|c| named.binary_search(&c).is_ok());
            // Of the letters that no glob names here, the first represents all.
            if !is_named && std::mem::replace(&mut other, true) {
                continue;
            }
            let takes = |token: &Token| match token {
                Token::Any => true,
                Token::Char(c) => letter.shown == Some(*c),
                Token::Class(class) => held[*class],
            };
            let (to, more) = match (spot, letter.shown) {
                (Spot::Start, Some('.')) => (Spot::Dot, HIDDEN),
                (Spot::Start, Some('-' | '@')) => (Spot::Name, HIDDEN),
                (Spot::Dot, Some('.')) => (Spot::DotDot, HIDDEN),
                _ => (Spot::Name, 0),
            };
            next.0 = to;
            let steps = live().filter_map(|n| n.step.as_ref());
            let taken = steps.filter(|(token, _)| takes(token));
            fill(&mut next.1, taken.map(|(_, to)| to));
            visit(Some(*letter), letter.cost + more, next);
        }
    }
}

/// Fills a list with all of some lists, ascending, each once.
fn fill<'n>(nodes: &mut Vec<NodeIndex>, lists: impl Iterator<Item = &'n Vec<NodeIndex>>) {
    nodes.clear();
    lists.for_each(|list| nodes.extend(list));
    nodes.sort_unstable();
    nodes.dedup();
}

/// Returns the path that leads to a state.
fn path(reached: &Dense<StateIndex, Reached>, mut number: StateIndex) -> Option<RepoPath> {
    let mut letters = Vec::new();
    while let Some((from, letter)) = reached[number].from {
        letters.push(letter);
        number = from;
    }
    let mut bytes = Vec::new();
    for letter in letters.into_iter().rev() {
        match letter {
            None => bytes.push(b'/'),
            Some(Letter { shown: None, .. }) => bytes.push(0xff),
            Some(Letter { shown: Some(c), .. }) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    RepoPath::from_exact(&bytes)
}
