//! The graph of which node comes before which. It stays as large as its statements: "each of these
//! before each of those" is one node.

use super::Bundle;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of pairs above which a bundle is one node of its own.
const EXPANDED: usize = 64;

/// Nodes, real ones first, then one for each large bundle.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    real: usize,
    next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

impl Graph {
    pub fn new(real: usize) -> Self {
        Self {
            real,
            next: vec![Vec::new(); real],
            previous: vec![Vec::new(); real],
        }
    }

    pub fn edge(&mut self, from: usize, to: usize) {
        if let (Some(next), Some(previous)) = (self.next.get_mut(from), self.previous.get_mut(to))
            && from != to
        {
            next.push(to);
            previous.push(from);
        }
    }

    pub fn bundle(&mut self, bundle: &Bundle) {
        if bundle.before.len().saturating_mul(bundle.after.len()) <= EXPANDED {
            for from in &bundle.before {
                bundle.after.iter().for_each(|to| self.edge(*from, *to));
            }
            return;
        }
        let middle = self.next.len();
        self.next.push(Vec::with_capacity(bundle.after.len()));
        self.previous.push(Vec::with_capacity(bundle.before.len()));
        bundle
            .before
            .iter()
            .for_each(|from| self.edge(*from, middle));
        bundle.after.iter().for_each(|to| self.edge(middle, *to));
    }

    /// Returns the direct predecessors of each node.
    pub fn backwards(&self) -> &[Vec<usize>] {
        &self.previous
    }

    /// Returns for each node whether it is one of these or follows one.
    pub fn following(&self, from: impl IntoIterator<Item = usize>) -> Vec<bool> {
        walk(&self.next, from)
    }

    /// Returns for each node whether it is one of these or comes before one.
    pub fn preceding(&self, to: impl IntoIterator<Item = usize>) -> Vec<bool> {
        walk(&self.previous, to)
    }

    /// Whether a node is or follows another.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        self.following([from]).get(to).copied().unwrap_or(false)
    }

    /// Returns for each node the number of its strongly connected component, where that has more
    /// than one node.
    pub fn circles(&self) -> Vec<Option<usize>> {
        // Nodes in the order in which they are left, walking forwards; then backwards from the last
        // of them (Kosaraju).
        let count = self.next.len();
        let (mut seen, mut left) = (vec![false; count], Vec::with_capacity(count));
        for start in 0..count {
            let mut stack = if mark(&mut seen, start) {
                vec![(start, 0)]
            } else {
                Vec::new()
            };
            while let Some((node, at)) = stack.last_mut() {
                match self.next.get(*node).and_then(|next| next.get(*at)).copied() {
                    Some(to) => {
                        *at += 1;
                        if mark(&mut seen, to) {
                            stack.push((to, 0));
                        }
                    }
                    None => {
                        left.push(*node);
                        stack.pop();
                    }
                }
            }
        }
        let (mut seen, mut circles) = (vec![false; count], vec![None; count]);
        for start in left.into_iter().rev() {
            let mut stack = if mark(&mut seen, start) {
                vec![start]
            } else {
                continue;
            };
            let mut members = Vec::new();
            while let Some(node) = stack.pop() {
                members.push(node);
                stack.extend(
                    self.previous
                        .get(node)
                        .into_iter()
                        .flatten()
                        .filter(|from| mark(&mut seen, **from)),
                );
            }
            if members.len() > 1 {
                members
                    .iter()
                    .filter_map(|m| circles.get_mut(*m).map(|c| *c = Some(start)))
                    .for_each(drop);
            }
        }
        circles
    }

    /// Sorts by tier, then topologically, ties by index. Total also with a cycle, which no
    /// validated contract has: then its first node goes first.
    pub fn sort(&self, tiers: &[u8]) -> Vec<usize> {
        let mut degrees: Vec<usize> = self.previous.iter().map(Vec::len).collect();
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
            if !mark(&mut done, node) {
                continue;
            }
            if node < self.real {
                order.push(node);
            }
            for to in self.next.get(node).into_iter().flatten() {
                if let Some(degree) = degrees.get_mut(*to) {
                    *degree = degree.saturating_sub(1);
                    if *degree == 0 {
                        if *to < self.real {
                            heap.push(key(*to))
                        } else {
                            virtual_ready.push(*to)
                        }
                    }
                }
            }
        }
        order
    }
}

fn walk(edges: &[Vec<usize>], from: impl IntoIterator<Item = usize>) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut stack: Vec<usize> = from
        .into_iter()
        .filter(|node| mark(&mut seen, *node))
        .collect();
    while let Some(node) = stack.pop() {
        stack.extend(
            edges
                .get(node)
                .into_iter()
                .flatten()
                .filter(|to| mark(&mut seen, **to)),
        );
    }
    seen
}

/// Sets a flag; returns whether it was not set.
fn mark(flags: &mut [bool], at: usize) -> bool {
    flags
        .get_mut(at)
        .is_some_and(|flag| !std::mem::replace(flag, true))
}
/// Returns the position of each node in an order.
pub(super) fn positions(order: &[usize]) -> Vec<usize> {
    let mut positions = vec![0; order.len()];
    for (at, node) in order.iter().enumerate() {
        if let Some(position) = positions.get_mut(*node) {
            *position = at;
        }
    }
    positions
}
