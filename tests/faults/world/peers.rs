//! What do other runners leave of the same steps? Not a test: `cargo test --test main
//! faults::world::peers -- --ignored --nocapture` prints a table of those that are on the PATH, and
//! says which are not. `VPLAN_FAULTS_PERCENT=100`: three rounds.

use super::{Tally, World, side_by_side, wait};
use crate::faults::escape::{PATTERNS, PRELUDE};
use crate::faults::harness::{Guard, eventually, exists};
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

/// A runner: its program, and the command that runs `perl step.pl LINGER SUBREAPER` in a world;
/// none where it has no time limit.
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
        words(&format!(
            "timeout -k 1 {} {step}",
            if fault == Fault::Limit { "1" } else { "60" }
        ))
    }),
    ("make", |world, step, fault| {
        world.project.write("Makefile", format!("all:\n\t{step}\n"));
        words("make").filter(|_| fault != Fault::Limit)
    }),
    ("ninja", |world, step, fault| {
        world.project.write(
            "build.ninja",
            format!("rule r\n  command = {step}\nbuild all: r\n"),
        );
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
        world.project.write(
            ".pre-commit-config.yaml",
            format!("repos: [{{repo: local, hooks: [{hook}]}}]\n"),
        );
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
        world.project.write(
            ".config/nextest.toml",
            format!("[profile.default]\n{limit}\n"),
        );
        world.project.write(
            "Cargo.toml",
            "[package]\nname = \"peer\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n",
        );
        let words: Vec<&str> = step.split(' ').collect();
        let test = format!(
            "#[test]\nfn step() {{ std::process::Command::new({:?}).args({:?}).status().unwrap(); }}\n",
            words[0],
            &words[1..]
        );
        world
            .project
            .write("tests/step.rs", test)
            .write("src/lib.rs", "");
        self::words(&format!(
            "cargo-nextest nextest run --offline --target-dir {}",
            target().display()
        ))
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
            let mut sweep = Sweep::new(
                "faults::world::peers::kill_table",
                PATTERNS.len() as u64,
                3 * PATTERNS.len() as u64,
            );
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
            let which: Vec<&str> = PATTERNS
                .iter()
                .map(|(n, _)| *n)
                .filter(|n| sweep.seen(&format!("survived: {n}")) > 0)
                .collect();
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

/// The first process of the namespace: starts the runner in a session of its own, as from a
/// terminal, so that what is signalled is the runner alone; takes in orphans; says when the runner
/// has ended.
const INIT: &str = r#"
use POSIX (); my $runner = fork;
if ($runner == 0) { $SIG{INT} = 'DEFAULT'; $ENV{WORLD_MARK} = delete $ENV{MARK}; POSIX::setsid(); exec @ARGV; POSIX::_exit(127) }
while (1) {
    my $who = waitpid(-1, 0);
    if ($who == $runner) { open(my $f, '>', $ENV{ENDED}); close $f }
    select(undef, undef, undef, 0.01) if $who < 0;
}
"#;

fn oldest_child(of: Pid) -> Option<Pid> {
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", of.as_raw_pid())).ok()?;
    Pid::from_raw(children.split_ascii_whitespace().next()?.parse().ok()?)
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
        if cfg!(target_arch = "x86_64") {
            157
        } else {
            167
        }
    );
    // The directory is one word in the environment, which every runner hands on but vplan, which is
    // asked to.
    let step = step.replacen(
        "perl",
        &format!("env BENCH={} perl", world.project.root().display()),
        1,
    );
    let command = how(&world, &step, fault)?;
    // A PID namespace of their own: chains of processes that fork and exit cannot be caught
    // otherwise, and would fill the machine.
    let mut inside = Command::new("unshare");
    inside
        .args([
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "perl",
            "-e",
            INIT,
        ])
        .args(&command);
    inside
        .current_dir(world.project.root())
        .env("ENDED", world.project.path("ended"));
    inside.env("MARK", world.mark.split('=').nth(1).unwrap());
    inside
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut inside = Guard(inside.spawn().unwrap());
    tally.count("tried");
    let until = |limit: u64, holds: &mut dyn FnMut() -> bool| {
        let start = Instant::now();
        while !holds() && start.elapsed() < Duration::from_secs(limit) {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let ended = || exists(&world.project.path("ended"));
    let mut runner = None;
    until(60, &mut || {
        runner = runner.or_else(|| oldest_child(oldest_child(Pid::from_child(&inside.0))?));
        runner.is_some() && exists(&ready) || ended()
    });
    let signal = |signal| {
        let _ = runner
            .filter(|_| !ended())
            .map(|pid| kill_process(pid, signal));
    };
    match fault {
        Fault::End | Fault::Limit => {}
        Fault::Interrupt => signal(Signal::INT),
        Fault::Kill => signal(Signal::KILL),
    }
    until(15, &mut || ended());
    if !ended() {
        tally.count("hung");
        signal(Signal::KILL);
        until(15, &mut || ended());
    }
    until(2, &mut || world.survivors().is_empty());
    if !world.survivors().is_empty() {
        tally.count("survived");
        tally.count(&format!("survived: {name}"));
    }
    inside.0.kill().unwrap();
    wait(&mut inside);
    // Nobody can be left in a namespace whose first process is gone.
    eventually("they are gone", || world.survivors().is_empty());
    Some(tally)
}
