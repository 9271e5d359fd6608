//! The rewrite rules, in the order in which they are tried.

mod carrying;
mod conjunction;
mod dropping;
mod reorder_after_cleanup;
mod rule;

pub use rule::{RepairCase, Rewrites, Rule};
use vplan_base::vocabulary::{FailureCode, RewriteRule};
use vplan_plan::Coverage::{Full, Narrowed};

/// Returns the rule of this name.
pub fn rule(name: RewriteRule) -> Rule {
    use FailureCode::{
        MissingMakeTarget, MissingScript, NoTestFiles, SequenceIssue, UnsupportedFormat,
    };
    let (fires_on, coverage, rewrite): (_, _, Rewrites) = match name {
        RewriteRule::SplitConjunction => (UnsupportedFormat, Full, conjunction::split),
        RewriteRule::HoistDirectory => (UnsupportedFormat, Full, conjunction::hoist),
        RewriteRule::ReorderAfterCleanup => (SequenceIssue, Full, reorder_after_cleanup::rewrite),
        RewriteRule::DropMissingScript => (MissingScript, Narrowed, dropping::rewrite),
        RewriteRule::DropMissingMakeTarget => (MissingMakeTarget, Narrowed, dropping::rewrite),
        RewriteRule::DropNoTestFiles => (NoTestFiles, Narrowed, dropping::rewrite),
        RewriteRule::DropUnsupportedFormat => (UnsupportedFormat, Narrowed, dropping::unsupported),
    };
    Rule {
        name,
        fires_on,
        coverage,
        rewrite,
    }
}

/// Returns all rules, in the order in which they are tried.
pub fn all() -> impl Iterator<Item = Rule> {
    RewriteRule::ALL.into_iter().map(rule)
}

#[cfg(test)]
mod tests;
