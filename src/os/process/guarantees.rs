//! Finds out which guarantees the system gives, by trying each of them once, including that
//! forbidden operations fail.

use super::confine::{Confine, Unconfined, is_bounded, needs};
use super::sys;
use crate::parallel::locked;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{getppid, test_kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use vplan_check::confine::Guarantee;

/// Returns why the system does not give a guarantee, for people; `None` if it does.
pub fn lacking(one: Guarantee) -> Option<String> {
    static TRIED: Mutex<BTreeMap<Guarantee, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut all = locked(&TRIED);
    all.entry(one)
        .or_insert_with(|| Some(tried(one).err()?.to_string()))
        .clone()
}

/// Numbers that a process hands over instead of becoming a program; no error of the system has them.
/// All was refused that should be; something outside was reached; another kind of socket was made.
const HOLDS: i32 = 0xfff0;
const REACHED: i32 = 0xfff1;
const ANOTHER: i32 = 0xfff2;

/// Tries a loopback in a separate process: a listener outside is unreachable, one inside is
/// reachable, and sockets of other kinds cannot be made.
fn loopback() -> io::Result<()> {
    let confine = Confine::new(&[Guarantee::NetworkLoopback])?;
    // If nothing can listen on this side, there is nothing to reach.
    let outside = TcpListener::bind(ANY).ok();
    let address = outside
        .as_ref()
        .and_then(|outside| outside.local_addr().ok());
    let mut command = Command::new("/proc/self/exe");
    confine.try_with(&mut command, move || {
        let is_refused = |address| {
            let reached = TcpStream::connect(address);
            reached.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        };
        let other = socket(AddressFamily::VSOCK, SocketType::STREAM, None);
        let within = TcpListener::bind(ANY)?;
        TcpStream::connect(within.local_addr()?)?;
        Err(io::Error::from_raw_os_error(
            if !address.is_none_or(is_refused) {
                REACHED
            } else if other.is_err_and(|error| error == Errno::ACCESS) {
                HOLDS
            } else {
                ANOTHER
            },
        ))
    });
    let Err(error) = command.spawn() else {
        return Err(untried());
    };
    Err(io::Error::other(match error.raw_os_error() {
        Some(HOLDS) => return Ok(()),
        Some(REACHED) => "what listens outside was reached when it was tried".to_owned(),
        Some(ANOTHER) => "another kind of socket was not refused when it was tried".to_owned(),
        _ => Unconfined::of_error(&error).map_or_else(
            || format!("its loopback could not be used: {error}"),
            |why| why.to_string(),
        ),
    }))
}

/// Returns the result of trying to seal a process.
fn sealed(one: Guarantee) -> io::Result<()> {
    static LACKING: OnceLock<BTreeMap<Guarantee, String>> = OnceLock::new();
    let lacking = LACKING.get_or_init(super::sealed::attempt::lacking);
    lacking
        .get(&one)
        .map_or(Ok(()), |why| Err(io::Error::other(&**why)))
}

fn untried() -> io::Error {
    io::Error::other("it could not be tried")
}

/// Any port of the loopback.
const ANY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

/// Tries a guarantee in a separate thread, which ends with its confinement.
fn tried(one: Guarantee) -> io::Result<()> {
    match one {
        Guarantee::NetworkLoopback => return loopback(),
        Guarantee::Absence | Guarantee::NoSurvivor | Guarantee::Sockets => return sealed(one),
        _ => {}
    }
    let least = needs(one);
    if least > 0 {
        let version = sys::landlock_version().map_err(|error| {
            io::Error::other(match Errno::from_io_error(&error) {
                Some(Errno::NOSYS) => "this kernel has no Landlock".to_owned(),
                Some(Errno::OPNOTSUPP) => {
                    "Landlock is not enabled at boot (`lsm=landlock,…`)".to_owned()
                }
                _ => format!("the system does not say which Landlock it has: {error}"),
            })
        })?;
        if version < least {
            let linux = if least == 6 { "6.12" } else { "6.2" };
            return Err(io::Error::other(format!(
                "it needs Landlock {least} (Linux {linux}), and this system has {version}"
            )));
        }
    }
    let failed = |what| move |error| io::Error::other(format!("{what}: {error}"));
    let folder = tempfile::tempdir().map_err(failed("there is no temporary folder"))?;
    let path = folder.path().join("file");
    let there = folder.path().join("there");
    std::fs::write(&there, "x").map_err(failed("a file cannot be made"))?;
    let thread = std::thread::Builder::new().name("guarantee".to_owned());
    let thread = thread.spawn(move || {
        Confine::new(&[one])?.apply().map_err(io::Error::other)?;
        match one {
            Guarantee::NetworkOff => {
                let made = socket(AddressFamily::INET, SocketType::DGRAM, None);
                is_refused("a socket of the network", made.map(drop), Errno::ACCESS)?;
                socket(AddressFamily::UNIX, SocketType::DGRAM, None)
                    .map(drop)
                    .map_err(|error| failed("a socket within the machine is refused")(error.into()))
            }
            Guarantee::NetworkLoopback
            | Guarantee::Absence
            | Guarantee::NoSurvivor
            | Guarantee::Sockets => Err(untried()),
            Guarantee::NoPrivileges if is_bounded() => Ok(()),
            Guarantee::NoPrivileges => Err(io::Error::other("capabilities are left")),
            Guarantee::NoTampering => match getppid() {
                Some(parent) => is_refused(
                    "a signal to another process",
                    test_kill_process(parent),
                    Errno::PERM,
                ),
                None => Ok(()),
            },
            Guarantee::DeclaredReads => {
                let listed = std::fs::read_dir(there.parent().unwrap_or(&there));
                is_refused(
                    "to list a folder",
                    listed.map(drop).map_err(errno),
                    Errno::ACCESS,
                )?;
                let opened = File::open(&there).map(drop).map_err(errno);
                is_refused("to read a file", opened, Errno::ACCESS)
            }
            Guarantee::OnlyDeclared => {
                let made = File::create(&path).map(drop).map_err(errno);
                is_refused("a new file", made, Errno::ACCESS)
            }
        }
    });
    let thread = thread.map_err(failed("it could not be tried"))?;
    thread.join().unwrap_or_else(|_| Err(untried()))
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn is_refused(what: &str, done: Result<(), Errno>, with: Errno) -> io::Result<()> {
    Err(io::Error::other(match done {
        Err(error) if error == with => return Ok(()),
        Ok(()) => format!("{what} was not refused when it was tried"),
        Err(error) => format!("{what} could not be tried: {error}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_gives_does_not_stay_with_whoever_tries() {
        let lacking = Guarantee::ALL.map(lacking);
        assert!(File::create(tempfile::tempdir().unwrap().path().join("x")).is_ok());
        assert!(socket(AddressFamily::INET, SocketType::DGRAM, None).is_ok());
        assert!(
            lacking.iter().flatten().all(|why| !why.is_empty()),
            "{lacking:?}"
        );
    }
}
