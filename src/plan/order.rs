//! In which order do the steps run, and why does one stand before another?
//!
//! Nodes are indices in base order. By tier first, then topologically; of the nodes that are ready the first goes first.

mod writers;

use super::{Plan, Step};
use crate::base::glob::overlap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Every one of `before` runs before every one of `after`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// Nodes, ascending.
    pub before: Vec<usize>,
    /// Nodes, ascending.
    pub after: Vec<usize>,
}

/// What the order must respect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// The tier of each node; its length is the number of nodes.
    pub tiers: Vec<u8>,
    /// (needed, needer).
    pub needs: Vec<(usize, usize)>,
    /// The groups of each `sequence`, absent members left out.
    pub sequences: Vec<Vec<Vec<usize>>>,
    /// Nodes with `writes`, ascending.
    pub writers: Vec<usize>,
    /// Nodes that are `setup`.
    pub setup: BTreeSet<usize>,
    /// Artifact settings: they give way to `needs`, `sequences` and `writers`.
    pub artifacts: Vec<Bundle>,
}

/// An order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// All nodes, each once.
    pub order: Vec<usize>,
    /// For each node its direct predecessors by constraints, in the order of `order`.
    pub after: Vec<Vec<usize>>,
    /// (before, after) of sequences that the tiers contradict; one witness for each pair of groups.
    pub against_tiers: Vec<(usize, usize)>,
}

/// Above this many pairs a bundle is one virtual node of the graph.
const EXPAND_IN_GRAPH: usize = 64;
/// Above this many pairs `after` goes through one member: the last of `before` waits for the others of its group, and
/// all of `after` wait for it. Five thousand by five thousand steps would otherwise be 25 million ids in the plan.
const EXPAND_IN_PLAN: usize = 1 << 16;

/// Orders the nodes.
#[must_use]
pub fn order(constraints: &Constraints) -> Ordered {
    let mut against_tiers = Vec::new();
    let mut graph = Graph::new(constraints.tiers.len());
    let mut kept = Vec::new();
    for (needed, needer) in &constraints.needs {
        if constraints.tiers.get(*needed) <= constraints.tiers.get(*needer) {
            graph.edge(*needed, *needer);
            kept.push(Bundle { before: vec![*needed], after: vec![*needer] });
        }
    }
    for groups in &constraints.sequences {
        for bundle in sequence_bundles(groups, &constraints.tiers, &mut against_tiers) {
            graph.bundle(&bundle);
            kept.push(bundle);
        }
    }
    kept.extend(writers::add(&mut graph, constraints));
    kept.extend(add_artifacts(&mut graph, constraints));
    let order = graph.sort(&constraints.tiers);
    let after = predecessors(&order, &kept);
    Ordered { order, after, against_tiers }
}

/// One bundle for each two neighbouring groups that are there; those against the tiers are taken out.
fn sequence_bundles(groups: &[Vec<usize>], tiers: &[u8], lost: &mut Vec<(usize, usize)>) -> Vec<Bundle> {
    let present: Vec<&Vec<usize>> = groups.iter().filter(|g| !g.is_empty()).collect();
    let tier = |node: &usize| tiers.get(*node).copied().unwrap_or(0);
    let ranges: Vec<(u8, u8)> = present
        .iter()
        .map(|g| (g.iter().map(tier).min().unwrap_or(0), g.iter().map(tier).max().unwrap_or(0)))
        .collect();
    let ascending = ranges.windows(2).all(|pair| matches!(pair, [(_, max), (min, _)] if max <= min));
    let mut bundles = Vec::new();
    for (i, before) in present.iter().enumerate() {
        // Neighbours are enough while each pair of them holds; where a tier breaks the chain, every pair counts.
        let reach = if ascending { 1 } else { present.len() };
        for after in present.iter().skip(i + 1).take(reach) {
            for low in 0..=2_u8 {
                let from: Vec<usize> = before.iter().filter(|n| tier(n) == low).copied().collect();
                let (to, against): (Vec<usize>, Vec<usize>) = after.iter().partition(|n| tier(n) >= low);
                if let (Some(a), Some(b)) = (from.first(), against.first()) {
                    lost.push((*a, *b));
                }
                if !from.is_empty() && !to.is_empty() {
                    bundles.push(Bundle { before: from, after: to });
                }
            }
        }
    }
    bundles
}

