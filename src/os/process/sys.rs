//! Wraps the few system calls that have no safe form. All of vplan's `unsafe` code is in this file.
#![expect(
    unsafe_code,
    reason = "signal dispositions, masks and foreign descriptors have no safe interface"
)]

use crate::parallel::locked;
use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_long, c_uint, c_ulong, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A set of signals as the C library lays it out: 1024 bits, on glibc and musl.
#[repr(C)]
struct SignalSet([u64; 16]);

const BLOCK: c_int = 0;
const UNBLOCK: c_int = 1;
const SET: c_int = 2;
const DEFAULT: usize = 0;
const IGNORE: usize = 1;
const CHILD: c_int = 17;
const FILE_SIZE: c_int = 25;
const CLOSE_ON_EXEC_NONBLOCK: c_int = 0o2_004_000;

// The numbers above are those of Linux on x86, ARM, RISC-V, POWER and s390; MIPS, SPARC and Alpha
// have others.
#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv64",
        target_arch = "powerpc64",
        target_arch = "s390x",
        target_arch = "loongarch64"
    )
)))]
compile_error!("the supervisor knows the signal numbers of Linux on common processors only");

// Rust's library links the unwinder as a shared library. With the static archive of gcc, each start
// of vplan and of a supervisor takes a tenth of a millisecond less. The archive defines the same
// symbols; nothing is called from here.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    fn sigaction(number: c_int, new: *const Disposition, old: *mut Disposition) -> c_int;
    fn sigprocmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn signalfd(fd: c_int, mask: *const SignalSet, flags: c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn fork() -> c_int;
    fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
    fn _exit(status: c_int) -> !;
    fn process_vm_readv(
        pid: c_int,
        local: *const Part,
        locals: c_ulong,
        remote: *const Part,
        remotes: c_ulong,
        flags: c_ulong,
    ) -> isize;
}

fn only(number: c_int) -> SignalSet {
    let mut set = SignalSet([0; 16]);
    if let Some(word) = set.0.first_mut() {
        *word = 1 << (number - 1);
    }
    set
}

fn mask(how: c_int, set: &SignalSet) {
    // SAFETY: `set` is a valid set, laid out as the C library expects, and the old one is not
    // requested. The call changes only this thread's mask.
    let _ = unsafe { sigprocmask(how, set, std::ptr::null_mut()) };
}

extern "C" fn nothing(_: c_int) {}

/// Signals that the system sends a process for its own fault. A step, or a process that signals all
/// processes, could send any other to its supervisor only accidentally. They are caught rather than
/// ignored: a caught signal returns to its default when a step is executed, and an ignored one
/// stays ignored.
const OWN_FAULTS: [c_int; 7] = [4, 5, 6, 7, 8, 11, 31];
/// SIGCHLD, which is read elsewhere, SIGCONT, and signals that are ignored by default: SIGURG and
/// SIGWINCH.
const HARMLESS: [c_int; 4] = [CHILD, 18, 23, 28];

/// Undoes inherited settings: every signal gets its default disposition, except that signals which
/// could end a supervisor accidentally do nothing. No signal is blocked except SIGCHLD, which
/// [`child_signals`] reads.
pub(super) fn reset_signals() {
    for number in 1..=64 {
        let handler = if OWN_FAULTS.contains(&number) || HARMLESS.contains(&number) {
            DEFAULT
        } else {
            nothing as *const () as usize
        };
        // SAFETY: the handler is the default or a function that does nothing, which is safe at any
        // moment. SIGKILL, SIGSTOP and the C library's own signals are refused by the call,
        // which is fine.
        let _ = unsafe { signal(number, handler) };
    }
    mask(SET, &only(CHILD));
}

/// Gives SIGCHLD its default again. A caller that ignores it passes that on, and then no child could be
/// waited for.
pub(super) fn hear_children() {
    // SAFETY: the default disposition installs no code.
    let _ = unsafe { signal(CHILD, DEFAULT) };
}

/// Makes writes beyond `ulimit -f` fail with EFBIG instead of ending the process. Steps get the
/// default again.
pub(super) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal installs no code.
    let _ = unsafe { signal(FILE_SIZE, IGNORE) };
}

/// The disposition of a signal, in the C library's format. It is never read; no library's is
/// larger.
#[repr(C, align(16))]
struct Disposition([u8; 256]);

/// The former dispositions of the signals that have been given back, by number.
static GIVEN_BACK: Mutex<BTreeMap<c_int, Disposition>> = Mutex::new(BTreeMap::new());

