//! Runs vplan's own program again, with a time limit. For `vplan hook`.

use crate::files::{open_plain, read_start};
use rustix::process::{
    Pid, Resource, Signal, getppid, getrlimit, kill_process, set_parent_process_death_signal,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The first argument of a process that ends when its parent does; the second is the parent's
/// process id. No user types it.
const ARGUMENT: &str = "__end-with";
/// Limit of the output that is read, in bytes.
const MOST: u64 = 64 << 20;
/// The time that a run has to end its steps after a signal. It gets two signals.
const GRACE: Duration = Duration::from_millis(1500);
/// The interval at which a waiting parent checks.
const LOOK: Duration = Duration::from_millis(10);

/// The end of a run of this program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Its exit code; `None` when a signal ended it.
    pub exit: Option<u8>,
    /// Whether its time limit was over, so that it was ended.
    pub timed_out: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Removes the arguments that [`run`] added. From then on the system signals this process when its
/// parent ends, however it ends. `None` if the parent has already ended.
pub fn end_with_parent(arguments: Vec<OsString>) -> Option<Vec<OsString>> {
    let own = arguments.get(1).is_some_and(|word| word == ARGUMENT);
    let Some(parent) = arguments
        .get(2)
        .filter(|_| own)
        .and_then(|word| word.to_str()?.parse().ok())
    else {
        return Some(arguments);
    };
    // First the request, then the check: one of them detects a parent that ends in between.
    let asked = set_parent_process_death_signal(Some(Signal::TERM));
    let is_there = getppid().map(Pid::as_raw_pid) == Some(parent);
    (asked.is_ok() && is_there).then(|| {
        arguments
            .into_iter()
            .enumerate()
            .filter(|(at, _)| !matches!(at, 1 | 2))
            .map(|(_, word)| word)
            .collect()
    })
}

/// Runs a function with enough stack for the program, in another thread if the first one has too
/// little.
pub fn with_enough_stack<T: Send>(run: impl Fn() -> T + Sync) -> T {
    const ENOUGH: usize = 8 << 20;
    let given = getrlimit(Resource::Stack).current;
    if given.is_none_or(|given| given >= ENOUGH as u64) {
        return run();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(ENOUGH);
        match thread.spawn_scoped(scope, &run) {
            Ok(thread) => thread.join().unwrap_or_else(|fault| resume_unwind(fault)),
            Err(_) => run(),
        }
    })
}

/// Runs this program with other arguments. At the time limit it gets a signal to end, which also
/// ends the processes of its steps. If it stays, it is killed. It does not outlive this process: it
/// first requests a signal for the end of its parent.
///
/// # Errors
/// It cannot be started, or its output cannot be stored.
pub fn run(arguments: &[OsString], limit: Duration) -> io::Result<ProgramOutput> {
    run_until(arguments, None, limit, &|| false)
}

/// Like [`run`], with one more variable. Also ends the program on a stop request.
///
/// # Errors
/// It cannot be started, or its output cannot be stored.
pub fn run_until(
    arguments: &[OsString],
    variable: Option<(&str, &OsStr)>,
    limit: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<ProgramOutput> {
    // Files, not pipes: a process that outlives it could hold a pipe open.
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new(program()?);
    command.arg(ARGUMENT).arg(std::process::id().to_string());
    command
        .args(arguments)
        .envs(variable)
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let (status, timed_out) = match wait(&mut child, limit, is_stopped) {
        Ok(Some(status)) => (status, false),
        Ok(None) => (end(&mut child)?, true),
        Err(error) => {
            let _ = end(&mut child);
            return Err(error);
        }
    };
    let exit = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ProgramOutput {
        exit,
        timed_out,
        stdout: written(stdout)?,
        stderr: written(stderr)?,
    })
}

/// The directory in which this process was started.
static STARTED_IN: OnceLock<PathBuf> = OnceLock::new();

/// Remembers the working directory, for [`again`]: `-C` is about to leave it.
pub fn remember_directory() {
    if let Ok(here) = std::env::current_dir() {
        let _ = STARTED_IN.set(here);
    }
}

/// Replaces this process by this program, in the directory where it was started. `change` changes
/// the arguments (without the program's name), and one variable is added. Returns only on failure.
pub fn again(
    variable: Option<(&str, &OsStr)>,
    change: impl FnOnce(&mut Vec<OsString>),
) -> io::Error {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    change(&mut words);
    let become_it = || {
        let mut command = Command::new(program()?);
        if let Some(dir) = STARTED_IN.get() {
            command.current_dir(dir);
        }
        Err(command.args(words).envs(variable).exec())
    };
    become_it().unwrap_or_else(|error| error)
}

/// The file of vplan, if this process runs another program.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the file of vplan, for processes of other programs: tests.
pub fn be(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// Returns the file of this program, even if another one has taken its name since.
///
/// # Errors
/// Errors of the system.
pub fn program() -> io::Result<PathBuf> {
    const OWN: &str = "/proc/self/exe";
    if let Some(program) = PROGRAM.get() {
        return Ok(program.clone());
    }
    let named = std::env::current_exe()?;
    if open_plain(&named).is_ok() {
        Ok(named)
    } else {
        Ok(OWN.into())
    }
}

/// Waits for the child to end, for `limit` at most, or until a stop request.
fn wait(
    child: &mut Child,
    limit: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline || is_stopped() {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

fn end(child: &mut Child) -> io::Result<ExitStatus> {
    for _ in 0..2 {
        // The child may have ended already, but it has not been waited for, so the number is still
        // its own.
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
        if let Some(status) = wait(child, GRACE, &|| false)? {
            return Ok(status);
        }
    }
    child.kill()?;
    child.wait()
}

fn written(mut file: File) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    read_start(file, MOST)
}
