//! Confines a step while it runs, by namespaces, by Landlock and by a filter of its system calls.
//!
//! All guarantees hold for a process and its descendants. So the step's own process confines
//! itself, right before it becomes the program.

use super::filter::{
    ALLOW, ARCHITECTURE, IS, LOAD, REFUSE, answer, argument, instruction, of_kind,
};
use super::namespace;
use super::sealed_files::SealedFiles;
use super::sys::{self, Instruction};
use crate::retry_eintr::open;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, OFlags, fstat};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;
use std::path::Path;
use std::process::Command;
use vplan_base::word::visible_path;
use vplan_check::confine::Guarantee;

/// The version of Landlock that can refuse to empty a file (Linux 6.2).
const TRUNCATE_VERSION: u32 = 3;
/// The version with scopes: signals, abstract sockets (Linux 6.12).
const SCOPE_VERSION: u32 = 6;

// Rights on files (landlock(7)).
const EXECUTE: u64 = 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const WRITE_FILE: u64 = 1 << 1;
const TRUNCATE: u64 = 1 << 14;
/// To make and remove anything in a folder, and to move it between folders.
const CHANGE_FOLDER: u64 = 0b11_1111_1111 << 4;
/// All of that.
const CHANGE: u64 = WRITE_FILE | TRUNCATE | CHANGE_FOLDER;
const SCOPES: u64 = 0b11;

/// The capabilities that a confined step of root keeps: those over files, and for becoming another
/// user.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// A place that a step may change.
#[derive(Debug)]
pub struct Writable {
    /// The file or folder, held open.
    pub place: OwnedFd,
    /// Whether it is a folder: all that is below it may be changed.
    pub is_folder: bool,
}

/// The devices that every step may write to.
const DEVICES: [&str; 9] = [
    "null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm",
];

/// Opens the existing devices among those that every step may write to.
pub fn devices() -> Vec<Writable> {
    let open = |name: &&str| Writable::open(&Path::new("/dev").join(name)).ok();
    DEVICES.iter().filter_map(open).collect()
}

impl Writable {
    /// Opens a file, or a folder.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        let place = open(CWD, path, OFlags::PATH)?;
        let kind = FileType::from_raw_mode(fstat(&place)?.st_mode);
        Ok(Self {
            place,
            is_folder: kind == FileType::Directory,
        })
    }
}

/// How a step is confined.
#[derive(Debug, Default)]
pub struct Confine {
    held: Vec<Guarantee>,
    rules: Option<OwnedFd>,
    /// The user namespace that is entered.
    user: Option<OwnedFd>,
    /// All files that exist for it, if that is restricted.
    sealed: Option<SealedFiles>,
    filter: Vec<Instruction>,
}

/// A stage of confining, with the system's error.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize,
)]
#[error("{}: {}", .stage.name(), .stage.why(&io::Error::from_raw_os_error(*.error)))]
pub struct Unconfined {
    pub(super) stage: Stage,
    pub(super) error: i32,
}

vplan_base::words! {
    /// A stage of confining, named by what is wrong when it fails.
    #[derive(serde::Serialize, serde::Deserialize)]
    Stage {
        /// A user namespace is entered.
        User = "it could not enter a user namespace",
        /// New namespaces for mounts, processes, communication and the host's name.
        Namespaces = "it could not be given namespaces of its own",
        /// A new network namespace.
        Network = "it could not be given a network of its own",
        /// The loopback of that is set up.
        Loopback = "the loopback of its network could not be set up",
        /// The first process of its namespaces.
        Init = "the first process of its namespaces ended",
        /// Building its root of files.
        Root = "its files could not be put together",
        /// It starts in its folder.
        Directory = "its folder could not be entered",
        /// The capabilities of root are taken.
        Capabilities = "its capabilities could not be taken",
        /// It cannot gain capabilities by executing a program.
        NoNewPrivileges = "it could not be kept from new privileges",
        /// Landlock's rules.
        Rules = "Landlock's rules could not be applied",
        /// The filter of system calls.
        Filter = "its system calls could not be filtered",
    }
}

