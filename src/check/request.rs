//! The assertions of a `file` check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One assertion about one path. `exists` follows symlinks; a broken one does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assertion {
    /// Something is there.
    Exists,
    /// Nothing is there.
    Absent,
    /// It holds at least one byte.
    NotEmpty,
    /// Its content holds this text.
    Contains(String),
    /// It exists and its content does not hold this text.
    Lacks(String),
    /// Its content matches this regular expression (of the `regex` crate; `^` is the beginning of
    /// the file).
    Matches(String),
    /// Its size in bytes lies in the range, both ends included.
    Size {
        /// The greatest size, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
        /// The least size, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<u64>,
    },
    /// It is of this type.
    Type(FileType),
}

vplan_base::vocabulary! {
    /// A requirement on a path.
    FileType {
        /// A regular file, through symlinks.
        File = "file",
        /// A directory, through symlinks.
        Dir = "dir",
        /// A symlink itself.
        Symlink = "symlink",
        /// A regular file that may be executed.
        Executable = "executable",
        /// A regular file whose content is UTF-8.
        Utf8 = "utf8",
    }
}
