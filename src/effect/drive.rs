//! How do actions become effects and effects events? The loop around the state machine.
//!
//! One thread decides (the caller's), in a runtime of its own that waits for signals, timers and what the others say; each
//! step that runs has a thread that reads its output, and blocks in it: nothing is faster for pipes. They tell the first one
//! what happened through one channel, so events have one order.

use super::clock::Clock;
use super::environment::{Environment, Withheld};
use super::process::attempt::{Buffer, Tried, Try, attempt};
use super::process::capture::{Live, LogPlace};
use super::process::pool::{Handle, Pool};
use super::process::program::{Program, Root, say};
use super::signals::Signals;
use crate::base::path::RepoPath;
use crate::check::Kind;
use crate::check::evidence::{Evidence, SpawnError};
use crate::plan::{Plan, Step};
use crate::run::event::{Action, Event, Interrupt};
use rustix::fd::BorrowedFd;
use rustix::process::Signal;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::Scope;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long a supervisor has to obey a kill before it is taken for stopped or stuck and vplan sweeps itself. Longer than a
/// supervisor itself waits for processes that do not end.
const OBEY: Duration = Duration::from_secs(20);
/// How long the trees have to stand still before vplan stops itself, and how long it waits for its own stop to take hold.
const STAND_STILL: Duration = Duration::from_secs(2);

/// What is the same for all steps.
pub struct Context<'a> {
    /// The repository.
    pub root: &'a Root,
    /// What steps see of the environment.
    pub environment: &'a Environment,
    /// The folder for logs, if there is a record.
    pub logs: Option<BorrowedFd<'a>>,
    /// How much of a step's output its log keeps, in bytes (`--max-output`).
    pub max_output: u64,
    /// Makes the evidence of a step that starts nothing (`file`). Called on the step's thread; must start no process that
    /// leaves its session.
    pub evaluate: &'a (dyn Fn(&Step) -> Evidence + Sync),
    /// Called before each try of a step with `unchanged`; what it gives is called after the try.
    pub watch: &'a (dyn Fn(&Step) -> Watch + Sync),
    /// How often [`Message::Tick`] comes while something runs; never without.
    pub tick: Option<Duration>,
}

/// Looks again, and gives the first file that has changed.
pub type Watch = Box<dyn FnOnce() -> Option<RepoPath>>;

/// What whoever drives is told. For each message it gives actions; only those for an event may be other than stops.
pub enum Message<'a> {
    /// For the state machine. With the end of a try comes what the machine need not know.
    Event(Event, Option<&'a Finished>),
    /// A try is about to start. If that cannot be recorded, the answer to the machine's [`Event::RecordFailed`] stops it
    /// before it has begun.
    Starting {
        /// Index into the plan's steps.
        step: usize,
        /// Which try, from 1.
        attempt: u32,
        /// The effective time limit in milliseconds.
        limit_ms: u64,
        /// When.
        at: u64,
    },
    /// Time for a live view.
    Tick {
        /// When.
        at: u64,
        /// What runs, in plan order.
        running: &'a [Running<'a>],
    },
    /// vplan is about to stop itself (SIGTSTP); everything it runs stands still.
    Suspended,
    /// vplan goes on.
    Resumed,
}

/// A step that runs, for a live view.
#[derive(Debug)]
pub struct Running<'a> {
    /// Index into the plan's steps.
    pub step: usize,
    /// Which try, from 1.
    pub attempt: u32,
    /// Since when.
    pub since: u64,
    /// Its last words.
    pub live: &'a Live,
}

/// The end of a try, beside its evidence.
#[derive(Debug, Default)]
pub struct Finished {
    /// When it began, in milliseconds since the run's start.
    pub started_at: u64,
    /// The name of its log in the folder for logs; none for a silent step.
    pub log: Option<String>,
    /// Why the log is not complete. To the machine that is [`Event::RecordFailed`].
    pub log_error: Option<String>,
    /// What was started.
    pub program: Option<Program>,
    /// Variables that it asked for and did not get.
    pub withheld: Vec<Withheld>,
    /// Processes that could not be ended (another user's).
    pub survivors: u32,
}

