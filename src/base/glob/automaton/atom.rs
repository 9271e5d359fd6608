//! The atoms that are searched for, the sets that they are divided by, and the limits of the search.

use super::machine::GlobIndex;
use crate::index::Dense;
use crate::path::RepoPath;

/// A non-empty set of paths in the same regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// For each region, whether the paths are in it.
    pub inside: Vec<bool>,
    /// The path that is easiest to read.
    pub example: RepoPath,
}

/// Limits of the search.
#[derive(Clone, Copy, Debug)]
pub struct AutomatonLimits {
    /// States of the product automaton.
    pub states: usize,
    /// Atoms.
    pub atoms: usize,
    /// Nodes of all globs together.
    pub nodes: usize,
}

impl Default for AutomatonLimits {
    fn default() -> Self {
        Self {
            states: 100_000,
            atoms: 4_096,
            nodes: 50_000,
        }
    }
}

/// A region as a formula over globs.
pub(super) enum Set {
    All,
    Glob(GlobIndex),
    /// Paths in some of the first and in none of the second.
    But(Vec<Set>, Vec<Set>),
}

impl Set {
    pub(super) fn holds(&self, accepted: &Dense<GlobIndex, bool>) -> bool {
        match self {
            Set::All => true,
            Set::Glob(index) => accepted[*index],
            Set::But(some, none) => {
                some.iter().any(|s| s.holds(accepted)) && !none.iter().any(|s| s.holds(accepted))
            }
        }
    }

    /// Evaluates the formula, as far as the known globs decide it.
    pub(super) fn fate(&self, of: &Dense<GlobIndex, Option<bool>>) -> Option<bool> {
        let any = |sets: &[Set]| {
            let mut certain = Some(false);
            for set in sets {
                match set.fate(of) {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => certain = None,
                }
            }
            certain
        };
        match self {
            Set::All => Some(true),
            Set::Glob(index) => of[*index],
            Set::But(some, none) => match (any(some), any(none)) {
                (Some(false), _) | (_, Some(true)) => Some(false),
                (Some(true), Some(false)) => Some(true),
                _ => None,
            },
        }
    }

    /// Marks the globs that the formula depends on.
    pub(super) fn mark(&self, asked: &mut Dense<GlobIndex, bool>) {
        match self {
            Set::All => {}
            Set::Glob(index) => asked[*index] = true,
            Set::But(some, none) => some.iter().chain(none).for_each(|set| set.mark(asked)),
        }
    }
}
