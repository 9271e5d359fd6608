//! Executes a plan: performs the state machine's actions and returns their results to it as events.
//!
//! One thread does everything: it decides, reads the output of all steps, receives signals and
//! writes the record. So events have one order, and a step costs only two wake-ups more than a bare
//! spawn. The thread waits in its own runtime for signals, timers, messages and the doorbell of
//! running steps. Only work that reads files has separate threads.

mod attend;
mod listen;

use crate::background::{BackgroundIo, IoJob, IoResult, WorkerEvent};
use crate::context::Context;
use crate::services::{Services, void};
use crate::step::{Finished, StepExecution, StepIo};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::thread::Scope;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use vplan_base::index::bug;
use vplan_check::evidence::SpawnError;
use vplan_os::clock::Clock;
use vplan_os::parallel::processors;
use vplan_os::process::attempt::{Attempt, AttemptResult, Buffer};
use vplan_os::process::capture::Live;
use vplan_os::process::doorbell::Doorbell;
use vplan_os::process::pool::Pool;
use vplan_os::process::program::message_of;
use vplan_os::signals::Signals;
use vplan_plan::{Plan, Step, StepIndex};
use vplan_run::event::{Action, Event, Interrupt};
use vplan_store::records::log_name;
use vplan_store::reuse::RunCache;

/// The time that a supervisor has to obey a kill. After that it counts as stopped or stuck, and
/// vplan ends the processes itself. Longer than a supervisor waits for processes that do not end.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(20);
/// The time that vplan waits for the trees to be stopped before it stops itself, and for its own
/// stop to take effect.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(2);

/// A message of the driver to its caller, which answers with actions. Only the answer to an event
/// may contain other actions than stops.
pub enum ExecutorMessage<'a> {
    /// An event for the state machine; with the end of a try, the details that the machine does not
    /// need.
    Event(Event, Option<&'a Finished>),
    /// A try is about to start. If that cannot be recorded, the answer to the machine's
    /// [`Event::RecordFailed`] stops it before it has begun.
    Starting {
        step: StepIndex,
        /// The number of the try, from 1.
        attempt: u32,
        /// The effective time limit in milliseconds.
        limit_ms: u64,
        at: u64,
    },
    /// The interval of a live view has passed.
    Tick {
        at: u64,
        /// The running steps, in plan order.
        running: &'a [Running<'a>],
    },
    /// All requested actions have begun, or the requested time has come: the caller may hand over a
    /// background job.
    IoWanted {
        at: u64,
        /// The job, if there is one.
        work: &'a mut Option<IoJob>,
        /// The time of the next job, even if nothing else happens until then.
        again: &'a mut Option<u64>,
    },
    /// A part of the job has been done.
    IoFinished { at: u64, done: IoResult },
    /// vplan is about to stop itself (SIGTSTP); everything it runs has been stopped.
    Suspended,
    /// vplan continues.
    Resumed,
}

/// A running step, for a live view.
#[derive(Debug)]
pub struct Running<'a> {
    pub step: StepIndex,
    /// The number of the try, from 1.
    pub attempt: u32,
    /// The time since which it runs.
    pub since: u64,
    /// Its latest output.
    pub live: &'a Live,
}

/// The reason why a plan could not be driven.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// Signals could not be listened to, or a thread not started.
    #[error("the run could not be set up: {}", message_of(.0))]
    Setup(#[from] io::Error),
}

/// Executes plans: the [`Driver`], or a substitute in tests.
pub trait Executor {
    /// Returns the time in milliseconds since the run's start.
    fn now(&self) -> u64;

