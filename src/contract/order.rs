//! Checks the order of checks: `sequence`, `needs` and tiers, compared with each other without any
//! request.

use super::checker::{Checker, Reference};
use super::cycle::Graph;
use super::draft::{self, Group};
use super::error::{
    CYCLE, SEQUENCE_AGAINST_TIERS, SEQUENCE_REPEATS, SEQUENCE_REST, SEQUENCE_SHORT, SEQUENCE_SIZE,
};
use super::resolve::line;
use super::{CheckIndex, Sequence};
use crate::base::diagnostic::Diagnostic;
use crate::base::span::Place;
use std::collections::{BTreeMap, BTreeSet};

/// The other constraints on the order: the tiers of the checks and their `needs`.
pub(super) struct Edges<'e> {
    pub(super) tiers: &'e [u8],
    pub(super) needs: Vec<&'e [Reference]>,
}

/// The edges of a cycle that a message shows; a longer one is cut.
const SHOWN_EDGES: usize = 20;

/// A group of a sequence with its names looked up.
enum ResolvedGroup {
    Names(Vec<Reference>),
    Rest,
}

impl Checker<'_> {
    /// The sequences with `*` replaced; reports what no order of the checks can satisfy.
    ///
    /// `*` means the other checks of the same file in the same tier. A sequence that names
    /// checks of several tiers becomes one of its named checks and one for each of these tiers,
    /// in which `*` has that tier's checks: between tiers there is an order already.
    pub(super) fn order(&mut self, edges: &Edges<'_>) -> Vec<Sequence> {
        let mut by_tier: BTreeMap<(usize, u8), Vec<CheckIndex>> = BTreeMap::new();
        for (index, tier) in edges.tiers.iter().enumerate() {
            let inclusion = self.names.defined.get(index).map_or(0, |c| c.inclusion);
            by_tier.entry((inclusion, *tier)).or_default().push(index);
        }
        let mut made: Vec<(Sequence, Place)> = Vec::new();
        let mut members = 0;
        for sequence in &self.draft.sequences {
            let groups = self.groups(sequence);
            self.report_against_tiers(&groups, edges.tiers);
            for groups in expand(&groups, edges.tiers, sequence.inclusion, &by_tier) {
                members += groups.iter().map(Vec::len).sum::<usize>();
                if members > self.caps.sequence_members {
                    break;
                }
                made.push((
                    Sequence {
                        groups,
                        line: line(self.sources, sequence.place),
                    },
                    sequence.place,
                ));
            }
            if members > self.caps.sequence_members {
                let most = self.caps.sequence_members;
                self.sink.push(
                    Diagnostic::error(
                        SEQUENCE_SIZE,
                        format!("the sequences have more than {most} members in all"),
                    )
                    .label(sequence.place, "too many with `*` replaced")
                    .help("say what comes before or behind all others in one `sequence`"),
                );
                break;
            }
        }
        self.report_cycles(&made, edges);
        made.into_iter().map(|(sequence, _)| sequence).collect()
    }

    fn groups(&mut self, sequence: &draft::Sequence) -> Vec<ResolvedGroup> {
        if sequence.groups.len() < 2 {
            self.sink.push(
                Diagnostic::error(SEQUENCE_SHORT, "a sequence has at least two groups")
                    .label(sequence.place, "orders nothing")
                    .help("write `sequence first -> second`"),
            );
        }
        let mut seen: BTreeMap<CheckIndex, Place> = BTreeMap::new();
        let mut rest: Option<Place> = None;
        let mut groups = Vec::with_capacity(sequence.groups.len());
        for group in &sequence.groups {
            let names = match &group.value {
                Group::Names(names) => names,
                Group::Rest => {
                    match rest {
                        None => rest = Some(group.place),
                        Some(first) => self.sink.push(
                            Diagnostic::error(SEQUENCE_REST, "`*` stands twice in a sequence")
                                .label(group.place, "a second `*`")
                                .label(first, "all other checks are here already")
                                .help("keep one of them"),
                        ),
                    }
                    if rest == Some(group.place) {
                        groups.push(ResolvedGroup::Rest);
                    }
                    continue;
                }
            };
            let mut known = Vec::with_capacity(names.len());
            for name in names {
                let Some(index) = self.names.check(name, self.sink) else {
                    continue;
                };
                match seen.get(&index) {
                    Some(first) => self.sink.push(
                        Diagnostic::error(
                            SEQUENCE_REPEATS,
                            format!("`{}` stands twice in a sequence", name.value),
                        )
                        .label(name.place, "again here")
                        .label(*first, "first here")
                        .help("a check runs once; keep one of the two"),
                    ),
                    None => {
                        seen.insert(index, name.place);
                        known.push(Reference::new(index, name.place));
                    }
                }
            }
            groups.push(ResolvedGroup::Names(known));
        }
        groups
    }

    fn report_against_tiers(&mut self, groups: &[ResolvedGroup], tiers: &[u8]) {
        let tier_of = |check: CheckIndex| tiers.get(check).copied().unwrap_or(0);
        let mut last: Option<(u8, &Reference)> = None;
        for names in groups.iter().filter_map(|g| {
            if let ResolvedGroup::Names(names) = g {
                Some(names)
            } else {
                None
            }
        }) {
            for name in names {
                let Some((tier, earlier)) = last.filter(|(tier, _)| tier_of(name.value) < *tier)
                else {
                    continue;
                };
                let (id, before) = (self.id(name.value), self.id(earlier.value));
                let own = tier_of(name.value);
                self.sink.push(
                    Diagnostic::error(
                        SEQUENCE_AGAINST_TIERS,
                        format!("`{id}` of tier {own} cannot run after `{before}` of tier {tier}"),
                    )
                    .label(name.place, format!("tier {own}"))
                    .label(earlier.place, format!("tier {tier}"))
                    .help(
                        "tier 0 runs before tier 1, and that before tier 2: turn the sequence around or change a tier",
                    ),
                );
            }
            let highest = names
                .iter()
                .map(|n| (tier_of(n.value), n))
                .max_by_key(|(tier, _)| *tier);
            if let Some((tier, name)) = highest
                && last.is_none_or(|(before, _)| tier > before)
            {
                last = Some((tier, name));
            }
        }
    }

    /// The graph of which check waits for which. A joint connects two groups of a sequence, so that
    /// it stays as large as the text.
    fn report_cycles(&mut self, sequences: &[(Sequence, Place)], edges: &Edges<'_>) {
        let mut graph = Graph::new(edges.tiers.len());
        let mut from_sequence: BTreeMap<usize, Place> = BTreeMap::new();
        for (check, needs) in edges.needs.iter().enumerate() {
            for need in *needs {
                graph.edge(check, need.value);
            }
        }
        for (sequence, place) in sequences {
            let mut before: Option<usize> = None;
            for (earlier, later) in sequence.groups.iter().zip(sequence.groups.iter().skip(1)) {
                let joint = graph.joint();
                from_sequence.insert(joint, *place);
                for check in earlier {
                    graph.edge(joint, *check);
                }
                for check in later {
                    graph.edge(*check, joint);
                }
                if let Some(before) = before {
                    graph.edge(joint, before);
                }
                before = Some(joint);
            }
        }
        for cycle in graph.shortest_cycles() {
            self.report_cycle(&graph, &cycle, &from_sequence, edges);
        }
    }

    fn report_cycle(
        &mut self,
        graph: &Graph,
        cycle: &[usize],
        from_sequence: &BTreeMap<usize, Place>,
        edges: &Edges<'_>,
    ) {
        let mut chain: Vec<(String, Place)> = Vec::new();
        let Some(first) = cycle.first().copied() else {
            return;
        };
        let (mut from, mut joint) = (first, None);
        for node in cycle.iter().skip(1).copied().chain([first]) {
            if graph.is_joint(node) {
                joint = from_sequence.get(&node).copied();
                continue;
            }
            let (after, before) = (self.id(from), self.id(node));
            match joint.take() {
                Some(place) => chain.push((
                    format!(
                        "`{after}` runs after `{before}` (sequence, line {})",
                        line(self.sources, place)
                    ),
                    place,
                )),
                None => {
                    let needs = edges.needs.get(from).copied().unwrap_or_default();
                    let place = needs
                        .iter()
                        .find(|n| n.value == node)
                        .map(|n| n.place)
                        .unwrap_or_default();
                    let what = if from == node {
                        "itself".to_owned()
                    } else {
                        format!("`{before}`")
                    };
                    chain.push((
                        format!(
                            "`{after}` needs {what} (line {})",
                            line(self.sources, place)
                        ),
                        place,
                    ));
                }
            }
            from = node;
        }
        let hidden = chain.len().saturating_sub(SHOWN_EDGES);
        let shown: Vec<&str> = chain
            .iter()
            .take(SHOWN_EDGES)
            .map(|(text, _)| text.as_str())
            .collect();
        let more = if hidden > 0 {
            format!(", and {hidden} more")
        } else {
            String::new()
        };
        let mut error = Diagnostic::error(
            CYCLE,
            format!(
                "checks that wait for each other: {}{more}",
                shown.join(", ")
            ),
        );
        let mut labelled = BTreeSet::new();
        for (text, place) in chain.iter().take(SHOWN_EDGES) {
            if labelled.insert(*place) {
                let text = text
                    .rsplit_once(" (")
                    .map_or(text.as_str(), |(text, _)| text);
                error = error.label(*place, text);
            }
        }
        self.sink.push(error.help("take one of these away"));
    }

    /// Returns the name of a check in a message.
    fn id(&self, check: CheckIndex) -> String {
        self.ids.get(check).cloned().unwrap_or_default()
    }
}