/// Why a plan could not be driven.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// Signals could not be listened to, or a thread not started.
    #[error("the run could not be set up: {0}")]
    Setup(#[from] io::Error),
    /// The machine waits for nothing and is not done: a fault of vplan.
    #[error("the run stands still, which is a fault of vplan")]
    Stuck,
}

/// What lasts from plan to plan of a run: supervisors, the clock, and the runtime with the ears in it.
pub struct Driver {
    shared: Shared,
    ears: Ears,
    outbox: UnboundedSender<Note>,
    /// How many plans have been driven. A plan that recovery made may try a step again, whose log must have another name.
    round: u32,
    runtime: Runtime,
}

/// How the first thread hears of anything.
struct Ears {
    /// Never longer than the steps that run, twice: an end, and standing still.
    inbox: UnboundedReceiver<Note>,
    signals: Signals,
}

/// What the steps' threads use too.
struct Shared {
    pool: Pool,
    clock: Clock,
}

/// What other threads tell the first one.
enum Note {
    Ended { slot: usize, step: usize, attempt: u32, at: u64, evidence: Box<Evidence>, finished: Box<Finished> },
    Frozen,
    Signal(Signal),
}

/// What is given to a step's thread.
struct Job {
    step: usize,
    attempt: u32,
    log: Option<String>,
    handle: Arc<Handle>,
    live: Arc<Live>,
}

struct Slot {
    jobs: mpsc::Sender<Job>,
    busy: bool,
}

struct Busy {
    attempt: u32,
    since: u64,
    handle: Arc<Handle>,
    live: Arc<Live>,
    /// When its supervisor should have obeyed.
    overdue: Option<Instant>,
}

impl Driver {
    /// Starts the clock and the first supervisor. `supervisor` is vplan's own program; `None` finds it.
    ///
    /// # Errors
    /// When signals cannot be listened to. A supervisor that cannot be started is an error of each step.
    pub fn new(supervisor: Option<PathBuf>) -> Result<Self, DriveError> {
        let pool = Pool::new(supervisor);
        let _ = pool.prepare(1);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (outbox, inbox) = unbounded_channel();
        let signals = {
            let _within = runtime.enter();
            Signals::listen()?
        };
        let ears = Ears { inbox, signals };
        Ok(Self { shared: Shared { pool, clock: Clock::start() }, ears, outbox, round: 0, runtime })
    }

    /// The run's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Does `first` and then what `tell` answers to events, until [`Action::Done`].
    ///
    /// # Errors
    /// Only what is vplan's own fault; whatever happens to steps is evidence.
    pub fn drive(
        &mut self,
        plan: &Plan,
        context: &Context<'_>,
        first: Vec<Action>,
        tell: &mut dyn FnMut(Message<'_>) -> Vec<Action>,
    ) -> Result<(), DriveError> {
        self.round += 1;
        let Self { shared, ears, outbox, round, runtime } = self;
        std::thread::scope(|scope| {
            let mut drive = Drive {
                shared,
                ears,
                outbox,
                round: *round,
                plan,
                context,
                scope,
                tell,
                slots: Vec::new(),
                running: BTreeMap::new(),
                todo: first.into(),
                wake: None,
                last: 0,
                done: false,
            };
            let result = runtime.block_on(drive.run());
            // Whatever the reason for leaving, nothing stays behind: the threads end when their steps have.
            drive.running.values().for_each(|busy| busy.handle.kill(false));
            result
        })
    }
}

/// A plan being driven.
struct Drive<'d, 's, 'e> {
    shared: &'e Shared,
    ears: &'d mut Ears,
    outbox: &'d UnboundedSender<Note>,
    round: u32,
    plan: &'e Plan,
    context: &'e Context<'e>,
    scope: &'s Scope<'s, 'e>,
    tell: &'d mut dyn FnMut(Message<'_>) -> Vec<Action>,
    slots: Vec<Slot>,
    running: BTreeMap<usize, Busy>,
    todo: VecDeque<Action>,
    wake: Option<u64>,
    /// The time of the last event: events never go back in time, though threads may be overtaken.
    last: u64,
    done: bool,
}