    /// Performs `first`, and then the actions that `tell` returns for events, until
    /// [`Action::Done`].
    ///
    /// # Errors
    /// Only vplan's own failures; anything that happens to steps is evidence.
    fn drive(
        &mut self,
        plan: &Plan,
        context: &Context<'_>,
        first: Vec<Action>,
        tell: &mut dyn FnMut(ExecutorMessage<'_>) -> Vec<Action>,
    ) -> Result<(), DriveError>;
}

/// An executor in place of the [`Driver`]. Its invented events are recorded as real ones, so only
/// tests can make one.
pub struct Played<'p>(&'p mut (dyn Executor + 'p));

impl<'p> Played<'p> {
    /// Substitutes an executor.
    pub fn new(executor: &'p mut (dyn Executor + 'p)) -> Self {
        Self(executor)
    }

    /// Lends the executor for one run.
    pub fn lent(&mut self) -> Played<'_> {
        Played(&mut *self.0)
    }

    /// Gives the executor.
    pub fn into_inner(self) -> &'p mut (dyn Executor + 'p) {
        self.0
    }
}

/// The state that lasts over all plans of a run: supervisors, the clock, the signals, and the
/// runtime that waits for them.
pub struct Driver {
    pool: Pool,
    clock: Clock,
    signals: Signals,
    /// Never longer than the steps that run: each of their threads leaves one note at a time.
    notes: UnboundedReceiver<WorkerEvent>,
    outbox: UnboundedSender<WorkerEvent>,
    doorbell: Doorbell,
    buffer: Buffer,
    /// The number of plans so far. A plan that recovery made may try a step again, whose log needs
    /// another name.
    round: u32,
    runtime: Option<Runtime>,
}

impl Driver {
    /// Starts the clock. `supervisor` is vplan's own program; `None` finds it.
    /// `keep_capabilities`: see [`vplan_os::environment::Grants`].
    ///
    /// # Errors
    /// Signals cannot be listened to. A supervisor that cannot be started is an error of each step.
    pub fn new(supervisor: Option<PathBuf>, keep_capabilities: bool) -> Result<Self, DriveError> {
        let pool = Pool::new(supervisor).keeping_capabilities(keep_capabilities);
        room_for_a_runtime()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let (outbox, notes) = unbounded_channel();
        let (signals, doorbell) = (Signals::listen()?, Doorbell::new()?);
        drop(within);
        let (clock, buffer) = (Clock::start(), Buffer::default());
        Ok(Self {
            pool,
            clock,
            signals,
            notes,
            outbox,
            doorbell,
            buffer,
            round: 0,
            runtime: Some(runtime),
        })
    }

    /// Starts a supervisor in advance if a step of the plan is sure to need one: it is ready by the
    /// time the step starts. If cached passes may replace every step, supervisors are started on
    /// demand.
    pub fn prepare(&self, plan: &Plan, recall: Option<&RunCache<'_>>) {
        let is_sure = |step: &&Step| {
            step.argv.is_some() && !recall.is_some_and(|recall| recall.concerns(step, 1))
        };
        if plan.steps.iter().any(|step| is_sure(&step)) {
            // If that fails, the step reports it.
            let _ = self.pool.prepare(1);
        }
    }

    /// Whether a signal to end vplan has arrived since the last plan.
    pub fn is_asked_to_end(&mut self) -> bool {
        let signals = &mut self.signals;
        let runtime = self.runtime.as_ref();
        runtime.is_some_and(|runtime| runtime.block_on(signals.ask_to_end()))
    }

    /// Returns the run's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Executor for Driver {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn drive(
        &mut self,
        plan: &Plan,
        context: &Context<'_>,
        first: Vec<Action>,
        tell: &mut dyn FnMut(ExecutorMessage<'_>) -> Vec<Action>,
    ) -> Result<(), DriveError> {
        self.round += 1;
        let Some(runtime) = self.runtime.take() else {
            bug("the executor was left within a plan");
        };
        let jobs = plan.policy.jobs.most(processors());
        self.pool.expect(jobs.min(plan.steps.len()));
        let result = std::thread::scope(|scope| {
            let background = BackgroundIo::new(self.outbox.clone());
            let mut drive = Drive {
                driver: &mut *self,
                plan,
                context,
                scope,
                tell,
                busy: BTreeMap::new(),
                todo: first.into(),
                news: VecDeque::new(),
                wake: None,
                next_tick: Instant::now(),
                last: 0,
                is_instant_open: false,
                // The begin is to be synced, however long the first step takes.
                io_wanted: true,
                io_at: None,
                background,
                awaited: 0,
                services: Services::new(plan),
                waiting: BTreeSet::new(),
            };
            runtime.block_on(async {
                let result = drive.run().await;
                drive.leave().await;
                result
            })
        });
        self.runtime = Some(runtime);
        result
    }
}

