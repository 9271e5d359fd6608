//! What does it cost to have a step executed by a server? Without a server's own work: a server in this process
//! makes its answers up, so that what is left is vplan's. With `-- PROGRAM URL`: whole runs by a real server.
//!
//! `cargo bench --bench away [-- PROGRAM URL]`

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]
#![allow(dead_code, reason = "tests use the rest of what is shared with them")]

mod paired;
#[cfg(feature = "remote")]
#[path = "../support/reapi.rs"]
mod reapi;
#[cfg(feature = "remote")]
#[path = "../support/there.rs"]
mod there;

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time after which a file's times tell of each later write.
const SETTLED: Duration = Duration::from_secs(3);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only wants to know whether it runs.
    let is_whole = arguments.iter().any(|a| a == "--bench");
    let named: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    match named[..] {
        [program, url] => real(program, url, if is_whole { 9 } else { 1 }),
        _ => own(is_whole),
    }
}

/// Sends steps with many files to a server that answers at once.
#[cfg(feature = "remote")]
fn own(is_whole: bool) {
    use vplan::effect::os::process::stop::StopRequest;
    let counts: &[usize] = if is_whole {
        &[0, 10_000, 99_998]
    } else {
        &[0, 10]
    };
    for count in counts {
        let server = reapi::Server::made_up(there::truthful);
        let site = there::Site::new(&server, |_| {});
        site.fill(*count);
        // What was written just now is read again each time.
        std::thread::sleep(if is_whole { SETTLED } else { Duration::ZERO });
        let stop = StopRequest::new().unwrap();
        let before = peak();
        // Once for all tries: what it knows of the files is known to the next one.
        let away = site.away();
        // Until the server is asked what it lacks, by when the root is known; and until the try has ended.
        let sent = || {
            let began = Instant::now();
            let came = there::Site::execute_by(&away, &there::ends(1), &stop);
            let evidence = came.tried.evidence;
            assert_eq!(evidence.exit, Some(1), "{evidence:?}");
            let asked = server.asked().unwrap();
            [asked - began, began.elapsed()].map(|time| time.as_secs_f64() * 1e3)
        };
        let [_, first] = sent();
        let next: Vec<[f64; 2]> = (0..9).map(|_| sent()).collect();
        let median = |at: usize| {
            let mut times: Vec<f64> = next.iter().map(|times| times[at]).collect();
            times.sort_by(f64::total_cmp);
            times[4]
        };
        println!(
            "{count} files: first {first:.1} ms, then {:.1} ms until the root is known and {:.1} ms a try (medians of 9); peak {} MiB, before {before}",
            median(0),
            median(1),
            peak(),
        );
    }
}

#[cfg(not(feature = "remote"))]
fn own(_: bool) {
    println!("built without `remote`");
}

/// The most memory that this process had, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.unwrap().split_whitespace().next();
    words.unwrap().parse::<u64>().unwrap() / 1024
}

/// Runs plans here and by a server.
fn real(program: &str, url: &str, rounds: usize) {
    let dir = tempfile::Builder::new()
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    for (steps, command, jobs) in [
        (1, "true", 1),
        (100, "true", 1),
        (100, "sleep 0.05", 4),
        (1_000, "sleep 0.05", 4),
    ] {
        let root = dir.path().join(format!("{steps}-{jobs}-{}", command.len()));
        let mut contract = String::from("vplan 1\n");
        for i in 0..steps {
            let _ = writeln!(
                contract,
                "check s{i} {{\n  run {command}\n  inputs \"src/**\"\n}}"
            );
        }
        paired::repository(&root, &["src/a"], &contract);
        let places = jobs.to_string();
        let vplan = |more: &[&str]| {
            let mut command = Command::new(program);
            command.current_dir(&root);
            command.args([
                "run",
                "--all",
                "--no-cache",
                "--quiet",
                "--progress",
                "none",
            ]);
            command.args(more);
            command.env("XDG_STATE_HOME", dir.path().join("state"));
            command
        };
        let away = || vplan(&["--remote", url, "--remote-jobs", &places]);
        assert!(away().status().unwrap().success());
        let rounds = if steps > 100 { 1 } else { rounds };
        let compared = paired::compare(rounds, away, || vplan(&["--jobs", &places]));
        println!(
            "{steps} x `{command}`, {jobs} side by side: {:.1} ms by the server, {:.1} ms here",
            compared.ours.as_secs_f64() * 1e3,
            compared.floor.as_secs_f64() * 1e3,
        );
    }
}
