//! Runs the services that the steps of a plan need: starts each once, reports when it is ready or
//! why it is not, and stops it.
//!
//! A service has its own supervisor, like a step: nothing of it outlives the run, however the run
//! ends. Nothing here waits: the executor polls, and calls for actions that are due.

use crate::context::Context;
use rustix::event::PollFd;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vplan_base::hole::{Given, ServiceHole, replace};
use vplan_base::service::{Ready, Service, replace_in};
use vplan_base::word::{Word, visible};
use vplan_check::evidence::{Evidence, SERVICE, SpawnError};
use vplan_check::outcome::GRACE_MS;
use vplan_os::port::{Port, listens};
use vplan_os::process::attempt::{Attempt, AttemptProgress, AttemptResult, Buffer, Try};
use vplan_os::process::capture::{Live, LogPlace};
use vplan_os::process::doorbell::Doorbell;
use vplan_os::process::pool::Pool;
use vplan_os::process::program::message_of;
use vplan_os::scratch::{self, Scratch};
use vplan_plan::{Plan, Step, StepIndex};
use vplan_store::records::{STARTS, service_log_name};

/// The interval of readiness checks.
const INTERVAL: Duration = Duration::from_millis(25);
/// The time that a supervisor has to obey a kill.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(20);
/// The lines of its output that a message about a service that has died shows.
const LINES: usize = 5;
/// The folders of services. The name is short, because that of a socket in it may not be long.
const FOLDERS: scratch::ScratchKind = scratch::ScratchKind {
    prefix: "vplan-svc-",
    remove: |path| std::fs::remove_dir_all(path),
};

/// The state of a step that needs services.
pub(super) enum Readiness {
    /// All are ready.
    Ready,
    /// One is not ready yet.
    Waiting,
    /// One has died, or never was ready.
    Dead(String),
}

/// The services of a plan that is being driven.
pub(super) struct Services<'e> {
    all: BTreeMap<&'e str, Instance<'e>>,
    /// By the name of a service: the steps that want it and have not completed a try yet.
    pending: BTreeMap<&'e str, BTreeSet<StepIndex>>,
}

/// A service that was started.
struct Instance<'e> {
    service: &'e Service,
    /// The service with its placeholders filled.
    filled: Service,
    port: Option<Port>,
    /// The folder, as long as the service may use it.
    folder: Option<Scratch>,
    attempt: Option<Attempt<'e>>,
    live: Arc<Live>,
    /// The command that checks readiness, while it runs.
    probe: Option<Box<Attempt<'e>>>,
    phase: Phase,
    /// The number of its starts.
    starts: u32,
}

enum Phase {
    Starting {
        deadline: Instant,
        next_look: Instant,
    },
    Ready,
    /// It ends, or has ended, as it should.
    Stopping {
        kill_at: Instant,
        is_killed: bool,
    },
    Dead {
        why: String,
        /// Whether it ended by itself before it was ready.
        is_early: bool,
    },
}

impl<'e> Services<'e> {
    /// Creates the services of a plan; none is started.
    pub(super) fn new(plan: &'e Plan) -> Self {
        let mut pending: BTreeMap<&str, BTreeSet<StepIndex>> = BTreeMap::new();
        for (index, step) in plan.numbered_steps() {
            for service in &step.with {
                pending.entry(&service.name).or_default().insert(index);
            }
        }
        Self {
            all: BTreeMap::new(),
            pending,
        }
    }

    /// Notes that a try of a step has ended.
    pub(super) fn release(&mut self, step: &Step, index: StepIndex) {
        for service in &step.with {
            if let Some(steps) = self.pending.get_mut(service.name.as_str()) {
                steps.remove(&index);
            }
        }
    }

    /// Starts the services of a step that do not run yet.
    pub(super) fn want(
        &mut self,
        step: &'e Step,
        context: &'e Context<'e>,
        (pool, doorbell, round): (&Pool, &mut Doorbell, u32),
    ) {
        for service in &step.with {
            if !self.all.contains_key(service.name.as_str()) {
                let mut instance = Instance::new(service);
                instance.start(context, pool, doorbell, round);
                self.all.insert(&service.name, instance);
            }
        }
    }

