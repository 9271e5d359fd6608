//! Which signals does vplan listen to?

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::low_level;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

const HEARD: [Signal; 5] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::TSTP, Signal::CONT];

/// Listens until it is dropped. What arrives after that is swallowed: a disposition cannot be given back safely while other
/// threads run, and vplan is about to end.
#[derive(Debug)]
pub(super) struct Signals(Vec<(SigId, Signal, UnixStream)>);

impl Signals {
    /// Begins to listen. Whoever started vplan with a signal ignored (`nohup`) wants it ignored.
    pub(super) fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let mut own = Self(Vec::new());
        for signal in HEARD {
            let number = signal.as_raw();
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            let (ear, mouth) = UnixStream::pair()?;
            ear.set_nonblocking(true)?;
            own.0.push((low_level::pipe::register(number, mouth)?, signal, ear));
        }
        Ok(own)
    }

    /// What to poll.
    pub(super) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().map(|(_, _, ear)| PollFd::new(ear, PollFlags::IN))
    }

    /// Takes one signal out of each of those that have come. Two Ctrl-C are two.
    pub(super) fn take(&mut self) -> Vec<Signal> {
        let came = |ear: &mut UnixStream| matches!(ear.read(&mut [0]), Ok(1));
        self.0.iter_mut().filter_map(|(_, signal, ear)| came(ear).then_some(*signal)).collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (id, _, _) in self.0.drain(..) {
            low_level::unregister(id);
        }
    }
}

/// The set of signals that this process ignores (proc(5), `SigIgn`).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}
