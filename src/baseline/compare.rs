//! Compares two baselines: a known finding weakens the contract.

use super::known::Baseline;
use std::collections::BTreeMap;
use vplan_base::word::visible;
use vplan_plan::diff::{Class, Difference};

/// Returns the differences of two baselines, those that weaken first: each check that has entries
/// which the older one does not list fails for less.
pub fn differences(old: &Baseline, new: &Baseline) -> Vec<Difference> {
    let of = |entries: BTreeMap<&str, usize>, class: Class, verb: &str, why: &str| {
        let difference = |(check, n): (&str, usize)| Difference {
            accept: None,
            accepted: false,
            class,
            request: None,
            new: None,
            old: None,
            subject: format!("baseline of {}", visible(check)),
            what: format!(
                "{n} known {} {verb}",
                if n == 1 { "finding" } else { "findings" }
            ),
            why: Some(why.to_owned()),
        };
        entries.into_iter().map(difference).collect::<Vec<_>>()
    };
    let mut all = of(
        new.beyond(old),
        Class::Weakens,
        "added",
        "what is known fails nothing",
    );
    all.extend(of(
        old.beyond(new),
        Class::Strengthens,
        "taken out",
        "what is not known fails its check",
    ));
    all
}