impl Stage {
    /// Returns the system's error, with its usual cause.
    fn why(self, error: &io::Error) -> String {
        match self {
            Stage::User | Stage::Namespaces | Stage::Network => namespace::hint(error),
            _ => error.to_string(),
        }
    }
}

/// The guarantees of [`Confine::with_only`], which come together or not at all.
pub const SEALING: [Guarantee; 3] = [
    Guarantee::Absence,
    Guarantee::NoSurvivor,
    Guarantee::Sockets,
];

/// The position of the stage in the number that a process which could not be confined sends to its
/// parent. The lower bits are the system's error.
const STAGE: u32 = 16;

impl Unconfined {
    /// Makes the error that a process hands to its parent as a number.
    pub(super) fn to_error(self) -> io::Error {
        let number = ((self.stage as i32 + 1) << STAGE) | (self.error & ((1 << STAGE) - 1));
        io::Error::from_raw_os_error(number)
    }

    /// Adds the affected file to the message, if it is known; for people.
    pub(super) fn at(self, place: &Path) -> String {
        if place.as_os_str().is_empty() {
            return self.to_string();
        }
        let error = io::Error::from_raw_os_error(self.error);
        let (stage, place) = (self.stage.name(), visible_path(place));
        format!("{stage}: `{place}`: {error}")
    }

    /// Decodes the result of [`Unconfined::to_error`]; `None` for every other error.
    pub(super) fn of_error(error: &io::Error) -> Option<Self> {
        let number = error.raw_os_error()?;
        let stage = usize::try_from(number >> STAGE).ok()?.checked_sub(1)?;
        Some(Self {
            stage: *Stage::ALL.get(stage)?,
            error: number & ((1 << STAGE) - 1),
        })
    }
}

impl Confine {
    /// Returns its guarantees.
    pub fn held(&self) -> &[Guarantee] {
        &self.held
    }

    /// Prepares these guarantees. The files that the step may change and read are added later.
    ///
    /// # Errors
    /// The system does not support such rules, or gives no user namespace.
    pub fn new(held: &[Guarantee]) -> io::Result<Self> {
        let has = |one| held.contains(&one);
        let (files, scopes) = ruled(held);
        let rules = (files | scopes != 0).then(|| sys::landlock_rules(files, scopes));
        let user = if has(Guarantee::NetworkLoopback) || has(Guarantee::Absence) {
            namespace::user_namespace()?
        } else {
            None
        };
        let user = user.map(|user| user.try_clone_to_owned()).transpose()?;
        Ok(Self {
            rules: rules.transpose()?,
            user,
            ..Self::holding(held.to_vec())
        })
    }

    fn holding(held: Vec<Guarantee>) -> Self {
        let filter = ARCHITECTURE.map_or(Vec::new(), |architecture| filter(architecture, &held));
        Self {
            held,
            filter,
            ..Self::default()
        }
    }