/// Checks that descriptors and a pair of sockets are left for its signals: without them the runtime
/// panics.
fn room_for_a_runtime() -> io::Result<()> {
    const DESCRIPTORS: usize = 8;
    drop(std::os::unix::net::UnixStream::pair()?);
    let held: io::Result<Vec<_>> = (0..DESCRIPTORS)
        .map(|_| std::fs::File::open("/dev/null"))
        .collect();
    held.map(drop)
}

/// A plan being driven.
struct Drive<'d, 's, 'e> {
    driver: &'d mut Driver,
    plan: &'e Plan,
    context: &'e Context<'e>,
    scope: &'s Scope<'s, 'e>,
    tell: &'d mut dyn FnMut(ExecutorMessage<'_>) -> Vec<Action>,
    busy: BTreeMap<StepIndex, StepExecution<'e>>,
    todo: VecDeque<Action>,
    /// Events that were received and not yet handled.
    news: VecDeque<ExecutorEvent>,
    wake: Option<u64>,
    next_tick: Instant,
    /// The time of the last event: events never go back in time.
    last: u64,
    /// Whether something has happened since [`Message::IoWanted`].
    is_instant_open: bool,
    /// Whether something has happened since [`Message::IoWanted`], or that message has not been
    /// sent yet.
    io_wanted: bool,
    /// The time of the next background job, even if nothing else happens.
    io_at: Option<u64>,
    background: BackgroundIo<'s>,
    /// The number of trees still to be stopped.
    awaited: usize,
    services: Services<'e>,
    /// The steps whose services are not ready yet.
    waiting: BTreeSet<StepIndex>,
}

enum ExecutorEvent {
    IoFinished(IoResult),
    Ended {
        step: StepIndex,
        at: u64,
        tried: Box<AttemptResult>,
    },
    Signal(Signal),
}

impl ExecutorEvent {
    fn ended(step: StepIndex, at: u64, tried: AttemptResult) -> Self {
        let tried = Box::new(tried);
        Self::Ended { step, at, tried }
    }
}

impl<'e> Drive<'_, '_, 'e> {
    async fn run(&mut self) -> Result<(), DriveError> {
        loop {
            while let Some(action) = self.todo.pop_front() {
                if action == Action::Done {
                    return Ok(());
                }
                self.act(action)?;
            }
            if let Some(news) = self.news.pop_front() {
                self.hear(news).await;
            } else if std::mem::take(&mut self.is_instant_open) {
                let at = self.now();
                self.event(Event::InstantComplete { at }, None);
            } else if std::mem::take(&mut self.io_wanted) || self.is_due(self.io_at) {
                self.submit_io();
            } else if self.busy.is_empty() && self.wake.is_none() {
                bug("the run waits for nothing and is not over");
            } else if self.is_due(self.wake) {
                let at = self.now();
                self.event(Event::Time { at }, None);
            } else {
                self.tick();
                self.abandon_overdue();
                if self.attend_services()? {
                    continue;
                }
                self.turn(self.patience()).await;
            }
        }
    }

    fn is_due(&self, at: Option<u64>) -> bool {
        at.is_some_and(|at| self.driver.clock.elapsed() >= Duration::from_millis(at))
    }

