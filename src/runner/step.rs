//! Drives one try of a step from start to end. Comparing files takes a thread for the step.

use crate::background::WorkerEvent;
use crate::context::Context;
use crate::file_facts::evidence;
use crate::file_watch::{self, is_watched};
use crate::fingerprints::of_step;
use crate::judge::PreparedQuestion;
use crate::remote::CameBack;
use crate::remote_try::RemoteTry;
use crate::sandbox::StepSandbox;
use crate::sealed::Products;
use crate::snapshots::RunSnapshots;
use rustix::fd::BorrowedFd;
use rustix::fs::Mode;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use vplan_base::canon::Digest;
use vplan_check::Kind;
use vplan_check::agreement::{nothing, silence};
use vplan_check::commands::parts;
use vplan_check::confine::{Confined, Guarantee, InputsBasis, SandboxLevel};
use vplan_check::environment::Withheld;
use vplan_check::evidence::{Captured, Evidence, SpawnError};
use vplan_check::observed::Observed;
use vplan_check::output::{Expected, guessed, resolve_name};
use vplan_check::tool::Invocation;
use vplan_os::atomic_file::create;
use vplan_os::process::attempt::{
    Attempt, AttemptProgress, AttemptResult, Buffer, Try, unconfined,
};
use vplan_os::process::capture::{Live, LogPlace};
use vplan_os::process::mask::Secrets;
use vplan_os::process::pool::Pool;
use vplan_os::process::program::{Program, carriage_return, message_of};
use vplan_os::process::stop::{StopLevel, StopRequest};
use vplan_plan::{Plan, Step, StepIndex};
use vplan_run::record::{Place, ProgramRecord};
use vplan_store::records::reads_name;
use vplan_store::reuse::RunCache;

/// The end of a try, without its evidence.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The time of its start, in milliseconds since the run's start.
    pub started_at: u64,
    /// The name of its log in the folder for logs; `None` for a silent step.
    pub log: Option<String>,
    /// The reason why the log is not complete. To the machine that is
    /// [`Event::RecordFailed`](vplan_run::event::Event::RecordFailed).
    pub log_error: Option<String>,
    /// The program that was started.
    pub program: Option<Program>,
    /// Where it was executed, if it was allowed to run remotely.
    pub place: Option<Place>,
    /// The program that was started there.
    pub program_elsewhere: Option<ProgramRecord>,
    /// Variables that it requested and did not get.
    pub withheld: Vec<Withheld>,
    /// Processes that could not be ended (another user's).
    pub survivors: u32,
    /// How it was confined, if it was to be.
    pub confined: Option<Confined>,
    /// The evidence that it depends on its `inputs` alone.
    pub inputs: Option<InputsBasis>,
}

/// A try of a step that is under way.
pub(crate) struct StepExecution<'e> {
    index: StepIndex,
    step: &'e Step,
    /// The step with placeholders of services filled, if it has any.
    filled: Option<Box<Step>>,
    pub attempt: u32,
    /// The time of its start, in milliseconds since the run's start.
    pub since: u64,
    pub live: Arc<Live>,
    log: Option<String>,
    stage: Stage<'e>,
    /// Tells the thread that watches files to compare them.
    watcher: Option<Sender<Rescan>>,
    /// Its limit in milliseconds.
    limit_ms: u64,
    /// The same, until the start has been reported.
    pub unannounced: Option<u64>,
    /// The digest of the judge's question.
    question: Option<Digest>,
    stop: Stops,
    /// The secrets that it was given.
    secrets: Secrets,
    withheld: Vec<Withheld>,
    /// Its sandbox, until its end.
    sandbox: Option<StepSandbox>,
    /// That it is executed elsewhere.
    elsewhere: Option<Elsewhere>,
    /// The time by which its supervisor must have obeyed.
    pub overdue: Option<Instant>,
}

/// A try that is executed elsewhere.
struct Elsewhere {
    stop: Arc<StopRequest>,
    /// Tells its thread that its start was reported.
    set_out: Option<Sender<()>>,
    /// The outcome, without the result of the try.
    came: Option<CameBack>,
}

