//! Limits the size of a contract.

/// The limits of a contract. An operator may raise the limits, a contract may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Checks.
    pub checks: usize,
    /// Bytes of a name.
    pub name_bytes: usize,
    /// `paths` inside `paths`.
    pub paths_depth: usize,
    /// Globs of one `paths` with all names replaced.
    pub paths_globs: usize,
    /// Members of all sequences together, with `*` replaced.
    pub sequence_members: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            checks: 30_000,
            name_bytes: 128,
            paths_depth: 64,
            paths_globs: 100_000,
            sequence_members: 1_000_000,
        }
    }
}
