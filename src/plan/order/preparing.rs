//! Orders what prepares first: `setup`, and the commands of the request. The weakest order: it
//! gives way to every other.

use super::constraints::{Bundle, Constraints, Graph, NodeIndex};
use std::collections::BTreeMap;
use vplan_contract::InclusionIndex;

/// Adds the edges that cause no contradiction, and returns them. Of contradicting ones the earlier
/// stays: `setup` in base order, then the list in its own.
pub(super) fn add(graph: &mut Graph, constraints: &Constraints) -> Vec<Bundle> {
    let mut adding = Adding {
        graph,
        constraints,
        added: Vec::new(),
    };
    adding.setup();
    adding.list();
    adding.in_front();
    adding.added
}

/// Nodes by the file that defines them, and by tier.
type ByFile = BTreeMap<InclusionIndex, [Vec<NodeIndex>; 3]>;

struct Adding<'a> {
    graph: &'a mut Graph,
    constraints: &'a Constraints,
    added: Vec<Bundle>,
}

impl Adding<'_> {
    fn nodes(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        self.constraints.tiers.indices()
    }

    fn bundle(&mut self, before: Vec<NodeIndex>, after: Vec<NodeIndex>) {
        let bundle = Bundle { before, after };
        if bundle.is_effective() {
            bundle.add_to(self.graph);
            self.added.push(bundle);
        }
    }

    /// Orders `setup` before the other checks in its file and in the files that import it, except
    /// those that it waits for itself.
    fn setup(&mut self) {
        let preparing = &self.constraints.preparing;
        let is_setup = |node: NodeIndex| self.constraints.setup.contains(&node);
        if self.constraints.setup.is_empty() || preparing.files.is_empty() {
            return;
        }
        // The setup and the other checks of each file, by tier.
        let (mut prepared, mut all) = (ByFile::new(), ByFile::new());
        let tiers = &self.constraints.tiers;
        let put = |into: &mut ByFile, file: InclusionIndex, node: NodeIndex| {
            let [zero, one, two] = into.entry(file).or_default();
            match tiers[node] {
                0 => zero.push(node),
                1 => one.push(node),
                _ => two.push(node),
            }
        };
        let waits = self.graph.following(self.nodes().filter(|n| !is_setup(*n)));
        let mut waiting = Vec::new();
        for node in self.nodes() {
            match (preparing.files[node], is_setup(node)) {
                (Some(file), false) => put(&mut prepared, file, node),
                (Some(_), true) if waits[node] => waiting.push(node),
                (Some(file), true) => {
                    let files = preparing.upwards(file);
                    files.for_each(|file| put(&mut all, file, node));
                }
                (None, _) => {}
            }
        }
        // A node that waits for no other check can come before all of them at once: no cycle is
        // possible.
        for (file, by_tier) in &prepared {
            let Some(setup) = all.get(file) else { continue };
            for (tier, nodes) in by_tier.iter().enumerate() {
                let before: Vec<NodeIndex> =
                    setup.iter().take(tier + 1).flatten().copied().collect();
                self.bundle(before, nodes.clone());
            }
        }
        for node in waiting {
            self.setup_that_waits(node, &prepared);
        }
    }

    fn setup_that_waits(&mut self, node: NodeIndex, prepared: &ByFile) {
        let preparing = &self.constraints.preparing;
        let before = self.graph.preceding([node]);
        let tier = usize::from(self.constraints.tiers[node]);
        let file = preparing.files[node].into_iter();
        let files = file.flat_map(|file| preparing.upwards(file));
        let lists = files.filter_map(|file| prepared.get(&file));
        let nodes = lists.flat_map(|by_tier| by_tier.iter().skip(tier).flatten());
        let mut after: Vec<NodeIndex> = nodes.filter(|n| !before[**n]).copied().collect();
        after.sort_unstable();
        self.bundle(vec![node], after);
    }

    /// Orders each command of the list after the nearest one in front of it that it can follow.
    fn list(&mut self) {
        let list = &self.constraints.preparing.list;
        for (at, later) in list.iter().enumerate().skip(1) {
            let follows = self.graph.following([*later]);
            let tiers = &self.constraints.tiers;
            let can =
                |earlier: &&NodeIndex| !follows[**earlier] && tiers[**earlier] <= tiers[*later];
            if let Some(earlier) = list.iter().take(at).rev().find(can) {
                self.bundle(vec![*earlier], vec![*later]);
            }
        }
    }

    /// Orders commands that are not checks of the contract before all other nodes of the plan.
    fn in_front(&mut self) {
        let alone = self.constraints.preparing.alone;
        let commands: Vec<NodeIndex> = self.nodes().take(alone).collect();
        let Some(last) = commands.last().copied() else {
            return;
        };
        let leads = self.graph.preceding([last]);
        let ends = commands.iter().filter(|n| **n == last || !leads[**n]);
        let ends: Vec<NodeIndex> = ends.copied().collect();
        let before = self.graph.preceding(commands.iter().copied());
        let (stuck, free): (Vec<NodeIndex>, Vec<NodeIndex>) =
            self.nodes().skip(alone).partition(|n| before[*n]);
        self.bundle(ends, free);
        if stuck.is_empty() {
            return;
        }
        // Predecessors of some of them: a check that is also a command of the list, and what that
        // needs.
        for command in commands {
            let before = self.graph.preceding([command]);
            let after = stuck.iter().filter(|n| !before[**n]).copied().collect();
            self.bundle(vec![command], after);
        }
    }
}
