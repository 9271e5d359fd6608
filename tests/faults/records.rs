//! Does a record survive what happens to its writer and its disk?

use super::harness::{Bench, Guard, eventually};
use crate::support::process::Bounded as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use vplan::effect::os::process::program::Root;
use vplan::effect::store::records::RunRecord;

/// Not a test: writes records as fast as it can, and says on standard output which of them are
/// safe.
#[test]
#[ignore = "started by other tests, in a process of its own"]
fn writer() {
    let root = Root::open(Path::new(&std::env::var("VPLAN_TEST_ROOT").unwrap())).unwrap();
    // As whoever drives a run does it: a limit on file sizes is an error, not the end.
    let _pool = vplan::effect::os::process::pool::Pool::new(None);
    let mut record = RunRecord::create(&root, None, None).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nrecord {}", record.path().display()).unwrap();
    let filler = "x".repeat(400);
    for seq in 0.. {
        let line = format!("{{\"seq\":{seq},\"filler\":\"{filler}\"}}\n");
        if let Err(error) = record.append(&line).and_then(|()| record.sync()) {
            writeln!(out, "failed {seq} {error}").unwrap();
            record.write("report.json", b"{}").unwrap();
            return;
        }
        writeln!(out, "safe {seq}").unwrap();
    }
}

fn start(root: &Path, script: &str) -> (Guard, BufReader<std::process::ChildStdout>) {
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap());
    command.args([
        "faults::records::writer",
        "--exact",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command
        .env("VPLAN_TEST_ROOT", root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (Guard(child), out)
}

fn whole_lines(events: &[u8]) -> Vec<u64> {
    events
        .split_inclusive(|b| *b == b'\n')
        .map_while(|l| l.strip_suffix(b"\n"))
        .map_while(|l| serde_json::from_slice::<serde_json::Value>(l).ok()?["seq"].as_u64())
        .collect()
}

/// SIGKILL at any moment: what was called safe is there, in order; at most the last line is torn.
#[test]
fn a_killed_writer() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..25 {
        let (mut writer, mut out) = start(dir.path(), r#"exec "$@""#);
        let mut lines = Vec::new();
        let mut line = String::new();
        while out.read_line(&mut line).unwrap() > 0 {
            lines.push(line.trim_end().to_owned());
            line.clear();
            if lines
                .last()
                .is_some_and(|l| *l == format!("safe {}", round * 3))
            {
                writer.0.kill().unwrap();
            }
        }
        writer.0.ended();
        let path = lines
            .iter()
            .find_map(|l| l.strip_prefix("record "))
            .unwrap();
        let safe = lines
            .iter()
            .rev()
            .find_map(|l| l.strip_prefix("safe "))
            .unwrap()
            .parse::<u64>()
            .unwrap();
        let events = std::fs::read(Path::new(path).join("events.jsonl")).unwrap();
        let seqs = whole_lines(&events);
        assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>());
        assert!(
            seqs.len() as u64 > safe,
            "{safe} was safe, {} are there",
            seqs.len()
        );
        let torn = events.rsplit(|b| *b == b'\n').next().unwrap();
        assert!(torn.len() < 500);
    }
    let runs = std::fs::read_dir(dir.path().join(".vplan/runs"))
        .unwrap()
        .count();
    assert_eq!(runs, 25, "each run has a record of its own");
}

/// A limit on the size of files: an error, not a signal; nothing but whole lines; the report can
/// still be written.
#[test]
fn a_limit_on_file_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, out) = start(dir.path(), r#"ulimit -f 200; exec "$@""#);
    let lines: Vec<String> = out.lines().map(Result::unwrap).collect();
    assert!(writer.0.ended().success(), "{lines:?}");
    let failed = lines
        .iter()
        .find_map(|l| l.strip_prefix("failed "))
        .unwrap();
    assert!(failed.to_lowercase().contains("too large"), "{failed}");
    let path = Path::new(
        lines
            .iter()
            .find_map(|l| l.strip_prefix("record "))
            .unwrap(),
    );
    let events = std::fs::read(path.join("events.jsonl")).unwrap();
    assert!(
        events.ends_with(b"}\n"),
        "the line that did not fit was taken back"
    );
    assert_eq!(
        whole_lines(&events).len() as u64,
        failed.split(' ').next().unwrap().parse::<u64>().unwrap()
    );
    assert_eq!(std::fs::read(path.join("report.json")).unwrap(), b"{}");
    assert!(!path.join(".reserve").exists());
}

/// The log cannot grow: the evidence is whole, and whoever drives is told. The step itself has its
/// default disposition.
#[test]
fn a_log_that_cannot_be_written() {
    let mut bench = Bench::new();
    bench.step(&["perl", "-e", "print 'x' x 3_000_000"]);
    bench.step(&[
        "sh",
        "-c",
        "exec perl -e 'open(F, q(>), qq($ENV{BENCH}/big)); print F q(x) x 3_000_000; close F'",
    ]);
    assert!(
        bench
            .through_shell(r#"ulimit -f 1000; exec "$@""#)
            .spawn()
            .unwrap()
            .ended()
            .success()
    );
    let seen = bench.seen();
    let error = seen[0].log_error.as_deref().unwrap();
    assert!(error.contains("file too large"), "{error}");
    assert_eq!(
        (seen[0].evidence.exit, seen[0].evidence.stdout.total),
        (Some(0), 3_000_000)
    );
    assert_eq!(seen[1].evidence.signal.as_deref(), Some("SIGXFSZ"));
}

/// vplan is killed: the logs and what was recorded before are there.
#[test]
fn a_killed_run() {
    let mut bench = Bench::new();
    bench.step(&["echo", "first"]);
    bench.step(&["sh", "-c", "echo second; sleep 600"]);
    let mut vplan = Guard(bench.command().spawn().unwrap());
    eventually("the second step speaks", || bench.log(1) == b"second\n");
    vplan.0.kill().unwrap();
    vplan.0.ended();
    assert_eq!(bench.seen().len(), 1);
    assert_eq!(bench.log(0), b"first\n");
    eventually("nobody is left", || bench.survivors().is_empty());
}
