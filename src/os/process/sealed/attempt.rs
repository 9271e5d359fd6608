//! Tries the guarantees of sealing a step in a separate process, including that hidden things are
//! gone.

use super::start;
use crate::own_program;
use crate::process::confine::{Confine, SEALING, Unconfined};
use crate::process::sealed_files::SealedFiles;
use crate::process::sys;
use rustix::event::{PollFd, PollFlags, Timespec, pause, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getpid, kill_process, set_child_subreaper};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use vplan_check::confine::Guarantee;

/// The first argument of the process that tries. No user types it.
const ARGUMENT: &str = "__try-sealed";
/// Time limit for the trial, and for the end of killed processes.
const LIMIT: Duration = Duration::from_secs(20);
const END: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

/// Tries all guarantees, and returns the reason for each that does not hold, for people.
pub(in crate::process) fn lacking() -> BTreeMap<Guarantee, String> {
    let tried = own_program::run(&[ARGUMENT.into()], LIMIT);
    let said = tried.map(|tried| String::from_utf8_lossy(&tried.stdout).into_owned());
    let said = said.unwrap_or_else(|error| error.to_string());
    let why = |one: Guarantee| match said.lines().find_map(|line| line.strip_prefix(one.name())) {
        Some("") => None,
        Some(why) => Some(why.trim_start().to_owned()),
        None => Some("it could not be tried".to_owned()),
    };
    SEALING
        .into_iter()
        .filter_map(|one| Some((one, why(one)?)))
        .collect()
}

/// Handles the command line of such a process. `None` for every other.
pub fn attempted(arguments: &[OsString]) -> Option<u8> {
    let arguments = own_program::end_with_parent(arguments.to_vec())?;
    let [_, first] = arguments.as_slice() else {
        return None;
    };
    if first != ARGUMENT {
        return None;
    }
    for one in SEALING {
        let tried = match one {
            Guarantee::NoSurvivor => survivor(),
            one => refused(one),
        };
        match tried {
            Ok(()) => println!("{}", one.name()),
            Err(why) => println!("{} {}", one.name(), describe(&why)),
        }
    }
    Some(0)
}

/// A folder with all files of a sealed process, and files that it must not reach.
struct Outside {
    files: SealedFiles,
    secret: PathBuf,
    socket: PathBuf,
    name: SocketAddr,
    _listeners: [UnixListener; 2],
    _folder: tempfile::TempDir,
}

impl Outside {
    fn make() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let [root, temporary] = ["root", "temporary"].map(|name| folder.path().join(name));
        let [secret, socket] = ["secret", "socket"].map(|name| folder.path().join(name));
        std::fs::create_dir(&root)?;
        std::fs::create_dir(&temporary)?;
        std::fs::write(&secret, "")?;
        let name = SocketAddr::from_abstract_name(socket.as_os_str().as_encoded_bytes())?;
        let listeners = [
            UnixListener::bind(&socket)?,
            UnixListener::bind_addr(&name)?,
        ];
        let files = SealedFiles {
            root,
            temporary,
            ..SealedFiles::default()
        };
        files.prepare()?;
        Ok(Self {
            files,
            secret,
            socket,
            name,
            _listeners: listeners,
            _folder: folder,
        })
    }

    fn confine(&self) -> io::Result<Confine> {
        let held = [&SEALING[..], &[Guarantee::NetworkOff]].concat();
        Ok(Confine::new(&held)?.with_only(self.files.clone()))
    }

    /// Runs a function in a sealed process, which exits with its result.
    fn start(&self, run: impl FnOnce(&Self) -> i32 + Send) -> io::Result<super::SealedStep> {
        let begin = |_| match sys::start_copy()? {
            Some(copy) => Ok(copy),
            None => sys::leave(run(self)),
        };
        let (confine, kept) = (self.confine()?, (None, &mut None));
        let started = start(&self.files, confine, Path::new("/"), kept, begin);
        started.map_err(|why| why.error)
    }

    fn is_absent(&self) -> bool {
        let is_gone = |path: &Path| {
            path.symlink_metadata()
                .is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
        };
        let own_name = rustix::system::uname().nodename() == c"vplan";
        let is_second = getpid().as_raw_pid() == 2;
        let written = std::fs::write("/x", "").map_err(|error| error.raw_os_error());
        let is_read_only = written == Err(Some(Errno::ROFS.raw_os_error()));
        let home = std::env::current_exe().is_ok_and(|own| own.exists());
        is_gone(&self.secret) && own_name && is_second && is_read_only && !home
    }

    fn reaches_no_socket(&self) -> bool {
        let is_refused =
            |made: io::Result<UnixStream>, with| made.is_err_and(|error| error.kind() == with);
        is_refused(UnixStream::connect(&self.socket), io::ErrorKind::NotFound)
            && is_refused(
                UnixStream::connect_addr(&self.name),
                io::ErrorKind::ConnectionRefused,
            )
    }
}

fn describe(error: &io::Error) -> String {
    Unconfined::of_error(error).map_or_else(|| error.to_string(), |why| why.to_string())
}

/// Tries an operation that a sealed process must be refused.
fn refused(one: Guarantee) -> io::Result<()> {
    let outside = Outside::make()?;
    let step = outside.start(|outside| {
        i32::from(!match one {
            Guarantee::Sockets => outside.reaches_no_socket(),
            _ => outside.is_absent(),
        })
    })?;
    let why = "what should be gone was there when it was tried";
    (step.take_end() == Some(0))
        .then_some(())
        .ok_or_else(|| io::Error::other(why))
}

/// Tries that no sealed process survives the process that started it.
fn survivor() -> io::Result<()> {
    let outside = Outside::make()?;
    let (alive, own) = pipe_with(PipeFlags::CLOEXEC)?;
    let Some(starter) = sys::start_copy()? else {
        // As a supervisor.
        let _ = set_child_subreaper(Some(getpid()));
        let step = outside.start(|_| rest());
        if step.is_ok() {
            let _ = rustix::io::write(&own, b"s");
            rest();
        }
        sys::leave(1);
    };
    drop(own);
    let started = rustix::io::read(&alive, &mut [0; 1])? == 1;
    kill_process(starter, Signal::KILL)?;
    super::wait_for(starter);
    let is_over = started && is_closed(&alive);
    let why = "not all ended when who started it was killed";
    is_over.then_some(()).ok_or_else(|| io::Error::other(why))
}

/// Waits until it is killed.
fn rest() -> ! {
    loop {
        pause();
    }
}

/// Whether all holders of the other end of a pipe end.
fn is_closed(pipe: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&END)), Ok(1))
        && matches!(rustix::io::read(pipe, &mut [0; 1]), Ok(0))
}