    /// Returns the time until something needs to be done without an event.
    fn patience(&self) -> Option<Duration> {
        let due = [self.wake, self.io_at].into_iter().flatten().min();
        let due =
            due.map(|at| Duration::from_millis(at).saturating_sub(self.driver.clock.elapsed()));
        let tick = self.context.tick.map(|_| self.next_tick);
        let overdue = self.busy.values().filter_map(|b| b.overdue).min();
        let others = [tick, overdue, self.services.due()].into_iter().flatten();
        let others = others.map(|at| at.saturating_duration_since(Instant::now()));
        due.into_iter().chain(others).min()
    }

    fn now(&mut self) -> u64 {
        self.last = self.last.max(self.driver.clock.now());
        self.last
    }

    fn event(&mut self, event: Event, finished: Option<&Finished>) {
        // A requested wake-up is void as soon as anything else happens; the machine requests it
        // again.
        self.wake = None;
        self.io_wanted = true;
        self.is_instant_open = !matches!(event, Event::InstantComplete { .. });
        let actions = (self.tell)(ExecutorMessage::Event(event, finished));
        self.todo.extend(actions);
    }

    /// Requests a background job, and runs it.
    fn submit_io(&mut self) {
        let (at, mut work, mut again) = (self.now(), None, None);
        let actions = (self.tell)(ExecutorMessage::IoWanted {
            at,
            work: &mut work,
            again: &mut again,
        });
        self.io_at = again;
        self.todo.extend(actions);
        if let Some(work) = work {
            self.background.submit(self.scope, work);
        }
    }

    fn done(&mut self, done: IoResult) {
        let at = self.now();
        let actions = (self.tell)(ExecutorMessage::IoFinished { at, done });
        self.todo.extend(actions);
    }

    async fn hear(&mut self, news: ExecutorEvent) {
        match news {
            ExecutorEvent::IoFinished(done) => self.done(done),
            ExecutorEvent::Ended { step, at, tried } => {
                let dead = self.settle_services(step, &tried).await;
                let Some(busy) = self.busy.remove(&step) else {
                    bug("a try ends twice");
                };
                self.services.release(self.plan.step(step), step);
                let attempt = busy.attempt;
                let (mut evidence, finished) = busy.finished(self.context, *tried);
                if let Some(why) = dead {
                    void(&mut evidence, why);
                }
                self.last = self.last.max(at);
                let at = self.last;
                if let Some(message) = finished.log_error.clone() {
                    self.event(Event::RecordFailed { at, message }, None);
                }
                let event = Event::Finished {
                    step,
                    attempt,
                    at,
                    evidence,
                };
                self.event(event, Some(&finished));
            }
            ExecutorEvent::Signal(Signal::TSTP) => self.suspend().await,
            ExecutorEvent::Signal(Signal::CONT) => {}
            ExecutorEvent::Signal(signal) => {
                let signal = match signal {
                    Signal::INT => Interrupt::Int,
                    _ => Interrupt::Term,
                };
                let at = self.now();
                self.event(Event::Interrupt { at, signal }, None);
                // A step that ends in this very millisecond ends because of the signal, so its
                // event must come after the signal.
                self.last += 1;
            }
        }
    }

