//! Was the plan itself wrong, and which plan would be right? Plan and failures to a plan, or a refusal. Pure.

pub mod failure;
pub mod rewrite;
pub mod rules;

use crate::check::evidence::Evidence;
use crate::plan::facts::{Facts, Question};
use crate::plan::{Plan, Rewrite};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Why a step failed (engine.md section 6). The names are known to existing pipelines and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FailureCode {
    /// The script that a package manager was asked for does not exist.
    #[serde(rename = "verification_command_missing_script")]
    MissingScript,
    /// The goal that make or ninja was asked for does not exist.
    #[serde(rename = "verification_command_missing_make_target")]
    MissingMakeTarget,
    /// A test runner found no test files.
    #[serde(rename = "verification_command_no_test_files")]
    NoTestFiles,
    /// The command is outside the grammar.
    #[serde(rename = "verification_command_unsupported_format")]
    UnsupportedFormat,
    /// A presence check stands behind a cleanup.
    #[serde(rename = "verification_command_sequence_issue")]
    SequenceIssue,
    /// A tool, a module or a manifest is missing.
    #[serde(rename = "setup_or_bootstrap_issue")]
    SetupOrBootstrap,
    /// Its time was up.
    #[serde(rename = "verification_timeout")]
    Timeout,
    /// A change outside the contract's scope.
    #[serde(rename = "policy_violation")]
    PolicyViolation,
    /// Everything else: the check really failed.
    #[serde(rename = "verification_command_failed")]
    Failed,
}

impl FailureCode {
    /// All codes.
    pub const ALL: [FailureCode; 9] = [
        FailureCode::MissingScript,
        FailureCode::MissingMakeTarget,
        FailureCode::NoTestFiles,
        FailureCode::UnsupportedFormat,
        FailureCode::SequenceIssue,
        FailureCode::SetupOrBootstrap,
        FailureCode::Timeout,
        FailureCode::PolicyViolation,
        FailureCode::Failed,
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FailureCode::MissingScript => "verification_command_missing_script",
            FailureCode::MissingMakeTarget => "verification_command_missing_make_target",
            FailureCode::NoTestFiles => "verification_command_no_test_files",
            FailureCode::UnsupportedFormat => "verification_command_unsupported_format",
            FailureCode::SequenceIssue => "verification_command_sequence_issue",
            FailureCode::SetupOrBootstrap => "setup_or_bootstrap_issue",
            FailureCode::Timeout => "verification_timeout",
            FailureCode::PolicyViolation => "policy_violation",
            FailureCode::Failed => "verification_command_failed",
        }
    }
}

/// A classified failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The step's id.
    pub step: String,
    /// Why it failed.
    pub code: FailureCode,
    /// The name of the classifier's row that decided.
    pub rule: String,
    /// The line, exit code or error that decided.
    pub evidence: String,
}

/// What came of an attempt to repair a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// Another plan, sealed, its `rewrites` longer by `rewrite`.
    Rewritten {
        /// The plan.
        plan: Box<Plan>,
        /// What was done.
        rewrite: Rewrite,
    },
    /// A rule fired, but may not be applied: the reason, for people. Several rules give several reasons.
    Refused(Vec<Refusal>),
    /// No rule has anything to say about these failures.
    NotApplicable,
}

/// Why a rule may not be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// One line for people.
    pub reason: String,
    /// The rule's name.
    pub recovery_rule: String,
    /// The step that it would have touched.
    pub step: String,
}

/// Which facts classifying this step's failure, or repairing it, depends on. Gather them before [`classify`] and [`recover`].
#[must_use]
pub fn questions(_plan: &Plan, _step: usize) -> BTreeSet<Question> {
    BTreeSet::new()
}

/// Why did this step of the plan fail?
#[must_use]
pub fn classify(plan: &Plan, step: usize, _evidence: &Evidence, _facts: &Facts) -> Failure {
    Failure {
        step: plan.steps.get(step).map(|s| s.id.clone()).unwrap_or_default(),
        code: FailureCode::Failed,
        rule: String::new(),
        evidence: String::new(),
    }
}

/// Applies the first rule that applies to the failures. The result depends on their set, not on their order.
#[must_use]
pub fn recover(_plan: &Plan, _failures: &[Failure], _facts: &Facts) -> Recovery {
    Recovery::NotApplicable
}

/// Repairs what is known for certain to break before anything runs (engine.md section 3, item 8): classifies from facts
/// alone and applies rules until none applies. Facts asked by [`preflight_questions`] must be there.
#[must_use]
pub fn preflight(plan: Plan, _facts: &Facts) -> Plan {
    plan
}

/// The facts that [`preflight`] depends on.
#[must_use]
pub fn preflight_questions(_plan: &Plan) -> BTreeSet<Question> {
    BTreeSet::new()
}
