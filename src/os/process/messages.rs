//! Frames between vplan and a supervisor, on a stream socket: a length, a tag, a body, and
//! descriptors with it.
//!
//! INVARIANT (only its supervisor ends a step): an answer carries the number of its start, and the
//! secret that came with that start. Both ends protect their memory and descriptors from other
//! processes of the same user, so that no step knows the secret. If a supervisor sends anything
//! other than such an answer, it is dropped, and the step is not taken as ended.

use super::confine::Unconfined;
use super::sealed_files::SealedFiles;
use rustix::cmsg_space;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::PathBuf;

/// An order from vplan to a supervisor. The number names the start that it is about: an order for a
/// step that has ended by then must not hit the next.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Start a step. Descriptors come along: its directory, its standard output, and its standard
    /// error; its standard input, if it has one; a file for observed effects, if it is observed;
    /// and what confines it ([`super::confine::Confine::fds`]).
    Start(u64, Start),
    /// SIGTERM to the whole tree.
    Terminate(u64),
    /// SIGKILL to the whole tree, until no process is left.
    Kill(u64),
    /// Stop the whole tree. Answered by [`SupervisorAnswer::Frozen`].
    Freeze(u64),
    /// Resume after [`Order::Freeze`].
    Thaw(u64),
}

/// The parameters of a start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The file to execute: absolute, or with a slash and relative to the directory.
    pub program: Vec<u8>,
    /// Its arguments, the name of the program first.
    pub argv: Vec<Vec<u8>>,
    /// Its complete environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether it has standard input. Steps have none.
    pub input: bool,
    /// The repository's root, an absolute path without links, when the step is observed.
    pub observe: Option<Vec<u8>>,
    /// The guarantees that are held to while it runs ([`super::confine::Confine::bits`]).
    pub confine: u16,
    /// All that exists for it, when it is sealed.
    pub sealed: Option<Box<SealedFiles>>,
    /// The time limit by the supervisor's own clock in milliseconds; `u64::MAX` for none.
    pub limit_ms: u64,
    /// The time after that until the supervisor ends the tree, in milliseconds.
    pub grace_ms: u64,
    /// Whether the step keeps the capability to trace processes outside of its own.
    pub keep_capabilities: bool,
    /// The process that traces vplan, or 0: a supervisor that another process traces accepts no
    /// step.
    pub tracer: i32,
    /// The secret that every answer about this start carries.
    pub secret: Secret,
}

/// A random number that only vplan and one of its supervisors know.
pub(super) type Secret = [u8; 16];

/// An answer with the proof of its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reply {
    /// The number of the start that it is about.
    pub number: u64,
    /// The secret of that start.
    pub secret: Secret,
    /// The answer itself.
    pub answer: SupervisorAnswer,
}

/// An answer of a supervisor: one for each start, and one for each freeze.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SupervisorAnswer {
    /// It could not be started: the system's error number.
    Refused(i32),
    /// It was not started, because it could not be confined: the error, and the file that caused
    /// it, or nothing.
    Unconfined(
        Unconfined,
        #[serde(with = "super::sealed_files::bytes")] PathBuf,
    ),
    /// It has ended, and none of its processes remain.
    Ended(End),
    /// Its tree is stopped.
    Frozen,
}

/// The end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// Its exit code, or the signal that ended it, negated.
    pub status: i32,
    /// Processes that were still running when it had ended by itself.
    pub leaked: u32,
    /// Processes that could not be ended: another user's, or stuck in the kernel.
    pub survivors: u32,
    /// Whether its leader was still running when the time limit was over, by the supervisor's
    /// clock.
    pub timed_out: bool,
}

/// Returns a frame with its length.
pub(super) fn encoded(content: &impl Serialize) -> io::Result<Vec<u8>> {
    let content = postcard::to_allocvec(content).map_err(io::Error::other)?;
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    Ok([&length.to_le_bytes(), content.as_slice()].concat())
}

/// Reads the content of a frame, which must end there.
fn decoded<T: DeserializeOwned>(frame: &[u8]) -> Option<T> {
    let (content, rest) = postcard::take_from_bytes(frame).ok()?;
    rest.is_empty().then_some(content)
}

/// Maximum number of descriptors in a frame.
const FDS: usize = 7;

/// Sends a whole frame; the descriptors ride on its first byte.
pub(super) fn send(socket: BorrowedFd<'_>, frame: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FDS))];
    let mut left = frame;
    let mut first = true;
    while !left.is_empty() {
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if first && !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match sendmsg(
            socket,
            &[IoSlice::new(left)],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        ) {
            Ok(sent) => left = left.get(sent..).unwrap_or_default(),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        first = false;
    }
    Ok(())
}

/// Sends an order.
pub(super) fn send_order(
    socket: BorrowedFd<'_>,
    order: &Order,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    send(socket, &encoded(order)?, fds)
}

/// Sends an answer.
/// Makes two connected sockets, which programs do not inherit.
pub(super) fn pair(kind: SocketType) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
}

