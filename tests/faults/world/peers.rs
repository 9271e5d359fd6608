//! What do other runners leave of the same steps? (G24) Not a test: `cargo test --test main faults::world::peers -- --ignored
//! --nocapture` prints a table of those that are on the PATH, and says which are not. `VPLAN_FAULTS_PERCENT=100`: three rounds.

use super::{Tally, World, side_by_side, wait};
use crate::faults::escape::{PATTERNS, PRELUDE};
use crate::faults::harness::{Guard, exists};
use crate::faults::sweep::Sweep;
use crate::support::tree::is_there;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What happens to the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing: the step's leader ends.
    End,
    /// The step's time is up.
    Limit,
    Interrupt,
    Kill,
}

const FAULTS: [(Fault, &str); 4] = [
    (Fault::End, "its end"),
    (Fault::Limit, "time limit"),
    (Fault::Interrupt, "SIGINT"),
    (Fault::Kill, "SIGKILL of the runner"),
];

/// A runner: its program, and the command that runs `perl step.pl LINGER SUBREAPER` in a world; none where it has no time limit.
type Peer = (&'static str, fn(&World, &str, Fault) -> Option<Vec<String>>);

fn words(text: &str) -> Option<Vec<String>> {
    Some(text.split(' ').map(str::to_owned).collect())
}

const PEERS: &[Peer] = &[
    ("vplan", |world, step, fault| {
        let limit = if fault == Fault::Limit { "1s" } else { "60s" };
        let contract = format!(
            "vplan 1\ndefaults {{\n  pass-env WORLD_MARK\n}}\ncheck step {{\n  run {step}\n  timeout {limit}\n}}\n"
        );
        world.project.write("contracts/verify.vplan", contract);
        words(&format!(
            "{} run --changed-none --budget {}",
            env!("CARGO_BIN_EXE_vplan"),
            if fault == Fault::Limit { "2s" } else { "60s" }
        ))
    }),
    ("timeout", |_, step, fault| {
        words(&format!("timeout -k 1 {} {step}", if fault == Fault::Limit { "1" } else { "60" }))
    }),
    ("make", |world, step, fault| {
        world.project.write("Makefile", format!("all:\n\t{step}\n"));
        words("make").filter(|_| fault != Fault::Limit)
    }),
    ("ninja", |world, step, fault| {
        world.project.write("build.ninja", format!("rule r\n  command = {step}\nbuild all: r\n"));
        words("ninja").filter(|_| fault != Fault::Limit)
    }),
    ("just", |world, step, fault| {
        world.project.write("justfile", format!("all:\n  {step}\n"));
        words("just").filter(|_| fault != Fault::Limit)
    }),
    ("prek", |world, step, fault| {
        let hook = format!(
            "{{id: step, name: step, language: system, entry: {step}, pass_filenames: false, always_run: true}}"
        );
        world.project.write(".pre-commit-config.yaml", format!("repos: [{{repo: local, hooks: [{hook}]}}]\n"));
        world.project.git(&["add", "-A"]);
        words("prek run --all-files").filter(|_| fault != Fault::Limit)
    }),
    ("watchexec", |_, step, fault| {
        words(&format!("watchexec --no-vcs-ignore -r -- {step}"))
            .filter(|_| matches!(fault, Fault::Interrupt | Fault::Kill))
    }),
    ("cargo-nextest", |world, step, fault| {
        let limit = if fault == Fault::Limit {
            "slow-timeout = {period = \"1s\", terminate-after = 1, grace-period = \"1s\"}"
        } else {
            ""
        };
        world.project.write(".config/nextest.toml", format!("[profile.default]\n{limit}\n"));
        world
            .project
            .write("Cargo.toml", "[package]\nname = \"peer\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n");
        let words: Vec<&str> = step.split(' ').collect();
        let test = format!(
            "#[test]\nfn step() {{ std::process::Command::new({:?}).args({:?}).status().unwrap(); }}\n",
            words[0],
            &words[1..]
        );
        world.project.write("tests/step.rs", test).write("src/lib.rs", "");
        self::words(&format!("cargo-nextest nextest run --offline --target-dir {}", target().display()))
    }),
];

/// One build of the same test for all rounds: its path is in the environment of the compiler only.
fn target() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers")
}

