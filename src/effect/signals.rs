//! Which signals does vplan listen to?

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::low_level;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

const HEARD: [Signal; 5] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::TSTP, Signal::CONT];

/// Listens until it is dropped. What arrives after that is swallowed: a disposition cannot be given back safely while other
/// threads run, and vplan is about to end.
#[derive(Debug)]
pub(super) struct Signals(Vec<SigId>);

impl Signals {
    /// Calls `tell` on a thread of its own for each signal that comes. Whoever started vplan with a signal ignored (`nohup`)
    /// wants it ignored.
    pub(super) fn listen(tell: impl Fn(Signal) -> bool + Send + 'static) -> io::Result<Self> {
        let ignored = ignored();
        let mut own = Self(Vec::new());
        let mut ears = Vec::new();
        for signal in HEARD {
            let number = signal.as_raw();
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            let (ear, mouth) = UnixStream::pair()?;
            own.0.push(low_level::pipe::register(number, mouth)?);
            ears.push((signal, ear));
        }
        std::thread::Builder::new()
            .name("signals".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || hear(ears, &tell))?;
        Ok(own)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // With the action its end of the pair goes, and with the last one the thread.
        for id in self.0.drain(..) {
            low_level::unregister(id);
        }
    }
}

fn hear(mut ears: Vec<(Signal, UnixStream)>, tell: &dyn Fn(Signal) -> bool) {
    while !ears.is_empty() {
        let mut fds: Vec<PollFd<'_>> = ears.iter().map(|(_, ear)| PollFd::new(ear, PollFlags::IN)).collect();
        let _ = poll(&mut fds, None);
        let ready: Vec<bool> = fds.iter().map(|f| !f.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        ears.retain_mut(|(signal, ear)| {
            if ready.next() != Some(true) {
                return true;
            }
            // One byte a signal: two Ctrl-C are two.
            let mut bytes = [0_u8; 1];
            matches!(ear.read(&mut bytes), Ok(1)) && tell(*signal)
        });
    }
}

/// The set of signals that this process ignores (proc(5), `SigIgn`).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}
