//! Starts a step in isolation: in new namespaces for mounts, processes, communication and the
//! host's name. It also gets a new network namespace unless it uses the network.
//!
//! A supervisor has a process that shares its memory enter the namespaces, and starts a copy of
//! itself in them: their first process (`init`). That process builds the step's root (`root`),
//! starts the step, reports how it ended, waits for leftover processes, and ends. It dies with its
//! supervisor, and with it all of them: nothing outlives a step, whichever process is killed.

pub mod attempt;
mod init;
mod message;
mod not_started;
mod root;

use super::confine::{Confine, Stage, Unconfined};
use super::messages::pair;
use super::observe::{self, Handed, Observer};
use super::sealed_files::SealedFiles;
use super::sys;
use message::{Message, is_ready};
pub(super) use not_started::NotStarted;
use rustix::event::PollFlags;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io;
use std::path::Path;

/// A step that was started by the first process of its namespaces.
pub(super) struct SealedStep {
    /// The first process.
    pub init: Pid,
    /// By which it hands over how the step ended.
    messages: OwnedFd,
}

impl SealedStep {
    /// Returns the descriptor to poll for the step's end.
    pub(super) fn messages(&self) -> &OwnedFd {
        &self.messages
    }

    /// Whether it waits there, or never will.
    pub(super) fn is_over(&self) -> bool {
        is_ready(&self.messages, PollFlags::IN)
    }

    /// Takes the step's end, waiting for it if needed: its exit code, or the signal that ended it,
    /// negated. `None` if the first process ended before.
    pub(super) fn take_end(self) -> Option<i32> {
        match Message::receive(&self.messages) {
            Some(Message::Ended(status)) => Some(status),
            _ => None,
        }
    }
}

/// Starts a step. This process inherits the orphans below it (a child subreaper), and no other
/// thread of it may run meanwhile. `begin` starts its process, in a folder of the new root,
/// observed if there is an observer. `empty`: a network without interfaces, as
/// [`Confine::separate`] keeps it.
///
/// # Errors
/// Why it was not.
pub(super) fn start(
    files: &SealedFiles,
    confine: Confine,
    dir: &Path,
    (observer, empty): (Option<&mut Observer>, &mut Option<OwnedFd>),
    begin: impl FnOnce(Confine) -> io::Result<Pid> + Send,
) -> Result<SealedStep, NotStarted> {
    let (messages, theirs) = pair(SocketType::SEQPACKET)?;
    let is_seen = observer.is_some();
    let enter = || {
        let entered = confine.separate(empty).map_err(Unconfined::to_error);
        entered.map(|()| confine)
    };
    // Its own copy of this end is closed too, so that it notices when there is no other one.
    let mut messages = Some(messages);
    let init = sys::start_among(enter, |confine| {
        messages = None;
        init::run(&theirs, || {
            init::prepare(files, &confine, dir)?;
            Ok(if is_seen {
                observe::begin_for_another(|| begin(confine), |handed| hand(handed, &theirs))?
            } else {
                begin(confine)?
            })
        })
    })?;
    drop(theirs);
    let messages = messages.ok_or(Errno::BADF).map_err(io::Error::from)?;
    let mut answer = Message::receive_with(&messages);
    if let (Some(observer), Some(handed)) = (observer, &mut answer)
        && let Some(handed) = handed_over(handed)
    {
        let served = observer.attach(handed, init, &messages);
        answer = served.ok().and_then(|()| Message::receive_with(&messages));
    }
    match answer.map(|(message, _)| message) {
        Some(Message::Started) => Ok(SealedStep { init, messages }),
        Some(Message::Failed(number, place)) => {
            wait_for(init);
            Err(NotStarted::new(number, place))
        }
        _ => {
            let _ = kill_process(init, Signal::KILL);
            wait_for(init);
            Err(lost())
        }
    }
}

/// Sends the descriptors for an observer.
fn hand(handed: io::Result<Handed>, to: &OwnedFd) -> io::Result<()> {
    match handed {
        Ok(fds) => Message::Trapped.send_with(to, &fds.each_ref().map(|fd| fd.as_fd())),
        Err(error) => Message::Untrapped(error.raw_os_error().unwrap_or(0)).send(to),
    }
}

/// Returns the descriptors, if this message has them.
fn handed_over((message, fds): &mut (Message, Vec<OwnedFd>)) -> Option<io::Result<Handed>> {
    match message {
        Message::Trapped => {
            let fds = Handed::try_from(std::mem::take(fds));
            Some(fds.map_err(|_| io::ErrorKind::InvalidData.into()))
        }
        Message::Untrapped(error) => Some(Err(io::Error::from_raw_os_error(*error))),
        _ => None,
    }
}

fn lost() -> NotStarted {
    let why = Unconfined {
        stage: Stage::Init,
        error: Errno::SRCH.raw_os_error(),
    };
    why.into()
}

fn wait_for(child: Pid) {
    while let Err(Errno::INTR) = waitpid(Some(child), WaitOptions::empty()) {}
}
