//! Properties of `recover`.
