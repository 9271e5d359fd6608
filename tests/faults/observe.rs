//! Is what a step does seen, and does it do the same when it is seen? Programs here are plain ones
//! whose calls are known, and perl, which makes any call.

use super::harness::{Bench, Guard, PATIENCE, eventually, exists};
use crate::support::process::{Bounded as _, state};
use crate::support::tree::have;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use vplan::check::observed::{Gap, Observed, Peer, Place, Uses};

/// A bench whose steps are observed, with some files.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.job.observe = true;
    let root = &bench.job.root;
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/a"), "a\n").unwrap();
    fs::write(root.join("src/b"), "b\n").unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    symlink("src/a", root.join("link")).unwrap();
    symlink("link", root.join("chain")).unwrap();
    fs::write(root.join("script"), "#!/bin/sh\nexit 7\n").unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(root.join("script"), executable).unwrap();
    bench
}

/// What was done with a file, in letters.
fn letters(uses: &Uses) -> String {
    [
        (uses.read, 'r'),
        (uses.written, 'w'),
        (uses.listed, 'l'),
        (uses.found, 'f'),
        (uses.missing, 'm'),
    ]
    .into_iter()
    .filter_map(|(is, letter)| is.then_some(letter))
    .collect()
}

/// The files of the repository that were used, but its root, which a shell looks for.
fn inside(observed: &Observed) -> BTreeMap<String, String> {
    let files = observed.files.iter();
    let inside = files.filter_map(|(place, uses)| match place {
        Place::Repository(path) if !path.is_root() => Some((path.to_string(), letters(uses))),
        _ => None,
    });
    inside.collect()
}

fn elsewhere<'o>(observed: &'o Observed, path: &Path) -> Option<&'o Uses> {
    let path = path.canonicalize().unwrap();
    observed
        .files
        .get(&Place::Elsewhere(path.to_str().unwrap().into()))
}

/// What is opened by the number of a call, relative to a folder.
fn openat() -> String {
    let number = if cfg!(target_arch = "x86_64") {
        257
    } else {
        56
    };
    format!(
        "open(my $d, '<', 'src') or die; my $p = 'b'; syscall({number}, fileno($d), $p, 0) >= 0 or die"
    )
}

/// A command, and what is seen of it: paths with the letters of their uses.
type Case<'c> = (&'c [&'c str], &'c [(&'c str, &'c str)]);

