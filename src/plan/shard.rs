//! Splits a plan's steps into shares for several machines.
//!
//! Only steps that no other one needs are dealt; each share then takes all that its steps need.
//! Without a division they are dealt one to each share in turn, in plan order: not by a hash, so
//! that the shares are as equal in number as can be (they differ by one dealt step at most) and
//! neighbours, which tend to be slow together, are spread. A [`Division`] knows how long steps
//! took, and makes shares that take equally long. Batches of a check are steps of their own and may
//! part. Either way depends on the plan and the division alone: every machine that has both knows
//! all shares.

mod dealing;
pub mod division;

use super::{Plan, StepIndex};
use dealing::Dealing;
pub use dealing::{MOST, Share};
use division::Division;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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

/// The reason why a text names no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// The number of the share is too large.
    #[error("there is no shard {0} of {1}")]
    Beyond(u32, u32),
    /// It has another form.
    #[error("expected I/N, both from 1 to {MOST}, such as `2/3`")]
    Unreadable,
}

impl std::str::FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let number = |part: &str| {
            let plain = part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0');
            part.parse::<u32>().ok().filter(|n| plain && *n <= MOST)
        };
        let parts = text.split_once('/');
        match parts.and_then(|(index, count)| Some((number(index)?, number(count)?))) {
            Some((index, count)) if index <= count => Ok(Self { count, index }),
            Some((index, count)) => Err(ShardError::Beyond(index, count)),
            None => Err(ShardError::Unreadable),
        }
    }
}

impl Shard {
    /// Returns its position among all shares, from 0.
    fn position(self) -> usize {
        let index = usize::try_from(self.index).unwrap_or(usize::MAX);
        index.saturating_sub(1)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "shard {} of {}", self.index, self.count)
    }
}

/// Returns the share of a plan that belongs to one shard: of the steps as they are dealt in turn, or
/// by a division, which must be one of this plan and of so many shares ([`Division::check`]).
///
/// Every step that verifies something is in at least one share. With each step go those that it
/// needs, the steps that produce what it requires, all `setup` steps, and the `always` steps that
/// follow one of them (a cleanup belongs where the mess is).
pub fn share(plan: &Plan, shard: Shard, division: Option<&Division>) -> Share {
    let mut dealing = Dealing::new(plan);
    let own = shard.position();
    let mine = match division {
        Some(division) => {
            let shares = dealing.by_weight(division.count, |id| division.weight(id));
            shares.into_iter().nth(own).unwrap_or_default()
        }
        None => dealing.in_turn(shard.count, own),
    };
    dealing.share(&mine)
}

/// Returns the ids of the steps that are in at least one of these shards, in plan order.
pub fn shares_of<'p>(
    plan: &'p Plan,
    shards: &[Shard],
    division: Option<&Division>,
) -> Vec<&'p str> {
    let mut dealing = Dealing::new(plan);
    let mut found: BTreeSet<StepIndex> = BTreeSet::new();
    match division {
        Some(division) => {
            let all = dealing.by_weight(division.count, |id| division.weight(id));
            let some = shards.iter().filter_map(|shard| all.get(shard.position()));
            found.extend(some.flatten());
        }
        None => {
            for shard in shards {
                found.extend(dealing.in_turn(shard.count, shard.position()));
            }
        }
    }
    let found = found.into_iter();
    found.map(|index| plan.step(index).id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;
    use crate::arbitrary::made::{plan, step};
    use vplan_base::glob::Glob;

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
