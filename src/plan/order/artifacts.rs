//! Derives the order that follows from the files that checks make, clean and require. It gives way
//! to `needs` and `sequence`.

use super::graph::{Graph, positions};
use super::{Bundle, MANY};
use crate::base::glob::{Glob, overlap};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the artifact constraints between nodes: cleaners before producers, producers before
/// consumers, where globs overlap. Each list has the patterns of one setting, with the node they
/// belong to.
#[must_use]
pub fn artifact_bundles(effects: &[Effects]) -> Vec<Bundle> {
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
type ByGlob<'a> = (Vec<overlap::Shape<'a>>, Vec<Vec<usize>>);

fn by_glob<'a>(effects: &[Effects<'a>], of: impl Fn(&Effects<'a>) -> &'a [Glob]) -> ByGlob<'a> {
    let mut nodes: BTreeMap<&'a Glob, Vec<usize>> = BTreeMap::new();
    for (node, effect) in effects.iter().enumerate() {
        for glob in of(effect) {
            nodes.entry(glob).or_default().push(node);
        }
    }
    nodes
        .into_iter()
        .map(|(glob, nodes)| (overlap::Shape::new(glob), nodes))
        .unzip()
}

fn between((a, a_nodes): &ByGlob, (b, b_nodes): &ByGlob) -> Vec<Bundle> {
    let nodes = |indices: &[usize], of: &[Vec<usize>]| {
        let all: BTreeSet<usize> = indices
            .iter()
            .filter_map(|i| of.get(*i))
            .flatten()
            .copied()
            .collect();
        all.into_iter().collect()
    };
    let groups = overlap::groups(a, b).into_iter();
    groups
        .map(|(i, j)| Bundle {
            before: nodes(&i, a_nodes),
            after: nodes(&j, b_nodes),
        })
        .collect()
}

