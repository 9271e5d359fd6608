//! What if the clock jumps, before a run, in it, or between two of them?

use super::{World, status, wait};
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;
use crate::support::tree::have;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The library that lies about the time.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let found = folders
        .map(|f| f.path().join("faketime/libfaketime.so.1"))
        .find(|l| l.exists());
    if found.is_none() {
        have(&["faketime"]);
    }
    found
}

/// Where the wall clock may be. The steps themselves see the true one.
const JUMPS: &[&str] = &[
    "-1d",
    "+10y",
    "-10y",
    "+1h",
    "-2s",
    "@1970-01-01 00:00:01",
    "@2099-12-31 23:59:58",
    "@2000-02-29 12:00:00",
    "+0",
];

fn at(world: &World, library: &std::path::Path, jump: &str, args: &[&str]) -> Command {
    let mut command = world.wrapped(&[], args);
    // The monotonic clock is another one: nobody sets it.
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME", jump)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("TZ", "UTC");
    command
}

/// What holds of every journal: numbered without a gap, and times that never go back.
fn is_in_order(world: &World) {
    let events = std::fs::read_to_string(world.runs().pop().unwrap().join("events.jsonl")).unwrap();
    let mut last = 0;
    for (number, line) in events.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["seq"], number, "{line}");
        let t = line["t"].as_u64().unwrap();
        assert!(t >= last, "{events}");
        last = t;
    }
}

/// A step that is quick and one that never ends: neither its limit nor its duration is by the wall
/// clock.
#[test]
fn durations_and_limits() {
    const LIMIT: u64 = 500;
    let mut sweep = Sweep::new("faults::world::clock::durations_and_limits", 3, 36);
    let Some(library) = library() else {
        return sweep.cannot("no libfaketime");
    };
    while let Some(case) = sweep.next() {
        let jump = JUMPS[usize::try_from(case.number).unwrap() % JUMPS.len()];
        // In every other case the clock is set while the run goes on, by a step.
        let steps = case.number / JUMPS.len() as u64 % 2 == 1 || case.number % 3 == 1;
        let checks = format!(
            "check quick: sh -c \"sleep 0.05; test ! -e next || cp next now; sleep 0.05\"\n\
             check hangs {{\n  run sleep 600\n  timeout {LIMIT}ms\n}}\ncheck back: sh -c \"test ! -e last || cp last now\"\n"
        );
        let world = World::new(&checks);
        let mut command = at(
            &world,
            &library,
            jump,
            &[
                "run",
                "--changed-none",
                "--format",
                "json",
                "--keep-going",
                "--budget",
                "20m",
            ],
        );
        if steps {
            world
                .project
                .write("now", "+0\n")
                .write("next", format!("{jump}\n"))
                .write("last", "-3d\n");
            command
                .env_remove("FAKETIME")
                .env("FAKETIME_TIMESTAMP_FILE", world.project.path("now"))
                .env("FAKETIME_NO_CACHE", "1");
        }
        let exit = wait(&mut Guard(command.spawn().unwrap()));
        assert_eq!(exit, Some(43), "{jump}: {}", world.said());
        let report = world.report();
        for (id, end, least) in [
            ("quick", "passed", 100),
            // By the wall clock it would end at once. The limit counts from the decision to start it, which
            // may be long before it has begun.
            ("hangs", "timed_out", LIMIT / 2),
            ("back", "passed", 0),
            ("fine", "passed", 0),
        ] {
            let step = report["steps"]
                .as_array()
                .unwrap()
                .iter()
                .find(|s| s["id"] == id)
                .unwrap();
            let took = step["durationMs"].as_u64().unwrap();
            assert_eq!(status(&report, id), end, "{jump}: {report}");
            // Generous upwards: it is a jump of days that must not be seen.
            assert!(took < 3_600_000, "{jump}: {step}");
            assert!(took >= least, "{jump}: {took} ms, {step}");
            sweep.most(
                "ms after the limit",
                if id == "hangs" {
                    took.saturating_sub(LIMIT)
                } else {
                    0
                },
            );
        }
        assert!(report["durationMs"].as_u64().unwrap() < 3_600_000);
        is_in_order(&world);
        world.project.run(&["report"]).exits(0);
        world.project.run(&["verify"]).exits(0);
        sweep.count(
            if steps {
                "jumps in a run"
            } else {
                "jumps before a run"
            },
            1,
        );
        case.held();
    }
    assert!(sweep.seen("jumps in a run") + sweep.seen("jumps before a run") > 0);
}