    /// Whether the services of a step are ready.
    pub(super) fn readiness(&self, step: &Step) -> Readiness {
        let mut is_ready = true;
        for service in &step.with {
            match self.all.get(service.name.as_str()).map(|i| &i.phase) {
                Some(Phase::Ready) => {}
                Some(Phase::Dead { why, .. }) => return Readiness::Dead(why.clone()),
                Some(Phase::Stopping { .. }) => {
                    let why = format!("the service `{}` is over", service.name);
                    return Readiness::Dead(why);
                }
                Some(Phase::Starting { .. }) | None => is_ready = false,
            }
        }
        if is_ready {
            Readiness::Ready
        } else {
            Readiness::Waiting
        }
    }

    /// Returns a step with its placeholders filled.
    pub(super) fn fill(&self, step: &Step) -> Step {
        let mut filled = step.clone();
        let mut with = |hole: &ServiceHole<'_>| {
            let instance = self.all.get(hole.service?)?;
            instance.given(hole.what)
        };
        let argv = filled.argv.iter_mut().flatten();
        for word in argv.chain(filled.env.values_mut()) {
            replace_in(word, &mut with);
        }
        filled
    }

    /// Adds the descriptors of all that run, three each, to those that are polled.
    pub(super) fn watch<'s>(&'s self, fds: &mut Vec<PollFd<'s>>) {
        self.running().for_each(|attempt| attempt.watch(fds));
    }

    /// Returns all that run, in the order of [`Services::watch`].
    pub(super) fn running(&self) -> impl Iterator<Item = &Attempt<'e>> {
        self.all.values().flat_map(Instance::running)
    }

    /// Reads the output of the services. `flags` are those of [`Services::watch`]. Returns the
    /// number of answers from supervisors, and the services that have died.
    pub(super) fn ready(
        &mut self,
        flags: &[[bool; 3]],
        context: &'e Context<'e>,
        (pool, buffer, doorbell, round): (&Pool, &mut Buffer, &mut Doorbell, u32),
    ) -> (usize, Vec<&'e str>) {
        let (mut answers, mut dead) = (0, Vec::new());
        let mut flags = flags.iter();
        for (name, instance) in &mut self.all {
            let own = instance.attempt.is_some().then(|| flags.next()).flatten();
            let of_probe = instance.probe.is_some().then(|| flags.next()).flatten();
            if let Some(flags) = of_probe {
                answers += usize::from(instance.probe_ready(*flags, pool, buffer));
            }
            let Some(flags) = own else { continue };
            let heard = match &mut instance.attempt {
                Some(attempt) => attempt.ready(*flags, buffer),
                None => AttemptProgress::Nothing,
            };
            answers += usize::from(heard != AttemptProgress::Nothing);
            if heard == AttemptProgress::Over {
                instance.over(pool, buffer);
                if instance.may_start_again() {
                    instance.start(context, pool, doorbell, round);
                }
                if matches!(instance.phase, Phase::Dead { .. }) {
                    dead.push(*name);
                }
            }
        }
        (answers, dead)
    }

    /// Performs due actions: checks whether services are ready, and kills those that do not obey.
    pub(super) fn advance(
        &mut self,
        context: &'e Context<'e>,
        (pool, doorbell): (&Pool, &mut Doorbell),
    ) {
        let now = Instant::now();
        for instance in self.all.values_mut() {
            instance.advance(now, context, pool, doorbell);
        }
    }

    /// Returns the time of the next action of [`Services::look`].
    pub(super) fn due(&self) -> Option<Instant> {
        let due = |instance: &Instance<'_>| match &instance.phase {
            Phase::Starting {
                deadline,
                next_look,
            } => Some(if instance.probe.is_some() {
                *deadline
            } else {
                *next_look.min(deadline)
            }),
            Phase::Stopping { kill_at, .. } => instance.running().next().map(|_| *kill_at),
            Phase::Ready | Phase::Dead { .. } => None,
        };
        self.all.values().filter_map(due).min()
    }

    /// Asks the services to end that no step needs any longer. `busy`: the services of running
    /// steps.
    pub(super) fn stop_unwanted(&mut self, busy: &BTreeSet<&str>) {
        for (name, instance) in &mut self.all {
            let is_over = self.pending.get(name).is_none_or(BTreeSet::is_empty);
            if is_over && !busy.contains(name) {
                instance.stop();
            }
        }
    }

    /// Asks all to end.
    pub(super) fn stop(&mut self) {
        self.all.values_mut().for_each(Instance::stop);
    }

    /// Extends the deadlines of starting services: time in which everything was stopped does not
    /// count.
    pub(super) fn postpone(&mut self, by: Duration) {
        for instance in self.all.values_mut() {
            match &mut instance.phase {
                Phase::Starting { deadline, .. } => *deadline += by,
                Phase::Stopping { kill_at, .. } => *kill_at += by,
                Phase::Ready | Phase::Dead { .. } => {}
            }
        }
    }

    /// Ends all at once.
    pub(super) fn kill(&mut self) {
        self.all.values_mut().for_each(Instance::kill);
    }

    /// Whether no service was requested yet.
    pub(super) fn is_unused(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a process of a service may be left.
    pub(super) fn is_running(&self) -> bool {
        self.running().next().is_some()
    }
}

