//! Manages the pool of supervisors, and handles steps whose supervisor has died.

use super::messages::{Inbox, Reply, Secret, SupervisorAnswer, pair};
use super::supervise::ARGUMENT;
use super::sys;
use super::tree::{self, Groups};
use crate::parallel::locked;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The supervisors of this process: one for each running step, and idle ones for the next steps.
#[derive(Debug)]
pub struct Pool {
    executable: PathBuf,
    idle: Mutex<Vec<Supervisor>>,
    /// The number of supervisors to start together with the first one that is needed.
    expected: AtomicUsize,
    /// All running ones. Locked while one is started, so that none is taken for an orphan.
    known: Mutex<BTreeSet<i32>>,
    /// The process that traced this one before any step could: a supervisor may have that tracer
    /// and no other.
    pub(super) tracer: i32,
    /// Whether steps keep capabilities that affect other processes (`--keep-capabilities`).
    pub(super) keep_capabilities: bool,
}

/// A supervisor from vplan's side.
#[derive(Debug)]
pub(super) struct Supervisor {
    child: Child,
    pub(super) pid: Pid,
    pub(super) socket: OwnedFd,
    pub(super) inbox: Inbox,
    /// The number of the last start.
    pub(super) number: u64,
    /// The secret of the last start.
    pub(super) secret: Secret,
    /// Whether the socket is the supervisor's own: see [`Supervisor::own_socket`].
    is_ready: bool,
}

impl Pool {
    /// Makes a pool without supervisors. `executable` is vplan's own; `None` finds it by
    /// `/proc/self/exe`.
    ///
    /// Makes this process inherit orphans too, so that the processes of a step that kills its
    /// supervisor are still ended. Protects its memory and environment from other processes of the
    /// same user (not from root's), and makes it survive `ulimit -f`.
    pub fn new(executable: Option<PathBuf>) -> Self {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        sys::ignore_file_size_signal();
        Self {
            executable: executable.unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
            idle: Mutex::default(),
            expected: AtomicUsize::new(0),
            known: Mutex::default(),
            tracer: tree::tracer(),
            keep_capabilities: false,
        }
    }

    /// Sets whether steps keep capabilities that affect other processes.
    pub fn keeping_capabilities(mut self, keep_capabilities: bool) -> Self {
        self.keep_capabilities = keep_capabilities;
        self
    }

