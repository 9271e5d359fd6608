//! Does anything of a step outlive it: when it ends, at its limit, when vplan or its supervisor is
//! killed, or when it is a fork bomb?

use super::{
    Tally, World, began, is_documented, patiently, side_by_side, status, supervisors, wait,
};
use crate::faults::escape::{PATTERNS, PRELUDE};
use crate::faults::harness::{Guard, eventually, exists};
use crate::faults::sweep::{Case, Sweep};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

/// Those that the bench has tried, and some that need a whole vplan.
const MORE: &[(&str, &str)] = &[
    (
        "deaf",
        "$SIG{$_} = 'IGNORE' for grep { !/^(KILL|STOP|CHLD|CLD|NUM.*)$/ } keys %SIG; my $all = POSIX::SigSet->new; $all->fillset; \
         POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all); spawn(\\&rest); leave()",
    ),
    (
        "flood_after",
        "spawn(sub { POSIX::setsid(); while (1) { syswrite STDOUT, 'x' x 65536 } }); leave()",
    ),
    (
        "forks_when_asked",
        "$SIG{TERM} = sub { spawn(sub { $SIG{TERM} = 'IGNORE'; POSIX::setsid(); rest() }) for 1..3 }; spawn(\\&rest); leave()",
    ),
];

fn patterns() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    PATTERNS.iter().chain(MORE)
}

/// A world with these patterns as checks; each says in a file of its own name that it is in place.
fn world(names: &[&str], lingers: bool, limit: &str) -> World {
    let mut checks = String::new();
    let subreaper = if cfg!(target_arch = "x86_64") {
        157
    } else {
        167
    };
    for name in names {
        let linger = u8::from(lingers);
        checks += &format!(
            "check {name} {{\n  run perl {name}.pl {linger} {subreaper}\n  env BENCH={name}\n  timeout {limit}\n}}\n"
        );
    }
    let world = World::new(&checks);
    for (name, body) in patterns().filter(|(name, _)| names.contains(name)) {
        world.project.mkdir(name);
        world
            .project
            .write(format!("{name}.pl"), format!("{PRELUDE}{body}"));
    }
    world
}

fn ready(world: &World, name: &str) -> bool {
    exists(&world.project.path(name).join("ready"))
}

/// Every pattern at once, each of whose leaders ends by itself: nobody is left at the moment in
/// which vplan ends.
#[test]
fn every_pattern_when_it_ends() {
    let mut sweep = Sweep::new("faults::world::escape::every_pattern_when_it_ends", 1, 100);
    let names: Vec<&str> = patterns()
        .map(|(name, _)| *name)
        .filter(|name| *name != "stops_parent")
        .collect();
    while let Some(case) = sweep.next() {
        let world = world(&names, false, "60s");
        let mut vplan = Guard(world.run(&["--keep-going", "-j", "4"]).spawn().unwrap());
        let exit = wait(&mut vplan);
        assert_eq!(world.survivors(), Vec::<String>::new());
        assert!(
            is_documented(exit) && exit != Some(0),
            "{exit:?}: {}",
            world.said()
        );
        let report = world.report();
        for step in report["steps"].as_array().unwrap() {
            let name = step["id"].as_str().unwrap();
            if name == "fine" {
                continue;
            }
            assert!(ready(&world, name), "{name}: {step}");
            assert!(step["leaked"].as_u64() > Some(0), "{name}: {step}");
            let end = if name == "kills_parent" {
                "errored"
            } else {
                "passed"
            };
            assert_eq!(step["status"], end, "{name}: {step}");
            sweep.count("steps that left something behind", 1);
            sweep.most(
                "processes left behind by one",
                step["leaked"].as_u64().unwrap(),
            );
            sweep.most("ms of a step", step["durationMs"].as_u64().unwrap());
        }
        world.is_honest(exit);
        case.held();
    }
    assert!(sweep.seen("steps that left something behind") > 0);
}

