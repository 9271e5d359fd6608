//! Names the paths that a comparison of the work tree skipped.

use std::collections::BTreeMap;
use vplan_base::path::RepoPath;

/// The rule that hides an untracked file from git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HiddenBy {
    /// Rules of the repository that are not tracked: `.git/info/exclude`, an ignore file that its
    /// configuration names, an untracked `.gitignore`. Or it is a nested `.git`.
    Repository,
    /// Any of these rules, for a file that a known tool, editor or desktop leaves.
    Tool,
    /// The ignore file of the user's own configuration.
    User,
}

/// Untracked files that git does not list though no tracked `.gitignore` ignores them, each with
/// the rule that hides it.
pub type HiddenFiles = BTreeMap<RepoPath, HiddenBy>;

/// The paths that a comparison of the work tree skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Files that rules of this machine hide.
    pub hidden: HiddenFiles,
    /// Files that a sparse checkout leaves out, in byte order.
    pub left_out: Vec<RepoPath>,
    /// Files that have other line ends than the commit, and would be committed with the same, in
    /// byte order. A checkout here would not give them these.
    pub line_ends: Vec<RepoPath>,
}
