//! Messages of the first process of a sealed step's namespaces to its supervisor.

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// A message of the first process.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The length of a message without a path: its kind, and a number.
const LENGTH: usize = 5;
/// The longest path (limits.h).
const PATH: usize = 4096;
/// Maximum number of descriptors in a message.
const FDS: usize = 3;

impl Message {
    pub(super) fn send(self, to: impl AsFd) -> io::Result<()> {
        self.send_with(to, &[])
    }

    pub(super) fn send_with(self, to: impl AsFd, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let (kind, number, path) = match self {
            Message::Started => (1, 0, Vec::new()),
            Message::Failed(error, path) => (2, error, path),
            Message::Ended(status) => (3, status, Vec::new()),
            Message::Trapped => (4, 0, Vec::new()),
            Message::Untrapped(error) => (5, error, Vec::new()),
        };
        let mut bytes = vec![kind];
        bytes.extend(number.to_le_bytes());
        bytes.extend(path.iter().take(PATH));
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FDS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        sendmsg(
            to,
            &[IoSlice::new(&bytes)],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// Receives the next message. `None` if there will be none.
    pub(super) fn receive(from: impl AsFd) -> Option<Self> {
        Self::receive_with(from).map(|(message, _)| message)
    }

    /// Does the same, with attached descriptors.
    pub(super) fn receive_with(from: impl AsFd) -> Option<(Self, Vec<OwnedFd>)> {
        let mut bytes = [0; LENGTH + PATH];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let length = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&from, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                received => break received.ok()?.bytes,
            }
        };
        let mut fds = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(came) = message {
                fds.extend(came);
            }
        }
        let (&kind, rest) = bytes.get(..length)?.split_first()?;
        let (number, path) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        let message = match kind {
            2 => Message::Failed(number, path.to_vec()),
            _ if !path.is_empty() => return None,
            1 => Message::Started,
            3 => Message::Ended(number),
            4 => Message::Trapped,
            5 => Message::Untrapped(number),
            _ => return None,
        };
        Some((message, fds))
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
    use rustix::net::{AddressFamily, SocketFlags, SocketType, send, socketpair};

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
            Message::Failed(2, vec![b'x'; PATH]),
            Message::Ended(-9),
            Message::Trapped,
            Message::Untrapped(16),
        ];
        for message in all {
            message.clone().send(&here).unwrap();
            assert_eq!(Message::receive(&there), Some(message));
        }
        let fds = [here.as_fd(), there.as_fd(), here.as_fd()];
        Message::Trapped.send_with(&here, &fds).unwrap();
        let (message, came) = Message::receive_with(&there).unwrap();
        assert_eq!((message, came.len()), (Message::Trapped, 3));
        drop(came);
        send(&here, b"\x01", SendFlags::NOSIGNAL).unwrap();
        assert_eq!(Message::receive(&there), None);
        drop(here);
        assert_eq!(Message::receive(&there), None);
    }
}