impl<'e> Drive<'_, '_, 'e> {
    async fn run(&mut self) -> Result<(), DriveError> {
        let mut next_tick = Instant::now();
        loop {
            while let Some(action) = self.todo.pop_front() {
                self.act(action)?;
            }
            if self.done {
                return Ok(());
            }
            if self.running.is_empty() && self.wake.is_none() {
                return Err(DriveError::Stuck);
            }
            if let Some(every) = self.context.tick
                && next_tick <= Instant::now()
            {
                next_tick = Instant::now() + every;
                self.tick();
            }
            let due = self.wake.map(|at| Duration::from_millis(at).saturating_sub(self.shared.clock.elapsed()));
            let tick = self.context.tick.map(|_| next_tick.saturating_duration_since(Instant::now()));
            let overdue = self.running.values().filter_map(|b| b.overdue).min();
            let overdue = overdue.map(|at| at.saturating_duration_since(Instant::now()));
            match self.receive([due, tick, overdue].into_iter().flatten().min()).await {
                Some(Note::Signal(Signal::TSTP)) => self.suspend().await,
                Some(note) => self.note(note),
                None => {
                    self.abandon_overdue();
                    if self.wake.is_some_and(|at| self.shared.clock.elapsed() >= Duration::from_millis(at)) {
                        let at = self.now();
                        self.event(Event::Time { at }, None);
                    }
                }
            }
        }
    }

    /// The next thing that happens, if something does in time.
    async fn receive(&mut self, timeout: Option<Duration>) -> Option<Note> {
        match timeout {
            Some(timeout) => tokio::time::timeout(timeout, self.ears.next()).await.ok(),
            None => Some(self.ears.next().await),
        }
    }

    fn now(&mut self) -> u64 {
        self.last = self.last.max(self.shared.clock.now());
        self.last
    }

