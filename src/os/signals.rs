//! Receives the signals that vplan handles.

use crate::process::{give_back, take_again};
use rustix::process::Signal;
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::runtime::Builder;
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::Notify;

/// The order of reports for signals that arrive together: a request to end comes before a request
/// to pause. The request to continue comes last, so that it undoes the pause.
const HEARD: [Signal; 5] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::TSTP,
    Signal::CONT,
];

/// Receives signals until it is dropped. Later signals have their usual effect, so that a vplan
/// whose reader hangs can still be ended.
///
/// Two equal signals that arrive before they are read count as one, as in the system (signal(7)).
#[derive(Debug)]
pub struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Begins to receive signals; must be called within a runtime that has I/O. A signal that was
    /// ignored when vplan started (`nohup`) stays ignored.
    pub fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let heard = HEARD
            .into_iter()
            .filter(|signal| ignored >> (signal.as_raw() - 1) & 1 == 0);
        let listen = |signal: Signal| {
            let stream = unix::signal(SignalKind::from_raw(signal.as_raw()))?;
            // An earlier round of a loop may have listened to it.
            take_again(signal);
            Ok((signal, stream))
        };
        heard.map(listen).collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next one. No signal is lost when the wait is cancelled.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let came = |(signal, stream): &mut (Signal, unix::Signal)| {
                stream.poll_recv(context).is_ready().then_some(*signal)
            };
            self.0
                .iter_mut()
                .find_map(came)
                .map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Whether a signal to end this process has arrived. Does not wait for one.
    pub async fn ask_to_end(&mut self) -> bool {
        let one_comes = async { while !asks_to_end(self.next().await) {} };
        // The runtime polls for signals while this yields.
        let soon = async {
            for _ in 0..2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = one_comes => true,
            () = soon => false,
        }
    }
}

fn asks_to_end(signal: Signal) -> bool {
    [Signal::INT, Signal::TERM, Signal::HUP].contains(&signal)
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.iter().for_each(|(signal, _)| give_back(*signal));
    }
}

/// Runs work that can poll whether this process got a signal to end (SIGINT, SIGTERM, SIGHUP).
/// Until the work returns, such a signal does not end the process. If signals cannot be received,
/// they keep their usual effect.
pub fn while_listening<T>(work: impl FnOnce(&dyn Fn() -> bool) -> T) -> T {
    let (asked, over) = (AtomicBool::new(false), Notify::new());
    let listen = || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut signals = Signals::listen()?;
            loop {
                tokio::select! {
                    signal = signals.next() => {
                        if asks_to_end(signal) {
                            asked.store(true, Ordering::SeqCst);
                        }
                    }
                    () = over.notified() => return Ok::<(), io::Error>(()),
                }
            }
        })
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, listen);
        let done = work(&|| asked.load(Ordering::SeqCst));
        over.notify_one();
        if let Ok(thread) = thread
            && let Ok(Err(error)) = thread.join()
        {
            tracing::debug!(%error, "signals are not received");
        }
        done
    })
}

/// Reads the set of signals that this process ignores (proc(5), `SigIgn`).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0)
}
