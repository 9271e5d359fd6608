//! Describes what earlier runs say of a plan that is about to be run: no part of the plan, other on
//! each machine, nothing where nothing ran before.

use crate::parallel::StepBeside;
use schemars::JsonSchema;
use serde::Serialize;
use vplan_check::difference::Difference;

/// What earlier runs say of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outlook {
    /// The time that all steps are expected to take together, one after another, in milliseconds:
    /// those that an earlier pass replaces take none. Absent where no time is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_ms: Option<u64>,
    /// The steps, in plan order.
    pub steps: Vec<StepOutlook>,
    /// The number of steps that would run and of which no time is known.
    pub unknown: usize,
}

/// What earlier runs say of a step.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepOutlook {
    /// Beside which other steps it may run; only with `jobs auto`.
    pub beside: Option<StepBeside>,
    /// The first thing in which it differs from its last kept pass.
    pub differs: Option<Difference>,
    /// Half of its latest passes took no longer, in milliseconds.
    pub expected_ms: Option<u64>,
    /// Its id.
    pub id: String,
    /// Why its last kept pass would not replace it.
    pub not_reused: Option<String>,
    /// The run whose pass would replace it.
    pub replaced_by: Option<String>,
}

impl Outlook {
    /// Adds up what is known of the steps of a plan, in plan order. `None` where that is nothing.
    pub fn sum(steps: Vec<StepOutlook>) -> Option<Self> {
        let says = |s: &StepOutlook| {
            s.beside.is_some()
                || s.expected_ms.is_some()
                || s.not_reused.is_some()
                || s.replaced_by.is_some()
        };
        if !steps.iter().any(says) {
            return None;
        }
        let runs = || steps.iter().filter(|s| s.replaced_by.is_none());
        let known: Vec<u64> = runs().filter_map(|s| s.expected_ms).collect();
        let is_known = !known.is_empty() || runs().next().is_none();
        Some(Self {
            expected_ms: is_known
                .then(|| known.iter().fold(0_u64, |sum, ms| sum.saturating_add(*ms))),
            unknown: runs().filter(|s| s.expected_ms.is_none()).count(),
            steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, expected_ms: Option<u64>, replaced: bool) -> StepOutlook {
        StepOutlook {
            expected_ms,
            id: id.to_owned(),
            replaced_by: replaced.then(|| "run".to_owned()),
            ..StepOutlook::default()
        }
    }

    #[test]
    fn the_sum() {
        assert_eq!(Outlook::sum(vec![step("a", None, false)]), None);
        let sum = |steps: Vec<StepOutlook>| {
            let outlook = Outlook::sum(steps).unwrap();
            (outlook.expected_ms, outlook.unknown)
        };
        let (a, b) = (step("a", Some(5), false), step("b", Some(7), false));
        assert_eq!(sum(vec![a.clone(), b]), (Some(12), 0));
        let replaced = step("b", Some(7), true);
        assert_eq!(sum(vec![a.clone(), replaced.clone()]), (Some(5), 0));
        assert_eq!(sum(vec![replaced.clone()]), (Some(0), 0), "it takes none");
        let unknown = step("c", None, false);
        assert_eq!(sum(vec![a, unknown.clone()]), (Some(5), 1));
        assert_eq!(sum(vec![replaced, unknown]), (None, 1));
    }
}
