//! A file that a step touched while it ran.

use super::key::Print;
use vplan_base::path::RepoPath;

/// An input that was written while a step ran, perhaps with the content that it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedFile {
    pub path: RepoPath,
    /// Its state before, if it was there.
    pub before: Option<Print>,
    /// Its state afterwards, if it is there.
    pub after: Option<Print>,
}

impl TouchedFile {
    /// Whether it has another content, or other permissions, than before.
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }

    pub(crate) fn is_link(&self) -> bool {
        let links = |print: &Option<Print>| print.as_ref().is_some_and(|p| p.link.is_some());
        links(&self.before) || links(&self.after)
    }
}
