//! Finds the nodes of a graph that wait for each other, and the shortest cycle among them.
//!
//! Knows numbers only. Linear while there is no cycle; the search for the shortest one starts when
//! there is.

use std::collections::VecDeque;

/// A directed graph. Nodes from `real` on are joints: they replace a product of edges (every
/// member of a group behind every member of another) and count nothing in a cycle's length.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    out: Vec<Vec<usize>>,
    real: usize,
}

/// How many edges the search for a shortest cycle may follow before it is content with the best one
/// found. A contract of a megabyte that people wrote stays far below; one that was made to be slow
/// does not.
const EDGE_BUDGET: usize = 20_000_000;

impl Graph {
    /// A graph of nodes without edges.
    pub(super) fn new(real: usize) -> Self {
        Self {
            out: vec![Vec::new(); real],
            real,
        }
    }

    /// Adds a joint.
    pub(super) fn joint(&mut self) -> usize {
        self.out.push(Vec::new());
        self.out.len() - 1
    }

    /// Adds an edge.
    pub(super) fn edge(&mut self, from: usize, to: usize) {
        if let Some(out) = self.out.get_mut(from) {
            out.push(to);
        }
    }

    /// Whether a node is a joint.
    pub(super) fn is_joint(&self, node: usize) -> bool {
        node >= self.real
    }

    fn successors(&self, node: usize) -> &[usize] {
        self.out.get(node).map_or(&[], Vec::as_slice)
    }

    /// One shortest cycle of each knot of nodes that reach each other, joints included, the
    /// smallest real node first; in the order of those nodes. Empty when the graph has no
    /// cycle.
    pub(super) fn shortest_cycles(&self) -> Vec<Vec<usize>> {
        let mut budget = EDGE_BUDGET;
        let mut cycles: Vec<Vec<usize>> = self
            .knots()
            .into_iter()
            .filter_map(|knot| self.shortest_within(&knot, &mut budget))
            .collect();
        cycles.sort();
        cycles
    }

    /// The nodes in an order in which each comes behind all its successors. Nodes on a cycle, and
    /// those that reach one, are left out.
    pub(super) fn bottom_up(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.out.iter().map(Vec::len).collect();
        let mut into = vec![Vec::new(); self.out.len()];
        for (from, out) in self.out.iter().enumerate() {
            for to in out {
                if let Some(list) = into.get_mut(*to) {
                    list.push(from);
                }
            }
        }
        let mut order: Vec<usize> = waiting
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
            .map(|(node, _)| node)
            .collect();
        let mut next = 0;
        while let Some(node) = order.get(next).copied() {
            next += 1;
            for from in into.get(node).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(*from) {
                    *count -= 1;
                    if *count == 0 {
                        order.push(*from);
                    }
                }
            }
        }
        order
    }

    /// Strongly connected components that hold a cycle (Tarjan 1972, with a stack of its own
    /// instead of recursion).
    fn knots(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.out.len();
        let (mut index, mut low, mut on_stack) =
            (vec![UNSEEN; count], vec![0; count], vec![false; count]);
        let (mut stack, mut knots, mut clock) = (Vec::new(), Vec::new(), 0_usize);
        for root in 0..count {
            if index.get(root) != Some(&UNSEEN) {
                continue;
            }
            let mut calls: Vec<(usize, usize)> = vec![(root, 0)];
            while let Some((node, at)) = calls.pop() {
                if at == 0 {
                    set(&mut index, node, clock);
                    set(&mut low, node, clock);
                    set(&mut on_stack, node, true);
                    stack.push(node);
                    clock += 1;
                }
                if let Some(next) = self.successors(node).get(at).copied() {
                    calls.push((node, at + 1));
                    if index.get(next) == Some(&UNSEEN) {
                        calls.push((next, 0));
                    } else if get(&on_stack, next) {
                        let least = get(&low, node).min(get(&index, next));
                        set(&mut low, node, least);
                    }
                    continue;
                }
                if let Some((parent, _)) = calls.last() {
                    let least = get(&low, *parent).min(get(&low, node));
                    set(&mut low, *parent, least);
                }
                if get(&low, node) == get(&index, node) {
                    let mut knot = Vec::new();
                    while let Some(member) = stack.pop() {
                        set(&mut on_stack, member, false);
                        knot.push(member);
                        if member == node {
                            break;
                        }
                    }
                    if knot.len() > 1 || self.successors(node).contains(&node) {
                        knot.sort_unstable();
                        knots.push(knot);
                    }
                }
            }
        }
        knots
    }

    /// The shortest cycle within a knot: a search from each real node, which is taken out
    /// afterwards, since a cycle that was not found through it does not need it.
    fn shortest_within(&self, knot: &[usize], budget: &mut usize) -> Option<Vec<usize>> {
        let mut inside = vec![false; self.out.len()];
        for node in knot {
            set(&mut inside, *node, true);
        }
        let mut best: Option<(usize, Vec<usize>)> = None;
        for start in knot.iter().copied().filter(|n| !self.is_joint(*n)) {
            let limit = best.as_ref().map_or(usize::MAX, |(length, _)| *length);
            if limit <= 1 || (*budget == 0 && best.is_some()) {
                break;
            }
            if !get(&inside, start) {
                continue;
            }
            if let Some(found) = self.cycle_through(start, &inside, limit, budget) {
                best = Some(found);
            }
            self.take_out(start, knot, &mut inside, budget);
        }
        best.map(|(_, cycle)| cycle)
    }

    /// A shortest cycle through a node that has fewer than `limit` real nodes, with that number.
    /// Steps that lead to a joint are free, so they go to the front of the queue.
    fn cycle_through(
        &self,
        start: usize,
        inside: &[bool],
        limit: usize,
        budget: &mut usize,
    ) -> Option<(usize, Vec<usize>)> {
        *budget = budget.saturating_sub(self.out.len() / 4);
        let mut distance = vec![usize::MAX; self.out.len()];
        let mut from = vec![start; self.out.len()];
        let mut queue = VecDeque::from([(start, 0_usize)]);
        while let Some((node, length)) = queue.pop_front() {
            if node != start && get(&distance, node) < length {
                continue;
            }
            for next in self
                .successors(node)
                .iter()
                .copied()
                .filter(|n| get(inside, *n))
            {
                *budget = budget.saturating_sub(1);
                let length = length + usize::from(!self.is_joint(next));
                if length >= limit {
                    continue;
                }
                if next == start {
                    let mut cycle = vec![node];
                    while cycle.last().is_some_and(|last| *last != start) {
                        cycle.push(get(&from, cycle.last().copied().unwrap_or(start)));
                    }
                    cycle.reverse();
                    return Some((length, cycle));
                }
                if length < get(&distance, next) {
                    set(&mut distance, next, length);
                    set(&mut from, next, node);
                    if self.is_joint(next) {
                        queue.push_front((next, length));
                    } else {
                        queue.push_back((next, length));
                    }
                }
            }
        }
        None
    }

    /// Takes a node out of a knot, and every other one that no longer leads anywhere.
    fn take_out(&self, node: usize, knot: &[usize], inside: &mut [bool], budget: &mut usize) {
        set(inside, node, false);
        let mut into = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        let mut ways = std::collections::BTreeMap::<usize, usize>::new();
        let mut dead = Vec::new();
        for from in knot.iter().copied().filter(|n| get(inside, *n)) {
            let mut count = 0;
            for to in self
                .successors(from)
                .iter()
                .copied()
                .filter(|n| get(inside, *n))
            {
                into.entry(to).or_default().push(from);
                *budget = budget.saturating_sub(1);
                count += 1;
            }
            ways.insert(from, count);
            if count == 0 {
                dead.push(from);
            }
        }
        while let Some(gone) = dead.pop() {
            set(inside, gone, false);
            for from in into.get(&gone).into_iter().flatten() {
                if let Some(count) = ways.get_mut(from) {
                    *count -= 1;
                    if *count == 0 {
                        dead.push(*from);
                    }
                }
            }
        }
    }
}

