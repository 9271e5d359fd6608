//! A request to stop, from one thread to another that waits for a program.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use tokio::sync::watch;

/// How soon a program is to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// Continue.
    #[default]
    Not,
    /// Stop with a signal that can be handled (SIGTERM).
    Asked,
    /// Now (SIGKILL).
    Now,
}

/// A request to stop. It only ever gets more urgent.
#[derive(Debug)]
pub struct StopRequest {
    level: watch::Sender<StopLevel>,
    bell: OwnedFd,
}

impl StopRequest {
    /// Makes a request without any level yet.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            level: watch::Sender::new(StopLevel::Not),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Requests a stop, and wakes the waiting threads.
    pub fn ask(&self, level: StopLevel) {
        self.level.send_if_modified(|now| {
            let is_more = level > *now;
            *now = level.max(*now);
            is_more
        });
        // A bell that rings already need not be rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Returns the requested level.
    pub fn level(&self) -> StopLevel {
        *self.level.borrow()
    }

    /// Waits for a stop request.
    pub async fn asked(&self) {
        // The sender is here.
        let _ = self
            .level
            .subscribe()
            .wait_for(|now| *now != StopLevel::Not)
            .await;
    }

    /// Returns the descriptor that becomes readable at a request for a higher level, until it is
    /// silenced.
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
