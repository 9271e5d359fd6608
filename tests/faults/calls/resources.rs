//! What if the system has not what is asked of it: locks, processes, memory, new calls, a quick
//! disk?

use super::place::{Fault, Place, RUN, Traced, able};
use crate::faults::harness::{Guard, eventually};
use crate::faults::sweep::Sweep;
use crate::support::Project;
use crate::support::process::Bounded as _;
use crate::support::tree::have;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const GATED: &str = "vplan 1\ngate {\n  confirmations 100000\n}\ncheck a: true\n";
const RECORD: [&str; 8] = [
    "gate",
    "record",
    "--subject",
    "T",
    "--status",
    "done",
    "--changed",
    "none",
];

/// Tries each of some points with a fault, and holds a run against what must hold of it.
fn sweep_runs(
    name: &'static str,
    fast: u64,
    kinds: &str,
    what: &str,
    everyone: bool,
    mut judge: impl FnMut(&mut Sweep, &Traced, &str),
) {
    if !able(name) {
        return;
    }
    let place = Place::three();
    let points = place.points(kinds, everyone, &RUN, 0);
    let mut sweep = Sweep::new(name, fast, points.len() as u64);
    let mut tried = 0;
    while let Some(case) = sweep.next() {
        tried += 1;
        let (calls, nth) = &points[usize::try_from(case.point(points.len() as u64)).unwrap()];
        let about = format!("{calls} {nth}: {what}");
        place.clear();
        let before = place.runs();
        let fault = Fault::new(calls, what, *nth);
        let ran = place.traced(&if everyone { fault.everywhere() } else { fault }, &RUN);
        judge(&mut sweep, &ran, &about);
        if ran.signal.is_none() && ran.exit.is_some_and(|e| e < 128 || e == 130 || e == 143) {
            place.run_holds(&ran, &before, &about);
        } else {
            place.is_left_alone();
            place.records_hold(&before, &about);
        }
        if case.number % 8 == 0 {
            place.goes_on(&about);
        }
        case.held();
    }
    // A few cases of a small share may all be calls that are not there this time.
    assert!(sweep.seen("calls hit") > 0 || tried < 5);
}

/// No process and no thread can be made, for whom and whenever it may be: a clear word, and no pass
/// without its evidence.
#[test]
fn no_process() {
    let judge = |sweep: &mut Sweep, ran: &Traced, _: &str| {
        ran.owns_up();
        sweep.count("calls hit", ran.hit.len() as u64);
        sweep.count(
            if ran.exit == Some(0) {
                "passed all the same"
            } else {
                "refused, errored or failed"
            },
            1,
        );
    };
    let name = "faults::calls::resources::no_process";
    sweep_runs(
        name,
        12,
        "clone,clone3,fork,vfork,execve",
        "error=EAGAIN",
        true,
        judge,
    );
}

/// The same where only vplan itself is refused.
#[test]
fn no_process_for_vplan() {
    let judge = |sweep: &mut Sweep, ran: &Traced, _: &str| {
        ran.owns_up();
        sweep.count("calls hit", ran.hit.len() as u64);
        sweep.count(
            if ran.exit == Some(0) {
                "passed all the same"
            } else {
                "refused, errored or failed"
            },
            1,
        );
    };
    let name = "faults::calls::resources::no_process_for_vplan";
    sweep_runs(
        name,
        8,
        "clone,clone3,fork,vfork",
        "error=EAGAIN",
        false,
        judge,
    );
}

/// Memory ends at any point. Without memory a process may be ended; its records may not lie.
#[test]
fn no_memory() {
    let judge = |sweep: &mut Sweep, ran: &Traced, _: &str| {
        sweep.count("calls hit", ran.hit.len() as u64);
        match (ran.exit, ran.signal) {
            (Some(0), _) => sweep.count("passed all the same", 1),
            (Some(_), _) => sweep.count("refused, errored or failed", 1),
            (None, Some(signal)) => {
                // SIGABRT and SIGSEGV, SIGBUS: a program that cannot even be loaded.
                assert!([6, 7, 11].contains(&signal), "{ran:#?}");
                sweep.count("aborted", 1);
            }
            (None, None) => panic!("{ran:#?}"),
        }
    };
    sweep_runs(
        "faults::calls::resources::no_memory",
        20,
        "mmap,brk,mremap",
        "error=ENOMEM",
        false,
        judge,
    );
}

/// Calls that are younger than some kernels.
const YOUNG: [&str; 14] = [
    "openat2",
    "pidfd_open",
    "pidfd_send_signal",
    "close_range",
    "clone3",
    "statx",
    "faccessat2",
    "getrandom",
    "renameat2",
    "copy_file_range",
    "preadv2",
    "pwritev2",
    "rseq",
    "epoll_pwait2",
];