impl<'e> Instance<'e> {
    fn new(service: &'e Service) -> Self {
        Self {
            service,
            filled: service.clone(),
            port: None,
            folder: None,
            attempt: None,
            probe: None,
            live: Arc::default(),
            phase: Phase::Ready,
            starts: 0,
        }
    }

    fn running(&self) -> impl Iterator<Item = &Attempt<'e>> {
        self.attempt.iter().chain(self.probe.as_deref())
    }

    /// Returns the value of one of its placeholders.
    fn given(&self, what: Given) -> Option<String> {
        match what {
            Given::Port => self.port.as_ref().map(|port| port.number.to_string()),
            Given::Tmp => {
                let folder = self.folder.as_ref()?;
                folder.path().to_str().map(str::to_owned)
            }
        }
    }

    /// Chooses the values of its placeholders.
    fn choose(&mut self) -> std::io::Result<()> {
        self.folder = Some(Scratch::below(&tempfile::env::temp_dir(), FOLDERS)?);
        self.port = match self.service.wants_port() {
            true => Some(Port::choose()?),
            false => None,
        };
        let service = self.service;
        let own = |hole: &ServiceHole<'_>| self.given(hole.what);
        let mut filled = service.clone();
        let mut words: Vec<&mut Word> = filled.argv.iter_mut().collect();
        words.extend(filled.env.values_mut());
        match &mut filled.ready {
            Some(Ready::Tcp(text) | Ready::File(text) | Ready::Line(text)) => {
                *text = replace(text, &mut |hole| own(hole));
            }
            Some(Ready::Run(run)) => {
                words.extend(run.argv.iter_mut());
                words.extend(run.env.values_mut());
            }
            None => {}
        }
        for word in words {
            replace_in(word, &mut |hole| own(hole));
        }
        self.filled = filled;
        Ok(())
    }

    fn start(
        &mut self,
        context: &'e Context<'e>,
        pool: &Pool,
        doorbell: &mut Doorbell,
        round: u32,
    ) {
        self.starts += 1;
        let name = visible(self.service.name.as_bytes());
        if let Err(error) = self.choose() {
            let why = format!(
                "the service `{name}` could not be started: no port or folder for it: {}",
                message_of(&error)
            );
            return self.give_up(why);
        }
        self.live = Arc::new(match &self.filled.ready {
            Some(Ready::Line(text)) => Live::looking_for(text),
            _ => Live::default(),
        });
        let environment = context
            .environment
            .of_service(context.root, &self.filled.env);
        let log = service_log_name(&self.service.name, self.starts, round);
        let what = Try {
            root: context.root,
            search: &environment.search,
            dir: &self.filled.dir,
            argv: &self.filled.argv,
            env: &environment.variables,
            input: None,
            secrets: &environment.secrets,
            log: context.logs.map(|folder| LogPlace { folder, name: log }),
            max_output: context.max_output,
            live: Some(Arc::clone(&self.live)),
            formats: None,
            limit_ms: NO_LIMIT_MS,
            observe: false,
            confine: None,
        };
        match Attempt::begin(pool, &what) {
            Ok(attempt) => {
                doorbell.add(&attempt);
                self.attempt = Some(attempt);
                let now = Instant::now();
                self.phase = Phase::Starting {
                    deadline: now + Duration::from_millis(self.service.timeout_ms),
                    next_look: now,
                };
            }
            Err(refused) => {
                let why = refused.evidence.spawn_error;
                let why = why.map(|error| error.message).unwrap_or_default();
                self.give_up(format!("the service `{name}` could not be started: {why}"));
            }
        }
    }

    /// Whether it ended because another process has its port.
    fn may_start_again(&self) -> bool {
        let is_taken = || self.port.as_ref().is_some_and(|port| !port.is_free());
        matches!(self.phase, Phase::Dead { is_early: true, .. })
            && self.starts < STARTS
            && is_taken()
    }

    fn advance(
        &mut self,
        now: Instant,
        context: &'e Context<'e>,
        pool: &Pool,
        doorbell: &mut Doorbell,
    ) {
        match &self.phase {
            Phase::Starting { deadline, .. } if now >= *deadline => {
                let why = format!(
                    "the service `{}` was not ready within {}{}",
                    visible(self.service.name.as_bytes()),
                    vplan_base::unit::show_duration(self.service.timeout_ms),
                    last_lines(&self.live.tail()),
                );
                self.give_up(why);
            }
            Phase::Starting { next_look, .. } if self.probe.is_none() && now >= *next_look => {
                if self.is_ready(context, pool, doorbell) {
                    self.phase = Phase::Ready;
                } else if let Phase::Starting { next_look, .. } = &mut self.phase {
                    *next_look = now + INTERVAL;
                }
            }
            Phase::Stopping { kill_at, is_killed } if now >= *kill_at => {
                let is_killed = *is_killed;
                for attempt in self.running() {
                    if is_killed {
                        attempt.abandon();
                    } else {
                        attempt.kill();
                    }
                }
                self.phase = Phase::Stopping {
                    kill_at: now + SUPERVISOR_TIMEOUT,
                    is_killed: true,
                };
            }
            _ => {}
        }
    }

    /// Whether it is ready. If a command checks that, starts the command.
    fn is_ready(&mut self, context: &'e Context<'e>, pool: &Pool, doorbell: &mut Doorbell) -> bool {
        let run = match &self.filled.ready {
            None => return true,
            Some(Ready::Tcp(port)) => return port.parse().is_ok_and(listens),
            Some(Ready::Line(_)) => return self.live.has_seen(),
            Some(Ready::File(path)) => {
                let dir = std::ffi::OsStr::from_bytes(self.filled.dir.as_bytes());
                let path: PathBuf = context.root.path().join(dir).join(path);
                return path.symlink_metadata().is_ok();
            }
            Some(Ready::Run(run)) => run,
        };
        let mut env = self.filled.env.clone();
        env.extend(run.env.clone());
        let environment = context.environment.of_service(context.root, &env);
        let what = Try {
            root: context.root,
            search: &environment.search,
            dir: &self.filled.dir,
            argv: &run.argv,
            env: &environment.variables,
            input: None,
            secrets: &environment.secrets,
            log: None,
            max_output: 0,
            live: None,
            formats: None,
            limit_ms: self.service.timeout_ms,
            observe: false,
            confine: None,
        };
        match Attempt::begin(pool, &what) {
            Ok(attempt) => {
                doorbell.add(&attempt);
                self.probe = Some(Box::new(attempt));
            }
            Err(refused) => {
                let why = refused.evidence.spawn_error;
                let why = format!(
                    "what says whether the service `{}` is ready could not be started: {}",
                    visible(self.service.name.as_bytes()),
                    why.map(|error| error.message).unwrap_or_default(),
                );
                self.give_up(why);
            }
        }
        false
    }

    /// Reads the output of the command that checks readiness. Returns whether its supervisor
    /// answered.
    fn probe_ready(&mut self, flags: [bool; 3], pool: &Pool, buffer: &mut Buffer) -> bool {
        let heard = match &mut self.probe {
            Some(attempt) => attempt.ready(flags, buffer),
            None => AttemptProgress::Nothing,
        };
        if heard == AttemptProgress::Over
            && let Some(attempt) = self.probe.take()
        {
            let ended = attempt.finish(pool, false, buffer);
            if let Phase::Starting { next_look, .. } = &mut self.phase {
                *next_look = Instant::now() + INTERVAL;
                if ended.evidence.exit == Some(0) {
                    self.phase = Phase::Ready;
                }
            }
        }
        heard != AttemptProgress::Nothing
    }

    /// Notes that none of its processes remain.
    fn over(&mut self, pool: &Pool, buffer: &mut Buffer) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        let ended = attempt.finish(pool, false, buffer);
        // A readiness command that still runs is not waited for.
        self.probe.iter().for_each(|probe| probe.kill());
        let is_early = match &self.phase {
            Phase::Starting { .. } => true,
            Phase::Ready => false,
            Phase::Stopping { .. } | Phase::Dead { .. } => return,
        };
        let before = if is_early { " before it was ready" } else { "" };
        let how = how_it_ended(&ended);
        let mut output = ended.evidence.stdout.text();
        output.push(b'\n');
        output.extend(ended.evidence.stderr.text());
        let why = format!(
            "the service `{}` {how}{before}{}",
            visible(self.service.name.as_bytes()),
            last_lines(&output),
        );
        self.phase = Phase::Dead { why, is_early };
    }

    /// Ends the service because it failed to start. Each step that wants it reports the reason.
    fn give_up(&mut self, why: String) {
        self.running().for_each(Attempt::kill);
        self.phase = Phase::Dead {
            why,
            is_early: false,
        };
    }

    fn stop(&mut self) {
        match self.phase {
            Phase::Ready | Phase::Starting { .. } if self.attempt.is_some() => {
                self.running().for_each(Attempt::terminate);
                self.phase = Phase::Stopping {
                    kill_at: Instant::now() + Duration::from_millis(GRACE_MS),
                    is_killed: false,
                };
            }
            Phase::Dead { .. } => self.kill(),
            _ => {}
        }
    }

    fn kill(&mut self) {
        if self.running().next().is_some() {
            self.running().for_each(Attempt::kill);
            self.phase = Phase::Stopping {
                kill_at: Instant::now() + SUPERVISOR_TIMEOUT,
                is_killed: true,
            };
        }
    }
}

