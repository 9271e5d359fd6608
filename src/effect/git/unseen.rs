//! Names the paths that a comparison of the work tree left out.

use crate::base::path::RepoPath;

/// The paths that a comparison of the work tree left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Files that are neither tracked nor ignored by a tracked `.gitignore`, but hidden by rules
    /// of this machine: in `.git/info/exclude`, in the user's own file, in a `.gitignore` that
    /// is not tracked. In byte order.
    pub hidden: Vec<RepoPath>,
    /// Files that a sparse checkout leaves out, in byte order.
    pub left_out: Vec<RepoPath>,
    /// Files that have other line ends than the commit, and would be committed with the same, in
    /// byte order. A checkout here would not give them these.
    pub line_ends: Vec<RepoPath>,
}
