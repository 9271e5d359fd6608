//! Properties of `glob`.
