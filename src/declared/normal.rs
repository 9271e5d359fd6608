//! The normal form of a command: equal for equal work, whatever the wrapper and the verbosity.

use super::candidate::{Candidate, Work};

/// The normal forms of what a candidate runs in the end, sorted; its text where that is not known.
#[must_use]
pub fn forms(candidate: &Candidate) -> Vec<String> {
    let own = match &candidate.work {
        Work::Words(words) => words.join(" "),
        Work::Shell(text) => text.clone(),
    };
    vec![format!("{} {own}", candidate.dir)]
}

/// What a compiler or a test compiles, the same for both where they compile the same.
#[must_use]
pub fn compiled(candidate: &Candidate) -> Option<String> {
    let _ = candidate;
    None
}