/// Adds the artifact edges that contradict nothing; the result is what was added.
fn add_artifacts(graph: &mut Graph, constraints: &Constraints) -> Vec<Bundle> {
    let tier = |node: &usize| constraints.tiers.get(*node).copied().unwrap_or(0);
    let hard = graph.sort(&constraints.tiers);
    let mut position = vec![0; hard.len()];
    for (at, node) in hard.iter().enumerate() {
        if let Some(p) = position.get_mut(*node) {
            *p = at;
        }
    }
    let at = |node: usize| position.get(node).copied().unwrap_or(0);
    let mut whole = Vec::new();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for bundle in &constraints.artifacts {
        let large = bundle.before.len() * bundle.after.len() > EXPAND_IN_PLAN;
        let tiers_agree = bundle.before.iter().map(tier).max() <= bundle.after.iter().map(tier).min();
        if large && tiers_agree && !graph.reaches(&bundle.after, &bundle.before) {
            whole.push(bundle.clone());
            continue;
        }
        let expanded = bundle.before.iter().flat_map(|a| bundle.after.iter().map(move |b| (*a, *b)));
        pairs.extend(expanded.filter(|(a, b)| a != b && tier(a) <= tier(b)));
    }
    // Two checks that each clean what the other produces say nothing about their order.
    let mutual: Vec<(usize, usize)> = pairs.iter().filter(|(a, b)| pairs.contains(&(*b, *a))).copied().collect();
    for pair in mutual {
        pairs.remove(&pair);
    }
    // What `needs` and `sequence` turn round, each on its own; a path back can only exist where the order already is the other way.
    pairs.retain(|(a, b)| at(*a) < at(*b) || !graph.reaches(&[*b], &[*a]));

    let mut all = graph.clone();
    whole.iter().for_each(|bundle| all.bundle(bundle));
    pairs.iter().for_each(|(a, b)| all.edge(*a, *b));
    let mut added = whole.clone();
    if all.is_acyclic() {
        added.extend(pairs.iter().map(|(a, b)| Bundle { before: vec![*a], after: vec![*b] }));
        *graph = all;
        return added;
    }
    // Several edges contradict each other only together: the earlier ones in base order stay.
    added.clear();
    for bundle in whole {
        if !graph.reaches(&bundle.after, &bundle.before) {
            graph.bundle(&bundle);
            added.push(bundle);
        }
    }
    for (a, b) in pairs {
        if !graph.reaches(&[b], &[a]) {
            graph.edge(a, b);
            added.push(Bundle { before: vec![a], after: vec![b] });
        }
    }
    added
}

/// Direct predecessors of each node, in plan order, each once.
fn predecessors(order: &[usize], bundles: &[Bundle]) -> Vec<Vec<usize>> {
    let mut position = vec![0; order.len()];
    for (at, node) in order.iter().enumerate() {
        if let Some(p) = position.get_mut(*node) {
            *p = at;
        }
    }
    let at = |node: usize| position.get(node).copied().unwrap_or(0);
    // Positions, not nodes, so that sorting gives plan order.
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
    let mut add = |later: usize, earlier: usize| {
        if at(earlier) < at(later)
            && let Some(list) = after.get_mut(later)
        {
            list.push(at(earlier));
        }
    };
    for bundle in bundles {
        if bundle.before.len().saturating_mul(bundle.after.len()) <= EXPAND_IN_PLAN {
            for later in &bundle.after {
                bundle.before.iter().for_each(|earlier| add(*later, *earlier));
            }
        } else if let Some(last) = bundle.before.iter().max_by_key(|n| at(**n)) {
            bundle.before.iter().for_each(|earlier| add(*last, *earlier));
            bundle.after.iter().for_each(|later| add(*later, *last));
        }
    }
    for list in &mut after {
        list.sort_unstable();
        list.dedup();
        for entry in list.iter_mut() {
            *entry = order.get(*entry).copied().unwrap_or(0);
        }
    }
    after
}

