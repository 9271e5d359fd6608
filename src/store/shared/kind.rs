//! What a store keeps.

/// What a store keeps, by the names that bazel-remote gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Signed passes, by their keys.
    Pass,
    /// What their steps made, by its digest.
    Content,
}

impl Kind {
    /// Returns its name in addresses.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Pass => "ac",
            Kind::Content => "cas",
        }
    }
}
