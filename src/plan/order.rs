//! Orders the steps, and records why one comes before another.
//!
//! Nodes are in base order. By tier first, then topologically; of the nodes that are ready
//! the first goes first, those that ask a judge after all others of their tier. The constraints, the stronger first: tiers, `sequence`, `needs`, `writes`,
//! artifact settings, preparation. Each gives way to those before it.

mod artifacts;
mod constraints;
mod preparing;
mod reduced;
mod witness;
mod writers;

use super::Plan;
pub use artifacts::{Effects, artifact_bundles};
use constraints::Graph;
pub use constraints::Preparing;
pub(crate) use constraints::positions;
pub use constraints::{Bundle, Constraints, NodeIndex, Ordered, Place};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::index::Dense;
pub use witness::{OrderReason, why};

/// Computes the order of the nodes.
pub fn order(constraints: &Constraints) -> Ordered {
    let mut against_tiers = Vec::new();
    let mut graph = Graph::new(constraints.tiers.len());
    let mut strong = Vec::new();
    let tiers = &constraints.tiers;
    for (needed, needer) in &constraints.needs {
        if tiers[*needed] <= tiers[*needer] {
            strong.push(Bundle {
                before: vec![*needed],
                after: vec![*needer],
            });
        }
    }
    for groups in &constraints.sequences {
        strong.extend(sequence_bundles(groups, tiers, &mut against_tiers));
    }
    strong.iter().for_each(|bundle| bundle.add_to(&mut graph));
    strong.extend(writers::add(&mut graph, constraints));
    strong.extend(artifacts::add(&mut graph, tiers, &constraints.artifacts));
    let weak = preparing::add(&mut graph, constraints);
    let awaited = awaited_judges(&graph, constraints);
    let order = graph.sort(|node| {
        let is_judge = constraints.judges.contains(&node);
        (tiers[node], is_judge, is_judge && !awaited.contains(&node))
    });
    let (after, prepared_by) = reduced::predecessors(&order, [&strong, &weak], constraints.full);
    Ordered {
        order,
        after,
        prepared_by,
        against_tiers,
    }
}

/// Returns the judges that another node of their tier waits for: where all that is ready are judges,
/// they go first.
fn awaited_judges(graph: &Graph, constraints: &Constraints) -> BTreeSet<NodeIndex> {
    let Constraints { tiers, judges, .. } = constraints;
    let mut awaited = BTreeSet::new();
    if judges.is_empty() {
        return awaited;
    }
    for tier in 0..=2 {
        let is_waiting = |node: &NodeIndex| tiers[*node] == tier && !judges.contains(node);
        let waiting = tiers.indices().filter(is_waiting);
        let mut stack: Vec<_> = waiting.map(Graph::node).collect();
        let mut seen = graph.each(false);
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let judge = graph.thing(node).filter(|node| judges.contains(node));
            awaited.extend(judge.filter(|judge| tiers[*judge] == tier));
            stack.extend(graph.previous(node));
        }
    }
    awaited
}

/// Makes one bundle for each two neighbouring groups that are present; those against the tiers are
/// removed.
fn sequence_bundles(
    groups: &[Vec<NodeIndex>],
    tiers: &Dense<NodeIndex, u8>,
    lost: &mut Vec<(NodeIndex, NodeIndex)>,
) -> Vec<Bundle> {
    let present: Vec<&Vec<NodeIndex>> = groups.iter().filter(|g| !g.is_empty()).collect();
    let tier = |node: &NodeIndex| tiers[*node];
    let lowest = |group: &[NodeIndex]| group.iter().map(tier).min().unwrap_or(0);
    let highest = |group: &[NodeIndex]| group.iter().map(tier).max().unwrap_or(0);
    let mut pairs = present.iter().zip(present.iter().skip(1));
    let ascending = pairs.all(|(before, after)| highest(before) <= lowest(after));
    let mut bundles = Vec::new();
    for (i, before) in present.iter().enumerate() {
        // Neighbours are enough while each pair of them holds; where a tier breaks the chain, every
        // pair counts.
        let reach = if ascending { 1 } else { present.len() };
        for after in present.iter().skip(i + 1).take(reach) {
            for low in 0..=2_u8 {
                let from: Vec<NodeIndex> =
                    before.iter().filter(|n| tier(n) == low).copied().collect();
                let (to, against): (Vec<NodeIndex>, Vec<NodeIndex>) =
                    after.iter().partition(|n| tier(n) >= low);
                if let (Some(a), Some(b)) = (from.first(), against.first()) {
                    lost.push((*a, *b));
                }
                bundles.push(Bundle {
                    before: from,
                    after: to,
                });
            }
        }
    }
    bundles.retain(Bundle::is_effective);
    bundles
}

