//! The threads of a supervisor that start confined steps. What such a thread starts has its filter of system
//! calls, which is put together once and not for every step.

use super::confine::{Confine, Unconfined};
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Sender, channel};

/// What a thread is to do, with what it keeps for the next time.
type Task = Box<dyn FnOnce(&mut Kept) + Send>;

/// What a thread keeps between steps.
#[derive(Debug, Default)]
pub(super) struct Kept {
    is_filtered: bool,
    /// A network in which nothing is.
    pub network: Option<OwnedFd>,
}

/// The threads, by what their steps are held to.
#[derive(Default)]
pub(super) struct Starters(BTreeMap<u16, Sender<Task>>);

impl Starters {
    /// Has the thread that has the filter of a step do something.
    ///
    /// # Errors
    /// [`Unconfined::of_error`]: its calls cannot be filtered. There is no thread.
    pub(super) fn with_filter<T: Send + 'static>(
        &mut self,
        confine: Confine,
        act: impl FnOnce(Confine, &mut Kept) -> T + Send + 'static,
    ) -> io::Result<T> {
        let bits = confine.bits();
        let (give, given) = channel();
        let task = Box::new(move |kept: &mut Kept| {
            let filtered = if kept.is_filtered {
                Ok(())
            } else {
                confine.filter_calls()
            };
            kept.is_filtered = filtered.is_ok();
            let acted = filtered.map(|()| act(confine, kept));
            let _ = give.send(acted.map_err(Unconfined::to_error));
        });
        let thread = match self.0.get(&bits) {
            Some(thread) => thread,
            None => self.0.entry(bits).or_insert(begin()?),
        };
        let gone = || io::Error::from(io::ErrorKind::Other);
        thread.send(task).map_err(|_| gone())?;
        given.recv().map_err(|_| gone())?
    }
}

/// Begins a thread, which ends when nobody can give it a task any more.
fn begin() -> io::Result<Sender<Task>> {
    let (give, tasks) = channel::<Task>();
    let thread = std::thread::Builder::new().name("starter".to_owned());
    thread.spawn(move || {
        let mut kept = Kept::default();
        tasks.into_iter().for_each(|task| task(&mut kept));
    })?;
    Ok(give)
}