    fn act(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Spawn {
                step,
                attempt,
                limit_ms,
                elsewhere,
            } => self.spawn(step, (attempt, limit_ms), elsewhere)?,
            Action::Terminate { step, timed_out } => {
                if self.waiting.remove(&step) {
                    self.end_at_once(step, stopped_while_waiting(timed_out));
                } else if let Some(busy) = self.busy.get_mut(&step) {
                    busy.terminate(timed_out);
                }
            }
            Action::Kill { step, timed_out } => {
                if self.waiting.remove(&step) {
                    self.end_at_once(step, stopped_while_waiting(timed_out));
                } else if let Some(busy) = self.busy.get_mut(&step) {
                    busy.kill(timed_out);
                    busy.overdue
                        .get_or_insert_with(|| Instant::now() + SUPERVISOR_TIMEOUT);
                }
            }
            Action::WakeAt { at } => self.wake = Some(at),
            Action::Done => {}
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        step: StepIndex,
        (attempt, limit_ms): (u32, u64),
        elsewhere: bool,
    ) -> Result<(), DriveError> {
        let planned = self.plan.step(step);
        let at = self.now();
        let (context, round) = (self.context, self.driver.round);
        let name = context.logs.map(|_| log_name(&planned.id, attempt, round));
        // The machine has added the time in which services are started.
        let own = if elsewhere {
            limit_ms
        } else {
            planned.timeout_ms.max(1)
        };
        let limits = (attempt, limit_ms.min(own));
        let busy = StepExecution::new(step, planned, limits, at, name);
        if elsewhere {
            let (plan, scope, outbox) = (self.plan, self.scope, self.driver.outbox.clone());
            let begun = busy.begin_elsewhere(context, plan, scope, &outbox)?;
            self.busy.insert(step, begun);
            return Ok(());
        }
        let waits = busy.may_be_recalled(self.context);
        self.busy.insert(step, busy);
        if planned.with.is_empty() {
            return self.begin(step, waits);
        }
        let Driver {
            pool,
            doorbell,
            round,
            ..
        } = &mut *self.driver;
        self.services
            .want(planned, self.context, (pool, doorbell, *round));
        self.waiting.insert(step);
        Ok(())
    }

    /// Begins a try whose services are ready. `waits`: it may still be replaced by a cached pass.
    fn begin(&mut self, step: StepIndex, waits: bool) -> Result<(), DriveError> {
        let at = self.now();
        let tried = if waits || self.announce(step) {
            let (plan, scope, outbox) = (self.plan, self.scope, self.driver.outbox.clone());
            self.advance(step, |busy, context, io| {
                busy.begin(context, plan, io, scope, &outbox)
            })?
        } else {
            Some(stopped_before())
        };
        self.news
            .extend(tried.map(|tried| ExecutorEvent::ended(step, at, tried)));
        Ok(())
    }

    /// Takes a step on, and listens to the try that it runs then.
    fn advance<T>(
        &mut self,
        step: StepIndex,
        with: impl FnOnce(&mut StepExecution<'e>, &'e Context<'e>, &StepIo<'_>) -> T,
    ) -> T {
        let Driver {
            pool,
            buffer,
            clock,
            doorbell,
            ..
        } = &mut *self.driver;
        let now = clock.elapsed();
        let busy = execution(&mut self.busy, step);
        let result = with(busy, self.context, &StepIo { pool, buffer, now });
        if let Some(attempt) = busy.running() {
            doorbell.add(attempt);
        }
        result
    }

    /// Reports that a step is about to start, unless that was reported. `false` when the answer
    /// stops it before it has begun.
    fn announce(&mut self, step: StepIndex) -> bool {
        let busy = execution(&mut self.busy, step);
        let attempt = busy.attempt;
        let Some(limit_ms) = busy.unannounced.take() else {
            return true;
        };
        let at = self.now();
        let answer = (self.tell)(ExecutorMessage::Starting {
            step,
            attempt,
            limit_ms,
            at,
        });
        self.todo.extend(answer);
        let stops = |a: &Action| matches!(a, Action::Terminate { step: s, .. } | Action::Kill { step: s, .. } if *s == step);
        let stopped = self.todo.iter().any(stops);
        self.todo.retain(|a| !stops(a));
        !stopped
    }

    fn tick(&mut self) {
        let Some(every) = self
            .context
            .tick
            .filter(|_| self.next_tick <= Instant::now())
        else {
            return;
        };
        self.next_tick = Instant::now() + every;
        let at = self.now();
        let running: Vec<Running<'_>> = (self.busy.iter())
            .map(|(step, b)| Running {
                step: *step,
                attempt: b.attempt,
                since: b.since,
                live: &b.live,
            })
            .collect();
        let actions = (self.tell)(ExecutorMessage::Tick {
            at,
            running: &running,
        });
        self.todo.extend(actions);
    }

