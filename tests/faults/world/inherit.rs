//! Does anything of what vplan was started with reach a step: descriptors, signals, masks, modes?

use super::{World, status, wait};
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;

/// Prepares the process that becomes vplan.
const STRANGE: &[(&str, &str)] = &[
    ("plain", ""),
    (
        "ignored",
        "$SIG{$_} = 'IGNORE' for grep { !/^(KILL|STOP|NUM.*)$/ } keys %SIG;",
    ),
    (
        "blocked",
        "my $all = POSIX::SigSet->new; $all->fillset; POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all);",
    ),
    ("umask", "umask 0777;"),
    ("nice", "POSIX::nice(5);"),
    // Open in the child too, one of them with a lock that outlives whoever inherits it.
    (
        "descriptors",
        "$^F = 10_000; our @held = map { open(my $f, '<', '/dev/null') or die; $f } 1..199; open(our $lock, '>', '../lock') or die; \
         flock($lock, 2) or die;",
    ),
];

#[test]
fn nothing_reaches_a_step() {
    let mut sweep = Sweep::new("faults::world::inherit::nothing_reaches_a_step", 6, 48);
    while let Some(case) = sweep.next() {
        // Every way together with every set of closed standard streams.
        let number = usize::try_from(case.number).unwrap();
        let (name, how) = STRANGE[number % STRANGE.len()];
        let closed = (number / STRANGE.len() + number) % 8;
        let script = "grep -E ^Sig[BI] /proc/self/status; umask; nice; echo $$; cut -d\" \" -f5,6 /proc/$$/stat; ls /proc/self/fd; cat";
        let world = World::new(&format!(
            "check looks {{\n  shell {script}\n  retries 0\n}}\n"
        ));
        let close: String = (0..3)
            .filter(|n| closed >> n & 1 == 1)
            .map(|n| format!("POSIX::close({n});"))
            .collect();
        let wrapper = format!("use POSIX (); {how} {close} exec {{ $ARGV[0] }} @ARGV; die");
        let mut vplan = Guard(
            world
                .through(&["perl", "-e", &wrapper], &[])
                .spawn()
                .unwrap(),
        );
        let exit = wait(&mut vplan);
        let label = format!("{name}, closed {closed:03b}: {}", world.said());
        assert_eq!(exit, Some(0), "{label}");
        let run = world.runs().pop().unwrap();
        let shown = std::fs::read_to_string(run.join("logs/looks.1.log")).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        // glibc leaves its own two signals, 32 and 33, ignored; nobody else may use them.
        let ignored = u64::from_str_radix(lines[1].strip_prefix("SigIgn:\t").unwrap(), 16).unwrap();
        assert_eq!(
            (lines[0], ignored & !(3 << 31)),
            ("SigBlk:\t0000000000000000", 0),
            "{label}: {shown}"
        );
        assert_eq!(lines[2], "0022", "{label}: {shown}");
        let nice = std::fs::read_to_string("/proc/self/stat").unwrap();
        let own: i64 = nice
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .nth(16)
            .unwrap()
            .parse()
            .unwrap();
        let wanted = if name == "nice" {
            (own + 5).min(19)
        } else {
            own
        };
        assert_eq!(
            lines[3].parse::<i64>().unwrap(),
            wanted,
            "{label}: what it costs others is the caller's to say"
        );
        let (group, session) = lines[5].split_once(' ').unwrap();
        assert_eq!(group, lines[4], "{label}: it leads a group");
        assert_ne!(
            session, lines[4],
            "{label}: and no session, so that it cannot get a terminal"
        );
        // `ls` has its own look at the folder open.
        assert_eq!(lines[6..], ["0", "1", "2", "3"], "{label}: {shown}");
        if closed & 2 == 0 {
            assert_eq!(status(&world.report(), "looks"), "passed");
        }
        world.is_honest(exit);
        sweep.count(name, 1);
        sweep.count("with closed standard streams", u64::from(closed != 0));
        case.held();
    }
}
