//! Messages of the first process of a sealed step's namespaces to its supervisor.

use crate::process::messages::{Inbox, encoded, send};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};
use std::io;

/// A message of the first process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// The step runs.
    Started,
    /// The step did not start: the error, and the path of the place that could not be built, or
    /// nothing.
    Failed(i32, Vec<u8>),
    /// It has ended: its exit code, or the signal that ended it, negated.
    Ended(i32),
    /// Its calls are trapped; the observer's descriptors come along.
    Trapped,
    /// They cannot be: the error.
    Untrapped(i32),
}

/// Limit of a message, in bytes: one with the longest path (limits.h) fits.
const LARGEST: usize = 8192;

impl Message {
    pub(super) fn send(&self, to: impl AsFd) -> io::Result<()> {
        self.send_with(to, &[])
    }

    pub(super) fn send_with(&self, to: impl AsFd, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        send(to.as_fd(), &encoded(self)?, fds)
    }

    /// Waits for a message. There is none if the first process has ended without one.
    pub(super) fn receive(from: impl AsFd) -> Option<Self> {
        Self::receive_with(from).map(|(message, _)| message)
    }

    /// As [`Message::receive`], with the descriptors that came along.
    pub(super) fn receive_with(from: impl AsFd) -> Option<(Self, Vec<OwnedFd>)> {
        let mut inbox = Inbox::new(LARGEST);
        inbox.fill(from).ok()?;
        let message = inbox.next().ok()??;
        Some((message, std::iter::from_fn(|| inbox.next_fd()).collect()))
    }
}

/// Whether a socket has one of these events, or its other end is gone.
pub(super) fn is_ready(socket: &OwnedFd, flags: PollFlags) -> bool {
    let mut fds = [PollFd::new(socket, flags)];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    polled.is_err() || fds.iter().any(|fd| !fd.revents().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};

    #[test]
    fn messages_arrive_whole() {
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let all = [
            Message::Started,
            Message::Failed(i32::MAX, Vec::new()),
            Message::Failed(2, vec![b'x'; 4096]),
            Message::Ended(-9),
            Message::Trapped,
            Message::Untrapped(16),
        ];
        for message in all {
            message.send(&here).unwrap();
            assert_eq!(Message::receive(&there), Some(message));
        }
        let fds = [here.as_fd(), there.as_fd(), here.as_fd()];
        Message::Trapped.send_with(&here, &fds).unwrap();
        let (message, came) = Message::receive_with(&there).unwrap();
        assert_eq!((message, came.len()), (Message::Trapped, 3));
        drop(came);
        rustix::net::send(&here, b"\x01", SendFlags::NOSIGNAL).unwrap();
        assert_eq!(Message::receive(&there), None);
        drop(here);
        assert_eq!(Message::receive(&there), None);
    }
}
