//! Computes the direct predecessors of each node: the fewest edges that imply all others
//! (transitive reduction).

use super::graph::positions;
use super::{Bundle, MANY};

/// For each position in the order, the positions that it waits for.
type Lists = Vec<Vec<usize>>;

/// Above this many pairs in all, groups go through one member although each of them is small.
const MOST_PAIRS: usize = 1 << 20;
/// How many positions are processed together, in words of 64.
const WORDS: usize = 64;

/// Returns the direct predecessors of each node by `strong` constraints, and by `weak` ones those
/// that both together do not imply; in plan order. Strong ones are implied by strong ones alone.
/// With `full`, all that are declared.
pub(super) fn predecessors(
    order: &[usize],
    [strong, weak]: [&[Bundle]; 2],
    full: bool,
) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let position = positions(order);
    let most = largest(strong.iter().chain(weak));
    let mut strong = lists(&position, strong, most);
    let mut weak = lists(&position, weak, most);
    for (weak, strong) in weak.iter_mut().zip(&strong) {
        weak.retain(|p| strong.binary_search(p).is_err());
    }
    if !full {
        let none = vec![Vec::new(); strong.len()];
        reduce(&mut strong, &none);
        reduce(&mut weak, &strong);
    }
    let by_node = |lists: Lists| {
        let mut all = vec![Vec::new(); order.len()];
        for (node, list) in order.iter().zip(lists) {
            if let Some(slot) = all.get_mut(*node) {
                *slot = list
                    .into_iter()
                    .filter_map(|at| order.get(at).copied())
                    .collect();
            }
        }
        all
    };
    (by_node(strong), by_node(weak))
}

fn pairs(bundle: &Bundle) -> usize {
    bundle.before.len().saturating_mul(bundle.after.len())
}

/// Returns the size of the largest groups that are listed pair by pair, so that all pairs together
/// do not become too many.
fn largest<'b>(bundles: impl Iterator<Item = &'b Bundle> + Clone) -> usize {
    let groups = bundles.filter(|b| b.before.len() > 1 && b.after.len() > 1);
    let mut most = MANY;
    while most > 1
        && groups
            .clone()
            .map(pairs)
            .filter(|p| *p <= most)
            .fold(0, usize::saturating_add)
            > MOST_PAIRS
    {
        most /= 2;
    }
    most
}

/// Lists the predecessors. Larger groups go through one member: the last of `before` waits for the
/// others of its group, and all of `after` for it. Five thousand by five thousand steps would
/// otherwise be 25 million ids in the plan.
fn lists(position: &[usize], bundles: &[Bundle], most: usize) -> Lists {
    let at = |node: usize| position.get(node).copied().unwrap_or(0);
    let mut lists: Lists = vec![Vec::new(); position.len()];
    let mut add = |later: usize, earlier: usize| {
        if at(earlier) < at(later)
            && let Some(list) = lists.get_mut(at(later))
        {
            list.push(at(earlier));
        }
    };
    for bundle in bundles {
        let last = bundle
            .before
            .iter()
            .max_by_key(|n| at(**n))
            .filter(|_| bundle.after.len() > 1 && pairs(bundle) > most);
        match last {
            Some(last) => {
                bundle
                    .before
                    .iter()
                    .for_each(|earlier| add(*last, *earlier));
                bundle.after.iter().for_each(|later| add(*later, *last));
            }
            None => {
                for later in &bundle.after {
                    bundle
                        .before
                        .iter()
                        .for_each(|earlier| add(*later, *earlier));
                }
            }
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// Removes from `lists` what follows from them together with `others`. Processes a few thousand
/// predecessors at a time: for each node, which of them come before its own predecessors.
fn reduce(lists: &mut Lists, others: &[Vec<usize>]) {
    let both = |lists: &Lists, node: usize| {
        lists
            .get(node)
            .into_iter()
            .chain(others.get(node))
            .flatten()
            .copied()
            .collect::<Vec<usize>>()
    };
    let can_shrink = (0..lists.len())
        .any(|n| lists.get(n).is_some_and(|l| !l.is_empty()) && both(lists, n).len() > 1);
    if !can_shrink {
        return;
    }
    let mut implied: Vec<(usize, usize)> = Vec::new();
    for low in (0..lists.len()).step_by(WORDS * 64) {
        let words = (lists.len() - low).div_ceil(64).min(WORDS);
        let mut rows = vec![0_u64; (lists.len() - low) * words];
        for node in low..lists.len() {
            let direct = both(lists, node);
            let (done, row) = rows.split_at_mut((node - low) * words);
            let Some(row) = row.get_mut(..words) else {
                continue;
            };
            for earlier in direct.iter().filter_map(|p| p.checked_sub(low)) {
                let before = done
                    .get(earlier * words..(earlier + 1) * words)
                    .unwrap_or_default();
                row.iter_mut()
                    .zip(before)
                    .for_each(|(own, before)| *own |= before);
            }
            let place = |p: usize| {
                p.checked_sub(low)
                    .map(|p| (p / 64, 1_u64 << (p % 64)))
                    .filter(|(word, _)| *word < words)
            };
            let is_implied = |p: usize| {
                place(p).is_some_and(|(word, bit)| row.get(word).is_some_and(|w| w & bit != 0))
            };
            implied.extend(
                lists
                    .get(node)
                    .into_iter()
                    .flatten()
                    .filter(|p| is_implied(**p))
                    .map(|p| (node, *p)),
            );
            for (word, bit) in direct.iter().filter_map(|p| place(*p)) {
                row.get_mut(word).into_iter().for_each(|w| *w |= bit);
            }
        }
    }
    implied.sort_unstable();
    for (node, list) in lists.iter_mut().enumerate() {
        list.retain(|p| implied.binary_search(&(node, *p)).is_err());
    }
}
