//! The flags of `run` that say whose round it is.

use clap::{Args, ValueEnum};
use vplan_ledger::Status;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Round")]
pub struct Round {
    /// The subject of the work: a task, a milestone.
    ///
    /// The round is recorded, and the decision is about all rounds so far; see `vplan help rounds`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["attempt", "shard"])]
    pub subject: Option<String>,
    /// The caller's status of the round. Without it a pass says that the work is done.
    #[arg(long, value_name = "STATUS", requires = "subject")]
    pub status: Option<Word>,
}

/// The statuses of a round that a caller may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Word {
    /// The work is done.
    Done,
    /// There is more to do.
    Continue,
    /// There is more to do, for another worker.
    Rotate,
    /// It does not go on without a person.
    Stuck,
}

impl From<Word> for Status {
    fn from(word: Word) -> Self {
        match word {
            Word::Done => Status::Done,
            Word::Continue => Status::Continue,
            Word::Rotate => Status::Rotate,
            Word::Stuck => Status::Stuck,
        }
    }
}
