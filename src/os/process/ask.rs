//! Asks an external program one question, which it reads from standard input and answers on
//! standard output.
//!
//! It runs under a supervisor like a step, so none of its processes remain when the answer is
//! complete, or the time is up.

use super::attempt::{Launch, Launched, launch};
use super::frame::{End, Order, SupervisorAnswer, send_order};
use super::input::memory;
use super::pool::{Pool, Received};
use super::program::{Root, SearchPath, explain, message_of};
use super::stop::{StopLevel, StopRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd as _;
use rustix::io::Errno;
use rustix::process::{Signal, kill_process};
use std::collections::BTreeMap;
use std::io;
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

/// Limit of the kept standard error, in bytes; its end is kept.
const STDERR: usize = 4096;
/// The time that a supervisor has to obey a kill, before it is killed itself.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(15);

/// Asks, and waits for the answer. In any case no process of the program is left.
///
/// # Errors
/// The program gave no answer.
pub fn ask(pool: &Pool, what: &Ask<'_>) -> Result<Vec<u8>, NoAnswer> {
    let failed = |error: io::Error| NoAnswer::NotStarted(message_of(&error));
    let input = memory(what.question).map_err(failed)?;
    let launched = launch(
        pool,
        &Launch {
            root: what.root,
            search: what.search,
            dir: &RepoPath::root(),
            argv: what.argv,
            env: what.env,
            input: Some(input),
            limit_ms: u64::try_from(what.limit.as_millis()).unwrap_or(u64::MAX),
            observe: false,
            confine: None,
        },
    )
    .map_err(|tried| {
        let error = tried.evidence.spawn_error;
        NoAnswer::NotStarted(error.map(|error| error.message).unwrap_or_default())
    })?;
    let mut talk = Talk {
        launched,
        open: [true; 2],
        stdout: Vec::new(),
        stderr: Vec::new(),
        wrong: None,
        stopped: StopLevel::Not,
    };
    let answer = talk.listen(what);
    talk.end(pool, answer)
}

struct Talk {
    launched: Launched,
    open: [bool; 2],
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The reason why it was stopped, if it was.
    wrong: Option<NoAnswer>,
    /// The stop level that another thread requested.
    stopped: StopLevel,
}

impl Talk {
    /// Reads until the supervisor reports the end. `None` if the supervisor is gone or does not
    /// obey.
    fn listen(&mut self, what: &Ask<'_>) -> Option<SupervisorAnswer> {
        let mut deadline = Instant::now() + what.limit;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                if self.wrong.is_some() {
                    return None;
                }
                self.stop(NoAnswer::TimedOut);
                deadline = Instant::now() + SUPERVISOR_TIMEOUT;
                continue;
            }
            let [over, out, err] = self.wait(left, what.stop)?;
            if self.obey(what.stop) {
                deadline = Instant::now() + SUPERVISOR_TIMEOUT;
            }
            self.read([out, err], &mut buffer);
            if self.wrong.is_none() && self.stdout.len() > what.most {
                self.stop(NoAnswer::TooMuch(what.most));
                deadline = Instant::now() + SUPERVISOR_TIMEOUT;
            }
            if over {
                let answer = match self.launched.supervisor.receive() {
                    Ok(Received::Part) => continue,
                    Ok(Received::Answer(answer)) => Some(answer),
                    Ok(Received::Gone) | Err(_) => None,
                };
                // Its last output is still in the pipes; no process is left that could write more.
                while let Some([_, out, err]) = self
                    .wait(Duration::ZERO, None)
                    .filter(|[_, out, err]| *out || *err)
                {
                    if self.stdout.len() > what.most {
                        break;
                    }
                    self.read([out, err], &mut buffer);
                }
                if self.stdout.len() > what.most {
                    self.wrong.get_or_insert(NoAnswer::TooMuch(what.most));
                }
                return answer;
            }
        }
    }

    fn wait(&self, time: Duration, stop: Option<&StopRequest>) -> Option<[bool; 3]> {
        let Launched {
            supervisor,
            stdout,
            stderr,
            ..
        } = &self.launched;
        let events = |open: bool| {
            if open {
                PollFlags::IN
            } else {
                PollFlags::empty()
            }
        };
        let [out, err] = self.open;
        // An ended stream is replaced by the socket, polled for no event.
        let bell = stop.map_or(supervisor.socket.as_fd(), StopRequest::bell);
        let mut fds = [
            PollFd::new(&supervisor.socket, PollFlags::IN),
            PollFd::new(if out { stdout } else { &supervisor.socket }, events(out)),
            PollFd::new(if err { stderr } else { &supervisor.socket }, events(err)),
            PollFd::from_borrowed_fd(bell, events(stop.is_some())),
        ];
        match poll(&mut fds, Timespec::try_from(time).ok().as_ref()) {
            Ok(_) => {
                let [over, out_ready, err_ready, _] = fds.map(|f| !f.revents().is_empty());
                // The socket, in place of an ended stream, reports at any time that the supervisor
                // is gone; there is nothing to read from it.
                Some([over, out && out_ready, err && err_ready])
            }
            Err(Errno::INTR) => Some([false; 3]),
            Err(_) => None,
        }
    }

    fn read(&mut self, ready: [bool; 2], buffer: &mut [u8]) {
        let Launched { stdout, stderr, .. } = &self.launched;
        for (index, fd) in [stdout, stderr].into_iter().enumerate() {
            let (Some(ready), Some(open)) = (ready.get(index), self.open.get_mut(index)) else {
                continue;
            };
            if !*ready || !*open {
                continue;
            }
            match rustix::io::read(fd, &mut *buffer) {
                Ok(0) => *open = false,
                Ok(count) => {
                    let new = buffer.get(..count).unwrap_or_default();
                    if index == 1 {
                        self.stderr.extend(new);
                        let surplus = self.stderr.len().saturating_sub(STDERR);
                        self.stderr.drain(..surplus);
                    } else if self.wrong.is_none() {
                        self.stdout.extend(new);
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => *open = false,
            }
        }
    }

    /// Passes on a stop request of another thread. Returns whether the program is being stopped.
    fn obey(&mut self, stop: Option<&StopRequest>) -> bool {
        let Some(stop) = stop.filter(|stop| stop.level() > self.stopped) else {
            return false;
        };
        stop.silence();
        self.stopped = stop.level();
        if self.stopped < StopLevel::Now {
            self.order(Order::Terminate(self.launched.supervisor.number));
            return false;
        }
        if self.wrong.is_none() {
            self.stop(NoAnswer::Stopped);
        }
        true
    }

    fn stop(&mut self, why: NoAnswer) {
        self.order(Order::Kill(self.launched.supervisor.number));
        self.wrong = Some(why);
    }

    fn order(&self, order: Order) {
        let supervisor = &self.launched.supervisor;
        // The program may have stopped it; then it would not read the order.
        let _ = kill_process(supervisor.pid, Signal::CONT);
        let _ = send_order(supervisor.socket.as_fd(), &order, &[]);
    }

    fn end(self, pool: &Pool, answer: Option<SupervisorAnswer>) -> Result<Vec<u8>, NoAnswer> {
        let Talk {
            launched:
                Launched {
                    supervisor,
                    program,
                    ..
                },
            stdout,
            stderr,
            wrong,
            ..
        } = self;
        let outcome = match &answer {
            Some(SupervisorAnswer::Ended(End {
                timed_out: true, ..
            })) => Err(NoAnswer::TimedOut),
            Some(SupervisorAnswer::Ended(End { status: 0, .. })) => Ok(stdout),
            Some(SupervisorAnswer::Ended(End { status, .. })) => {
                let how = if *status < 0 {
                    format!("was ended by signal {}", -status)
                } else {
                    format!("ended with exit code {status}")
                };
                Err(NoAnswer::Failed { how, stderr })
            }
            Some(SupervisorAnswer::Refused(errno)) => {
                Err(NoAnswer::NotStarted(explain(*errno, &program.path).message))
            }
            Some(SupervisorAnswer::Unconfined(why, place)) => {
                Err(NoAnswer::NotStarted(why.at(place)))
            }
            Some(SupervisorAnswer::Frozen) | None => Err(NoAnswer::Failed {
                how: "killed its supervisor; what it had started was stopped".to_owned(),
                stderr,
            }),
        };
        match answer {
            Some(
                SupervisorAnswer::Ended(End { survivors: 0, .. })
                | SupervisorAnswer::Refused(_)
                | SupervisorAnswer::Unconfined(..),
            ) => pool.give(supervisor),
            Some(SupervisorAnswer::Ended(_)) => pool.dismiss(supervisor),
            Some(SupervisorAnswer::Frozen) | None => {
                pool.bury(supervisor);
            }
        }
        wrong.map_or(outcome, Err)
    }
}
