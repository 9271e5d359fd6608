//! How is a whole process compared with a floor, on a machine that others use too? In turn, and by
//! the ratio of each pair.
#![allow(dead_code, reason = "not every benchmark asks for everything")]

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The medians of a comparison.
pub struct Compared {
    /// Of the process that is measured.
    pub ours: Duration,
    /// Of its floor.
    pub floor: Duration,
    /// Of the ratios of the pairs.
    pub ratio: f64,
    /// The quickest of ours over the quickest of the floor.
    pub least: f64,
    /// How far the median of the floor moved between the halves of the rounds, as a share.
    pub moved: f64,
}

/// Runs both in turn, once unmeasured, then `rounds` times. A process that fails ends the
/// benchmark.
pub fn compare(rounds: usize, ours: impl Fn() -> Command, floor: impl Fn() -> Command) -> Compared {
    time(&mut ours());
    time(&mut floor());
    let pairs: Vec<(Duration, Duration)> = (0..rounds)
        .map(|_| (time(&mut ours()), time(&mut floor())))
        .collect();
    let mut ratios: Vec<f64> = pairs
        .iter()
        .map(|(a, b)| a.as_secs_f64() / b.as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let (ours, floor): (Vec<Duration>, Vec<Duration>) = pairs.into_iter().unzip();
    let quickest = |times: &[Duration]| times.iter().min().unwrap().as_secs_f64();
    let least = quickest(&ours) / quickest(&floor);
    let (first, second) = floor.split_at(rounds.div_ceil(2));
    let moved = if second.is_empty() {
        0.0
    } else {
        let [first, second] = [first, second].map(|half| median(half.to_vec()).as_secs_f64());
        (first / second - 1.0)
            .abs()
            .max((second / first - 1.0).abs())
    };
    Compared {
        least,
        moved,
        ours: median(ours),
        floor: median(floor),
        ratio: ratios[rounds / 2],
    }
}

/// Makes a repository of a folder, with all that is in it committed.
pub fn commit(root: &Path) {
    for args in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "--quiet",
            "--message=a",
        ],
    ] {
        time(Command::new("git").current_dir(root).args(args));
    }
}

/// The middle one of some times.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Makes a repository with a contract and empty files.
pub fn repository(root: &Path, files: &[impl AsRef<Path>], contract: &str) {
    let write = |path: &Path, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    files.iter().for_each(|file| write(file.as_ref(), ""));
    write(Path::new("contracts/verify.vplan"), contract);
    commit(root);
}

/// From the start of a process to its end; what it writes is read and thrown away.
pub fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 16];
    while out.read(&mut buffer).unwrap() > 0 {}
    let status = child.wait().unwrap();
    let elapsed = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    elapsed
}

/// The most memory that a process held, in MiB: asked again and again while it runs, so a little
/// less than the truth at worst.
pub fn peak(command: &mut Command) -> f64 {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0.0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line
            .and_then(|l| l.trim().strip_suffix(" kB"))
            .and_then(|n| n.parse::<f64>().ok());
        most = kib.map_or(most, |kib| (kib / 1024.0).max(most));
        // It would otherwise take a core from what is measured.
        std::thread::sleep(Duration::from_millis(1));
    }
    most
}

/// One line: the figure, the floor, how they compare, and what was aimed at.
pub fn report(what: &str, compared: &Compared, floor: &str, target: f64) {
    let Compared {
        ours,
        floor: under,
        ratio,
        ..
    } = compared;
    let met = if *ratio <= target { "met" } else { "MISSED" };
    println!(
        "{what:<34} {ours:>10.2?}   {floor} {under:>10.2?}   ratio {ratio:.2}, target {target:.2}: {met}"
    );
}