/// Nodes, real ones first, then one for each large bundle.
#[derive(Clone, Debug, Default)]
struct Graph {
    real: usize,
    next: Vec<Vec<usize>>,
}

impl Graph {
    fn new(real: usize) -> Self {
        Self { real, next: vec![Vec::new(); real] }
    }

    fn edge(&mut self, from: usize, to: usize) {
        if let Some(list) = self.next.get_mut(from)
            && from != to
        {
            list.push(to);
        }
    }

    fn bundle(&mut self, bundle: &Bundle) {
        if bundle.before.len().saturating_mul(bundle.after.len()) <= EXPAND_IN_GRAPH {
            for from in &bundle.before {
                bundle.after.iter().for_each(|to| self.edge(*from, *to));
            }
        } else {
            let middle = self.next.len();
            self.next.push(bundle.after.clone());
            bundle.before.iter().for_each(|from| self.edge(*from, middle));
        }
    }

    /// Whether some node of `to` is or follows one of `from`.
    fn reaches(&self, from: &[usize], to: &[usize]) -> bool {
        let goal: BTreeSet<usize> = to.iter().copied().collect();
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut stack = from.to_vec();
        while let Some(node) = stack.pop() {
            if goal.contains(&node) {
                return true;
            }
            if seen.insert(node) {
                stack.extend(self.next.get(node).into_iter().flatten());
            }
        }
        false
    }

    fn indegrees(&self) -> Vec<usize> {
        let mut degrees = vec![0_usize; self.next.len()];
        for to in self.next.iter().flatten() {
            if let Some(d) = degrees.get_mut(*to) {
                *d += 1;
            }
        }
        degrees
    }

    /// For each node its direct predecessors.
    fn backwards(&self) -> Vec<Vec<usize>> {
        let mut back = vec![Vec::new(); self.next.len()];
        for (from, to) in self.next.iter().enumerate().flat_map(|(from, all)| all.iter().map(move |to| (from, *to))) {
            if let Some(list) = back.get_mut(to) {
                list.push(from);
            }
        }
        back
    }

    fn is_acyclic(&self) -> bool {
        let mut degrees = self.indegrees();
        let mut ready: Vec<usize> = degrees.iter().enumerate().filter(|(_, d)| **d == 0).map(|(n, _)| n).collect();
        let mut done = 0;
        while let Some(node) = ready.pop() {
            done += 1;
            for to in self.next.get(node).into_iter().flatten() {
                if let Some(d) = degrees.get_mut(*to) {
                    *d -= 1;
                    if *d == 0 {
                        ready.push(*to);
                    }
                }
            }
        }
        done == self.next.len()
    }

    /// By tier, then topologically, ties by index. Total also on a cycle, which no validated contract has: then its first
    /// node goes first.
    fn sort(&self, tiers: &[u8]) -> Vec<usize> {
        let mut degrees = self.indegrees();
        let key = |node: usize| Reverse((tiers.get(node).copied().unwrap_or(0), node));
        let mut heap: BinaryHeap<Reverse<(u8, usize)>> = BinaryHeap::new();
        let mut done = vec![false; self.next.len()];
        let mut virtual_ready = Vec::new();
        for (node, degree) in degrees.iter().enumerate() {
            match (*degree, node < self.real) {
                (0, true) => heap.push(key(node)),
                (0, false) => virtual_ready.push(node),
                _ => {}
            }
        }
        let mut order = Vec::with_capacity(self.real);
        let mut first_left = 0;
        while order.len() < self.real {
            let node = if let Some(node) = virtual_ready.pop() {
                node
            } else if let Some(Reverse((_, node))) = heap.pop() {
                node
            } else {
                while done.get(first_left) == Some(&true) {
                    first_left += 1;
                }
                first_left
            };
            if done.get(node).copied().unwrap_or(true) {
                continue;
            }
            if let Some(flag) = done.get_mut(node) {
                *flag = true;
            }
            if node < self.real {
                order.push(node);
            }
            for to in self.next.get(node).into_iter().flatten() {
                if let Some(degree) = degrees.get_mut(*to) {
                    *degree = degree.saturating_sub(1);
                    if *degree == 0 {
                        if *to < self.real { heap.push(key(*to)) } else { virtual_ready.push(*to) }
                    }
                }
            }
        }
        order
    }
}

