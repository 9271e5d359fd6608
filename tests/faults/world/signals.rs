//! Does it stay in order when it is stopped, continued, or hailed with signals?

use super::{Tally, World, is_documented, side_by_side, status, supervisors, wait};
use crate::faults::harness::{Guard, eventually};
use crate::faults::sweep::{Case, Sweep};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;
use vplan::run::journal::JournalEnd;

fn pause(ms: u64) {
    // A random moment of a fault, not a wait for something.
    std::thread::sleep(Duration::from_millis(ms));
}

fn duration(world: &World, id: &str) -> u64 {
    let report = world.report();
    let step = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["id"] == id)
        .unwrap()
        .clone();
    step["durationMs"].as_u64().unwrap()
}

/// SIGSTOP, unlike SIGTSTP, is not heard: the clock goes on, and so do the steps. When vplan goes
/// on, the deadline holds.
#[test]
fn stopped_and_continued() {
    let mut sweep = Sweep::new("faults::world::signals::stopped_and_continued", 4, 60);
    side_by_side(&mut sweep, 4, stop);
    assert!(sweep.seen("stopped") > 0);
}

fn stop(case: &mut Case) -> Tally {
    const LIMIT: u64 = 900;
    let mut tally = Tally::default();
    let what = case.number % 4;
    let (script, limit) = match what {
        // Never ends, and vplan or its supervisor is stopped.
        0 | 1 => (": > ready; exec sleep 600", LIMIT),
        // Ends, and has all the time of the world; or ends early, and is heard late.
        2 => (": > ready; sleep 0.3; : > over", 600_000),
        _ => (": > ready; : > over", LIMIT),
    };
    let world = World::new(&format!(
        "check step {{\n  run sh -c \"{script}\"\n  timeout {limit}ms\n}}\n"
    ));
    let mut vplan = Guard(world.run(&["--budget", "20m"]).spawn().unwrap());
    let pid = Pid::from_child(&vplan.0);
    eventually("the step runs", || {
        world.project.exists("ready") || vplan.0.try_wait().unwrap().is_some()
    });
    let whom = if what == 1 {
        supervisors(pid).first().copied()
    } else {
        Some(pid)
    };
    pause(if what == 3 { 0 } else { case.below(500) });
    let stopped = whom.is_some_and(|whom| kill_process(whom, Signal::STOP).is_ok());
    if stopped {
        tally.count("stopped");
    }
    if what >= 2 {
        // On a busy machine its limit may come first.
        eventually("the step is over", || {
            world.project.exists("over") || vplan.0.try_wait().unwrap().is_some()
        });
    }
    pause(if what == 3 {
        LIMIT + 200
    } else {
        case.below(1_500)
    });
    if what != 1 {
        // It waits for a supervisor that somebody else has stopped only until there is something to
        // tell it.
        let _ = kill_process(pid, Signal::CONT);
    }
    let exit = wait(&mut vplan);
    assert_eq!(world.survivors(), Vec::<String>::new());
    world.is_honest(exit);
    let report = world.report();
    let took = duration(&world, "step");
    if what == 3 && exit == Some(0) {
        assert!(
            took < LIMIT,
            "{took} ms: a pass that took longer than its limit"
        );
        tally.count("heard before vplan stood still");
    } else if what == 2 {
        assert_eq!(
            (exit, status(&report, "step")),
            (Some(0), "passed"),
            "{what}: {report}"
        );
        tally.count("ended while vplan stood still");
    } else {
        // What is heard of after the limit counts as too late, whenever it was: no pass took longer
        // than its limit.
        assert_eq!(
            (exit, status(&report, "step")),
            (Some(43), "timed_out"),
            "{what}: {report}"
        );
        assert!(took >= LIMIT / 2, "{took} ms: before its limit");
        tally.most(
            "ms after the limit, with up to 2000 of them stopped",
            took.saturating_sub(LIMIT),
        );
    }
    tally
}

