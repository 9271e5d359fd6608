//! Who are the supervisors, and what becomes of a step whose supervisor is gone?

use super::frame::{Answer, Inbox};
use super::supervise::ARGUMENT;
use super::sys;
use super::tree::{self, Groups};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The supervisors of this process: one for each step that runs, kept for the next one.
#[derive(Debug)]
pub struct Pool {
    executable: PathBuf,
    idle: Mutex<Vec<Supervisor>>,
    /// All that live. Locked while one is started, so that none is taken for an orphan.
    known: Mutex<BTreeSet<i32>>,
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
}

impl Pool {
    /// A pool without supervisors. `executable` is vplan's own; `None` finds it by `/proc/self/exe`.
    ///
    /// Makes this process inherit orphans too, so that a step that kills its supervisor does not get away; keeps other
    /// processes of the same user out of its memory and environment (not root's); and makes it survive `ulimit -f`.
    #[must_use]
    pub fn new(executable: Option<PathBuf>) -> Self {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        sys::ignore_file_size_signal();
        Self {
            executable: executable.unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
            idle: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// Starts supervisors now, so that the first steps need not wait for them.
    ///
    /// # Errors
    /// What keeps the system from starting a process.
    pub fn prepare(&self, count: usize) -> io::Result<()> {
        while lock(&self.idle).len() < count {
            let supervisor = self.start()?;
            lock(&self.idle).push(supervisor);
        }
        Ok(())
    }

    /// Takes an idle supervisor or starts one.
    pub(super) fn take(&self) -> io::Result<Supervisor> {
        let idle = lock(&self.idle).pop();
        idle.map_or_else(|| self.start(), Ok)
    }

    /// Gives a supervisor back whose step has ended.
    pub(super) fn give(&self, supervisor: Supervisor) {
        lock(&self.idle).push(supervisor);
    }

    fn start(&self) -> io::Result<Supervisor> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let mut command = Command::new(&self.executable);
        // Its environment is empty: a step can read that of its parent.
        command.arg0("vplan-supervisor").arg(ARGUMENT).env_clear();
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        let mut known = lock(&self.known);
        let child = sys::with_closed_mask(|| command.spawn())?;
        let pid = Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::Other)?;
        known.insert(pid.as_raw_pid());
        Ok(Supervisor { child, pid, socket: ours, inbox: Inbox::new(64), number: 0 })
    }

    /// Parts from a supervisor that failed: ends it, and everything that it has left to this process. Gives the number of
    /// processes that had to be ended.
    pub(super) fn bury(&self, mut supervisor: Supervisor) -> u32 {
        let _ = kill_process(supervisor.pid, Signal::KILL);
        // The system hands its children over before it lets its end be seen.
        let _ = supervisor.child.wait();
        let mut known = lock(&self.known);
        known.remove(&supervisor.pid.as_raw_pid());
        sweep_orphans(&known)
    }

    /// Parts from a supervisor that could not end its step's processes; it may go on trying.
    pub(super) fn dismiss(&self, supervisor: Supervisor) {
        let Supervisor { socket, mut child, pid, .. } = supervisor;
        drop(socket);
        let _ = child.try_wait();
        lock(&self.known).remove(&pid.as_raw_pid());
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *lock(&self.idle));
        // All sockets first, so that all of them end side by side.
        let children: Vec<Child> = idle.into_iter().map(|s| s.child).collect();
        for mut child in children {
            let _ = child.wait();
        }
    }
}

impl Supervisor {
    /// Waits for the next answer. `None` when the supervisor is gone.
    pub(super) fn receive(&mut self) -> io::Result<Option<Answer>> {
        if !self.inbox.fill(&self.socket)? {
            return Ok(None);
        }
        self.inbox.next_answer()
    }
}

/// Ends everything that this process has inherited, until none is left; gives up when ten seconds went by without an end.
///
/// By groups and the newest first, as [`tree::walk`] does. What is below those that are killed moves up.
fn sweep_orphans(supervisors: &BTreeSet<i32>) -> u32 {
    let mut killed = BTreeSet::new();
    let mut progress = Instant::now();
    let session = tree::session(rustix::process::getpid());
    let mut pause = Duration::from_millis(1);
    loop {
        let (mut left, mut moved) = (false, false);
        let mut groups = Groups::new();
        for pid in tree::own_children().into_iter().rev().filter(|pid| !supervisors.contains(&pid.as_raw_pid())) {
            let Some(orphan) = tree::orphan(pid, session) else { continue };
            left = true;
            groups.kill(orphan.group);
            if orphan.dead {
                let Ok(Some((_, status))) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) else { continue };
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
        } else if !left || progress.elapsed() > Duration::from_secs(10) {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        } else {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds one of these locks can leave its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