/// Every pattern at once, none of which ends: all of it is gone when vplan ends.
#[test]
fn every_pattern_at_its_limit() {
    const LIMIT: u64 = 1_000;
    const BUDGET: u64 = 2_000;
    let mut sweep = Sweep::new("faults::world::escape::every_pattern_at_its_limit", 1, 50);
    let names: Vec<&str> = patterns().map(|(name, _)| *name).collect();
    while let Some(case) = sweep.next() {
        let jobs = names.len().to_string();
        let (world, exit, times) = patiently(|times| {
            let world = world(&names, true, &format!("{}ms", LIMIT * times));
            let budget = format!("{}ms", BUDGET * times);
            let mut vplan = Guard(
                world
                    .run(&["--keep-going", "-j", &jobs, "--budget", &budget])
                    .spawn()
                    .unwrap(),
            );
            let exit = wait(&mut vplan);
            assert_eq!(world.survivors(), Vec::<String>::new());
            let report = world.report();
            let most = 2 * names.iter().filter(|name| ready(&world, name)).count() > names.len();
            (most && names.iter().all(|name| began(&report, name))).then_some((world, exit, times))
        });
        assert!(
            is_documented(exit) && exit != Some(0),
            "{exit:?}: {}",
            world.said()
        );
        let report = world.report();
        for name in &names {
            let step = report["steps"]
                .as_array()
                .unwrap()
                .iter()
                .find(|s| s["id"] == *name)
                .unwrap();
            let end = status(&report, name);
            assert!(
                end == "timed_out" || *name == "kills_parent" && end == "errored",
                "{name}: {step}"
            );
            sweep.count(
                if ready(&world, name) {
                    "stopped in place"
                } else {
                    "stopped before they were in place"
                },
                1,
            );
            if end == "timed_out" {
                // Who does not listen has the grace that the budget leaves.
                let after = step["durationMs"]
                    .as_u64()
                    .unwrap()
                    .saturating_sub(LIMIT * times);
                let heeds = step["signal"] == "SIGTERM";
                let grace = (BUDGET - LIMIT) * times;
                sweep.most(
                    "ms after the limit",
                    if heeds {
                        after
                    } else {
                        after.saturating_sub(grace)
                    },
                );
            }
        }
        world.is_honest(exit);
        case.held();
    }
    assert!(sweep.seen("stopped in place") > sweep.seen("stopped before they were in place"));
}

/// SIGKILL at any moment: vplan, one of its supervisors, or all of them at once, which is the
/// documented limit.
#[test]
fn killed_at_any_moment() {
    let mut sweep = Sweep::new("faults::world::escape::killed_at_any_moment", 6, 1_000);
    side_by_side(&mut sweep, 6, kill);
    let (of_vplan, of_a_supervisor) = (
        sweep.seen("kills of vplan"),
        sweep.seen("kills of a supervisor"),
    );
    assert!(of_vplan + of_a_supervisor + sweep.seen("kills of both") > 0);
    assert!(sweep.seen("patterns in place when the kill came") > 0);
}

