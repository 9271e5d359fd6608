//! Properties of `run`.
