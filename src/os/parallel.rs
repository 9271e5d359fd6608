//! Runs work in parallel; on the calling thread if no thread can be started (a limit on processes).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, available_parallelism, scope};
use vplan_base::index::bug;

/// Locks data that every thread leaves valid, even one that panics.
pub fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs both in parallel, if a thread can be started for the first.
pub fn both<A: Send, B>(aside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    // A thread that cannot be started does not return its closure.
    let aside = Mutex::new(Some(aside));
    let take = || locked(&aside).take().map(|work| work());
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

/// Returns the number of processors for vplan and its steps.
pub fn processors() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns how many parts work should be split into.
pub fn parts() -> usize {
    processors().min(8)
}

/// Runs work for each part, on as many threads as there are parts and can be started, this one
/// among them. Results are in the order of the parts.
pub fn each<P: Send, T: Send>(parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Vec<T> {
    let others = parts.len().saturating_sub(1);
    let todo = Mutex::new(parts.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let next = || locked(&todo).next();
    let take = || {
        while let Some((index, part)) = next() {
            let result = work(part);
            locked(&done).push((index, result));
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

/// A work queue for any number of threads, which may add work while they run.
pub struct SharedWork<T> {
    todo: Mutex<Todo<T>>,
    changed: Condvar,
    /// The number of threads that wait for work.
    waiting: AtomicUsize,
}

struct Todo<T> {
    items: Vec<T>,
    /// The number of threads that have a share.
    working: usize,
}

/// The items that a thread has taken.
struct Share<'s, T> {
    of: &'s SharedWork<T>,
    items: Vec<T>,
}

impl<T> SharedWork<T> {
    pub fn new(items: Vec<T>) -> Self {
        Self {
            todo: Mutex::new(Todo { items, working: 0 }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Calls `work` with one item after another, until no thread has any left or this one has done
    /// `most`. Results are added to the vector.
    ///
    /// # Errors
    /// Those of `work`; the others then end when their own shares are done.
    pub fn work<E>(
        &self,
        most: usize,
        mut work: impl FnMut(T, &mut Vec<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        while let Some(mut share) = self.take() {
            while let Some(item) = share.items.pop() {
                if let Err(error) = work(item, &mut share.items) {
                    share.items.clear();
                    locked(&self.todo).items.clear();
                    return Err(error);
                }
                done += 1;
                if done == most {
                    return Ok(());
                }
                if self.waiting.load(Ordering::Relaxed) > 0 {
                    share.give();
                }
            }
        }
        Ok(())
    }

    /// Takes half of the remaining work; waits if there is none. `None` if all is done.
    fn take(&self) -> Option<Share<'_, T>> {
        let mut todo = locked(&self.todo);
        while todo.items.is_empty() {
            if todo.working == 0 {
                return None;
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            todo = (self.changed.wait(todo)).unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        todo.working += 1;
        let half = todo.items.len() / 2;
        let items = todo.items.split_off(half);
        Some(Share { of: self, items })
    }
}

impl<T> Share<'_, T> {
    /// Gives away the older half: in a tree, the items higher up, which have more below them.
    fn give(&mut self) {
        let half = self.items.len() / 2;
        if half > 0 {
            locked(&self.of.todo).items.extend(self.items.drain(..half));
            // Each waiting thread takes a part of it.
            self.of.changed.notify_all();
        }
    }
}

/// Returns the remaining tokens, also in a panic: no thread waits for one that has ended.
impl<T> Drop for Share<'_, T> {
    fn drop(&mut self) {
        let mut todo = locked(&self.of.todo);
        todo.items.append(&mut self.items);
        todo.working -= 1;
        drop(todo);
        self.of.changed.notify_all();
    }
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

    /// The numbers of a tree: below each number its two next digits, up to six.
    fn below(number: u32, found: &mut Vec<u32>) {
        if number < 100_000 {
            found.extend([number * 10 + 1, number * 10 + 2]);
        }
    }

    #[test]
    fn shared_work_is_done_once() {
        for threads in [1, 2, 5] {
            let shared = SharedWork::new(vec![1]);
            let part = |_| {
                let mut seen = vec![];
                let look = |number, found: &mut Vec<u32>| {
                    below(number, found);
                    seen.push(number);
                    Ok::<(), ()>(())
                };
                shared.work(usize::MAX, look).unwrap();
                seen
            };
            let mut seen = each((0..threads).collect(), part).concat();
            seen.sort_unstable();
            let mut wanted = vec![1];
            let mut next = 0;
            while let Some(number) = wanted.get(next).copied() {
                below(number, &mut wanted);
                next += 1;
            }
            assert_eq!(seen, wanted);
        }
    }

    #[test]
    fn a_part_of_shared_work_is_left_to_others() {
        let shared = SharedWork::new(vec![1]);
        let mut seen = 0;
        let mut look = |number, found: &mut Vec<u32>| {
            below(number, found);
            seen += 1;
            Ok::<(), ()>(())
        };
        shared.work(10, &mut look).unwrap();
        shared.work(usize::MAX, &mut look).unwrap();
        assert_eq!(seen, 63);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_failed() {
        let shared = SharedWork::new(vec![1]);
        let part = |_| {
            shared.work(usize::MAX, |number, found| {
                below(number, found);
                if number == 1212 { Err(()) } else { Ok(()) }
            })
        };
        assert!(each(vec![0, 1, 2], part).contains(&Err(())));
        let shared = SharedWork::new(vec![1]);
        let part = |_| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                shared.work(usize::MAX, |number, found| {
                    below(number, found);
                    assert_ne!(number, 1212);
                    Ok::<(), ()>(())
                })
            }))
            .is_err()
        };
        assert_eq!(
            each(vec![0, 1, 2], part).into_iter().filter(|e| *e).count(),
            1
        );
    }
}
