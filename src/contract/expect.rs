//! A contract's tests: each is a request, and what the plan for it must be.

pub mod validate;

pub use super::draft::AssertionKind;
use super::draft::At;
use std::collections::BTreeSet;
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_base::span::Place;
use vplan_base::vocabulary::{Boundary, RiskLevel};
use vplan_check::verb::CommandRequest;

/// One test: a request, and what the plan for it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Its description; not blank, and no other test of the file has it.
    pub title: String,
    /// The title in the text.
    pub place: Place,
    /// Line of the title, from 1.
    pub line: usize,
    /// The role; `None` means `worker`.
    pub role: Option<String>,
    /// The changed files.
    pub changed: ChangeSet,
    /// The minimum tier: 0, 1 or 2.
    pub min_tier: u8,
    /// The risk level; `None` means `medium`.
    pub risk: Option<RiskLevel>,
    pub ends: BTreeSet<Boundary>,
    /// Commands of the request, in order.
    pub commands: Vec<CommandRequest>,
    /// The paths that exist for `whenExists`; every other path does not.
    pub exists: BTreeSet<RepoPath>,
    /// The assertions: at least one, each kind once at most, in file order.
    pub assertions: Vec<ExpectAssertion>,
}

/// An assertion of a test about the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectAssertion {
    /// The relation of the plan to the names.
    pub kind: AssertionKind,
    /// Checks, or commands of the test, by name.
    pub names: Vec<At<String>>,
    pub place: Place,
}
