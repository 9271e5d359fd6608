//! Why can a request not be planned?

/// A request that does not fit the contract. All of them are usage errors (exit 2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// A stable code such as `vplan::plan::unknown_role`.
    pub code: &'static str,
    /// One line, lower case, no full stop, user text in backticks.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}
