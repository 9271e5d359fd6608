//! Runs a fixer, or the fixes of a contract, like a step (supervised, with a time limit, leaving no
//! process running) and reports how it ended.

use crate::context::Context;
use crate::executor::{DriveError, Driver, Executor as _, ExecutorMessage};
use rustix::fd::AsFd as _;
use rustix::fs::{CWD, Mode as FileMode, OFlags};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use vplan_base::command::Env;
use vplan_base::index::Index as _;
use vplan_base::inert::inert;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible};
use vplan_check::Kind;
use vplan_check::evidence::{Captured, Evidence};
use vplan_os::environment::Environment;
use vplan_os::files::read_plain;
use vplan_os::held::HeldFiles;
use vplan_os::process::program::{Root, resolve};
use vplan_os::retry_eintr::openat;
use vplan_plan::step::empty;
use vplan_plan::{Origin, Plan, Step};
use vplan_run::event::{Event, Interrupt};
use vplan_run::record::tail;
use vplan_run::state::RunState;

/// The step id of a fixer: no check can have it, so that no other step has its log.
const ID: &str = "@fix";
/// Limit of its last output that is shown, in bytes.
const SAID: usize = 2048;
/// The prefix of its last line when it gives up.
const STUCK: &str = "STUCK:";
/// Limit of its reason that is shown, in characters.
const REASON: usize = 500;
/// Limit of its reason that is read, in bytes.
const WRITTEN: u64 = 64 << 10;

/// A fixer and its input.
pub struct Fixer<'a> {
    pub root: &'a Root,
    /// The environment that steps are given.
    pub environment: &'a Environment,
    /// Names of variables that the operator grants it.
    pub granted: &'a [String],
    pub argv: &'a [Word],
    /// Its additional variables.
    pub env: Env,
    /// Its standard input.
    pub feedback: &'a [u8],
    /// The time limit in milliseconds.
    pub limit_ms: u64,
    /// Limit of its output in the log, in bytes.
    pub max_output: u64,
    /// The folder for its log.
    pub logs: &'a Path,
    /// The file that it may write to give up.
    pub stuck: &'a Path,
    /// The files that it can change, if that is restricted.
    pub held: Option<&'a HeldFiles>,
}

/// The result of a fixer's run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    pub how: FixerEnd,
    /// The number of processes that it left running; they were stopped.
    pub leaked: u32,
    /// The name of its log in the folder for logs, if it wrote anything.
    pub log: Option<String>,
    /// The end of its output, safe to show: of standard error, or else of standard output.
    pub said: String,
    /// The reason why it gave up, if it did: one line, safe to show, without secrets.
    pub stuck: Option<String>,
}

/// The end of a fixer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FixerEnd {
    /// Its exit code, which decides nothing.
    Exited(i32),
    /// By a signal that vplan did not send.
    Signalled(String),
    /// It took longer than it may.
    TimedOut,
    /// It was not started, and why.
    NotStarted(String),
    /// vplan was interrupted meanwhile.
    Interrupted(Interrupt),
    /// The way in which it ended is unknown.
    #[default]
    Lost,
}

/// Runs a fixer to its end.
///
/// # Errors
/// Only failures of vplan itself, or of the record.
pub fn fix(fixer: Fixer<'_>) -> Result<Fixed, DriveError> {
    match std::fs::remove_file(fixer.stuck) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(DriveError::Setup(error)),
        _ => {}
    }
    let step = step(&fixer)?;
    let mending = Mending {
        root: fixer.root,
        environment: fixer.environment,
        steps: vec![step.clone()],
        max_output: fixer.max_output,
        logs: fixer.logs,
    };
    let ended = run(mending, Some(fixer.feedback))?;
    let mut fixed = ended.steps.into_iter().flatten().next().unwrap_or_default();
    if let Some(signal) = ended.interrupted {
        fixed.how = FixerEnd::Interrupted(signal);
    }
    if let Some(text) = written(fixer.stuck) {
        let masked = fixer
            .environment
            .of_step(fixer.root, step.environment_request())
            .secrets
            .mask(&text);
        let lines = String::from_utf8_lossy(&masked).into_owned();
        let first = lines
            .lines()
            .find(|l| !l.trim().is_empty())
            .unwrap_or_default()
            .trim();
        fixed.stuck = Some(reason(first.strip_prefix(STUCK).unwrap_or(first)));
    }
    Ok(fixed)
}

/// The steps of a fix of the contract, and their parameters.
pub struct Mending<'a> {
    pub root: &'a Root,
    /// The environment that steps are given.
    pub environment: &'a Environment,
    pub steps: Vec<Step>,
    /// Limit of a step's output in its log, in bytes.
    pub max_output: u64,
    /// The folder for the logs.
    pub logs: &'a Path,
}

/// The result of running the steps of a fix.
#[derive(Debug, Default)]
pub struct FixRun {
    /// How each step ended; `None` of one that was not run.
    pub steps: Vec<Option<Fixed>>,
    /// vplan was interrupted meanwhile.
    pub interrupted: Option<Interrupt>,
}

