//! The supervisor process: starts one step at a time and ensures that none of its processes remain.
//!
//! A supervisor is vplan's own program, executed once for each slot, before the first step runs. It
//! is small, has no environment (so that `/proc/PPID/environ` reveals nothing to a step), no
//! terminal, and no descriptor but its socket. It has one thread; confined or observed steps are
//! started by additional threads. Linux makes it the parent of every orphan below it (a child
//! subreaper). So whatever a step forks, detaches or moves to another group or session stays below
//! it. When vplan dies, for whatever reason, the socket closes, which is an order to end
//! everything.

use super::confine::{Confine, Unconfined};
use super::messages::{
    End, Inbox, Order, Reply, Secret, Start, SupervisorAnswer, pair, send_reply, send_socket,
};
use super::observe::{self, Observer};
use super::sealed::{self, NotStarted, SealedStep};
use super::starter::Starters;
use super::sys;
use super::tree::{self, Do, ProcessIdentity};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, kill_process};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first argument that makes vplan a supervisor. No user types it.
pub const ARGUMENT: &str = "__supervise";

/// Grace period after a step's end in which its processes may still end without counting as leaked:
/// a pipeline's last process, a shell's child.
const LEAK_GRACE: Duration = Duration::from_millis(50);
/// The time that vplan has to stop a step at its time limit, before vplan itself counts as stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// The time without the end of a process after which a sweep gives up: another user's processes, a
/// process stuck in the kernel.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of trapped calls that are answered before checking orders and ended children
/// again.
const TRAPPED: usize = 64;
/// `__WALL` (wait(2)): also children that were not made by a plain fork.
const ALL_KINDS: u32 = 0x4000_0000;

