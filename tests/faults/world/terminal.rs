//! What if the terminal is gone, if nobody reads, if a step would type into it?

use super::{Tally, World, side_by_side};
use crate::faults::harness::{Guard, eventually};
use crate::faults::sweep::{Case, Sweep};
use crate::support::process::Bounded as _;
use std::process::{Command, Stdio};
use vplan::run::journal::JournalEnd;

/// vplan in a terminal of its own, which `script` gives it.
fn in_a_terminal(world: &World, before: &str, after: &str, args: &[&str]) -> Command {
    let plain = world.wrapped(&[], args);
    let words = std::iter::once(plain.get_program()).chain(plain.get_args());
    let words: Vec<String> = words
        .map(|w| format!("'{}'", w.to_str().unwrap()))
        .collect();
    let mut script = Command::new("script");
    script.args([
        "-qec",
        &format!("{before} {} {after}", words.join(" ")),
        "/dev/null",
    ]);
    script
        .current_dir(world.project.root())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
    // Whoever has nothing to type ends what is typed; this one keeps silent.
    script
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    script
}

/// The window is closed: whoever holds the other side of the terminal is killed.
#[test]
fn the_terminal_is_gone() {
    let mut sweep = Sweep::new("faults::world::terminal::the_terminal_is_gone", 2, 40);
    side_by_side(&mut sweep, 4, |case: &mut Case| {
        let mut tally = Tally::default();
        let deaf = if case.number.is_multiple_of(2) {
            "trap \"\" HUP TERM; "
        } else {
            ""
        };
        let script = format!("{deaf}setsid sleep 600 & : > ready; wait; sleep 600");
        let world = World::new(&format!(
            "check stays {{\n  run sh -c '{script}'\n  timeout 10m\n}}\ncheck always {{\n  run touch always\n  always\n}}\n"
        ));
        let mut terminal = Guard(
            in_a_terminal(
                &world,
                "exec",
                "",
                &["run", "--changed-none", "--budget", "30s"],
            )
            .spawn()
            .unwrap(),
        );
        eventually("the step runs", || world.project.exists("ready"));
        terminal.0.kill().unwrap();
        terminal.0.ended();
        eventually("vplan and all of its steps are gone", || {
            world.survivors().is_empty()
        });
        let run = world.recorded().unwrap();
        assert!(
            matches!(run.end, JournalEnd::Finished { exit_code: 143, .. }),
            "{run:?}"
        );
        assert!(world.project.exists("always"), "an orderly end");
        assert!(world.runs()[0].join("report.json").exists());
        tally.count("ended in order, with a whole record");
        world.works();
        tally
    });
    assert!(sweep.seen("ended in order, with a whole record") > 0);
}

/// Whoever reads stops reading after a line, or a number of bytes: the run goes on, and its end is
/// by its verdict.
#[test]
fn a_reader_that_leaves() {
    let mut sweep = Sweep::new("faults::world::terminal::a_reader_that_leaves", 3, 30);
    let mut checks = String::new();
    for i in 0..12 {
        checks += &format!(
            "check c{i}: perl -e \"print qq(words\\n) x 400; exit {}\"\n",
            i % 2
        );
    }
    side_by_side(&mut sweep, 2, |case: &mut Case| {
        let mut tally = Tally::default();
        let world = World::new(&checks);
        let how = [&[][..], &["--format", "json"], &["--events", "-"]]
            [usize::try_from(case.number).unwrap() % 3];
        let plain = world.wrapped(
            &[],
            &[&["run", "--changed-none", "--keep-going"], how].concat(),
        );
        let left = case.below(3_000);
        let script = format!("{{ \"$@\" 2>&1; echo $? > ../code; }} | head -c {left}");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script, "sh"])
            .arg(plain.get_program())
            .args(plain.get_args())
            .current_dir(world.project.root());
        shell
            .env_clear()
            .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
        shell
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        shell.status().unwrap();
        assert_eq!(
            world.project.read("../code").trim(),
            "40",
            "{how:?}, after {left} bytes"
        );
        let run = world.recorded().unwrap();
        assert!(
            matches!(run.end, JournalEnd::Finished { exit_code: 40, .. }),
            "{run:?}"
        );
        tally.count("ended by their verdict");
        tally
    });
    assert!(sweep.seen("ended by their verdict") > 0);
}

/// What a step types into its caller's terminal would be the next command there.
#[test]
fn nothing_is_typed() {
    let sweep_name = "faults::world::terminal::nothing_is_typed";
    let mut sweep = Sweep::new(sweep_name, 1, 8);
    // TIOCSTI on all that it has and all that it can find of its own; 1 for each that took it.
    const TYPES: &str = r#"my $typed = 0;
        for my $name ('/dev/tty', '/dev/stdin', '/dev/stdout', '/dev/stderr', '/proc/self/fd/0', '/proc/self/fd/1', '/proc/self/fd/2') {
            open(my $f, '+<', $name) or next;
            for my $byte ('i', 'd', "\n") { my $b = $byte; $typed++ if ioctl($f, 0x5412, $b) }
        }
        for my $f (*STDIN, *STDOUT, *STDERR) { my $b = 'x'; $typed++ if ioctl($f, 0x5412, $b) }
        open(my $out, '>', $ARGV[0]) or die; print $out $typed; close $out;"#;
    // What waits to be read in the terminal.
    const WAITS: &str = r#"my $n = pack('i', 0); ioctl(STDIN, 0x541B, $n) or die; open(my $f, '>', $ARGV[0]) or die; print $f unpack('i', $n);"#;
    while let Some(case) = sweep.next() {
        let world = World::new("check types: perl types.pl typed\n");
        world
            .project
            .write("types.pl", TYPES)
            .write("waits.pl", WAITS);
        // The control: the same program, with the terminal.
        let control = "stty -icanon -echo; perl types.pl control; perl waits.pl waiting;";
        let ends = |mut script: Command| {
            let mut script = Guard(script.spawn().unwrap());
            let _silent = script.0.stdin.take();
            script.0.ended().success()
        };
        assert!(ends(in_a_terminal(
            &world,
            control,
            "; true",
            &["--version"]
        )));
        let possible = world.project.read("control").trim() != "0"
            && world.project.read("waiting").trim() != "0";
        let typing = in_a_terminal(
            &world,
            "stty -icanon -echo;",
            "; perl waits.pl waiting",
            &["run", "--changed-none"],
        );
        assert!(ends(typing));
        assert_eq!(world.project.read("typed").trim(), "0");
        assert_eq!(world.project.read("waiting").trim(), "0");
        sweep.count(
            if possible {
                "typed nothing, where it was possible"
            } else {
                "typed nothing (this system lets nobody)"
            },
            1,
        );
        assert!(world.recorded().unwrap().is_pass());
        case.held();
    }
}
