//! Asks an external program one question, which it reads from standard input and answers on
//! standard output.
//!
//! It runs under a supervisor like a step, so none of its processes remain when the answer is
//! complete, or the time is up.

use super::attempt::{
    Attempt, AttemptProgress, AttemptResult, Buffer, SUPERVISOR_LOST, Try, begin,
};
use super::capture::CAPTURE_LIMIT;
use super::mask::Secrets;
use super::pool::Pool;
use super::program::{Root, SearchPath};
use super::stop::{StopLevel, StopRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;

/// A question, and the program that answers it.
pub struct Ask<'a> {
    pub root: &'a Root,
    /// The directories that are searched for the program.
    pub search: &'a SearchPath,
    /// The program and its arguments.
    pub argv: &'a [Word],
    /// Its whole environment.
    pub env: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    /// The question, on its standard input.
    pub question: &'a [u8],
    /// The time limit.
    pub limit: Duration,
    /// Limit of the answer, in bytes.
    pub most: usize,
    /// By which another thread stops it.
    pub stop: Option<&'a StopRequest>,
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It was not started.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// Its time was up.
    #[error("it did not answer within its time limit and was stopped")]
    TimedOut,
    /// Another thread stopped it.
    #[error("it was stopped")]
    Stopped,
    /// It wrote too much.
    #[error("it wrote more than {0} bytes and was stopped")]
    TooMuch(usize),
    /// It ended with another code than 0, or was ended by a signal.
    #[error("it {how}")]
    Failed {
        /// `ended with exit code 3`, `was ended by signal 9`
        how: String,
        /// The end of its standard error.
        stderr: Vec<u8>,
    },
}

/// Limit of the end of standard error that is kept, in bytes.
const STDERR: usize = 4096;
/// The time that a supervisor has to obey an order to end.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(15);

/// Asks a program a question, and returns its answer.
///
/// # Errors
/// It gave none.
pub fn ask(pool: &Pool, what: &Ask<'_>) -> Result<Vec<u8>, NoAnswer> {
    let tried = Try {
        root: what.root,
        search: what.search,
        dir: &RepoPath::root(),
        argv: what.argv,
        env: what.env,
        input: Some(what.question),
        secrets: &Secrets::default(),
        log: None,
        max_output: 0,
        live: None,
        formats: None,
        limit_ms: u64::try_from(what.limit.as_millis()).unwrap_or(u64::MAX),
        observe: false,
        confine: None,
    };
    let deadline = Instant::now() + what.limit;
    let (tried, stopped) = run(pool, &tried, deadline, (Some(what.most), what.stop));
    let (evidence, status) = (tried.evidence, tried.status);
    let mut stderr = evidence.stderr.text();
    stderr.drain(..stderr.len().saturating_sub(STDERR));
    let how = match (stopped, evidence.spawn_error, status) {
        (Some(why), ..) => return Err(why),
        _ if evidence.stdout.total > what.most as u64 => return Err(NoAnswer::TooMuch(what.most)),
        _ if evidence.timed_out => return Err(NoAnswer::TimedOut),
        (None, Some(error), _) if error.code != SUPERVISOR_LOST => {
            return Err(NoAnswer::NotStarted(error.message));
        }
        (None, None, Some(0)) => return Ok(evidence.stdout.head.into_bytes()),
        (None, None, Some(signal @ ..0)) => format!("was ended by signal {}", -signal),
        (None, None, Some(code)) => format!("ended with exit code {code}"),
        (None, ..) => "killed its supervisor; what it had started was stopped".to_owned(),
    };
    Err(NoAnswer::Failed { how, stderr })
}

/// Runs a program until none of its processes remain. It is stopped at the deadline, when it has
/// written more than `most` bytes, or at a request; then the reason is returned, too.
pub fn run(
    pool: &Pool,
    what: &Try<'_, '_>,
    mut deadline: Instant,
    (most, stop): (Option<usize>, Option<&StopRequest>),
) -> (AttemptResult, Option<NoAnswer>) {
    let mut attempt = match begin(pool, what, most.unwrap_or(CAPTURE_LIMIT)) {
        Ok(attempt) => attempt,
        Err(tried) => return (*tried, None),
    };
    let mut buffer = Buffer::default();
    let (mut why, mut is_abandoned, mut level) = (None, false, StopLevel::Not);
    loop {
        let ready = wait(&attempt, deadline, stop);
        if attempt.ready(ready, &mut buffer) == AttemptProgress::Over {
            break;
        }
        if let Some(stop) = stop.filter(|stop| stop.level() > level) {
            stop.silence();
            level = stop.level();
            if level < StopLevel::Now {
                attempt.terminate();
            }
        }
        let is_late = Instant::now() >= deadline;
        let exceeded = most.filter(|most| attempt.written() > *most as u64);
        if why.is_none() {
            why = match () {
                () if level == StopLevel::Now => Some(NoAnswer::Stopped),
                () if exceeded.is_some() => exceeded.map(NoAnswer::TooMuch),
                () if is_late => Some(NoAnswer::TimedOut),
                () => continue,
            };
            attempt.kill();
        } else if is_late && is_abandoned {
            break;
        } else if is_late {
            is_abandoned = true;
            attempt.abandon();
        } else {
            continue;
        }
        deadline = Instant::now() + SUPERVISOR_TIMEOUT;
    }
    let timed_out = why == Some(NoAnswer::TimedOut);
    (attempt.finish(pool, timed_out, &mut buffer), why)
}

/// Waits for one of the attempt's descriptors, until the deadline or a request to stop.
fn wait(attempt: &Attempt<'_>, deadline: Instant, stop: Option<&StopRequest>) -> [bool; 3] {
    let mut fds = Vec::new();
    attempt.watch(&mut fds);
    fds.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop.bell(), PollFlags::IN)));
    let left = deadline.saturating_duration_since(Instant::now());
    let polled = Timespec::try_from(left).map(|left| poll(&mut fds, Some(&left)));
    match (polled, fds.as_slice()) {
        (Ok(Ok(1..)), [socket, out, err, ..]) => {
            [socket, out, err].map(|fd| !fd.revents().is_empty())
        }
        _ => [false; 3],
    }
}