    fn abandon_overdue(&mut self) {
        let now = Instant::now();
        for busy in self
            .busy
            .values_mut()
            .filter(|b| b.overdue.is_some_and(|at| at <= now))
        {
            busy.overdue = None;
            busy.running().into_iter().for_each(Attempt::abandon);
        }
    }

    /// Handles SIGTSTP: stops everything that vplan runs, then its clock, then vplan itself.
    /// SIGCONT undoes it.
    async fn suspend(&mut self) {
        let since = Instant::now();
        self.awaited = self
            .busy
            .values()
            .filter_map(StepExecution::running)
            .chain(self.services.running())
            .filter(|a| a.freeze())
            .count();
        let until = Instant::now() + SUSPEND_TIMEOUT;
        while self.awaited > 0 && !self.goes_on() && Instant::now() < until {
            self.turn(Some(until.saturating_duration_since(Instant::now())))
                .await;
        }
        // A SIGCONT that has arrived already will not be sent again.
        if !self.goes_on() {
            self.stop_self().await;
        }
        self.news
            .retain(|news| !matches!(news, ExecutorEvent::Signal(Signal::CONT | Signal::TSTP)));
        self.busy
            .values()
            .filter_map(StepExecution::running)
            .chain(self.services.running())
            .for_each(Attempt::thaw);
        self.services.postpone(since.elapsed());
    }

    /// Stops vplan itself until SIGCONT.
    async fn stop_self(&mut self) {
        let actions = (self.tell)(ExecutorMessage::Suspended);
        self.todo.extend(actions);
        self.driver.clock.pause();
        // SIGTSTP is handled, and resetting it for a moment would be a race; SIGSTOP has the same
        // effect on vplan.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        // The stop may take a moment to reach this thread. If it never does (the first process of a
        // container cannot stop itself), the run just continues.
        let until = Instant::now() + SUSPEND_TIMEOUT;
        while !self.goes_on() && Instant::now() < until {
            self.turn(Some(until.saturating_duration_since(Instant::now())))
                .await;
        }
        self.driver.clock.resume();
        let actions = (self.tell)(ExecutorMessage::Resumed);
        self.todo.extend(actions);
    }

    fn goes_on(&self) -> bool {
        self.news
            .iter()
            .any(|news| matches!(news, ExecutorEvent::Signal(Signal::CONT)))
    }

    /// Ensures that no process remains, for whatever reason this is called.
    async fn leave(&mut self) {
        self.busy.values_mut().for_each(|busy| busy.kill(false));
        let until = Instant::now() + SUPERVISOR_TIMEOUT;
        while self.busy.values().any(|busy| busy.running().is_some()) {
            if Instant::now() >= until {
                self.busy
                    .values()
                    .filter_map(StepExecution::running)
                    .for_each(Attempt::abandon);
            }
            self.turn(Some(SUSPEND_TIMEOUT)).await;
        }
        self.stop_services().await;
        self.submit_io();
        self.background.finish();
        while let Ok(note) = self.driver.notes.try_recv() {
            self.note(note);
        }
        for news in std::mem::take(&mut self.news) {
            if let ExecutorEvent::IoFinished(done) = news {
                self.done(done);
            }
        }
    }
}

/// Returns the execution that a thread's message is about. It is there until the message that ends
/// it, which is the last one.
fn execution<'b, 'e>(
    busy: &'b mut BTreeMap<StepIndex, StepExecution<'e>>,
    step: StepIndex,
) -> &'b mut StepExecution<'e> {
    match busy.get_mut(&step) {
        Some(busy) => busy,
        None => bug("a message is about a step that does not run"),
    }
}

/// The result of a try that was stopped while its services were started.
fn stopped_while_waiting(timed_out: bool) -> AttemptResult {
    if !timed_out {
        return stopped_before();
    }
    let mut over = AttemptResult::default();
    over.evidence.timed_out = true;
    over
}

fn stopped_before() -> AttemptResult {
    let message = "it was stopped before it had begun".to_owned();
    let code = "ECANCELED".to_owned();
    AttemptResult::refused(SpawnError { code, message }, None)
}
