//! Frames between vplan and a supervisor, on a stream socket: a length, a tag, a body, and
//! descriptors with it.
//!
//! INVARIANT (only its supervisor ends a step): an answer carries the number of the start that it
//! is about, and the secret that came with that start. Both ends keep other processes of the same
//! user out of their memory and descriptors, so that no step knows it; bytes that are no such
//! answer cost the supervisor its place, and are never the end of a step.

use super::confine::{Stage, Unconfined};
use super::sealed_files::SealedFiles;
use rustix::cmsg_space;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// An order from vplan to a supervisor. The number names the start that it is about: an order for a
/// step that has ended by then must not hit the next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Start a step. Three descriptors come along: its directory, its standard output, its standard
    /// error; its standard input, when it has one; and a file for what it is seen to do, when it is
    /// observed; what it is confined by ([`super::confine::Confine::fds`]).
    Start(u64, Start),
    /// SIGTERM to the whole tree.
    Terminate(u64),
    /// SIGKILL to the whole tree, until none is left.
    Kill(u64),
    /// Stop the whole tree. Answered by [`SupervisorAnswer::Frozen`].
    Freeze(u64),
    /// Resume what [`Order::Freeze`] stopped.
    Thaw(u64),
}

/// The parameters of a start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// The file to execute: absolute, or with a slash and relative to the directory.
    pub program: Vec<u8>,
    /// Its arguments, the name of the program first.
    pub argv: Vec<Vec<u8>>,
    /// Its environment, nothing else.
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
    /// Whether the step keeps the capability to trace processes that are not its own.
    pub keep_capabilities: bool,
    /// The process that traces vplan, 0 for none: a supervisor that another process traces serves
    /// no step.
    pub tracer: i32,
    /// The secret that every answer about this start carries.
    pub secret: Secret,
}

/// A random number that only vplan and one of its supervisors know.
pub(super) type Secret = [u8; 16];

/// An answer with the proof of its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The number of the start that it is about.
    pub number: u64,
    /// The secret that came with that start.
    pub secret: Secret,
    /// The answer itself.
    pub answer: SupervisorAnswer,
}

/// An answer of a supervisor: one for each start, and one for each freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SupervisorAnswer {
    /// It could not be started: the system's error number.
    Refused(i32),
    /// It was not started, because it could not be confined: why, and what of its files could not be put
    /// together, or nothing.
    Unconfined(Unconfined, PathBuf),
    /// It has ended and no process of it is left.
    Ended(End),
    /// Its tree is stopped.
    Frozen,
}

/// The end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

impl Order {
    fn encode(&self) -> Vec<u8> {
        let (tag, number) = match self {
            Order::Start(n, _) => (b's', n),
            Order::Terminate(n) => (b't', n),
            Order::Kill(n) => (b'k', n),
            Order::Freeze(n) => (b'f', n),
            Order::Thaw(n) => (b'c', n),
        };
        let mut out = vec![0; 4];
        out.push(tag);
        out.extend(number.to_le_bytes());
        if let Order::Start(_, start) = self {
            out.extend([u8::from(start.input), u8::from(start.keep_capabilities)]);
            out.extend(start.limit_ms.to_le_bytes());
            out.extend(start.grace_ms.to_le_bytes());
            out.extend(start.tracer.to_le_bytes());
            out.extend(start.secret);
            out.extend(start.confine.to_le_bytes());
            out.push(u8::from(start.observe.is_some()));
            start.observe.iter().for_each(|root| put(&mut out, root));
            put_sealed(&mut out, start.sealed.as_deref());
            put(&mut out, &start.program);
            put_count(&mut out, start.argv.len());
            start.argv.iter().for_each(|word| put(&mut out, word));
            put_count(&mut out, start.env.len());
            for (name, value) in &start.env {
                put(&mut out, name);
                put(&mut out, value);
            }
        }
        seal(out)
    }

    fn decode(frame: &[u8]) -> Option<Self> {
        let mut rest = Rest(frame);
        let tag = rest.take(1)?;
        let number = rest.long()?;
        Some(match tag {
            b"s" => {
                let [input, keep_capabilities] = [rest.take(1)? != b"\0", rest.take(1)? != b"\0"];
                let (limit_ms, grace_ms) = (rest.long()?, rest.long()?);
                let (tracer, secret) = (
                    rest.number()?.cast_signed(),
                    rest.take(16)?.try_into().ok()?,
                );
                let confine = u16::from_le_bytes(rest.take(2)?.try_into().ok()?);
                let observe = match rest.take(1)? {
                    b"\0" => None,
                    _ => Some(rest.word()?),
                };
                let sealed = rest.sealed()?.map(Box::new);
                let program = rest.word()?;
                let argv = (0..rest.count()?)
                    .map(|_| rest.word())
                    .collect::<Option<_>>()?;
                let env = (0..rest.count()?)
                    .map(|_| Some((rest.word()?, rest.word()?)))
                    .collect::<Option<_>>()?;
                Order::Start(
                    number,
                    Start {
                        program,
                        argv,
                        env,
                        input,
                        observe,
                        confine,
                        sealed,
                        limit_ms,
                        grace_ms,
                        keep_capabilities,
                        tracer,
                        secret,
                    },
                )
            }
            b"t" => Order::Terminate(number),
            b"k" => Order::Kill(number),
            b"f" => Order::Freeze(number),
            b"c" => Order::Thaw(number),
            _ => return None,
        })
    }
}

