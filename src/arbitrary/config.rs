//! How properties are tried, tables of tests, and values drawn from bytes.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRng, TestRunner};

/// Each property is tried with the given number of cases, the same ones on every machine and in
/// every run. So a failure can be reproduced anywhere. `PROPTEST_CASES` and `PROPTEST_RNG_SEED`
/// request more cases, and other ones.
pub fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        max_local_rejects: 1_000_000,
        max_shrink_iters: 512,
        rng_seed: RngSeed::Fixed(11),
        ..Config::default()
    }
}

/// The rows of a table, with cells between `|`; lines that begin with `#` are skipped.
pub fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let rows = table.lines().map(str::trim);
    let rows = rows.filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    })
}

/// The value of a strategy that some bytes encode: always the same one, and for fuzzing as many
/// as there are bytes. None when the strategy gives up on them.
pub fn drawn<S: Strategy>(strategy: &S, bytes: &[u8]) -> Option<S::Value> {
    // All bytes count, in their order, however many there are.
    let mut seed = *b"vplan draws this";
    for byte in bytes {
        let all = u128::from_le_bytes(seed) ^ u128::from(*byte);
        seed = all
            .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
            .rotate_left(29)
            .to_le_bytes();
    }
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed);
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    strategy
        .new_tree(&mut TestRunner::new_with_rng(config, rng))
        .ok()
        .map(|tree| tree.current())
}
