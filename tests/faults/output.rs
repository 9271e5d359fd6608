//! What does a step see, and what is seen of it?

use super::harness::{Bench, Seen};
use crate::support::process::Bounded as _;
use std::os::unix::fs::PermissionsExt as _;

fn one(argv: &[&str]) -> Seen {
    let mut bench = Bench::new();
    bench.step(argv);
    bench.run().remove(0)
}

fn text(seen: &Seen) -> String {
    String::from_utf8(seen.evidence.stdout.text()).unwrap()
}

#[test]
fn ends() {
    for (script, exit, signal, out, err) in [
        (
            "echo hi; echo oops >&2; exit 7",
            Some(7),
            None,
            "hi\n",
            "oops\n",
        ),
        ("kill -s SEGV $$", None, Some("SIGSEGV"), "", ""),
        ("kill -s USR2 $$", None, Some("SIGUSR2"), "", ""),
        ("exit 255", Some(255), None, "", ""),
        ("printf 'no newline'", Some(0), None, "no newline", ""),
    ] {
        let evidence = one(&["sh", "-c", script]).evidence;
        assert_eq!(
            (evidence.exit, evidence.signal.as_deref()),
            (exit, signal),
            "{script}"
        );
        assert_eq!(
            (&evidence.stdout.text()[..], &evidence.stderr.text()[..]),
            (out.as_bytes(), err.as_bytes()),
            "{script}"
        );
        assert_eq!(
            (evidence.leaked, evidence.timed_out, &evidence.spawn_error),
            (0, false, &None),
            "{script}"
        );
    }
}

#[test]
fn words_arrive_as_they_are() {
    let words = [
        "", " a  b ", "*", "$HOME", "`id`", "a\nb", "größe", "-n", "'\"\\",
    ];
    let mut argv = vec![
        "perl",
        "-e",
        "print join('|', map { unpack('H*', $_) } @ARGV)",
    ];
    argv.push("--");
    argv.extend(words);
    let hex: Vec<String> = words
        .iter()
        .map(|w| w.bytes().map(|b| format!("{b:02x}")).collect())
        .collect();
    assert_eq!(text(&one(&argv)), hex.join("|"));
}

#[test]
fn the_name_it_was_called_by() {
    assert_eq!(
        text(&one(&["sh", "-c", "cat /proc/$$/cmdline | head -c 3"])),
        "sh\0"
    );
}