/// A kernel that does not know some calls, neither for vplan nor for what it runs: another way, or
/// a clear refusal.
#[test]
fn an_old_kernel() {
    let name = "faults::calls::resources::an_old_kernel";
    if !able(name) {
        return;
    }
    let place = Place::three();
    let mut sweep = Sweep::new(name, 4, YOUNG.len() as u64 + 30);
    while let Some(mut case) = sweep.next() {
        let one = usize::try_from(case.number).unwrap();
        // The first case is all of them; then each by itself, then some.
        let lacking: Vec<&str> = match one {
            0 => YOUNG.to_vec(),
            one if one <= YOUNG.len() => vec![YOUNG[one - 1]],
            _ => YOUNG.into_iter().filter(|_| case.below(2) == 0).collect(),
        };
        let about = format!("without {lacking:?}");
        place.clear();
        let before = place.runs();
        let ran = place.traced(&Fault::always(&lacking.join(","), "error=ENOSYS"), &RUN);
        ran.owns_up();
        place.run_holds(&ran, &before, &about);
        sweep.count("calls that were not there", ran.hit.len() as u64);
        sweep.count(
            if ran.exit == Some(0) {
                "passed in another way"
            } else {
                "refused"
            },
            1,
        );
        place.goes_on(&about);
        case.held();
    }
    assert!(sweep.seen("calls that were not there") > 0);
}

/// A file system without locks, an interrupted wait for one: whoever needs the lock says so,
/// whoever does not goes on.
#[test]
fn no_locks() {
    let name = "faults::calls::resources::no_locks";
    if !able(name) {
        return;
    }
    let place = Place::new(Project::contract(GATED));
    let mut sweep = Sweep::new(name, 6, 80);
    let mut rounds = 0;
    while let Some(case) = sweep.next() {
        let nth = case.number / 4 % 4;
        let error = ["ENOLCK", "EINTR"][usize::try_from(case.number % 2).unwrap()];
        let command = [&RUN[..], &RECORD[..]][usize::try_from(case.number / 2 % 2).unwrap()];
        let mut fault = Fault::new("flock", &format!("error={error}"), nth);
        if nth == 0 {
            // Always: an interrupt that never ends is none that there is.
            fault = Fault { nth: None, ..fault };
            if error == "EINTR" {
                fault = Fault {
                    nth: Some(1),
                    ..fault
                };
            }
        }
        let ran = place.traced(&fault, command);
        ran.owns_up();
        let about = format!("{fault:?} {ran:#?}");
        let gate = command == RECORD;
        let fine = Some(if gate { 20 } else { 0 });
        if gate && error == "ENOLCK" && !ran.hit.is_empty() {
            assert_eq!(ran.exit, Some(5), "{about}");
            assert!(
                ran.err.contains("ledger") && ran.err.contains("lock"),
                "{about}"
            );
            sweep.count("refused", 1);
        } else {
            assert_eq!(ran.exit, fine, "{about}");
            rounds += u64::from(gate);
            sweep.count(
                if ran.hit.is_empty() {
                    "locks not there"
                } else {
                    "went on"
                },
                1,
            );
        }
        if rounds > 0 {
            let shown = place
                .project
                .run(&["gate", "show", "--subject", "T", "--format", "json"])
                .exits(0)
                .json();
            assert_eq!(shown["subjects"][0]["counter"], rounds, "{about}");
        }
        case.held();
    }
    assert!(sweep.seen("refused") + sweep.seen("went on") > 0);
}

/// Whoever holds the lock of a ledger is killed: its lock goes with it, and whoever waits goes on.
#[test]
fn the_holder_of_a_lock_is_killed() {
    if !have(&["perl"]) {
        return;
    }
    let mut sweep = Sweep::new(
        "faults::calls::resources::the_holder_of_a_lock_is_killed",
        4,
        100,
    );
    let place = Place::new(Project::contract(GATED));
    place.project.run(&RECORD).exits(20);
    let state = place.project.parent().join("home/state/vplan");
    let lock = std::fs::read_dir(state)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("ledger.lock");
    let mut rounds = 1;
    while let Some(mut case) = sweep.next() {
        let held = place.beside("held");
        let _ = std::fs::remove_file(&held);
        let mut command = Command::new("perl");
        let script = "use Fcntl ':flock'; open(my $f, '+<', $ARGV[0]) or die; flock($f, LOCK_EX) or die; \
                      open(my $h, '>', $ARGV[1]); close $h; sleep 600";
        command
            .args(["-e", script])
            .arg(&lock)
            .arg(&held)
            .stdin(Stdio::null());
        let mut holder = Guard(command.spawn().unwrap());
        eventually("the lock is held", || held.exists());
        let mut waiting = Guard(place.command(&[], &RECORD).spawn().unwrap());
        std::thread::sleep(std::time::Duration::from_micros(case.below(60_000)));
        assert!(
            waiting.0.try_wait().unwrap().is_none(),
            "it did not wait: {}",
            place.said("err")
        );
        if case.below(4) == 0 {
            // Whoever waits is killed as well: nothing is counted.
            waiting.0.kill().unwrap();
            waiting.0.ended();
            holder.0.kill().unwrap();
            sweep.count("waiters killed", 1);
        } else {
            holder.0.kill().unwrap();
            let code = waiting.0.ended().code();
            rounds += 1;
            assert_eq!(code, Some(20), "{}", place.said("err"));
            sweep.count("holders killed", 1);
        }
        holder.0.ended();
        let shown = place
            .project
            .run(&["gate", "show", "--subject", "T", "--format", "json"])
            .exits(0)
            .json();
        assert_eq!(shown["subjects"][0]["counter"], rounds);
        case.held();
    }
    assert!(sweep.seen("holders killed") > 0);
}

