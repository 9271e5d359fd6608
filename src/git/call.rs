//! Reads a child's output with limits on time and size. For git only; steps have their own runner.

use rustix::process::Pid;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The output of a call.
#[derive(Debug)]
pub(super) struct Output {
    /// Its exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// The first 64 KiB of its standard error.
    pub stderr: Vec<u8>,
}

/// The reason why there is no output.
#[derive(Debug)]
pub(super) enum CallError {
    Spawn(std::io::Error),
    TimedOut,
    TooMuch,
}

const STDERR_KEPT: usize = 64 * 1024;

/// A running command. It is killed when its time is up, when it writes too much, or when it is
/// dropped.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    deadline: Instant,
    cap: usize,
    is_over: bool,
}

/// Starts a command with a limit on time and on bytes of output. The caller has set its standard
/// input.
pub(super) fn start(
    command: &mut Command,
    limit: Duration,
    cap: usize,
) -> Result<Started, CallError> {
    let deadline = Instant::now() + limit;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(CallError::Spawn)?;
    Ok(Started {
        child,
        deadline,
        cap,
        is_over: false,
    })
}

impl Started {
    /// Lowers the limit on output, in bytes.
    pub(super) fn limit(&mut self, cap: usize) {
        self.cap = self.cap.min(cap);
    }

    /// Reads its output to the end.
    pub(super) fn finish(mut self) -> Result<Output, CallError> {
        let output = collect(&mut self.child, self.deadline, self.cap)?;
        self.is_over = true;
        Ok(output)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.is_over {
            // The caller has an error already; it remains to leave no process, of a wrapper either.
            if let Some(pid) = pid(&self.child) {
                vplan_os::process::end_all_below(pid);
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn collect(child: &mut Child, deadline: Instant, cap: usize) -> Result<Output, CallError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    while out.is_some() || err.is_some() {
        let fds = [out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)];
        let [out_ready, err_ready] = wait_readable(fds, deadline)?;
        if out_ready && drain(&mut out, &mut stdout, usize::MAX)? && stdout.len() > cap {
            return Err(CallError::TooMuch);
        }
        if err_ready {
            drain(&mut err, &mut stderr, STDERR_KEPT)?;
        }
    }
    wait_end(child, deadline)?;
    let status = child.wait().map_err(CallError::Spawn)?;
    Ok(Output {
        exit: status.code(),
        stdout,
        stderr,
    })
}

/// Reads once. Keeps at most `keep` bytes, and drops the stream at its end. Returns whether it read
/// anything.
fn drain(
    stream: &mut Option<impl Read>,
    into: &mut Vec<u8>,
    keep: usize,
) -> Result<bool, CallError> {
    let Some(reader) = stream else {
        return Ok(false);
    };
    let mut buffer = [0; 64 * 1024];
    match reader.read(&mut buffer) {
        Ok(0) => {
            *stream = None;
            Ok(false)
        }
        Ok(count) => {
            let room = keep.saturating_sub(into.len()).min(count);
            into.extend(buffer.iter().take(room));
            Ok(true)
        }
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(CallError::Spawn(e)),
    }
}

fn wait_readable(
    fds: [Option<BorrowedFd<'_>>; 2],
    deadline: Instant,
) -> Result<[bool; 2], CallError> {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut polled: Vec<PollFd<'_>> = fds
        .iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = left.try_into().map_err(|_| CallError::TimedOut)?;
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) => return Err(CallError::TimedOut),
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(CallError::Spawn(e.into())),
        }
    }
    let mut ready = polled.iter().map(|p| !p.revents().is_empty());
    Ok(fds.map(|fd| fd.is_some() && ready.next().unwrap_or(false)))
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Waits until the child has ended; it may have closed its output long before.
fn wait_end(child: &Child, deadline: Instant) -> Result<(), CallError> {
    use rustix::process::{PidfdFlags, pidfd_open};
    let pidfd = pid(child).map(|p| pidfd_open(p, PidfdFlags::empty()));
    match pidfd {
        Some(Ok(fd)) => wait_readable([Some(fd.as_fd()), None], deadline).map(|_| ()),
        // A kernel without pidfds: `wait` waits, without the limit.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit_ms: u64, cap: usize) -> Result<Output, CallError> {
        start(
            Command::new("/bin/sh").args(["-c", script]),
            Duration::from_millis(limit_ms),
            cap,
        )?
        .finish()
    }

    /// A wrapper's child holds the output open, and ends with the wrapper.
    #[test]
    fn a_wrapper_that_hangs_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let pids = dir.path().join("pids");
        let script = format!(
            "sleep 600 & echo $! >'{0}'; (sleep 600 & echo $! >>'{0}'; wait) & wait",
            pids.display()
        );
        let mut command = Command::new("/bin/sh");
        let started = start(command.args(["-c", &script]), Duration::from_secs(600), 10).unwrap();
        let written = loop {
            let text = std::fs::read_to_string(&pids).unwrap_or_default();
            if text.lines().count() == 2 && text.ends_with('\n') {
                break text;
            }
            std::thread::yield_now();
        };
        drop(started);
        for pid in written.lines() {
            // A process that is gone, or not yet waited for by its parent, has no command line.
            loop {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                if !line.starts_with(b"sleep") {
                    break;
                }
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn outputs_and_limits() {
        let output = sh("printf out; printf err >&2; exit 3", 60_000, 10).unwrap();
        assert_eq!(
            (output.exit, &*output.stdout, &*output.stderr),
            (Some(3), &b"out"[..], &b"err"[..])
        );
        assert!(matches!(
            sh("yes", 60_000, 1_000_000),
            Err(CallError::TooMuch)
        ));
        assert!(matches!(
            sh("exec sleep 600", 50, 10),
            Err(CallError::TimedOut)
        ));
        assert!(matches!(
            sh("exec sleep 600 >&- 2>&-", 50, 10),
            Err(CallError::TimedOut)
        ));
        let flood = sh("head -c 300000 /dev/zero >&2; printf x", 60_000, 10).unwrap();
        assert_eq!(
            (flood.stderr.len(), &*flood.stdout),
            (STDERR_KEPT, &b"x"[..])
        );
    }
}