    /// Lets the step change a file, or everything below a folder; no effect if its writes are not
    /// confined.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn let_change(&self, one: &Writable) -> io::Result<()> {
        let rights = if one.is_folder {
            CHANGE
        } else {
            WRITE_FILE | TRUNCATE
        };
        self.allow(Guarantee::OnlyDeclared, &one.place, rights)
    }

    /// Lets the step read and execute a file, or everything below a folder; no effect if its reads
    /// are not confined.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn let_read(&self, place: impl AsFd, is_folder: bool) -> io::Result<()> {
        let list = if is_folder { READ_DIR } else { 0 };
        self.allow(Guarantee::DeclaredReads, place, EXECUTE | READ_FILE | list)
    }

    /// Lets the step list a folder and all below it; no effect if its reads are not confined.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn let_list(&self, folder: impl AsFd) -> io::Result<()> {
        self.allow(Guarantee::DeclaredReads, folder, READ_DIR)
    }

    fn allow(&self, by: Guarantee, place: impl AsFd, rights: u64) -> io::Result<()> {
        match &self.rules {
            Some(rules) if ruled(&[by]).0 & ruled(&self.held).0 != 0 => {
                sys::landlock_allow(rules, place, rights)
            }
            _ => Ok(()),
        }
    }

    /// Sets the files that exist for the step, if [`Guarantee::Absence`] must hold.
    pub fn with_only(self, files: SealedFiles) -> Self {
        Self {
            sealed: Some(files),
            ..self
        }
    }

    /// Returns all files that exist for it, if that is restricted.
    pub(super) fn sealed(&self) -> Option<&SealedFiles> {
        self.sealed.as_ref()
    }

    /// Decodes it from an order and the descriptors that came with it.
    pub(super) fn of_order(bits: u16, mut next: impl FnMut() -> Option<OwnedFd>) -> Self {
        let held = Guarantee::ALL
            .into_iter()
            .filter(|one| bits & bit(*one) != 0);
        let mut confine = Self::holding(held.collect());
        if ruled(&confine.held) != (0, 0) {
            confine.rules = next();
        }
        if bits & IN_USER != 0 {
            confine.user = next();
        }
        confine
    }

    /// Encodes it for an order.
    pub(super) fn bits(&self) -> u16 {
        let user = self.user.as_ref().map_or(0, |_| IN_USER);
        self.held.iter().fold(user, |bits, one| bits | bit(*one))
    }

    /// Whether it has sealing guarantees and files for them, or neither.
    pub(super) fn is_whole(&self) -> bool {
        let is_held = |one| self.held.contains(one);
        if self.sealed.is_some() {
            SEALING.iter().all(is_held)
        } else {
            !SEALING.iter().any(is_held)
        }
    }

    /// Returns the descriptors that go with an order.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let fds = self.rules.iter().chain(&self.user);
        fds.map(|fd| fd.as_fd())
    }

    /// Whether a thread of a process can be confined in this way.
    pub(super) fn fits_thread(&self) -> bool {
        let mut held = self.held.iter();
        !held.any(|one| OWN_NAMESPACES.contains(one))
    }

    /// Has a process that a command starts confine itself and do something, before it becomes the
    /// program. The error of its start may be one of [`Unconfined::of_error`].
    pub(super) fn try_with(
        self,
        command: &mut Command,
        done: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) {
        sys::before_program(command, move || {
            // A sealed step already starts in its own namespaces.
            let separated = self
                .sealed
                .as_ref()
                .map_or_else(|| self.separate(&mut None), |_| Ok(()));
            let confined = separated.and_then(|()| self.apply());
            confined.map_err(Unconfined::to_error)?;
            done()
        });
    }

    /// Moves this process into its namespaces. It must have one thread, or share its memory only
    /// with a process that waits for it. `empty`: the network for steps without one; it is created
    /// here on first use.
    pub(super) fn separate(&self, empty: &mut Option<OwnedFd>) -> Result<(), Unconfined> {
        let has = |one| self.held.contains(&one);
        let (is_sealed, has_loopback) = (has(Guarantee::Absence), has(Guarantee::NetworkLoopback));
        if !is_sealed && !has_loopback {
            return Ok(());
        }
        let user = self
            .user
            .as_ref()
            .map_or(Ok(()), |user| namespace::enter(user.as_fd()));
        user.map_err(at(Stage::User))?;
        if is_sealed {
            namespace::own_all_but_network().map_err(at(Stage::Namespaces))?;
        }
        if has_loopback {
            namespace::own_network().map_err(at(Stage::Network))?;
            namespace::set_loopback_up().map_err(at(Stage::Loopback))?;
        } else if has(Guarantee::NetworkOff) {
            // The network can be reused: no socket outlives the step's processes, and its settings
            // cannot be changed.
            match empty {
                Some(empty) if has(Guarantee::OnlyDeclared) => {
                    namespace::enter_network(empty.as_fd()).map_err(at(Stage::Network))?;
                }
                _ => {
                    namespace::own_network().map_err(at(Stage::Network))?;
                    *empty = namespace::network().ok();
                }
            }
        }
        Ok(())
    }

    /// Lets a sealed step change its devices, which exist only in its root. This process must have
    /// that root.
    pub(super) fn allow_devices(&self) -> io::Result<()> {
        let rules = self.rules.iter();
        let mut rules = rules.filter(|_| self.held.contains(&Guarantee::OnlyDeclared));
        rules.try_for_each(|rules| {
            ["pts", "shm"].iter().try_for_each(|name| {
                let place = Writable::open(&Path::new("/dev").join(name))?;
                sys::landlock_allow(rules, &place.place, CHANGE)
            })
        })
    }

    /// Confines this thread and its descendants, except for guarantees that need a process of their
    /// own.
    pub fn apply(&self) -> Result<(), Unconfined> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.apply_common()?;
        self.apply_own()
    }

    /// Applies the part that steps with the same guarantees share, and that does not hinder the
    /// rest. Assembling a filter takes the system a tenth of a millisecond.
    pub(super) fn apply_common(&self) -> Result<(), Unconfined> {
        set_no_new_privs(true).map_err(at(Stage::NoNewPrivileges))?;
        // The kernel refuses an empty filter, which is made if no call of this processor is known.
        sys::filter_calls(&self.filter).map_err(at(Stage::Filter))?;
        if !self.is_unprivileged() {
            return Ok(());
        }
        let dropped = if self.fits_thread() {
            drop_capabilities()
        } else {
            bound_capabilities().map(drop)
        };
        dropped.map_err(at(Stage::Capabilities))
    }

    /// Applies the rest to a thread with the common part.
    pub(super) fn apply_own(&self) -> Result<(), Unconfined> {
        // Separating the namespaces needs the capabilities until then.
        if self.is_unprivileged() && !self.fits_thread() {
            drop_capabilities().map_err(at(Stage::Capabilities))?;
        }
        let rules = self.rules.iter();
        let mut rules = rules.map(sys::landlock_restrict);
        rules.try_for_each(|done| done.map_err(at(Stage::Rules)))
    }

    fn is_unprivileged(&self) -> bool {
        self.held.iter().any(|one| UNPRIVILEGED.contains(one))
    }
}

