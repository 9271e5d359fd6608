//! Does anything of a step outlive it? Not when it ends, not when its time is up, not when vplan is
//! killed.

use super::harness::{Bench, Guard, PATIENCE, Seen, eventually, exists};
use crate::support::process::{Bounded as _, state};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::Duration;

/// Perl, for its plain fork. `$linger` keeps the leader where it is; `ready` tells the test that
/// everybody is in place.
pub(super) const PRELUDE: &str = r#"
use POSIX (); use strict; use warnings;
our $linger = shift; our $subreaper = shift; our $exit = $subreaper == 157 ? 60 : 93;
sub rest { sleep 1 while 1 }
sub ready { open(my $f, '>', "$ENV{BENCH}/ready") or die; close $f }
sub spawn { my ($code) = @_; my $p = fork; die unless defined $p; if ($p == 0) { $code->(); POSIX::_exit(0) } return $p }
sub leave { ready(); rest() if $linger; POSIX::_exit(0) }
"#;

/// Each has beaten some runner that kills a process group.
pub(super) const PATTERNS: &[(&str, &str)] = &[
    ("bg_exit", "spawn(\\&rest); leave()"),
    ("setsid_child", "spawn(sub { POSIX::setsid(); rest() }); leave()"),
    ("daemon", "spawn(sub { POSIX::setsid(); spawn(\\&rest) }); wait; leave()"),
    (
        "daemon_deaf",
        "$SIG{$_} = 'IGNORE' for qw(TERM INT HUP QUIT); spawn(sub { POSIX::setsid(); spawn(\\&rest) }); wait; leave()",
    ),
    ("setpgid", "spawn(sub { setpgrp(0, 0); rest() }); leave()"),
    ("stopped", "my $p = spawn(sub { kill 'STOP', $$; rest() }); waitpid($p, POSIX::WUNTRACED()); leave()"),
    (
        "own_subreaper",
        "spawn(sub { syscall($subreaper, 36, 1, 0, 0, 0); spawn(sub { POSIX::setsid(); spawn(\\&rest) }); rest() }); leave()",
    ),
    ("kills_parent", "spawn(sub { POSIX::setsid(); rest() }); ready(); kill 'KILL', getppid; rest() if $linger"),
    ("stops_parent", "spawn(sub { POSIX::setsid(); rest() }); kill 'STOP', getppid; ready(); rest()"),
    ("terms_parent", "spawn(\\&rest); kill $_, getppid for qw(TERM INT HUP QUIT USR1 PIPE ALRM TSTP); leave()"),
    (
        // Its first thread has ended, so that it looks dead.
        "headless",
        "my $p = spawn(sub { require threads; threads->create(\\&rest)->detach; syscall($exit, 0) });
        while (1) { open my $f, '<', \"/proc/$p/stat\"; last if <$f> =~ /\\) Z /; select undef, undef, undef, 0.001 } leave()",
    ),
    (
        "forktree",
        "sub tree { my ($d) = @_; for (1..3) { spawn(sub { POSIX::setsid() if $d % 2; tree($d - 1); rest() }) if $d > 0 } } tree(4); leave()",
    ),
    ("rotor", "sub rotor { while (1) { POSIX::_exit(0) if fork } } spawn(\\&rotor); leave()"),
    (
        "rotors",
        "sub rotor { POSIX::setsid(); while (1) { POSIX::_exit(0) if fork } } spawn(\\&rotor) for 1..8; leave()",
    ),
];

fn bench(body: &str, linger: bool) -> Bench {
    let mut bench = Bench::new();
    let subreaper = if cfg!(target_arch = "x86_64") {
        "157"
    } else {
        "167"
    };
    let script = format!("{PRELUDE}{body}");
    bench.step(&[
        "perl",
        "-e",
        &script,
        if linger { "1" } else { "" },
        subreaper,
    ]);
    bench
}

#[test]
fn nothing_outlives_a_step_that_ends() {
    for (name, body) in PATTERNS {
        if *name == "stops_parent" {
            continue; // Its supervisor cannot notice an end; what helps is the time limit, below.
        }
        let bench = bench(body, false);
        let seen = bench.run();
        assert_eq!(bench.survivors(), Vec::<String>::new(), "{name}");
        let evidence = &seen[0].evidence;
        assert!(exists(&bench.path("ready")), "{name}: {evidence:?}");
        assert!(evidence.leaked > 0, "{name}: {evidence:?}");
        if *name == "kills_parent" {
            assert_eq!(
                evidence.spawn_error.as_ref().unwrap().code,
                "SUPERVISOR_LOST"
            );
        } else {
            assert_eq!(evidence.exit, Some(0), "{name}: {evidence:?}");
        }
    }
}

/// Runs to its limit what must be in place before it: where the machine is busy, once more with a
/// longer limit.
fn at_its_limit(make: impl Fn() -> Bench) -> (Bench, Vec<Seen>) {
    let mut limit_ms = 1_500;
    loop {
        let mut bench = make();
        bench.job.steps[0].limit_ms = limit_ms;
        let seen = bench.run();
        if exists(&bench.path("ready")) || limit_ms > PATIENCE.as_millis() as u64 {
            return (bench, seen);
        }
        limit_ms *= 8;
    }
}

#[test]
fn nothing_outlives_its_time_limit() {
    for (name, body) in PATTERNS {
        let (bench, seen) = at_its_limit(|| {
            let mut bench = bench(body, true);
            bench.job.gentle = *name != "stops_parent";
            bench
        });
        assert_eq!(bench.survivors(), Vec::<String>::new(), "{name}");
        assert!(exists(&bench.path("ready")), "{name}: not in place in time");
        let evidence = &seen[0].evidence;
        if *name == "kills_parent" {
            assert!(evidence.spawn_error.is_some(), "{name}");
        } else {
            assert!(
                evidence.timed_out && evidence.signal.is_some(),
                "{name}: {evidence:?}"
            );
            assert_eq!(
                evidence.leaked, 0,
                "{name}: what is stopped with its step has not leaked"
            );
        }
    }
}

#[test]
fn nothing_outlives_vplan() {
    for (name, body) in PATTERNS {
        if *name == "kills_parent" {
            continue; // Killing both is the documented limit.
        }
        let bench = bench(body, true);
        let mut vplan = Guard(bench.command().spawn().unwrap());
        eventually(name, || exists(&bench.path("ready")));
        vplan.0.kill().unwrap();
        vplan.0.ended();
        eventually(&format!("{name}: {:?}", bench.survivors()), || {
            bench.survivors().is_empty()
        });
    }
}

#[test]
fn nothing_outlives_an_interrupted_run() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let body = PATTERNS
            .iter()
            .find(|(name, _)| *name == "daemon_deaf")
            .unwrap()
            .1;
        let bench = bench(body, true);
        let mut vplan = Guard(bench.command().spawn().unwrap());
        eventually("in place", || exists(&bench.path("ready")));
        kill_process(Pid::from_child(&vplan.0), signal).unwrap();
        assert!(vplan.0.ended().success());
        assert_eq!(bench.survivors(), Vec::<String>::new());
        assert_eq!(
            bench.seen()[0].evidence.signal.as_deref(),
            Some("SIGKILL"),
            "it did not listen"
        );
    }
}