fn get<T: Copy + Default>(list: &[T], at: usize) -> T {
    list.get(at).copied().unwrap_or_default()
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(nodes);
        for (from, to) in edges {
            graph.edge(*from, *to);
        }
        graph
    }

    #[test]
    fn cycles() {
        for (edges, want) in [
            (vec![(0, 1), (1, 2), (0, 2)], vec![]),
            (vec![(0, 0)], vec![vec![0]]),
            (vec![(0, 1), (1, 2), (2, 0), (2, 1)], vec![vec![1, 2]]),
            (
                vec![(3, 2), (2, 3), (0, 1), (1, 0), (1, 2)],
                vec![vec![0, 1], vec![2, 3]],
            ),
            (vec![(0, 1), (1, 2), (2, 3), (3, 0), (2, 2)], vec![vec![2]]),
        ] {
            assert_eq!(graph(4, &edges).shortest_cycles(), want, "{edges:?}");
        }
    }

    #[test]
    fn joints_are_free() {
        // 0 -> J -> J' -> 1 -> 0 counts two; 2 -> 3 -> 4 -> 2, reached from it, counts three.
        let mut graph = Graph::new(5);
        let (j, k) = (graph.joint(), graph.joint());
        for (from, to) in [
            (0, j),
            (j, k),
            (k, 1),
            (1, 0),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 2),
            (4, 0),
        ] {
            graph.edge(from, to);
        }
        assert_eq!(graph.shortest_cycles(), [vec![0, j, k, 1]]);
    }

    #[test]
    fn bottom_up_leaves_cycles_out() {
        assert_eq!(graph(4, &[(0, 1), (1, 2), (3, 3)]).bottom_up(), [2, 1, 0]);
        assert_eq!(
            graph(3, &[(0, 1), (1, 0), (2, 0)]).bottom_up(),
            Vec::<usize>::new()
        );
    }

    /// Length of the shortest cycle by Floyd and Warshall.
    fn naive(nodes: usize, edges: &[(usize, usize)]) -> Option<usize> {
        const FAR: usize = 1_000;
        let mut d = vec![vec![FAR; nodes]; nodes];
        for (from, to) in edges {
            d[*from][*to] = 1;
        }
        for k in 0..nodes {
            for i in 0..nodes {
                for j in 0..nodes {
                    d[i][j] = d[i][j].min(d[i][k] + d[k][j]);
                }
            }
        }
        (0..nodes)
            .map(|i| d[i][i])
            .min()
            .filter(|length| *length < FAR)
    }

    proptest! {
        #![proptest_config(crate::arbitrary::config(512))]
        #[test]
        fn shortest_indeed(edges in proptest::collection::vec((0_usize..9, 0_usize..9), 0..24)) {
            let graph = graph(9, &edges);
            let cycles = graph.shortest_cycles();
            prop_assert_eq!(cycles.iter().map(Vec::len).min(), naive(9, &edges));
            for cycle in &cycles {
                for (i, node) in cycle.iter().enumerate() {
                    prop_assert!(edges.contains(&(*node, cycle[(i + 1) % cycle.len()])));
                }
            }
            let order = graph.bottom_up();
            prop_assert!(cycles.is_empty() == (order.len() == 9));
        }
    }
}
