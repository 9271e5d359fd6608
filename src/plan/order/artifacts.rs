//! Derives the order that follows from the files that checks make, clean and require. It gives way
//! to `needs` and `sequence`.

use super::constraints::{Bundle, Graph, MANY, NodeIndex, Place, positions, sorted};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::{Glob, overlap};
use vplan_base::index::Dense;

/// Returns the artifact constraints between nodes: cleaners before producers, producers before
/// consumers, where globs overlap. Each list has the patterns of one setting, with the node they
/// belong to.
pub fn artifact_bundles(effects: &Dense<NodeIndex, Effects>) -> Vec<Bundle> {
    let cleans = by_glob(effects, |e| e.cleans);
    let produces = by_glob(effects, |e| e.produces);
    let requires = by_glob(effects, |e| e.requires);
    let mut bundles = between(&cleans, &produces);
    bundles.extend(between(&produces, &requires));
    bundles
}

/// The artifact settings of one node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effects<'a> {
    /// `cleans`.
    pub cleans: &'a [Glob],
    /// `produces`.
    pub produces: &'a [Glob],
    /// `requires`.
    pub requires: &'a [Glob],
}

/// Globs, and the nodes that have each.
type ByGlob<'a> = Vec<(overlap::Shape<'a>, Vec<NodeIndex>)>;

fn by_glob<'a>(
    effects: &Dense<NodeIndex, Effects<'a>>,
    of: impl Fn(&Effects<'a>) -> &'a [Glob],
) -> ByGlob<'a> {
    let mut nodes: BTreeMap<&'a Glob, Vec<NodeIndex>> = BTreeMap::new();
    for (node, effect) in effects.numbered() {
        for glob in of(effect) {
            nodes.entry(glob).or_default().push(node);
        }
    }
    let nodes = nodes.into_iter();
    nodes
        .map(|(glob, nodes)| (overlap::Shape::new(glob), nodes))
        .collect()
}

fn between(a: &ByGlob, b: &ByGlob) -> Vec<Bundle> {
    let each_once = |lists: Vec<&Vec<NodeIndex>>| {
        let all: BTreeSet<NodeIndex> = lists.into_iter().flatten().copied().collect();
        all.into_iter().collect()
    };
    let bundle = |(before, after)| Bundle {
        before: each_once(before),
        after: each_once(after),
    };
    overlap::groups(a, b).into_iter().map(bundle).collect()
}

/// Adds the edges that cause no contradiction, and returns them.
///
/// Once all candidate edges are in, a pair can only contradict others on a cycle with it: all other
/// pairs stay, and as groups. Two checks that each clean what the other produces are not ordered.
/// Pairs that `needs` and `sequence` reverse are removed one by one; where several pairs contradict
/// each other only together, the earlier ones in base order stay.
pub(super) fn add(
    graph: &mut Graph,
    tiers: &Dense<NodeIndex, u8>,
    wishes: &[Bundle],
) -> Vec<Bundle> {
    let wishes = wishes.iter().flat_map(|bundle| split(bundle, tiers));
    let wishes: Vec<Bundle> = wishes.collect();
    let mut all = graph.clone();
    wishes.iter().for_each(|bundle| bundle.add_to(&mut all));
    let circles = all.circles();
    if circles.iter().all(Option::is_none) {
        *graph = all;
        return wishes;
    }
    let circle = |node: &NodeIndex| circles[*node];
    let (mut added, mut open) = (Vec::new(), Vec::new());
    for bundle in wishes {
        let mut inside: BTreeMap<usize, Bundle> = BTreeMap::new();
        for (c, a) in bundle.before.iter().filter_map(|a| Some((circle(a)?, a))) {
            inside.entry(c).or_default().before.push(*a);
        }
        for (c, b) in bundle.after.iter().filter_map(|b| Some((circle(b)?, b))) {
            inside.entry(c).or_default().after.push(*b);
        }
        inside.retain(|_, both| both.is_effective());
        if inside.is_empty() {
            added.push(bundle);
            continue;
        }
        let free = |nodes: &[NodeIndex], own: Option<usize>| {
            let stays = |node: &&NodeIndex| {
                let circle = circle(node).filter(|c| inside.contains_key(c));
                circle.is_none_or(|c| own.is_some_and(|own| own != c))
            };
            nodes.iter().filter(stays).copied().collect::<Vec<_>>()
        };
        // Those that are on no cycle with another before all, and those that are on one before all
        // that are not on it.
        let mut parts = vec![Bundle {
            before: free(&bundle.before, None),
            after: bundle.after.clone(),
        }];
        for (number, both) in inside.iter() {
            parts.push(Bundle {
                before: both.before.clone(),
                after: free(&bundle.after, Some(*number)),
            });
        }
        added.extend(parts.into_iter().filter(Bundle::is_effective));
        open.extend(inside.into_values());
    }
    added.extend(resolve(graph, tiers, &open, &added));
    added
}

