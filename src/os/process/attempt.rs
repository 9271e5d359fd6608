//! Runs one try of a step under a supervisor; the try is over when none of its processes remain.
//!
//! Nothing here waits: the caller polls ([`Attempt::watch`]) and passes on what is ready
//! ([`Attempt::ready`]).

use super::capture::{CAPTURE_LIMIT, Capture, Live, LogPlace, Output};
use super::confine::Confine;
use super::input::memory;
use super::mask::Secrets;
use super::messages::{End, Order, Start, SupervisorAnswer, send_order};
use super::pool::{Pool, Received, Supervisor};
use super::program::{self, Program, Root, SearchPath};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_check::evidence::{Evidence, SpawnError, UNCONFINED};
use vplan_check::observed::{Gap, Observed};
use vplan_check::outcome::GRACE_MS;
use vplan_check::output::reader::Stream;
use vplan_check::output::{Expected, Scan};

/// The parameters of a try.
pub struct Try<'a, 'f> {
    pub root: &'a Root,
    /// The directories that are searched for programs.
    pub search: &'a SearchPath,
    /// The working directory.
    pub dir: &'a RepoPath,
    /// The program and its arguments.
    pub argv: &'a [Word],
    /// The whole environment.
    pub env: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    /// Its standard input, if that is not empty.
    pub input: Option<&'a [u8]>,
    /// The values to be masked.
    pub secrets: &'a Secrets,
    /// The place of the log, if there is one.
    pub log: Option<LogPlace<'f>>,
    /// Limit of the output in the log, in bytes.
    pub max_output: u64,
    /// The last bytes of output, for a live view.
    pub live: Option<Arc<Live>>,
    /// The formats to parse its output in; `None` if it is not parsed.
    pub formats: Option<&'a Expected>,
    /// The time limit in milliseconds. vplan enforces it; if vplan cannot, the supervisor does.
    pub limit_ms: u64,
    /// Whether its effects are observed.
    pub observe: bool,
    /// What the step may access, if it is confined.
    pub confine: Option<&'a Confine>,
}

/// The result of a try.
#[derive(Debug, Default)]
pub struct AttemptResult {
    /// The evidence; without its duration, which the caller with the clock adds.
    pub evidence: Evidence,
    /// The program that was started, if it was found.
    pub program: Option<Program>,
    /// Whether there is a log.
    pub logged: bool,
    /// The reason why the log is not complete, if it is not.
    pub log_error: Option<io::Error>,
    /// Processes that could not be ended (another user's).
    pub survivors: u32,
    /// Its observed effects, if it was to be observed and was started.
    pub observed: Option<Observed>,
    /// Whether its program was started, as far as known.
    pub has_started: bool,
    /// Its exit code, or the negative number of the signal that ended it, if known.
    pub status: Option<i32>,
}

/// The buffer for reading, shared by all steps.
#[derive(Debug)]
pub struct Buffer(Box<[u8]>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; 256 * 1024].into_boxed_slice())
    }
}

/// The code of a try whose supervisor was killed.
pub(super) const SUPERVISOR_LOST: &str = "SUPERVISOR_LOST";
/// The default capacity of a pipe (pipe(7)).
const PIPE: usize = 64 * 1024;
/// Limit for the capacity of a pipe, in bytes.
const LARGE_PIPE: usize = 1024 * 1024;

/// A try that is running.
pub struct Attempt<'f> {
    program: Program,
    supervisor: Supervisor,
    readers: [Reader; 2],
    capture: Capture<'f>,
    answer: Option<SupervisorAnswer>,
    /// The file for its observed effects, if it is observed.
    observed: Option<OwnedFd>,
}

/// The state of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptProgress {
    /// It is still running.
    Nothing,
    /// Its tree is stopped, as [`Attempt::freeze`] requested.
    Frozen,
    /// It is over: [`Attempt::finish`] returns how.
    Over,
}

