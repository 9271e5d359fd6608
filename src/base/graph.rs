//! A graph of things that come before others, or wait for others: the things on a cycle, the
//! shortest cycles, and orders. Its size is that of its statements: "each of these before each of
//! those" is one node.
//!
//! Linear while there is no cycle; the search for the shortest one starts when there is.

use super::index::{Dense, Index};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::marker::PhantomData;

crate::index!(
    Node,
    "node of a graph",
    "A thing of a graph, or a joint behind all things: it replaces a product of edges and counts \
     nothing in a cycle's length."
);

/// A directed graph of the things that an index numbers.
#[derive(Clone, Debug)]
pub struct Graph<I> {
    things: usize,
    next: Dense<Node, Vec<Node>>,
    previous: Dense<Node, Vec<Node>>,
    of: PhantomData<I>,
}

/// The number of edges that the search for a shortest cycle may follow before it settles for the
/// best one found. A contract of a megabyte that people wrote needs far fewer; one that was built
/// to be slow does not.
const EDGE_BUDGET: usize = 20_000_000;

/// The number of pairs above which a bundle gets its own node.
const EXPANDED: usize = 64;

impl<I: Index> Graph<I> {
    /// Makes a graph of things without edges.
    pub fn new(things: usize) -> Self {
        Self {
            things,
            next: Dense::filled(Vec::new(), things),
            previous: Dense::filled(Vec::new(), things),
            of: PhantomData,
        }
    }

    /// Returns the node of a thing.
    pub fn node(thing: I) -> Node {
        Node::new(thing.position())
    }

    /// Returns the thing of a node; `None` for a joint.
    pub fn thing(&self, node: Node) -> Option<I> {
        (node.position() < self.things).then(|| I::new(node.position()))
    }

    /// Adds a joint.
    pub fn joint(&mut self) -> Node {
        self.previous.push(Vec::new());
        self.next.push(Vec::new())
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: Node, to: Node) {
        self.next[from].push(to);
        self.previous[to].push(from);
    }

    /// Adds an edge from each thing in `before` to each in the other list, except from a thing to
    /// itself.
    pub fn bundle(&mut self, before: &[I], after: &[I]) {
        let (from, to) = (
            before.iter().copied().map(Self::node),
            after.iter().copied().map(Self::node),
        );
        if before.len().saturating_mul(after.len()) > EXPANDED {
            let joint = self.joint();
            from.for_each(|from| self.edge(from, joint));
            to.for_each(|to| self.edge(joint, to));
            return;
        }
        for from in from {
            to.clone()
                .filter(|to| *to != from)
                .for_each(|to| self.edge(from, to));
        }
    }

    /// Returns the direct predecessors of a node.
    pub fn previous(&self, node: Node) -> &[Node] {
        &self.previous[node]
    }

    /// Returns for each thing whether it is one of these or follows one.
    pub fn following(&self, from: impl IntoIterator<Item = I>) -> Dense<I, bool> {
        self.walk(&self.next, from)
    }

    /// Returns for each thing whether it is in `to` or comes before such a thing.
    pub fn preceding(&self, to: impl IntoIterator<Item = I>) -> Dense<I, bool> {
        self.walk(&self.previous, to)
    }

    fn walk(
        &self,
        edges: &Dense<Node, Vec<Node>>,
        from: impl IntoIterator<Item = I>,
    ) -> Dense<I, bool> {
        let mut seen = self.each(false);
        let mut stack: Vec<Node> = from.into_iter().map(Self::node).collect();
        stack.retain(|node| mark(&mut seen, *node));
        while let Some(node) = stack.pop() {
            stack.extend(edges[node].iter().filter(|to| mark(&mut seen, **to)));
        }
        self.of_things(seen)
    }

    /// Whether a thing is or follows another.
    pub fn reaches(&self, from: I, to: I) -> bool {
        self.following([from])[to]
    }

    /// Returns for each thing the number of its strongly connected component, if that has more than
    /// one node.
    pub fn circles(&self) -> Dense<I, Option<usize>> {
        let mut circles = self.each(None);
        for (number, members) in self.components().iter().enumerate() {
            for member in members.iter().filter(|_| members.len() > 1) {
                circles[*member] = Some(number);
            }
        }
        self.of_things(circles)
    }

