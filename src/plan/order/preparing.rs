//! Orders what prepares first: `setup`, and the commands of the request. The weakest order: it
//! gives way to every other.

use super::graph::Graph;
use super::{Bundle, Constraints};
use std::collections::BTreeMap;

/// Which nodes prepare which others, besides `Constraints::setup`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preparing {
    /// The file that defines each node: 0 is the contract, others are its imports. None for nodes
    /// that no file defines.
    pub files: Vec<Option<usize>>,
    /// The file that imports each import, from 1; that is an earlier one.
    pub importers: Vec<usize>,
    /// The nodes of the request's commands, in their order.
    pub list: Vec<usize>,
    /// How many nodes, from the first, are commands of the request and no checks, all of tier 0.
    /// They come before everything.
    /// 0. They come before everything.
    pub alone: usize,
}

impl Preparing {
    fn file(&self, node: usize) -> Option<usize> {
        self.files.get(node).copied().flatten()
    }

    /// Returns a file and all that import it, directly or not.
    fn upwards(&self, file: usize) -> impl Iterator<Item = usize> {
        let importer = |file: &usize| {
            self.importers
                .get(file.checked_sub(1)?)
                .copied()
                .filter(|up| up < file)
        };
        std::iter::successors(Some(file), importer)
    }
}

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

struct Adding<'a> {
    graph: &'a mut Graph,
    constraints: &'a Constraints,
    added: Vec<Bundle>,
}

impl Adding<'_> {
    fn tier(&self, node: usize) -> u8 {
        self.constraints.tiers.get(node).copied().unwrap_or(0)
    }

    fn nodes(&self) -> std::ops::Range<usize> {
        0..self.constraints.tiers.len()
    }

    fn bundle(&mut self, before: Vec<usize>, after: Vec<usize>) {
        if !before.is_empty() && !after.is_empty() {
            let bundle = Bundle { before, after };
            self.graph.bundle(&bundle);
            self.added.push(bundle);
        }
    }

    /// Orders `setup` before the other checks in its file and in the files that import it, except
    /// those that it waits for itself.
    fn setup(&mut self) {
        let preparing = &self.constraints.preparing;
        let is_setup = |node: usize| self.constraints.setup.contains(&node);
        if self.constraints.setup.is_empty() || preparing.files.is_empty() {
            return;
        }
        // The setup and the other checks of each file, by tier.
        let (mut prepared, mut all) = (
            BTreeMap::<usize, [Vec<usize>; 3]>::new(),
            BTreeMap::<usize, [Vec<usize>; 3]>::new(),
        );
        let put = |into: &mut BTreeMap<usize, [Vec<usize>; 3]>, file: usize, node: usize| {
            if let Some(list) = into
                .entry(file)
                .or_default()
                .get_mut(usize::from(self.tier(node)))
            {
                list.push(node);
            }
        };
        let waits = self.graph.following(self.nodes().filter(|n| !is_setup(*n)));
        let mut waiting = Vec::new();
        for node in self.nodes() {
            match (preparing.file(node), is_setup(node)) {
                (Some(file), false) => put(&mut prepared, file, node),
                (Some(_), true) if waits.get(node) == Some(&true) => waiting.push(node),
                (Some(file), true) => preparing
                    .upwards(file)
                    .for_each(|file| put(&mut all, file, node)),
                (None, _) => {}
            }
        }
        // A node that waits for no other check can come before all of them at once: no cycle is
        // possible.
        for (file, by_tier) in &prepared {
            let Some(setup) = all.get(file) else { continue };
            for (tier, nodes) in by_tier.iter().enumerate() {
                let before: Vec<usize> = setup.iter().take(tier + 1).flatten().copied().collect();
                self.bundle(before, nodes.clone());
            }
        }
        for node in waiting {
            self.setup_that_waits(node, &prepared);
        }
    }

    fn setup_that_waits(&mut self, node: usize, prepared: &BTreeMap<usize, [Vec<usize>; 3]>) {
        let preparing = &self.constraints.preparing;
        let before = self.graph.preceding([node]);
        let files = preparing
            .file(node)
            .into_iter()
            .flat_map(|file| preparing.upwards(file));
        let lists = files.filter_map(|file| prepared.get(&file));
        let nodes =
            lists.flat_map(|by_tier| by_tier.iter().skip(usize::from(self.tier(node))).flatten());
        let mut after: Vec<usize> = nodes
            .filter(|n| before.get(**n) != Some(&true))
            .copied()
            .collect();
        after.sort_unstable();
        self.bundle(vec![node], after);
    }

    /// Orders each command of the list after the nearest one in front of it that it can follow.
    fn list(&mut self) {
        let list = &self.constraints.preparing.list;
        for (at, later) in list.iter().enumerate().skip(1) {
            let follows = self.graph.following([*later]);
            let can = |earlier: &&usize| {
                follows.get(**earlier) == Some(&false) && self.tier(**earlier) <= self.tier(*later)
            };
            if let Some(earlier) = list.iter().take(at).rev().find(can) {
                self.bundle(vec![*earlier], vec![*later]);
            }
        }
    }

    /// Orders commands that are no checks of the contract before all other nodes of the plan.
    fn in_front(&mut self) {
        let alone = self.constraints.preparing.alone;
        let Some(last) = alone.checked_sub(1) else {
            return;
        };
        let leads = self.graph.preceding([last]);
        let ends: Vec<usize> = (0..alone)
            .filter(|n| *n == last || leads.get(*n) != Some(&true))
            .collect();
        let before = self.graph.preceding(0..alone);
        let (stuck, free): (Vec<usize>, Vec<usize>) = self
            .nodes()
            .skip(alone)
            .partition(|n| before.get(*n) == Some(&true));
        self.bundle(ends, free);
        if stuck.is_empty() {
            return;
        }
        // Predecessors of some of them: a check that is also a command of the list, and what that
        // needs.
        for command in 0..alone {
            let before = self.graph.preceding([command]);
            let after: Vec<usize> = stuck
                .iter()
                .filter(|n| before.get(**n) != Some(&true))
                .copied()
                .collect();
            self.bundle(vec![command], after);
        }
    }
}
