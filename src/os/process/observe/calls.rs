//! The system calls that are trapped, and their requests.

use super::super::filter::{
    ALLOW, ARCHITECTURE, HAS, IS, LOAD, TRAP, answer, argument, instruction, of_kind,
};
use super::super::sys::{Instruction, Trapped};

/// `AT_FDCWD` (openat(2)).
const CWD: i32 = -100;
const NOFOLLOW: u64 = 0x100;
const FOLLOW: u64 = 0x400;
const EMPTY_PATH: u64 = 0x1000;
/// The flags that creat(2) implies: write only, create, truncate.
const CREAT: u64 = 0o1101;

/// A path in the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathAt {
    /// The folder that it is relative to; `None` for the working directory.
    pub folder: Option<i32>,
    pub address: u64,
    /// Whether an empty path refers to the folder's descriptor itself.
    pub may_be_empty: bool,
}

/// A name of a socket in the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameAt {
    pub address: u64,
    pub length: u64,
}

/// The request of a trapped call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallArguments {
    /// To open a file, with these flags.
    Open(PathAt, u64),
    /// The same, with flags that are in memory (openat2(2)).
    OpenHow(PathAt, u64),
    /// To be replaced by a program.
    Execute(PathAt),
    /// Whether a file is there, or something about it; whether a link at its end is followed.
    Exists(PathAt, bool),
    /// The target of a link.
    ReadLink(PathAt),
    /// To make a folder.
    MakeFolder(PathAt),
    /// To make anything else that was not there.
    Make(PathAt),
    Remove(PathAt),
    Truncate(PathAt),
    Rename(PathAt, PathAt),
    /// To give a file another name; whether a link at its end is followed.
    Link(PathAt, bool, PathAt),
    Connect(NameAt),
    Bind(NameAt),
    /// Sends messages to names in it (`struct msghdr`), and their number (`mmsghdr`).
    Send(u64, u64),
    /// A ring for calls that filters cannot trap.
    Ring,
    /// May change the root or the mounts of the process.
    Root,
    /// A call that is not examined.
    Other,
}

/// When a call is trapped.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// Not if it concerns a descriptor instead of a path: with `AT_EMPTY_PATH` among the flags in
    /// this argument, and a descriptor. (A call with both and a path is not observed.)
    NotOfFd(usize),
    /// Not if this argument is null.
    With(usize),
}

/// A row of the table: the numbers on x86-64 and on 64-bit ARM, which lacks the older calls; when
/// the call is trapped, and how to read its arguments.
type Row = (
    Option<u32>,
    Option<u32>,
    When,
    fn([u64; 6]) -> CallArguments,
);