/// The artifact constraints between nodes: who cleans before who produces, who produces before who requires, where globs
/// overlap. Each list has the patterns of one setting, with the node they belong to.
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
    pub cleans: &'a [crate::base::glob::Glob],
    /// `produces`.
    pub produces: &'a [crate::base::glob::Glob],
    /// `requires`.
    pub requires: &'a [crate::base::glob::Glob],
}

/// Globs, and the nodes that have each.
type ByGlob<'a> = (Vec<overlap::Shape<'a>>, Vec<Vec<usize>>);

fn by_glob<'a>(effects: &[Effects<'a>], of: impl Fn(&Effects<'a>) -> &'a [crate::base::glob::Glob]) -> ByGlob<'a> {
    let mut nodes: BTreeMap<&'a crate::base::glob::Glob, Vec<usize>> = BTreeMap::new();
    for (node, effect) in effects.iter().enumerate() {
        for glob in of(effect) {
            nodes.entry(glob).or_default().push(node);
        }
    }
    nodes.into_iter().map(|(glob, nodes)| (overlap::Shape::new(glob), nodes)).unzip()
}

fn between((a, a_nodes): &ByGlob, (b, b_nodes): &ByGlob) -> Vec<Bundle> {
    let bundle =
        |(i, j): (usize, usize)| Some(Bundle { before: a_nodes.get(i)?.clone(), after: b_nodes.get(j)?.clone() });
    overlap::pairs(a, b).into_iter().filter_map(bundle).collect()
}

/// Why one step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The later one `needs` the earlier one.
    Needs,
    /// The earlier one cleans what the later one produces, or produces what the later one requires.
    Artifacts,
    /// A `sequence` says so.
    Sequence,
    /// The earlier one may change the tree.
    Writes,
}

/// The shortest chain of constraints that puts one step before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// Step indices from the earlier to the later, each with why the next one waits for it.
    Chain(Vec<(usize, Why)>),
    /// No constraint, but an earlier tier.
    Tier,
    /// Neither: the order of the contract.
    Base,
    /// It does not stand before it.
    None,
}

/// Says why the step at `before` stands before the one at `after`. Of several shortest chains the one through the
/// earliest predecessors.
#[must_use]
pub fn witness(plan: &Plan, before: usize, after: usize) -> Witness {
    let (Some(first), Some(last)) = (plan.steps.get(before), plan.steps.get(after)) else { return Witness::None };
    if before >= after {
        return Witness::None;
    }
    let index: BTreeMap<&str, usize> = plan.steps.iter().enumerate().map(|(i, s)| (s.id.as_str(), i)).collect();
    // Backwards from the later step: `after` lists are predecessors.
    let mut follower: BTreeMap<usize, usize> = BTreeMap::from([(after, after)]);
    let mut queue = VecDeque::from([after]);
    while let Some(at) = queue.pop_front() {
        if at == before {
            let mut chain = Vec::new();
            let mut node = before;
            while node != after {
                let next = follower.get(&node).copied().unwrap_or(after);
                if let (Some(a), Some(b)) = (plan.steps.get(node), plan.steps.get(next)) {
                    chain.push((node, why(a, b)));
                }
                node = next;
            }
            return Witness::Chain(chain);
        }
        for earlier in plan.steps.get(at).map(|s| s.after.as_slice()).unwrap_or_default() {
            if let Some(earlier) = index.get(earlier.as_str())
                && *earlier >= before
                && !follower.contains_key(earlier)
            {
                follower.insert(*earlier, at);
                queue.push_back(*earlier);
            }
        }
    }
    if first.tier < last.tier { Witness::Tier } else { Witness::Base }
}

