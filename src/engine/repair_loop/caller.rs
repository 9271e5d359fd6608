//! What a loop is asked, what its caller brings, and what comes of it.

use super::record::{RoundRecord, Stop, Turn, TurnRecord};
use crate::base::command::Env;
use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::effect::runner::executor::{DriveError, Executor};
use crate::effect::runner::fixer::{Fixed, Fixer};
use crate::engine::failure::Failure;
use crate::engine::request::VerifyRequest;
use crate::engine::verify::{Progress, Verified};
use crate::run::report::{Decision, Report};
use std::time::Duration;

/// How often is verified at most if nothing else is said.
pub const MAX_ROUNDS: u32 = 20;

/// What a caller wants verified and repaired.
#[derive(Clone, Debug)]
pub struct LoopRequest {
    /// How each round verifies. Its `file`, `expect_digest`, `shard`, `attempt` and `status` mean
    /// one run, and are not for a loop.
    pub verify: VerifyRequest,
    /// What repairs.
    pub fixer: FixerCommand,
    /// How often is verified at most.
    pub max_rounds: u32,
}

/// A command that repairs.
#[derive(Clone, Debug)]
pub struct FixerCommand {
    /// As people know it.
    pub shown: String,
    /// Its words.
    pub argv: Vec<Word>,
    /// Variables that its command sets.
    pub env: Env,
    /// How long one turn may take, in milliseconds.
    pub timeout_ms: u64,
    /// How the name of a file ends in which it finds its feedback: `md`, `json`.
    pub ending: &'static str,
}

/// What happens during a loop.
pub enum LoopProgress<'a> {
    /// A round begins, from 1.
    Round(u32),
    /// It is being verified.
    Verifying(Progress<'a>),
    /// It was verified.
    Verified(&'a Verified),
    /// The fixer had its turn.
    Turn(Turn, &'a TurnRecord),
    /// This is why the loop ends.
    Failed(&'a Failure),
}

/// Gives a fixer its turn.
pub type Fix<'c> = &'c mut dyn FnMut(Fixer<'_>) -> Result<Fixed, DriveError>;

/// What the caller of a loop brings.
pub struct LoopCaller<'c> {
    /// Is told the progress.
    pub see: &'c mut dyn FnMut(LoopProgress<'_>),
    /// Formats what failed, for the fixer.
    pub feedback: &'c dyn Fn(&Report) -> String,
    /// Formats what is asked of the fixer after a pass that has to be confirmed.
    pub review: &'c dyn Fn(&Report) -> String,
    /// How often the caller is told what runs; never without.
    pub tick: Option<Duration>,
    /// What executes plans; vplan's own executor otherwise. Tests play one.
    pub executor: Option<&'c mut dyn Executor>,
    /// What gives the fixer its turn; tests play it.
    pub fix: Fix<'c>,
}

/// What became of a loop.
#[derive(Debug)]
pub struct LoopOutcome {
    /// Why it ended.
    pub stop: Stop,
    /// The exit code.
    pub exit: u8,
    /// What the caller should do.
    pub decision: Decision,
    /// The round that was verified last.
    pub last: Verified,
    /// The rounds, in order.
    pub rounds: Vec<RoundRecord>,
    /// Why the fixer does not go on, in its own words made harmless.
    pub stuck: Option<String>,
    /// The files of the first round's change that are as at the base again.
    pub undone: Vec<RepoPath>,
}
