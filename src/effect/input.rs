//! What does the caller write to standard input?

use std::io::{self, Read};

/// Reads all of it, at most `cap` bytes.
///
/// # Errors
/// What the system reports; more than `cap` bytes.
pub fn standard(cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|n| n <= cap) {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {cap} bytes")))
}
