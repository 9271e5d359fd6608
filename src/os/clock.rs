//! Measures the time of a run: a monotonic clock that is paused while the run is suspended.

use crate::parallel::locked;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time since a run's start. Time in which the machine slept does not count either
/// (clock_gettime(2), `CLOCK_MONOTONIC`).
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    pauses: Mutex<Pauses>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    total: Duration,
    since: Option<Instant>,
}

impl Clock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            pauses: Mutex::default(),
        }
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        let Pauses { total, since } = *locked(&self.pauses);
        since
            .unwrap_or_else(Instant::now)
            .saturating_duration_since(self.start)
            .saturating_sub(total)
    }

    /// Returns the time since the start in whole milliseconds.
    pub fn now(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Pauses the clock.
    pub fn pause(&self) {
        let mut pauses = locked(&self.pauses);
        pauses.since.get_or_insert_with(Instant::now);
    }

    /// Resumes the clock.
    pub fn resume(&self) {
        let mut pauses = locked(&self.pauses);
        if let Some(since) = pauses.since.take() {
            pauses.total += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_does_not_count() {
        let clock = Clock::start();
        clock.pause();
        let then = clock.elapsed();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(clock.elapsed(), then);
        clock.resume();
        let total = clock.pauses.lock().unwrap().total;
        assert!(total >= Duration::from_millis(5));
        assert!(clock.elapsed() >= then && clock.elapsed() <= clock.start.elapsed() - total);
    }
}