    fn event(&mut self, event: Event, finished: Option<&Finished>) {
        // What was asked for is void as soon as anything else happens; the machine asks again.
        self.wake = None;
        let actions = (self.tell)(Message::Event(event, finished));
        self.todo.extend(actions);
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Ended { slot, step, attempt, at, evidence, finished } => {
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.busy = false;
                }
                self.running.remove(&step);
                self.last = self.last.max(at);
                let at = self.last;
                if let Some(message) = &finished.log_error {
                    self.event(Event::RecordFailed { at, message: message.clone() }, None);
                }
                self.event(Event::Finished { step, attempt, at, evidence }, Some(&finished));
            }
            Note::Frozen => {}
            // A pause within a pause is one; the word to go on means nothing to who goes.
            Note::Signal(Signal::TSTP | Signal::CONT) => {}
            Note::Signal(signal) => {
                let signal = if signal == Signal::INT { Interrupt::Int } else { Interrupt::Term };
                let at = self.now();
                self.event(Event::Interrupt { at, signal }, None);
            }
        }
    }

    fn act(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Spawn { step, attempt, limit_ms } => self.spawn(step, attempt, limit_ms)?,
            Action::Terminate { step, timed_out } => {
                if let Some(busy) = self.running.get(&step) {
                    busy.handle.terminate(timed_out);
                }
            }
            Action::Kill { step, timed_out } => {
                if let Some(busy) = self.running.get_mut(&step) {
                    busy.handle.kill(timed_out);
                    busy.overdue.get_or_insert_with(|| Instant::now() + OBEY);
                }
            }
            Action::WakeAt { at } => self.wake = Some(at),
            Action::Done => self.done = true,
        }
        Ok(())
    }

    fn spawn(&mut self, step: usize, attempt: u32, limit_ms: u64) -> Result<(), DriveError> {
        let at = self.now();
        let answer = (self.tell)(Message::Starting { step, attempt, limit_ms, at });
        self.todo.extend(answer);
        let stops =
            |a: &Action| matches!(a, Action::Terminate { step: s, .. } | Action::Kill { step: s, .. } if *s == step);
        if self.todo.iter().any(stops) {
            self.todo.retain(|a| !stops(a));
            let message = "it was stopped before it had begun".to_owned();
            let spawn_error = Some(SpawnError { code: "ECANCELED".to_owned(), message });
            let evidence = Box::new(Evidence { spawn_error, ..Evidence::default() });
            let finished = Finished { started_at: at, ..Finished::default() };
            self.event(Event::Finished { step, attempt, at, evidence }, Some(&finished));
            return Ok(());
        }
        let slot = match self.slots.iter().position(|s| !s.busy) {
            Some(slot) => slot,
            None => self.new_slot()?,
        };
        let handle = Arc::new(Handle::default());
        let live = Arc::new(Live::default());
        let name = self.plan.steps.get(step).map(|s| log_name(&s.id, attempt, self.round));
        let log = name.filter(|_| self.context.logs.is_some());
        let job = Job { step, attempt, log, handle: Arc::clone(&handle), live: Arc::clone(&live) };
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.busy = true;
            // The thread lives as long as this end of the channel.
            let _ = slot.jobs.send(job);
        }
        self.running.insert(step, Busy { attempt, since: at, handle, live, overdue: None });
        Ok(())
    }

    fn new_slot(&mut self) -> io::Result<usize> {
        let slot = self.slots.len();
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (shared, plan, context) = (self.shared, self.plan, self.context);
        let outbox = self.outbox.clone();
        let work = move || {
            let mut buffer = Buffer::default();
            while let Ok(job) = inbox.recv() {
                let _ = outbox.send(do_job(shared, plan, context, slot, job, &mut buffer, &outbox));
            }
        };
        std::thread::Builder::new().name("step".to_owned()).spawn_scoped(self.scope, work)?;
        self.slots.push(Slot { jobs, busy: false });
        Ok(slot)
    }

    fn tick(&mut self) {
        let at = self.now();
        let running: Vec<Running<'_>> = self
            .running
            .iter()
            .map(|(step, b)| Running { step: *step, attempt: b.attempt, since: b.since, live: &b.live })
            .collect();
        let actions = (self.tell)(Message::Tick { at, running: &running });
        self.todo.extend(actions);
    }

    fn abandon_overdue(&mut self) {
        let now = Instant::now();
        for busy in self.running.values_mut().filter(|b| b.overdue.is_some_and(|at| at <= now)) {
            busy.handle.abandon();
            busy.overdue = None;
        }
    }

    /// SIGTSTP: first everything that vplan runs stands still, then its clock, then vplan itself; SIGCONT undoes it.
    async fn suspend(&mut self) {
        let mut later = VecDeque::new();
        let mut awaited = self.running.values().filter(|b| b.handle.freeze()).count();
        let mut wanted = true;
        let until = Instant::now() + STAND_STILL;
        while awaited > 0 && wanted {
            match self.receive(Some(until.saturating_duration_since(Instant::now()))).await {
                Some(Note::Frozen) => awaited -= 1,
                // Who sent it believes that vplan goes on, and will not say so again.
                Some(Note::Signal(Signal::CONT)) => wanted = false,
                Some(note) => {
                    awaited -= usize::from(matches!(note, Note::Ended { .. }));
                    later.push_back(note);
                }
                None => break,
            }
        }
        if wanted {
            self.stand_still(&mut later).await;
        }
        self.running.values().for_each(|b| b.handle.thaw());
        later.into_iter().for_each(|note| self.note(note));
    }

    /// Stops vplan itself until it is told to go on.
    async fn stand_still(&mut self, later: &mut VecDeque<Note>) {
        let actions = (self.tell)(Message::Suspended);
        self.todo.extend(actions);
        self.shared.clock.pause();
        // SIGTSTP is taken, and to give it back for a moment is a race; SIGSTOP does the same to vplan.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        // The stop may take a moment to reach this thread. If it never does (the first process of a container cannot be
        // stopped by itself), the run just goes on.
        let until = Instant::now() + STAND_STILL;
        loop {
            match self.receive(Some(until.saturating_duration_since(Instant::now()))).await {
                Some(Note::Signal(Signal::CONT)) | None => break,
                Some(note) => later.push_back(note),
            }
        }
        self.shared.clock.resume();
        let actions = (self.tell)(Message::Resumed);
        self.todo.extend(actions);
    }
}

