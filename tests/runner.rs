//! The runner end to end.
