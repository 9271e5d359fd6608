//! Writes the script for Slurm. Without arguments, the script plans, submits an array of shards and
//! a merge job, and waits for the merge job.
//!
//! All nodes must have the work tree at the same path. The exit code is that of the verdict, and
//! two things must agree on it: the job, and the file that the job wrote. So no behaviour of
//! `sbatch` can be taken for a pass.

use super::options::EmitOptions;
use super::template::Value;

/// The script, without its first two lines.
pub(super) const TEMPLATE: &str = include_str!("slurm.sh");

/// Returns the values that only this script has.
pub(super) fn values(options: &EmitOptions) -> Vec<Value> {
    vec![("args", options.sbatch_args())]
}