#[test]
fn what_cannot_be_started() {
    let mut bench = Bench::new();
    let root = bench.job.root.clone();
    let write = |name: &str, text: &str, mode: u32| {
        let path = root.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write("plain", "#!/bin/sh\n", 0o644);
    write("no-interpreter", "#!/nowhere/sh\n", 0o755);
    write("no-program", "echo hi\n", 0o755);
    write("works", "#!/bin/sh\necho \"$0 $1\"\n", 0o755);
    write("busy", "#!/bin/sh\n", 0o755);
    std::fs::create_dir(root.join("sub")).unwrap();
    std::os::unix::fs::symlink("/tmp", root.join("out")).unwrap();
    let long = "x".repeat(200 * 1024);
    let busy = std::fs::OpenOptions::new()
        .append(true)
        .open(root.join("busy"))
        .unwrap();
    for (argv, dir, code) in [
        (&["no-such-program-here"][..], ".", "PROGRAM_NOT_FOUND"),
        (&["./none"], ".", "ENOENT"),
        (&["./plain"], ".", "EACCES"),
        (&["./sub"], ".", "EACCES"),
        (&["./no-interpreter"], ".", "ENOENT"),
        (&["./no-program"], ".", "ENOEXEC"),
        (&["./plain/x"], ".", "ENOTDIR"),
        (&["./busy"], ".", "ETXTBSY"),
        (&["true", &long], ".", "E2BIG"),
        (&["true"], "none", "NO_SUCH_DIRECTORY"),
        (&["true"], "works", "NO_SUCH_DIRECTORY"),
        (&["true"], "out", "DIRECTORY_OUTSIDE"),
        (&["../works", "well"], "sub", ""),
    ] {
        bench.step(argv).dir = dir.to_owned();
        let seen = bench.run().pop().unwrap();
        bench.job.steps.clear();
        let error = seen.evidence.spawn_error.as_ref();
        assert_eq!(
            error.map_or("", |e| &e.code),
            code,
            "{argv:.40?}: {error:?}"
        );
        if code.is_empty() {
            assert_eq!(text(&seen), "../works well\n");
        }
    }
    drop(busy);
    let interpreter = one_in(&bench, &["./no-interpreter"]);
    assert!(interpreter.contains("`/nowhere/sh`"), "{interpreter}");
}

fn one_in(bench: &Bench, argv: &[&str]) -> String {
    let mut other = Bench::new();
    other.job.root.clone_from(&bench.job.root);
    other.step(argv);
    other.run().remove(0).evidence.spawn_error.unwrap().message
}

/// Two mebibytes of environment are more than the system takes.
#[test]
fn too_much_environment() {
    let mut bench = Bench::new();
    let step = bench.step(&["true"]);
    for i in 0..40 {
        step.env.insert(format!("LONG_{i}"), "x".repeat(100 * 1024));
    }
    assert_eq!(
        bench.run()[0].evidence.spawn_error.as_ref().unwrap().code,
        "E2BIG"
    );
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(text(&one(&["sh", "-c", "cat; echo $?"])), "0\n");
}

/// Also when vplan has a terminal, a step has none, and cannot type into it.
#[test]
fn there_is_no_terminal() {
    let mut bench = Bench::new();
    bench.step(&[
        "perl",
        "-e",
        r#"open(my $t, '+<', '/dev/tty') ? print "a terminal" : print $! + 0; print -t STDIN ? " tty" : "" "#,
    ]);
    let driver = bench.command();
    let words: Vec<String> = std::iter::once(driver.get_program())
        .chain(driver.get_args())
        .map(|w| format!("'{}'", w.to_str().unwrap()))
        .collect();
    // `script` gives what it runs a terminal of its own; it could be opened there:
    let control = format!(
        "perl -e 'open(my $t, q(+<), q(/dev/tty)) or exit 9; exit 0' && exec {}",
        words.join(" ")
    );
    let mut script = std::process::Command::new("script");
    script
        .args(["-qec", &control, "/dev/null"])
        .envs(driver.get_envs().filter_map(|(n, v)| Some((n, v?))));
    script
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null());
    assert!(
        script.spawn().unwrap().ended().success(),
        "the control case"
    );
    const ENXIO: &str = "6";
    assert_eq!(text(&bench.seen()[0]), ENXIO);
}

/// Descriptors, ignored signals, a strange umask, closed standard streams: none of it gets through.
#[test]
fn nothing_is_inherited_by_accident() {
    let mut bench = Bench::new();
    // `ls` shows its own look at the directory too: one descriptor more.
    bench.step(&[
        "sh",
        "-c",
        "grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; cut -d' ' -f5 /proc/$$/stat; echo $$; ls /proc/self/fd",
    ]);
    for wrap in [
        r#"exec "$@""#,
        r#"exec 3</dev/null 7</dev/null 9>/dev/null; trap '' INT TERM HUP USR1 PIPE CHLD; umask 777; exec "$@""#,
        r#"exec "$@" <&- >&- 2>&-"#,
    ] {
        // With umask 777 the driver cannot open its own files twice; these are there before.
        std::fs::write(&bench.job.out, "").unwrap();
        std::fs::write(bench.job.out.with_extension("status"), "").unwrap();
        assert!(
            bench.through_shell(wrap).spawn().unwrap().ended().success(),
            "{wrap}"
        );
        let shown = text(&bench.seen()[0]);
        let lines: Vec<&str> = shown.lines().collect();
        // glibc's posix_spawn leaves its own two signals, 32 and 33, ignored; nobody else may use
        // them.
        let ignored = u64::from_str_radix(lines[1].strip_prefix("SigIgn:\t").unwrap(), 16).unwrap();
        assert_eq!(ignored & !(3 << 31), 0, "{wrap}: {shown}");
        assert_eq!(
            (lines[0], lines[2]),
            ("SigBlk:\t0000000000000000", "0022"),
            "{wrap}"
        );
        assert_eq!(lines[3], lines[4], "{wrap}: it leads a group");
        assert_eq!(lines[5..], ["0", "1", "2", "3"], "{wrap}");
        std::fs::remove_file(bench.job.logs.join("s0.1.log")).unwrap();
    }
}