/// The limit that the supervisor of a service has: no time that passes.
const NO_LIMIT_MS: u64 = 1 << 40;

/// Makes the result of a step whose service does not run.
pub(super) fn refused(why: String) -> AttemptResult {
    AttemptResult::refused(error(why), None)
}

/// Voids the evidence of a step because its service died meanwhile: the step neither passed nor
/// failed.
pub(super) fn void(evidence: &mut Evidence, why: String) {
    evidence.spawn_error = Some(error(why));
    (evidence.exit, evidence.signal, evidence.timed_out) = (None, None, false);
    (evidence.reading, evidence.mutated) = (None, None);
    evidence.identities.clear();
}

fn error(message: String) -> SpawnError {
    SpawnError {
        code: SERVICE.to_owned(),
        message,
    }
}

fn how_it_ended(ended: &AttemptResult) -> String {
    let evidence = &ended.evidence;
    match (&evidence.spawn_error, evidence.exit, &evidence.signal) {
        (Some(error), ..) => format!("could not be started ({})", error.message),
        (None, Some(code), _) => format!("ended with exit code {code}"),
        (None, None, Some(signal)) => format!("was ended by {signal}"),
        (None, None, None) => "ended".to_owned(),
    }
}

/// Returns the last lines of an output, for a message.
fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..);
    match last.unwrap_or_default() {
        [] => "; it has written nothing".to_owned(),
        last => {
            let shown: Vec<String> = last.iter().map(|line| visible(line.as_bytes())).collect();
            format!("; its last lines: {}", shown.join(" / "))
        }
    }
}