    /// Starts supervisors now, so that the first steps need not wait for them.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub fn prepare(&self, count: usize) -> io::Result<()> {
        while locked(&self.idle).len() < count {
            let supervisor = self.start()?;
            locked(&self.idle).push(supervisor);
        }
        Ok(())
    }

    /// Sets how many supervisors will be needed at a time. They are started together, before the
    /// first step that could interfere; none if no step starts.
    pub fn expect(&self, count: usize) {
        self.expected.store(count, Ordering::Relaxed);
    }

    /// Takes an idle supervisor or starts one, with a new number and secret for its next start.
    pub(super) fn take(&self) -> io::Result<Supervisor> {
        let mut supervisor = self.ready()?;
        supervisor.number += 1;
        getrandom(&mut supervisor.secret, GetRandomFlags::empty())?;
        Ok(supervisor)
    }

    /// Returns an idle supervisor that takes orders; or a new one, which has one try.
    fn ready(&self) -> io::Result<Supervisor> {
        // If that fails, the supervisor that is needed now is started below.
        let _ = self.prepare(self.expected.swap(0, Ordering::Relaxed));
        loop {
            let failed = self.make_ready().err();
            let Some(idle) = locked(&self.idle).pop() else {
                if let Some(error) = failed {
                    return Err(error);
                }
                let new = self.start()?;
                locked(&self.idle).push(new);
                continue;
            };
            if idle.is_silent() {
                return Ok(idle);
            }
            self.bury(idle);
        }
    }

    /// Waits until all that were started take orders; before that, no step may run that could reach
    /// them.
    fn make_ready(&self) -> io::Result<()> {
        let idle = std::mem::take(&mut *locked(&self.idle));
        let mut result = Ok(());
        for mut supervisor in idle {
            match supervisor.own_socket() {
                Ok(()) => locked(&self.idle).push(supervisor),
                Err(error) => {
                    result = Err(error);
                    self.bury(supervisor);
                }
            }
        }
        result
    }

    /// Takes back a supervisor whose step has ended. If it has sent more than its answer, it is not
    /// used again.
    pub(super) fn give(&self, supervisor: Supervisor) {
        if supervisor.is_silent() {
            locked(&self.idle).push(supervisor);
        } else {
            self.bury(supervisor);
        }
    }

    fn start(&self) -> io::Result<Supervisor> {
        let (ours, theirs) = pair(SocketType::STREAM)?;
        let mut command = Command::new(&self.executable);
        // Its environment is empty: a step can read that of its parent.
        command.arg0("vplan-supervisor").arg(ARGUMENT).env_clear();
        command
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut known = locked(&self.known);
        let child = sys::with_closed_mask(|| command.spawn()).map_err(|error| {
            if Path::new("/proc/self").exists() {
                error
            } else {
                let message = "`/proc` is not mounted, without which vplan starts nothing";
                io::Error::new(error.kind(), message)
            }
        })?;
        let pid = Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::Other)?;
        known.insert(pid.as_raw_pid());
        drop(known);
        let (inbox, secret) = (Inbox::new(256), [0; 16]);
        Ok(Supervisor {
            child,
            pid,
            socket: ours,
            inbox,
            number: 0,
            secret,
            is_ready: false,
        })
    }

    /// Removes a supervisor that failed: ends it, and everything that it has left to this process.
    /// Returns the number of processes that had to be ended.
    ///
    /// If a step traces its supervisor, the supervisor's end is only reported after the step's. So
    /// both are handled in turn.
    pub(super) fn bury(&self, mut supervisor: Supervisor) -> u32 {
        let _ = kill_process(supervisor.pid, Signal::KILL);
        let mut killed: u32 = 0;
        let until = Instant::now() + SWEEP_TIMEOUT;
        let mut pause = Duration::from_millis(1);
        // The system hands over its children before it reports its end.
        while matches!(supervisor.child.try_wait(), Ok(None)) && Instant::now() < until {
            let known = locked(&self.known);
            killed = killed.saturating_add(sweep_orphans(&known, Duration::ZERO));
            drop(known);
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        let mut known = locked(&self.known);
        known.remove(&supervisor.pid.as_raw_pid());
        killed.saturating_add(sweep_orphans(&known, SWEEP_TIMEOUT))
    }

    /// Removes a supervisor that could not end its step's processes; it may go on trying.
    pub(super) fn dismiss(&self, supervisor: Supervisor) {
        let Supervisor {
            socket,
            mut child,
            pid,
            ..
        } = supervisor;
        drop(socket);
        let _ = child.try_wait();
        locked(&self.known).remove(&pid.as_raw_pid());
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *locked(&self.idle));
        // All sockets are closed first, so that all of them end in parallel.
        let children: Vec<(Pid, Child)> = idle.into_iter().map(|s| (s.pid, s.child)).collect();
        for (pid, mut child) in children {
            // One that was stopped after its last answer would not notice, and vplan would wait for
            // ever.
            let _ = kill_process(pid, Signal::CONT);
            let _ = child.wait();
        }
    }
}

impl Supervisor {
    /// Reads the supervisor's messages, and returns the last one. `None` if the supervisor is gone,
    /// or if part of an answer is still missing.
    ///
    /// # Errors
    /// A message that does not answer the last start.
    pub(super) fn receive(&mut self) -> io::Result<Received> {
        if !self.inbox.fill(&self.socket)? {
            return Ok(Received::Gone);
        }
        let mut received = Received::Part;
        while let Some(Reply {
            number,
            secret,
            answer,
        }) = self.inbox.next_reply()?
        {
            if number != self.number
                || secret != self.secret
                || matches!(received, Received::Answer(SupervisorAnswer::Ended(_)))
            {
                return Err(io::ErrorKind::InvalidData.into());
            }
            received = Received::Answer(answer);
        }
        Ok(received)
    }

    /// Whether every message was read.
    fn is_silent(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        let polled = poll(&mut fds, Some(&Timespec::default()));
        self.inbox.is_empty() && polled.is_ok_and(|ready| ready == 0)
    }

    /// Takes the socket on which it receives orders. It makes this one itself, once no other
    /// process can reach its descriptors. A step may have had access to the first one, which it was
    /// started with.
    fn own_socket(&mut self) -> io::Result<()> {
        if self.is_ready {
            return Ok(());
        }
        let foreign = || io::Error::from(io::ErrorKind::InvalidData);
        let until = Instant::now() + SWEEP_TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !self.inbox.fill(&self.socket)? {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let socket = self.inbox.next_fd().ok_or_else(foreign)?;
        // The system records which process has made the pair.
        if rustix::net::sockopt::socket_peercred(&socket)?.pid != self.pid {
            return Err(foreign());
        }
        (self.socket, self.inbox, self.is_ready) = (socket, Inbox::new(256), true);
        Ok(())
    }
}

/// The last message of a supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// An answer about the last start.
    Answer(SupervisorAnswer),
    /// A part of an answer.
    Part,
    /// The supervisor is gone.
    Gone,
}