/// The calls. Those that only concern times, modes, owners and attributes are omitted.
#[rustfmt::skip]
const CALLS: &[Row] = &[
    // openat, newfstatat, statx: most of all that is trapped.
    (Some(257), Some(56), When::Always, |a| CallArguments::Open(at(a[0], a[1]), a[2])),
    (Some(262), Some(79), When::NotOfFd(3), |a| CallArguments::Exists(at_or_fd(a[0], a[1], a[3]), a[3] & NOFOLLOW == 0)),
    (Some(332), Some(291), When::NotOfFd(2), |a| CallArguments::Exists(at_or_fd(a[0], a[1], a[2]), a[2] & NOFOLLOW == 0)),
    // open, stat, lstat, access, faccessat, faccessat2, chdir, statfs
    (Some(2), None, When::Always, |a| CallArguments::Open(from_cwd(a[0]), a[1])),
    (Some(4), None, When::Always, |a| CallArguments::Exists(from_cwd(a[0]), true)),
    (Some(6), None, When::Always, |a| CallArguments::Exists(from_cwd(a[0]), false)),
    (Some(21), None, When::Always, |a| CallArguments::Exists(from_cwd(a[0]), true)),
    (Some(269), Some(48), When::Always, |a| CallArguments::Exists(at(a[0], a[1]), true)),
    (Some(439), Some(439), When::Always, |a| CallArguments::Exists(at_or_fd(a[0], a[1], a[3]), a[3] & NOFOLLOW == 0)),
    (Some(80), Some(49), When::Always, |a| CallArguments::Exists(from_cwd(a[0]), true)),
    (Some(137), Some(43), When::Always, |a| CallArguments::Exists(from_cwd(a[0]), true)),
    // readlink, readlinkat
    (Some(89), None, When::Always, |a| CallArguments::ReadLink(from_cwd(a[0]))),
    (Some(267), Some(78), When::Always, |a| CallArguments::ReadLink(at(a[0], a[1]))),
    // execve, execveat
    (Some(59), Some(221), When::Always, |a| CallArguments::Execute(from_cwd(a[0]))),
    (Some(322), Some(281), When::Always, |a| CallArguments::Execute(at_or_fd(a[0], a[1], a[4]))),
    // creat, openat2
    (Some(85), None, When::Always, |a| CallArguments::Open(from_cwd(a[0]), CREAT)),
    (Some(437), Some(437), When::Always, |a| CallArguments::OpenHow(at(a[0], a[1]), a[2])),
    // rename, renameat, renameat2, link, linkat
    (Some(82), None, When::Always, |a| CallArguments::Rename(from_cwd(a[0]), from_cwd(a[1]))),
    (Some(264), Some(38), When::Always, |a| CallArguments::Rename(at(a[0], a[1]), at(a[2], a[3]))),
    (Some(316), Some(276), When::Always, |a| CallArguments::Rename(at(a[0], a[1]), at(a[2], a[3]))),
    (Some(86), None, When::Always, |a| CallArguments::Link(from_cwd(a[0]), false, from_cwd(a[1]))),
    (Some(265), Some(37), When::Always, |a| CallArguments::Link(at_or_fd(a[0], a[1], a[4]), a[4] & FOLLOW != 0, at(a[2], a[3]))),
    // unlink, rmdir, unlinkat
    (Some(87), None, When::Always, |a| CallArguments::Remove(from_cwd(a[0]))),
    (Some(84), None, When::Always, |a| CallArguments::Remove(from_cwd(a[0]))),
    (Some(263), Some(35), When::Always, |a| CallArguments::Remove(at(a[0], a[1]))),
    // mkdir, mkdirat, symlink, symlinkat, mknod, mknodat, truncate
    (Some(83), None, When::Always, |a| CallArguments::MakeFolder(from_cwd(a[0]))),
    (Some(258), Some(34), When::Always, |a| CallArguments::MakeFolder(at(a[0], a[1]))),
    (Some(88), None, When::Always, |a| CallArguments::Make(from_cwd(a[1]))),
    (Some(266), Some(36), When::Always, |a| CallArguments::Make(at(a[1], a[2]))),
    (Some(133), None, When::Always, |a| CallArguments::Make(from_cwd(a[0]))),
    (Some(259), Some(33), When::Always, |a| CallArguments::Make(at(a[0], a[1]))),
    (Some(76), Some(45), When::Always, |a| CallArguments::Truncate(from_cwd(a[0]))),
    // connect, bind, sendto, sendmsg, sendmmsg
    (Some(42), Some(203), When::Always, |a| CallArguments::Connect(NameAt { address: a[1], length: a[2] })),
    (Some(49), Some(200), When::Always, |a| CallArguments::Bind(NameAt { address: a[1], length: a[2] })),
    (Some(44), Some(206), When::With(4), |a| CallArguments::Connect(NameAt { address: a[4], length: a[5] })),
    (Some(46), Some(211), When::Always, |a| CallArguments::Send(a[1], 1)),
    (Some(307), Some(269), When::Always, |a| CallArguments::Send(a[1], a[2])),
    // io_uring_setup
    (Some(425), Some(425), When::Always, |_| CallArguments::Ring),
    // chroot, pivot_root, mount, unshare, setns
    (Some(161), Some(51), When::Always, |_| CallArguments::Root),
    (Some(155), Some(41), When::Always, |_| CallArguments::Root),
    (Some(165), Some(40), When::Always, |_| CallArguments::Root),
    (Some(272), Some(97), When::Always, |_| CallArguments::Root),
    (Some(308), Some(268), When::Always, |_| CallArguments::Root),
    // open_by_handle_at
    (Some(304), Some(265), When::Always, |_| CallArguments::Other),
];

fn number((x86, arm, ..): &Row) -> Option<u32> {
    if cfg!(target_arch = "x86_64") {
        *x86
    } else {
        *arm
    }
}

