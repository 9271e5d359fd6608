//! A request to stop, from one thread to another that waits for a program.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// How soon a program is to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// It is not asked to.
    #[default]
    Not,
    /// It is asked to (SIGTERM).
    Asked,
    /// Now (SIGKILL).
    Now,
}

/// A request to stop. It only ever gets more urgent.
#[derive(Debug)]
pub struct StopRequest {
    level: AtomicU8,
    bell: OwnedFd,
}

impl StopRequest {
    /// Makes one that asks for nothing yet.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            level: AtomicU8::new(0),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Asks, and wakes who waits.
    pub fn ask(&self, level: StopLevel) {
        self.level.fetch_max(level as u8, Ordering::SeqCst);
        // A bell that rings already need not be rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Returns what is asked for.
    #[must_use]
    pub fn level(&self) -> StopLevel {
        match self.level.load(Ordering::SeqCst) {
            0 => StopLevel::Not,
            1 => StopLevel::Asked,
            _ => StopLevel::Now,
        }
    }

    /// Returns the descriptor that becomes readable when more is asked for, until it is silenced.
    #[must_use]
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Silences the bell.
    pub(super) fn silence(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_more_urgent_alone() {
        let stop = StopRequest::new().unwrap();
        assert_eq!(stop.level(), StopLevel::Not);
        stop.ask(StopLevel::Now);
        stop.ask(StopLevel::Asked);
        assert_eq!(stop.level(), StopLevel::Now);
        stop.silence();
        stop.silence();
    }
}