/// Runs as a supervisor if the arguments request it. Must be called before anything else, with one
/// thread, no open descriptors except the standard ones, and a socket to vplan as standard input.
pub fn supervise_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != ARGUMENT) || arguments.next().is_some() {
        return None;
    }
    // A supervisor cannot report this; vplan notices that the socket closes.
    Some(if Supervisor::new().and_then(Supervisor::serve).is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Supervisor {
    socket: OwnedFd,
    children: OwnedFd,
    inbox: Inbox,
    /// The number and the secret of the last start, which every answer carries.
    last: (u64, Secret),
    /// The latest time at which vplan should have stopped the last step; after that, a stopped
    /// vplan gets SIGCONT.
    due: Option<Instant>,
    /// Whether steps have lost the capabilities that reach beyond their own processes.
    is_bounded: bool,
    /// Whether vplan is gone.
    orphaned: bool,
    /// The threads that start confined steps.
    starters: Starters,
}

/// The state of the running step.
struct Running {
    number: u64,
    leader: Pid,
    /// Its time limit, if it has one.
    time: Option<Time>,
    /// Whether it was still running at its time limit.
    timed_out: bool,
    /// The status and the time of its leader's end.
    ended: Option<(i32, Instant)>,
    /// Whether it got SIGTERM; the processes that remain are killed later.
    terminated: bool,
    killed: bool,
    frozen: BTreeSet<ProcessIdentity>,
    swept: BTreeSet<ProcessIdentity>,
    /// Whether the processes that are ended now were left over by a leader that ended by itself.
    left: bool,
    leaked: u32,
    /// The time of the last end of a process.
    progress: Instant,
    /// Whether the leader is the first process of the step's namespaces, and not the step.
    is_sealed: bool,
    /// Hands over the step's end until it has, if it is sealed.
    sealed: Option<SealedStep>,
    /// Observes its effects, if it is observed.
    observer: Option<Observer>,
}

/// A step's first process below its supervisor.
enum Started {
    Leader(Pid),
    Sealed(SealedStep),
}

/// The time limit of a step by the supervisor's own clock, in case vplan cannot enforce it. It is
/// paused while the tree is stopped.
struct Time {
    /// The time of the limit.
    limit: Instant,
    /// The time after that at which the tree is ended.
    grace: Duration,
    /// The time since which the tree is stopped.
    frozen: Option<Instant>,
}

impl Time {
    fn from_start(start: &Start) -> Option<Self> {
        let limit = Instant::now().checked_add(Duration::from_millis(start.limit_ms))?;
        Some(Self {
            limit,
            grace: Duration::from_millis(start.grace_ms),
            frozen: None,
        })
    }

    fn thaw(&mut self) {
        if let Some(since) = self.frozen.take() {
            self.limit += since.elapsed();
        }
    }

    /// Whether the limit was so long ago.
    fn is_over(&self, by: Duration) -> bool {
        let at = self.limit.checked_add(by);
        self.frozen.is_none() && at.is_some_and(|at| at <= Instant::now())
    }
}

impl Supervisor {
    fn new() -> io::Result<Self> {
        let first = sys::take_stdin()?;
        sys::close_others(&[first.as_fd()]);
        // From here on no process of the same user reaches its memory or its descriptors.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // A process that leads its group already cannot lead a session; one that vplan starts does
        // not.
        rustix::process::setsid()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // A step may have stopped it (SIGSTOP), so that it could not notice that vplan is gone.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
        rustix::process::umask(Mode::WGRP | Mode::WOTH);
        sys::reset_signals();
        let _ = rustix::process::chdir("/");
        let children = sys::child_signals()?;
        // A core file of a step has no reader here, and may contain granted secrets.
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = rustix::process::setrlimit(Resource::Core, none);
        // The first socket was reachable by others for a moment; this one never was.
        let (socket, theirs) = pair(SocketType::STREAM)?;
        send_socket(first.as_fd(), theirs.as_fd())?;
        let inbox = Inbox::new(16 * 1024);
        Ok(Self {
            socket,
            children,
            inbox,
            last: (0, [0; 16]),
            due: None,
            is_bounded: false,
            orphaned: false,
            starters: Starters::default(),
        })
    }

    fn answer(&self, answer: SupervisorAnswer) -> io::Result<()> {
        let (number, secret) = self.last;
        let reply = Reply {
            number,
            secret,
            answer,
        };
        send_reply(self.socket.as_fd(), reply)
    }

    /// Refuses to serve while another process than vplan's own tracer traces it, and takes from
    /// steps the capabilities that reach beyond their own processes.
    fn secure(&mut self, start: &Start) -> io::Result<()> {
        let tracer = tree::tracer();
        if tracer != 0 && tracer != start.tracer {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if !start.keep_capabilities && !std::mem::replace(&mut self.is_bounded, true) {
            // Refused to a process that has no capabilities to lose.
            let _ = remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE);
            let _ = configure_capability_in_ambient_set(CapabilitySet::SYS_PTRACE, false);
            if let Ok(own) = capabilities(None) {
                let inheritable = own.inheritable.difference(CapabilitySet::SYS_PTRACE);
                let _ = set_capabilities(None, CapabilitySets { inheritable, ..own });
            }
        }
        Ok(())
    }

    fn serve(mut self) -> io::Result<()> {
        while !self.orphaned {
            while let Some(order) = self.inbox.next_order()? {
                match order {
                    Order::Start(number, start) => {
                        let (Some(dir), Some(stdout), Some(stderr)) = (
                            self.inbox.next_fd(),
                            self.inbox.next_fd(),
                            self.inbox.next_fd(),
                        ) else {
                            return Err(io::ErrorKind::InvalidData.into());
                        };
                        let mut next_if = |is_sent| match is_sent {
                            true => self.inbox.next_fd(),
                            false => None,
                        };
                        let stdin = next_if(start.input);
                        let seen = next_if(start.observe.is_some());
                        let confine = Confine::of_order(start.confine, || next_if(true));
                        let confine = match &start.sealed {
                            Some(files) => confine.with_only((**files).clone()),
                            None => confine,
                        };
                        self.secure(&start)?;
                        self.last = (number, start.secret);

                        // The pipes stay open here until vplan has the answer: so vplan wakes up
                        // once for the answer, not for the end of each stream.
                        let first = FirstProcess {
                            order: Arc::new(start),
                            dir,
                            stdout: stdout.try_clone()?,
                            stderr: stderr.try_clone()?,
                            stdin,
                        };
                        let answer = self.run(number, confine, first, seen)?;
                        if !self.orphaned {
                            self.answer(answer)?;
                        }
                    }
                    Order::Freeze(_) => self.answer(SupervisorAnswer::Frozen)?,
                    // An order about a step that has ended.
                    Order::Terminate(_) | Order::Kill(_) | Order::Thaw(_) => {}
                }
            }
            self.orphaned = self.orphaned || !self.idle()?;
        }
        Ok(())
    }

    /// Waits for an order. `false` if vplan is gone.
    fn idle(&mut self) -> io::Result<bool> {
        while let Some(due) = self.due {
            let left = due.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => self.wake(),
                Ok(_) => self.due = None,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.inbox.fill(&self.socket)
    }

    /// Resumes vplan if a step has stopped it (SIGSTOP): it could not enforce its limits.
    fn wake(&mut self) {
        self.due = None;
        if let Some(vplan) = rustix::process::getppid().filter(|parent| tree::is_stopped(*parent)) {
            let _ = kill_process(vplan, Signal::CONT);
        }
    }

    fn run(
        &mut self,
        number: u64,
        confine: Confine,
        first: FirstProcess,
        seen: Option<OwnedFd>,
    ) -> io::Result<SupervisorAnswer> {
        let order = Arc::clone(&first.order);
        let (leader, observer) = self.started(confine, first);
        let (leader, sealed) = match leader {
            Ok(Started::Leader(leader)) => (leader, None),
            Ok(Started::Sealed(step)) => (step.init, Some(step)),
            Err(NotStarted { error, place }) => {
                write_seen(observer, seen);
                return Ok(match Unconfined::of_error(&error) {
                    Some(unconfined) => {
                        SupervisorAnswer::Unconfined(unconfined, place.unwrap_or_default())
                    }
                    None => SupervisorAnswer::Refused(
                        error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error()),
                    ),
                });
            }
        };
        let mut running = Running {
            number,
            leader,
            time: Time::from_start(&order),
            timed_out: false,
            ended: None,
            terminated: false,
            killed: false,
            frozen: BTreeSet::new(),
            swept: BTreeSet::new(),
            left: false,
            leaked: 0,
            progress: Instant::now(),
            is_sealed: sealed.is_some(),
            sealed,
            observer,
        };
        self.due = running
            .time
            .as_ref()
            .and_then(|time| time.limit.checked_add(STOP_TIMEOUT));
        let survivors = self.attend(&mut running)?;
        let _ = rustix::process::chdir("/");
        write_seen(running.observer.take(), seen);
        let status = running.ended.map_or(-9, |(status, _)| status);
        Ok(SupervisorAnswer::Ended(End {
            status,
            leaked: running.leaked,
            survivors,
            timed_out: running.timed_out,
        }))
    }

    /// Starts a step; confines and observes it on request.
    fn started(
        &mut self,
        confine: Confine,
        first: FirstProcess,
    ) -> (Result<Started, NotStarted>, Option<Observer>) {
        if !confine.is_whole() {
            return (Err(io::Error::from(Errno::INVAL).into()), None);
        }
        let order = Arc::clone(&first.order);
        let Some(root) = &order.observe else {
            return (self.started_unseen(confine, first), None);
        };
        let program = observe::first_program(&first.dir, &order.program);
        if let Some(files) = &order.sealed {
            let mut observer = Observer::waiting(root, program);
            let started = first.path().map_err(NotStarted::from).and_then(|here| {
                let begin = |confine| first.spawn(Some(confine));
                sealed::start(
                    files,
                    confine,
                    &here,
                    (Some(&mut observer), &mut None),
                    begin,
                )
            });
            return (started.map(Started::Sealed), Some(observer));
        }
        let (leader, observer) = observe::begin(root, program, move || first.spawn(Some(confine)));
        let leader = leader.map(Started::Leader).map_err(NotStarted::from);
        (leader, Some(observer))
    }

    /// Starts a step that is not observed.
    fn started_unseen(
        &mut self,
        confine: Confine,
        first: FirstProcess,
    ) -> Result<Started, NotStarted> {
        if first.order.confine == 0 {
            return Ok(Started::Leader(first.spawn(None)?));
        }
        if first.order.sealed.is_some() {
            let sealed = self.starters.confined(confine, |confine, kept| {
                let (order, here) = (Arc::clone(&first.order), first.path()?);
                let files = order.sealed.as_deref();
                let files = files.ok_or_else(|| io::Error::from(Errno::INVAL))?;
                let begin = |confine| first.confined(confine);
                sealed::start(files, confine, &here, (None, &mut kept.network), begin)
            });
            return sealed?.map(Started::Sealed);
        }
        if !confine.fits_thread() {
            return Ok(Started::Leader(first.spawn(Some(confine))?));
        }
        let leader = self
            .starters
            .confined(confine, |confine, _| first.confined(confine));
        Ok(Started::Leader(leader??))
    }

    /// Waits until no process of a step is left, and obeys orders about it. Returns how many could
    /// not be ended.
    fn attend(&mut self, running: &mut Running) -> io::Result<u32> {
        let mut pause = Duration::ZERO;
        // Chains that fork and exit make new dead processes faster than one can wait for them.
        let mut most = REAPED;
        loop {
            take_end(running);
            let Some(all) = reap(running, most)? else {
                return Ok(0);
            };
            self.keep_time(running);
            let timeout = if self.must_sweep(running) {
                running.left = running.ended.is_some()
                    && !running.terminated
                    && !running.killed
                    && !self.orphaned;
                let children = tree::own_children();
                most = children.len().max(REAPED);
                let new = sweep(running, &children);
                if running.left {
                    running.leaked = running
                        .leaked
                        .saturating_add(u32::try_from(new).unwrap_or(u32::MAX));
                }
                // A chain of processes that fork and exit is caught by looking again at once;
                // others need time to die.
                let again = new > 0 || !all;
                pause = if again {
                    Duration::ZERO
                } else {
                    (pause * 2).clamp(MILLISECOND, 50 * MILLISECOND)
                };
                if running.progress.elapsed() > SWEEP_TIMEOUT {
                    return Ok(u32::try_from(tree::own_children().len()).unwrap_or(u32::MAX));
                }
                Some(pause)
            } else if !all {
                Some(Duration::ZERO)
            } else {
                let ended =
                    (running.ended).filter(|_| !running.terminated && running.frozen.is_empty());
                let ended =
                    ended.map(|(_, at)| LEAK_GRACE.saturating_sub(at.elapsed()).max(MILLISECOND));
                ended.into_iter().chain(self.until_time(running)).min()
            };
            self.wait(running, timeout)?;
        }
    }

    /// Acts in place of vplan, which should have done this by now: records that the time limit is
    /// over, resumes a stopped vplan, and finally kills the tree.
    fn keep_time(&mut self, running: &mut Running) {
        let Some(time) = &running.time else { return };
        running.timed_out |=
            running.ended.is_none() && !running.terminated && time.is_over(Duration::ZERO);
        if time.is_over(time.grace) && !running.killed {
            running.killed = true;
            running.progress = Instant::now();
        }
        if self.due.is_some() && time.is_over(STOP_TIMEOUT) {
            self.wake();
        }
    }

    /// Returns the time until the next action about the time limit.
    fn until_time(&self, running: &Running) -> Option<Duration> {
        let time = running
            .time
            .as_ref()
            .filter(|time| time.frozen.is_none() && !running.killed)?;
        let next = if !running.timed_out && running.ended.is_none() {
            time.limit
        } else if self.due.is_some() {
            time.limit.checked_add(STOP_TIMEOUT)?
        } else {
            time.limit.checked_add(time.grace)?
        };
        let left = next.saturating_duration_since(Instant::now());
        Some(left.max(MILLISECOND))
    }

    /// Waits for something: a child's end, an order, a trapped call.
    fn poll(
        &self,
        running: &Running,
        until: Option<Instant>,
    ) -> io::Result<(bool, bool, PollFlags)> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let nothing = PollFlags::empty();
        // An orphan's socket stays readable. A descriptor that is not waited for is replaced by the
        // children, polled for no event.
        let order = match self.orphaned {
            true => PollFd::new(&self.children, nothing),
            false => PollFd::new(&self.socket, PollFlags::IN),
        };
        let listener = running.observer.as_ref().and_then(Observer::listener);
        let trapped = match listener {
            Some(listener) => PollFd::from_borrowed_fd(listener, PollFlags::IN),
            None => PollFd::new(&self.children, nothing),
        };
        let ended = match &running.sealed {
            Some(step) => PollFd::new(step.messages(), PollFlags::IN),
            None => PollFd::new(&self.children, nothing),
        };
        let mut fds = [
            PollFd::new(&self.children, PollFlags::IN),
            order,
            trapped,
            ended,
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [child, order, trapped, ended] = fds.map(|fd| fd.revents());
        Ok((
            !child.is_empty() || !ended.is_empty(),
            !order.is_empty(),
            trapped,
        ))
    }

    fn must_sweep(&self, running: &Running) -> bool {
        let left_behind = running
            .ended
            .is_some_and(|(_, at)| at.elapsed() >= LEAK_GRACE)
            && !running.terminated
            && running.frozen.is_empty();
        self.orphaned || running.killed || left_behind
    }

    /// Waits for a child's end or an order, whichever comes first, and obeys. Answers trapped calls
    /// meanwhile, but only a limited number before it checks the rest again.
    fn wait(&mut self, running: &mut Running, timeout: Option<Duration>) -> io::Result<()> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let [mut child, mut order] = [false; 2];
        for _ in 0..TRAPPED {
            let trapped;
            (child, order, trapped) = self.poll(running, until)?;
            let Some(observer) = running.observer.as_mut().filter(|_| !trapped.is_empty()) else {
                break;
            };
            observer.ready(trapped);
            if child || order {
                break;
            }
        }
        if child {
            let mut ignored = [0_u8; 1024];
            let _ = rustix::io::read(&self.children, &mut ignored);
        }
        if order && !self.orphaned {
            self.orphaned = !self.inbox.fill(&self.socket)?;
            while let Some(order) = self.inbox.next_order()? {
                self.obey(running, &order)?;
            }
        }
        Ok(())
    }

    fn obey(&mut self, running: &mut Running, order: &Order) -> io::Result<()> {
        let number = running.number;
        match order {
            Order::Terminate(n) if *n == number => {
                running.terminated = true;
                self.due = None;
                running.frozen.clear();
                let children = tree::own_children();
                tree::walk(&children, Do::Terminate, |_| true, &mut BTreeSet::new());
            }
            Order::Kill(n) if *n == number => {
                if !running.killed {
                    running.progress = Instant::now();
                }
                running.killed = true;
                self.due = None;
            }
            Order::Freeze(n) => {
                // A stopped process cannot fork; a walk that finds no new one has stopped them all.
                if *n == number {
                    if let Some(time) = &mut running.time {
                        time.frozen.get_or_insert_with(Instant::now);
                    }
                    self.due = None;
                    for _ in 0..1_000 {
                        let children = tree::own_children();
                        let frozen = &mut running.frozen;
                        if tree::walk(&children, Do::Freeze, |_| true, frozen) == 0 {
                            break;
                        }
                    }
                }
                self.answer(SupervisorAnswer::Frozen)?;
            }
            Order::Thaw(n) if *n == number => {
                if let Some(time) = &mut running.time {
                    time.thaw();
                    self.due = time.limit.checked_add(STOP_TIMEOUT);
                }
                let frozen = std::mem::take(&mut running.frozen);
                let is_frozen = |seen: &ProcessIdentity| frozen.contains(seen);
                let children = tree::own_children();
                tree::walk(&children, Do::Thaw, is_frozen, &mut BTreeSet::new());
                running.progress = Instant::now();
            }
            // An order about a step that has ended. A second start cannot arrive: vplan waits for
            // the answer to the first.
            Order::Start(..) | Order::Terminate(_) | Order::Kill(_) | Order::Thaw(_) => {}
        }
        Ok(())
    }
}