/// Gives a signal its default effect again.
pub fn give_back(heard: Signal) {
    let number = heard.as_raw();
    let mut before = Disposition([0; 256]);
    // SAFETY: the disposition is only read, and the buffer is larger than any library needs.
    if unsafe { sigaction(number, std::ptr::null(), &raw mut before) } == 0 {
        locked(&GIVEN_BACK).insert(number, before);
    }
    // SAFETY: the default disposition installs no code. A handler that still runs in another thread
    // completes.
    let _ = unsafe { signal(number, DEFAULT) };
}

/// Undoes [`give_back`]. The runtime installs its handler once in a process, so that a second run
/// would not receive any signal.
pub fn take_again(heard: Signal) {
    let number = heard.as_raw();
    if let Some(before) = locked(&GIVEN_BACK).remove(&number) {
        // SAFETY: the library gave it for this very signal, and its handler, the runtime's, is
        // there as long as the process.
        let _ = unsafe { sigaction(number, &raw const before, std::ptr::null_mut()) };
    }
}

/// Returns a descriptor that is readable when a child has ended or stopped. SIGCHLD must be
/// blocked.
pub(super) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is valid; -1 requests a new descriptor.
    let fd = unsafe { signalfd(-1, &only(CHILD), CLOSE_ON_EXEC_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Runs `start` with an empty signal mask, which the started process inherits. A SIGCHLD that
/// arrives meanwhile is lost: check for ended children afterwards.
pub(super) fn with_open_mask<T>(start: impl FnOnce() -> T) -> T {
    mask(UNBLOCK, &only(CHILD));
    let made = start();
    mask(BLOCK, &only(CHILD));
    made
}

/// Runs `start` with every signal blocked in this thread, which the started process inherits. So a
/// Ctrl-C cannot end that process before it has left the terminal's group.
pub(super) fn with_closed_mask<T>(start: impl FnOnce() -> T) -> T {
    let mut old = SignalSet([0; 16]);
    // SAFETY: both sets are valid and laid out as the C library expects; the call changes only this
    // thread's mask.
    let _ = unsafe { sigprocmask(BLOCK, &SignalSet([u64::MAX; 16]), &raw mut old) };
    let made = start();
    mask(SET, &old);
    made
}

/// Closes every descriptor from 3 on, except those listed, so that no step inherits it.
pub(super) fn close_others(keep: &[BorrowedFd<'_>]) {
    let Ok(listing) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    // The listing's own descriptor is among the names; it is closed when the listing ends.
    let numbers: Vec<i32> = listing
        .filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers {
        if number > 2 && keep.iter().all(|k| k.as_raw_fd() != number) {
            // SAFETY: called once, first thing in a new process, when nothing but `keep` owns a
            // descriptor. The number may already be closed (it was the listing's own), which is
            // checked first.
            unsafe {
                if rustix::io::fcntl_getfd(BorrowedFd::borrow_raw(number)).is_ok() {
                    rustix::io::close(number);
                }
            }
        }
    }
}

/// Has the runtime in which this is called watch whether a descriptor is readable.
pub(super) fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` stays open and keeps its number as long as it lives, and the result owns
    // it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?)
}

/// Moves this thread into new namespaces. Only for flags of namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: no namespace takes a descriptor away from any other part of the program.
    unsafe { unshare_unsafe(flags) }
}

/// Starts a copy of this process, which must have one thread. Returns its number, and `None` in the copy,
/// which ends by [`leave`].
pub(super) fn start_copy() -> io::Result<Option<Pid>> {
    // SAFETY: no other thread holds a lock that the copy could wait for.
    let number = unsafe { fork() };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pid::from_raw(number))
}

/// The bytes of the stack of a process that [`start_among`] starts.
const STACK: usize = 1 << 20;

thread_local! {
    /// Memory for two stacks.
    static STACKS: RefCell<Vec<u128>> =
        RefCell::new(Vec::with_capacity(2 * STACK / size_of::<u128>()));
}

/// Flags of clone(2): share memory; share descriptors; let this process wait until the new one
/// ends; give both the same parent.
const SHARE_MEMORY: c_int = 0x100;
const SHARE_DESCRIPTORS: c_int = 0x400;
const WAIT_FOR_END: c_int = 0x4000;
const SAME_PARENT: c_int = 0x8000;

/// The arguments and the results of [`start_among`].
struct Among<E, R, T> {
    enter: Option<E>,
    run: Option<R>,
    entered: Option<io::Result<T>>,
    /// The end of the stack of the copy, and its number.
    stack: *mut c_void,
    number: c_int,
}

/// Starts a process that shares this one's memory and descriptors, and enters namespaces by
/// `enter`. It starts a copy of this process in them, as a child of this one. The copy runs `run`
/// with the result of `enter`, and ends. No other thread may hold a lock that `run` needs.
///
/// # Errors
/// That of `enter`, or of the system.
pub(super) fn start_among<E, R, T>(enter: E, run: R) -> io::Result<Pid>
where
    E: FnOnce() -> io::Result<T>,
    R: FnOnce(T),
{
    let lowest = STACKS.with_borrow_mut(Vec::as_mut_ptr).cast::<c_void>();
    let mut among: Among<E, R, T> = Among {
        enter: Some(enter),
        run: Some(run),
        entered: None,
        stack: lowest.wrapping_byte_add(2 * STACK),
        number: 0,
    };
    let flags = SHARE_MEMORY | SHARE_DESCRIPTORS | WAIT_FOR_END | CHILD;
    let (end, argument) = (lowest.wrapping_byte_add(STACK), (&raw mut among).cast());
    // SAFETY: nothing else uses the stack, and its end is aligned. This thread continues only after
    // the process has ended, so everything that the process uses lives long enough, and no other
    // thread uses it.
    let helper = unsafe { clone(enter_and_copy::<E, R, T>, end, flags, argument) };
    let helper = Pid::from_raw(helper.max(0)).ok_or_else(io::Error::last_os_error)?;
    while let Err(Errno::INTR) = waitpid(Some(helper), WaitOptions::empty()) {}
    let gone = || io::Error::from(io::ErrorKind::Other);
    let number = among.number;
    among.entered.ok_or_else(gone)??;
    if number < 0 {
        return Err(io::Error::from_raw_os_error(-number));
    }
    Pid::from_raw(number).ok_or_else(gone)
}

extern "C" fn enter_and_copy<E, R, T>(argument: *mut c_void) -> c_int
where
    E: FnOnce() -> io::Result<T>,
    R: FnOnce(T),
{
    // SAFETY: the pointer comes from `start_among`, which waits meanwhile.
    let among = unsafe { &mut *argument.cast::<Among<E, R, T>>() };
    among.entered = among.enter.take().map(|enter| enter());
    if let Some(Ok(_)) = among.entered {
        let flags = SAME_PARENT | CHILD;
        // SAFETY: the copy has its own memory, in which nothing else uses this stack.
        among.number = unsafe { clone(be_copy::<E, R, T>, among.stack, flags, argument) };
        if among.number < 0 {
            among.number = -io::Error::last_os_error().raw_os_error().unwrap_or(1);
        }
    }
    0
}

extern "C" fn be_copy<E, R, T>(argument: *mut c_void) -> c_int
where
    R: FnOnce(T),
{
    // SAFETY: the argument is in the copy's own memory, which nothing else uses.
    let among = unsafe { &mut *argument.cast::<Among<E, R, T>>() };
    if let Some((run, Ok(entered))) = among.run.take().zip(among.entered.take()) {
        run(entered);
    }
    0
}

/// Ends this process at once. For copies, which must not run the exit handlers of the original.
pub(super) fn leave(status: c_int) -> ! {
    // SAFETY: the call only ends the process.
    unsafe { _exit(status) }
}

/// Attributes of mounts that are set and taken (`struct mount_attr`).
#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    taken: u64,
    propagation: u64,
    user: u64,
}

/// The number of mount_setattr(2), the same on all processors.
const MOUNT_SETATTR: c_long = 442;
const READ_ONLY: u64 = 1;
const NO_PRIVILEGES: u64 = 2;
const RECURSIVE: c_uint = 0x8000;
const OF_WORKING_DIRECTORY: c_int = -100;

/// Makes a mount read only, and programs in it without privileges of their own; with those below it or
/// not.
pub(super) fn set_read_only(at: &Path, with_below: bool) -> io::Result<()> {
    set_mount(at, with_below, READ_ONLY | NO_PRIVILEGES, 0)
}

/// Makes a read-only mount writable again, without lifting its other restrictions.
pub(super) fn set_writable(at: &Path) -> io::Result<()> {
    set_mount(at, false, 0, READ_ONLY)
}

fn set_mount(at: &Path, with_below: bool, set: u64, taken: u64) -> io::Result<()> {
    let text = CString::new(at.as_os_str().as_bytes())?;
    let flags = if with_below { RECURSIVE } else { 0 };
    let attributes = MountAttributes {
        set,
        taken,
        ..MountAttributes::default()
    };
    let (path, attributes) = (text.as_ptr(), &raw const attributes);
    let size = size_of::<MountAttributes>();
    // SAFETY: the path ends with a zero, the structure is the one that the call reads, and both live as
    // long as it.
    let done = unsafe {
        syscall(
            MOUNT_SETATTR,
            OF_WORKING_DIRECTORY,
            path,
            flags,
            attributes,
            size,
        )
    };
    checked(done).map(drop)
}

/// Has a process that a command starts do something right before it becomes the program.
pub(super) fn before_program(
    command: &mut Command,
    run: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the closure only makes system calls. It does not allocate, and waits for no lock that
    // another thread could have held at the fork.
    let _ = unsafe { command.pre_exec(run) };
}

/// Takes over standard input. The caller must no longer use it.
pub(super) fn take_stdin() -> io::Result<OwnedFd> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(own)
}

/// An instruction of a filter of system calls (`struct sock_filter`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub code: u16,
    /// The number of instructions to skip if a comparison is true, and if it is false.
    pub skip: [u8; 2],
    pub operand: u32,
}

/// A filter as the kernel takes it (`struct sock_fprog`).
#[repr(C)]
struct FilterProgram {
    length: u16,
    instructions: *const Instruction,
}

/// A system call that waits for an answer (`struct seccomp_notif`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trapped {
    pub id: u64,
    /// The thread that made it.
    pub pid: u32,
    flags: u32,
    pub number: u32,
    pub architecture: u32,
    instruction: u64,
    pub arguments: [u64; 6],
}

/// The answer to a system call (`struct seccomp_notif_resp`).
#[repr(C)]
struct TrapAnswer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// A piece of memory (`struct iovec`).
#[repr(C)]
struct Part {
    start: *mut c_void,
    length: usize,
}

/// The number of seccomp(2).
#[cfg(target_arch = "x86_64")]
const SECCOMP: c_long = 317;
#[cfg(not(target_arch = "x86_64"))]
const SECCOMP: c_long = 277;
const SET_MODE_FILTER: c_long = 1;
const NEW_LISTENER: c_long = 1 << 3;
const WAIT_KILLABLE_RECV: c_long = 1 << 5;
const RECEIVE: Opcode = 0xc050_2100;
const SEND: Opcode = 0xc018_2101;
const SET_FLAGS: Opcode = 0x4008_2104;
const SYNC_WAKE_UP: usize = 1;
const CONTINUE: u32 = 1;

/// Installs a filter of system calls for this thread and what it starts, and returns the listener
/// for trapped calls. If the system supports it, only SIGKILL interrupts a received call, and a
/// waiting thread wakes on the CPU that answered.
pub(super) fn trap_calls(filter: &[Instruction]) -> io::Result<OwnedFd> {
    let listener = match install(filter, NEW_LISTENER | WAIT_KILLABLE_RECV) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => install(filter, NEW_LISTENER),
        installed => installed,
    }?;
    // SAFETY: the descriptor is new and has no other owner.
    let listener = unsafe { OwnedFd::from_raw_fd(listener) };
    // SAFETY: the request takes a number. It changes only how the listener wakes; older kernels
    // refuse it.
    let _ = unsafe {
        ioctl(
            &listener,
            IntegerSetter::<SET_FLAGS>::new_usize(SYNC_WAKE_UP),
        )
    };
    Ok(listener)
}

/// Installs a filter of system calls for this thread and what it starts. It needs `no_new_privs`.
pub(super) fn filter_calls(filter: &[Instruction]) -> io::Result<()> {
    install(filter, 0).map(drop)
}

fn install(filter: &[Instruction], flags: c_long) -> io::Result<c_int> {
    let program = FilterProgram {
        length: u16::try_from(filter.len()).unwrap_or(0),
        instructions: filter.as_ptr(),
    };
    // SAFETY: the program and its instructions are laid out as the kernel expects, live as long as
    // the call, and are only read.
    checked(unsafe { syscall(SECCOMP, SET_MODE_FILTER, flags, &raw const program) })
}

fn checked(result: c_long) -> io::Result<c_int> {
    let result = c_int::try_from(result).ok().filter(|result| *result >= 0);
    result.ok_or_else(io::Error::last_os_error)
}

/// The numbers of Landlock's calls, the same on all processors (landlock(7)).
const CREATE_RULESET: c_long = 444;
const ADD_RULE: c_long = 445;
const RESTRICT_SELF: c_long = 446;
const VERSION: c_long = 1;
const BENEATH: c_long = 1;

/// The rights that a set of rules handles (`struct landlock_ruleset_attr`).
#[repr(C)]
struct Handled {
    files: u64,
    network: u64,
    scopes: u64,
}

/// A rule for a file, or a folder with all that is below it (`struct landlock_path_beneath_attr`).
#[repr(C, packed)]
struct RuleBeneath {
    allowed: u64,
    file: c_int,
}

/// Returns the version of Landlock that the system has.
pub(super) fn landlock_version() -> io::Result<u32> {
    let (nothing, none): (*const Handled, usize) = (std::ptr::null(), 0);
    // SAFETY: with this flag, the call reads no memory.
    let version = unsafe { syscall(CREATE_RULESET, nothing, none, VERSION) };
    Ok(checked(version)?.cast_unsigned())
}

/// Makes a set of rules that restricts these rights on files, and these scopes.
pub(super) fn landlock_rules(files: u64, scopes: u64) -> io::Result<OwnedFd> {
    let handled = Handled {
        files,
        network: 0,
        scopes,
    };
    let (handled, size) = (&raw const handled, size_of::<Handled>());
    // SAFETY: the structure has the layout that the call reads, and lives as long. An older system
    // accepts a longer one whose rest is zero.
    let fd = unsafe { syscall(CREATE_RULESET, handled, size, 0 as c_long) };
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(checked(fd)?) })
}

/// Adds that a file, or all that is below a folder, may be used in these ways.
pub(super) fn landlock_allow(rules: impl AsFd, file: impl AsFd, files: u64) -> io::Result<()> {
    let rule = RuleBeneath {
        allowed: files,
        file: file.as_fd().as_raw_fd(),
    };
    let rules = rules.as_fd().as_raw_fd();
    // SAFETY: the structure is the one that the call reads, and lives as long.
    let done = unsafe { syscall(ADD_RULE, rules, BENEATH, &raw const rule, 0 as c_long) };
    checked(done).map(drop)
}

/// Applies a set of rules to this thread and its descendants. It needs `no_new_privs`.
pub(super) fn landlock_restrict(rules: impl AsFd) -> io::Result<()> {
    let rules = rules.as_fd().as_raw_fd();
    // SAFETY: the call takes a descriptor and no memory.
    let done = unsafe { syscall(RESTRICT_SELF, rules, 0 as c_long) };
    checked(done).map(drop)
}

/// Takes the next trapped call. Waits if there is none.
pub(super) fn next_trapped(listener: impl AsFd) -> io::Result<Trapped> {
    let mut trapped = Trapped::default();
    // SAFETY: the structure is the one that this request fills, and all zero, as it must be.
    unsafe { ioctl(listener, Updater::<RECEIVE, _>::new(&mut trapped)) }?;
    Ok(trapped)
}

/// Lets a trapped call go on, or answers it with an error. Returns whether its thread still waited.
pub(super) fn answer_trapped(listener: impl AsFd, id: u64, error: Option<i32>) -> bool {
    let mut answer = TrapAnswer {
        id,
        value: 0,
        error: error.map_or(0, |number| -number),
        flags: if error.is_some() { 0 } else { CONTINUE },
    };
    // SAFETY: the structure is the one that this request reads.
    unsafe { ioctl(listener, Updater::<SEND, _>::new(&mut answer)) }.is_ok()
}

/// Reads memory of another process; returns how much could be read. Bytes after a page boundary may
/// be missing without an error.
pub(super) fn read_memory(pid: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    const PAGE: usize = 4096;
    let start = usize::try_from(address).map_err(|_| io::ErrorKind::InvalidInput)?;
    let first = (PAGE - start % PAGE).min(into.len());
    let local = Part {
        start: into.as_mut_ptr().cast(),
        length: into.len(),
    };
    let part = |offset: usize, length| Part {
        start: std::ptr::without_provenance_mut(start.wrapping_add(offset)),
        length,
    };
    let remote = [part(0, first), part(first, into.len() - first)];
    let pid = c_int::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the local part is all of `into`, which is borrowed for the call; the remote parts are
    // addresses of another process, which the kernel checks.
    let read = unsafe { process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), 2, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}