    /// Returns the strongly connected components: nodes in the order in which they are left,
    /// walking forwards; then backwards from the last of them (Kosaraju).
    fn components(&self) -> Vec<Vec<Node>> {
        let (mut seen, mut left) = (self.each(false), Vec::with_capacity(self.next.len()));
        for start in self.next.indices() {
            let mut stack: Vec<(Node, usize)> = Vec::new();
            stack.extend(mark(&mut seen, start).then_some((start, 0)));
            while let Some((node, followed)) = stack.last_mut() {
                match self.next[*node].get(*followed) {
                    Some(to) => {
                        *followed += 1;
                        stack.extend(mark(&mut seen, *to).then_some((*to, 0)));
                    }
                    None => {
                        left.push(*node);
                        stack.pop();
                    }
                }
            }
        }
        let (mut seen, mut components) = (self.each(false), Vec::new());
        for start in left.into_iter().rev() {
            let mut members = Vec::new();
            members.extend(mark(&mut seen, start).then_some(start));
            let mut walked = 0;
            while let Some(node) = members.get(walked).copied() {
                walked += 1;
                members.extend(
                    self.previous[node]
                        .iter()
                        .filter(|from| mark(&mut seen, **from)),
                );
            }
            if !members.is_empty() {
                components.push(members);
            }
        }
        components
    }

    /// Returns one shortest cycle of each component, joints included, the smallest thing first; in
    /// the order of those. Empty when the graph has no cycle.
    pub fn shortest_cycles(&self) -> Vec<Vec<Node>> {
        let mut budget = EDGE_BUDGET;
        let on_cycle = |c: &Vec<Node>| match c.as_slice() {
            [node] => self.next[*node].contains(node),
            _ => true,
        };
        let mut cycles: Vec<Vec<Node>> = self
            .components()
            .into_iter()
            .rev()
            .filter(on_cycle)
            .filter_map(|component| self.shortest_within(component, &mut budget))
            .collect();
        cycles.sort();
        cycles
    }

    /// Finds the shortest cycle within a component: a search from each thing, which is taken out
    /// afterwards, since a cycle that was not found through it does not need it.
    fn shortest_within(&self, mut component: Vec<Node>, budget: &mut usize) -> Option<Vec<Node>> {
        component.sort_unstable();
        let mut inside = self.each(false);
        component.iter().for_each(|node| inside[*node] = true);
        // How many edges of each lead to a node inside.
        let mut ways = self.each(0);
        for node in &component {
            ways[*node] = self.next[*node].iter().filter(|to| inside[**to]).count();
        }
        let mut best: Option<(usize, Vec<Node>)> = None;
        for start in component.into_iter().filter(|n| self.thing(*n).is_some()) {
            let limit = best.as_ref().map_or(usize::MAX, |(length, _)| *length);
            if limit <= 1 || (*budget == 0 && best.is_some()) {
                break;
            }
            if !inside[start] {
                continue;
            }
            if let Some(found) = self.cycle_through(start, &inside, limit, budget) {
                best = Some(found);
            }
            // Nodes that no longer lead anywhere are removed with it.
            let mut dead = vec![start];
            while let Some(gone) = dead.pop() {
                inside[gone] = false;
                for from in self.previous[gone].iter().filter(|n| inside[**n]) {
                    ways[*from] -= 1;
                    dead.extend((ways[*from] == 0).then_some(*from));
                }
            }
        }
        best.map(|(_, cycle)| cycle)
    }

    /// Finds a shortest cycle through a node that has fewer than `limit` things, with that number.
    /// Steps that lead to a joint are free, so they go to the front of the queue.
    fn cycle_through(
        &self,
        start: Node,
        inside: &Dense<Node, bool>,
        limit: usize,
        budget: &mut usize,
    ) -> Option<(usize, Vec<Node>)> {
        *budget = budget.saturating_sub(self.next.len() / 4);
        let (mut distance, mut from) = (self.each(usize::MAX), self.each(start));
        let mut queue = VecDeque::from([(start, 0_usize)]);
        while let Some((node, length)) = queue.pop_front() {
            if node != start && distance[node] < length {
                continue;
            }
            for next in self.next[node].iter().copied().filter(|n| inside[*n]) {
                *budget = budget.saturating_sub(1);
                let is_joint = self.thing(next).is_none();
                let length = length + usize::from(!is_joint);
                if length >= limit {
                    continue;
                }
                if next == start {
                    let back = |node: &Node| Some(from[*node]).filter(|_| *node != start);
                    let mut cycle: Vec<Node> = std::iter::successors(Some(node), back).collect();
                    cycle.reverse();
                    return Some((length, cycle));
                }
                if length < distance[next] {
                    distance[next] = length;
                    from[next] = node;
                    if is_joint {
                        queue.push_front((next, length));
                    } else {
                        queue.push_back((next, length));
                    }
                }
            }
        }
        None
    }