/// Kills all processes of a step. Returns how many were reached for the first time: those of vplan do not
/// count.
fn sweep(running: &mut Running, children: &[Pid]) -> usize {
    let own = running.is_sealed.then_some(running.leader.as_raw_pid());
    // When the first process of its namespaces ends, all others end, and can no longer be counted.
    // It is killed if no other one was found, or they were found before.
    let is_first = running.swept.is_empty();
    let is_its = |seen: &ProcessIdentity| Some(seen.pid) != own;
    let new = tree::walk(children, Do::Kill, is_its, &mut running.swept);
    if own.is_some() && (new == 0 || !is_first) {
        tree::walk(children, Do::Kill, |_| true, &mut running.swept);
    }
    new
}

/// Notes how a sealed step has ended, if it has.
fn take_end(running: &mut Running) {
    let has_ended = running.sealed.as_ref().is_some_and(SealedStep::is_over);
    if has_ended {
        hear(running);
    }
}

fn hear(running: &mut Running) {
    let end = running.sealed.take().and_then(SealedStep::take_end);
    // It was killed with the first process of its namespaces.
    running.ended = Some((end.unwrap_or(-9), Instant::now()));
}

const MILLISECOND: Duration = Duration::from_millis(1);
/// Minimum number of processes to reap before orders and running processes are checked again.
const REAPED: usize = 100;