/// Runs, rounds and kept passes, one after the other, at times in no order: the latest is the last
/// one, and the ledger counts.
#[test]
fn one_after_the_other() {
    let mut sweep = Sweep::new("faults::world::clock::one_after_the_other", 1, 12);
    let Some(library) = library() else {
        return sweep.cannot("no libfaketime");
    };
    while let Some(mut case) = sweep.next() {
        let checks = "gate {\n  confirmations 1000\n  retries 1000\n  same-failure 1000\n}\ncheck kept {\n  run sh -c \"cat flag >> ../ran\"\n  inputs \"flag\"\n}\ncheck flag: grep -q ok flag\n";
        let world = World::new(checks);
        let go = |jump: &str, args: &[&str]| {
            let exit = wait(&mut Guard(
                at(&world, &library, jump, args).spawn().unwrap(),
            ));
            (
                exit,
                serde_json::from_str::<Value>(&world.project.read("../out")).unwrap_or(Value::Null),
            )
        };
        let mut ids = Vec::new();
        let mut subjects = 0;
        for n in 0..8 {
            let jump = *case.one_of(JUMPS);
            let good = case.below(3) > 0;
            // A flag that never was before: nothing that is kept may stand for it.
            world
                .project
                .write("flag", format!("{} {n}\n", if good { "ok" } else { "bad" }));
            let with_subject = case.below(2) == 0;
            let subject: &[&str] = if with_subject {
                &["--subject", "S"]
            } else {
                &[]
            };
            let (exit, report) = go(
                jump,
                &[
                    &["run", "--changed-none", "--format", "json", "--keep-going"],
                    subject,
                ]
                .concat(),
            );
            let wanted = if !good {
                40
            } else if with_subject {
                20
            } else {
                0
            };
            assert_eq!(exit, Some(wanted), "{jump}: {}", world.said());
            let lines = world.project.read("../ran");
            assert!(
                lines.ends_with(&format!(" {n}\n")),
                "{jump}: a kept pass stood for other inputs: {lines}"
            );
            let id = report["runId"].as_str().unwrap().to_owned();
            if with_subject {
                subjects += 1;
                let (_, shown) = go(
                    case.one_of::<&str>(JUMPS),
                    &["gate", "show", "--format", "json"],
                );
                assert_eq!(shown["rounds"], subjects, "{shown}");
                assert_eq!(shown["subjects"][0]["runId"], *id, "{shown}");
            }
            ids.push(id.clone());
            // Whatever the time is when somebody asks.
            let asked = *case.one_of(JUMPS);
            let (exit, shown) = go(asked, &["status", "--format", "json"]);
            assert_eq!(
                shown["run"]["runId"], *id,
                "{jump}, asked at {asked}: an older run is the latest"
            );
            assert_eq!(
                (exit, shown["verified"] == true),
                (Some(0), good && !with_subject),
                "{asked}: {shown}"
            );
            let (exit, _) = go(asked, &["status", "--require", "verified"]);
            assert_eq!(
                exit == Some(0),
                good && !with_subject,
                "{asked}: {}",
                world.said()
            );
            // The same again costs nothing, at any time; and it is the same.
            let (_, again) = go(
                case.one_of::<&str>(JUMPS),
                &[
                    "run",
                    "--changed-none",
                    "--format",
                    "json",
                    "--only",
                    "kept",
                ],
            );
            ids.push(again["runId"].as_str().unwrap().to_owned());
            let reused = world.project.read("../ran") == lines;
            sweep.count(
                if reused {
                    "kept passes used"
                } else {
                    "kept passes not used"
                },
                1,
            );
            assert_eq!(
                status(&again, "kept"),
                if reused { "cached" } else { "passed" },
                "{again}"
            );
            sweep.count("runs at another time than the one before", 2);
        }
        let (exit, shown) = go(case.one_of::<&str>(JUMPS), &["runs", "--format", "json"]);
        let order: Vec<&str> = shown["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["run"]["runId"].as_str().unwrap())
            .collect();
        assert_eq!(exit, Some(0));
        assert!(order.iter().rev().eq(ids.iter()), "{order:?}");
        let (exit, _) = go(case.one_of::<&str>(JUMPS), &["gc", "--keep", "3"]);
        assert_eq!(exit, Some(0), "{}", world.said());
        let left: Vec<String> = world
            .runs()
            .iter()
            .map(|r| r.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(left, ids[ids.len() - 3..], "the last ones stay");
        case.held();
    }
    assert!(sweep.seen("runs at another time than the one before") > 0);
}

/// A monotonic clock that began elsewhere: in a time namespace of its own.
#[test]
fn another_monotonic_clock() {
    let mut sweep = Sweep::new("faults::world::clock::another_monotonic_clock", 2, 12);
    let unshare = |offset: i64| {
        [
            "unshare".to_owned(),
            "--time".to_owned(),
            format!("--monotonic={offset}"),
            format!("--boottime={offset}"),
            "--fork".to_owned(),
        ]
    };
    let possible = Command::new("unshare")
        .args(&unshare(1_000)[1..])
        .arg("true")
        .output();
    if !possible.is_ok_and(|o| o.status.success()) {
        return sweep.cannot("no time namespaces");
    }
    while let Some(mut case) = sweep.next() {
        // Up to 130 years; not before the machine began.
        let offset = i64::try_from(case.below(4_000_000_000)).unwrap();
        let world = World::new(
            "check quick: sleep 0.1\ncheck hangs {\n  run sleep 600\n  timeout 400ms\n}\n",
        );
        let wrap = unshare(offset);
        let wrap: Vec<&str> = wrap.iter().map(String::as_str).collect();
        let exit = wait(&mut Guard(
            world
                .through(&wrap, &["--keep-going", "--budget", "20m"])
                .spawn()
                .unwrap(),
        ));
        assert_eq!(exit, Some(43), "{offset}: {}", world.said());
        let report = world.report();
        let took = |id: &str| {
            report["steps"]
                .as_array()
                .unwrap()
                .iter()
                .find(|s| s["id"] == id)
                .unwrap()["durationMs"]
                .as_u64()
                .unwrap()
        };
        assert!(
            took("quick") >= 100 && (200..3_600_000).contains(&took("hangs")),
            "{offset}: {report}"
        );
        assert_eq!(status(&report, "quick"), "passed");
        assert_eq!(world.survivors(), Vec::<String>::new());
        sweep.most("s of offset", offset.unsigned_abs());
        sweep.most("ms after the limit", took("hangs").saturating_sub(400));
        is_in_order(&world);
        case.held();
    }
}
