//! Which runs are recorded?

use std::io;
use std::path::Path;

/// The ids of the runs below a directory, earliest first; none when there is no such directory.
///
/// # Errors
/// What the system says.
pub fn runs(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            ids.extend(entry.file_name().into_string());
        }
    }
    ids.sort();
    Ok(ids)
}