/// Reaps at most `most` ended processes; returns whether these were all. `None` when no child is
/// left at all.
fn reap(running: &mut Running, most: usize) -> io::Result<Option<bool>> {
    for _ in 0..most {
        match rustix::process::wait(WaitOptions::NOHANG | WaitOptions::from_bits_retain(ALL_KINDS))
        {
            Ok(None) => return Ok(Some(true)),
            Ok(Some((pid, status))) => {
                running.progress = Instant::now();
                if running.left && tree::was_killed(status) && !tree::has(&running.swept, pid) {
                    running.leaked = running.leaked.saturating_add(1);
                }
                if pid == running.leader && running.sealed.is_some() {
                    hear(running);
                }
                if pid == running.leader && running.ended.is_none() {
                    let status = status
                        .exit_status()
                        .or_else(|| status.terminating_signal().map(|s| -s));
                    running.ended = status.map(|s| (s, Instant::now()));
                }
            }
            Err(Errno::CHILD) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(false))
}

/// Hands over the observed effects of a step.
fn write_seen(observer: Option<Observer>, to: Option<OwnedFd>) {
    if let Some((observer, to)) = observer.zip(to) {
        observer.finish(to);
    }
}

/// The first process of a step, which is to be started.
struct FirstProcess {
    order: Arc<Start>,
    /// The folder in which it starts.
    dir: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    stdin: Option<OwnedFd>,
}

impl FirstProcess {
    /// Returns the path of its folder.
    fn path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.dir.as_raw_fd()))
    }

    /// Starts it, confined by that process itself.
    fn spawn(self, confine: Option<Confine>) -> io::Result<Pid> {
        let mut command = self.command()?;
        if let Some(confine) = confine {
            confine.try_with(&mut command, || Ok(()));
        }
        start(command)
    }

    /// Starts it from a thread with the common filter of its guarantees.
    fn confined(self, confine: Confine) -> io::Result<Pid> {
        let command = self.command()?;
        // A separate thread. Restrictions on it end with it, so they affect neither the next step
        // nor the thread that watches it.
        let thread = std::thread::Builder::new().spawn(move || {
            confine.apply_own().map_err(Unconfined::to_error)?;
            start(command)
        })?;
        let started = thread.join();
        started.map_err(|_| io::Error::from(io::ErrorKind::Other))?
    }

    /// Assembles the command: in a new process group, in the supervisor's session, which has no
    /// terminal. Since the step does not lead the session, it cannot get a terminal by opening one.
    fn command(self) -> io::Result<Command> {
        // The descriptor of a sealed one would lead out.
        if self.order.sealed.is_none() {
            rustix::process::fchdir(&self.dir)?;
        }
        let argv = self.order.argv.split_first();
        let (name, words) = argv.ok_or(io::ErrorKind::InvalidInput)?;
        let stdin = match self.stdin {
            Some(stdin) => stdin,
            None => File::open("/dev/null")?.into(),
        };
        let env = self.order.env.iter();
        let mut command = Command::new(OsStr::from_bytes(&self.order.program));
        command
            .arg0(OsStr::from_bytes(name))
            .args(words.iter().map(|w| OsStr::from_bytes(w)))
            .env_clear()
            .envs(env.map(|(n, v)| (OsStr::from_bytes(n), OsStr::from_bytes(v))))
            .stdin(stdin)
            .stdout(self.stdout)
            .stderr(self.stderr)
            .process_group(0);
        Ok(command)
    }
}

/// Starts a process.
fn start(mut command: Command) -> io::Result<Pid> {
    let child = sys::with_open_mask(|| command.spawn())?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::ErrorKind::Other.into())
}
