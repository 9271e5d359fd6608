//! How long does a person wait for `vplan explain --changed …`, with ten checks? As whole processes, beside `git --version`.
//!
//! `cargo bench --bench explain`

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods, reason = "a benchmark may stop")]

mod paired;

use std::fmt::Write as _;
use std::process::Command;

const ROUNDS: usize = 200;

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let rounds = if std::env::args().any(|a| a == "--bench") { ROUNDS } else { 1 };
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("contracts")).unwrap();
    let mut contract = String::from("vplan 1\ncontract \"ten\"\n");
    for i in 0..10 {
        let _ = write!(
            contract,
            "\nwhenChangedAny \"src/part{i}/**\" \"**/*.rs\" {{\n  check c{i}: cargo test -p part{i}\n}}\n"
        );
    }
    std::fs::write(dir.path().join("contracts/verify.vplan"), contract).unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args(args);
        command
    };
    paired::time(&mut git(&["init", "--quiet"]));
    let vplan = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
        command.current_dir(dir.path()).args(args);
        command
    };
    for (what, args) in [
        ("explain, ten checks", &["explain", "--changed", "src/part1/lib.rs", "docs/map.md"][..]),
        ("plan in JSON", &["plan", "--format", "json", "--changed", "src/part1/lib.rs", "docs/map.md"]),
    ] {
        let compared = paired::compare(rounds, || vplan(args), || git(&["--version"]));
        paired::report(what, &compared, "git --version", 1.3);
    }
}
