//! Whether a command may be a check: what writes, with its form that only checks, and what is never
//! proposed.

use super::candidate::Reason;

/// The judgement of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It may be a check as it is.
    Fine,
    /// It writes; these words only check, with a remark on what was changed.
    Checking(Vec<String>, String),
    /// It writes, and only a shell can check.
    CheckingShell(String, String),
    /// It may not be a check.
    Never(Reason, String),
    /// It generates files that CI compares with git: a check with `unchanged`, where CI does so.
    Generates,
}