pub(super) fn at<E: Into<io::Error>>(stage: Stage) -> impl FnOnce(E) -> Unconfined {
    move |error| Unconfined {
        stage,
        error: error.into().raw_os_error().unwrap_or(0),
    }
}

/// Guarantees that require dropping capabilities: with them, root could bypass them.
const UNPRIVILEGED: [Guarantee; 4] = [
    Guarantee::Absence,
    Guarantee::NetworkLoopback,
    Guarantee::NetworkOff,
    Guarantee::NoPrivileges,
];
/// Guarantees that need a process of their own.
const OWN_NAMESPACES: [Guarantee; 4] = [
    Guarantee::Absence,
    Guarantee::NetworkLoopback,
    Guarantee::NoSurvivor,
    Guarantee::Sockets,
];
/// A flag among the bits of an order: a user namespace is attached.
const IN_USER: u16 = 1 << 15;

/// Returns the minimum version of Landlock for a guarantee; 0 if it needs none.
pub(super) fn needs(one: Guarantee) -> u32 {
    match one {
        Guarantee::Absence
        | Guarantee::NetworkLoopback
        | Guarantee::NetworkOff
        | Guarantee::NoPrivileges
        | Guarantee::NoSurvivor
        | Guarantee::Sockets => 0,
        Guarantee::NoTampering => SCOPE_VERSION,
        Guarantee::DeclaredReads | Guarantee::OnlyDeclared => TRUNCATE_VERSION,
    }
}

/// Whether this thread has only the capabilities that a confined step keeps.
pub(super) fn is_bounded() -> bool {
    capabilities(None).is_ok_and(|own| KEPT.contains(own.permitted))
}

