//! The threads of a supervisor that start confined steps. What such a thread starts inherits its
//! filter of system calls, which is assembled once, not for every step.

use super::confine::{Confine, Unconfined};
use crate::parallel::locked;
use rustix::fd::OwnedFd;
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A task for a thread, with the state that it keeps.
type Task = Box<dyn FnOnce(&mut StarterState) + Send>;

/// The state of a thread that lasts over several steps.
#[derive(Debug, Default)]
pub(super) struct StarterState {
    is_confined: bool,
    /// A network without interfaces.
    pub network: Option<OwnedFd>,
}

/// The threads, by the guarantees of their steps.
#[derive(Default)]
pub(super) struct Starters {
    begun: BTreeSet<u16>,
    turn: Arc<Turn>,
}

/// A thread must hold this to run at all. So no thread is in the middle of an operation, such as an
/// allocation, while another one copies the process.
#[derive(Default)]
struct Turn {
    given: Mutex<Given>,
    changed: Condvar,
}

#[derive(Default)]
enum Given {
    #[default]
    Nothing,
    /// To the thread with these bits.
    Task(u16, Task),
    /// The supervisor is gone.
    End,
}

impl Starters {
    /// Has the thread that has the filter of a step do something.
    ///
    /// # Errors
    /// [`Unconfined::of_error`]: its calls cannot be applied. The thread could not be started.
    pub(super) fn confined<T: Send + 'static>(
        &mut self,
        confine: Confine,
        act: impl FnOnce(Confine, &mut StarterState) -> T + Send + 'static,
    ) -> io::Result<T> {
        let bits = confine.bits();
        if !self.begun.contains(&bits) {
            begin(bits, Arc::clone(&self.turn))?;
            self.begun.insert(bits);
        }
        let answer = Arc::new(Mutex::new(None));
        let answered = Arc::clone(&answer);
        let task = Box::new(move |state: &mut StarterState| {
            let applied = if state.is_confined {
                Ok(())
            } else {
                confine.apply_common()
            };
            state.is_confined = applied.is_ok();
            let acted = applied.map(|()| act(confine, state));
            *locked(&answered) = Some(acted.map_err(Unconfined::to_error));
        });
        let mut given = self.turn.give(Given::Task(bits, task));
        while matches!(*given, Given::Task(..)) {
            given = self.turn.wait(given);
        }
        drop(given);
        let answer = locked(&answer).take();
        answer.unwrap_or_else(|| Err(io::ErrorKind::Other.into()))
    }
}

impl Drop for Starters {
    fn drop(&mut self) {
        drop(self.turn.give(Given::End));
    }
}

impl Turn {
    fn give(&self, what: Given) -> MutexGuard<'_, Given> {
        let mut given = locked(&self.given);
        *given = what;
        self.changed.notify_all();
        given
    }

    fn wait<'g>(&self, given: MutexGuard<'g, Given>) -> MutexGuard<'g, Given> {
        let waited = self.changed.wait(given);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins the thread of some bits.
fn begin(bits: u16, turn: Arc<Turn>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("starter".to_owned());
    thread.spawn(move || {
        let mut state = StarterState::default();
        let mut given = locked(&turn.given);
        loop {
            match std::mem::take(&mut *given) {
                Given::Task(of, task) if of == bits => {
                    task(&mut state);
                    turn.changed.notify_all();
                }
                Given::Nothing => given = turn.wait(given),
                Given::End => {
                    *given = Given::End;
                    return;
                }
                other @ Given::Task(..) => {
                    *given = other;
                    given = turn.wait(given);
                }
            }
        }
    })?;
    Ok(())
}