/// Adds the edges that cause no contradiction, and returns them.
///
/// Once all candidate edges are in, a pair can only contradict others on a cycle with it: all other
/// pairs stay, and as groups. Two checks that each clean what the other produces are not ordered.
/// Pairs that `needs` and `sequence` reverse are removed one by one; where several pairs contradict
/// each other only together, the earlier ones in base order stay.
pub(super) fn add(graph: &mut Graph, tiers: &[u8], wishes: &[Bundle]) -> Vec<Bundle> {
    let wishes: Vec<Bundle> = wishes
        .iter()
        .flat_map(|bundle| split(bundle, tiers))
        .collect();
    let mut all = graph.clone();
    wishes.iter().for_each(|bundle| all.bundle(bundle));
    let circles = all.circles();
    if circles.iter().all(Option::is_none) {
        *graph = all;
        return wishes;
    }
    let circle = |node: &usize| circles.get(*node).copied().flatten();
    let (mut added, mut open) = (Vec::new(), Vec::new());
    for bundle in wishes {
        let mut inside: BTreeMap<usize, Bundle> = BTreeMap::new();
        bundle
            .before
            .iter()
            .filter_map(|a| Some((circle(a)?, a)))
            .for_each(|(c, a)| inside.entry(c).or_default().before.push(*a));
        bundle
            .after
            .iter()
            .filter_map(|b| Some((circle(b)?, b)))
            .for_each(|(c, b)| inside.entry(c).or_default().after.push(*b));
        inside.retain(|_, both| !both.before.is_empty() && !both.after.is_empty());
        if inside.is_empty() {
            added.push(bundle);
            continue;
        }
        let free = |nodes: &[usize], own: Option<usize>| {
            let stays = |node: &&usize| {
                circle(node)
                    .filter(|c| inside.contains_key(c))
                    .is_none_or(|c| own.is_some_and(|own| own != c))
            };
            nodes.iter().filter(stays).copied().collect::<Vec<usize>>()
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
        added.extend(
            parts
                .into_iter()
                .filter(|part| !part.before.is_empty() && !part.after.is_empty()),
        );
        open.extend(inside.into_values());
    }
    added.extend(resolve(graph, tiers, &open, &added));
    added
}

/// Returns the possible part of a bundle: no node before itself, or before one of an earlier tier.
/// Nodes on both sides contradict each other, so each is split off.
fn split(bundle: &Bundle, tiers: &[u8]) -> Vec<Bundle> {
    let tier = |node: &usize| tiers.get(*node).copied().unwrap_or(0);
    let after: BTreeSet<usize> = bundle.after.iter().copied().collect();
    let (both, before): (Vec<usize>, Vec<usize>) =
        bundle.before.iter().partition(|a| after.contains(a));
    let is_both: BTreeSet<usize> = both.iter().copied().collect();
    let mut parts = Vec::new();
    for low in 0..=2_u8 {
        let of = |nodes: &[usize]| {
            nodes
                .iter()
                .filter(|n| tier(n) == low)
                .copied()
                .collect::<Vec<usize>>()
        };
        let to = |fits: &dyn Fn(&usize) -> bool| {
            bundle
                .after
                .iter()
                .filter(|b| tier(b) >= low && fits(b))
                .copied()
                .collect::<Vec<usize>>()
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
    parts.retain(|part| {
        !part.before.is_empty()
            && !part.after.is_empty()
            && (part.before != part.after || part.before.len() > 1)
    });
    parts
}

/// Returns the edges that stay of those that may contradict each other. `graph` gets all of them,
/// and those that were `added` before.
fn resolve(graph: &mut Graph, tiers: &[u8], open: &[Bundle], added: &[Bundle]) -> Vec<Bundle> {
    let hard = graph.sort(tiers);
    let position = positions(&hard);
    let at = |node: &usize| position.get(*node).copied().unwrap_or(0);
    let mut stay = Vec::new();
    if open
        .iter()
        .map(|b| b.before.len() * b.after.len())
        .sum::<usize>()
        > MANY
    {
        // Too many to be examined one by one: the order without them decides.
        open.iter()
            .for_each(|bundle| in_order(bundle, &at, &mut stay));
        added
            .iter()
            .chain(&stay)
            .for_each(|bundle| graph.bundle(bundle));
        return stay;
    }
    let pairs = open.iter().flat_map(|bundle| {
        bundle
            .before
            .iter()
            .flat_map(|a| bundle.after.iter().map(|b| (*a, *b)))
    });
    let mut pairs: BTreeSet<(usize, usize)> = pairs.filter(|(a, b)| a != b).collect();
    let mutual: Vec<(usize, usize)> = pairs
        .iter()
        .filter(|(a, b)| pairs.contains(&(*b, *a)))
        .copied()
        .collect();
    for pair in mutual {
        pairs.remove(&pair);
    }
    // A path back can only exist where the order already is the other way.
    pairs.retain(|(a, b)| at(a) < at(b) || !graph.reaches(*b, *a));
    added.iter().for_each(|bundle| graph.bundle(bundle));
    let mut all = graph.clone();
    pairs.iter().for_each(|(a, b)| all.edge(*a, *b));
    let fits = all.circles().iter().all(Option::is_none);
    for (a, b) in pairs {
        if fits || !graph.reaches(b, a) {
            graph.edge(a, b);
            stay.push(Bundle {
                before: vec![a],
                after: vec![b],
            });
        }
    }
    stay
}

/// Collects the pairs of a bundle that agree with an order, by halves: few groups, however many
/// pairs.
fn in_order(bundle: &Bundle, at: &impl Fn(&usize) -> usize, into: &mut Vec<Bundle>) {
    let mut nodes: Vec<usize> = bundle.before.iter().chain(&bundle.after).copied().collect();
    nodes.sort_unstable_by_key(at);
    nodes.dedup();
    let (early, late) = nodes.split_at(nodes.len() / 2);
    let part = |nodes: &[usize], own: &[usize]| {
        let nodes: BTreeSet<&usize> = nodes.iter().collect();
        own.iter()
            .filter(|n| nodes.contains(n))
            .copied()
            .collect::<Vec<usize>>()
    };
    let (before, after) = (part(early, &bundle.before), part(late, &bundle.after));
    if !before.is_empty() && !after.is_empty() {
        into.push(Bundle {
            before: before.clone(),
            after: after.clone(),
        });
    }
    for (before, after) in [
        (before, part(early, &bundle.after)),
        (part(late, &bundle.before), after),
    ] {
        if !before.is_empty() && !after.is_empty() && nodes.len() > 1 {
            in_order(&Bundle { before, after }, at, into);
        }
    }
}