fn bit(one: Guarantee) -> u16 {
    1 << one as u16
}

/// Returns the rights on files and the scopes that Landlock's rules restrict for these guarantees.
/// Files that do not exist for a sealed step need no rule against reading.
fn ruled(held: &[Guarantee]) -> (u64, u64) {
    let has = |one| held.contains(&one);
    let only = |held: bool, rights: u64| if held { rights } else { 0 };
    let changes = only(has(Guarantee::OnlyDeclared), CHANGE);
    let is_read = has(Guarantee::DeclaredReads) && !has(Guarantee::Absence);
    let reads = only(is_read, EXECUTE | READ_FILE | READ_DIR);
    (changes | reads, only(has(Guarantee::NoTampering), SCOPES))
}

/// Takes from this thread all capabilities but [`KEPT`], also those that a program of root would get
/// when it is executed.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let own = bound_capabilities()?;
    let kept = CapabilitySets {
        effective: own.effective.intersection(KEPT),
        permitted: own.permitted.intersection(KEPT),
        inheritable: own.inheritable.intersection(KEPT),
    };
    Ok(set_capabilities(None, kept)?)
}

/// Removes the capabilities that programs of root, executed by this thread, would get. Returns the
/// thread's own.
fn bound_capabilities() -> io::Result<CapabilitySets> {
    let own = capabilities(None)?;
    for one in own.permitted.difference(KEPT).iter() {
        // The check is cheaper than the call.
        if capability_is_in_bounding_set(one)? {
            remove_capability_from_bounding_set(one)?;
        }
    }
    Ok(own)
}

/// `EPERM`, `EACCES`, `ENOSYS`.
const NOT_PERMITTED: u32 = 1;
const DENIED: u32 = 13;
const NO_SUCH_CALL: u32 = 38;

/// `AF_UNIX`, `AF_INET`, `AF_INET6`, `AF_NETLINK`; NETLINK_ROUTE is protocol 0.
const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;

/// The numbers of calls on x86-64 and on 64-bit ARM.
type Numbers = [u32; 2];
const SOCKET: Numbers = [41, 198];
/// io_uring_setup, io_uring_enter, io_uring_register: filters cannot check operations in a ring.
const RINGS: [Numbers; 3] = [[425, 425], [426, 426], [427, 427]];
/// add_key, request_key, keyctl: the keys of a user belong to no namespace.
const KEYS: [Numbers; 3] = [[248, 217], [249, 218], [250, 219]];
/// prlimit64: of this process, or to read a limit.
const SET_LIMIT: Numbers = [302, 261];
/// Calls about a process by their first argument, 0 for the caller: sched_setparam,
/// sched_setscheduler, sched_setaffinity, sched_setattr.
const SCHEDULE: [Numbers; 4] = [[142, 118], [144, 119], [203, 122], [314, 274]];
/// Calls that concern one or several processes, by their second argument, and the first argument
/// for a single one: setpriority, ioprio_set.
const PRIORITY: [(Numbers, u32); 2] = [([141, 140], 0), ([251, 30], 1)];

fn own([x86, arm]: Numbers) -> u32 {
    let is_x86 = cfg!(target_arch = "x86_64");
    if is_x86 { x86 } else { arm }
}

/// Returns the filter for these guarantees. It refuses calls of another architecture, whose
/// arguments it could not interpret.
fn filter(architecture: u32, held: &[Guarantee]) -> Vec<Instruction> {
    let mut filter = of_kind(architecture, REFUSE | NO_SUCH_CALL);
    let is_off = held.contains(&Guarantee::NetworkOff);
    if is_off || held.contains(&Guarantee::NetworkLoopback) {
        filter.extend(if is_off {
            of_sockets(UNIX, UNIX)
        } else {
            of_sockets(INET, INET6)
        });
        RINGS.iter().for_each(|call| filter.extend(missing(*call)));
    }
    if held.contains(&Guarantee::Absence) {
        KEYS.iter().for_each(|call| filter.extend(missing(*call)));
    }
    if held.contains(&Guarantee::NoTampering) {
        filter.extend(of_limits());
        SCHEDULE
            .iter()
            .for_each(|numbers| filter.extend(of_own(own(*numbers))));
        for (numbers, process) in PRIORITY {
            filter.extend(of_own_priority(own(numbers), process));
        }
    }
    filter.push(answer(ALLOW));
    filter
}