fn from_cwd(address: u64) -> PathAt {
    PathAt {
        folder: None,
        address,
        may_be_empty: false,
    }
}

fn at(folder: u64, address: u64) -> PathAt {
    // The system takes the lower half of the argument.
    let low = u32::try_from(folder & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    let folder = low.cast_signed();
    PathAt {
        folder: (folder != CWD).then_some(folder),
        ..from_cwd(address)
    }
}

fn at_or_fd(folder: u64, address: u64, flags: u64) -> PathAt {
    PathAt {
        may_be_empty: flags & EMPTY_PATH != 0,
        ..at(folder, address)
    }
}

/// Returns the request of a trapped call.
pub(super) fn asked(trapped: &Trapped) -> CallArguments {
    if Some(trapped.architecture) != ARCHITECTURE {
        return CallArguments::Other;
    }
    let row = CALLS.iter().find(|row| number(row) == Some(trapped.number));
    row.map_or(CallArguments::Other, |(.., ask)| ask(trapped.arguments))
}

/// Returns the filter: the calls of the table are trapped, and all of another kind; the others go
/// on.
pub(super) fn filter(architecture: u32) -> Vec<Instruction> {
    let (trap, allow) = (answer(TRAP), answer(ALLOW));
    let mut filter = of_kind(architecture, TRAP);
    for row in CALLS {
        let Some(number) = number(row) else { continue };
        match row.2 {
            When::Always => filter.extend([instruction(IS, number, [0, 1]), trap]),
            When::NotOfFd(flags) => filter.extend([
                instruction(IS, number, [0, 6]),
                instruction(LOAD, argument(0), [0, 0]),
                instruction(HAS, 1 << 31, [2, 0]),
                instruction(LOAD, argument(flags), [0, 0]),
                instruction(HAS, EMPTY_PATH as u32, [1, 0]),
                trap,
                allow,
            ]),
            When::With(pointer) => filter.extend([
                instruction(IS, number, [0, 6]),
                instruction(LOAD, argument(pointer), [0, 0]),
                instruction(IS, 0, [0, 3]),
                instruction(LOAD, argument(pointer) + 4, [0, 0]),
                instruction(IS, 0, [0, 1]),
                allow,
                trap,
            ]),
        }
    }
    filter.push(allow);
    filter
}

#[cfg(test)]
mod tests {
    use super::super::super::filter::{X32, run};
    use super::*;

    #[test]
    fn what_is_trapped() {
        let Some(own) = ARCHITECTURE else { return };
        let filter = filter(own);
        let is_trapped =
            |architecture, number, arguments| run(&filter, architecture, number, arguments) == TRAP;
        let any = [0; 6];
        for row in CALLS {
            let Some(number) = number(row) else { continue };
            match row.2 {
                When::Always => assert!(is_trapped(own, number, any), "{number}"),
                When::NotOfFd(flags) => {
                    let mut of = [0; 6];
                    of[flags] = EMPTY_PATH;
                    assert!(is_trapped(own, number, any), "{number}");
                    assert!(!is_trapped(own, number, of), "{number}");
                    of[0] = i64::from(CWD).cast_unsigned();
                    assert!(is_trapped(own, number, of), "{number}");
                }
                When::With(pointer) => {
                    let mut with = [0; 6];
                    assert!(!is_trapped(own, number, with), "{number}");
                    for address in [1, 1 << 32] {
                        with[pointer] = address;
                        assert!(is_trapped(own, number, with), "{number} {address}");
                    }
                }
            }
        }
        let other = 60 + 10_000;
        assert!(!is_trapped(own, other, any));
        assert!(is_trapped(own ^ 1, other, any));
        if cfg!(target_arch = "x86_64") {
            assert!(is_trapped(own, X32 + 1, any));
        }
    }

    #[test]
    fn a_call_is_in_the_table_once() {
        let mut numbers: Vec<u32> = CALLS.iter().filter_map(number).collect();
        numbers.sort_unstable();
        let count = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert_eq!(at(i64::from(CWD).cast_unsigned(), 5), from_cwd(5));
        assert_eq!(at(u64::from(CWD.cast_unsigned()), 5), from_cwd(5));
        assert_eq!(at(7, 5).folder, Some(7));
    }
}
