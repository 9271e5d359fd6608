//! The steps of a plan as they are dealt to shards.

use super::super::{Plan, Step, StepIndex, digest};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::overlap::overlaps;
/// Maximum number of shares of a plan.
pub const MOST: u32 = 10_000;

/// A share of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Its steps as a plan of their own, sealed.
    pub plan: Plan,
    /// Ids of the steps that it leaves to others, in plan order.
    pub elsewhere: Vec<String>,
}

/// A plan whose steps are dealt to shards.
pub(super) struct Dealing<'p> {
    pub(super) plan: &'p Plan,
    pub(super) positions: BTreeMap<&'p str, StepIndex>,
    /// The steps that no other one needs.
    pub(super) dealt: Vec<StepIndex>,
    /// The steps that go everywhere.
    pub(super) setup: Vec<StepIndex>,
    /// The `always` steps that follow a step.
    pub(super) followers: BTreeMap<StepIndex, Vec<StepIndex>>,
    /// What steps were found to bring along.
    pub(super) brought: BTreeMap<StepIndex, BTreeSet<StepIndex>>,
}

impl<'p> Dealing<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let positions = plan.positions();
        let at = |id: &String| positions.get(id.as_str()).copied();
        // An `always` step after others goes where they go; `setup` goes everywhere.
        let follows = |step: &Step| step.setup || (step.always && step.bound_to().next().is_some());
        let needers = plan.steps.iter().filter(|s| !follows(s));
        let needed = needers.flat_map(|s| s.needs.iter().filter_map(at));
        let needed: BTreeSet<StepIndex> = needed.collect();
        let with = |of: &dyn Fn(StepIndex, &Step) -> bool| -> Vec<StepIndex> {
            let found = plan.numbered_steps().filter(|(i, s)| of(*i, s));
            found.map(|(i, _)| i).collect()
        };
        let dealt = with(&|i, s| !follows(s) && !needed.contains(&i));
        let setup = with(&|_, s| s.setup);
        let always = with(&|_, s| s.always);
        let mut dealing = Self {
            plan,
            positions,
            dealt,
            setup,
            followers: BTreeMap::new(),
            brought: BTreeMap::new(),
        };
        for follower in always {
            for before in dealing.before(follower) {
                dealing.followers.entry(before).or_default().push(follower);
            }
        }
        dealing
    }

    pub(super) fn at(&self, id: &str) -> Option<StepIndex> {
        self.positions.get(id).copied()
    }

    /// Returns all steps that a step waits for, whatever prepares them.
    pub(super) fn before(&self, own: StepIndex) -> BTreeSet<StepIndex> {
        let mut found = BTreeSet::new();
        let mut open = vec![own];
        while let Some(next) = open.pop() {
            let bound = self.plan.step(next).bound_to();
            let bound = bound.filter_map(|id| self.at(id));
            open.extend(bound.filter(|i| found.insert(*i)));
        }
        found
    }

    /// Returns the steps that a step cannot be without.
    pub(super) fn brings(&self, own: StepIndex) -> BTreeSet<StepIndex> {
        let step = self.plan.step(own);
        let produces = |other: &StepIndex| {
            let meets = |made| step.requires.iter().any(|wanted| overlaps(made, wanted));
            self.plan.step(*other).produces.iter().any(meets)
        };
        let mut all: BTreeSet<StepIndex> = step.needs.iter().filter_map(|id| self.at(id)).collect();
        if !step.requires.is_empty() {
            all.extend(self.before(own).into_iter().filter(produces));
        }
        all
    }

    /// Adds steps to a share, with all that they bring along. Returns those that were not in it.
    pub(super) fn add(
        &mut self,
        mine: &mut BTreeSet<StepIndex>,
        steps: &[StepIndex],
    ) -> Vec<StepIndex> {
        let mut added = Vec::new();
        let mut open = steps.to_vec();
        while let Some(own) = open.pop() {
            if !mine.insert(own) {
                continue;
            }
            added.push(own);
            open.extend(self.followers.get(&own).into_iter().flatten());
            if !self.brought.contains_key(&own) {
                self.brought.insert(own, self.brings(own));
            }
            open.extend(self.brought.get(&own).into_iter().flatten());
        }
        added
    }

    /// Returns the steps of the share at a position, dealt in turn.
    pub(super) fn in_turn(&mut self, count: u32, own: usize) -> BTreeSet<StepIndex> {
        let count = usize::try_from(count).unwrap_or(usize::MAX).max(1);
        let dealt = self.dealt.iter().skip(own).step_by(count).copied();
        let dealt: Vec<StepIndex> = dealt.collect();
        let mut mine = BTreeSet::new();
        if !dealt.is_empty() || (self.dealt.is_empty() && own == 0) {
            let setup = self.setup.clone();
            self.add(&mut mine, &setup);
        }
        self.add(&mut mine, &dealt);
        mine
    }

    /// Returns the steps of `count` shares, by the time that the step with an id takes: what takes longest, with all that it brings
    /// along, goes first, to the share that has the least; ties go by plan order.
    pub(super) fn by_weight(
        &mut self,
        count: u32,
        weight_of: impl Fn(&str) -> u64,
    ) -> Vec<BTreeSet<StepIndex>> {
        let plan = self.plan;
        let weight = |steps: &[StepIndex]| -> u64 {
            let own = steps.iter().map(|i| weight_of(&plan.step(*i).id));
            own.fold(0, u64::saturating_add)
        };
        let (setup, dealt) = (self.setup.clone(), self.dealt.clone());
        let mut everywhere = BTreeSet::new();
        let first = weight(&self.add(&mut everywhere, &setup));
        let units = dealt.iter().map(|own| {
            let mut alone = everywhere.clone();
            (Reverse(weight(&self.add(&mut alone, &[*own]))), *own)
        });
        let mut units: Vec<(Reverse<u64>, StepIndex)> = units.collect();
        units.sort_unstable();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut shares = vec![BTreeSet::new(); count];
        let mut loads: BTreeSet<(u64, usize)> = (0..count).map(|i| (first, i)).collect();
        for (_, own) in units {
            let next = loads.pop_first();
            let next = next.and_then(|(load, at)| Some((load, at, shares.get_mut(at)?)));
            let Some((load, place, mine)) = next else {
                break;
            };
            if mine.is_empty() {
                mine.clone_from(&everywhere);
            }
            let more = weight(&self.add(mine, &[own]));
            loads.insert((load.saturating_add(more), place));
        }
        if dealt.is_empty()
            && let Some(first) = shares.first_mut()
        {
            *first = everywhere;
        }
        shares
    }

    /// Makes the share of these steps.
    pub(super) fn share(&self, mine: &BTreeSet<StepIndex>) -> Share {
        let plan = self.plan;
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            plan.numbered_steps().partition(|(i, _)| mine.contains(i));
        let here = here.into_iter();
        let here = here.map(|(_, s)| inherit(s, mine, &self.positions, plan));
        let plan = digest::seal(Plan {
            steps: here.collect(),
            ..plan.clone()
        });
        Share {
            plan,
            elsewhere: elsewhere.into_iter().map(|(_, s)| s.id.clone()).collect(),
        }
    }
}