impl<'f> Attempt<'f> {
    /// Has a supervisor start a step.
    ///
    /// # Errors
    /// Nothing can be started; the result is evidence as well.
    pub fn begin(pool: &Pool, what: &Try<'_, 'f>) -> Result<Self, Box<AttemptResult>> {
        begin(pool, what, CAPTURE_LIMIT)
    }

    /// Returns the number of bytes that it has written to its standard output so far.
    pub(super) fn written(&self) -> u64 {
        self.capture.written()
    }

    /// Adds three descriptors to those that are polled.
    pub fn watch<'s>(&'s self, fds: &mut Vec<PollFd<'s>>) {
        fds.extend(self.fds());
    }

    fn fds(&self) -> [PollFd<'_>; 3] {
        let socket = self.supervisor.socket.as_fd();
        let [out, err] = self.readers.each_ref().map(|reader| match &reader.fd {
            Some(fd) => PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN),
            // An ended stream is replaced by the socket, polled for no event.
            None => PollFd::from_borrowed_fd(socket, PollFlags::empty()),
        });
        [PollFd::from_borrowed_fd(socket, PollFlags::IN), out, err]
    }

    /// Reads the available bytes. The three flags tell which of the three descriptors are ready.
    pub fn ready(&mut self, ready: [bool; 3], buffer: &mut Buffer) -> AttemptProgress {
        let [socket, out, err] = ready;
        self.read([out, err], buffer);
        if !socket {
            return AttemptProgress::Nothing;
        }
        match self.supervisor.receive() {
            Ok(Received::Part) => AttemptProgress::Nothing,
            Ok(Received::Answer(SupervisorAnswer::Frozen)) => AttemptProgress::Frozen,
            Ok(Received::Answer(answer)) => {
                self.answer = Some(answer);
                AttemptProgress::Over
            }
            Ok(Received::Gone) | Err(_) => AttemptProgress::Over,
        }
    }

    fn read(&mut self, ready: [bool; 2], buffer: &mut Buffer) {
        for (reader, ready) in self.readers.iter_mut().zip(ready) {
            if ready {
                reader.read(&mut self.capture, &mut buffer.0);
            }
        }
    }

    /// Asks the step's whole tree to end (SIGTERM, then SIGCONT).
    pub fn terminate(&self) {
        self.order(Order::Terminate);
    }

    /// Ends the step's whole tree (SIGKILL).
    pub fn kill(&self) {
        self.order(Order::Kill);
    }

    /// Stops the step's whole tree. Returns whether the supervisor will confirm that.
    pub fn freeze(&self) -> bool {
        self.order(Order::Freeze)
    }

    /// Resumes the tree that [`Attempt::freeze`] stopped.
    pub fn thaw(&self) {
        self.order(Order::Thaw);
    }

    /// Ends a supervisor that does not obey (a step may have stopped it); vplan itself then sweeps
    /// the processes that it leaves.
    pub fn abandon(&self) {
        // INVARIANT (no stranger): the supervisor is waited for in `finish` at the earliest, so the
        // number is still its own.
        let _ = kill_process(self.supervisor.pid, Signal::KILL);
    }

    fn order(&self, order: impl Fn(u64) -> Order) -> bool {
        // A stopped supervisor would not read the order.
        let _ = kill_process(self.supervisor.pid, Signal::CONT);
        // If the supervisor is gone, its socket reports that.
        send_order(
            self.supervisor.socket.as_fd(),
            &order(self.supervisor.number),
            &[],
        )
        .is_ok()
    }

    /// Puts the result together. `timed_out`: vplan stopped it because its time was up.
    pub fn finish(mut self, pool: &Pool, timed_out: bool, buffer: &mut Buffer) -> AttemptResult {
        self.drain(buffer);
        let Output {
            stdout,
            stderr,
            reading,
            logged,
            error,
        } = self.capture.finish();
        let evidence = Evidence {
            reading: reading.map(Box::new),
            stdout,
            stderr,
            ..Evidence::default()
        };
        let mut tried = AttemptResult {
            evidence,
            program: Some(self.program),
            logged,
            log_error: error,
            has_started: true,
            ..AttemptResult::default()
        };
        // Whole only once the supervisor has answered.
        let is_lost = matches!(self.answer, Some(SupervisorAnswer::Frozen) | None);
        tried.observed = self.observed.map(|file| observed(file, is_lost));
        let evidence = &mut tried.evidence;
        match self.answer {
            Some(SupervisorAnswer::Ended(End {
                status,
                leaked,
                survivors,
                timed_out: seen,
            })) => {
                evidence.timed_out = timed_out || seen;
                evidence.leaked = leaked;
                (tried.survivors, tried.status) = (survivors, Some(status));
                if status < 0 {
                    evidence.signal = Some(signal_name(-status));
                } else {
                    evidence.exit = Some(status);
                }
                if survivors == 0 {
                    pool.give(self.supervisor)
                } else {
                    pool.dismiss(self.supervisor)
                }
            }
            Some(SupervisorAnswer::Refused(errno)) => {
                let path = tried.program.as_ref().map(|p| p.path.as_path());
                evidence.spawn_error =
                    Some(program::explain(errno, path.unwrap_or(Path::new("."))));
                tried.has_started = false;
                pool.give(self.supervisor);
            }
            Some(SupervisorAnswer::Unconfined(why, place)) => {
                evidence.spawn_error = Some(unconfined(&why.at(&place)));
                tried.has_started = false;
                pool.give(self.supervisor);
            }
            Some(SupervisorAnswer::Frozen) | None => {
                evidence.leaked = pool.bury(self.supervisor);
                evidence.timed_out = timed_out;
                let message = "the supervisor of this step was killed, so how the step ended is not known; what it had started was stopped";
                evidence.spawn_error = Some(program::refusal(SUPERVISOR_LOST, message.to_owned()));
            }
        }
        tried
    }

    /// Reads the rest of the pipes when no process of the step is left. A process outside may still
    /// hold a pipe, since descriptors can be passed on. It is not waited for, and no more is read
    /// than a pipe can hold.
    fn drain(&mut self, buffer: &mut Buffer) {
        for _ in 0..2 * LARGE_PIPE / PIPE {
            let mut fds = self.fds();
            if poll(&mut fds, Some(&Timespec::default())).is_err() {
                return;
            }
            let [_, out, err] = fds.map(|f| f.revents().contains(PollFlags::IN));
            if !out && !err {
                return;
            }
            self.read([out, err], buffer);
        }
    }
}

