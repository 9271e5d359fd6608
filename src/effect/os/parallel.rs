//! Runs work in parallel; on the calling thread where no thread can be started (a limit on
//! processes).

use crate::base::index::bug;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

/// Runs both in parallel, if a thread can be started for the first.
pub(in crate::effect) fn both<A: Send, B>(
    aside: impl FnOnce() -> A + Send,
    here: impl FnOnce() -> B,
) -> (A, B) {
    // A thread that cannot be started does not return its closure.
    let aside = Mutex::new(Some(aside));
    let take = || {
        aside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .map(|work| work())
    };
    let (done, here) = scope(|scope| match Builder::new().spawn_scoped(scope, take) {
        Ok(thread) => {
            let here = here();
            (
                thread
                    .join()
                    .unwrap_or_else(|fault| std::panic::resume_unwind(fault)),
                here,
            )
        }
        Err(_) => (take(), here()),
    });
    match done {
        Some(done) => (done, here),
        None => bug("the work for a thread is taken twice"),
    }
}

/// Returns how many processors there are for vplan and what it starts.
pub(in crate::effect) fn processors() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns how many parts work should be split into.
pub(in crate::effect) fn parts() -> usize {
    processors().min(8)
}

/// Runs work for each part, on as many threads as there are parts and can be started, this one
/// among them. Results are in the order of the parts.
pub(in crate::effect) fn each<P: Send, T: Send>(
    parts: Vec<P>,
    work: impl Fn(P) -> T + Sync,
) -> Vec<T> {
    let others = parts.len().saturating_sub(1);
    let todo = Mutex::new(parts.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || {
        while let Some((index, part)) = next() {
            let result = work(part);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((index, result));
        }
    };
    scope(|scope| {
        let started = (0..others)
            .map_while(|_| Builder::new().spawn_scoped(scope, take).ok())
            .count();
        tracing::trace!(started, others, "threads");
        take();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_their_order() {
        assert_eq!(both(|| 1, || 2), (1, 2));
        assert_eq!(
            each((0..100).collect(), |n: i32| n * 2),
            (0..100).map(|n| n * 2).collect::<Vec<_>>()
        );
        assert!(each(Vec::<()>::new(), |()| ()).is_empty());
    }
}