#[test]
fn files_are_seen_as_they_are_used() {
    let openat = openat();
    let cases: &[Case<'_>] = &[
        (&["cat", "src/a"], &[("src/a", "r")]),
        (&["test", "-e", "none"], &[("none", "m")]),
        (&["test", "-e", "src/a"], &[("src/a", "f")]),
        (&["test", "-e", "no/ne"], &[("no/ne", "m")]),
        (&["ls", "src"], &[("src", "lf")]),
        (&["./script"], &[("script", "r")]),
        (
            &["cat", "chain"],
            &[("chain", "r"), ("link", "r"), ("src/a", "r")],
        ),
        (
            &["sh", "-c", "cd src; cat b"],
            &[("src", "f"), ("src/b", "r")],
        ),
        (&["sh", "-c", "cat ../root/src/b"], &[("src/b", "r")]),
        (&["sh", "-c", "cat </dev/stdin <src/b"], &[("src/b", "r")]),
        (&["cat", "/proc/self/cwd/src/b"], &[("src/b", "r")]),
        (&["sh", "-c", "echo x >out; cat out"], &[("out", "w")]),
        (&["sh", "-c", "echo x >>log; cat log"], &[("log", "w")]),
        (&["perl", "-e", &openat], &[("src", "l"), ("src/b", "r")]),
        (&["perl", "-e", "readlink 'chain'"], &[("chain", "r")]),
        (
            &["perl", "-e", "open F, '+<', 'out' or die"],
            &[("out", "rw")],
        ),
        (&["perl", "-e", "open F, '>', 'no/ne'"], &[("no/ne", "m")]),
        (
            &[
                "perl",
                "-e",
                "rename 'out', 'new'; open F, '<', 'new' or die",
            ],
            &[("new", "w"), ("out", "rw")],
        ),
        (&["perl", "-e", "rmdir 'none'"], &[("none", "m")]),
        (&["perl", "-e", "rmdir 'empty'"], &[("empty", "w")]),
        (
            &[
                "perl",
                "-e",
                "mkdir 'd'; open F, '>', 'd/x'; rename 'd', 'e'; open F, '<', 'e/x' or die; -e 'e/y'",
            ],
            &[("d", "w"), ("d/x", "w"), ("e", "w")],
        ),
        (
            &[
                "perl",
                "-e",
                "symlink 'src/b', 's'; open F, '<', 's' or die; mkdir 'src'",
            ],
            &[("s", "w"), ("src", "f"), ("src/b", "r")],
        ),
    ];
    let mut bench = bench();
    for (argv, _) in cases {
        bench.step(argv);
    }
    let seen = bench.run();
    for (index, (argv, want)) in cases.iter().enumerate() {
        let observed = bench.observed(index).unwrap();
        let want = want
            .iter()
            .map(|(path, uses)| ((*path).to_owned(), (*uses).to_owned()));
        assert_eq!(inside(&observed), want.collect(), "{argv:?}");
        assert_eq!(observed.gaps, BTreeSet::new(), "{argv:?}");
        let evidence = &seen[index].evidence;
        let exit = match **argv {
            ["./script"] => 7,
            ["test", _, "none" | "no/ne"] => 1,
            _ => 0,
        };
        assert_eq!(evidence.exit, Some(exit), "{argv:?} {evidence:?}");
    }
    let script = bench.observed(5).unwrap();
    let shell = elsewhere(&script, Path::new("/bin/sh")).unwrap();
    assert_eq!(letters(shell), "r", "the interpreter of a script");
    let cat = bench.observed(0).unwrap();
    let place = cat
        .files
        .iter()
        .find(|(place, _)| inside_is(place, "src/a"));
    assert_eq!(place.unwrap().1.programs, BTreeSet::from(["cat".into()]));
    let of_system = |place: &&Place| match place {
        Place::Elsewhere(path) => [&b"/proc/"[..], b"/dev/", b"/sys/"]
            .iter()
            .any(|folder| path.as_bytes().starts_with(folder)),
        Place::Repository(_) => false,
    };
    assert_eq!(cat.files.keys().find(of_system), None);
}

fn inside_is(place: &Place, path: &str) -> bool {
    matches!(place, Place::Repository(inside) if inside.as_bytes() == path.as_bytes())
}

/// The loader of a program is read by the system, without a call.
#[test]
fn loaders_are_seen() {
    let mut bench = bench();
    bench.step(&["true"]);
    bench.run();
    let observed = bench.observed(0).unwrap();
    let is_loader = |place: &Place| match place {
        Place::Elsewhere(path) => {
            let name = path.as_bytes().rsplit(|byte| *byte == b'/').next();
            name.is_some_and(|name| name.starts_with(b"ld-") && !name.ends_with(b".cache"))
        }
        Place::Repository(_) => false,
    };
    assert!(observed.files.keys().any(is_loader), "{observed:?}");
}

#[test]
fn unobserved_steps_leave_nothing() {
    let mut bench = bench();
    bench.job.observe = false;
    bench.step(&["cat", "src/a"]);
    bench.run();
    assert_eq!(bench.observed(0), None);
    assert_eq!(bench.log(0), b"a\n");
}

/// What cannot be started is the same error as without observation.
#[test]
fn a_program_that_does_not_start() {
    let mut told = Vec::new();
    for observe in [false, true] {
        let mut bench = bench();
        bench.job.observe = observe;
        fs::write(bench.job.root.join("broken"), "#!/none\n").unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bench.job.root.join("broken"), executable).unwrap();
        bench.step(&["./broken"]);
        let seen = bench.run();
        told.push(seen[0].evidence.spawn_error.clone().unwrap());
        assert_eq!(bench.observed(0).is_some(), observe);
    }
    assert_eq!(told[0].code, told[1].code);
}

