//! The flags of `run` that say whose round it is.

use super::value::{Words, one_of};
use clap::Args;
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
    #[arg(long, value_name = "STATUS", requires = "subject", value_parser = one_of(STATUSES))]
    pub status: Option<Status>,
}

/// The statuses of a round that a caller may report.
pub(super) const STATUSES: &Words<Status> = &[
    ("done", "The work is done", Status::Done),
    ("continue", "There is more to do", Status::Continue),
    (
        "rotate",
        "There is more to do, for another worker",
        Status::Rotate,
    ),
    ("stuck", "It does not go on without a person", Status::Stuck),
];
