//! The constraints on an order, and the graph that they make.

use std::collections::BTreeSet;
use vplan_base::graph;
use vplan_base::index::{Dense, Index as _, numbered};
use vplan_contract::InclusionIndex;
vplan_base::index!(
    NodeIndex,
    "node of a plan",
    "Position of a node, the steps of one check or command, in base order."
);

vplan_base::index!(Place, "place in an order", "Position in an order.");

/// The precedence graph of the nodes.
pub(super) type Graph = graph::Graph<NodeIndex>;

/// A constraint: every one of `before` runs before every one of `after`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// Nodes, ascending.
    pub before: Vec<NodeIndex>,
    /// Nodes, ascending.
    pub after: Vec<NodeIndex>,
}

/// The constraints on an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// The tier of each node; its length is the number of nodes.
    pub tiers: Dense<NodeIndex, u8>,
    /// Pairs (needed, needer).
    pub needs: Vec<(NodeIndex, NodeIndex)>,
    /// The groups of each `sequence`, without absent members.
    pub sequences: Vec<Vec<Vec<NodeIndex>>>,
    /// Nodes with `writes`, ascending.
    pub writers: Vec<NodeIndex>,
    /// Nodes that are `setup`.
    pub setup: BTreeSet<NodeIndex>,
    /// Nodes that ask a judge: they go last in their tier, as far as no other waits for them.
    pub judges: BTreeSet<NodeIndex>,
    /// Artifact settings: they give way to `needs`, `sequences` and `writers`.
    pub artifacts: Vec<Bundle>,
    /// The constraints of preparation: they give way to all others.
    pub preparing: Preparing,
    /// Whether to list all direct predecessors, not the fewest that imply the others, as plans of
    /// version 1 do.
    pub full: bool,
}

/// An order of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// All nodes, each once.
    pub order: Vec<NodeIndex>,
    /// The direct predecessors of each node by constraints, in the order of `order`.
    pub after: Dense<NodeIndex, Vec<NodeIndex>>,
    /// The predecessors that each node waits for only because they prepare, in the order of
    /// `order`.
    pub prepared_by: Dense<NodeIndex, Vec<NodeIndex>>,
    /// (before, after) of sequences that the tiers contradict; one witness for each pair of
    /// groups.
    pub against_tiers: Vec<(NodeIndex, NodeIndex)>,
}

impl Bundle {
    pub(super) fn add_to(&self, graph: &mut Graph) {
        graph.bundle(&self.before, &self.after);
    }

    /// Whether it orders anything.
    pub(super) fn is_effective(&self) -> bool {
        !self.before.is_empty() && !self.after.is_empty()
    }
}

/// Returns the nodes of a graph by tier, then topologically, ties by index. Total also with a
/// cycle, which no validated contract has.
pub(super) fn sorted(graph: &Graph, tiers: &Dense<NodeIndex, u8>) -> Vec<NodeIndex> {
    graph.sort(|node| tiers[node])
}

/// Returns the place of each node in an order of all of them.
pub(crate) fn positions(order: &[NodeIndex]) -> Dense<NodeIndex, Place> {
    let mut places = Dense::filled(Place::new(0), order.len());
    numbered(order).for_each(|(place, node)| places[*node] = place);
    places
}

/// Maximum number of pairs that are examined one by one.
pub(super) const MANY: usize = 1 << 16;

/// The nodes that prepare others, in addition to `Constraints::setup`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preparing {
    /// The use of a file that defines each node; none for nodes that no file defines. Empty in a
    /// plan of version 1, in which `setup` prepares nothing.
    pub files: Dense<NodeIndex, Option<InclusionIndex>>,
    /// Of each use of a file, the one that imports it, which is an earlier one.
    pub importers: Dense<InclusionIndex, Option<InclusionIndex>>,
    /// The nodes of the request's commands, in their order.
    pub list: Vec<NodeIndex>,
    /// The number of nodes, from the first, that are commands of the request and no checks, all of
    /// tier 0. They come before everything.
    pub alone: usize,
}

impl Preparing {
    /// Returns a file and all that import it, directly or not.
    pub(super) fn upwards(&self, file: InclusionIndex) -> impl Iterator<Item = InclusionIndex> {
        let importer = |file: &InclusionIndex| self.importers[*file].filter(|up| up < file);
        std::iter::successors(Some(file), importer)
    }
}
