//! The first process of a sealed step's namespaces. It is not the step itself: the system gives a first
//! process no signal that it does not handle.

use super::message::{Message, is_ready};
use super::not_started::NotStarted;
use super::root;
use crate::process::confine::{Confine, Stage, at, drop_capabilities};
use crate::process::sealed_files::SealedFiles;
use crate::process::sys;
use rustix::event::PollFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, setsid, wait};
use std::path::Path;

/// Acts as the first process of its namespaces, until no other is left there. `begin` starts the
/// step.
pub(super) fn run(messages: &OwnedFd, begin: impl FnOnce() -> Result<Pid, NotStarted>) -> ! {
    let dies_with_it = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    // A supervisor that died before that has closed its end.
    if !dies_with_it || is_ready(messages, PollFlags::empty()) {
        sys::leave(1);
    }
    match begin() {
        Ok(step) => {
            let _ = drop_capabilities();
            let _ = Message::Started.send(messages);
            attend(step, messages);
            sys::leave(0)
        }
        Err(why) => {
            let _ = Message::from(why).send(messages);
            sys::leave(1)
        }
    }
}

/// Gives this process all that the step will have.
pub(super) fn prepare(
    files: &SealedFiles,
    confine: &Confine,
    dir: &Path,
) -> Result<(), NotStarted> {
    setsid().map_err(at(Stage::Init))?;
    rustix::system::sethostname(b"vplan").map_err(at(Stage::Init))?;
    root::enter(files, dir).map_err(|why| NotStarted {
        place: why.place,
        ..at(Stage::Root)(why.error).into()
    })?;
    confine.allow_devices().map_err(at(Stage::Rules))?;
    rustix::process::chdir(dir).map_err(at(Stage::Directory))?;
    Ok(())
}

/// Waits for the step, reports how it ended, and waits for leftover processes.
fn attend(step: Pid, messages: &OwnedFd) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == step => {
                let status = status
                    .exit_status()
                    .or_else(|| status.terminating_signal().map(|signal| -signal));
                if let Some(status) = status {
                    let _ = Message::Ended(status).send(messages);
                }
            }
            Err(Errno::CHILD) => return,
            Ok(_) | Err(_) => {}
        }
    }
}
