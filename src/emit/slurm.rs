//! Writes the script for Slurm. Without a word it plans and submits itself twice: as an array of
//! shards, and as the job behind it that merges what they reported, for which it waits.
//!
//! All nodes see the work tree at the same place. The exit code is that of the verdict, which two
//! things must say: the job, and the file that the job wrote. So nothing that `sbatch` makes of its
//! options is taken for a pass.

use super::options::EmitOptions;
use super::template::Value;

/// The script, without its first two lines.
pub(super) const TEMPLATE: &str = include_str!("slurm.sh");

/// Returns what the script has besides what all have.
pub(super) fn values(options: &EmitOptions) -> Vec<Value> {
    vec![("args", options.sbatch_args())]
}
