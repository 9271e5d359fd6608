//! How fast is output kept? A step that writes 1 GiB, against `cmd | cat > file`. `cargo bench
//! --bench capture`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::panic
)]

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::effect::os::process::attempt::{Attempt, AttemptProgress, Buffer, Try};
use vplan::effect::os::process::capture::LogPlace;
use vplan::effect::os::process::mask::Secrets;
use vplan::effect::os::process::pool::Pool;
use vplan::effect::os::process::program::{Root, SearchPath};

const ROUNDS: usize = 7;
const PRODUCER: &str = "head -c 1073741824 /dev/zero";
const BYTES: u64 = 1 << 30;

fn kept(
    pool: &Pool,
    root: &Root,
    secrets: &Secrets,
    max_output: u64,
    buffer: &mut Buffer,
) -> Duration {
    let folder = std::fs::File::open(root.path()).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let argv: Vec<Word> = PRODUCER.split(' ').map(Word::from).collect();
    let what = Try {
        input: None,
        root,
        search: &SearchPath::new(root, Some(path.as_encoded_bytes())),
        dir: &RepoPath::root(),
        argv: &argv,
        env: &BTreeMap::new(),
        secrets,
        log: Some(LogPlace {
            folder: folder.as_fd(),
            name: "a.log".to_owned(),
        }),
        max_output,
        live: None,
        formats: None,
        limit_ms: u64::MAX,
        observe: false,
        confine: None,
    };
    let start = Instant::now();
    let mut attempt = Attempt::begin(pool, &what).unwrap_or_else(|tried| panic!("{tried:?}"));
    let tried = loop {
        let mut fds = Vec::new();
        attempt.watch(&mut fds);
        rustix::event::poll(&mut fds, None).unwrap();
        let ready = [0, 1, 2].map(|i: usize| !fds[i].revents().is_empty());
        if attempt.ready(ready, buffer) == AttemptProgress::Over {
            break attempt.finish(pool, false, buffer);
        }
    };
    let took = start.elapsed();
    assert_eq!(
        (tried.evidence.exit, tried.evidence.stdout.total),
        (Some(0), BYTES)
    );
    std::fs::remove_file(root.path().join("a.log")).unwrap();
    took
}

fn shell(dir: &Path, script: &str) -> Duration {
    let start = Instant::now();
    assert!(
        Command::new("sh")
            .args(["-c", script])
            .current_dir(dir)
            .status()
            .unwrap()
            .success()
    );
    let took = start.elapsed();
    std::fs::remove_file(dir.join("file")).unwrap();
    took
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .unwrap()
        .trim()
        .to_owned()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let rounds = if std::env::args().any(|a| a == "--bench") {
        ROUNDS
    } else {
        1
    };
    let dir = tempfile::Builder::new()
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    let root = Root::open(dir.path()).unwrap();
    let pool = Pool::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_vplan"))));
    let mut buffer = Buffer::default();
    let none = Secrets::default();
    let some = Secrets::new([b"open-sesame".to_vec()]);
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..rounds {
        let round = [
            shell(dir.path(), &format!("{PRODUCER} > file")),
            shell(dir.path(), &format!("{PRODUCER} | cat > file")),
            kept(&pool, &root, &none, u64::MAX, &mut buffer),
            kept(&pool, &root, &none, 64 << 20, &mut buffer),
            kept(&pool, &root, &some, 64 << 20, &mut buffer),
        ];
        times
            .iter_mut()
            .zip(round)
            .for_each(|(all, one)| all.push(BYTES as f64 / 1e9 / one.as_secs_f64()));
    }
    let names = [
        "cmd > file",
        "cmd | cat > file",
        "vplan, all kept",
        "vplan, 64 MiB kept",
        "vplan, 64 MiB kept, masked",
    ];
    for (name, speeds) in names.iter().zip(&times) {
        let ratio = median(speeds.iter().zip(&times[1]).map(|(a, b)| a / b).collect());
        println!(
            "{name:28} {:.2} GB/s, {ratio:.2} x `cmd | cat > file`",
            median(speeds.clone())
        );
    }
    println!("most memory ever used by this process: {}", peak());
}