/// Sent to the thread that watches files, when the step has ended.
struct Rescan {
    /// Whether the step may have passed.
    is_promising: bool,
    /// The secrets to mask in its output files.
    secrets: Secrets,
    /// Its outputs for others, if it was sealed.
    products: Option<Products>,
}

enum Stage<'e> {
    /// Its thread evaluates it, or records its files.
    Preparing,
    /// It runs, since this time.
    Running(Box<Attempt<'e>>, Duration),
    /// It has ended, and its thread compares files.
    Finalizing(Box<AttemptResult>),
}

/// Requests to stop, at any stage.
#[derive(Default)]
struct Stops {
    terminate: bool,
    kill: bool,
    timed_out: bool,
}

/// The I/O that every stage needs.
pub(crate) struct StepIo<'m> {
    pub pool: &'m Pool,
    pub buffer: &'m mut Buffer,
    /// The time since the run's start.
    pub now: Duration,
}

impl<'e> StepExecution<'e> {
    /// Makes the execution of a step that is due.
    pub fn new(
        index: StepIndex,
        step: &'e Step,
        (attempt, limit_ms): (u32, u64),
        since: u64,
        log: Option<String>,
    ) -> Self {
        Self {
            index,
            step,
            filled: None,
            attempt,
            since,
            live: Arc::default(),
            log,
            stage: Stage::Preparing,
            watcher: None,
            limit_ms,
            unannounced: Some(limit_ms),
            question: None,
            stop: Stops::default(),
            secrets: Secrets::default(),
            withheld: Vec::new(),
            sandbox: None,
            elsewhere: None,
            overdue: None,
        }
    }

    /// Takes the step with placeholders of services filled.
    pub fn fill(&mut self, filled: Step) {
        self.filled = Some(Box::new(filled));
    }

    /// Whether a cached pass may replace it, so that it may not start at all.
    pub(crate) fn may_be_recalled(&self, context: &Context<'_>) -> bool {
        context
            .recall
            .is_some_and(|recall| recall.concerns(self.step, self.attempt))
    }