/// Writes that take a part of what they are given, as a system may at any time.
const SHORT: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static unsigned state;
static size_t part(size_t all) {
    if (!state) { const char *seed = getenv("SHORT_SEED"); state = seed ? (unsigned)atoi(seed) * 2654435761u + 1u : 1u; }
    state = state * 1664525u + 1013904223u;
    if (all < 2 || (state >> 16) % 4 == 0) return all;
    if ((state >> 16) % 4 == 1) return 1;
    return 1 + (state >> 8) % (all - 1);
}
ssize_t write(int fd, const void *data, size_t all) {
    /* An eventfd takes eight bytes or none. */
    return syscall(SYS_write, fd, data, all == 8 ? all : part(all));
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (count < 1) return syscall(SYS_writev, fd, parts, count);
    return syscall(SYS_write, fd, parts[0].iov_base, part(parts[0].iov_len));
}
"#;

/// Short writes everywhere: the records, the ledger, the lock, standard output are whole all the
/// same.
#[test]
fn short_writes() {
    if !have(&["cc"]) {
        return;
    }
    let place = Place::three();
    let (source, library) = (place.beside("short.c"), place.beside("short.so"));
    std::fs::write(&source, SHORT).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let gated = Place::new(Project::contract(GATED));
    let mut sweep = Sweep::new("faults::calls::resources::short_writes", 10, 300);
    let preload = format!("LD_PRELOAD={}", library.display());
    while let Some(mut case) = sweep.next() {
        let seed = format!("SHORT_SEED={}", case.below(1 << 30));
        let before = ["env", preload.as_str(), seed.as_str()];
        place.clear();
        let runs = place.runs();
        let status = place.command(&before, &RUN).spawn().unwrap().ended();
        assert_eq!(status.code(), Some(0), "{seed}: {}", place.said("err"));
        let report: Value = serde_json::from_str(&place.said("out")).unwrap();
        assert_eq!(report["verdict"], "passed", "{seed}");
        assert!(
            place
                .records_hold(&runs, &seed)
                .is_some_and(|run| run.is_pass()),
            "{seed}"
        );
        let run = place.runs().difference(&runs).next().unwrap().clone();
        for (log, said) in [("a.1.log", "a\n"), ("b.1.log", "b\n"), ("c.1.log", "c\n")] {
            assert_eq!(
                std::fs::read_to_string(run.join("logs").join(log)).unwrap(),
                said,
                "{seed}"
            );
        }
        place.project.run(&["verify"]).exits(0);
        let code = gated
            .command(&before, &RECORD)
            .spawn()
            .unwrap()
            .ended()
            .code();
        assert_eq!(code, Some(20), "{seed}: {}", gated.said("err"));
        sweep.count("runs and rounds", 2);
        case.held();
    }
    assert!(sweep.seen("runs and rounds") > 0);
}

/// A disk that takes its time: no step is blamed for it. The steps overlap with syncs, and neither
/// their limits nor what is told of how long they took has anything to do with these.
#[test]
fn a_slow_disk() {
    const DELAY_MS: u64 = 1000;
    let name = "faults::calls::resources::a_slow_disk";
    if !able(name) {
        return;
    }
    let contract: String = (0..4)
        .map(|i| format!("check s{i} {{\n  run true\n  timeout 60s\n}}\n"))
        .collect();
    let place = Place::new(Project::contract(&format!("vplan 1\n{contract}")));
    let mut sweep = Sweep::new(name, 1, 12);
    while let Some(case) = sweep.next() {
        let jobs = (case.number % 3 + 1).to_string();
        let fault = Fault {
            everyone: false,
            ..Fault::always("fdatasync", &format!("delay_enter={DELAY_MS}ms"))
        };
        // Whoever follows a run waits for each sync.
        let more = ["--events", "/dev/null", "-j", &jobs];
        let ran = place.traced(&fault, &[&RUN[..], &more].concat());
        assert_eq!(ran.exit, Some(0), "{ran:#?}");
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let steps = report["steps"].as_array().unwrap();
        assert!(
            steps.iter().all(|s| s["status"] == json!("passed")),
            "{report}"
        );
        let mut took: Vec<u64> = steps
            .iter()
            .map(|s| s["durationMs"].as_u64().unwrap())
            .collect();
        took.sort_unstable();
        sweep.most("ms of a step", *took.last().unwrap());
        let syncs = ran.hit.len().max(
            place
                .said("trace")
                .lines()
                .filter(|l| l.contains("fdatasync("))
                .count(),
        );
        assert!(syncs >= 2, "nothing was slow: {}", place.said("trace"));
        sweep.count("syncs delayed", syncs as u64);
        // All but one, so that a moment in which the machine is busy is not blamed on the disk.
        assert!(
            took[2] < DELAY_MS / 2,
            "steps are blamed for the disk: {took:?} ms with {jobs} jobs"
        );
        case.held();
    }
}