/// Answers a call as a system that does not have it.
fn missing(call: Numbers) -> [Instruction; 2] {
    [
        instruction(IS, own(call), [0, 1]),
        answer(REFUSE | NO_SUCH_CALL),
    ]
}

fn load(index: usize) -> Instruction {
    instruction(LOAD, argument(index), [0, 0])
}

/// Allows sockets that stay within the machine, netlink sockets for interfaces, and those of two
/// families.
fn of_sockets(one: u32, other: u32) -> [Instruction; 10] {
    [
        instruction(IS, own(SOCKET), [0, 9]),
        load(0),
        instruction(IS, UNIX, [5, 0]),
        instruction(IS, one, [4, 0]),
        instruction(IS, other, [3, 0]),
        instruction(IS, NETLINK, [0, 3]),
        load(2),
        instruction(IS, 0, [0, 1]),
        answer(ALLOW),
        answer(REFUSE | DENIED),
    ]
}

/// Lets limits be set of the caller, and be read of all.
fn of_limits() -> [Instruction; 9] {
    [
        instruction(IS, own(SET_LIMIT), [0, 8]),
        load(0),
        instruction(IS, 0, [4, 0]),
        load(2),
        instruction(IS, 0, [0, 3]),
        instruction(LOAD, argument(2) + 4, [0, 0]),
        instruction(IS, 0, [0, 1]),
        answer(ALLOW),
        answer(REFUSE | NOT_PERMITTED),
    ]
}

/// Lets a call be made about the caller.
fn of_own(number: u32) -> [Instruction; 5] {
    [
        instruction(IS, number, [0, 4]),
        load(0),
        instruction(IS, 0, [0, 1]),
        answer(ALLOW),
        answer(REFUSE | NOT_PERMITTED),
    ]
}