/// Runs the steps of a fix one after another, even if earlier ones failed. None of them is a check,
/// so their logs have separate names.
///
/// # Errors
/// Only failures of vplan itself, or of the record.
pub fn mend(mut mending: Mending<'_>) -> Result<FixRun, DriveError> {
    for step in &mut mending.steps {
        step.id = format!("{ID} {}", step.id);
    }
    run(mending, None)
}

fn run(mending: Mending<'_>, input: Option<&[u8]>) -> Result<FixRun, DriveError> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let logs = openat(CWD, mending.logs, flags, FileMode::empty()).map_err(std::io::Error::from)?;
    let mut ended = FixRun {
        steps: mending.steps.iter().map(|_| None).collect(),
        interrupted: None,
    };
    let mut plan = Plan::of_steps(mending.steps);
    plan.policy.fail_fast = false;
    let plan = Arc::new(plan);
    let mut driver = Driver::new(None, mending.environment.granted().capabilities_kept)?;
    let (mut state, first) =
        RunState::new(Arc::clone(&plan), BTreeMap::new(), driver.clock().now());
    let context = Context {
        logs: Some(logs.as_fd()),
        max_output: mending.max_output,
        input,
        ..Context::new(mending.root, mending.environment)
    };
    driver.drive(&plan, &context, first, &mut |message| {
        let ExecutorMessage::Event(event, finished) = message else {
            return Vec::new();
        };
        match &event {
            Event::Interrupt { signal, .. } => {
                ended.interrupted = ended.interrupted.or(Some(*signal));
            }
            Event::Finished { step, evidence, .. } => {
                if let Some(place) = ended.steps.get_mut(step.position()) {
                    *place = Some(Fixed {
                        log: finished.and_then(|f| f.log.clone()),
                        ..from_evidence(evidence)
                    });
                }
            }
            Event::Began { .. }
            | Event::Time { .. }
            | Event::InstantComplete { .. }
            | Event::RecordFailed { .. } => {}
        }
        state.handle(event)
    })?;
    Ok(ended)
}

fn from_evidence(evidence: &Evidence) -> Fixed {
    let how = match evidence {
        Evidence {
            spawn_error: Some(error),
            ..
        } => FixerEnd::NotStarted(error.message.clone()),
        Evidence {
            timed_out: true, ..
        } => FixerEnd::TimedOut,
        Evidence {
            signal: Some(signal),
            ..
        } => FixerEnd::Signalled(signal.clone()),
        Evidence {
            exit: Some(exit), ..
        } => FixerEnd::Exited(*exit),
        _ => FixerEnd::Lost,
    };
    let stream = if evidence.stderr.is_blank() {
        &evidence.stdout
    } else {
        &evidence.stderr
    };
    let said = tail(stream, SAID);
    let stuck = last_word(&evidence.stdout).or_else(|| last_word(&evidence.stderr));
    Fixed {
        duration_ms: evidence.duration_ms,
        how,
        leaked: evidence.leaked,
        log: None,
        said,
        stuck,
    }
}

/// Returns the text after `STUCK:` in the last line of a stream.
fn last_word(stream: &Captured) -> Option<String> {
    let text = inert(&stream.text());
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    last.strip_prefix(STUCK).map(reason)
}

/// Puts a reason on one line.
fn reason(text: &str) -> String {
    let kept: String = text.trim().chars().take(REASON).collect();
    let shown = visible(inert(kept.as_bytes()).trim().as_bytes());
    if shown.is_empty() {
        "it gave no reason".to_owned()
    } else {
        shown
    }
}

/// Reads the file by which it gives up. Any file there counts, even one that cannot be read.
fn written(path: &Path) -> Option<Vec<u8>> {
    match read_plain(path, WRITTEN) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(format!("its reason cannot be read: {error}").into_bytes()),
    }
}

/// Makes the step of a fixer.
fn step(fixer: &Fixer<'_>) -> Result<Step, DriveError> {
    let argv = match fixer.held {
        Some(held) => held_words(fixer, held).map_err(DriveError::Setup)?,
        None => fixer.argv.to_vec(),
    };
    Ok(Step {
        argv: Some(argv),
        command: ID.to_owned(),
        env: fixer.env.clone(),
        exit: vec![0],
        id: ID.to_owned(),
        pass_env: fixer.granted.to_vec(),
        timeout_ms: fixer.limit_ms.max(1),
        ..empty(Kind::Run, Origin::Explicit)
    })
}

/// Returns the words that run a fixer with restrictions. A fixer that is not found is started
/// without them, and refused.
fn held_words(fixer: &Fixer<'_>, held: &HeldFiles) -> std::io::Result<Vec<Word>> {
    let (first, rest) = match fixer.argv {
        [first, rest @ ..] => (first, rest),
        [] => return Ok(Vec::new()),
    };
    let search = fixer.environment.search();
    let found = resolve(fixer.root, search, &RepoPath::root(), first.as_bytes());
    let Ok((program, _)) = found else {
        return Ok(fixer.argv.to_vec());
    };
    let words = held.words(&program.path)?;
    let words = words.iter().map(|word| Word::new(word.as_bytes()));
    Ok(words.chain(rest.iter().cloned()).collect())
}