/// Expands a sequence with `*`; returns itself without `*`.
fn expand(
    groups: &[ResolvedGroup],
    tiers: &[u8],
    inclusion: usize,
    by_tier: &BTreeMap<(usize, u8), Vec<CheckIndex>>,
) -> Vec<Vec<Vec<CheckIndex>>> {
    let tier_of = |check: CheckIndex| tiers.get(check).copied().unwrap_or(0);
    let named: BTreeSet<CheckIndex> = groups
        .iter()
        .flat_map(|g| {
            if let ResolvedGroup::Names(names) = g {
                names.as_slice()
            } else {
                &[]
            }
        })
        .map(|n| n.value)
        .collect();
    let named_tiers: BTreeSet<u8> = named.iter().map(|c| tier_of(*c)).collect();
    let has_rest = groups.iter().any(|g| matches!(g, ResolvedGroup::Rest));
    let mut all = Vec::new();
    if !has_rest || named_tiers.len() > 1 {
        all.push(
            groups
                .iter()
                .map(|g| {
                    if let ResolvedGroup::Names(names) = g {
                        names.iter().map(|n| n.value).collect()
                    } else {
                        Vec::new()
                    }
                })
                .collect(),
        );
    }
    for tier in named_tiers.iter().filter(|_| has_rest) {
        let rest = by_tier
            .get(&(inclusion, *tier))
            .into_iter()
            .flatten()
            .copied()
            .filter(|c| !named.contains(c))
            .collect::<Vec<_>>();
        let of_tier = groups.iter().map(|group| match group {
            ResolvedGroup::Names(names) => names
                .iter()
                .map(|n| n.value)
                .filter(|c| tier_of(*c) == *tier)
                .collect(),
            ResolvedGroup::Rest => rest.clone(),
        });
        all.push(of_tier.collect());
    }
    all.into_iter()
        .map(|groups: Vec<Vec<CheckIndex>>| {
            groups
                .into_iter()
                .filter(|g| !g.is_empty())
                .collect::<Vec<_>>()
        })
        .filter(|groups| groups.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_star_stands_for() {
        let names = |checks: &[usize]| {
            ResolvedGroup::Names(
                checks
                    .iter()
                    .map(|c| Reference::new(*c, Place::default()))
                    .collect(),
            )
        };
        // Checks 0 to 3 are of tier 0, 4 and 5 of tier 1, 6 is alone in tier 2.
        let tiers = [0, 0, 0, 0, 1, 1, 2];
        let by_tier = BTreeMap::from([
            ((0, 0), vec![0, 1, 2, 3]),
            ((0, 1), vec![4, 5]),
            ((0, 2), vec![6]),
        ]);
        for (groups, want) in [
            (
                vec![names(&[0]), names(&[4, 5])],
                vec![vec![vec![0], vec![4, 5]]],
            ),
            (
                vec![names(&[0]), ResolvedGroup::Rest, names(&[2])],
                vec![vec![vec![0], vec![1, 3], vec![2]]],
            ),
            (
                vec![names(&[0]), ResolvedGroup::Rest, names(&[5])],
                vec![
                    vec![vec![0], vec![5]],
                    vec![vec![0], vec![1, 2, 3]],
                    vec![vec![4], vec![5]],
                ],
            ),
            (vec![ResolvedGroup::Rest, names(&[6])], vec![]),
            (vec![names(&[0]), names(&[])], vec![]),
        ] {
            assert_eq!(expand(&groups, &tiers, 0, &by_tier), want);
        }
    }
}