    /// Starts the step, or the thread that it needs first. Returns its end if it has ended at once.
    pub fn begin<'s>(
        &mut self,
        context: &'e Context<'e>,
        plan: &'e Plan,
        io: &StepIo<'_>,
        scope: &'s Scope<'s, 'e>,
        outbox: &UnboundedSender<WorkerEvent>,
    ) -> std::io::Result<Option<AttemptResult>> {
        let (index, step, outbox) = (self.index, self.step, outbox.clone());
        let thread = std::thread::Builder::new().name("step".to_owned());
        if step.kind == Kind::File {
            let evaluate = move || {
                let judged = context.beneath.map(|beneath| evidence(beneath, step));
                let judged = Box::new(judged.unwrap_or_default());
                leave(&outbox, WorkerEvent::Evaluated(index, judged))
            };

            thread.spawn_scoped(scope, evaluate)?;
        } else if let Some(judge) = context.judge.filter(|_| step.kind == Kind::Judge) {
            let log = self.log.clone();
            thread.spawn_scoped(scope, move || {
                let asked = (judge.question)(step);
                if let (PreparedQuestion::Question { text, .. }, Some((folder, log))) =
                    (&asked, context.logs.zip(log))
                {
                    // For people who want to read the question; vplan does not need the file.
                    let _ = keep(folder, &format!("{log}.question.json"), text.as_bytes());
                }
                leave(&outbox, WorkerEvent::Asked(index, asked));
            })?;
        } else if is_watched(step)
            || makes_products(step)
            || looks_behind(context, step).is_some()
            || self.may_be_recalled(context)
        {
            let (watcher, again) = channel();
            self.watcher = Some(watcher);
            let recall = context.recall.filter(|_| self.may_be_recalled(context));
            thread.spawn_scoped(scope, move || {
                watch(context, plan, index, recall, &again, &outbox)
            })?;
        } else {
            return Ok(self.start(context, io, None));
        }
        Ok(None)
    }

    /// Starts the thread of a step that is executed elsewhere.
    pub(crate) fn begin_elsewhere<'s>(
        mut self,
        context: &'e Context<'e>,
        plan: &'e Plan,
        scope: &'s Scope<'s, 'e>,
        outbox: &UnboundedSender<WorkerEvent>,
    ) -> std::io::Result<Self> {
        let nobody = || std::io::Error::other("nothing executes steps elsewhere");
        let away = context.away.ok_or_else(nobody)?;
        let stop = Arc::new(StopRequest::new()?);
        let errand = RemoteTry {
            away,
            index: self.index,
            limit_ms: self.limit_ms,
            log: self.log.clone(),
            stop: Arc::clone(&stop),
        };
        let recall = context.recall.filter(|_| self.may_be_recalled(context));
        let (set_out, wait) = channel();
        let outbox = outbox.clone();
        let thread = std::thread::Builder::new().name("step".to_owned());
        thread.spawn_scoped(scope, move || {
            errand.run(context, plan, recall, &wait, &outbox);
        })?;
        self.elsewhere = Some(Elsewhere {
            stop,
            set_out: Some(set_out),
            came: None,
        });
        Ok(self)
    }

    /// Lets a try that is executed elsewhere set out; `false` for any other.
    pub(crate) fn sets_out(&mut self) -> bool {
        let elsewhere = self.elsewhere.as_mut();
        let set_out = elsewhere.and_then(|elsewhere| elsewhere.set_out.take());
        set_out.is_some_and(|set_out| set_out.send(()).is_ok())
    }

    /// Takes the outcome of a remote try.
    pub(crate) fn come_back(&mut self, mut came: CameBack) -> AttemptResult {
        let mut tried = std::mem::take(&mut came.tried);
        tried.evidence.timed_out |= self.stop.timed_out;
        self.withheld = std::mem::take(&mut came.withheld);
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.came = Some(came);
        }
        tried
    }

    /// Asks the question of a `judge` check. Returns the check's end if no judge is needed or
    /// available.
    pub fn ask(
        &mut self,
        asked: PreparedQuestion,
        context: &'e Context<'e>,
        io: &StepIo<'_>,
    ) -> Option<AttemptResult> {
        match asked {
            PreparedQuestion::Question { digest, text } => {
                self.question = Some(digest);
                self.start(context, io, Some(text.as_bytes()))
            }
            PreparedQuestion::Recorded { answer, digest } => Some(self.finish_with(|seen| {
                *seen = Evidence {
                    exit: Some(0),
                    question: Some(digest),
                    stdout: Captured::from(answer.as_bytes()),
                    ..Evidence::default()
                }
            })),
            PreparedQuestion::Refused(error) => Some(AttemptResult::refused(error, None)),
        }
    }

    /// Starts the step, or the judge with the step's question. Returns its end if that fails.
    pub fn start(
        &mut self,
        context: &'e Context<'e>,
        io: &StepIo<'_>,
        question: Option<&[u8]>,
    ) -> Option<AttemptResult> {
        let Context {
            root,
            environment,
            logs,
            max_output,
            tick,
            judge,
            observe,
            sandbox,
            ..
        } = *context;
        let judge = judge.filter(|_| question.is_some());
        let step = self.filled.as_deref().unwrap_or(self.step);
        let mut environment = match judge {
            Some(judge) => environment.of_judge(root, &judge.env),
            None => environment.of_step(root, step.environment_request()),
        };
        let sandbox = match sandbox.map(|sandbox| sandbox.of_step(root, &environment.search, step))
        {
            Some(Ok(sandbox)) => sandbox,
            Some(Err(why)) => {
                return Some(AttemptResult::refused(unconfined(&why.to_string()), None));
            }
            None if step.confinement().is_none() => None,
            // A step never runs with less confinement than requested.
            None => {
                let why = "nothing here confines steps";
                return Some(AttemptResult::refused(unconfined(why), None));
            }
        };
        if let Some(sandbox) = &sandbox {
            sandbox.add_variables(&mut environment.variables);
        }
        let argv = judge.map(|j| j.argv.as_slice()).or(step.argv.as_deref());
        let formats = formats(self.step);
        let what = Try {
            root,
            search: &environment.search,
            dir: &self.step.dir,
            argv: argv.unwrap_or_default(),
            env: &environment.variables,
            input: question.or(context.input),
            secrets: &environment.secrets,
            log: logs
                .zip(self.log.clone())
                .map(|(folder, name)| LogPlace { folder, name }),
            max_output,
            live: tick.map(|_| Arc::clone(&self.live)),
            formats: Some(&formats),
            limit_ms: self.limit_ms,
            // A judge is not observed: it is not part of the repository.
            observe: observe && question.is_none(),
            confine: sandbox.as_ref().map(|sandbox| &sandbox.confine),
        };
        self.withheld = environment.withheld;
        self.secrets = environment.secrets.clone();
        // Before it begins: from now on files may change.
        context
            .sandbox
            .into_iter()
            .for_each(|sandbox| sandbox.outside().started(self.step.confinement()));
        context
            .recall
            .into_iter()
            .for_each(|recall| recall.started(self.step));
        let begun = Attempt::begin(io.pool, &what);
        self.sandbox = sandbox;
        match begun {
            Ok(attempt) => {
                if self.stop.kill {
                    attempt.kill();
                } else if self.stop.terminate {
                    attempt.terminate();
                }
                self.stage = Stage::Running(Box::new(attempt), io.now);
                None
            }
            Err(refused) => {
                self.has_ended(context);
                Some(*refused)
            }
        }
    }

    /// Records that none of its processes remain.
    fn has_ended(&self, context: &Context<'_>) {
        let recall = context.recall.into_iter();
        recall.for_each(RunCache::step_ended);
        let sandbox = context.sandbox.into_iter();
        sandbox.for_each(|sandbox| sandbox.outside().ended(self.step.confinement()));
    }

    /// Returns the try if it is running.
    pub fn running(&self) -> Option<&Attempt<'e>> {
        match &self.stage {
            Stage::Running(attempt, _) => Some(attempt),
            Stage::Preparing | Stage::Finalizing(_) => None,
        }
    }

    /// Reads the output of the running try. At its end, returns it, or has its files compared
    /// first.
    pub fn ready(
        &mut self,
        context: &Context<'_>,
        ready: [bool; 3],
        io: &mut StepIo<'_>,
    ) -> (AttemptProgress, Option<AttemptResult>) {
        let Stage::Running(attempt, _) = &mut self.stage else {
            return (AttemptProgress::Nothing, None);
        };
        let heard = attempt.ready(ready, io.buffer);
        if heard != AttemptProgress::Over {
            return (heard, None);
        }
        self.overdue = None;
        let Stage::Running(attempt, started) = std::mem::replace(&mut self.stage, Stage::Preparing)
        else {
            return (heard, None);
        };
        let mut tried = attempt.finish(io.pool, self.stop.timed_out, io.buffer);
        read_as(self.step, &mut tried.evidence);
        if tried.evidence.exit == Some(NOT_FOUND) && !self.step.accepts(Some(NOT_FOUND)) {
            tried.evidence.spawn_error = not_found(context.root.path(), self.step);
        }
        // Comparing files before and after does not count as the step's time.
        tried.evidence.duration_ms = millis(io.now.saturating_sub(started));
        tried.evidence.question = self.question.take();
        self.has_ended(context);
        let again = Rescan {
            is_promising: self.step.accepts(tried.evidence.exit),
            secrets: self.secrets.clone(),
            products: self.sandbox.as_mut().and_then(|own| own.products.take()),
        };
        if self.watcher.as_ref().is_some_and(|w| w.send(again).is_ok()) {
            self.stage = Stage::Finalizing(Box::new(tried));
            return (heard, None);
        }
        (heard, Some(tried))
    }

    /// Ends a step after comparing its files, or one that started no process.
    pub(crate) fn finish_with(&mut self, with: impl FnOnce(&mut Evidence)) -> AttemptResult {
        let mut tried = match std::mem::replace(&mut self.stage, Stage::Preparing) {
            Stage::Finalizing(tried) => *tried,
            Stage::Preparing | Stage::Running(..) => AttemptResult::default(),
        };
        with(&mut tried.evidence);
        tried
    }

    /// Splits the result of a try into its evidence and the rest.
    pub fn finished(
        self,
        context: &Context<'_>,
        mut tried: AttemptResult,
    ) -> (Box<Evidence>, Finished) {
        if let Some(reading) = tried
            .evidence
            .reading
            .as_deref_mut()
            .filter(|_| !self.secrets.is_empty())
        {
            // A text that was masked before parsing may have had another spelling there: `&amp;`,
            // `\"`.
            reading.for_each_text(|text| *text = self.secrets.mask_clipped(text));
        }
        // After masking: a fingerprint reveals nothing of a secret.
        if let Some((reading, beneath)) = tried.evidence.reading.as_deref().zip(context.beneath) {
            let root = context.root.path();
            tried.evidence.identities = of_step(beneath, root, self.step, reading);
        }

        // If nothing was started, nothing was confined, and nothing was read.
        let confined = self.sandbox.filter(|_| tried.has_started);
        let confined = confined.map(|sandbox| sandbox.confined);
        let observed = tried.observed.as_ref().filter(|_| tried.has_started);
        let inputs = inputs_basis(self.step, confined.as_ref(), observed);
        let came = self.elsewhere.and_then(|elsewhere| elsewhere.came);
        let (confined, inputs, place, program_elsewhere) = match came {
            Some(came) => (came.confined, came.inputs, Some(came.place), came.program),
            None => (confined, inputs, None, None),
        };
        let unseen = tried
            .observed
            .and_then(|observed| keep_observed(context, self.log.as_deref(), &observed).err());
        let log_error = tried
            .log_error
            .map(|e| format!("the log could not be written: {}", message_of(&e)));
        let unseen = unseen.map(|e| {
            format!(
                "what it was seen to do could not be written: {}",
                message_of(&e)
            )
        });
        let finished = Finished {
            started_at: self.since,
            log: self.log.filter(|_| tried.logged),
            log_error: log_error.or(unseen),
            program: tried.program,
            withheld: self.withheld,
            confined,
            inputs,
            place,
            program_elsewhere,
            survivors: tried.survivors,
        };
        (Box::new(tried.evidence), finished)
    }

    pub fn terminate(&mut self, timed_out: bool) {
        self.stop.terminate = true;
        self.stop.timed_out |= timed_out;
        self.stop_elsewhere(StopLevel::Asked);
        self.running().into_iter().for_each(Attempt::terminate);
    }

    pub fn kill(&mut self, timed_out: bool) {
        self.stop.kill = true;
        self.stop.timed_out |= timed_out;
        self.stop_elsewhere(StopLevel::Now);
        self.running().into_iter().for_each(Attempt::kill);
    }

    fn stop_elsewhere(&self, level: StopLevel) {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.stop.ask(level);
        }
    }
}

