//! How do tests start processes and wait for them? With the usual signals, and never without a
//! limit.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::process::{Child, ExitStatus, Output};
use std::sync::Once;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Long enough for the slowest and busiest machine; nothing waits for it unless a test is about to
/// fail.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Longer than any process of a test that passes, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(900);

/// What a shell or `nohup` may have told the tests to ignore, and what tests send.
const USUAL: [Signal; 9] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::TSTP,
    Signal::CONT,
    Signal::CHILD,
    Signal::USR1,
    Signal::USR2,
];

/// Gives what is started from here on the usual effect of signals, also where the tests themselves
/// were started with some ignored: an ignored signal is inherited, and vplan keeps to it; one that
/// is caught here has its usual effect there (execve(2)).
pub fn usual_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status
            .lines()
            .find_map(|l| l.strip_prefix("SigIgn:"))
            .unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let _entered = runtime.enter();
        // The handler stays when the runtime is gone, and does nothing then: here it is still as if
        // ignored.
        for caught in USUAL
            .iter()
            .filter(|s| ignored >> (s.as_raw() - 1) & 1 == 1)
        {
            drop(signal(SignalKind::from_raw(caught.as_raw())).unwrap());
        }
    });
}

/// Waits until something holds that another process does.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    start.elapsed()
}

/// The state of a process, as one letter; none where there is no such process.
pub fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Waits for a child that must end by itself; one that does not within [`LIMIT`] is killed and
/// fails its test.
pub trait Bounded {
    /// Waits for its end.
    fn ended(&mut self) -> ExitStatus;
    /// Reads what it says until its end.
    fn finished(self) -> Output;
}

impl Bounded for Child {
    #[track_caller]
    fn ended(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        if let Some(status) = self.try_wait().unwrap() {
            return status;
        }
        let process = pidfd_open(Pid::from_child(self), PidfdFlags::empty()).unwrap();
        let start = Instant::now();
        loop {
            let left = Timespec::try_from(LIMIT.saturating_sub(start.elapsed())).unwrap();
            // Interrupted by a signal: asked again.
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) => {
                    let _ = self.kill();
                    panic!("process {} did not end within {LIMIT:?}", self.id());
                }
                other => {
                    other.unwrap();
                    return self.wait().unwrap();
                }
            }
        }
    }

    #[track_caller]
    fn finished(mut self) -> Output {
        drop(self.stdin.take());
        let pid = self.id();
        let process = pidfd_open(Pid::from_child(&self), PidfdFlags::empty()).unwrap();
        let (sender, receiver) = channel();
        std::thread::spawn(move || sender.send(self.wait_with_output()));
        receiver
            .recv_timeout(LIMIT)
            .unwrap_or_else(|_| {
                let _ = pidfd_send_signal(&process, Signal::KILL);
                panic!("process {pid}, or its output, did not end within {LIMIT:?}")
            })
            .unwrap()
    }
}
