//! What if there is no memory, no process, no descriptor to be had?

use super::{Tally, World, is_documented, side_by_side, wait};
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;
use crate::support::tree::is_there;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// One check that leaves somebody behind, one after it that says that it was reached, one that
/// always runs.
const STEPS: &str = "check leaves: sh -c \"sleep 600 & echo hi\"\ncheck after {\n  run touch reached\n  needs leaves\n}\n\
                     check always {\n  run true\n  always\n}\n";

/// What holds whatever was lacking: nobody is left, the exit code is honest, what is said is said,
/// and the next run works.
fn withstood(world: &World, exit: Option<i32>, tally: &mut Tally, may_die: bool) {
    world.nobody_is_left();
    let said = world.said();
    if exit.is_none() || exit == Some(127) || exit == Some(134) || exit == Some(139) {
        // The loader, or the system, or an allocation that failed: nothing that vplan could have
        // said something about.
        assert!(may_die, "{exit:?}: {said}");
        assert!(world.recorded().is_none_or(|run| !run.is_pass()));
        tally.count("not even begun, or aborted");
    } else {
        assert!(is_documented(exit), "{exit:?}: {said}");
        world.is_honest(exit);
        assert!(
            !said.contains("vplan::internal") && !said.contains("panicked"),
            "{said}"
        );
        if exit == Some(0) {
            assert!(world.project.exists("reached"), "{said}");
            tally.count("passed");
        } else {
            assert!(
                said.contains("error[") || said.contains("\"reason\""),
                "nothing said: {said}"
            );
            tally.count("said what was lacking");
        }
    }
}

#[test]
fn descriptors() {
    let mut sweep = Sweep::new("faults::world::limits::descriptors", 8, 124);
    side_by_side(&mut sweep, 2, |case| {
        let mut tally = Tally::default();
        // All from 3 to 64, twice: what is open when may differ.
        let limit = if std::env::var_os("VPLAN_FAULTS_PERCENT").is_some() {
            3 + case.number % 62
        } else {
            3 + case.below(30)
        };
        let world = World::new(STEPS);
        let mut vplan = world.through(
            &["prlimit", &format!("--nofile={limit}")],
            &["--keep-going"],
        );
        let exit = wait(&mut Guard(vplan.spawn().unwrap()));
        withstood(&world, exit, &mut tally, limit < 6);
        if case.number.is_multiple_of(4) {
            world.works();
        }
        tally
    });
    assert!(sweep.seen("said what was lacking") > 0);
}

/// From what is hardly enough to load the program to what is enough for everything.
#[test]
fn memory() {
    let mut sweep = Sweep::new("faults::world::limits::memory", 10, 200);
    // Where does it begin to work at all? Half an interval at a time, in KiB.
    let world = World::new("");
    let (mut low, mut high) = (4 << 10, 8 << 20);
    while high - low > 256 {
        let middle = (low + high) / 2;
        let version = Command::new("prlimit")
            .arg(format!("--as={}", middle << 10))
            .args([env!("CARGO_BIN_EXE_vplan"), "--version"])
            .output();
        if version.unwrap().status.success() {
            high = middle
        } else {
            low = middle
        }
    }
    drop(world);
    side_by_side(&mut sweep, 2, |case| {
        let mut tally = Tally::default();
        let limit = low - 512 + case.below(12 << 10);
        let world = World::new(STEPS);
        let mut vplan = world.through(
            &["prlimit", &format!("--as={}", limit << 10)],
            &["--keep-going"],
        );
        let exit = wait(&mut Guard(vplan.spawn().unwrap()));
        // An allocation that fails is an abort.
        let aborted = exit.is_none();
        if exit == Some(1) {
            // A runtime without memory says so in its own words; it is still no pass.
            world.nobody_is_left();
            world.is_honest(exit);
            tally.count("ended by a fault of its own");
        } else {
            withstood(&world, exit, &mut tally, true);
        }
        if aborted || case.number.is_multiple_of(8) {
            world.works();
        }
        tally
    });
    assert!(sweep.seen("passed") > 0 || !sweep.whole());
}

/// As another user, who may have only so many processes.
#[test]
fn processes() {
    let mut sweep = Sweep::new("faults::world::limits::processes", 6, 48);
    let program = env!("CARGO_BIN_EXE_vplan");
    let as_nobody = |user: u64| {
        vec![
            format!("--reuid={user}"),
            format!("--regid={user}"),
            "--clear-groups".to_owned(),
        ]
    };
    let possible = Command::new("setpriv")
        .args(as_nobody(64_200))
        .args([program, "--version"])
        .output();
    if !is_there("prlimit") || !possible.is_ok_and(|o| o.status.success()) {
        return sweep.cannot("it needs to be root, prlimit and setpriv");
    }
    side_by_side(&mut sweep, 2, |case| {
        let mut tally = Tally::default();
        let limit = case.number % 16;
        // Side by side they count as one, so each is another user.
        let user = 64_200 + case.number % 64;
        let world = World::new(STEPS);
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
        let user = as_nobody(user);
        let limit = format!("--nproc={limit}");
        let wrap: Vec<&str> = ["setpriv"]
            .into_iter()
            .chain(user.iter().map(String::as_str))
            .chain(["prlimit", &limit])
            .collect();
        let exit = wait(&mut Guard(
            world.through(&wrap, &["--keep-going"]).spawn().unwrap(),
        ));
        withstood(&world, exit, &mut tally, false);
        tally
    });
    assert!(sweep.seen("said what was lacking") > 0);
}
