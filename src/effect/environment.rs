//! Which environment does a step see? An allow-list, the contract, and the operator's grants.

/// The allow-list.
pub const ALLOW_LIST: &str = "";
