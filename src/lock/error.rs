//! The codes of messages about a lock.

use crate::base::diagnostic::Code;

/// It is no KDL, or more of KDL than a lock has.
pub const SYNTAX: Code = Code("vplan::lock::syntax");
/// The marks of a merge that was not finished.
pub const CONFLICT: Code = Code("vplan::lock::conflict");
/// The version is missing or none that there is.
pub const VERSION: Code = Code("vplan::lock::version");
/// The version is one of the future.
pub const NEWER: Code = Code("vplan::lock::newer");
/// A node of no known name.
pub const UNKNOWN_NODE: Code = Code("vplan::lock::unknown_node");
/// A value that its node does not have, or has already.
pub const UNKNOWN_VALUE: Code = Code("vplan::lock::unknown_value");
/// A value that its node must have.
pub const MISSING_VALUE: Code = Code("vplan::lock::missing_value");
/// A value of another form than it must have.
pub const BAD_VALUE: Code = Code("vplan::lock::bad_value");
/// An entry that was changed by something else than vplan.
pub const SEAL: Code = Code("vplan::lock::seal");
/// Two entries for one thing.
pub const DUPLICATE: Code = Code("vplan::lock::duplicate");
/// An entry in a comment.
pub const COMMENTED: Code = Code("vplan::lock::commented");
/// More mistakes than are worth listing.
pub const TOO_MANY: Code = Code("vplan::lock::too_many");

/// All codes of this room.
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

/// The way out of nearly everything.
pub const ANEW: &str = "`vplan lock` writes it anew";