/// Allows a call only for the caller itself: with `process` as the first argument, the second is a
/// process.
fn of_own_priority(number: u32, process: u32) -> [Instruction; 7] {
    [
        instruction(IS, number, [0, 6]),
        load(0),
        instruction(IS, process, [0, 3]),
        load(1),
        instruction(IS, 0, [0, 1]),
        answer(ALLOW),
        answer(REFUSE | NOT_PERMITTED),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::filter::{X32, run};
    use super::*;

    #[test]
    fn what_is_refused() {
        let Some(architecture) = ARCHITECTURE else {
            return;
        };
        let all = filter(architecture, &Guarantee::ALL);
        let guard = filter(architecture, &[Guarantee::NoTampering]);
        let network = filter(architecture, &[Guarantee::NetworkOff]);
        let loopback = filter(architecture, &[Guarantee::NetworkLoopback]);
        let says = |filter: &[Instruction], numbers, arguments: &[u64]| {
            let mut all = [0; 6];
            all[..arguments.len()].copy_from_slice(arguments);
            run(filter, architecture, own(numbers), all)
        };
        for (family, protocol, want) in [
            (1, 0, ALLOW),
            (16, 0, ALLOW),
            (16, 9, REFUSE | DENIED),
            (2, 0, REFUSE | DENIED),
            (10, 0, REFUSE | DENIED),
            (17, 3, REFUSE | DENIED),
            (40, 0, REFUSE | DENIED),
            // The kernel takes the lower half alone.
            (1 << 32 | 2, 0, REFUSE | DENIED),
        ] {
            let arguments = [family, 1, protocol];
            assert_eq!(says(&network, SOCKET, &arguments), want, "{family}");
            assert_eq!(says(&all, SOCKET, &arguments), want, "{family}");
            let want = if [2, 10].contains(&(family & 0xffff)) {
                ALLOW
            } else {
                want
            };
            assert_eq!(says(&loopback, SOCKET, &arguments), want, "{family}");
            assert_eq!(says(&guard, SOCKET, &arguments), ALLOW);
        }
        for ring in RINGS {
            assert_eq!(says(&network, ring, &[]), REFUSE | NO_SUCH_CALL);
            assert_eq!(says(&loopback, ring, &[]), REFUSE | NO_SUCH_CALL);
            assert_eq!(says(&guard, ring, &[]), ALLOW);
        }
        let sealed = filter(architecture, &[Guarantee::Absence]);
        for call in KEYS {
            assert_eq!(says(&sealed, call, &[]), REFUSE | NO_SUCH_CALL);
            assert_eq!(says(&guard, call, &[]), ALLOW);
        }
        let refused = REFUSE | NOT_PERMITTED;
        for (arguments, want) in [
            ([0, 1, 5, 0], ALLOW),
            ([7, 1, 0, 5], ALLOW),
            ([7, 1, 5, 0], refused),
            ([7, 1, 1 << 32, 0], refused),
        ] {
            assert_eq!(says(&guard, SET_LIMIT, &arguments), want);
            assert_eq!(says(&all, SET_LIMIT, &arguments), want);
            assert_eq!(says(&network, SET_LIMIT, &arguments), ALLOW);
        }
        for call in SCHEDULE {
            assert_eq!(says(&all, call, &[0, 1]), ALLOW);
            assert_eq!(says(&all, call, &[7, 1]), refused);
        }
        for (call, process) in PRIORITY {
            let process = u64::from(process);
            assert_eq!(says(&all, call, &[process, 0, 9]), ALLOW);
            assert_eq!(says(&all, call, &[process, 7, 9]), refused);
            assert_eq!(says(&all, call, &[process + 1, 0, 9]), refused);
        }
        let any = run(&all, architecture, 0, [0; 6]);
        assert_eq!(any, ALLOW);
        let other = run(&all, architecture ^ 1, own(SOCKET), [1; 6]);
        assert_eq!(other, REFUSE | NO_SUCH_CALL);
        if cfg!(target_arch = "x86_64") {
            let other = run(&all, architecture, X32 + own(SOCKET), [1; 6]);
            assert_eq!(other, REFUSE | NO_SUCH_CALL);
        }
    }

    #[test]
    fn orders_carry_what_holds() {
        let all = Guarantee::ALL.map(bit);
        assert_eq!(
            all.iter().sum::<u16>(),
            all.iter().fold(0, |bits, one| bits | one)
        );
        for (bits, rules) in (0..=all.iter().sum()).map(|bits| {
            let held = Guarantee::ALL
                .into_iter()
                .filter(|one| bits & bit(*one) != 0);
            (
                bits,
                usize::from(ruled(&held.collect::<Vec<_>>()) != (0, 0)),
            )
        }) {
            for (bits, fds) in [(bits, rules), (bits | IN_USER, rules + 1)] {
                let mut came = 0;
                let confine = Confine::of_order(bits, || {
                    came += 1;
                    Some(std::fs::File::open("/dev/null").unwrap().into())
                });
                assert_eq!(confine.bits(), bits);
                assert_eq!((confine.fds().count(), came), (fds, fds));
            }
        }
    }

    #[test]
    fn a_child_hands_over_why_it_is_not_confined() {
        for stage in Stage::ALL {
            for error in [0, 1, 22, 133] {
                let why = Unconfined { stage, error };
                assert_eq!(Unconfined::of_error(&why.to_error()), Some(why));
            }
        }
        for number in [1, 2, 133] {
            let other = io::Error::from_raw_os_error(number);
            assert_eq!(Unconfined::of_error(&other), None);
        }
    }
}
