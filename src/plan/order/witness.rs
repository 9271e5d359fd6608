//! Finds a reason why one step comes before another.

use crate::{Plan, Step, StepIndex, earlier};
use std::collections::{BTreeMap, VecDeque};
use vplan_base::glob::overlap;

/// The reason why one step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The later one `needs` the earlier one.
    Needs,
    /// The earlier one cleans what the later one produces, or produces what the later one requires.
    Artifacts,
    /// A `sequence` orders them.
    Sequence,
    /// The earlier one may change the tree.
    Writer,
    /// The earlier one prepares: it is `setup`, or a command of the request.
    Preparing,
}

/// The shortest chain of constraints that puts one step before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The steps from the earlier to the later one, each with why the next one waits for it.
    Chain(Vec<(StepIndex, Why)>),
    /// No constraint, but an earlier tier.
    Tier,
    /// Neither: the order of the contract.
    Base,
    /// The step does not come before the other.
    None,
}

/// Finds why one step comes before another. Of several shortest chains the one through the earliest
/// predecessors.
#[must_use]
pub fn witness(plan: &Plan, before: StepIndex, after: StepIndex) -> Witness {
    if before >= after {
        return Witness::None;
    }
    let positions = plan.positions();
    // Backwards from the later step: `after` lists are predecessors.
    let mut follower: BTreeMap<StepIndex, StepIndex> = BTreeMap::new();
    let mut queue = VecDeque::from([after]);
    while let Some(own) = queue.pop_front() {
        if own == before {
            let next = |own: &StepIndex| follower.get(own).copied();
            let chain: Vec<StepIndex> = std::iter::successors(Some(before), next).collect();
            let pairs = chain.iter().zip(chain.iter().skip(1));
            let why = |(a, b): (&StepIndex, &StepIndex)| (*a, why(plan.step(*a), plan.step(*b)));
            return Witness::Chain(pairs.map(why).collect());
        }
        for earlier in earlier(&positions, own, plan.step(own).after.iter()) {
            if earlier >= before && !follower.contains_key(&earlier) {
                follower.insert(earlier, own);
                queue.push_back(earlier);
            }
        }
    }
    if plan.step(before).tier < plan.step(after).tier {
        Witness::Tier
    } else {
        Witness::Base
    }
}

/// Returns why a direct successor waits.
#[must_use]
pub fn why(earlier: &Step, later: &Step) -> Why {
    let meet = |a: &[_], b: &[_]| a.iter().any(|a| b.iter().any(|b| overlap::overlaps(a, b)));
    if later.needs.contains(&earlier.id) {
        Why::Needs
    } else if later.prepared_by.contains(&earlier.id) {
        Why::Preparing
    } else if meet(&earlier.cleans, &later.produces) || meet(&earlier.produces, &later.requires) {
        Why::Artifacts
    } else if earlier.is_writer() && earlier.tier == later.tier {
        Why::Writer
    } else {
        Why::Sequence
    }
}
