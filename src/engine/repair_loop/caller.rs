//! The request, the caller's part and the outcome of a repair loop.

use super::record::{RoundRecord, Stop, Turn, TurnRecord};
use crate::failure::Failure;
use crate::fix::FixRecord;
use crate::request::VerifyRequest;
use crate::verify::{Progress, Verified};
use std::time::Duration;
use vplan_base::command::Env;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_check::confine::SandboxLevel;
use vplan_run::report::{Decision, Report};
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
    /// The most verifications.
    pub max_rounds: u32,
}

/// A command that repairs.
#[derive(Clone, Debug)]
pub struct FixerCommand {
    /// The command as it is shown to people.
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
pub type Fix<'c> = &'c mut dyn FnMut(Fixer<'_>) -> Result<Fixed, DriveError>;

/// The callbacks and the executor that the caller of a loop supplies.
pub struct LoopCaller<'c> {
    /// Receives the progress.
    pub see: &'c mut dyn FnMut(LoopProgress<'_>),
    /// Formats what failed, for the fixer.
    pub feedback: &'c dyn Fn(&Report) -> String,
    /// Formats the request to the fixer after a pass that has to be confirmed.
    pub review: &'c dyn Fn(&Report) -> String,
    /// The interval at which the progress reports the running steps; never without.
    pub tick: Option<Duration>,
    /// An executor in the place of vplan's own.
    pub played: Option<Played<'c>>,
    /// Runs the fixer's turn; tests substitute it.
    pub fix: Fix<'c>,
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
    /// The fixer's reason not to go on, in its own words made harmless.
    pub stuck: Option<String>,
    /// The files of the first round's change that are again as they are at the base.
    pub undone: Vec<RepoPath>,
}
