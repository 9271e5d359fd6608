//! Signals through one descriptor that some running step has output to read.
//!
//! One poll(2) of all their descriptors then finds out which. If the runtime watched each of them,
//! a step would cost too many system calls. So the runtime watches one descriptor, an epoll(7)
//! instance that holds the others.

use super::attempt::Attempt;
use super::sys;
use rustix::event::{PollFd, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// The interval at which descriptors are polled that could not be added.
const GLANCE: Duration = Duration::from_millis(10);

/// Rings for everything that was added to it and is still open.
#[derive(Debug)]
pub struct Doorbell {
    fd: AsyncFd<OwnedFd>,
    /// Whether a descriptor could not be added (a limit of the system: epoll(7),
    /// `max_user_watches`).
    is_deaf: bool,
}

impl Doorbell {
    /// Makes one. Must be called within a runtime that has I/O.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self {
            fd: sys::watched(fd)?,
            is_deaf: false,
        })
    }

    /// Adds a try, until its descriptors are closed.
    pub fn add(&mut self, attempt: &Attempt<'_>) {
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        attempt.watch(&mut fds);
        for fd in fds {
            match epoll::add(
                &self.fd,
                &fd,
                epoll::EventData::new_u64(0),
                epoll::EventFlags::IN,
            ) {
                // A supervisor's socket was added for an earlier step.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(_) => self.is_deaf = true,
            }
        }
    }

    /// Waits until a descriptor is ready. Stays ready until it is muted.
    pub async fn ring(&self) {
        let rings = async {
            // It cannot fail while the runtime that it waits in lives.
            if let Ok(mut ringing) = self.fd.readable().await {
                ringing.retain_ready();
            }
        };
        if self.is_deaf {
            let _ = tokio::time::timeout(GLANCE, rings).await;
        } else {
            rings.await;
        }
    }

    /// Marks everything as read. It rings again for bytes after the last poll, because only the
    /// runtime, which does not run in between, could have noticed those.
    pub fn mute(&self) {
        if let Poll::Ready(Ok(mut ringing)) = self
            .fd
            .poll_read_ready(&mut Context::from_waker(Waker::noop()))
        {
            ringing.clear_ready();
        }
    }
}
