//! How is one try of a step made? Started by a supervisor, listened to, and over when nothing of it is left.

use super::capture::{Capture, Live, LogPlace, Output, Stream};
use super::frame::{Answer, End, Order, Start};
use super::mask::Secrets;
use super::pool::{Handle, Pool, Supervisor};
use super::program::{self, Program, Root, SearchPath};
use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::check::evidence::{Evidence, SpawnError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What is tried.
pub struct Try<'a> {
    /// The repository.
    pub root: &'a Root,
    /// Where programs are looked for.
    pub search: &'a SearchPath,
    /// The working directory.
    pub dir: &'a RepoPath,
    /// The words.
    pub argv: &'a [Word],
    /// The whole environment.
    pub env: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    /// The values to be masked.
    pub secrets: &'a Secrets,
    /// Where the log goes, if there is one.
    pub log: Option<LogPlace<'a>>,
    /// How much of the output the log keeps, in bytes.
    pub max_output: u64,
    /// Where a live view finds the last bytes.
    pub live: Option<&'a Live>,
}

/// What came of a try.
#[derive(Debug)]
pub struct Tried {
    /// What was seen; without its duration, which is for whoever has the clock.
    pub evidence: Evidence,
    /// What was started, if it was found.
    pub program: Option<Program>,
    /// Whether there is a log.
    pub logged: bool,
    /// Why the log is not complete, if it is not.
    pub log_error: Option<io::Error>,
    /// Processes that could not be ended (another user's).
    pub survivors: u32,
}

/// A thread's room for reading, kept from try to try.
pub struct Buffer(Box<[u8]>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; 256 * 1024].into_boxed_slice())
    }
}

/// As much as a pipe holds unless it is asked to hold more (pipe(7)).
const PIPE: usize = 64 * 1024;
/// As much as a pipe may be asked to hold.
const LARGE_PIPE: usize = 1024 * 1024;

/// Makes a try and waits for its end. `frozen` is called when the tree stands still after [`Handle::freeze`].
pub fn attempt(pool: &Pool, what: &Try<'_>, handle: &Handle, buffer: &mut Buffer, frozen: &dyn Fn()) -> Tried {
    let mut tried =
        Tried { evidence: Evidence::default(), program: None, logged: false, log_error: None, survivors: 0 };
    let (supervisor, pipes) = match begin(pool, what, handle, &mut tried) {
        Ok(begun) => begun,
        Err(error) => {
            tried.evidence.spawn_error = Some(error);
            return tried;
        }
    };
    let mut capture = Capture::new(what.log, what.max_output, what.secrets, what.live);
    let (supervisor, answer) = listen(supervisor, pipes, &mut capture, buffer, frozen);
    // INVARIANT (no stranger): from here on nobody signals the supervisor, whose number becomes free when it is buried.
    let timed_out = handle.detach();
    let Output { stdout, stderr, logged, error } = capture.finish();
    (tried.logged, tried.log_error) = (logged, error);
    let evidence = &mut tried.evidence;
    (evidence.stdout, evidence.stderr) = (stdout, stderr);
    match answer {
        Some(Answer::Ended(End { status, leaked, survivors })) => {
            evidence.timed_out = timed_out;
            evidence.leaked = leaked;
            tried.survivors = survivors;
            if status < 0 {
                evidence.signal = Some(signal_name(-status));
            } else {
                evidence.exit = Some(status);
            }
            if survivors == 0 { pool.give(supervisor) } else { pool.dismiss(supervisor) }
        }
        Some(Answer::Refused(errno)) => {
            let path = tried.program.as_ref().map(|p| p.path.as_path());
            evidence.spawn_error = Some(program::explain(errno, path.unwrap_or(Path::new("."))));
            pool.give(supervisor);
        }
        Some(Answer::Frozen) | None => {
            evidence.leaked = pool.bury(supervisor);
            evidence.timed_out = timed_out;
            let message = "the supervisor of this step was killed, so how the step ended is not known; what it had started was stopped";
            evidence.spawn_error = Some(program::refusal("SUPERVISOR_LOST", message.to_owned()));
        }
    }
    tried
}

/// Our ends of a step's pipes.
struct Pipes {
    out: OwnedFd,
    err: OwnedFd,
}