#[test]
fn the_second_interrupt_does_not_wait() {
    let body = PATTERNS
        .iter()
        .find(|(name, _)| *name == "daemon_deaf")
        .unwrap()
        .1;
    let mut bench = bench(body, true);
    bench.job.grace_ms = PATIENCE.as_millis() as u64;
    let mut vplan = Guard(bench.command().spawn().unwrap());
    eventually("in place", || exists(&bench.path("ready")));
    // Two that come at the same moment are one to the system, so the user insists.
    let took = eventually("the end", || {
        let _ = kill_process(Pid::from_child(&vplan.0), Signal::INT);
        vplan.0.try_wait().unwrap().is_some()
    });
    assert!(took < PATIENCE / 2, "{took:?}");
    assert_eq!(bench.survivors(), Vec::<String>::new());
}

/// A storm of signals is two of them: one that asks, one that insists.
#[test]
fn a_storm_of_signals() {
    let mut bench = bench("leave()", true);
    bench.job.grace_ms = PATIENCE.as_millis() as u64;
    let mut vplan = Guard(bench.command().spawn().unwrap());
    eventually("in place", || exists(&bench.path("ready")));
    let storm = [
        Signal::CHILD,
        Signal::WINCH,
        Signal::CONT,
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
    ];
    for signal in storm.into_iter().cycle().take(300) {
        let _ = kill_process(Pid::from_child(&vplan.0), signal);
    }
    assert!(vplan.0.ended().success());
    assert_eq!(bench.seen().len(), 1);
    assert_eq!(bench.survivors(), Vec::<String>::new());
}

/// The tree that is asked to end has the whole grace, also when its leader goes at once.
#[test]
fn the_grace_is_the_whole_tree_s() {
    let (bench, seen) = at_its_limit(|| {
        let mut bench = bench(
            r#"spawn(sub { $SIG{TERM} = sub { open(my $f, '>', "$ENV{BENCH}/cleaned"); close $f; POSIX::_exit(0) }; ready(); rest() }); rest()"#,
            true,
        );
        bench.job.grace_ms = PATIENCE.as_millis() as u64;
        bench
    });
    assert!(exists(&bench.path("ready")));
    assert!(exists(&bench.path("cleaned")), "{:?}", seen[0].evidence);
    assert_eq!(seen[0].evidence.signal.as_deref(), Some("SIGTERM"));
    assert_eq!(bench.survivors(), Vec::<String>::new());
}

/// Suspending vplan suspends what it runs and stops the clock.
#[test]
fn suspended_and_resumed() {
    let beats = r#"open(my $f, '>>', "$ENV{BENCH}/beats") or die; $f->autoflush(1); require IO::Handle;
        spawn(sub { POSIX::setsid(); while (1) { syswrite $f, "x"; select(undef, undef, undef, 0.002) } });
        ready(); select(undef, undef, undef, 0.3); POSIX::_exit(0)"#;
    let mut bench = bench(beats, true);
    bench.job.steps[0].limit_ms = PATIENCE.as_millis() as u64;
    let mut vplan = Guard(bench.command().spawn().unwrap());
    let pid = Pid::from_child(&vplan.0);
    let beats = bench.path("beats");
    let count = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
    eventually("in place", || {
        exists(&bench.path("ready")) && count(&beats) > 0
    });
    kill_process(pid, Signal::TSTP).unwrap();
    let stopped = |pid: Pid| state(pid) == Some('T');
    eventually("vplan stands still", || stopped(pid));
    // Everybody stood still before vplan did. This is how long they are watched, not how long is
    // waited for something.
    let before = count(&beats);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(count(&beats), before, "somebody went on");
    kill_process(pid, Signal::CONT).unwrap();
    assert!(vplan.0.ended().success());
    assert!(count(&beats) > before, "they went on");
    let evidence = &bench.seen()[0].evidence;
    assert_eq!(evidence.exit, Some(0), "{evidence:?}");
    assert_eq!(bench.survivors(), Vec::<String>::new());
}
