//! The parts of a merge, and why it is refused.

use super::super::report::{Report, ShardRecord};
use vplan_base::vocabulary::Exit;
use vplan_base::word::visible;
use vplan_plan::Plan;
use vplan_plan::drift::Difference;
/// A report with the name that messages use for it.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: String,
    pub report: Report,
}

/// The reason why reports cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MergeError {
    /// A stable code.
    pub code: &'static str,
    /// The differences between the plans, if they are the reason.
    pub drift: Vec<Difference>,
    /// The exit code of the error.
    pub exit: Exit,
    /// The next step for people.
    pub help: Option<&'static str>,
    /// One line for people.
    pub message: String,
}

/// A report that cannot be read.
pub const UNREADABLE: &str = "vplan::merge::unreadable";

/// A report of another version.
pub const OTHER_VERSION: &str = "vplan::merge::version";

/// A report of a whole run.
pub const NO_SHARD: &str = "vplan::merge::no_shard";

/// A report that is not what vplan wrote.
pub const TAMPERED: &str = "vplan::merge::tampered";

/// Shards of different plans, or of different divisions of one.
pub const MISMATCH: &str = "vplan::merge::mismatch";

/// Shards that compared the change with different commits.
pub const BASE: &str = "vplan::merge::base";

/// Shards that verified different trees.
pub const TREE: &str = "vplan::merge::tree";

/// Shards with different or unknown tools, if the caller requires the same.
pub const TOOLS: &str = "vplan::merge::tools";

/// Shards by another division than the one that was given, or by different ones.
pub const DIVISION: &str = "vplan::merge::division";

/// Two different reports of one shard.
pub const DUPLICATE: &str = "vplan::merge::duplicate";

pub(super) fn quote(name: &str) -> String {
    visible(name.as_bytes())
}

pub(super) fn mismatch<T>(
    code: &'static str,
    message: String,
    drift: Vec<Difference>,
) -> Result<T, MergeError> {
    let help = match code {
        BASE => "all shards must compare the change with one commit: give them the same plan file",
        TREE => "all shards must verify one tree: run them on checkouts of one commit",
        DIVISION => {
            "all shards must be dealt alike: give each of them, and the merge, the same division"
        }
        TOOLS => "run all shards in one image, or leave `--same-tools` out",
        _ => "all shards must run the same plan: give each of them the same plan file",
    };
    Err(MergeError {
        code,
        drift,
        exit: Exit::Drift,
        help: Some(help),
        message,
    })
}

pub(super) fn fail<T>(
    code: &'static str,
    name: &str,
    why: &str,
    help: Option<&'static str>,
) -> Result<T, MergeError> {
    let message = format!("`{}` {why}", quote(name));
    Err(MergeError {
        code,
        drift: Vec::new(),
        exit: Exit::Usage,
        help,
        message,
    })
}

/// A report that was checked to be of a shard, with the plan that it executed last.
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) report: Report,
    pub(super) record: ShardRecord,
    pub(super) executed: Plan,
}
