//! Where does an imported contract come from, when it is not a file of this repository?

use super::path::RepoPath;
use std::fmt;

/// A file of a revision of another repository: `git+URL?rev=OBJECTID#path` (language.md section 7).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitOrigin {
    /// The repository: `https://…`, `ssh://…` or `file://…`. No other protocol.
    pub url: String,
    /// The commit: 40 or 64 lower-case hexadecimal digits.
    pub revision: String,
    /// The file below that repository's root.
    pub path: RepoPath,
}

impl fmt::Display for GitOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "git+{}?rev={}#{}", self.url, self.revision, self.path)
    }
}