/// Returns the predecessors of a step that are in the share: one that is not is replaced by those
/// that it waits for.
pub(super) fn inherit(
    step: &Step,
    mine: &BTreeSet<StepIndex>,
    positions: &BTreeMap<&str, StepIndex>,
    plan: &Plan,
) -> Step {
    let at = |id: &String| positions.get(id.as_str()).copied();
    let is_there = |id: &String| at(id).is_some_and(|i| mine.contains(&i));
    if step.after.iter().all(is_there) {
        return step.clone();
    }
    let reach = |from: &mut dyn Iterator<Item = StepIndex>, only_bound: bool| {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut open: Vec<StepIndex> = from.collect();
        while let Some(place) = open.pop() {
            let here = plan.step(place);
            if !seen.insert(place) {
                continue;
            }
            if mine.contains(&place) {
                found.insert(place);
            } else if only_bound {
                open.extend(here.bound_to().filter_map(at));
            } else {
                open.extend(here.after.iter().chain(&here.needs).filter_map(at));
            }
        }
        found
    };
    let bound = reach(&mut step.bound_to().filter_map(at), true);
    let all = reach(&mut step.after.iter().filter_map(at), false);
    let names = |places: &mut dyn Iterator<Item = &StepIndex>| {
        places
            .map(|i| plan.step(*i).id.clone())
            .collect::<Vec<String>>()
    };
    let prepared_by = names(&mut all.difference(&bound));
    Step {
        after: names(&mut all.union(&bound)),
        prepared_by,
        ..step.clone()
    }
}