/// Returns the evidence that a step depends on its `inputs` alone.
fn inputs_basis(
    step: &Step,
    confined: Option<&Confined>,
    observed: Option<&Observed>,
) -> Option<InputsBasis> {
    step.inputs.as_ref()?;
    let reached = confined.map_or(&[][..], |confined| &confined.reached);
    let is_held = reached.contains(&Guarantee::DeclaredReads);
    match observed {
        _ if step.is_held_to_inputs(reached) => Some(InputsBasis::Enforced),
        Some(observed) if observed.gaps.is_empty() => Some(InputsBasis::Observed),
        None if !is_held => None,
        _ => Some(InputsBasis::Believed),
    }
}

fn leave(outbox: &UnboundedSender<WorkerEvent>, note: WorkerEvent) {
    // The driving thread outlives this one.
    let _ = outbox.send(note);
}

/// Writes a file of the record that is not there yet.
fn keep(folder: BorrowedFd<'_>, name: &str, content: &[u8]) -> std::io::Result<()> {
    create(folder, name, Mode::from_raw_mode(0o644))?.write_all(content)
}

/// Writes the observed effects of a try next to its log.
fn keep_observed(
    context: &Context<'_>,
    log: Option<&str>,
    observed: &Observed,
) -> std::io::Result<()> {
    let Some((folder, log)) = context.logs.zip(log) else {
        return Ok(());
    };
    let mut text = Vec::new();
    observed.write(&mut text)?;
    keep(folder, &reads_name(log), &text)
}

