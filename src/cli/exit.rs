//! Which exit code means what? (engine.md section 11)

/// Passed, or nothing to verify.
pub const OK: u8 = 0;
/// vplan itself failed.
pub const INTERNAL: u8 = 1;
/// The command line does not fit.
pub const USAGE: u8 = 2;
/// The contract is invalid or missing; for `vplan argv`: the text is no command.
pub const CONTRACT: u8 = 3;
/// A tool or a directory is missing.
pub const SETUP: u8 = 5;
/// A check failed, or something was refused by `--deny`.
pub const FAILED: u8 = 40;
/// Something planned did not run; for `vplan recover`: refused.
pub const INCOMPLETE: u8 = 44;