/// A torrent on both streams: all of it counted, the ends exact, the log cut, the memory small.
#[test]
fn a_torrent() {
    const MIB: u64 = 1 << 20;
    let mut bench = Bench::new();
    bench.job.max_output = 8 * MIB;
    bench.step(&[
        "perl",
        "-e",
        r#"$| = 1; my $x = 'x' x 65536; print STDOUT "first\n"; for (1..2048) { syswrite STDOUT, $x; syswrite STDERR, $x } print STDERR "last\n""#,
    ]);
    let seen = bench.run().remove(0);
    let evidence = &seen.evidence;
    assert_eq!(evidence.exit, Some(0));
    assert_eq!(
        (evidence.stdout.total, evidence.stderr.total),
        (128 * MIB + 6, 128 * MIB + 5)
    );
    assert!(evidence.stdout.head.as_bytes().starts_with(b"first\nxxx"));
    assert!(evidence.stderr.tail.as_bytes().ends_with(b"xxxlast\n"));
    for captured in [&evidence.stdout, &evidence.stderr] {
        assert_eq!(
            (
                captured.head.as_bytes().len(),
                captured.tail.as_bytes().len()
            ),
            (65_536, 65_536)
        );
    }
    let log = bench.log(0);
    let mark = b"\n[vplan: cut here, after 8388608 bytes]\n";
    assert_eq!(log.len() as u64, 8 * MIB + mark.len() as u64);
    assert!(log.ends_with(mark));
    let index = std::fs::read_to_string(bench.job.logs.join("s0.1.log.index")).unwrap();
    let bytes: u64 = index.lines().map(|l| l[2..].parse::<u64>().unwrap()).sum();
    assert_eq!(bytes, log.len() as u64, "the index covers the log");
    // Generous: this is an unoptimised test binary. What counts is that it is not 256 MiB.
    assert!(bench.peak() < 64 * 1024, "{} KiB", bench.peak());
}

/// A step that is silent has no log.
#[test]
fn silence() {
    let mut bench = Bench::new();
    bench.step(&["true"]);
    bench.step(&["echo", "hi"]);
    let seen = bench.run();
    assert_eq!(
        (seen[0].log.as_deref(), seen[1].log.as_deref()),
        (None, Some("s1.1.log"))
    );
    assert_eq!(bench.log(1), b"hi\n");
}

/// Whoever holds the pipes open after the step's end is swept and cannot hang the run.
#[test]
fn held_pipes() {
    let seen = one(&["sh", "-c", "sleep 600 & echo hi"]);
    assert_eq!((text(&seen).as_str(), seen.evidence.leaked), ("hi\n", 1));
    assert!(
        seen.evidence.duration_ms < 60_000,
        "{} ms",
        seen.evidence.duration_ms
    );
}

#[test]
fn secrets() {
    let mut bench = Bench::new();
    bench.job.grants = vec!["MY_TOKEN".to_owned()];
    let script = r#"env; cat /proc/$PPID/environ; for c in o p e n - s e s a m e; do printf $c; sleep 0.001; done >&2"#;
    bench.step(&["sh", "-c", script]).pass_env =
        vec!["MY_TOKEN".to_owned(), "OTHER_SECRET".to_owned()];
    let mut command = bench.command();
    command
        .env("MY_TOKEN", "open-sesame")
        .env("OTHER_SECRET", "abracadabra")
        .env("UNRELATED_THING", "hocus-pocus");
    assert!(command.spawn().unwrap().ended().success());
    let seen = bench.seen().remove(0);
    assert_eq!(seen.withheld, ["OTHER_SECRET"]);
    let out = text(&seen);
    assert!(
        out.contains("MY_TOKEN=***\n") && out.contains("VPLAN_TEST_MARK=") && out.contains("PATH="),
        "{out}"
    );
    let kept = [
        bench.log(0),
        seen.evidence.stdout.text(),
        seen.evidence.stderr.text(),
    ]
    .concat();
    let kept = String::from_utf8_lossy(&kept);
    for hidden in [
        "open-sesame",
        "abracadabra",
        "hocus-pocus",
        "VPLAN_TEST_JOB",
    ] {
        assert!(!kept.contains(hidden), "{hidden}: {kept}");
    }
    assert_eq!(seen.evidence.stderr.text(), b"***");
}

/// Several steps side by side, and one supervisor for each.
#[test]
fn side_by_side() {
    let mut bench = Bench::new();
    bench.job.jobs = 4;
    for i in 0..40 {
        bench.step(&["sh", "-c", &format!("echo {i}; exit {i}")]);
    }
    let mut seen = bench.run();
    seen.sort_by_key(|s| s.step);
    for (i, seen) in seen.iter().enumerate() {
        assert_eq!(
            (seen.evidence.exit, text(seen)),
            (Some(i as i32), format!("{i}\n"))
        );
    }
    assert_eq!(seen.len(), 40);
    assert_eq!(bench.survivors(), Vec::<String>::new());
}
