//! Splits a plan's steps into shares for several machines.
//!
//! Only steps that no other one needs are dealt; each share then takes all that its steps need.
//! Without a division they are dealt one to each share in turn, in plan order: not by a hash, so
//! that the shares are as equal in number as can be (they differ by one dealt step at most) and
//! neighbours, which tend to be slow together, are spread. A [`Division`] knows how long steps
//! took, and makes shares that take equally long. Batches of a check are steps of their own and may
//! part. Either way depends on the plan and the division alone: every machine that has both knows
//! all shares.

pub mod division;

use super::{Plan, Step, StepIndex, digest};
use crate::base::glob::overlap::overlaps;
use division::Division;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most shares of a plan.
pub const MOST: u32 = 10_000;

/// The number of a share, and the number of all.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Shard {
    /// The number of shares.
    pub count: u32,
    /// The number of this share, from 1.
    pub index: u32,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let plain = part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0');
            part.parse::<u32>().ok().filter(|n| plain && *n <= MOST)
        };
        match text
            .split_once('/')
            .map(|(index, count)| (number(index), number(count)))
        {
            Some((Some(index), Some(count))) if index <= count => Ok(Self { count, index }),
            Some((Some(index), Some(count))) => {
                Err(format!("there is no shard {index} of {count}"))
            }
            _ => Err(format!(
                "expected I/N, both from 1 to {MOST}, such as `2/3`"
            )),
        }
    }
}

impl Shard {
    /// Returns its position among all shares, from 0.
    fn position(self) -> usize {
        usize::try_from(self.index)
            .unwrap_or(usize::MAX)
            .saturating_sub(1)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "shard {} of {}", self.index, self.count)
    }
}

/// A share of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Its steps as a plan of their own, sealed.
    pub plan: Plan,
    /// Ids of the steps that it leaves to others, in plan order.
    pub elsewhere: Vec<String>,
}

/// Returns the share of a plan that belongs to one shard: of the steps as they are dealt in turn, or
/// by a division, which must be one of this plan and of so many shares ([`Division::check`]).
///
/// Every step that verifies something is in at least one share. With each step go those that it
/// needs, the steps that produce what it requires, all `setup` steps, and the `always` steps that
/// follow one of them (a cleanup belongs where the mess is).
#[must_use]
pub fn share(plan: &Plan, shard: Shard, division: Option<&Division>) -> Share {
    let mut dealing = Dealing::new(plan);
    let own = shard.position();
    let mine = match division {
        Some(division) => {
            let mut shares = dealing.by_weight(division);
            if own < shares.len() {
                shares.swap_remove(own)
            } else {
                BTreeSet::new()
            }
        }
        None => dealing.in_turn(shard.count, own),
    };
    dealing.share(&mine)
}

/// Returns the ids of the steps that are in at least one of these shards, in plan order.
#[must_use]
pub fn shares_of<'p>(
    plan: &'p Plan,
    shards: &[Shard],
    division: Option<&Division>,
) -> Vec<&'p str> {
    let mut dealing = Dealing::new(plan);
    let mut found: BTreeSet<StepIndex> = BTreeSet::new();
    match division {
        Some(division) => {
            let all = dealing.by_weight(division);
            let some = shards.iter().filter_map(|shard| all.get(shard.position()));
            found.extend(some.flatten());
        }
        None => {
            for shard in shards {
                found.extend(dealing.in_turn(shard.count, shard.position()));
            }
        }
    }
    found
        .into_iter()
        .map(|index| plan.step(index).id.as_str())
        .collect()
}

/// A plan whose steps are dealt to shards.
struct Dealing<'p> {
    plan: &'p Plan,
    positions: BTreeMap<&'p str, StepIndex>,
    /// The steps that no other one needs.
    dealt: Vec<StepIndex>,
    /// The steps that go everywhere.
    setup: Vec<StepIndex>,
    /// The `always` steps that follow a step.
    followers: BTreeMap<StepIndex, Vec<StepIndex>>,
    /// What steps were found to bring along.
    brought: BTreeMap<StepIndex, BTreeSet<StepIndex>>,
}

