//! Searches the reachable states of the product, each with its most readable path.

use super::alphabet::{Family, Letter};
use super::machine::{Machine, NodeIndex, Token};
use super::{Atom, Limits, Set};
use crate::base::index::Dense;
use crate::base::path::RepoPath;
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
/// membership of each set, whatever follows.
type State = (Spot, Vec<NodeIndex>, Vec<Option<bool>>);

/// A successor of a state: the letter that leads there (`None` is `/`), its position and states,
/// and its cost.
type Successor = (Option<Letter>, (Spot, Vec<NodeIndex>), u64);

crate::index!(
    StateIndex,
    "state of a product",
    "Number of a state of the product."
);

/// The cheapest way to a state: its predecessor and the letter (`None` is `/`).
struct Reached {
    from: Option<(StateIndex, Option<Letter>)>,
    state: Rc<State>,
    /// The cost of the most readable path that is known.
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
    limits: &Limits,
) -> Option<Vec<Atom>> {
    let families = machine.alphabet();
    let (nodes, fates) = settle(
        machine,
        sets,
        globs,
        machine.start.clone(),
        &vec![None; sets.len()],
    );
    let start: Rc<State> = Rc::new((Spot::Start, nodes, fates));
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
        for (letter, (spot, nodes), more) in successors(machine, &families, *spot, nodes) {
            let (nodes, fates) = settle(machine, sets, globs, nodes, fates);
            let next = (spot, nodes, fates);
            let total = cost + more;
            let target = match numbers.get(&next) {
                Some(target) => *target,
                None if reached.len() == limits.states => return None,
                None => {
                    let next = Rc::new(next);
                    let target = reached.push(Reached {
                        from: None,
                        state: Rc::clone(&next),
                        cost: u64::MAX,
                    });
                    numbers.insert(next, target);
                    target
                }
            };
            let entry = &mut reached[target];
            if total < entry.cost {
                entry.cost = total;
                entry.from = Some((number, letter));
                heap.push(Reverse((total, target)));
            }
        }
    }
    Some(atoms)
}

/// Removes states that can no longer matter: those of a glob that selects whatever follows, except
/// the accepting one, and those of globs that only decided sets depend on. Without this, globs such
/// as `**/x/**` would each remember that they have seen their `x`, and a handful of them would be
/// too many.
fn settle(
    machine: &Machine,
    sets: &[Set],
    globs: usize,
    mut nodes: Vec<NodeIndex>,
    fates: &[Option<bool>],
) -> (Vec<NodeIndex>, Vec<Option<bool>>) {
    // A glob without a state can no longer select the path.
    let mut certain = Dense::filled(Some(false), globs);
    for node in nodes.iter().map(|n| &machine.nodes[*n]) {
        let slot = &mut certain[node.glob];
        *slot = if node.forever {
            Some(true)
        } else {
            slot.filter(|c| *c)
        };
    }
    let fates: Vec<Option<bool>> = sets
        .iter()
        .zip(fates)
        .map(|(set, fate)| fate.or_else(|| set.fate(&certain)))
        .collect();
    let mut asked = Dense::filled(false, globs);
    sets.iter()
        .zip(&fates)
        .filter(|(_, fate)| fate.is_none())
        .for_each(|(set, _)| set.mark(&mut asked));
    nodes.retain(|n| {
        let node = &machine.nodes[*n];
        asked[node.glob] && (node.forever || certain[node.glob] != Some(true))
    });
    (nodes, fates)
}

/// Returns the successors of a state, each with its letter and cost. Letters that lead to the same
/// state are one.
fn successors(
    machine: &Machine,
    families: &[Family],
    spot: Spot,
    nodes: &[NodeIndex],
) -> Vec<Successor> {
    let mut found = Vec::new();
    let live = || nodes.iter().map(|n| &machine.nodes[*n]);
    if spot == Spot::Name {
        let next = sorted(live().flat_map(|node| node.slash.iter().copied()).collect());
        found.push((None, (Spot::Start, next), SLASH));
    }
    let mut named: BTreeSet<char> = live()
        .filter_map(|n| {
            if let Some((Token::Char(c), _)) = &n.step {
                Some(*c)
            } else {
                None
            }
        })
        .collect();
    if spot != Spot::Name {
        named.insert('.');
    }
    for (held, letters) in families {
        let mut other = false;
        for letter in letters {
            let is_named = letter.shown.is_some_and(|c| named.contains(&c));
            // Of the letters that no glob names here, the first represents all.
            if !is_named && std::mem::replace(&mut other, true) {
                continue;
            }
            let takes = |token: &Token| match token {
                Token::Any => true,
                Token::Char(c) => letter.shown == Some(*c),
                Token::Class(class) => held[*class],
            };
            let next = live()
                .filter_map(|n| n.step.as_ref())
                .filter(|(token, _)| takes(token));
            let next = sorted(next.flat_map(|(_, to)| to.iter().copied()).collect());
            let (to, more) = match (spot, letter.shown) {
                (Spot::Start, Some('.')) => (Spot::Dot, HIDDEN),
                (Spot::Start, Some('-' | '@')) => (Spot::Name, HIDDEN),
                (Spot::Dot, Some('.')) => (Spot::DotDot, HIDDEN),
                _ => (Spot::Name, 0),
            };
            found.push((Some(*letter), (to, next), letter.cost + more));
        }
    }
    found
}

fn sorted(mut nodes: Vec<NodeIndex>) -> Vec<NodeIndex> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
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
