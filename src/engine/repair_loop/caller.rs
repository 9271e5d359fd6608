//! The request, the caller's part and the outcome of a repair loop, with the record of its rounds.

use crate::fix::{FixRecord, HowEnded};
use crate::verify::{Progress, Verified};
use crate::{Failure, RepoPath, Report, Verdict, VerifyRequest, visible};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vplan_base::command::Env;
use vplan_base::word::Word;
use vplan_check::confine::SandboxLevel;
use vplan_run::report::Decision;
use vplan_runner::executor::{DriveError, Played};
use vplan_runner::fixer::{Fixed, Fixer};

/// The default limit on verifications.
pub const MAX_ROUNDS: u32 = 20;

/// The request to verify and repair a change.
#[derive(Clone, Debug)]
pub struct LoopRequest {
    /// The verification of each round. Its `file`, `expect_digest`, `shard`, `attempt` and `status`
    /// concern a single run and do not apply to a loop.
    pub verify: VerifyRequest,
    /// The program that repairs; without one, the fixes of the contract do.
    pub fixer: Option<FixerCommand>,
    /// Maximum number of verifications.
    pub max_rounds: u32,
}

/// A command that repairs.
#[derive(Clone, Debug)]
pub struct FixerCommand {
    /// The command in the form for people.
    pub shown: String,
    /// The program and its arguments.
    pub argv: Vec<Word>,
    /// Variables that its command sets.
    pub env: Env,
    /// The time limit of one turn, in milliseconds.
    pub timeout_ms: u64,
    /// The level at which it is confined.
    pub sandbox: SandboxLevel,
    /// The extension of its feedback file: `md`, `json`.
    pub ending: &'static str,
}

/// An event of a loop.
pub enum LoopProgress<'a> {
    /// A round begins, from 1.
    Round(u32),
    /// It is being verified.
    Verifying(Progress<'a>),
    /// It was verified.
    Verified(&'a Verified),
    /// The fixer's turn has ended.
    Turn(Turn, &'a TurnRecord),
    /// A fix of the contract has ended.
    Fixed(&'a FixRecord),
    /// The loop ends because of this failure.
    Failed(&'a Failure),
}

/// Runs one turn of a fixer.
pub type LoopFix<'c> = &'c mut dyn FnMut(Fixer<'_>) -> Result<Fixed, DriveError>;

/// The callbacks and the executor that the caller of a loop supplies.
pub struct LoopCaller<'c> {
    /// Receives the progress.
    pub see: &'c mut dyn FnMut(LoopProgress<'_>),
    /// Formats the failures, for the fixer.
    pub feedback: &'c dyn Fn(&Report) -> String,
    /// Formats the request to the fixer after a pass that must be confirmed.
    pub review: &'c dyn Fn(&Report) -> String,
    /// The interval at which the progress reports the running steps; never without.
    pub tick: Option<Duration>,
    /// An executor in the place of vplan's own.
    pub played: Option<Played<'c>>,
    /// Runs the fixer's turn; tests substitute it.
    pub fix: LoopFix<'c>,
}

/// The outcome of a loop.
#[derive(Debug)]
pub struct LoopOutcome {
    /// The reason for its end.
    pub stop: Stop,
    /// The exit code.
    pub exit: u8,
    /// The decision: what the caller does next.
    pub decision: Decision,
    /// The round that was verified last.
    pub last: Verified,
    /// The rounds, in order.
    pub rounds: Vec<RoundRecord>,
    /// The fixer's reason for giving up, in its own words, made safe to show.
    pub stuck: Option<String>,
    /// The files of the first round's change that are restored to the base.
    pub undone: Vec<RepoPath>,
}

/// The reason for the end of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It passed, as often as it must.
    Passed,
    /// The retries are used up.
    Exhausted,
    /// The same failure came too often, or the round could not be recorded.
    Escalated,
    /// The rounds of `--max-rounds` are used up.
    MaxRounds,
    /// After a failure the fixer changed nothing.
    NoChange,
    /// It passed, and the review did not confirm it.
    NotConfirmed,
    /// The fixer said that it does not go on.
    Stuck,
    /// Nothing is left of the change that the loop began with.
    ChangeGone,
    /// Another contract would have been verified.
    ContractChanged,
    /// The change could no longer be separated from earlier work.
    HistoryChanged,
    /// The fixer could not be started.
    FixerNotStarted,
    /// A fix of the contract, or a guarded fixer, changed what it must not.
    WroteOutside,
    /// A signal interrupted it.
    Interrupted,
}

/// The purpose of a fixer's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It repairs failures.
    Repair,
    /// It reviews work that has passed.
    Review,
}

impl Turn {
    /// Returns its name in the fixer's environment.
    pub(super) fn name(self) -> &'static str {
        match self {
            Turn::Repair => "repair",
            Turn::Review => "review",
        }
    }
}

/// One round.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Round")]
pub struct RoundRecord {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The contract had changed, and that was allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contract_changed: bool,
    /// The decision of the round.
    pub decision: Decision,
    /// The exit code of the verdict.
    pub exit_code: u8,
    /// The repair after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<TurnRecord>,
    /// The fixes of the contract that ran after it, in order, where no fixer is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<FixRecord>,
    /// Whether nothing had changed since the round before.
    pub no_change: bool,
    /// The number of rounds of repair left.
    pub retries_remaining: u32,
    /// The reviews of a pass that had to be confirmed, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
    /// The number of the round, from 1.
    pub round: u32,
    /// The run.
    pub run_id: String,
    /// Its verdict.
    pub verdict: Verdict,
}

/// One turn of the fixer.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Repair")]
pub struct TurnRecord {
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// Its exit code, which decides nothing.
    pub exit_code: Option<i32>,
    /// The path of the feedback that it was given.
    pub feedback: String,
    /// The number of processes that it left behind.
    pub leaked: u32,
    /// The path of its log.
    pub log: Option<String>,
    /// Whether it changed nothing.
    pub no_change: bool,
    /// The end of the turn: `exited`, `signalled`, `timed_out`, `not_started`, `interrupted`,
    /// `lost`
    pub outcome: &'static str,
    /// The reason for the outcome, in one line.
    pub reason: Option<String>,
    /// The end of what it wrote.
    pub said: String,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Its reason not to go on, if it gave one (`STUCK: why`, or the file in `VPLAN_STUCK`).
    pub stuck: Option<String>,
}

/// One review of work that has passed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// Whether it confirmed the work: it changed nothing, and its exit code was 0.
    pub confirmed: bool,
    /// The number of confirmations afterwards.
    pub counter: u32,
    /// The turn of the fixer in which it reviewed.
    pub turn: TurnRecord,
}

impl TurnRecord {
    pub(super) fn new(fixed: Fixed, no_change: bool, feedback: &Path, record: &Path) -> Self {
        let place = |path: PathBuf| visible(path.as_os_str().as_encoded_bytes());
        let ended = HowEnded::from_fixer_end(fixed.how);
        Self {
            duration_ms: fixed.duration_ms,
            exit_code: ended.exit_code,
            feedback: place(feedback.to_owned()),
            leaked: fixed.leaked,
            log: fixed.log.map(|name| place(record.join("logs").join(name))),
            no_change,
            outcome: ended.outcome,
            reason: ended.reason,
            said: fixed.said,
            signal: ended.signal,
            stuck: fixed.stuck,
        }
    }
}