impl<'p> Dealing<'p> {
    fn new(plan: &'p Plan) -> Self {
        let positions = plan.positions();
        let at = |id: &String| positions.get(id.as_str()).copied();
        // An `always` step after others goes where they go; `setup` goes everywhere.
        let follows = |step: &Step| step.setup || (step.always && step.bound_to().next().is_some());
        let needers = plan.steps.iter().filter(|s| !follows(s));
        let needed: BTreeSet<StepIndex> = needers
            .flat_map(|s| s.needs.iter().filter_map(at))
            .collect();
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

    fn at(&self, id: &str) -> Option<StepIndex> {
        self.positions.get(id).copied()
    }

    /// Returns all steps that a step waits for, whatever prepares them.
    fn before(&self, own: StepIndex) -> BTreeSet<StepIndex> {
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
    fn brings(&self, own: StepIndex) -> BTreeSet<StepIndex> {
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
    fn add(&mut self, mine: &mut BTreeSet<StepIndex>, steps: &[StepIndex]) -> Vec<StepIndex> {
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
    fn in_turn(&mut self, count: u32, own: usize) -> BTreeSet<StepIndex> {
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

    /// Returns the steps of all shares of a division: what takes longest, with all that it brings
    /// along, goes first, to the share that has the least; ties go by plan order.
    fn by_weight(&mut self, division: &Division) -> Vec<BTreeSet<StepIndex>> {
        let plan = self.plan;
        let weight = |steps: &[StepIndex]| -> u64 {
            let own = steps.iter().map(|i| division.weight(&plan.step(*i).id));
            own.fold(0, u64::saturating_add)
        };
        let (setup, dealt) = (self.setup.clone(), self.dealt.clone());
        let mut everywhere = BTreeSet::new();
        let first = weight(&self.add(&mut everywhere, &setup));
        let mut units: Vec<(Reverse<u64>, StepIndex)> = dealt
            .iter()
            .map(|own| {
                let mut alone = everywhere.clone();
                (Reverse(weight(&self.add(&mut alone, &[*own]))), *own)
            })
            .collect();
        units.sort_unstable();
        let count = usize::try_from(division.count).unwrap_or(usize::MAX);
        let mut shares = vec![BTreeSet::new(); count];
        let mut loads: BTreeSet<(u64, usize)> = (0..count).map(|i| (first, i)).collect();
        for (_, own) in units {
            let Some((load, place)) = loads.pop_first() else {
                break;
            };
            let Some(mine) = shares.get_mut(place) else {
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
    fn share(&self, mine: &BTreeSet<StepIndex>) -> Share {
        let plan = self.plan;
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            plan.numbered_steps().partition(|(i, _)| mine.contains(i));
        let here = here
            .into_iter()
            .map(|(_, s)| inherit(s, mine, &self.positions, plan));
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
fn inherit(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::run::{plan, step};
    use crate::base::glob::Glob;

    #[test]
    fn which_shards_there_are() {
        for (text, want) in [
            ("1/1", Some((1, 1))),
            ("2/3", Some((2, 3))),
            ("10000/10000", Some((10_000, 10_000))),
            ("0/3", None),
            ("4/3", None),
            ("1/0", None),
            ("1/10001", None),
            ("+1/2", None),
            ("01/2", None),
            ("1", None),
            ("1/2/3", None),
            ("/", None),
            ("a/b", None),
            ("", None),
        ] {
            let got = text.parse::<Shard>().ok().map(|s| (s.index, s.count));
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn shares() {
        let needing = |id: &str, needs: &[&str]| Step {
            after: needs.iter().map(|n| (*n).to_owned()).collect(),
            needs: needs.iter().map(|n| (*n).to_owned()).collect(),
            ..step(id)
        };
        let glob = |text: &str| vec![Glob::parse(text).unwrap()];
        let made = Step {
            produces: glob("dist/**"),
            ..step("make")
        };
        let uses = Step {
            requires: glob("dist/app.js"),
            after: vec!["make".to_owned()],
            ..step("use")
        };
        let clean = Step {
            always: true,
            after: vec!["use".to_owned()],
            ..step("clean")
        };
        let setup = Step {
            setup: true,
            ..step("setup")
        };
        for (name, steps, count, want) in [
            (
                "in turn",
                vec![step("a"), step("b"), step("c")],
                2,
                vec!["a c", "b"],
            ),
            (
                "more shards than steps",
                vec![step("a")],
                3,
                vec!["a", "", ""],
            ),
            (
                "a chain stays whole",
                vec![step("a"), needing("b", &["a"]), step("c")],
                2,
                vec!["a b", "c"],
            ),
            (
                "a need is repeated",
                vec![step("a"), needing("b", &["a"]), needing("c", &["a"])],
                2,
                vec!["a b", "a c"],
            ),
            (
                "setup goes everywhere",
                vec![setup.clone(), step("a"), step("b")],
                3,
                vec!["setup a", "setup b", ""],
            ),
            ("setup alone", vec![setup], 2, vec!["setup", ""]),
            (
                "what is made and what is left behind",
                vec![made, step("b"), uses, clean],
                3,
                // A producer leaves files where it runs, also after the step that uses them.
                vec!["make clean", "b", "make use clean"],
            ),
        ] {
            let plan = plan(steps);
            for (index, want) in (1..=count).zip(want) {
                let share = share(&plan, Shard { count, index }, None);
                let ids: Vec<&str> = share.plan.steps.iter().map(|s| s.id.as_str()).collect();
                assert_eq!(ids.join(" "), want, "{name}: {index} of {count}");
                assert_eq!(share.elsewhere.len() + ids.len(), plan.steps.len());
            }
        }
    }
}
