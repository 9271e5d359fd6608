//! Properties of `plan`.
