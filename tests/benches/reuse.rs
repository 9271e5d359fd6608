//! What does it cost to know that nothing has changed? Files looked at cold and warm, and a whole
//! `vplan run` in which earlier passes stand for all steps, beside one in which all of them run.
//!
//! `cargo bench --bench reuse`. A file's digest is remembered only when the file was at rest for
//! some seconds, so the tree is made with old time stamps; their times of change cannot be set,
//! which is what is waited for.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let real = std::env::args().any(|a| a == "--bench");
    let dir = tempfile::tempdir().unwrap();
    for (files, steps) in if real {
        [(100_000, 1), (1_000, 1_000)]
    } else {
        [(20, 1), (10, 2)]
    } {
        let root = dir.path().join(files.to_string());
        std::fs::create_dir_all(root.join("contracts")).unwrap();
        for i in 0..files {
            let path = root.join(format!("src/{}/{}/file{i}.txt", i % 40, i % 1_000));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{i}\n").repeat(200)).unwrap();
        }
        let mut contract = String::from("vplan 1\ncontract \"reuse\"\n\n");
        for i in 0..steps {
            let inputs = if steps == 1 {
                "src/**".to_owned()
            } else {
                format!("src/{}/**", i % 40)
            };
            let _ = writeln!(
                contract,
                "check s{i} {{\n  run true {i}\n  inputs \"{inputs}\"\n}}"
            );
        }
        std::fs::write(root.join("contracts/verify.vplan"), contract).unwrap();
        if real {
            std::thread::sleep(Duration::from_secs(3));
        }
        let run = |flags: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
            command
                .args(["run", "--changed-none", "--quiet", "--progress", "none"])
                .args(flags)
                .current_dir(&root);
            command.arg("--records").arg(dir.path().join("records"));
            command.arg("--state-dir").arg(dir.path().join("state"));
            time(&mut command)
        };
        let name = format!("{files} files, {steps} steps");
        let cold = run(&[]);
        let mut warm: Vec<Duration> = (0..5).map(|_| run(&[])).collect();
        warm.sort();
        let mut all: Vec<Duration> = (0..3).map(|_| run(&["--no-cache"])).collect();
        all.sort();
        let middle = |times: &[Duration]| times.get(times.len() / 2).copied().unwrap_or_default();
        println!(
            "{name:28} first {:>8.0?}   all reused {:>8.0?}   all run again {:>8.0?}",
            cold,
            middle(&warm),
            middle(&all)
        );
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
        let state = std::fs::read_dir(dir.path().join("state"))
            .unwrap()
            .map(|e| e.unwrap().path().join("results/files"));
        println!(
            "{:28} table of digests {} KiB",
            "",
            state.map(|p| size(&p)).max().unwrap_or(0) / 1024
        );
    }
}

fn time(command: &mut Command) -> Duration {
    let started = Instant::now();
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    started.elapsed()
}
