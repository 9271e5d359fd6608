//! The codes of messages about a lock.

use vplan_base::diagnostic::Code;

/// The text is no KDL, or uses parts of KDL that a lock does not.
pub const SYNTAX: Code = Code("vplan::lock::syntax");
/// The conflict markers of an unfinished merge.
pub const CONFLICT: Code = Code("vplan::lock::conflict");
/// The version is missing or unknown.
pub const VERSION: Code = Code("vplan::lock::version");
/// The version is newer than this program.
pub const NEWER: Code = Code("vplan::lock::newer");
/// A node with an unknown name.
pub(crate) const UNKNOWN_NODE: Code = Code("vplan::lock::unknown_node");
/// A value that its node does not have, or has already.
pub(crate) const UNKNOWN_VALUE: Code = Code("vplan::lock::unknown_value");
/// A required value is missing.
pub(crate) const MISSING_VALUE: Code = Code("vplan::lock::missing_value");
/// A value of the wrong form.
pub const BAD_VALUE: Code = Code("vplan::lock::bad_value");
/// An entry that was not changed by vplan: its seal is wrong.
pub(crate) const SEAL: Code = Code("vplan::lock::seal");
/// Two entries for one thing.
pub const DUPLICATE: Code = Code("vplan::lock::duplicate");
/// An entry in a comment.
pub(crate) const COMMENTED: Code = Code("vplan::lock::commented");
/// More mistakes than are listed.
pub const TOO_MANY: Code = Code("vplan::lock::too_many");

/// All codes of this crate.
pub const CODES: &[Code] = &[
    SYNTAX,
    CONFLICT,
    VERSION,
    NEWER,
    UNKNOWN_NODE,
    UNKNOWN_VALUE,
    MISSING_VALUE,
    BAD_VALUE,
    SEAL,
    DUPLICATE,
    COMMENTED,
    TOO_MANY,
];

/// The help of nearly all of them.
pub const ANEW: &str = "`vplan lock` writes it anew";