/// What is wrong with the order of a plan, at its first step that is out of order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// A lower tier than the step before it.
    #[error("step `{0}` of tier {1} stands behind tier {2}")]
    Tier(String, u8, u8),
    /// A predecessor that is not before it.
    #[error("step `{0}` waits for `{1}`, which does not stand before it")]
    Waits(String, String),
    /// A need that is not a predecessor.
    #[error("step `{0}` needs `{1}`, but does not wait for it")]
    Needs(String, String),
    /// A preparation that is not a predecessor, or is also a need.
    #[error("step `{0}` is said to be prepared by `{1}`, which it does not merely wait for")]
    Prepared(String, String),
    /// One id of two steps.
    #[error("the id `{0}` occurs twice")]
    Twice(String),
}

/// Checks that the plan is in order: ids unique, tiers ascending, every predecessor present and
/// before its successor, every need among the predecessors, direct or not.
///
/// # Errors
/// The first step out of order.
pub fn check_order(plan: &Plan) -> Result<(), OrderFault> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut before: BTreeMap<&str, &[String]> = BTreeMap::new();
    let mut tier = 0;
    for step in &plan.steps {
        let own = || step.id.clone();
        if step.tier < tier {
            return Err(OrderFault::Tier(own(), step.tier, tier));
        }
        tier = step.tier;
        let mut waits_for = step.after.iter().chain(&step.needs);
        if let Some(id) = waits_for.find(|id| !seen.contains(id.as_str())) {
            return Err(OrderFault::Waits(own(), id.clone()));
        }
        if let Some(need) = step.needs.iter().find(|id| !waits(&before, step, id)) {
            return Err(OrderFault::Needs(own(), need.clone()));
        }
        let merely_waits = |id: &String| step.after.contains(id) && !step.needs.contains(id);
        if let Some(id) = step.prepared_by.iter().find(|id| !merely_waits(id)) {
            return Err(OrderFault::Prepared(own(), id.clone()));
        }
        before.insert(&step.id, &step.after);
        if !seen.insert(&step.id) {
            return Err(OrderFault::Twice(own()));
        }
    }
    Ok(())
}

