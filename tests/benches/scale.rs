//! How does the cost grow? Whole processes, from small to as large as one may meet: checks and
//! changed files, steps, bytes of output, processes at once. A table for each, with time and the
//! most memory that vplan used.
//!
//! `cargo bench --bench scale [-- plan steps output explain]`. The largest of each takes minutes
//! and, for 10,000 checks, a few gigabytes of nothing but input; 100 GiB of output are read and
//! thrown away beyond what `--max-output` keeps.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

mod monorepo;
mod paired;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    // `cargo test --benches` only wants to know whether it runs.
    let whole = std::env::args().any(|a| a == "--bench");
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|a| a == name);
    if wanted("plan") {
        let sizes: &[(usize, usize)] = if whole {
            &[
                (100, 10_000),
                (1_000, 10_000),
                (10_000, 10_000),
                (10_000, 100_000),
                (1_000, 1_000_000),
                (10_000, 1_000_000),
            ]
        } else {
            &[(10, 10)]
        };
        plans(sizes);
    }
    if wanted("steps") {
        steps(if whole { &[100, 1_000, 10_000] } else { &[3] });
    }
    if wanted("output") {
        output(if whole { &[1, 10, 100] } else { &[0] });
    }
    if wanted("explain") {
        explain(if whole { &[1, 10, 100, 1_000] } else { &[2] });
    }
}

/// A directory with this contract; outside of any repository, whose contract would count.
fn repository(contract: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("contracts")).unwrap();
    std::fs::write(dir.path().join("contracts/verify.vplan"), contract).unwrap();
    dir
}

fn vplan(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
    command.current_dir(dir).args(arguments);
    command
}

fn plans(sizes: &[(usize, usize)]) {
    println!(
        "\n| checks | changed files | `vplan plan --format json` s | peak MiB | us per check and 1,000 files |\n|---|---|---|---|---|"
    );
    for (checks, files) in sizes {
        let dir = repository(&monorepo::contract(*checks));
        std::fs::write(dir.path().join("changed.txt"), monorepo::changed(*files)).unwrap();
        let arguments = [
            "plan",
            "--format",
            "json",
            "--max-file",
            "256MiB",
            "--changed-from",
            "changed.txt",
        ];
        let took = median(
            (0..3)
                .map(|_| paired::time(&mut vplan(dir.path(), &arguments)))
                .collect(),
        );
        let peak = paired::peak(&mut vplan(dir.path(), &arguments));
        let each = took.as_secs_f64() * 1e6 / (*checks as f64) / (*files as f64 / 1e3);
        println!(
            "| {checks} | {files} | {:.3} | {peak:.0} | {each:.2} |",
            took.as_secs_f64()
        );
    }
}

fn steps(sizes: &[usize]) {
    println!(
        "\n| steps | `vplan run` s | ms per step | peak MiB | record MiB |\n|---|---|---|---|---|"
    );
    for steps in sizes {
        let mut contract = "vplan 1\n".to_owned();
        for i in 0..*steps {
            let _ = writeln!(contract, "check c{i}: true");
        }
        let dir = repository(&contract);
        let arguments = ["run", "--changed-none", "--quiet"];
        let took = paired::time(&mut vplan(dir.path(), &arguments));
        let peak = paired::peak(&mut vplan(dir.path(), &arguments));
        let record = size(&dir.path().join(".vplan/runs")) / 2.0;
        let each = took.as_secs_f64() * 1e3 / (*steps as f64);
        println!(
            "| {steps} | {:.2} | {each:.3} | {peak:.0} | {record:.1} |",
            took.as_secs_f64()
        );
    }
}

fn output(gibibytes: &[u64]) {
    println!(
        "\n| GiB written by a step | kind | s | GB/s | peak MiB | kept in its log MiB |\n|---|---|---|---|---|---|"
    );
    for size_gib in gibibytes {
        let bytes = (size_gib << 30).max(1 << 20);
        // Of a test each line is read, by every format of its kind; it says nothing that is known,
        // and fails for that.
        for (kind, command) in [
            ("run", format!("head -c {bytes} /dev/zero")),
            (
                "test",
                format!(
                    "sh -c 'yes a line that says nothing in particular about anything | head -c {bytes}'"
                ),
            ),
        ] {
            let dir = repository(&format!(
                "vplan 1\ncheck big {{\n  {kind} {command}\n  timeout 1h\n  always\n}}\n"
            ));
            let start = Instant::now();
            let peak = paired::peak(
                vplan(dir.path(), &["run", "--changed-none", "--quiet"]).stderr(Stdio::null()),
            );
            let took = start.elapsed().as_secs_f64();
            let kept = size(&dir.path().join(".vplan/runs"));
            println!(
                "| {size_gib} | {kind} | {took:.1} | {:.2} | {peak:.0} | {kept:.1} |",
                bytes as f64 / 1e9 / took
            );
        }
    }
}

fn explain(sizes: &[usize]) {
    println!("\n| `vplan explain` at once | all of them s | ms each | failed |\n|---|---|---|---|");
    let dir = repository(&monorepo::contract(100));
    std::fs::write(dir.path().join("changed.txt"), monorepo::changed(100)).unwrap();
    for at_once in sizes {
        let start = Instant::now();
        let children: Vec<_> = (0..*at_once)
            .map(|_| {
                let mut command = vplan(dir.path(), &["explain", "--changed-from", "changed.txt"]);
                command
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let failed = children
            .into_iter()
            .filter_map(|mut c| (!c.wait().unwrap().success()).then_some(()))
            .count();
        let took = start.elapsed().as_secs_f64();
        println!(
            "| {at_once} | {took:.3} | {:.2} | {failed} |",
            took * 1e3 / (*at_once as f64)
        );
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The size of all files below, in MiB.
fn size(dir: &Path) -> f64 {
    let mut bytes = 0;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += meta.len();
            }
        }
    }
    bytes as f64 / (1 << 20) as f64
}
