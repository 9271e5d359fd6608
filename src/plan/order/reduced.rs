//! Computes the direct predecessors of each node: the fewest edges that imply all others
//! (transitive reduction).

use super::constraints::{Bundle, MANY, NodeIndex, Place, positions};
use vplan_base::bits::Bits;
use vplan_base::index::{Dense, Index as _, at};

/// For each place in the order, the places that it waits for.
type Lists = Dense<Place, Vec<Place>>;

/// The predecessors of each node.
type ByNode = Dense<NodeIndex, Vec<NodeIndex>>;

/// Above this many pairs in all, groups go through one member although each of them is small.
const MOST_PAIRS: usize = 1 << 20;
/// The number of places processed together.
const TOGETHER: usize = 64 * 64;

vplan_base::index!(
    Column,
    "column",
    "Position of a place among those that are processed together."
);

/// Returns the direct predecessors of each node by `strong` constraints, and by `weak` ones those
/// that both together do not imply; in plan order. Strong ones are implied by strong ones alone.
/// With `full`, all that are declared.
pub(super) fn predecessors(
    order: &[NodeIndex],
    [strong, weak]: [&[Bundle]; 2],
    full: bool,
) -> (ByNode, ByNode) {
    let places = positions(order);
    let most = largest(strong.iter().chain(weak));
    let mut strong = lists(&places, strong, most);
    let mut weak = lists(&places, weak, most);
    for (weak, strong) in weak.iter_mut().zip(&strong) {
        weak.retain(|p| strong.binary_search(p).is_err());
    }
    if !full {
        let none = Dense::filled(Vec::new(), strong.len());
        reduce(&mut strong, &none);
        reduce(&mut weak, &strong);
    }
    let by_node = |lists: Lists| {
        let list = |place: &Place| lists[*place].iter().map(|p| *at(order, *p)).collect();
        places.iter().map(list).collect()
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
    let sum = |most: usize| {
        let pairs = groups.clone().map(pairs).filter(|p| *p <= most);
        pairs.fold(0, usize::saturating_add)
    };
    let mut most = MANY;
    while most > 1 && sum(most) > MOST_PAIRS {
        most /= 2;
    }
    most
}

/// Lists the predecessors. Larger groups go through one member: the last of `before` waits for the
/// others of its group, and all of `after` for it. Five thousand by five thousand steps would
/// otherwise be 25 million ids in the plan.
fn lists(places: &Dense<NodeIndex, Place>, bundles: &[Bundle], most: usize) -> Lists {
    let mut lists: Lists = Dense::filled(Vec::new(), places.len());
    let mut add = |later: NodeIndex, earlier: NodeIndex| {
        if places[earlier] < places[later] {
            lists[places[later]].push(places[earlier]);
        }
    };
    for bundle in bundles {
        let last = bundle.before.iter().max_by_key(|n| places[**n]);
        let last = last.filter(|_| bundle.after.len() > 1 && pairs(bundle) > most);
        let before = || bundle.before.iter();
        match last {
            Some(last) => {
                before().for_each(|earlier| add(*last, *earlier));
                bundle.after.iter().for_each(|later| add(*later, *last));
            }
            None => {
                for later in &bundle.after {
                    before().for_each(|earlier| add(*later, *earlier));
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
fn reduce(lists: &mut Lists, others: &Lists) {
    let both = |lists: &Lists, own: Place| [lists[own].as_slice(), &others[own]].concat();
    let can_shrink = |own: Place| !lists[own].is_empty() && both(lists, own).len() > 1;
    if !lists.indices().any(can_shrink) {
        return;
    }
    let mut implied: Vec<(Place, Place)> = Vec::new();
    for low in (0..lists.len()).step_by(TOGETHER) {
        let columns = (lists.len() - low).min(TOGETHER);
        let column = |p: &Place| {
            let column = p.position().checked_sub(low)?;
            (column < columns).then(|| Column::new(column))
        };
        // For each place, those of the columns that come before it.
        let mut rows: Dense<Place, Bits<Column>> = Dense::filled(Bits::none(0), low);
        for own in lists.indices().skip(low) {
            let direct = both(lists, own);
            let mut row = Bits::none(columns);
            direct.iter().for_each(|p| row.add(&rows[*p]));
            let is_implied = |p: &&Place| column(p).is_some_and(|c| row.has(c));
            implied.extend(lists[own].iter().filter(is_implied).map(|p| (own, *p)));
            let own_columns = direct.iter().filter_map(column);
            own_columns.for_each(|c| row.set(c));
            rows.push(row);
        }
    }
    implied.sort_unstable();
    for own in lists.indices() {
        lists[own].retain(|p| implied.binary_search(&(own, *p)).is_err());
    }
}