impl Reply {
    fn encode(self) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.extend(self.number.to_le_bytes());
        out.extend(self.secret);
        match self.answer {
            SupervisorAnswer::Refused(errno) => {
                out.push(b'r');
                out.extend(errno.to_le_bytes());
            }
            SupervisorAnswer::Unconfined(Unconfined { stage, error }, place) => {
                out.extend([b'u', stage as u8]);
                out.extend(error.to_le_bytes());
                put(&mut out, place.as_os_str().as_bytes());
            }
            SupervisorAnswer::Ended(end) => {
                out.push(b'e');
                out.extend(end.status.to_le_bytes());
                out.extend(end.leaked.to_le_bytes());
                out.extend(end.survivors.to_le_bytes());
                out.push(u8::from(end.timed_out));
            }
            SupervisorAnswer::Frozen => out.push(b'f'),
        }
        seal(out)
    }

    fn decode(frame: &[u8]) -> Option<Self> {
        let mut rest = Rest(frame);
        let (number, secret) = (rest.long()?, rest.take(16)?.try_into().ok()?);
        let answer = match rest.take(1)? {
            b"r" => SupervisorAnswer::Refused(rest.number()?.cast_signed()),
            b"u" => {
                let &[stage] = rest.take(1)? else {
                    return None;
                };
                let stage = *Stage::ALL.get(usize::from(stage))?;
                let error = rest.number()?.cast_signed();
                SupervisorAnswer::Unconfined(Unconfined { stage, error }, rest.path()?)
            }
            b"e" => SupervisorAnswer::Ended(End {
                status: rest.number()?.cast_signed(),
                leaked: rest.number()?,
                survivors: rest.number()?,
                timed_out: rest.take(1)? != b"\0",
            }),
            b"f" => SupervisorAnswer::Frozen,
            _ => return None,
        };
        rest.0.is_empty().then_some(Self {
            number,
            secret,
            answer,
        })
    }
}

fn put_sealed(out: &mut Vec<u8>, sealed: Option<&SealedFiles>) {
    out.push(u8::from(sealed.is_some()));
    if let Some(files) = sealed {
        for paths in [&files.readable, &files.writable] {
            put_count(out, paths.len());
            paths
                .iter()
                .for_each(|path| put(out, path.as_os_str().as_bytes()));
        }
        for path in [&files.root, &files.temporary, &files.made] {
            put(out, path.as_os_str().as_bytes());
        }
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(out: &mut Vec<u8>, word: &[u8]) {
    put_count(out, word.len());
    out.extend(word);
}

fn seal(mut out: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(out.len() - 4)
        .unwrap_or(u32::MAX)
        .to_le_bytes();
    out.iter_mut().zip(length).for_each(|(to, from)| *to = from);
    out
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(PathBuf::from(OsString::from_vec(self.word()?)))
    }

    fn sealed(&mut self) -> Option<Option<SealedFiles>> {
        if self.take(1)? == b"\0" {
            return Some(None);
        }
        let [mut readable, mut writable] = [Vec::new(), Vec::new()];
        for paths in [&mut readable, &mut writable] {
            for _ in 0..self.count()? {
                paths.push(self.path()?);
            }
        }
        Some(Some(SealedFiles {
            readable,
            writable,
            root: self.path()?,
            temporary: self.path()?,
            made: self.path()?,
        }))
    }

    fn word(&mut self) -> Option<Vec<u8>> {
        let length = self.count()?;
        self.take(length).map(<[u8]>::to_vec)
    }
}

/// The most descriptors of a frame.
const FDS: usize = 7;

/// Sends a whole frame; the descriptors ride on its first byte.
fn send(socket: BorrowedFd<'_>, frame: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
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
    send(socket, &order.encode(), fds)
}

/// Sends an answer.
pub(super) fn send_reply(socket: BorrowedFd<'_>, reply: Reply) -> io::Result<()> {
    send(socket, &reply.encode(), &[])
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

    /// Waits for some bytes. `false` when the other side is gone.
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

    fn next<T>(&mut self, decode: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
        let mut rest = Rest(&self.bytes);
        let Some(frame) = rest.word_ref() else {
            return Ok(None);
        };
        let decoded = decode(frame).ok_or(io::ErrorKind::InvalidData)?;
        let used = self.bytes.len() - rest.0.len();
        self.bytes.drain(..used);
        Ok(Some(decoded))
    }

    /// Returns the next order that has arrived in full.
    pub(super) fn next_order(&mut self) -> io::Result<Option<Order>> {
        self.next(Order::decode)
    }

    /// Returns the next answer that has arrived in full.
    pub(super) fn next_reply(&mut self) -> io::Result<Option<Reply>> {
        self.next(Reply::decode)
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

impl<'a> Rest<'a> {
    fn word_ref(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

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
            let bytes = reply.clone().encode();
            assert_eq!(Reply::decode(&bytes[4..]), Some(reply));
            assert_eq!(
                Reply::decode(&[&bytes[4..], b"x"].concat()),
                None,
                "more than an answer"
            );
        }
        assert_eq!(Reply::decode(b""), None);
        assert_eq!(Order::decode(b"s\0\0\0\0\0\0\0\0\xff\xff\xff\xff"), None);
    }
}