/// The time without progress after which a sweep gives up.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends all inherited processes; gives up if none ends within `patience`.
///
/// By groups and the newest first, as [`tree::walk`] does. The children of those that are killed
/// move up.
fn sweep_orphans(supervisors: &BTreeSet<i32>, patience: Duration) -> u32 {
    let mut killed = BTreeSet::new();
    let mut progress = Instant::now();
    let session = tree::session(rustix::process::getpid());
    let mut pause = Duration::from_millis(1);
    loop {
        let (mut left, mut moved) = (false, false);
        let mut groups = Groups::new();
        let is_one = |pid: &Pid| supervisors.contains(&pid.as_raw_pid());
        for pid in tree::own_children()
            .into_iter()
            .rev()
            .filter(|pid| !is_one(pid))
        {
            let Some(orphan) = tree::orphan(pid, session) else {
                continue;
            };
            left = true;
            groups.kill(orphan.group);
            if orphan.dead {
                let Ok(Some((_, status))) = waitpid(Some(pid), WaitOptions::NOHANG) else {
                    continue;
                };
                moved = true;
                if tree::was_killed(status) {
                    killed.insert(orphan.seen);
                }
            } else {
                moved |= kill_process(pid, Signal::KILL).is_ok() && killed.insert(orphan.seen);
            }
        }
        if moved {
            progress = Instant::now();
            pause = Duration::from_millis(1);
        } else if !left || progress.elapsed() >= patience {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        } else {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::{End, send_reply};
    use super::*;
    use rustix::fd::AsFd as _;

    /// Makes a supervisor at its second start, with the test as its other end.
    fn played() -> (Supervisor, OwnedFd) {
        let (ours, theirs) = pair(SocketType::STREAM).unwrap();
        let child = Command::new("true").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let secret = [5; 16];
        let own = Supervisor {
            child,
            pid,
            socket: ours,
            inbox: Inbox::new(256),
            number: 2,
            secret,
            is_ready: true,
        };
        (own, theirs)
    }

    #[test]
    fn only_an_answer_with_number_and_secret_of_the_last_start_counts() {
        let ended = || SupervisorAnswer::Ended(End::default());
        for (number, secret, answers, want) in [
            (2, [5; 16], 1, Some(Received::Answer(ended()))),
            (1, [5; 16], 1, None),
            (3, [5; 16], 1, None),
            (2, [0; 16], 1, None),
            (2, [5; 16], 2, None),
        ] {
            let (mut supervisor, other) = played();
            for _ in 0..answers {
                send_reply(
                    other.as_fd(),
                    Reply {
                        number,
                        secret,
                        answer: ended(),
                    },
                )
                .unwrap();
            }
            assert_eq!(
                supervisor.receive().ok(),
                want,
                "{number} {secret:?} {answers}"
            );
            let _ = supervisor.child.wait();
        }
    }

    #[test]
    fn a_stopped_one_does_not_hold_up_the_end() {
        let pool = Pool::new(None);
        let (mut supervisor, _other) = played();
        let _ = supervisor.child.wait();
        supervisor.child = Command::new("sh")
            .args(["-c", "kill -STOP $$"])
            .spawn()
            .unwrap();
        supervisor.pid = Pid::from_raw(supervisor.child.id().cast_signed()).unwrap();
        let (_, status) = rustix::process::waitpid(Some(supervisor.pid), WaitOptions::UNTRACED)
            .unwrap()
            .unwrap();
        assert!(status.stopped());
        locked(&pool.idle).push(supervisor);
        let (said, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            drop(pool);
            let _ = said.send(());
        });
        assert!(
            ended.recv_timeout(Duration::from_secs(300)).is_ok(),
            "it was waited for"
        );
    }

    #[test]
    fn stray_bytes_cost_a_supervisor_its_place() {
        let pool = Pool::new(None);
        for stray in [&b""[..], b"x", b"\0\0\0\0"] {
            let (supervisor, other) = played();
            rustix::io::write(&other, stray).unwrap();
            assert_eq!(supervisor.is_silent(), stray.is_empty());
            pool.give(supervisor);
            assert_eq!(
                locked(&pool.idle).drain(..).count(),
                usize::from(stray.is_empty()),
                "{stray:?}"
            );
        }
    }
}
