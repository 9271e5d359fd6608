//! For browsers.