impl Ears {
    /// Waits for the next thing that happens. Nothing is lost when the wait is given up.
    async fn next(&mut self) -> Note {
        // Signals first: however busy the steps are, a word to stop is heard.
        tokio::select! {
            biased;
            signal = self.signals.next() => Note::Signal(signal),
            Some(note) = self.inbox.recv() => note,
        }
    }
}

fn do_job(
    shared: &Shared,
    plan: &Plan,
    context: &Context<'_>,
    slot: usize,
    job: Job,
    buffer: &mut Buffer,
    outbox: &UnboundedSender<Note>,
) -> Note {
    let Job { step: index, attempt: number, log, handle, live } = job;
    let started = shared.clock.elapsed();
    let mut finished = Finished { started_at: millis(started), ..Finished::default() };
    let mut evidence = match plan.steps.get(index) {
        Some(step) if step.kind == Kind::File => (context.evaluate)(step),
        Some(step) => {
            let frozen = || drop(outbox.send(Note::Frozen));
            let place = context.logs.zip(log.as_deref()).map(|(folder, name)| LogPlace { folder, name });
            let live = context.tick.map(|_| &*live);
            let tried = run_step(shared, context, step, place, live, &handle, buffer, &frozen, &mut finished);
            finished.log = log.filter(|_| tried.logged);
            finished.log_error = tried.log_error.map(|e| format!("the log could not be written: {}", say(&e)));
            finished.program = tried.program;
            finished.survivors = tried.survivors;
            tried.evidence
        }
        None => Evidence::default(),
    };
    let ended = shared.clock.elapsed();
    evidence.duration_ms = millis(ended.saturating_sub(started));
    Note::Ended {
        slot,
        step: index,
        attempt: number,
        at: millis(ended),
        evidence: Box::new(evidence),
        finished: Box::new(finished),
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one call, each from another place")]
fn run_step(
    shared: &Shared,
    context: &Context<'_>,
    step: &Step,
    log: Option<LogPlace<'_>>,
    live: Option<&Live>,
    handle: &Handle,
    buffer: &mut Buffer,
    frozen: &dyn Fn(),
    finished: &mut Finished,
) -> Tried {
    let environment = context.environment.of_step(context.root, step);
    let watch = step.unchanged.as_ref().map(|_| (context.watch)(step));
    let what = Try {
        root: context.root,
        search: &environment.search,
        dir: &step.dir,
        argv: step.argv.as_deref().unwrap_or_default(),
        env: &environment.variables,
        secrets: &environment.secrets,
        log,
        max_output: context.max_output,
        live,
    };
    let mut tried = attempt(&shared.pool, &what, handle, buffer, frozen);
    tried.evidence.mutated = watch.and_then(|look| look());
    finished.withheld = environment.withheld;
    tried
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The name of a try's log: the step's id with everything escaped that means something to a file system, so that different
/// steps have different names.
fn log_name(id: &str, attempt: u32, round: u32) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            byte => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > 180 {
        let digest = crate::base::canon::Digest::of(id.as_bytes()).hex();
        name = format!("{}%%{}", name.get(..100).unwrap_or_default(), digest.get(..32).unwrap_or_default());
    }
    let again = if round > 1 { format!(".r{round}") } else { String::new() };
    format!("{name}.{attempt}{again}.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_names() {
        for (id, want) in [
            ("api-tests", "api-tests.1.log"),
            ("std/rust", "std%2frust.1.log"),
            ("../../etc/passwd", "%2e.%2f..%2fetc%2fpasswd.1.log"),
            (".", "%2e.1.log"),
            ("a b\n", "a%20b%0a.1.log"),
            ("größe", "gr%c3%b6%c3%9fe.1.log"),
        ] {
            assert_eq!(log_name(id, 1, 1), want);
        }
        assert_eq!(log_name("a", 2, 3), "a.2.r3.log");
        let (a, b) = (log_name(&"ö".repeat(300), 1, 1), log_name(&format!("{}x", "ö".repeat(300)), 1, 1));
        assert!(a.len() < 200 && a != b);
    }
}
