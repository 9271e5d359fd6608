//! The JSON documents of a loop: its answer, and what a fixer is told where there is no feedback.

use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::path::RepoPath;
use vplan_engine::repair_loop::{RoundRecord, Stop};
use vplan_run::report::{Decision, Report};
use vplan_run::verdict::Verdict;

/// The answer.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct LoopDocument<'a> {
    /// The number of confirmations of the work; absent where one pass is enough and there is no
    /// subject.
    pub(super) counter: Option<u32>,
    /// The decision: what the caller does next.
    pub(super) decision: Decision,
    /// The exit code.
    pub(super) exit_code: u8,
    /// Of the last round that was verified; `failed` when nothing is left of the change.
    pub(super) report: &'a Report,
    /// The number of required confirmations; absent where `counter` is.
    pub(super) required: Option<u32>,
    /// The rounds, in order.
    pub(super) rounds: &'a [RoundRecord],
    /// The reason for the end of the loop.
    pub(super) stop: Stop,
    /// The fixer's reason not to go on, in its own words made harmless.
    pub(super) stuck: Option<&'a str>,
    /// The subject of the rounds, if they have one.
    pub(super) subject: Option<&'a str>,
    /// The files of the first round's change that are as at the base again.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) undone: &'a [RepoPath],
}

/// The request to a fixer after a pass that has to be confirmed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct ReviewRequest<'a> {
    /// The caveats: why the pass means less than was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) caveats: Vec<&'a str>,
    /// The number of confirmations so far.
    pub(super) counter: u32,
    /// The number of required confirmations.
    pub(super) required: u32,
    /// The task.
    pub(super) review: &'a str,
    /// The verdict of the round.
    pub(super) verdict: Verdict,
}

/// The message to a fixer when nothing failed and the round is still no pass.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::command) struct Unexplained<'a> {
    /// The reason for the verdict, on one line.
    pub(super) reason: &'a str,
    /// The verdict.
    pub(super) verdict: Verdict,
}