#[test]
#[ignore = "a comparison, not a test; takes minutes"]
fn kill_table() {
    let mut table = String::from(
        "| runner | fault | survived, of patterns | the runner hung | which survived |\n|---|---|---|---|---|\n",
    );
    for (name, how) in PEERS {
        if *name != "vplan" && !is_there(name) {
            writeln!(table, "| {name} | not found on this machine | | | |").unwrap();
            continue;
        }
        for (fault, shown) in FAULTS {
            let mut sweep =
                Sweep::new("faults::world::peers::kill_table", PATTERNS.len() as u64, 3 * PATTERNS.len() as u64);
            // A build takes the processor and a lock of its own.
            let many = if *name == "cargo-nextest" { 1 } else { 4 };
            let mut possible = true;
            side_by_side(&mut sweep, many, |case| {
                let pattern = &PATTERNS[usize::try_from(case.number).unwrap() % PATTERNS.len()];
                one(how, fault, pattern).unwrap_or_default()
            });
            let tried = sweep.seen("tried");
            possible &= tried > 0;
            if !possible {
                writeln!(table, "| {name} | {shown} | has none | | |").unwrap();
                continue;
            }
            let which: Vec<&str> =
                PATTERNS.iter().map(|(n, _)| *n).filter(|n| sweep.seen(&format!("survived: {n}")) > 0).collect();
            writeln!(
                table,
                "| {name} | {shown} | {} of {tried} | {} | {} |",
                sweep.seen("survived"),
                sweep.seen("hung"),
                which.join(" ")
            )
            .unwrap();
        }
        println!("{name} done");
    }
    println!("{table}");
}

fn one(
    how: &fn(&World, &str, Fault) -> Option<Vec<String>>,
    fault: Fault,
    (name, body): &(&str, &str),
) -> Option<Tally> {
    let mut tally = Tally::default();
    // Both at once is beyond every runner that is no init.
    if fault == Fault::Kill && ["kills_parent", "stops_parent"].contains(name)
        || fault == Fault::End && *name == "stops_parent"
    {
        return Some(tally);
    }
    let world = World::new("");
    world.project.write("step.pl", format!("{PRELUDE}{body}"));
    let ready = world.project.path("ready");
    let step = format!(
        "perl {} {} {}",
        world.project.path("step.pl").display(),
        u8::from(fault != Fault::End),
        if cfg!(target_arch = "x86_64") { 157 } else { 167 }
    );
    // The directory is one word in the environment, which every runner hands on but vplan, which is asked to.
    let step = step.replacen("perl", &format!("env BENCH={} perl", world.project.root().display()), 1);
    let command = how(&world, &step, fault)?;
    // A session of its own, as from a terminal: what is signalled is the runner alone.
    let mut runner = Command::new("setsid");
    runner.args(&command).current_dir(world.project.root()).env("WORLD_MARK", world.mark.split('=').nth(1).unwrap());
    runner.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut runner = Guard(runner.spawn().unwrap());
    tally.count("tried");
    let until = |limit: u64, holds: &mut dyn FnMut() -> bool| {
        let start = Instant::now();
        while !holds() && start.elapsed() < Duration::from_secs(limit) {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until(60, &mut || exists(&ready) || runner.0.try_wait().unwrap().is_some());
    let pid = Pid::from_child(&runner.0);
    match fault {
        Fault::End | Fault::Limit => {}
        Fault::Interrupt => drop(kill_process(pid, Signal::INT).is_ok()),
        Fault::Kill => drop(kill_process(pid, Signal::KILL).is_ok()),
    }
    until(15, &mut || runner.0.try_wait().unwrap().is_some());
    if runner.0.try_wait().unwrap().is_none() {
        tally.count("hung");
        runner.0.kill().unwrap();
    }
    wait(&mut runner);
    until(2, &mut || world.survivors().is_empty());
    if !world.survivors().is_empty() {
        tally.count("survived");
        tally.count(&format!("survived: {name}"));
    }
    world.clear_away();
    Some(tally)
}
