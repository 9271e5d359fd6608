//! What does a whole `vplan run` cost beyond the commands that it runs? `true` many times, planned,
//! supervised, captured, limited, journalled with each end on the disk, and reported; beside a
//! program that starts the same commands with two pipes, reads them and waits. (`steps` measures
//! the driver alone.)
//!
//! `cargo bench --bench run`. The second figure is what a step costs more than in the same program
//! with a line written and synced at each end: how fast the disk is belongs to neither. Then the
//! same commands by others that are on the PATH (make, ninja, just; some of these start a shell for
//! each), which promise less.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

mod floor;
mod paired;

use paired::Compared;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["--floor", steps, jobs, journal] => floor::spawn_and_wait(
            steps.parse().unwrap(),
            jobs.parse().unwrap(),
            Path::new(journal),
        ),
        _ => measure(),
    }
}

fn measure() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("journal");
    let own = std::env::current_exe().unwrap();
    // `cargo test --benches` only wants to know whether it runs.
    let sizes: &[(u32, usize)] = if std::env::args().any(|a| a == "--bench") {
        &[(100, 21), (1_000, 7)]
    } else {
        &[(10, 1)]
    };
    for &(steps, rounds) in sizes {
        let root = dir.path().join(steps.to_string());
        std::fs::create_dir_all(root.join("contracts")).unwrap();
        let mut contract = String::from("vplan 1\ncontract \"steps\"\n\n");
        for i in 0..steps {
            let _ = writeln!(contract, "check s{i}: true {i}");
        }
        std::fs::write(root.join("contracts/verify.vplan"), contract).unwrap();
        for jobs in ["1", "2"] {
            let ours = || {
                let mut command = Command::new(env!("CARGO_BIN_EXE_vplan"));
                command.args([
                    "run",
                    "--changed-none",
                    "--quiet",
                    "--progress",
                    "none",
                    "--jobs",
                    jobs,
                ]);
                command
                    .arg("--records")
                    .arg(dir.path().join("records"))
                    .current_dir(&root);
                command
            };
            let floor = |journal: &Path| {
                let mut command = Command::new(&own);
                command
                    .args(["--floor", &steps.to_string(), jobs])
                    .arg(journal);
                command
            };
            let bare = paired::compare(rounds, ours, || floor(Path::new("")));
            paired::report(
                &format!("{steps} steps, {jobs} at a time"),
                &bare,
                "spawn and wait",
                1.6,
            );
            let synced = paired::compare(rounds, ours, || floor(&journal));
            let more =
                (synced.ours.as_secs_f64() - synced.floor.as_secs_f64()) * 1e6 / f64::from(steps);
            let met = if more <= 100.0 { "met" } else { "MISSED" };
            println!(
                "{:34} {more:>8.0}us a step over the same with a journal, synced; target 100us: {met}",
                ""
            );
            for (program, prepare) in PEERS {
                let Some(arguments) = prepare(&root, steps, jobs) else {
                    continue;
                };
                if !Command::new(program)
                    .arg("--version")
                    .output()
                    .is_ok_and(|o| o.status.success())
                {
                    println!("{program:>34}: not here");
                    continue;
                }
                let theirs = || {
                    let mut command = Command::new(program);
                    command.args(&arguments).current_dir(&root);
                    command
                };
                let Compared { ours, ratio, .. } =
                    paired::compare(rounds, theirs, || floor(Path::new("")));
                println!("{program:>34} {ours:>10.2?}   ratio {ratio:.2}");
            }
        }
    }
}

/// Another runner: its program, and what writes its file in a folder and gives its arguments; none
/// if it cannot do so many at a time.
type Peer = (&'static str, fn(&Path, u32, &str) -> Option<Vec<String>>);

const PEERS: [Peer; 3] = [
    ("make", |root, steps, jobs| {
        rules(root, "Makefile", steps, |i| format!("s{i}:\n\t@true {i}\n"));
        Some(vec!["-j".to_owned(), jobs.to_owned(), "all".to_owned()])
    }),
    ("ninja", |root, steps, jobs| {
        let rule = (0..steps).fold("rule r\n  command = true $n\n".to_owned(), |mut text, i| {
            let _ = writeln!(text, "build s{i}: r\n  n = {i}");
            text
        });
        std::fs::write(root.join("build.ninja"), rule).unwrap();
        Some(vec!["--quiet".to_owned(), "-j".to_owned(), jobs.to_owned()])
    }),
    ("just", |root, steps, jobs| {
        rules(root, "justfile", steps, |i| {
            format!("s{i}:\n    @true {i}\n")
        });
        (jobs == "1").then(|| vec!["all".to_owned()])
    }),
];

/// A file of rules: one for all, and one each.
fn rules(root: &Path, name: &str, steps: u32, rule: fn(u32) -> String) {
    let names: Vec<String> = (0..steps).map(|i| format!("s{i}")).collect();
    let each: String = (0..steps).map(rule).collect();
    std::fs::write(root.join(name), format!("all: {}\n{each}", names.join(" "))).unwrap();
}
