//! The files that a contract is made of, and their uses.

use super::scope::Scope;
use crate::InclusionIndex;
use crate::draft::{Changes, Draft};
use vplan_base::path::RepoPath;
use vplan_base::span::{Place, SourceId};

/// A file that was read, the contract itself among them.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub draft: Draft,
    pub name: String,
    /// Its path, if it is a file of this repository.
    pub path: Option<RepoPath>,
    /// Whether it is a file of another repository, with other authors.
    pub is_foreign: bool,
    /// The id of its source.
    pub source: SourceId,
    /// Its length, in bytes.
    pub bytes: usize,
    /// For each of its imports the file; `None` for those that could not be read.
    pub imports: Vec<Option<FileIndex>>,
}

vplan_base::index!(
    FileIndex,
    "file of a contract",
    "Number of a file that was read; the contract itself is the first."
);

impl FileIndex {
    /// The contract itself.
    pub const CONTRACT: Self = Self(0);
}

/// One use of a file.
pub(super) struct Use {
    pub(super) file: FileIndex,
    /// Where its content is put.
    pub(super) scope: Scope,
    /// The imports by which it came, the outermost first.
    pub(super) chain: Vec<Place>,
    /// The use of the file that imports it.
    pub(super) importer: InclusionIndex,
    /// What the block of the import changes.
    pub(super) changes: Changes,
}
