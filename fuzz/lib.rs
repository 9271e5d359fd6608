//! What fuzz targets call: the same functions with which `cargo test` replays what was found.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../tests/frozen/oracle/mod.rs"]
mod oracle;
#[allow(dead_code)]
#[path = "../tests/reference/mod.rs"]
mod reference;

/// Holds bytes against what a target states.
pub fn run(target: &str, bytes: &[u8]) {
    let (_, oracle) = oracle::ALL
        .iter()
        .find(|(name, _)| *name == target)
        .expect("a target");
    oracle(bytes);
}
