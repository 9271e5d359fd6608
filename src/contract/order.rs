//! Checks the order of checks: `sequence`, `needs` and tiers, compared with each other without any
//! request.

use super::checker::{Checker, Reference};
use super::draft::{self, Group};
use super::error::{
    CYCLE, SEQUENCE_AGAINST_TIERS, SEQUENCE_REPEATS, SEQUENCE_REST, SEQUENCE_SHORT, SEQUENCE_SIZE,
};
use super::resolve::line;
use super::{CheckIndex, InclusionIndex, Sequence};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::graph::{Graph, Node};
use vplan_base::index::Dense;
use vplan_base::span::Place;

/// The other constraints on the order: the tiers of the checks and their `needs`.
pub(super) struct Edges<'e> {
    pub(super) tiers: &'e Dense<CheckIndex, u8>,
    pub(super) needs: Dense<CheckIndex, &'e [Reference]>,
}

/// The edges of a cycle that a message shows; a longer one is cut.
const SHOWN_EDGES: usize = 20;

/// The checks of each file and tier.
type ByTier = BTreeMap<(InclusionIndex, u8), Vec<CheckIndex>>;

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
        let mut by_tier = ByTier::new();
        for (index, check) in self.names.defined.numbered() {
            let key = (check.inclusion, edges.tiers[index]);
            by_tier.entry(key).or_default().push(index);
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
                let line = line(self.sources, sequence.place);
                made.push((Sequence { groups, line }, sequence.place));
            }
            if members > self.caps.sequence_members {
                let most = self.caps.sequence_members;
                let message = format!("the sequences have more than {most} members in all");
                let label = "too many with `*` replaced";
                let help = "say what comes before or behind all others in one `sequence`";
                let error = Diagnostic::at(SEQUENCE_SIZE, message, sequence.place, label);
                self.report(error.help(help));
                break;
            }
        }
        self.report_cycles(&made, edges);
        made.into_iter().map(|(sequence, _)| sequence).collect()
    }

    fn groups(&mut self, sequence: &draft::Sequence) -> Vec<ResolvedGroup> {
        if sequence.groups.len() < 2 {
            let message = "a sequence has at least two groups";
            let error = Diagnostic::at(SEQUENCE_SHORT, message, sequence.place, "orders nothing");
            self.report(error.help("write `sequence first -> second`"));
        }
        let mut seen: BTreeMap<CheckIndex, Place> = BTreeMap::new();
        let mut rest: Option<Place> = None;
        let mut groups = Vec::with_capacity(sequence.groups.len());
        for group in &sequence.groups {
            let names = match &group.value {
                Group::Names(names) => names,
                Group::Rest => {
                    match rest {
                        None => {
                            rest = Some(group.place);
                            groups.push(ResolvedGroup::Rest);
                        }
                        Some(first) => self.report(
                            Diagnostic::error(SEQUENCE_REST, "`*` stands twice in a sequence")
                                .label(group.place, "a second `*`")
                                .label(first, "all other checks are here already")
                                .help("keep one of them"),
                        ),
                    }
                    continue;
                }
            };
            let mut known = Vec::with_capacity(names.len());
            let named = names.iter().flat_map(|name| {
                let found = self.names.checks(name, None, self.sink).into_iter();
                found.map(|index| Reference::new(index, name.place))
            });
            for name in named.collect::<Vec<_>>() {
                let Some(first) = seen.get(&name.value) else {
                    seen.insert(name.value, name.place);
                    known.push(name);
                    continue;
                };
                let message = format!("`{}` stands twice in a sequence", self.ids[name.value]);
                let error = Diagnostic::twice(SEQUENCE_REPEATS, message, name.place, *first);
                self.report(error.help("a check runs once; keep one of the two"));
            }
            groups.push(ResolvedGroup::Names(known));
        }
        groups
    }

    fn report_against_tiers(&mut self, groups: &[ResolvedGroup], tiers: &Dense<CheckIndex, u8>) {
        let mut last: Option<(u8, &Reference)> = None;
        for names in groups.iter().map(ResolvedGroup::names) {
            for name in names {
                let own = tiers[name.value];
                let Some((tier, earlier)) = last.filter(|(tier, _)| own < *tier) else {
                    continue;
                };
                let (id, before) = (&self.ids[name.value], &self.ids[earlier.value]);
                let message =
                    format!("`{id}` of tier {own} cannot run after `{before}` of tier {tier}");
                let help = "tier 0 runs before tier 1, and that before tier 2: turn the sequence around or change a tier";
                let label = format!("tier {own}");
                let error = Diagnostic::at(SEQUENCE_AGAINST_TIERS, message, name.place, label);
                let error = error.label(earlier.place, format!("tier {tier}"));
                self.report(error.help(help));
            }
            let of_tiers = names.iter().map(|n| (tiers[n.value], n));
            let highest = of_tiers.max_by_key(|(tier, _)| *tier);
            if let Some((tier, name)) = highest
                && last.is_none_or(|(before, _)| tier > before)
            {
                last = Some((tier, name));
            }
        }
    }

    /// Reports cycles in the graph of checks that wait for others. A joint connects two groups of a
    /// sequence; so the graph grows linearly with the text.
    fn report_cycles(&mut self, sequences: &[(Sequence, Place)], edges: &Edges<'_>) {
        let node = Graph::<CheckIndex>::node;
        let mut graph = Graph::new(edges.tiers.len());
        let mut from_sequence: BTreeMap<Node, Place> = BTreeMap::new();
        for (check, needs) in edges.needs.numbered() {
            for need in *needs {
                graph.edge(node(check), node(need.value));
            }
        }
        for (sequence, place) in sequences {
            let mut before: Option<Node> = None;
            for (earlier, later) in sequence.groups.iter().zip(sequence.groups.iter().skip(1)) {
                let joint = graph.joint();
                from_sequence.insert(joint, *place);
                for check in earlier {
                    graph.edge(joint, node(*check));
                }
                for check in later {
                    graph.edge(node(*check), joint);
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
        graph: &Graph<CheckIndex>,
        cycle: &[Node],
        from_sequence: &BTreeMap<Node, Place>,
        edges: &Edges<'_>,
    ) {
        let mut chain: Vec<(String, String, Place)> = Vec::new();
        let (mut last, mut joint) = (None, None);
        // The first is a check.
        for node in cycle.iter().chain(cycle.first()) {
            let Some(to) = graph.thing(*node) else {
                joint = from_sequence.get(node).copied();
                continue;
            };
            let Some(from) = last.replace(to) else {
                continue;
            };
            let (after, before) = (&self.ids[from], &self.ids[to]);
            let (text, by, place) = match joint.take() {
                Some(place) => (
                    format!("`{after}` runs after `{before}`"),
                    "sequence, ",
                    place,
                ),
                None => {
                    let mut needs = edges.needs[from].iter();
                    let need = needs.find(|need| need.value == to);
                    let what = match from == to {
                        true => "itself".to_owned(),
                        false => format!("`{before}`"),
                    };
                    let place = need.map(|need| need.place).unwrap_or_default();
                    (format!("`{after}` needs {what}"), "", place)
                }
            };
            let line = line(self.sources, place);
            chain.push((format!("{text} ({by}line {line})"), text, place));
        }
        let hidden = chain.len().saturating_sub(SHOWN_EDGES);
        chain.truncate(SHOWN_EDGES);
        let shown: Vec<&str> = chain.iter().map(|(whole, ..)| whole.as_str()).collect();
        let mut message = format!("checks that wait for each other: {}", shown.join(", "));
        if hidden > 0 {
            message += &format!(", and {hidden} more");
        }
        let mut error = Diagnostic::error(CYCLE, message);
        let mut labelled = BTreeSet::new();
        for (_, text, place) in chain {
            if labelled.insert(place) {
                error = error.label(place, text);
            }
        }
        self.report(error.help("take one of these away"));
    }
}

impl ResolvedGroup {
    fn names(&self) -> &[Reference] {
        match self {
            ResolvedGroup::Names(names) => names,
            ResolvedGroup::Rest => &[],
        }
    }
}

/// Expands a sequence with `*`; returns itself without `*`.
fn expand(
    groups: &[ResolvedGroup],
    tiers: &Dense<CheckIndex, u8>,
    inclusion: InclusionIndex,
    by_tier: &ByTier,
) -> Vec<Vec<Vec<CheckIndex>>> {
    let values = |group: &ResolvedGroup| group.names().iter().map(|n| n.value).collect::<Vec<_>>();
    let named: BTreeSet<CheckIndex> = groups.iter().flat_map(values).collect();
    let named_tiers: BTreeSet<u8> = named.iter().map(|c| tiers[*c]).collect();
    let has_rest = groups.iter().any(|g| matches!(g, ResolvedGroup::Rest));
    let mut all: Vec<Vec<Vec<CheckIndex>>> = Vec::new();
    if !has_rest || named_tiers.len() > 1 {
        all.push(groups.iter().map(values).collect());
    }
    for tier in named_tiers.iter().filter(|_| has_rest) {
        let others = by_tier.get(&(inclusion, *tier)).into_iter().flatten();
        let others = others.copied().filter(|check| !named.contains(check));
        let rest: Vec<CheckIndex> = others.collect();
        let of_tier = groups.iter().map(|group| match group {
            ResolvedGroup::Names(_) => {
                let mut own = values(group);
                own.retain(|check| tiers[*check] == *tier);
                own
            }
            ResolvedGroup::Rest => rest.clone(),
        });
        all.push(of_tier.collect());
    }
    for groups in &mut all {
        groups.retain(|group| !group.is_empty());
    }
    all.retain(|groups| groups.len() > 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::index::Index as _;

    #[test]
    fn what_a_star_stands_for() {
        let check = |c: &usize| CheckIndex::new(*c);
        let names = |checks: &[usize]| {
            let reference = |c| Reference::new(check(c), Place::default());
            ResolvedGroup::Names(checks.iter().map(reference).collect())
        };
        // Checks 0 to 3 are of tier 0, 4 and 5 of tier 1, 6 is alone in tier 2.
        let tiers = [0, 0, 0, 0, 1, 1, 2].into_iter().collect();
        let by_tier = BTreeMap::from([
            (
                (InclusionIndex::CONTRACT, 0),
                [0, 1, 2, 3].iter().map(check).collect(),
            ),
            (
                (InclusionIndex::CONTRACT, 1),
                [4, 5].iter().map(check).collect(),
            ),
            (
                (InclusionIndex::CONTRACT, 2),
                [6].iter().map(check).collect(),
            ),
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
            let group = |group: &Vec<usize>| group.iter().map(check).collect::<Vec<_>>();
            let want: Vec<Vec<Vec<CheckIndex>>> = want
                .iter()
                .map(|groups: &Vec<Vec<usize>>| groups.iter().map(group).collect())
                .collect();
            assert_eq!(
                expand(&groups, &tiers, InclusionIndex::CONTRACT, &by_tier),
                want
            );
        }
    }
}
