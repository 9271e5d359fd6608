//! Finds a reason why one step comes before another.

use crate::base::glob::overlap;
use crate::plan::{Plan, Step};
use std::collections::{BTreeMap, VecDeque};

/// Why one step waits for another.
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
    /// Step indices from the earlier to the later, each with why the next one waits for it.
    Chain(Vec<(usize, Why)>),
    /// No constraint, but an earlier tier.
    Tier,
    /// Neither: the order of the contract.
    Base,
    /// The step does not come before the other.
    None,
}

/// Finds why the step at `before` comes before the one at `after`. Of several shortest chains the
/// one through the earliest predecessors.
#[must_use]
pub fn witness(plan: &Plan, before: usize, after: usize) -> Witness {
    let (Some(first), Some(last)) = (plan.steps.get(before), plan.steps.get(after)) else {
        return Witness::None;
    };
    if before >= after {
        return Witness::None;
    }
    let index: BTreeMap<&str, usize> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(i, s)| (s.id.as_str(), i))
        .collect();
    // Backwards from the later step: `after` lists are predecessors.
    let mut follower: BTreeMap<usize, usize> = BTreeMap::from([(after, after)]);
    let mut queue = VecDeque::from([after]);
    while let Some(at) = queue.pop_front() {
        if at == before {
            let mut chain = Vec::new();
            let mut node = before;
            while node != after {
                let next = follower.get(&node).copied().unwrap_or(after);
                if let (Some(a), Some(b)) = (plan.steps.get(node), plan.steps.get(next)) {
                    chain.push((node, why(a, b)));
                }
                node = next;
            }
            return Witness::Chain(chain);
        }
        for earlier in plan
            .steps
            .get(at)
            .map(|s| s.after.as_slice())
            .unwrap_or_default()
        {
            if let Some(earlier) = index.get(earlier.as_str())
                && *earlier >= before
                && !follower.contains_key(earlier)
            {
                follower.insert(*earlier, at);
                queue.push_back(*earlier);
            }
        }
    }
    if first.tier < last.tier {
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
