//! How long does a person wait for an answer about 10,000 recorded runs? As whole processes.
//!
//! `cargo bench --bench history`. A run of ten checks is recorded and its record copied under other
//! names, so that what is read is what vplan writes. `status` and `runs` read only the newest;
//! `stats` reads all.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let (runs, rounds) = if std::env::args().any(|a| a == "--bench") {
        (10_000, 7)
    } else {
        (20, 1)
    };
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::create_dir(root.join("contracts")).unwrap();
    let mut contract = String::from("vplan 1\ncontract \"ten\"\n\n");
    for i in 0..10 {
        let _ = writeln!(contract, "check c{i}: echo {i}");
    }
    std::fs::write(root.join("contracts/verify.vplan"), contract).unwrap();
    vplan(
        root,
        &["run", "--changed-none", "--quiet", "--progress", "none"],
    );
    copy(&root.join(".vplan/runs"), runs);
    println!("{runs} runs of 10 checks");
    for (args, target) in [
        (&["status"][..], Duration::from_millis(100)),
        (&["runs", "--limit", "20"], Duration::from_millis(100)),
        (&["details"], Duration::from_millis(100)),
        (&["stats"], Duration::from_secs(1)),
        (
            &["gc", "--keep", "10000", "--dry-run"],
            Duration::from_millis(100),
        ),
    ] {
        let mut times: Vec<Duration> = (0..rounds).map(|_| vplan(root, args)).collect();
        times.sort();
        let median = times[times.len() / 2];
        let met = if median <= target { "met" } else { "MISSED" };
        println!(
            "{:34} {median:>10.1?}; target {target:?}: {met}",
            args.join(" ")
        );
    }
}

fn vplan(root: &Path, args: &[&str]) -> Duration {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
    let status = command
        .current_dir(root)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
    start.elapsed()
}

/// Copies the only run under other names, older ones.
fn copy(folder: &Path, runs: usize) {
    let one = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let id = one.file_name().into_string().unwrap();
    let files = ["events.jsonl", "report.json", "plan.json"];
    let texts = files.map(|name| std::fs::read_to_string(one.path().join(name)).unwrap());
    for n in 1..runs {
        let name = format!(
            "2020{:02}{:02}T{:02}0000.000Z-{n:032x}",
            n / 24 / 28 % 12 + 1,
            n / 24 % 28 + 1,
            n % 24
        );
        let run = folder.join(&name);
        std::fs::create_dir(&run).unwrap();
        for (file, text) in files.iter().zip(&texts) {
            std::fs::write(run.join(file), text.replace(&id, &name)).unwrap();
        }
    }
}
