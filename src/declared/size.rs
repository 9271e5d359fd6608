//! Tiers and the size of the contract: at most some twenty checks.

use super::candidate::{Candidate, Declarations, Reason, State};
use super::kind::{self, Kind};
use std::collections::BTreeSet;

/// The most checks that are proposed.
pub const MAX_CHECKS: usize = 20;

/// Words in a check's name, command or folder for which it runs later than others.
const LATER: &[&str] = &[
    "acceptance",
    "bench",
    "browser",
    "e2e",
    "fuzz",
    "integration",
    "loom",
    "minimal",
    "miri",
    "msrv",
    "sanitizer",
    "sanitizers",
    "stress",
    "system",
    "valgrind",
];

/// Gives each candidate that is kept its tier, and leaves out what is too many.
pub fn apply(found: &mut Declarations) {
    for candidate in &mut found.candidates {
        if candidate.state == State::Open && is_later(candidate) {
            candidate.tier = candidate.tier.max(1);
        }
    }
    // A check never needs one of a later tier.
    for _ in 0..found.candidates.len() {
        let tiers: Vec<u8> = found.candidates.iter().map(|c| c.tier).collect();
        let mut moved = false;
        for candidate in &mut found.candidates {
            let after = candidate.needs.iter().filter_map(|n| tiers.get(*n)).max();
            let tier = candidate.tier.max(after.copied().unwrap_or(0));
            moved |= tier != candidate.tier;
            candidate.tier = tier;
        }
        if !moved {
            break;
        }
    }
    limit(found);
}

fn is_later(candidate: &Candidate) -> bool {
    if !candidate.unchanged.is_empty() || kind::of(candidate) == Kind::Docs {
        return true;
    }
    let label = candidate.origin.label.to_ascii_lowercase();
    let text = candidate.text().to_ascii_lowercase();
    let name = candidate
        .name
        .clone()
        .unwrap_or_default()
        .to_ascii_lowercase();
    [label, text, name].iter().any(|text| {
        text.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| LATER.contains(&word))
    })
}

/// Leaves checks out until there are few enough: variants of a program first, then documentation,
/// then what a folder has beyond its tests.
fn limit(found: &mut Declarations) {
    let stages: [fn(&Candidate, bool) -> bool; 5] = [
        |candidate, variant| variant && candidate.tier > 0,
        |_, variant| variant,
        |candidate, _| kind::of(candidate) == Kind::Docs,
        |candidate, _| candidate.warning,
        |candidate, _| !matches!(kind::of(candidate), Kind::Test | Kind::Build),
    ];
    for stage in stages {
        drop_where(found, stage);
    }
    drop_where(found, |_, _| true);
}

fn drop_where(found: &mut Declarations, wanted: impl Fn(&Candidate, bool) -> bool) {
    let needed: BTreeSet<usize> = found
        .candidates
        .iter()
        .filter(|c| c.state == State::Open)
        .flat_map(|c| c.needs.iter().copied())
        .collect();
    let mut many = found
        .candidates
        .iter()
        .filter(|c| c.state == State::Open)
        .count();
    let mut seen = BTreeSet::new();
    let variants: Vec<bool> = found
        .candidates
        .iter()
        .map(|c| c.state == State::Open && !seen.insert((kind::of(c), program(c), c.dir.clone())))
        .collect();
    for index in (0..found.candidates.len()).rev() {
        if many <= MAX_CHECKS {
            return;
        }
        let candidate = found.candidate_mut(index);
        let variant = variants.get(index).copied().unwrap_or(false);
        if candidate.state == State::Open && !needed.contains(&index) && wanted(candidate, variant)
        {
            candidate.leave_out(Reason::Size, String::new());
            many -= 1;
        }
    }
}

fn program(candidate: &Candidate) -> String {
    candidate
        .words()
        .and_then(<[String]>::first)
        .cloned()
        .unwrap_or_default()
}
