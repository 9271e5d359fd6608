//! How long does `vplan diff` take on contracts of 10,000 checks that differ in a few lines, and in
//! every line? As whole processes, beside `vplan check` of both, which is what reading them costs.
//!
//! `cargo bench --bench diff`

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop, and it writes its own data"
)]

mod monorepo;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CHECKS: usize = 10_000;

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let (checks, rounds) = if std::env::args().any(|a| a == "--bench") {
        (CHECKS, 11)
    } else {
        (100, 1)
    };
    let dir = tempfile::tempdir().unwrap();
    let old = monorepo::contract(checks);
    let few = old
        .replacen("\"apps/app1/**\"", "\"apps/app1/**\" \"!**/*.md\"", 1)
        .replacen("check check-20:", "check check-20000:", 1)
        .replacen("tool verify 50\n", "tool verify fifty\n", 1)
        .replacen("\"**/*.rs\" {", "\"**/*.rs\" \"**/Cargo.toml\" {", 1);
    let all = old.replace("/**\"", "/**/*\"");
    for (name, text) in [("old", &old), ("few", &few), ("all", &all)] {
        std::fs::write(dir.path().join(format!("{name}.vplan")), text).unwrap();
    }
    let vplan = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
        command
            .current_dir(dir.path())
            .args(["--max-file", "16MiB", "--quiet"])
            .args(args);
        command
    };
    for (what, new) in [
        ("nothing differs", "old.vplan"),
        ("four checks differ", "few.vplan"),
        ("most checks differ", "all.vplan"),
    ] {
        let mut times: Vec<_> = (0..rounds)
            .map(|_| time(&mut vplan(&["diff", "old.vplan", new])))
            .collect();
        times.sort();
        let middle = times.get(rounds / 2).unwrap();
        println!("diff, {checks} checks, {what:<20} {middle:>9.2?}");
    }
    let read = time(&mut vplan(&["check", "--contract", "old.vplan"]));
    println!("check, {checks} checks {:>24} {read:>9.2?}", "");
}

/// From the start of a process to its end. What it says, and whether something is weaker, is not
/// the question here.
fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    let elapsed = start.elapsed();
    assert!(
        matches!(status.code(), Some(0 | 45)),
        "{command:?}: {status}"
    );
    elapsed
}
