//! Gives processes namespaces of their own: of users, which brings the right to the others, and of
//! networks.
//!
//! A process makes a user namespace while it has one thread, and writes its maps while others of
//! the same user can reach its memory. Neither is true for a supervisor's child. So vplan makes one
//! user namespace for all steps, by executing itself, and steps enter it if they need it.

use super::sys;
use crate::own_program;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The first argument of the process that makes a user namespace. No user types it.
const ARGUMENT: &str = "__user-namespace";
/// The message of success.
const MADE: &[u8; 4] = b"made";

/// If the arguments request it, makes a user namespace, and ends when standard input does. Must be
/// called while the process has one thread. The exit code is the number of the system's error.
pub fn user_namespace_if_asked(arguments: &[OsString]) -> Option<u8> {
    let [_, first] = arguments else { return None };
    if first != ARGUMENT {
        return None;
    }
    let own = (geteuid(), getegid());
    let made = sys::unshare(UnshareFlags::NEWUSER)
        .map_err(io::Error::from)
        .and_then(|()| map_to_itself(own))
        .and_then(|()| io::stdout().write_all(MADE))
        .and_then(|()| io::stdout().flush());
    Some(match made {
        Ok(()) => {
            let _ = io::stdin().read_to_end(&mut Vec::new());
            0
        }
        Err(error) => {
            let number = error
                .raw_os_error()
                .and_then(|number| u8::try_from(number).ok());
            number.unwrap_or(u8::MAX)
        }
    })
}

/// Moves this process, which must have one thread, into a new mount namespace; without the
/// privilege for that, also into a new user namespace. Returns whether there is a new user
/// namespace, whose id maps are empty.
pub(crate) fn own_mounts() -> rustix::io::Result<bool> {
    match sys::unshare(UnshareFlags::NEWNS) {
        Ok(()) => Ok(false),
        Err(_) => sys::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS).map(|()| true),
    }
}

/// Gives this process its own shared memory and message queues. It must have its own mounts.
///
/// # Errors
/// The system refuses.
pub(crate) fn own_shared_memory() -> io::Result<()> {
    sys::unshare(UnshareFlags::NEWIPC)?;
    let place = Path::new("/dev/shm");
    if place.is_dir() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("shm", place, "tmpfs", flags, c"mode=1777")?;
    }
    Ok(())
}

/// Maps the user and the group that this process had, before it had a user namespace, to themselves.
///
/// # Errors
/// The system refuses.
pub(crate) fn map_to_itself((user, group): (Uid, Gid)) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
}

/// Returns the user namespace that steps need for other namespaces; `None` if this process may
/// create those itself.
///
/// # Errors
/// The system refuses.
pub(super) fn user_namespace() -> io::Result<Option<BorrowedFd<'static>>> {
    static MADE: OnceLock<io::Result<Option<OwnedFd>>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let own = capabilities(None)?;
        if own.effective.contains(CapabilitySet::SYS_ADMIN) {
            return Ok(None);
        }
        make().map(Some)
    });
    match made {
        Ok(fd) => Ok(fd.as_ref().map(|fd| fd.as_fd())),
        Err(why) => Err(io::Error::other(why)),
    }
}

fn make() -> io::Result<OwnedFd> {
    let unmade = |why| io::Error::other(format!("a user namespace could not be made: {why}"));
    let mut child = own_program::program()
        .and_then(|own| {
            let mut command = Command::new(own);
            command.arg(ARGUMENT).env_clear().stderr(Stdio::null());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        })
        .map_err(|error| unmade(error.to_string()))?;
    let mut said = [0; MADE.len()];
    let read = child
        .stdout
        .take()
        .map(|mut from| from.read_exact(&mut said));
    let opened = match read {
        Some(Ok(())) if said == *MADE => File::open(format!("/proc/{}/ns/user", child.id())),
        _ => Err(io::ErrorKind::Other.into()),
    };
    drop(child.stdin.take());
    let ended = child.wait();
    opened.map(OwnedFd::from).map_err(|error| {
        let code = ended.ok().and_then(|ended| ended.code());
        let error = code
            .filter(|code| *code != 0)
            .map_or(error, io::Error::from_raw_os_error);
        unmade(hint(&error))
    })
}

/// Returns an error with its usual cause.
pub(super) fn hint(error: &io::Error) -> String {
    let cause = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC) => " (`sysctl user.max_user_namespaces` allows no more)",
        Some(Errno::PERM | Errno::ACCESS) => {
            " (a container's profile, AppArmor or `sysctl kernel.unprivileged_userns_clone` forbids it: `vplan help sandbox`)"
        }
        _ => "",
    };
    format!("{error}{cause}")
}

/// Enters a user namespace.
///
/// # Errors
/// The system refuses, or this process has more than one thread.
pub(super) fn enter(user: BorrowedFd<'_>) -> rustix::io::Result<()> {
    move_into_link_name_space(user, Some(LinkNameSpaceType::User))
}

/// Gives this thread a network of its own, with all its interfaces down.
///
/// # Errors
/// The system refuses.
pub(super) fn own_network() -> rustix::io::Result<()> {
    sys::unshare(UnshareFlags::NEWNET)
}

/// Returns the network of this thread.
///
/// # Errors
/// Errors of the system.
pub(super) fn network() -> io::Result<OwnedFd> {
    Ok(File::open("/proc/self/ns/net")?.into())
}

/// Enters a network.
///
/// # Errors
/// The system refuses.
pub(super) fn enter_network(network: BorrowedFd<'_>) -> rustix::io::Result<()> {
    move_into_link_name_space(network, Some(LinkNameSpaceType::Network))
}

/// Moves this thread into new namespaces for mounts, communication and the host's name. Processes
/// that it starts from now on are in a new PID namespace.
///
/// # Errors
/// The system refuses.
pub(super) fn own_all_but_network() -> rustix::io::Result<()> {
    let flags = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    sys::unshare(flags | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS)
}

/// The message that sets the first interface of a network, which is its loopback, up: RTM_NEWLINK, to be
/// acknowledged, with `IFF_UP` (rtnetlink(7)).
const UP: [u32; 8] = [32, 0x0005_0010, 1, 0, 0, 1, 1, 1];
/// The offset of the error in an answer (`struct nlmsgerr`); 0 means success.
const ERROR: std::ops::Range<usize> = 16..20;

/// Sets the loopback of this thread's network up.
///
/// # Errors
/// The system refuses.
pub(super) fn set_loopback_up() -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    // NETLINK_ROUTE is the protocol without a number.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    let mut message = [0; 32];
    for (to, from) in message.chunks_exact_mut(4).zip(UP) {
        to.copy_from_slice(&from.to_ne_bytes());
    }
    send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    recv(&socket, &mut answer, RecvFlags::empty())?;
    let error = answer.get(ERROR).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw_os_error(-error)),
        None => Err(Errno::BADMSG),
    }
}