/// Returns the possible part of a bundle: no node before itself, or before one of an earlier tier.
/// Nodes on both sides contradict each other, so each is split off.
fn split(bundle: &Bundle, tiers: &Dense<NodeIndex, u8>) -> Vec<Bundle> {
    let tier = |node: &NodeIndex| tiers[*node];
    let after: BTreeSet<NodeIndex> = bundle.after.iter().copied().collect();
    let (both, before): (Vec<NodeIndex>, Vec<NodeIndex>) =
        bundle.before.iter().partition(|a| after.contains(a));
    let is_both: BTreeSet<NodeIndex> = both.iter().copied().collect();
    let mut parts = Vec::new();
    for low in 0..=2_u8 {
        let of = |nodes: &[NodeIndex]| {
            let of_tier = nodes.iter().filter(|n| tier(n) == low);
            of_tier.copied().collect::<Vec<_>>()
        };
        let to = |fits: &dyn Fn(&NodeIndex) -> bool| {
            bundle
                .after
                .iter()
                .filter(|b| tier(b) >= low && fits(b))
                .copied()
                .collect::<Vec<_>>()
        };
        parts.push(Bundle {
            before: of(&before),
            after: to(&|_| true),
        });
        parts.push(Bundle {
            before: of(&both),
            after: to(&|b| tier(b) > low || !is_both.contains(b)),
        });
        parts.push(Bundle {
            before: of(&both),
            after: of(&both),
        });
    }
    parts
        .retain(|part| part.is_effective() && (part.before != part.after || part.before.len() > 1));
    parts
}

/// Returns the edges that stay of those that may contradict each other. `graph` gets all of them,
/// and those that were `added` before.
fn resolve(
    graph: &mut Graph,
    tiers: &Dense<NodeIndex, u8>,
    open: &[Bundle],
    added: &[Bundle],
) -> Vec<Bundle> {
    let places = positions(&sorted(graph, tiers));
    let mut stay = Vec::new();
    let counts = open.iter().map(|b| b.before.len() * b.after.len());
    // Too many to be examined one by one: the order without them decides.
    if counts.sum::<usize>() > MANY {
        for bundle in open {
            in_order(bundle, &places, &mut stay);
        }
        added
            .iter()
            .chain(&stay)
            .for_each(|bundle| bundle.add_to(graph));
        return stay;
    }
    let pairs = open.iter().flat_map(|bundle| {
        let before = bundle.before.iter();
        before.flat_map(|a| bundle.after.iter().map(|b| (*a, *b)))
    });
    let mut pairs: BTreeSet<(NodeIndex, NodeIndex)> = pairs.filter(|(a, b)| a != b).collect();
    let all = pairs.clone();
    pairs.retain(|(a, b)| !all.contains(&(*b, *a)));
    // A path back can only exist where the order already is the other way.
    pairs.retain(|(a, b)| places[*a] < places[*b] || !graph.reaches(*b, *a));
    added.iter().for_each(|bundle| bundle.add_to(graph));
    let mut all = graph.clone();
    pairs.iter().for_each(|(a, b)| all.bundle(&[*a], &[*b]));
    let fits = all.circles().iter().all(Option::is_none);
    for (a, b) in pairs {
        if fits || !graph.reaches(b, a) {
            let (before, after) = (vec![a], vec![b]);
            graph.bundle(&before, &after);
            stay.push(Bundle { before, after });
        }
    }
    stay
}

/// Collects the pairs of a bundle that agree with an order, by halves: few groups, however many
/// pairs.
fn in_order(bundle: &Bundle, places: &Dense<NodeIndex, Place>, into: &mut Vec<Bundle>) {
    let mut nodes = [bundle.before.as_slice(), &bundle.after].concat();
    nodes.sort_unstable_by_key(|node| places[*node]);
    nodes.dedup();
    let (early, late) = nodes.split_at(nodes.len() / 2);
    let part = |nodes: &[NodeIndex], own: &[NodeIndex]| {
        let nodes: BTreeSet<&NodeIndex> = nodes.iter().collect();
        let both = own.iter().filter(|n| nodes.contains(n));
        both.copied().collect::<Vec<_>>()
    };
    let (before, after) = (part(early, &bundle.before), part(late, &bundle.after));
    let whole = Bundle { before, after };
    let inside = [
        (whole.before.clone(), part(early, &bundle.after)),
        (part(late, &bundle.before), whole.after.clone()),
    ];
    into.extend(Some(whole).filter(Bundle::is_effective));
    for (before, after) in inside {
        let bundle = Bundle { before, after };
        if bundle.is_effective() && nodes.len() > 1 {
            in_order(&bundle, places, into);
        }
    }
}