fn watch(
    context: &Context<'_>,
    plan: &Plan,
    index: StepIndex,
    recall: Option<&RunCache<'_>>,
    again: &Receiver<Rescan>,
    outbox: &UnboundedSender<WorkerEvent>,
) {
    if let Some(pass) = recall.and_then(|recall| recall.find_pass(plan, index, &context.looks)) {
        return leave(outbox, WorkerEvent::Recalled(index, pass));
    }
    let step = plan.step(index);
    let look = is_watched(step)
        .then(|| file_watch::watch(context.root.path(), context.git, context.aside, step));

    let behind = looks_behind(context, step);
    leave(outbox, WorkerEvent::Looked(index));
    // The sender is gone if the step could not be started.
    if let Ok(again) = again.recv() {
        let copied = again
            .products
            .map(|made| made.copy(context.root, again.is_promising));
        let mut looked = look.map(|look| look(&again.secrets)).unwrap_or_default();
        looked.not_copied = copied.and_then(Result::err).map(|why| why.to_string());
        if let Some(behind) = behind {
            behind.look_behind(step);
        }
        if let Some(recall) = recall.filter(|_| again.is_promising && looked.is_well()) {
            recall.look_again(plan, index, &context.looks);
        }
        leave(outbox, WorkerEvent::LookedAgain(index, Box::new(looked)));
    }
}

