//! What the first process of a sealed step's namespaces says to its supervisor.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;

/// What the first process, and whoever starts it, hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The number of the first process.
    Init(i32),
    /// The step runs.
    Started,
    /// It does not: the error of its start, and the path of the place that could not be put together, or
    /// nothing.
    Failed(i32, Vec<u8>),
    /// It has ended: its exit code, or the signal that ended it, negated.
    Ended(i32),
}

/// The length of a message without a path: its kind, and a number.
const LENGTH: usize = 5;
/// The longest path (limits.h).
const PATH: usize = 4096;

impl Message {
    pub(super) fn send(self, to: impl AsFd) -> io::Result<()> {
        let (kind, number, path) = match self {
            Message::Init(pid) => (0, pid, Vec::new()),
            Message::Started => (1, 0, Vec::new()),
            Message::Failed(error, path) => (2, error, path),
            Message::Ended(status) => (3, status, Vec::new()),
        };
        let mut bytes = vec![kind];
        bytes.extend(number.to_le_bytes());
        bytes.extend(path.iter().take(PATH));
        send(to, &bytes, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Receives the next one. `None` when there will be none.
    pub(super) fn receive(from: impl AsFd) -> Option<Self> {
        let mut bytes = [0; LENGTH + PATH];
        let length = loop {
            match recv(&from, &mut bytes, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                received => break received.ok()?.1,
            }
        };
        let (&kind, rest) = bytes.get(..length)?.split_first()?;
        let (number, path) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        match kind {
            2 => Some(Message::Failed(number, path.to_vec())),
            _ if !path.is_empty() => None,
            0 => Some(Message::Init(number)),
            1 => Some(Message::Started),
            3 => Some(Message::Ended(number)),
            _ => None,
        }
    }
}

/// Whether a socket has one of these, or its other end is gone.
pub(super) fn is_ready(socket: &OwnedFd, flags: PollFlags) -> bool {
    let mut fds = [PollFd::new(socket, flags)];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    polled.is_err() || fds.iter().any(|fd| !fd.revents().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

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
            Message::Init(7),
            Message::Started,
            Message::Failed(i32::MAX, Vec::new()),
            Message::Failed(2, vec![b'x'; PATH]),
            Message::Ended(-9),
        ];
        for message in all {
            message.clone().send(&here).unwrap();
            assert_eq!(Message::receive(&there), Some(message));
        }
        send(&here, b"\x01", SendFlags::NOSIGNAL).unwrap();
        assert_eq!(Message::receive(&there), None);
        drop(here);
        assert_eq!(Message::receive(&there), None);
    }
}
