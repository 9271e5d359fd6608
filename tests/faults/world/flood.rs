//! Is memory small whatever is printed, and does a torrent end where it is told to?

use super::{World, began, patiently, status};
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;
use crate::support::process::Bounded as _;
use std::path::Path;
use std::time::Duration;

/// Generous: it is an unoptimised program. What counts is that it has nothing to do with the
/// output.
const MOST_KIB: u64 = 96 * 1024;
/// What is read for what a tool says is read by lines, and a line may have 64 MiB; of each stream.
const MOST_KIB_READ: u64 = 288 * 1024;

/// Waits for its end and watches how much memory it had at most, in KiB.
fn watched(vplan: &mut Guard) -> (Option<i32>, u64) {
    let status = format!("/proc/{}/status", vplan.0.id());
    let mut most = 0;
    loop {
        let text = std::fs::read_to_string(Path::new(&status)).unwrap_or_default();
        let peak = text.lines().find_map(|l| {
            l.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        });
        most = most.max(peak.unwrap_or(0));
        if let Some(end) = vplan.0.try_wait().unwrap() {
            return (end.code(), most);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn floods() {
    let sources = [
        "yes",
        "cat /dev/zero",
        "perl -e 'while (1) { print qq(error: x\\n) x 999 }'",
    ];
    let streams = ["", " >&2", " | tee /dev/stderr"];
    let verbs = ["run", "test", "lint", "compile"];
    let mut sweep = Sweep::new("faults::world::flood::floods", 2, 48);
    while let Some(mut case) = sweep.next() {
        let (source, stream) = (*case.one_of(&sources), *case.one_of(&streams));
        let verb = *case.one_of(&verbs);
        let (world, exit, most, checks) = patiently(|times| {
            let checks = format!(
                "check flood {{\n  {verb} sh -c \"{source}{stream}\"\n  timeout {times}s\n}}\n"
            );
            let world = World::new(&checks);
            let budget = format!("{}s", 2 * times);
            let mut vplan = Guard(
                world
                    .run(&["--max-output", "4MiB", "--budget", &budget])
                    .spawn()
                    .unwrap(),
            );
            let (exit, most) = watched(&mut vplan);
            assert_eq!(exit, Some(43), "{}", world.said());
            let flooded = began(&world.report(), "flood")
                && world.runs()[0].join("logs/flood.1.log").exists();
            flooded.then_some((world, exit, most, checks))
        });
        let is_one_line_read = verb != "run" && source == "cat /dev/zero";
        let limit = if is_one_line_read {
            MOST_KIB_READ
        } else {
            MOST_KIB
        };
        assert!(most > 0 && most < limit, "{checks}: {most} KiB");
        assert_eq!(world.survivors(), Vec::<String>::new());
        let report = world.report();
        assert_eq!(status(&report, "flood"), "timed_out", "{report}");
        let log = std::fs::metadata(world.runs()[0].join("logs/flood.1.log"))
            .unwrap()
            .len();
        assert!(log < (4 << 20) + 100, "{log}");
        assert!(report.to_string().len() < 1 << 20);
        sweep.count(&format!("`{verb}`"), 1);
        sweep.most("KiB of memory", most);
        world.is_honest(exit);
        case.held();
    }
}

/// One line of 4 GiB, read for what a tool might say in it, on either stream and on both.
#[test]
fn one_line() {
    let mut sweep = Sweep::new("faults::world::flood::one_line", 1, 4);
    let bytes: u64 = if sweep.whole() { 4 << 30 } else { 64 << 20 };
    while let Some(case) = sweep.next() {
        let (verb, to) = [
            ("run", " | tee /dev/stderr"),
            ("test", ""),
            ("lint", " >&2"),
            ("compile", " | tee /dev/stderr"),
        ][usize::try_from(case.number).unwrap() % 4];
        let checks = format!(
            "check line {{\n  {verb} sh -c \"head -c {bytes} /dev/zero{to}\"\n  timeout 20m\n}}\n"
        );
        let world = World::new(&checks);
        let mut vplan = Guard(world.run(&[]).spawn().unwrap());
        let (exit, most) = watched(&mut vplan);
        assert_eq!(exit, Some(0), "{}", world.said());
        assert!(
            most > 0
                && most
                    < if verb == "run" {
                        MOST_KIB
                    } else {
                        MOST_KIB_READ
                    },
            "{checks}: {most} KiB"
        );
        let report = world.report();
        assert_eq!(status(&report, "line"), "passed");
        let ms = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["id"] == "line")
            .unwrap()["durationMs"]
            .as_u64();
        sweep.count("MiB drained", bytes >> 20);
        sweep.most("ms for one", ms.unwrap());
        sweep.most(&format!("KiB of memory for `{verb}`"), most);
        case.held();
    }
}

/// Who says nothing and never ends is stopped at the limit; whatever it does with its streams.
#[test]
fn silent_hangs() {
    let hangs = [
        "exec sleep 999",
        "exec >&- 2>&-; sleep 999 & wait",
        "exec 0</dev/tty1; sleep 999",
        "printf x; while :; do :; done",
        "sleep 999 | sleep 999",
        "mkfifo pipe; cat pipe",
    ];
    let mut sweep = Sweep::new("faults::world::flood::silent_hangs", 2, 24);
    while let Some(case) = sweep.next() {
        let script = hangs[usize::try_from(case.number).unwrap() % hangs.len()];
        let (world, exit) = patiently(|times| {
            let world = World::new(&format!(
                "check hangs {{\n  run sh -c '{script}'\n  timeout {}ms\n}}\n",
                300 * times
            ));
            let budget = format!("{}s", 2 * times);
            let exit = Guard(world.run(&["--budget", &budget]).spawn().unwrap())
                .0
                .ended()
                .code();
            began(&world.report(), "hangs").then_some((world, exit))
        });
        assert_eq!(world.survivors(), Vec::<String>::new(), "{script}");
        world.is_honest(exit);
        let report = world.report();
        let step = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["id"] == "hangs")
            .unwrap();
        if step["status"] == "timed_out" {
            assert_eq!(exit, Some(43), "{report}");
            sweep.count("stopped at the limit", 1);
            sweep.most(
                "ms after the limit",
                step["durationMs"].as_u64().unwrap().saturating_sub(300),
            );
        } else {
            // A shell without that device ends by itself.
            assert!(script.contains("tty1"), "{script}: {report}");
        }
        case.held();
    }
    assert!(sweep.seen("stopped at the limit") > 0);
}