#[test]
fn make_with_a_generated_header() {
    if !have(&["make"]) {
        return;
    }
    let mut bench = bench();
    let rules = "out: gen.h main.c\n\tcat gen.h main.c >out\ngen.h: value\n\tcat value >gen.h\n";
    fs::write(bench.job.root.join("Makefile"), rules).unwrap();
    for name in ["value", "main.c"] {
        fs::write(bench.job.root.join(name), "1\n").unwrap();
    }
    bench.step(&["make"]);
    assert_eq!(bench.run()[0].evidence.exit, Some(0));
    let files = inside(&bench.observed(0).unwrap());
    let reads: Vec<&str> = files
        .iter()
        .filter(|(_, uses)| uses.contains('r'))
        .map(|(path, _)| &**path)
        .collect();
    assert_eq!(reads, ["Makefile", "main.c", "value"], "{files:?}");
    assert!(files["gen.h"].contains('w') && files["out"].contains('w'));
}

#[test]
fn sockets_are_seen() {
    let mut bench = bench();
    let strange = bench.path("strange");
    let _listener = UnixListener::bind(&strange).unwrap();
    let strange = strange.canonicalize().unwrap();
    let own = "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Local => 'own', Listen => 1) or die;
        IO::Socket::UNIX->new(Peer => 'own') or die; my $t = IO::Socket::UNIX->new(Local => \"\\0$$\", Listen => 1) or die;
        IO::Socket::UNIX->new(Peer => \"\\0$$\") or die; IO::Socket::UNIX->new(Peer => '/none/socket');";
    let path = strange.to_str().unwrap();
    let other = format!("use IO::Socket::UNIX; IO::Socket::UNIX->new(Peer => '{path}') or die;");
    let inet = "use Socket; socket(my $t, PF_INET, SOCK_STREAM, 0); connect($t, pack_sockaddr_in(1, inet_aton('127.0.0.1')));
        socket(my $u, PF_INET, SOCK_DGRAM, 0); send($u, 'x', 0, pack_sockaddr_in(2, inet_aton('127.0.0.1')));";
    for script in [own, &other, inet] {
        bench.step(&["perl", "-e", script]);
    }
    let seen = bench.run();
    assert!(seen.iter().all(|s| s.evidence.exit == Some(0)), "{seen:?}");
    let [own, other, inet] = [0, 1, 2].map(|step| bench.observed(step).unwrap());
    assert_eq!(own.gaps, BTreeSet::new());
    assert_eq!(own.peers.len(), 3, "{:?}", own.peers);
    assert_eq!(inside(&own)["own"], "w");
    assert_eq!(other.gaps, BTreeSet::from([Gap::Daemon("perl".into())]));
    assert!(other.peers.contains_key(&Peer::Socket(path.into())));
    let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(|a| Peer::Address(a.to_owned()));
    assert!(inet.peers.keys().eq(&addresses), "{:?}", inet.peers);
    assert_eq!(inet.gaps, BTreeSet::new());
}

/// Calls that no filter sees into are refused, where a program can do without them, or said.
#[test]
fn other_ways_to_open_files() {
    let mut bench = bench();
    let ring =
        "my $p = \"\\0\" x 120; my $r = syscall(425, 1, $p); exit($r == -1 && $!{ENOSYS} ? 0 : 1)";
    bench.step(&["perl", "-e", &format!("use Errno; {ring}")]);
    bench.step(&["perl", "-e", "syscall(0x40000000 + 39)"]);
    let seen = bench.run();
    assert_eq!(seen[0].evidence.exit, Some(0), "{seen:?}");
    let [ring, x32] = [0, 1].map(|step| bench.observed(step).unwrap());
    assert_eq!(ring.gaps, BTreeSet::from([Gap::IoUring("perl".into())]));
    if cfg!(target_arch = "x86_64") {
        assert_eq!(x32.gaps, BTreeSet::from([Gap::OtherCalls("perl".into())]));
    }
}

/// A step that is observed runs vplan with observation: that is not to be had there, and changes
/// nothing else.
#[test]
fn observed_within_an_observed_step() {
    let mut inner = bench();
    inner.step(&["cat", "src/a"]);
    let mut outer = bench();
    let command = inner.command();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let step = outer.step(&words);
    for (name, value) in command.get_envs() {
        let value = value.unwrap().to_str().unwrap().to_owned();
        step.env.insert(name.to_str().unwrap().to_owned(), value);
    }
    let seen = outer.run();
    assert_eq!(seen[0].evidence.exit, Some(0), "{seen:?}");
    assert_eq!(inner.log(0), b"a\n");
    let observed = inner.observed(0).unwrap();
    assert!(
        matches!(observed.gaps.first(), Some(Gap::Unavailable(_))) && observed.files.is_empty(),
        "{observed:?}"
    );
    let around = outer.observed(0).unwrap();
    let read = inner.job.root.join("src/a");
    assert_eq!(elsewhere(&around, &read).map(letters).as_deref(), Some("r"));
}

/// Perl that has eight processes open a file without end; each says when it has done so often.
const STORM: &str = "for my $n (1..8) { next if fork; my $i = 0;
    while (1) { open(my $f, '<', 'src/a') or exit 3; if (++$i == 1250) { open(my $r, '>', \"$ENV{BENCH}/ready$n\") } } }";

fn all_ready(bench: &Bench) -> bool {
    (1..=8).all(|n| exists(&bench.path(&format!("ready{n}"))))
}

#[test]
fn a_storm_of_calls_does_not_delay_a_stop() {
    let mut bench = bench();
    bench.step(&["perl", "-e", &format!("{STORM} sleep 1 while 1")]);
    let mut vplan = Guard(bench.command().spawn().unwrap());
    eventually("10,000 opens", || all_ready(&bench));
    let took = std::time::Instant::now();
    kill_process(Pid::from_child(&vplan.0), Signal::INT).unwrap();
    assert!(vplan.0.ended().success());
    assert!(took.elapsed() < PATIENCE / 2);
    assert_eq!(bench.survivors(), Vec::<String>::new());
    assert_eq!(inside(&bench.observed(0).unwrap())["src/a"], "r");
}

#[test]
fn a_supervisor_that_dies_while_calls_wait() {
    let mut bench = bench();
    let wait =
        "for my $n (1..8) { select(undef, undef, undef, 0.01) until -e \"$ENV{BENCH}/ready$n\" }";
    bench.step(&[
        "perl",
        "-e",
        &format!("{STORM} {wait} kill 'KILL', getppid; sleep 1 while 1"),
    ]);
    let seen = bench.run();
    let error = seen[0].evidence.spawn_error.as_ref().unwrap();
    assert_eq!(error.code, "SUPERVISOR_LOST", "{seen:?}");
    assert_eq!(bench.survivors(), Vec::<String>::new());
    assert_eq!(bench.observed(0), Some(Observed::nothing(Gap::Lost)));
}

/// Stopped and resumed in the middle of it, nothing hangs.
#[test]
fn suspended_in_a_storm() {
    let mut bench = bench();
    bench.step(&["perl", "-e", &format!("{STORM} sleep 1 while 1")]);
    let mut vplan = Guard(bench.command().spawn().unwrap());
    eventually("10,000 opens", || all_ready(&bench));
    let pid = Pid::from_child(&vplan.0);
    kill_process(pid, Signal::TSTP).unwrap();
    eventually("stopped", || state(pid) == Some('T'));
    kill_process(pid, Signal::CONT).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert!(vplan.0.ended().success());
    assert_eq!(bench.survivors(), Vec::<String>::new());
}