fn begin(pool: &Pool, what: &Try<'_>, handle: &Handle, tried: &mut Tried) -> Result<(Supervisor, Pipes), SpawnError> {
    let own = |error: io::Error| {
        let message = format!("the step could not be started: {}", program::say(&error));
        program::refusal(program::code_of(&error), message)
    };
    let word = what.argv.first().map_or(&b""[..], Word::as_bytes);
    let (found, dir) = program::resolve(what.root, what.search, what.dir, word)?;
    let start = Start {
        program: found.name.clone(),
        argv: what.argv.iter().map(|w| w.as_bytes().to_vec()).collect(),
        env: what.env.iter().map(|(n, v)| (n.clone(), v.clone())).collect(),
    };
    tried.program = Some(found);
    let (out, child_out) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| own(e.into()))?;
    let (err, child_err) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| own(e.into()))?;
    // An idle supervisor may have been killed from outside; nothing has been started then, so another one may do it.
    let mut last = io::Error::from(io::ErrorKind::BrokenPipe);
    let mut order = Order::Start(0, start);
    for _ in 0..3 {
        let mut supervisor = pool.take().map_err(own)?;
        supervisor.number += 1;
        if let Order::Start(number, _) = &mut order {
            *number = supervisor.number;
        }
        match handle.attach(&supervisor, &order, &[dir.as_fd(), child_out.as_fd(), child_err.as_fd()]) {
            Ok(()) => return Ok((supervisor, Pipes { out, err })),
            Err(error) => last = error,
        }
        pool.bury(supervisor);
    }
    Err(own(last))
}

/// Reads both pipes until the supervisor says that nothing is left. What it said; nothing if it is gone.
fn listen(
    mut supervisor: Supervisor,
    pipes: Pipes,
    capture: &mut Capture<'_>,
    buffer: &mut Buffer,
    frozen: &dyn Fn(),
) -> (Supervisor, Option<Answer>) {
    let mut readers = [Reader::new(Stream::Out, pipes.out), Reader::new(Stream::Err, pipes.err)];
    let answer = loop {
        let [socket, out, err] = wait(&supervisor.socket, &readers, None);
        for (reader, ready) in readers.iter_mut().zip([out, err]) {
            if ready {
                reader.read(capture, &mut buffer.0);
            }
        }
        if socket {
            match supervisor.receive() {
                Ok(Some(Answer::Frozen)) => frozen(),
                Ok(answer) => break answer,
                Err(_) => break None,
            }
        }
    };
    // Nobody of the step is left who could write, and what it wrote is in the pipes. Somebody outside may hold them (a
    // descriptor can be passed on); that one is not waited for, and no more is read than a pipe can hold.
    let mut most = 2 * LARGE_PIPE / PIPE;
    while readers.iter().any(|r| r.fd.is_some()) && most > 0 {
        let [_, out, err] = wait(&supervisor.socket, &readers, Some(&Timespec::default()));
        if !out && !err {
            break;
        }
        for (reader, ready) in readers.iter_mut().zip([out, err]) {
            if ready {
                reader.read(capture, &mut buffer.0);
            }
        }
        most -= 1;
    }
    (supervisor, answer)
}

/// Which of the socket, standard output and standard error have something to say.
fn wait<'a>(socket: &'a OwnedFd, readers: &'a [Reader; 2], timeout: Option<&Timespec>) -> [bool; 3] {
    let [out, err] = readers;
    // A stream that has ended is stood in for by the socket, asked for nothing.
    let pipe = |reader: &'a Reader| match &reader.fd {
        Some(fd) => PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN),
        None => PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::empty()),
    };
    let mut fds = [PollFd::new(socket, PollFlags::IN), pipe(out), pipe(err)];
    match poll(&mut fds, timeout) {
        Ok(_) => {
            let [socket, a, b] = fds.map(|f| !f.revents().is_empty());
            [socket, a && out.fd.is_some(), b && err.fd.is_some()]
        }
        Err(_) => [false; 3],
    }
}

struct Reader {
    stream: Stream,
    fd: Option<OwnedFd>,
    large: bool,
}

impl Reader {
    fn new(stream: Stream, fd: OwnedFd) -> Self {
        Self { stream, fd: Some(fd), large: false }
    }

    fn read(&mut self, capture: &mut Capture<'_>, buffer: &mut [u8]) {
        let Some(fd) = &self.fd else { return };
        match rustix::io::read(fd, &mut *buffer) {
            Ok(0) => self.fd = None,
            Ok(count) => {
                capture.push(self.stream, buffer.get(..count).unwrap_or_default());
                if count >= PIPE && !self.large {
                    // A torrent: fewer, larger reads. Asked for late, because most steps say little.
                    self.large = true;
                    let _ = fcntl_setpipe_size(fd, LARGE_PIPE);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.fd = None,
        }
    }
}

/// The name of a signal on Linux (signal(7)).
fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(number - 1).ok().and_then(|n| NAMES.get(n));
    name.map_or_else(|| format!("SIGRT{number}"), |name| format!("SIG{name}"))
}
