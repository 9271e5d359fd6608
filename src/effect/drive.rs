//! How do actions become effects and effects events? The loop around the state machine.
//!
//! One thread decides (the caller's); each step that runs has a thread that reads its output; one thread hears signals. They
//! tell the first one what happened through one channel, so events have one order.

use super::clock::Clock;
use super::environment::{Environment, Withheld};
use super::process::capture::Live;
use super::process::pool::{Handle, Pool};
use super::process::program::{Program, Root};
use super::signals::Signals;
use super::slot::{Job, Note, Shared, Slot, log_name};
use crate::base::path::RepoPath;
use crate::check::evidence::{Evidence, SpawnError};
use crate::plan::{Plan, Step};
use crate::run::event::{Action, Event, Interrupt};
use rustix::fd::BorrowedFd;
use rustix::process::Signal;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

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

/// What lasts from plan to plan of a run: supervisors, the clock, the signals.
pub struct Driver {
    shared: Shared,
    inbox: Receiver<Note>,
    outbox: Sender<Note>,
    /// How many plans have been driven. A plan that recovery made may try a step again, whose log must have another name.
    round: u32,
    _signals: Signals,
}

struct Place {
    jobs: Sender<Job>,
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
        let (outbox, inbox) = channel();
        let tell = outbox.clone();
        let signals = Signals::listen(move |signal| tell.send(Note::Signal(signal)).is_ok())?;
        Ok(Self { shared: Shared { pool, clock: Clock::start() }, inbox, outbox, round: 0, _signals: signals })
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
        std::thread::scope(|scope| {
            let mut drive = Drive {
                driver: self,
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
            let result = drive.run();
            // Whatever the reason for leaving, nothing stays behind: the threads end when their steps have.
            drive.running.values().for_each(|busy| busy.handle.kill(false));
            result
        })
    }
}

/// A plan being driven.
struct Drive<'d, 's, 'e> {
    driver: &'e Driver,
    plan: &'e Plan,
    context: &'e Context<'e>,
    scope: &'s Scope<'s, 'e>,
    tell: &'d mut dyn FnMut(Message<'_>) -> Vec<Action>,
    slots: Vec<Place>,
    running: BTreeMap<usize, Busy>,
    todo: VecDeque<Action>,
    wake: Option<u64>,
    /// The time of the last event: events never go back in time, though threads may be overtaken.
    last: u64,
    done: bool,
}

impl<'e> Drive<'_, '_, 'e> {
    fn run(&mut self) -> Result<(), DriveError> {
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
            let due = self.wake.map(|at| Duration::from_millis(at).saturating_sub(self.driver.shared.clock.elapsed()));
            let tick = self.context.tick.map(|_| next_tick.saturating_duration_since(Instant::now()));
            let overdue = self.running.values().filter_map(|b| b.overdue).min();
            let overdue = overdue.map(|at| at.saturating_duration_since(Instant::now()));
            match self.receive([due, tick, overdue].into_iter().flatten().min()) {
                Some(note) => self.note(note),
                None => {
                    self.abandon_overdue();
                    if self.wake.is_some_and(|at| self.driver.shared.clock.elapsed() >= Duration::from_millis(at)) {
                        let at = self.now();
                        self.event(Event::Time { at }, None);
                    }
                }
            }
        }
    }

    fn receive(&self, timeout: Option<Duration>) -> Option<Note> {
        match timeout {
            Some(timeout) => self.driver.inbox.recv_timeout(timeout).ok(),
            None => self.driver.inbox.recv().ok(),
        }
    }

    fn now(&mut self) -> u64 {
        self.last = self.last.max(self.driver.shared.clock.now());
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
            Note::Signal(Signal::TSTP) => self.suspend(),
            Note::Signal(Signal::CONT) => {}
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
        let name = self.plan.steps.get(step).map(|s| log_name(&s.id, attempt, self.driver.round));
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
        let (jobs, inbox) = channel::<Job>();
        let outbox = self.driver.outbox.clone();
        let own = Slot { number: slot, shared: &self.driver.shared, plan: self.plan, context: self.context, outbox };
        let work = move || own.work(&inbox);
        std::thread::Builder::new().name("step".to_owned()).spawn_scoped(self.scope, work)?;
        self.slots.push(Place { jobs, busy: false });
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
    fn suspend(&mut self) {
        let mut later = VecDeque::new();
        let mut awaited = self.running.values().filter(|b| b.handle.freeze()).count();
        let until = Instant::now() + STAND_STILL;
        while awaited > 0 {
            match self.receive(Some(until.saturating_duration_since(Instant::now()))) {
                Some(Note::Frozen) => awaited -= 1,
                Some(note) => {
                    awaited -= usize::from(matches!(note, Note::Ended { .. }));
                    later.push_back(note);
                }
                None => break,
            }
        }
        let actions = (self.tell)(Message::Suspended);
        self.todo.extend(actions);
        self.driver.shared.clock.pause();
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        // The stop may take a moment to reach this thread. If it never does (the first process of a container cannot be
        // stopped by itself), the run just goes on.
        let until = Instant::now() + STAND_STILL;
        loop {
            match self.receive(Some(until.saturating_duration_since(Instant::now()))) {
                Some(Note::Signal(Signal::CONT)) | None => break,
                Some(Note::Signal(Signal::TSTP)) => {}
                Some(note) => later.push_back(note),
            }
        }
        self.driver.shared.clock.resume();
        self.running.values().for_each(|b| b.handle.thaw());
        let actions = (self.tell)(Message::Resumed);
        self.todo.extend(actions);
        later.into_iter().for_each(|note| self.note(note));
    }
}
