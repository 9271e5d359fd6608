//! Runs the commands of a session in an empty temporary folder: `vplan tour`.
//!
//! They run like steps, under a supervisor: none of their processes outlives them, or this process.
//! The folder is removed at the end, even after an interrupt. If the process is killed, the next
//! session removes it.

use crate::context::Context;
use crate::executor::{DriveError, Driver, Executor as _, ExecutorMessage};
use rustix::fd::AsFd as _;
use rustix::fs::{CWD, Mode as FileMode, OFlags};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vplan_base::index::Index as _;
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_check::evidence::Evidence;
use vplan_os::environment::{Environment, Grants};
use vplan_os::files::{is_program, read_plain};
use vplan_os::process::program::Root;
use vplan_os::retry_eintr::openat;
use vplan_os::scratch::{Scratch, ScratchKind as FolderKind};
use vplan_plan::step::empty;
use vplan_plan::{Origin, Plan, Step, StepIndex};
use vplan_run::event::{Action, Event, Interrupt};
use vplan_run::state::RunState;

/// The folders of sessions.
const FOLDERS: FolderKind = FolderKind {
    prefix: "vplan-tour-",
    remove: |path| std::fs::remove_dir_all(path),
};
/// The programs without which no session begins.
const NEEDED: [&str; 3] = ["sh", "git", "make"];
/// The time limit of a command in milliseconds.
const LIMIT: u64 = 120_000;
/// Limit of a command's output that is read, in bytes.
const MOST: u64 = 1 << 20;

/// A command of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Its text, for `sh`.
    pub text: String,
    /// The exit code that it must end with.
    pub exit: i32,
}

/// The progress of a session.
#[derive(Clone, Copy, Debug)]
pub enum SessionProgress<'a> {
    /// The command with this number, from 0, begins.
    Begins(usize),
    /// It has ended, with this output and this exit code, unless a signal ended it.
    Ended(&'a [u8], Option<i32>),
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// Every command ended as it must.
    Complete,
    /// The command with this number ended in another way than expected, which is described.
    Otherwise(usize, String),
    /// vplan was interrupted.
    Interrupted(Interrupt),
}

