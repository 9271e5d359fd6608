//! Splits a plan's steps into shares for several machines.
//!
//! Only steps that no other one needs are dealt, one to each share in turn, in plan order; each
//! share then takes all that its steps need. Dealing in turn, not by a hash, makes the shares as
//! equal as can be (they differ by one dealt step at most) and spreads neighbours, which tend to be
//! slow together. Batches of a check are steps of their own and may part. It depends on the
//! plan alone: every machine that has the plan knows all shares.

use super::{Plan, Step, StepIndex, digest};
use crate::base::glob::overlap::overlaps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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

/// Returns the share of a plan that belongs to one shard.
///
/// Every step that verifies something is in at least one share. With each step go those that it
/// needs, the steps that produce what it requires, all `setup` steps, and the `always` steps that
/// follow one of them (a cleanup belongs where the mess is).
#[must_use]
pub fn share(plan: &Plan, shard: Shard) -> Share {
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
    let count = usize::try_from(shard.count).unwrap_or(usize::MAX).max(1);
    let own = usize::try_from(shard.index)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
    let mut mine: BTreeSet<StepIndex> = dealt.iter().skip(own).step_by(count).copied().collect();
    if !mine.is_empty() || (dealt.is_empty() && own == 0) {
        mine.extend(with(&|_, s| s.setup));
    }
    let before = |own: StepIndex| {
        let mut found = BTreeSet::new();
        let mut open = vec![own];
        while let Some(next) = open.pop() {
            let bound = plan.step(next).bound_to().filter_map(at);
            open.extend(bound.filter(|i| found.insert(*i)));
        }
        found
    };
    let brings = |own: StepIndex| {
        let step = plan.step(own);
        let produces = |other: &StepIndex| {
            let meets = |made| step.requires.iter().any(|wanted| overlaps(made, wanted));
            plan.step(*other).produces.iter().any(meets)
        };
        let mut all: BTreeSet<StepIndex> = step.needs.iter().filter_map(at).collect();
        if !step.requires.is_empty() {
            all.extend(before(own).into_iter().filter(produces));
        }
        all
    };
    let mut open: Vec<StepIndex> = mine.iter().copied().collect();
    loop {
        while let Some(own) = open.pop() {
            open.extend(brings(own).into_iter().filter(|i| mine.insert(*i)));
        }
        let behind = |own| before(own).iter().any(|i| mine.contains(i));
        let always = with(&|i, s| !mine.contains(&i) && s.always && behind(i));
        if always.is_empty() {
            break;
        }
        mine.extend(&always);
        open = always;
    }
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        plan.numbered_steps().partition(|(i, _)| mine.contains(i));
    let here = here
        .into_iter()
        .map(|(_, s)| inherit(s, &mine, &positions, plan));
    let plan = digest::seal(Plan {
        steps: here.collect(),
        ..plan.clone()
    });
    Share {
        plan,
        elsewhere: elsewhere.into_iter().map(|(_, s)| s.id.clone()).collect(),
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
                let share = share(&plan, Shard { count, index });
                let ids: Vec<&str> = share.plan.steps.iter().map(|s| s.id.as_str()).collect();
                assert_eq!(ids.join(" "), want, "{name}: {index} of {count}");
                assert_eq!(share.elsewhere.len() + ids.len(), plan.steps.len());
            }
        }
    }
}
