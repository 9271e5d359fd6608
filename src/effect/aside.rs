//! Who does what can be done beside other work? A thread; whoever asked for it, where the system has no thread to give.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope};

/// Begins work on a thread of its own. What this gives waits for what came of it, and does the work itself if there was no
/// thread; `None` when the thread ended early.
pub(super) fn aside<'s, T, F>(scope: &'s Scope<'s, '_>, work: F) -> impl FnOnce() -> Option<T>
where
    T: Send + 's,
    F: FnOnce() -> T + Send + 's,
{
    // A thread that cannot be started drops what it was to do.
    let kept = Arc::new(Mutex::new(Some(work)));
    let own = Arc::clone(&kept);
    let thread = Builder::new().spawn_scoped(scope, move || perform(&own));
    move || match thread {
        Ok(thread) => thread.join().ok().flatten(),
        Err(_) => perform(&kept),
    }
}

fn perform<T>(kept: &Mutex<Option<impl FnOnce() -> T>>) -> Option<T> {
    let work = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    work.map(|work| work())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_done_once() {
        let text = "abc".to_owned();
        let lengths = std::thread::scope(|scope| {
            let waits: Vec<_> = (0..4)
                .map(|n| {
                    aside(scope, {
                        let text = &text;
                        move || text.len() + n
                    })
                })
                .collect();
            waits.into_iter().map(|wait| wait()).collect::<Vec<_>>()
        });
        assert_eq!(lengths, [Some(3), Some(4), Some(5), Some(6)]);
        assert_eq!(perform(&Mutex::new(Some(|| 1))), Some(1));
        assert_eq!(perform(&Mutex::new(None::<fn() -> u8>)), None);
    }
}
