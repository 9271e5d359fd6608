//! The codes of messages about a baseline.

use vplan_base::diagnostic::Code;

/// The text is no KDL, or uses parts of KDL that a baseline does not; a merge is not finished.
pub const SYNTAX: Code = Code("vplan::baseline::syntax");
/// The version is missing, unknown, or newer than this program.
pub const VERSION: Code = Code("vplan::baseline::version");
/// A node or a value with an unknown name, or twice.
pub const UNKNOWN: Code = Code("vplan::baseline::unknown");
/// A required value is missing.
pub const MISSING: Code = Code("vplan::baseline::missing");
/// A value of the wrong form.
pub const BAD_VALUE: Code = Code("vplan::baseline::bad_value");
/// More entries, or more mistakes, than are read.
pub const TOO_MANY: Code = Code("vplan::baseline::too_many");
/// A warning: entries of a check that the contract does not have.
pub const UNKNOWN_CHECK: Code = Code("vplan::baseline::unknown_check");

/// All codes of this crate.
pub const CODES: &[Code] = &[
    SYNTAX,
    VERSION,
    UNKNOWN,
    MISSING,
    BAD_VALUE,
    TOO_MANY,
    UNKNOWN_CHECK,
];

/// The help of nearly all of them.
pub const ANEW: &str =
    "take the line out, or the file back from git: `vplan baseline record` writes it anew";