/// A thousand signals of all kinds that ask, in no order: one orderly end, and then silence.
#[test]
fn a_storm_that_asks() {
    let mut sweep = Sweep::new("faults::world::signals::a_storm_that_asks", 2, 40);
    side_by_side(&mut sweep, 2, |case| storm(case, false));
    assert!(sweep.seen("signals") > 0);
}

/// Signals that end whoever does not expect them, at vplan and its supervisors alike: nobody is
/// left, nothing has passed.
#[test]
fn a_storm_that_ends() {
    let mut sweep = Sweep::new("faults::world::signals::a_storm_that_ends", 2, 40);
    side_by_side(&mut sweep, 2, |case| storm(case, true));
    assert!(sweep.seen("signals") > 0);
}

fn storm(case: &mut Case, ends: bool) -> Tally {
    const ASKS: &[Signal] = &[
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::WINCH,
        Signal::CHILD,
        Signal::CONT,
        Signal::TSTP,
        Signal::URG,
    ];
    const ENDS: &[Signal] = &[
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
        Signal::PIPE,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::INT,
    ];
    let mut tally = Tally::default();
    // Deaf, in a session of its own; so that only force ends it.
    let script = "trap \"\" INT TERM HUP QUIT; setsid sleep 600 & : > ready; wait; sleep 600";
    let checks = format!(
        "check deaf {{\n  run sh -c '{script}'\n  timeout 10m\n}}\ncheck always {{\n  run touch always\n  always\n}}\n"
    );
    let world = World::new(&checks);
    let mut vplan = Guard(world.run(&[]).spawn().unwrap());
    let pid = Pid::from_child(&vplan.0);
    eventually("the step runs", || world.project.exists("ready"));
    let kinds = if ends { ENDS } else { ASKS };
    let own = supervisors(pid);
    let mut sent = 0;
    for _ in 0..1_000 {
        if vplan.0.try_wait().unwrap().is_some() {
            break;
        }
        let to = if ends && case.below(2) == 0 && !own.is_empty() {
            *case.one_of(&own)
        } else {
            pid
        };
        // A supervisor that is gone is waited for by vplan at its end only, so its number is its
        // own.
        sent += u64::from(kill_process(to, *case.one_of(kinds)).is_ok());
        if case.below(8) == 0 {
            std::thread::sleep(Duration::from_micros(case.below(300)));
        }
    }
    // Whoever was told to pause is to go on; whoever was not told to end, ends.
    let end = eventually("vplan ends", || {
        let _ = kill_process(pid, Signal::TERM);
        let _ = kill_process(pid, Signal::CONT);
        vplan.0.try_wait().unwrap().is_some()
    });
    let exit = wait(&mut vplan);
    world.nobody_is_left();
    world.is_honest(exit);
    tally.counts.push(("signals".to_owned(), sent));
    tally.most(
        "ms until the end after the storm",
        u64::try_from(end.as_millis()).unwrap(),
    );
    if ends {
        assert!(world.recorded().is_some_and(|run| !run.is_pass()));
        tally.count(if exit.is_none() {
            "ended by a signal"
        } else {
            "ended in order"
        });
    } else if exit.is_none() {
        // The record was closed; what comes after that ends vplan by itself.
        let run = world.recorded().unwrap();
        assert!(
            matches!(
                run.end,
                JournalEnd::Finished {
                    exit_code: 130 | 143,
                    ..
                }
            ),
            "{run:?}: {}",
            world.said()
        );
        tally.count("ended in order, and by a signal at its very end");
    } else {
        assert!(
            is_documented(exit) && matches!(exit, Some(130 | 143)),
            "{exit:?}: {}",
            world.said()
        );
        let report = world.report();
        assert_eq!(
            (&report["verdict"], &report["exitCode"]),
            (&"cancelled".into(), &exit.unwrap().into()),
            "{report}"
        );
        tally.count("ended in order");
    }
    if case.number.is_multiple_of(4) {
        world.works();
    }
    tally
}
