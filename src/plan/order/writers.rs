//! Orders checks that may change the tree before those that read it.
//!
//! A check with `writes` goes before every check of its tier that is not its predecessor by `needs`
//! or `sequence`. `setup` does not count as a check here, unless the writer is `setup` itself.

use super::constraints::{Bundle, Constraints, Graph, NodeIndex, sorted};

/// Adds the edges to a graph that has those of `needs` and `sequence`; returns the added edges. One
/// edge for each node and one for each writer: writers are a chain, and a node waits for the last
/// of them that does not wait for it.
pub(super) fn add(graph: &mut Graph, constraints: &Constraints) -> Vec<Bundle> {
    let mut added = Vec::new();
    for setup in [true, false] {
        for tier in 0..=2 {
            let of = |node: &NodeIndex| constraints.tiers[*node] == tier;
            let prepares = |node: &NodeIndex| constraints.setup.contains(node);
            let waits = |node: &NodeIndex| of(node) && (setup || !prepares(node));
            let is_own = |n: &&NodeIndex| of(n) && prepares(n) == setup;
            let mut chain: Vec<NodeIndex> =
                constraints.writers.iter().filter(is_own).copied().collect();
            if chain.len() > 1 {
                let mut order = sorted(graph, &constraints.tiers);
                order.retain(|node| chain.contains(node));
                chain = order;
            }
            if chain.is_empty() {
                continue;
            }
            let bundles = waiting_nodes(graph, &chain, waits, constraints.tiers.indices());
            bundles.iter().for_each(|bundle| bundle.add_to(graph));
            added.extend(bundles);
        }
    }
    added
}

/// Returns for each writer of a chain the nodes that wait for it and for no later one.
fn waiting_nodes(
    graph: &Graph,
    chain: &[NodeIndex],
    waits: impl Fn(&NodeIndex) -> bool,
    nodes: impl Iterator<Item = NodeIndex>,
) -> Vec<Bundle> {
    let mut seen = graph.each(false);
    let mut bundles = Vec::new();
    let mut last = None;
    for writer in chain {
        let mut fresh = Vec::new();
        let mut stack = vec![Graph::node(*writer)];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let thing = graph.thing(node);
            fresh.extend(thing.filter(|thing| thing == writer || waits(thing)));
            stack.extend(graph.previous(node));
        }
        fresh.sort_unstable();
        bundles.extend(last.map(|last| Bundle {
            before: vec![last],
            after: fresh,
        }));
        last = Some(*writer);
    }
    let others = nodes.filter(|node| !seen[Graph::node(*node)] && waits(node));
    bundles.extend(last.map(|last| Bundle {
        before: vec![last],
        after: others.collect(),
    }));
    bundles.retain(Bundle::is_effective);
    bundles
}

#[cfg(test)]
mod tests {
    use crate::arbitrary::order::{Bundle, Constraints, order};

    fn none(nodes: usize) -> Constraints {
        Constraints {
            tiers: vec![0; nodes],
            ..Constraints::default()
        }
    }

    #[test]
    fn before_all_of_its_tier_but_what_it_waits_for() {
        let got = order(&Constraints {
            writers: vec![2],
            ..none(4)
        });
        assert_eq!(
            (got.order, got.after),
            (vec![2, 0, 1, 3], vec![vec![2], vec![2], vec![], vec![2]])
        );
        // Its needs, directly or not, and its predecessors in a sequence stay before it.
        let got = order(&Constraints {
            writers: vec![3],
            needs: vec![(0, 1), (1, 3)],
            ..none(4)
        });
        assert_eq!(got.order, [0, 1, 3, 2]);
        let sequences = vec![vec![vec![1], vec![3]]];
        assert_eq!(
            order(&Constraints {
                writers: vec![3],
                sequences,
                ..none(4)
            })
            .order,
            [1, 3, 0, 2]
        );
        // A constraint does not reach another tier.
        let got = order(&Constraints {
            writers: vec![2],
            tiers: vec![0, 1, 1],
            ..none(0)
        });
        assert_eq!(
            (got.order, got.after),
            (vec![0, 2, 1], vec![vec![], vec![2], vec![]])
        );
    }

    #[test]
    fn several_go_one_after_the_other() {
        let got = order(&Constraints {
            writers: vec![1, 3],
            ..none(4)
        });
        assert_eq!(
            (got.order, got.after),
            (vec![1, 3, 0, 2], vec![vec![3], vec![], vec![3], vec![1]])
        );
        // A predecessor of one of them comes after the other.
        let got = order(&Constraints {
            writers: vec![1, 3],
            needs: vec![(2, 3)],
            ..none(4)
        });
        assert_eq!(
            (got.order, got.after),
            (vec![1, 2, 3, 0], vec![vec![3], vec![], vec![1], vec![2]])
        );
        let got = order(&Constraints {
            writers: vec![1, 3],
            needs: vec![(3, 1)],
            ..none(4)
        });
        assert_eq!(got.order, [3, 1, 0, 2]);
    }

    #[test]
    fn what_prepares_does_not_wait_unless_for_what_prepares() {
        let got = order(&Constraints {
            writers: vec![1],
            setup: [0].into(),
            ..none(3)
        });
        assert_eq!(
            (got.order, got.after),
            (vec![0, 1, 2], vec![vec![], vec![], vec![1]])
        );
        let got = order(&Constraints {
            writers: vec![1, 2],
            setup: [0, 2].into(),
            ..none(3)
        });
        assert_eq!(got.order, [2, 0, 1]);
    }

    #[test]
    fn it_goes_before_what_makes_something_for_it() {
        // Artifact settings give way to it: it waits only for its needs.
        let edge = Bundle {
            before: vec![0],
            after: vec![1],
        };
        assert_eq!(
            order(&Constraints {
                writers: vec![1],
                artifacts: vec![edge],
                ..none(2)
            })
            .order,
            [1, 0]
        );
    }

    #[test]
    fn many_cost_an_edge_each() {
        let n = 2_000;
        let got = order(&Constraints {
            writers: (0..n).collect(),
            ..none(2 * n)
        });
        assert!(got.after.iter().map(Vec::len).sum::<usize>() < 2 * n);
    }
}