/// Says that a step was not started because it could not be confined.
pub fn unconfined(why: &str) -> SpawnError {
    program::refusal(
        UNCONFINED,
        format!("it could not be confined, so it was not started: {why}"),
    )
}

impl AttemptResult {
    /// Makes the result of a try that was not started.
    pub fn refused(error: SpawnError, program: Option<Program>) -> Self {
        let evidence = Evidence {
            spawn_error: Some(error),
            ..Evidence::default()
        };
        Self {
            evidence,
            program,
            ..Self::default()
        }
    }
}

/// Reads the observed effects of a step.
fn observed(file: OwnedFd, is_lost: bool) -> Observed {
    let mut text = Vec::new();
    let mut file = File::from(file);
    let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
    let observed = read
        .ok()
        .filter(|_| !is_lost)
        .and_then(|_| Observed::read(&text));
    observed.unwrap_or_else(|| Observed::nothing(Gap::Lost))
}

/// Finds the program and gives it to a supervisor. `keep` is how many bytes of the beginning and of
/// the end of each stream are kept.
pub(super) fn begin<'f>(
    pool: &Pool,
    what: &Try<'_, 'f>,
    keep: usize,
) -> Result<Attempt<'f>, Box<AttemptResult>> {
    let input = what.input.map(memory).transpose().map_err(|error| {
        let error = program::failure("its input could not be prepared", &error);
        Box::new(AttemptResult::refused(error, None))
    })?;
    let word = what.argv.first().map_or(&b""[..], Word::as_bytes);
    let (program, dir) = program::resolve(what.root, what.search, what.dir, word)
        .map_err(|e| Box::new(AttemptResult::refused(e, None)))?;
    let root = what.root.path().as_os_str().as_bytes();
    let sealed = what.confine.and_then(Confine::sealed);
    let start = Start {
        program: program.name.clone(),
        argv: what.argv.iter().map(|w| w.as_bytes().to_vec()).collect(),
        env: what.env.clone().into_iter().collect(),
        input: input.is_some(),
        observe: what.observe.then(|| root.to_vec()),
        confine: what.confine.map_or(0, Confine::bits),
        sealed: sealed.cloned().map(Box::new),
        limit_ms: what.limit_ms,
        grace_ms: GRACE_MS,
        keep_capabilities: pool.keep_capabilities,
        tracer: pool.tracer,
        secret: [0; 16],
    };
    let own = |error: io::Error| {
        let error = program::failure("the step could not be started", &error);
        Box::new(AttemptResult::refused(error, Some(program.clone())))
    };
    let (stdout, child_out) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| own(e.into()))?;
    let (stderr, child_err) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| own(e.into()))?;
    let observed = what.observe.then(|| memory(&[])).transpose().map_err(own)?;
    let scan = what.formats.filter(|formats| formats.reads());
    let mut order = Order::Start(0, start);
    let mut fds = vec![dir.as_fd(), child_out.as_fd(), child_err.as_fd()];
    fds.extend(input.as_ref().map(OwnedFd::as_fd));
    fds.extend(observed.as_ref().map(OwnedFd::as_fd));
    fds.extend(what.confine.into_iter().flat_map(Confine::fds));
    // An idle supervisor may have been killed from outside. Nothing has been started then, so
    // another one may start the step.
    let mut tries = 0..3;
    let supervisor = loop {
        let supervisor = pool.take().map_err(own)?;
        if let Order::Start(number, start) = &mut order {
            (*number, start.secret) = (supervisor.number, supervisor.secret);
        }
        tries.next();
        match send_order(supervisor.socket.as_fd(), &order, &fds) {
            Ok(()) => break supervisor,
            Err(error) => {
                pool.bury(supervisor);
                if tries.is_empty() {
                    return Err(own(error));
                }
            }
        }
    };
    Ok(Attempt {
        program,
        supervisor,
        readers: [(Stream::Out, stdout), (Stream::Err, stderr)].map(Reader::new),
        capture: Capture::new(
            what.log.clone(),
            (what.max_output, keep),
            what.secrets,
            what.live.clone(),
            scan.map(Scan::expecting),
        ),
        answer: None,
        observed,
    })
}

struct Reader {
    stream: Stream,
    fd: Option<OwnedFd>,
    large: bool,
}

impl Reader {
    fn new((stream, fd): (Stream, OwnedFd)) -> Self {
        Self {
            stream,
            fd: Some(fd),
            large: false,
        }
    }

    fn read(&mut self, capture: &mut Capture<'_>, buffer: &mut [u8]) {
        let Some(fd) = &self.fd else { return };
        match rustix::io::read(fd, &mut *buffer) {
            Ok(0) => self.fd = None,
            Ok(count) => {
                capture.push(self.stream, buffer.get(..count).unwrap_or_default());
                if count >= PIPE && !self.large {
                    // Much output: fewer, larger reads. Set late, because most steps write little.
                    self.large = true;
                    let _ = fcntl_setpipe_size(fd, LARGE_PIPE);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.fd = None,
        }
    }
}

/// Returns the name of a signal on Linux (signal(7)).
fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(number - 1).ok().and_then(|n| NAMES.get(n));
    name.map_or_else(|| format!("SIGRT{number}"), |name| format!("SIG{name}"))
}
