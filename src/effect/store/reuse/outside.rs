//! The state of what a step may read outside of the repository, by its `reads`.

use crate::base::canon::{Digest, Hasher};
use crate::base::word::visible;
use crate::effect::git::environment;
use crate::effect::os::process::program::message_of;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most files and folders that are looked at.
const MOST: usize = 300_000;

/// Returns one digest of the paths, kinds, sizes and times of all that is named, and of the targets of
/// symlinks; no content is read. What is touched counts as changed. `None` where nothing is named.
///
/// # Errors
/// For people: it cannot be looked at, or is too much.
pub(super) fn state(named: &[String]) -> Result<Option<Digest>, String> {
    if named.is_empty() {
        return Ok(None);
    }
    let home = environment("HOME").map(PathBuf::from);
    let mut state = State {
        hasher: Hasher::default(),
        left: MOST,
    };
    for name in named {
        let path = match (name.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(name),
        };
        state.add(&path).map_err(|error| {
            let why = message_of(&error);
            format!(
                "what it reads at `{}` cannot be followed: {why}",
                visible(name.as_bytes())
            )
        })?;
    }
    Ok(Some(state.hasher.finish()))
}

struct State {
    hasher: Hasher,
    left: usize,
}

impl State {
    /// Adds what is at a path: of a symlink also what it leads to.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        self.one(path)?;
        match path.canonicalize() {
            Ok(real) => self.below(real),
            Err(_) => Ok(()),
        }
    }

    /// Adds all that is at and below a path.
    fn below(&mut self, path: PathBuf) -> io::Result<()> {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            if self.one(&path)? {
                let entries = std::fs::read_dir(&path)?;
                let mut paths: Vec<PathBuf> = entries
                    .map(|entry| Ok(entry?.path()))
                    .collect::<io::Result<_>>()?;
                paths.sort();
                open.extend(paths);
            }
        }
        Ok(())
    }

    /// Adds the state of a path; returns whether it is a folder.
    fn one(&mut self, path: &Path) -> io::Result<bool> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            io::Error::other(format!("it holds more than {MOST} files and folders"))
        })?;
        self.text(path.as_os_str().as_bytes())?;
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.text(b"")?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        // A folder's own times change with what is in it, which is looked at.
        let is_folder = found.is_dir();
        let times = [
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
        ];
        let times = if is_folder { [0; 4] } else { times };
        let size = if is_folder { 0 } else { found.size() };
        for number in times {
            self.hasher.write_all(&number.to_le_bytes())?;
        }
        for number in [size, found.ino(), found.dev(), u64::from(found.mode())] {
            self.hasher.write_all(&number.to_le_bytes())?;
        }
        if found.is_symlink() {
            self.text(std::fs::read_link(path)?.as_os_str().as_bytes())?;
        }
        Ok(is_folder)
    }

    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.hasher.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("named");
        let named = [path.to_str().unwrap().to_owned()];
        let mut states = vec![state(&named).unwrap()];
        let mut next = || states.push(state(&named).unwrap());
        std::fs::create_dir(&path).unwrap();
        next();
        std::fs::write(path.join("a"), "1").unwrap();
        next();
        std::fs::write(path.join("a"), "22").unwrap();
        next();
        std::fs::create_dir(path.join("deep")).unwrap();
        std::os::unix::fs::symlink("a", path.join("deep/link")).unwrap();
        next();
        std::fs::remove_file(path.join("deep/link")).unwrap();
        std::os::unix::fs::symlink("b", path.join("deep/link")).unwrap();
        next();
        for (at, state) in states.iter().enumerate() {
            assert!(!states[..at].contains(state), "{at}");
        }
        assert_eq!(state(&named).unwrap(), *states.last().unwrap());
        assert_eq!(state(&[]).unwrap(), None);
    }
}