/// Whether a step waits for another, directly or not.
fn waits(before: &BTreeMap<&str, &[String]>, step: &super::Step, id: &str) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = step.after.iter().map(String::as_str).collect();
    while let Some(earlier) = open.pop() {
        if earlier == id {
            return true;
        }
        if seen.insert(earlier) {
            let more = before.get(earlier).into_iter().copied().flatten();
            open.extend(more.map(String::as_str));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::arbitrary::order::{Bundle, Constraints, Ordered, Preparing, order};
    use std::collections::BTreeSet;

    fn ordered(constraints: Constraints) -> Vec<usize> {
        order(&constraints).order
    }

    #[test]
    fn orders() {
        let none = |n: usize| Constraints {
            tiers: vec![0; n],
            ..Constraints::default()
        };
        assert_eq!(ordered(none(3)), [0, 1, 2]);
        assert_eq!(
            ordered(Constraints {
                tiers: vec![1, 0, 2, 0],
                ..none(0)
            }),
            [1, 3, 0, 2]
        );
        assert_eq!(
            ordered(Constraints {
                needs: vec![(2, 0)],
                ..none(4)
            }),
            [1, 2, 0, 3]
        );
        let sequence = |groups: Vec<Vec<usize>>| vec![groups];
        assert_eq!(
            ordered(Constraints {
                sequences: sequence(vec![vec![1, 2], vec![], vec![0]]),
                ..none(3)
            }),
            [1, 2, 0]
        );
        // Artifacts give way, on their own and jointly.
        let edge = |a, b| Bundle {
            before: vec![a],
            after: vec![b],
        };
        assert_eq!(
            ordered(Constraints {
                artifacts: vec![edge(2, 0)],
                ..none(3)
            }),
            [1, 2, 0]
        );
        assert_eq!(
            ordered(Constraints {
                artifacts: vec![edge(2, 0)],
                needs: vec![(0, 1), (1, 2)],
                ..none(3)
            }),
            [0, 1, 2]
        );
        let round = Constraints {
            artifacts: vec![edge(2, 0), edge(0, 1), edge(1, 2)],
            ..none(3)
        };
        assert_eq!(ordered(round), [0, 1, 2]);
        let mutual = order(&Constraints {
            artifacts: vec![edge(1, 0), edge(0, 1)],
            ..none(2)
        });
        assert_eq!(
            (mutual.order, mutual.after),
            (vec![0, 1], vec![vec![], vec![]])
        );
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

    fn count(ordered: &Ordered) -> usize {
        ordered
            .after
            .iter()
            .chain(&ordered.prepared_by)
            .map(Vec::len)
            .sum()
    }

    /// Whether each one waits for another, directly or not.
    fn waits(ordered: &Ordered, later: usize, earlier: usize) -> bool {
        let mut open = vec![later];
        let mut seen = BTreeSet::new();
        while let Some(node) = open.pop().filter(|n| *n != earlier) {
            let before = ordered.after[node].iter().chain(&ordered.prepared_by[node]);
            open.extend(before.filter(|n| seen.insert(**n)));
        }
        seen.contains(&earlier)
    }

    #[test]
    fn what_follows_is_not_told() {
        let edge = |a, b| Bundle {
            before: vec![a],
            after: vec![b],
        };
        let c = Constraints {
            tiers: vec![0; 4],
            needs: vec![(0, 1), (1, 2), (0, 2), (2, 3)],
            artifacts: vec![edge(0, 3), edge(1, 3)],
            ..Constraints::default()
        };
        assert_eq!(order(&c).after, [vec![], vec![0], vec![1], vec![2]]);
        let full = order(&Constraints { full: true, ..c });
        assert_eq!(full.after, [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
        // Far apart: predecessors are processed a few thousand at a time.
        let n = 10_000;
        let chain = (1..n).map(|i| (i - 1, i));
        let c = Constraints {
            tiers: vec![0; n],
            needs: chain.chain((2..n).map(|i| (0, i))).collect(),
            ..Constraints::default()
        };
        assert_eq!(count(&order(&c)), n - 1);
    }

    #[test]
    fn groups_that_meet_stay_small() {
        let n = 2_000;
        let (makes, asks): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (n..2 * n).collect());
        let meet = Bundle {
            before: makes.clone(),
            after: asks.clone(),
        };
        let c = Constraints {
            tiers: vec![0; 2 * n],
            artifacts: vec![meet],
            ..Constraints::default()
        };
        let got = order(&c);
        assert!(count(&got) <= 2 * 2 * n && waits(&got, n, n - 1) && waits(&got, 2 * n - 1, 0));
        // One pair the other way round costs that pair.
        let got = order(&Constraints {
            needs: vec![(n, 0)],
            ..c.clone()
        });
        assert!(count(&got) <= 3 * 2 * n, "{}", count(&got));
        assert!(
            waits(&got, 0, n)
                && waits(&got, n, 1)
                && waits(&got, n + 1, 0)
                && waits(&got, 2 * n - 1, n - 1)
        );
        // All of them the other way round cost all of them.
        let got = order(&Constraints {
            sequences: vec![vec![asks, makes]],
            ..c
        });
        assert!(
            count(&got) <= 2 * 2 * n
                && got.order[0] == n
                && waits(&got, 0, n)
                && waits(&got, n - 1, 2 * n - 1)
        );
    }

    /// Checks that nodes with many contradicting constraints are ordered as if they had none.
    #[test]
    fn many_contradictions() {
        let n = 300;
        let half = n / 2;
        let nodes = |of: std::ops::Range<usize>| of.collect::<Vec<usize>>();
        let c = Constraints {
            tiers: vec![0; 2 * n],
            // Half of those that ask are before half of those that make, and these before the
            // others.
            sequences: vec![vec![
                nodes(n..n + half),
                nodes(0..half),
                nodes(n + half..2 * n),
                nodes(half..n),
            ]],
            artifacts: vec![Bundle {
                before: nodes(0..n),
                after: nodes(n..2 * n),
            }],
            ..Constraints::default()
        };
        let got = order(&c);
        assert!(waits(&got, 0, n) && waits(&got, n + half, 0) && waits(&got, half, 2 * n - 1));
        let graph_order: BTreeSet<usize> = got.order.iter().copied().collect();
        assert_eq!(graph_order.len(), 2 * n);
    }

    #[test]
    fn what_prepares_comes_first_and_gives_way() {
        let files = |files: [Option<usize>; 4]| Preparing {
            files: files.into(),
            ..Preparing::default()
        };
        let c = |needs| Constraints {
            tiers: vec![0; 4],
            needs,
            setup: [1, 3].into(),
            preparing: files([Some(0); 4]),
            ..Constraints::default()
        };
        let got = order(&c(vec![]));
        assert_eq!(
            (got.order, got.prepared_by),
            (
                vec![1, 3, 0, 2],
                vec![vec![1, 3], vec![], vec![1, 3], vec![]]
            )
        );
        // Each of two needs what the other would prepare: the first one stays first.
        let got = order(&c(vec![(0, 1), (2, 3)]));
        assert_eq!(
            (got.order, got.after),
            (vec![0, 1, 2, 3], vec![vec![], vec![0], vec![], vec![2]])
        );
        assert_eq!(got.prepared_by, [vec![], vec![], vec![1], vec![]]);
        // Commands come first, also before what prepares.
        let list = Preparing {
            list: vec![0, 2, 1],
            alone: 2,
            ..files([None, None, Some(0), Some(0)])
        };
        let c = Constraints {
            tiers: vec![0; 4],
            setup: [3].into(),
            preparing: list,
            ..Constraints::default()
        };
        let got = order(&c);
        // `setup` comes before the check in the list, so the last command cannot come before it;
        // the first can.
        assert_eq!(got.order, [0, 3, 2, 1]);
        assert_eq!(got.prepared_by, [vec![], vec![2], vec![3], vec![0]]);
    }
}