/// Whether the outputs of a step are copied into the repository at its end.
fn makes_products(step: &Step) -> bool {
    step.confinement().level == SandboxLevel::Sealed && Products::are_made_by(step)
}

/// Returns the snapshots of the tree, for a step that may change it.
fn looks_behind<'c>(context: &Context<'c>, step: &Step) -> Option<&'c RunSnapshots> {
    context.looks.filter(|_| step.is_writer())
}

/// Returns the formats for parsing a step's output; none if only the exit code counts.
fn formats(step: &Step) -> Expected {
    if !matches!(step.kind, Kind::Compile | Kind::Test | Kind::Lint) || step.argv.is_none() {
        return Expected::sure(Vec::new());
    }
    match (step.explicit_format(), &step.format_definition) {
        (Some(name), Some(definition)) => Expected::defined(name, definition),
        (Some(name), None) => Expected::sure(
            name.to_known()
                .map(|name| resolve_name(name, step.kind))
                .unwrap_or_default(),
        ),
        (None, _) => step.with_words(|words| guessed(words, step.kind)),
    }
}

/// Counts the findings by the check's verb. A known compiler or linter that ended well without
/// output has no findings.
fn read_as(step: &Step, evidence: &mut Evidence) {
    if let Some(reading) = evidence.reading.take() {
        evidence.reading = Some(Box::new(reading.counted_by(step.kind)));
        return;
    }
    let of_a_known_tool = || {
        let written = |words: &[&str]| {
            let run = Invocation::parse(words);
            formats(step)
                .iter()
                .copied()
                .find(|f| f.is_written_by(&run))
        };
        step.with_words(written).map(|f| f.id)
    };
    let format = match step.explicit_format() {
        Some(name) => Some(&**name),
        None => of_a_known_tool(),
    };
    let of_nothing = || {
        let read = |words: &[&str]| nothing(&Invocation::parse(words), step.kind, evidence);
        step.with_words(read)
    };
    let reading = format.and_then(|format| silence(format, step.kind, evidence));
    evidence.reading = reading.or_else(of_nothing).map(Box::new);
}

/// The exit code of a shell that does not find a command.
const NOT_FOUND: i32 = 127;

/// Explains why a shell does not find a script that is there.
fn not_found(root: &Path, step: &Step) -> Option<SpawnError> {
    let dir = root.join(step.dir.to_os());
    let started = step.with_words(parts);
    let words = started.iter().flat_map(Invocation::words);
    // To open a pipe would wait for its other end.
    let mut files = words
        .map(|word| dir.join(word))
        .filter(|path| path.is_file());
    files.find_map(|path| carriage_return(&path))
}

/// Converts to whole milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