    /// Returns the things in an order in which each comes after all that its edges lead to. Things
    /// on a cycle, and those that reach one, are omitted.
    pub fn bottom_up(&self) -> Vec<I> {
        let mut waiting: Dense<Node, usize> = self.next.iter().map(Vec::len).collect();
        let mut order: Vec<Node> = waiting.indices().filter(|n| waiting[*n] == 0).collect();
        let mut walked = 0;
        while let Some(node) = order.get(walked).copied() {
            walked += 1;
            for from in &self.previous[node] {
                waiting[*from] -= 1;
                order.extend((waiting[*from] == 0).then_some(*from));
            }
        }
        order
            .into_iter()
            .filter_map(|node| self.thing(node))
            .collect()
    }

    /// Sorts the things topologically; ties are ordered by this rank and then by index. Total even
    /// with a cycle: then the first remaining thing comes next.
    pub fn sort<R: Ord>(&self, rank: impl Fn(I) -> R) -> Vec<I> {
        let mut degrees: Dense<Node, usize> = self.previous.iter().map(Vec::len).collect();
        let mut done = self.each(false);
        let mut ready = Ready {
            things: BinaryHeap::new(),
            joints: Vec::new(),
        };
        let key = |node| self.thing(node).map(|thing| (rank(thing), node));
        for node in degrees.indices().filter(|n| degrees[*n] == 0) {
            ready.push(node, key(node));
        }
        let mut order = Vec::with_capacity(self.things);
        let mut left = self.next.indices();
        while order.len() < self.things {
            let Some(node) = ready.pop().or_else(|| left.find(|node| !done[*node])) else {
                break;
            };
            if !mark(&mut done, node) {
                continue;
            }
            order.extend(self.thing(node));
            for to in &self.next[node] {
                degrees[*to] = degrees[*to].saturating_sub(1);
                if degrees[*to] == 0 {
                    ready.push(*to, key(*to));
                }
            }
        }
        order
    }

    /// Returns this value for each node.
    pub fn each<T: Clone>(&self, value: T) -> Dense<Node, T> {
        Dense::filled(value, self.next.len())
    }

    /// Takes the elements of things, which precede the joints.
    fn of_things<T>(&self, all: Dense<Node, T>) -> Dense<I, T> {
        all.into_iter().take(self.things).collect()
    }
}

/// The nodes of a sort that wait for no other. Joints go first.
struct Ready<R> {
    things: BinaryHeap<Reverse<(R, Node)>>,
    joints: Vec<Node>,
}

impl<R: Ord> Ready<R> {
    fn push(&mut self, node: Node, key: Option<(R, Node)>) {
        match key {
            Some(key) => self.things.push(Reverse(key)),
            None => self.joints.push(node),
        }
    }

    fn pop(&mut self) -> Option<Node> {
        self.joints
            .pop()
            .or_else(|| self.things.pop().map(|Reverse((_, node))| node))
    }
}

/// Sets a flag; returns whether it was not set.
fn mark(flags: &mut Dense<Node, bool>, at: Node) -> bool {
    !std::mem::replace(&mut flags[at], true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    crate::index!(Thing, "thing", "A thing.");

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph<Thing> {
        let mut graph = Graph::new(nodes);
        for (from, to) in edges {
            graph.edge(Node(*from), Node(*to));
        }
        graph
    }

    fn cycles_of(graph: &Graph<Thing>) -> Vec<Vec<usize>> {
        let all = graph.shortest_cycles().into_iter();
        all.map(|cycle| cycle.iter().map(|node| node.0).collect())
            .collect()
    }

    fn bottom_up(graph: &Graph<Thing>) -> Vec<usize> {
        graph.bottom_up().iter().map(|thing| thing.0).collect()
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
            assert_eq!(cycles_of(&graph(4, &edges)), want, "{edges:?}");
        }
    }

    #[test]
    fn joints_are_free() {
        // 0 -> J -> J' -> 1 -> 0 counts two; 2 -> 3 -> 4 -> 2, reached from it, counts three.
        let mut graph = Graph::<Thing>::new(5);
        let (j, k) = (graph.joint().0, graph.joint().0);
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
            graph.edge(Node(from), Node(to));
        }
        assert_eq!(cycles_of(&graph), [vec![0, j, k, 1]]);
    }

    #[test]
    fn bottom_up_leaves_cycles_out() {
        assert_eq!(bottom_up(&graph(4, &[(0, 1), (1, 2), (3, 3)])), [2, 1, 0]);
        assert_eq!(
            bottom_up(&graph(3, &[(0, 1), (1, 0), (2, 0)])),
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
            let cycles = cycles_of(&graph);
            prop_assert_eq!(cycles.iter().map(Vec::len).min(), naive(9, &edges));
            for cycle in &cycles {
                for (i, node) in cycle.iter().enumerate() {
                    prop_assert!(edges.contains(&(*node, cycle[(i + 1) % cycle.len()])));
                }
            }
            let order = bottom_up(&graph);
            prop_assert!(cycles.is_empty() == (order.len() == 9));
        }
    }
}
