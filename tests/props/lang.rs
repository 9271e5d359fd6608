//! Properties of `lang`.
