//! Does anything of a service outlive vplan, and is a check ever passed whose service was lost?

use super::{Tally, World, is_documented, side_by_side, status, supervisors, wait};
use crate::faults::harness::{Guard, eventually, exists};
use crate::faults::sweep::{Case, Sweep};
use crate::support::process::state;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// A service with a child that has left it and is deaf. It says how far it is, and takes a while to
/// become ready and to end.
const SERVE: &str = r#"use POSIX ();
sub mark { open(my $f, '>', "../$_[0]") or die; print $f $$; close $f }
sub pause { select undef, undef, undef, 0.1 }
if (fork == 0) { POSIX::setsid(); $SIG{$_} = 'IGNORE' for qw(TERM INT HUP QUIT); sleep 1 while 1 }
$SIG{TERM} = sub { mark('stopping'); pause(); POSIX::_exit(0) };
mark('started'); pause(); mark('up'); sleep 1 while 1
"#;

/// A check beside it, which passes once it may.
const USE: &str = r#"
sub mark { open(my $f, '>', "../$_[0]") or die; close $f }
mark('began'); until (-e '../go') { select undef, undef, undef, 0.01 } mark('ended')
"#;

/// What the files of [`SERVE`] and [`USE`] are called, in the order in which they appear.
const MOMENTS: [&str; 5] = ["started", "up", "began", "ended", "stopping"];

fn world() -> World {
    let world = World::new("");
    let contract = format!(
        "vplan 1\ndefaults {{\n  pass-env WORLD_MARK\n}}\n\
         service up {{\n  run perl serve.pl\n  ready run test -e ../up\n  env {}\n}}\n\
         check uses {{\n  run perl use.pl\n  with up\n}}\ncheck fine: true\n",
        world.mark
    );
    world
        .project
        .write("contracts/verify.vplan", contract)
        .write("serve.pl", SERVE)
        .write("use.pl", USE);
    world
}

fn has(world: &World, name: &str) -> bool {
    exists(&world.project.path("..").join(name))
}

/// SIGKILL at any moment between the start of a service and its end: vplan, one of the supervisors,
/// all of them, or all and vplan at once, which is the documented limit.
#[test]
fn killed_beside_a_service() {
    let mut sweep = Sweep::new("faults::world::served::killed_beside_a_service", 12, 1_000);
    side_by_side(&mut sweep, 4, kill);
    let kills = ["vplan", "supervisors", "vplan and all supervisors"];
    let kills = kills.map(|who| sweep.seen(&format!("kills of {who}")));
    // A case that is tried again is of one kind.
    let is_one_case = kills.iter().sum::<u64>() == 1;
    assert!(is_one_case || kills.iter().all(|n| *n > 0), "{kills:?}");
}

fn kill(case: &mut Case) -> Tally {
    let mut tally = Tally::default();
    let world = world();
    let moment = usize::try_from(case.number % 6).unwrap();
    let who = (case.number + case.number / 6) % 4;
    // At this moment the check can go on only after the kill.
    let holds = MOMENTS.get(moment) == Some(&"began");
    let go = || {
        world.project.write("../go", "");
    };
    if !holds {
        go();
    }
    let mut vplan = Guard(world.run(&["--keep-going"]).spawn().unwrap());
    let pid = Pid::from_child(&vplan.0);
    match MOMENTS.get(moment) {
        Some(name) => {
            eventually("it came to that moment", || has(&world, name));
            // Another point behind it each time.
            std::thread::sleep(Duration::from_millis(case.below(40)));
            tally.count(&format!("kills after `{name}`"));
        }
        None => std::thread::sleep(Duration::from_millis(case.below(1_000))),
    }
    let all = supervisors(pid);
    let killed = match who {
        0 => Vec::new(),
        1 if all.is_empty() => Vec::new(),
        1 => vec![*case.one_of(&all)],
        _ => all.clone(),
    };
    // They have no other parent that could have taken their numbers from them.
    for pid in &killed {
        let _ = kill_process(*pid, Signal::KILL);
    }
    // The check goes on behind its service's death, not only behind the signal of it.
    eventually("they are dead", || killed.iter().all(|pid| is_dead(*pid)));
    let may_be_lost = !killed.is_empty() && has(&world, "ended");
    let is_vplan = matches!(who, 0 | 3);
    if is_vplan {
        vplan.0.kill().unwrap();
    }
    go();
    let exit = wait(&mut vplan);
    match who {
        0 => {
            world.nobody_is_left();
            eventually("no supervisor is left", || {
                !all.iter().any(|pid| is_supervisor(*pid))
            });
            tally.count("kills of vplan");
        }
        3 => {
            tally.count("kills of vplan and all supervisors");
            world.clear_away();
        }
        _ => {
            assert_eq!(world.survivors(), Vec::<String>::new(), "{}", world.said());
            assert!(is_documented(exit), "{exit:?}: {}", world.said());
            tally.count("kills of supervisors");
            // What the check ran beside was lost, or the check itself.
            if holds && killed.len() == all.len() {
                assert_eq!(exit, Some(5), "{}", world.said());
                assert_eq!(status(&world.report(), "uses"), "errored");
                tally.count("checks that lost their service");
            }
        }
    }
    is_honest(&world, exit, may_be_lost);
    if case.number.is_multiple_of(8) {
        world.works();
    }
    tally
}

/// Whether a process has closed its files: it is a zombie, or no more.
fn is_dead(pid: Pid) -> bool {
    state(pid).is_none_or(|state| matches!(state, 'Z' | 'X'))
}

fn is_supervisor(pid: Pid) -> bool {
    std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid()))
        .is_ok_and(|command| command.starts_with(b"vplan-superv"))
}

/// The record can be read, and is one of a pass only if the check had come to its end, and its service
/// too, unless that was killed when nothing needed it any more.
fn is_honest(world: &World, exit: Option<i32>, may_be_lost: bool) {
    world.is_honest(exit);
    world.project.run(&["runs"]).exits(0);
    let Some(recorded) = world.recorded() else {
        assert_ne!(exit, Some(0), "{}", world.said());
        return;
    };
    if recorded.is_pass() {
        assert!(
            has(world, "ended") && (may_be_lost || has(world, "stopping")),
            "a false pass: {recorded:?}"
        );
        let run = world.runs().pop().unwrap();
        let report = std::fs::read(run.join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["verdict"], "passed", "{report}");
    } else {
        let standing = world.project.run(&["status", "--require", "verified"]);
        assert_ne!(standing.exit, Some(0), "{}", standing.out());
    }
}
