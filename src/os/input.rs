//! Reads standard input.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Reads all of it, at most `cap` bytes.
///
/// # Errors
/// Errors of the system; more than `cap` bytes.
pub fn standard(cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(cap.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|n| n <= cap) {
        return Ok(bytes);
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("more than {cap} bytes"),
    ))
}

/// Reads until the end, but no longer than `limit`: a writer that keeps the pipe open does not
/// block vplan.
///
/// # Errors
/// As [`standard`].
pub fn standard_within(cap: usize, limit: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + limit;
    let stdin = rustix::stdio::stdin();
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 14];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = left
            .try_into()
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        match poll(
            &mut [PollFd::from_borrowed_fd(stdin, PollFlags::IN)],
            Some(&timeout),
        ) {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match rustix::io::read(stdin, &mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend(piece.iter().take(count)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > cap {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("more than {cap} bytes"),
            ));
        }
    }
}