pub(super) fn send_reply(socket: BorrowedFd<'_>, reply: Reply) -> io::Result<()> {
    send(socket, &encoded(&reply)?, &[])
}

/// Sends one end of the socket on which all orders and answers go.
pub(super) fn send_socket(socket: BorrowedFd<'_>, end: BorrowedFd<'_>) -> io::Result<()> {
    send(socket, b"\0", &[end])
}

/// The receiving half: the bytes of a stream that have arrived, and the descriptors with them.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    fds: VecDeque<OwnedFd>,
    chunk: Box<[u8]>,
}

impl Inbox {
    pub(super) fn new(chunk: usize) -> Self {
        Self {
            bytes: Vec::new(),
            fds: VecDeque::new(),
            chunk: vec![0; chunk].into_boxed_slice(),
        }
    }

    /// Waits for some bytes. `false` if the other side is gone.
    pub(super) fn fill(&mut self, socket: impl AsFd) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            let mut parts = [IoSliceMut::new(&mut self.chunk)];
            match recvmsg(&socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Ok(got) => break got.bytes,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fds.extend(fds);
            }
        }
        self.bytes.extend(self.chunk.iter().take(got));
        Ok(got > 0)
    }

    pub(super) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let frame = self.bytes.split_first_chunk().and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.get(..length)
        });
        let Some(frame) = frame else {
            return Ok(None);
        };
        let content = decoded(frame).ok_or(io::ErrorKind::InvalidData)?;
        let used = 4 + frame.len();
        self.bytes.drain(..used);
        Ok(Some(content))
    }

    /// Returns the next order that has arrived in full.
    pub(super) fn next_order(&mut self) -> io::Result<Option<Order>> {
        self.next()
    }

    /// Returns the next answer that has arrived in full.
    pub(super) fn next_reply(&mut self) -> io::Result<Option<Reply>> {
        self.next()
    }

    /// Whether every byte that has arrived was read.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.fds.is_empty()
    }

    /// Returns the next descriptor that has arrived.
    pub(super) fn next_fd(&mut self) -> Option<OwnedFd> {
        self.fds.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::super::confine::Stage;
    use super::*;

    #[test]
    fn orders_and_descriptors_arrive_whole_and_in_order() {
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let start = Start {
            program: b"/bin/true".to_vec(),
            argv: vec![
                b"true".to_vec(),
                vec![],
                vec![b'x'; 300_000],
                b"\xff".to_vec(),
            ],
            env: vec![(b"A".to_vec(), b"b=c".to_vec())],
            input: true,
            observe: Some(b"/r".to_vec()),
            confine: 0x8005,
            sealed: Some(Box::new(SealedFiles {
                readable: vec!["/a".into(), "/b".into()],
                writable: vec!["/c".into()],
                root: "/r".into(),
                temporary: "/t".into(),
                made: "/m".into(),
            })),
            limit_ms: 5,
            grace_ms: u64::MAX,
            keep_capabilities: true,
            tracer: -1,
            secret: [7; 16],
        };
        let sent = [
            Order::Start(7, start),
            Order::Terminate(7),
            Order::Kill(7),
            Order::Freeze(7),
            Order::Thaw(u64::MAX),
        ];
        let received = std::thread::scope(|scope| {
            scope.spawn(|| {
                let null = std::fs::File::open("/dev/null").unwrap();
                for order in &sent {
                    let fds = if matches!(order, Order::Start(..)) {
                        vec![null.as_fd(); FDS]
                    } else {
                        vec![]
                    };
                    send_order(here.as_fd(), order, &fds).unwrap();
                }
                rustix::net::shutdown(&here, rustix::net::Shutdown::Write).unwrap();
            });
            let mut inbox = Inbox::new(4096);
            let mut received = Vec::new();
            while inbox.fill(&there).unwrap() {
                while let Some(order) = inbox.next_order().unwrap() {
                    if matches!(order, Order::Start(..)) {
                        assert_eq!(std::iter::from_fn(|| inbox.next_fd()).count(), FDS);
                    }
                    received.push(order);
                }
            }
            received
        });
        assert_eq!(received, sent);
    }

    #[test]
    fn answers_read_back() {
        let end = End {
            status: -9,
            leaked: 3,
            survivors: u32::MAX,
            timed_out: true,
        };
        for answer in [
            SupervisorAnswer::Refused(-1),
            SupervisorAnswer::Unconfined(
                Unconfined {
                    stage: Stage::Filter,
                    error: 22,
                },
                "/x y".into(),
            ),
            SupervisorAnswer::Ended(end),
            SupervisorAnswer::Frozen,
        ] {
            let reply = Reply {
                number: 3,
                secret: [9; 16],
                answer,
            };
            let bytes = encoded(&reply).unwrap();
            assert_eq!(decoded(&bytes[4..]), Some(reply));
            let more = decoded::<Reply>(&[&bytes[4..], b"x"].concat());
            assert_eq!(more, None, "more than an answer");
        }
        assert_eq!(decoded::<Reply>(b""), None);
        assert_eq!(decoded::<Order>(b"\0\0\xff\xff\xff\xff"), None);
    }
}