/// The reason why no session began.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A program is missing.
    #[error("the tour needs `{0}`, which is not on the PATH")]
    Lacking(&'static str),
    /// The folder cannot be made.
    #[error("there is no temporary folder for the tour: {0}")]
    Folder(#[source] io::Error),
    /// The commands cannot be run.
    #[error("the tour cannot run its commands: {0}")]
    Drive(#[from] DriveError),
}

/// Runs commands in order, up to the first that does not end as it must.
///
/// # Errors
/// The session could not begin.
pub fn run(
    commands: &[Typed],
    tell: &mut dyn FnMut(SessionProgress<'_>),
) -> Result<SessionEnd, SessionError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| std::env::split_paths(&path).any(|dir| is_program(&dir.join(name)));
    if let Some(lacking) = NEEDED.into_iter().find(|name| !has(name)) {
        return Err(SessionError::Lacking(lacking));
    }
    let parent = tempfile::env::temp_dir();
    let folder = parent
        .canonicalize()
        .and_then(|parent| Scratch::below(&parent, FOLDERS))
        .map_err(SessionError::Folder)?;
    let place = Place::inside(folder.path(), &path).map_err(SessionError::Folder)?;
    place.run(commands, tell)
}

/// The folders of a session, and the variables of its commands.
struct Place {
    logs: PathBuf,
    root: Root,
    environment: Environment,
    variables: BTreeMap<String, Word>,
}

impl Place {
    /// Makes the folders: `repos` is the home directory, `repos/hello` the directory of the session
    /// and empty, `bin` has this program under its name.
    fn inside(folder: &Path, path: &OsString) -> io::Result<Self> {
        let [home, logs, bin] = ["repos", "logs", "bin"].map(|name| folder.join(name));
        let hello = home.join("hello");
        for dir in [&home, &logs, &bin, &hello] {
            std::fs::create_dir(dir)?;
        }
        std::os::unix::fs::symlink(std::env::current_exe()?, bin.join("vplan"))?;
        let mut search = bin.into_os_string().into_vec();
        search.push(b':');
        search.extend_from_slice(path.as_bytes());
        let root = Root::open(&hello)?;
        let caller = [(b"PATH".to_vec(), search)];
        let environment = Environment::new(&root, caller, Grants::default());
        let mut variables: BTreeMap<String, Word> = [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("LC_ALL", "C.UTF-8"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Word::from(value)))
        .collect();
        for who in ["AUTHOR", "COMMITTER"] {
            variables.insert(format!("GIT_{who}_NAME"), Word::from("you"));
            variables.insert(format!("GIT_{who}_EMAIL"), Word::from("you@example.com"));
        }
        for name in ["HOME", "TMPDIR"] {
            variables.insert(name.to_owned(), Word::new(home.as_os_str().as_bytes()));
        }
        Ok(Self {
            logs,
            root,
            environment,
            variables,
        })
    }

    fn run(
        &self,
        commands: &[Typed],
        tell: &mut dyn FnMut(SessionProgress<'_>),
    ) -> Result<SessionEnd, SessionError> {
        let steps = commands.iter().enumerate();
        let plan = Plan::of_steps(
            steps
                .map(|(number, typed)| self.step(number, typed))
                .collect(),
        );
        let plan = Arc::new(plan);
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let logs = openat(CWD, &self.logs, flags, FileMode::empty())
            .map_err(|error| SessionError::Folder(error.into()))?;
        let mut driver = Driver::new(None, false)?;
        let (state, first) =
            RunState::new(Arc::clone(&plan), BTreeMap::new(), driver.clock().now());
        let context = Context {
            logs: Some(logs.as_fd()),
            max_output: MOST,
            ..Context::new(&self.root, &self.environment)
        };
        let mut under_way = UnderWay {
            state,
            commands,
            ended: SessionEnd::Complete,
            done: 0,
            logs: &self.logs,
        };
        driver.drive(&plan, &context, first, &mut |message| {
            under_way.heard(message, tell)
        })?;
        Ok(match under_way.ended {
            SessionEnd::Complete if under_way.done < commands.len() => {
                SessionEnd::Otherwise(under_way.done, "was not run".to_owned())
            }
            ended => ended,
        })
    }

    fn step(&self, number: usize, typed: &Typed) -> Step {
        let words = ["sh", "-c", &format!("exec 2>&1\n{}", typed.text)].map(Word::from);
        Step {
            argv: Some(words.to_vec()),
            command: typed.text.clone(),
            env: self.variables.clone(),
            exit: vec![typed.exit],
            id: format!("command-{}", number + 1),
            timeout_ms: LIMIT,
            ..empty(Kind::Run, Origin::Explicit)
        }
    }
}

/// A running session.
struct UnderWay<'s> {
    state: RunState,
    commands: &'s [Typed],
    ended: SessionEnd,
    /// The number of commands that ended.
    done: usize,
    logs: &'s Path,
}

impl UnderWay<'_> {
    fn heard(
        &mut self,
        message: ExecutorMessage<'_>,
        tell: &mut dyn FnMut(SessionProgress<'_>),
    ) -> Vec<Action> {
        let (event, finished) = match message {
            ExecutorMessage::Event(event, finished) => (event, finished),
            ExecutorMessage::Starting { step, .. } => {
                tell(SessionProgress::Begins(step.position()));
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        match &event {
            Event::Interrupt { signal, .. }
                if !matches!(self.ended, SessionEnd::Interrupted(_)) =>
            {
                self.ended = SessionEnd::Interrupted(*signal);
            }
            Event::Finished { step, evidence, .. } => {
                let log = finished.and_then(|finished| finished.log.as_ref());
                let text = log.and_then(|name| read_plain(&self.logs.join(name), MOST).ok());
                tell(SessionProgress::Ended(
                    &text.unwrap_or_default(),
                    evidence.exit,
                ));
                self.done += 1;
                self.note_end(*step, evidence);
            }
            _ => {}
        }
        self.state.handle(event)
    }

    /// Notes a command that did not end as expected.
    fn note_end(&mut self, step: StepIndex, evidence: &Evidence) {
        let number = step.position();
        let wanted = self.commands.get(number).map(|typed| typed.exit);
        if self.ended != SessionEnd::Complete || evidence.exit == wanted {
            return;
        }
        let how = match evidence {
            Evidence {
                spawn_error: Some(error),
                ..
            } => format!("could not be started: {}", error.message),
            Evidence {
                timed_out: true, ..
            } => "took too long".to_owned(),
            Evidence {
                exit: Some(code), ..
            } => format!("ended with exit code {code}"),
            _ => "was ended by a signal".to_owned(),
        };
        self.ended = SessionEnd::Otherwise(number, how);
    }
}