fn kill(case: &mut Case) -> Tally {
    let mut tally = Tally::default();
    let who = case.number % 4;
    let steady = |name: &&str| {
        !["kills_parent", "stops_parent"].contains(name) && (who != 3 || !name.starts_with("rotor"))
    };
    let all: Vec<&str> = patterns().map(|(name, _)| *name).filter(steady).collect();
    let mut names: Vec<&str> = Vec::new();
    while names.len() < 3 {
        let name = *case.one_of(&all);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let world = world(&names, true, "1s");
    let mut vplan = Guard(
        world
            .run(&["--keep-going", "-j", "3", "--budget", "2s"])
            .spawn()
            .unwrap(),
    );
    let pid = Pid::from_child(&vplan.0);
    // Not to wait for anything, but to be killed at another point each time: on the way there, or
    // once all are in place.
    if case.below(2) == 0 {
        std::thread::sleep(Duration::from_millis(case.below(600)));
    } else {
        eventually("in place, or over", || {
            names.iter().all(|name| ready(&world, name)) || vplan.0.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(case.below(30)));
    }
    let in_place = names.iter().filter(|name| ready(&world, name)).count();
    (0..in_place).for_each(|_| tally.count("patterns in place when the kill came"));
    let all = supervisors(pid);
    match who {
        0 | 1 => {
            vplan.0.kill().unwrap();
            wait(&mut vplan);
            world.nobody_is_left();
            assert!(world.recorded().is_none_or(|run| !run.is_pass()));
            tally.count("kills of vplan");
        }
        2 => {
            if all.is_empty() {
                tally.count("moments without a supervisor");
            } else {
                // It has no other parent that could have taken its number from it.
                let _ = kill_process(*case.one_of(&all), Signal::KILL);
                tally.count("kills of a supervisor");
            }
            let exit = wait(&mut vplan);
            assert_eq!(world.survivors(), Vec::<String>::new(), "{names:?}");
            assert!(
                is_documented(exit) && exit != Some(0),
                "{exit:?}: {}",
                world.said()
            );
            world.is_honest(exit);
        }
        _ => {
            for pid in &all {
                let _ = kill_process(*pid, Signal::KILL);
            }
            vplan.0.kill().unwrap();
            wait(&mut vplan);
            tally.count("kills of both");
            if !world.survivors().is_empty() {
                tally.count("kills of both that something survived (documented)");
            }
            world.clear_away();
            assert!(world.recorded().is_none_or(|run| !run.is_pass()));
        }
    }
    if case.number.is_multiple_of(8) {
        world.works();
    }
    tally
}

/// A PID namespace of its own, so that nobody else is hurt.
const UNSHARE: [&str; 5] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
/// Two users who have no other process, one for each test that needs one: what a parallel test
/// starts as the same user would count against its limit.
fn user(test: u32) -> u32 {
    20_000 + (std::process::id() * 2 + test) % 40_000
}

/// The words before a command that is run as this user.
fn as_user(user: u32) -> [String; 4] {
    [
        "setpriv".to_owned(),
        format!("--reuid={user}"),
        format!("--regid={user}"),
        "--clear-groups".to_owned(),
    ]
}

fn has_namespaces() -> bool {
    Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .args(as_user(user(0)))
        .args([env!("CARGO_BIN_EXE_vplan"), "--version"])
        .output()
        .is_ok_and(|o| o.status.success())
}

/// Runs the one check `NAME.pl` in a PID namespace as a user who may have so many processes; a
/// budget that is shorter than the grace behind a limit cuts that. Gives how vplan ended; nothing
/// may be left then.
fn alone(
    name: &str,
    body: &str,
    (user, processes): (u32, u32),
    limit_ms: u64,
    budget_ms: u64,
) -> (World, Option<i32>) {
    patiently(|times| {
        let (world, exit) = alone_once(
            name,
            body,
            (user, processes),
            limit_ms * times,
            budget_ms * times,
        );
        world.project.exists("ready").then_some((world, exit))
    })
}

fn alone_once(
    name: &str,
    body: &str,
    (user, processes): (u32, u32),
    limit_ms: u64,
    budget_ms: u64,
) -> (World, Option<i32>) {
    let world = World::new(&format!(
        "check {name} {{\n  run perl {name}.pl 1 0\n  timeout {limit_ms}ms\n}}\n"
    ));
    world
        .project
        .write(format!("{name}.pl"), format!("{PRELUDE}{body}"));
    // Its own world is the user's, also what is above it.
    let own = Command::new("chown")
        .args(["-R", &format!("{user}:{user}")])
        .arg(world.project.parent())
        .status();
    assert!(own.unwrap().success());
    std::fs::set_permissions(
        world.project.parent(),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    // The shell is the namespace's first process: with it and the listing itself, nobody else is
    // there when vplan has ended.
    let script = "\"$@\"; code=$?; set -- /proc/[0-9]*; echo \"left $#\" >&2; exit $code";
    let limited = format!("--nproc={processes}");
    let as_user = as_user(user);
    let wrap = [
        &UNSHARE[..],
        &["sh", "-c", script, "sh"],
        &as_user.each_ref().map(String::as_str),
        &["prlimit", &limited],
    ]
    .concat();
    let mut vplan = Guard(
        world
            .through(
                &wrap,
                &["--keep-going", "--budget", &format!("{budget_ms}ms")],
            )
            .spawn()
            .unwrap(),
    );
    let exit = wait(&mut vplan);
    assert!(
        world.project.read("../err").contains("left 1\n"),
        "{name}: {}",
        world.said()
    );
    (world, exit)
}

/// As many processes as the user may have.
#[test]
fn fork_bombs() {
    let mut sweep = Sweep::new("faults::world::escape::fork_bombs", 1, 20);
    if !has_namespaces() {
        return sweep.cannot("no PID namespace and no other user for this one");
    }
    let bombs = [
        (
            "bomb",
            "while (1) { fork; select undef, undef, undef, 0.002 }",
        ),
        (
            "sessions",
            "while (1) { POSIX::setsid() unless fork; select undef, undef, undef, 0.002 }",
        ),
        // Where there is no room for a chain, there is one chain less.
        (
            "chains",
            "for (1..20) { my $p = fork; if (defined $p && !$p) { while (1) { POSIX::_exit(0) if fork } } } rest()",
        ),
    ];
    while let Some(mut case) = sweep.next() {
        let (name, body) = case.one_of(&bombs);
        let (world, exit) = alone(
            name,
            &format!("open my $f, '>', 'ready'; close $f; {body}"),
            (user(0), 150),
            700,
            2_000,
        );
        assert_eq!(exit, Some(43), "{name}: {}", world.said());
        let report = world.report();
        assert_eq!(status(&report, name), "timed_out", "{name}: {report}");
        let bomb = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["id"] == *name)
            .unwrap();
        sweep.count(&format!("of the kind {name}"), 1);
        sweep.most(
            "ms until a bomb was gone, after its limit",
            bomb["durationMs"].as_u64().unwrap().saturating_sub(700),
        );
        case.held();
    }
}

/// Chains of processes that fork and exit, more of them than there are processors: whoever is to
/// end them hardly gets to run, and while it waits for thousands of dead ones and looks at them,
/// each chain is long somewhere else.
#[test]
fn crowds_of_chains() {
    let mut sweep = Sweep::new("faults::world::escape::crowds_of_chains", 4, 40);
    if !has_namespaces() {
        return sweep.cannot("no PID namespace and no other user for this one");
    }
    while let Some(case) = sweep.next() {
        let (chains, hop) = if case.number.is_multiple_of(2) {
            (32, "")
        } else {
            (8, "POSIX::setsid()")
        };
        // With its supervisor gone, all of a step is vplan's own to end.
        let bereft = case.number % 4 > 1;
        let end = if bereft {
            "kill 'KILL', getppid; rest()"
        } else {
            "POSIX::_exit(0)"
        };
        let body = format!(
            "pipe(my $begin, my $all) or die;
            sub chain {{ my ($own) = @_; POSIX::setsid() if $own; while (1) {{ POSIX::_exit(0) if fork; {hop} }} }}
            for my $n (1..{chains}) {{ spawn(sub {{ close $all; <$begin>; chain($n % 2) }}) }}
            open my $f, '>', 'ready'; close $f; close $all; {end}"
        );
        let (world, exit) = alone("chains", &body, (user(1), 3_000), 60_000, 60_000);
        let report = world.report();
        let (code, seen) = if bereft {
            (40, "errored")
        } else {
            (0, "passed")
        };
        assert_eq!(
            (exit, status(&report, "chains")),
            (Some(code), seen),
            "{report}"
        );
        let step = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["id"] == "chains")
            .unwrap();
        assert!(
            bereft || step["leaked"].as_u64().is_some_and(|n| n > 0),
            "{step}"
        );
        sweep.most(
            "ms until chains were gone",
            step["durationMs"].as_u64().unwrap(),
        );
        case.held();
    }
}