/// Why a direct successor waits.
#[must_use]
pub fn why(earlier: &Step, later: &Step) -> Why {
    let meet = |a: &[_], b: &[_]| a.iter().any(|a| b.iter().any(|b| overlap::overlaps(a, b)));
    if later.needs.contains(&earlier.id) {
        Why::Needs
    } else if meet(&earlier.cleans, &later.produces) || meet(&earlier.produces, &later.requires) {
        Why::Artifacts
    } else if earlier.writes.is_some() && earlier.tier == later.tier {
        Why::Writes
    } else {
        Why::Sequence
    }
}

/// Whether the plan is in order: ids unique, tiers ascending, every predecessor there and before its successor, every
/// need among the predecessors.
///
/// # Errors
/// What is wrong, for people.
pub fn check_order(plan: &Plan) -> Result<(), String> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut tier = 0;
    for step in &plan.steps {
        if step.tier < tier {
            return Err(format!("step `{}` of tier {} stands behind tier {tier}", step.id, step.tier));
        }
        tier = step.tier;
        if let Some(missing) = step.after.iter().chain(&step.needs).find(|id| !seen.contains(id.as_str())) {
            return Err(format!("step `{}` waits for `{missing}`, which does not stand before it", step.id));
        }
        if let Some(need) = step.needs.iter().find(|id| !step.after.contains(id)) {
            return Err(format!("step `{}` needs `{need}`, but does not wait for it", step.id));
        }
        if !seen.insert(&step.id) {
            return Err(format!("the id `{}` occurs twice", step.id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(constraints: Constraints) -> Vec<usize> {
        order(&constraints).order
    }

    #[test]
    fn orders() {
        let none = |n: usize| Constraints { tiers: vec![0; n], ..Constraints::default() };
        assert_eq!(ordered(none(3)), [0, 1, 2]);
        assert_eq!(ordered(Constraints { tiers: vec![1, 0, 2, 0], ..none(0) }), [1, 3, 0, 2]);
        assert_eq!(ordered(Constraints { needs: vec![(2, 0)], ..none(4) }), [1, 2, 0, 3]);
        let sequence = |groups: Vec<Vec<usize>>| vec![groups];
        assert_eq!(
            ordered(Constraints { sequences: sequence(vec![vec![1, 2], vec![], vec![0]]), ..none(3) }),
            [1, 2, 0]
        );
        // Artifacts give way, on their own and jointly.
        let edge = |a, b| Bundle { before: vec![a], after: vec![b] };
        assert_eq!(ordered(Constraints { artifacts: vec![edge(2, 0)], ..none(3) }), [1, 2, 0]);
        assert_eq!(
            ordered(Constraints { artifacts: vec![edge(2, 0)], needs: vec![(0, 1), (1, 2)], ..none(3) }),
            [0, 1, 2]
        );
        let round = Constraints { artifacts: vec![edge(2, 0), edge(0, 1), edge(1, 2)], ..none(3) };
        assert_eq!(ordered(round), [0, 1, 2]);
        let mutual = order(&Constraints { artifacts: vec![edge(1, 0), edge(0, 1)], ..none(2) });
        assert_eq!((mutual.order, mutual.after), (vec![0, 1], vec![vec![], vec![]]));
    }

    #[test]
    fn tiers_win_over_sequences_and_say_so() {
        let c = Constraints {
            tiers: vec![2, 0, 2],
            sequences: vec![vec![vec![0], vec![1], vec![2]]],
            ..Constraints::default()
        };
        let got = order(&c);
        assert_eq!(got.order, [1, 0, 2]);
        assert_eq!(got.against_tiers, [(0, 1)]);
        assert_eq!(got.after, [vec![], vec![], vec![1, 0]]);
    }

    #[test]
    fn large_groups_stay_small() {
        let n = 5_000;
        let c = Constraints {
            tiers: vec![0; 2 * n],
            sequences: vec![vec![(n..2 * n).collect(), (0..n).collect()]],
            ..Constraints::default()
        };
        let got = order(&c);
        assert_eq!(got.order, (n..2 * n).chain(0..n).collect::<Vec<_>>());
        assert!(got.after.iter().map(Vec::len).sum::<usize>() < 2 * 2 * n);
        assert_eq!(got.after[0], [2 * n - 1]);
        assert_eq!(got.after[2 * n - 1].len(), n - 1);
    }
}
