//! The files that exist for a step that is sealed.

use std::io;
use std::path::{Path, PathBuf};

/// What exists for a step besides its own `/proc` and `/dev`: absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedFiles {
    /// The files and the folders that it can read, with all that is in them.
    pub readable: Vec<PathBuf>,
    /// The folders that it can change, which begin empty. One in a readable folder has to be there.
    pub writable: Vec<PathBuf>,
    /// The repository's root, which exists whatever of it can be read.
    pub root: PathBuf,
    /// A folder of its own, outside of all the others: [`SealedFiles::prepare`] makes in it what the
    /// step's `/tmp` and its writable folders are. No links lead to it.
    pub temporary: PathBuf,
}

impl SealedFiles {
    /// Makes the folders that it can change.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn prepare(&self) -> io::Result<()> {
        match std::fs::create_dir(self.new_root()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.changed().try_for_each(std::fs::create_dir)
    }

    /// Returns where a file that the step has made in a writable folder lies, outside of it. What it can
    /// read was there.
    #[must_use]
    pub fn made(&self, path: &Path) -> Option<PathBuf> {
        if self
            .readable
            .iter()
            .any(|there| path.starts_with(there) && !self.is_over(there, path))
        {
            return None;
        }
        let folders = self.writable.iter().enumerate();
        let holding =
            folders.filter_map(|(index, folder)| Some((index, path.strip_prefix(folder).ok()?)));
        // The innermost is the one that shows.
        let (index, below) = holding.min_by_key(|(_, below)| below.components().count())?;
        Some(self.place(index).join(below))
    }

    /// Whether a writable folder lies over this part of a readable one.
    fn is_over(&self, readable: &Path, path: &Path) -> bool {
        let mut folders = self.writable.iter();
        folders.any(|folder| folder.starts_with(readable) && path.starts_with(folder))
    }

    /// Returns what a writable folder is.
    pub(super) fn place(&self, index: usize) -> PathBuf {
        self.temporary.join(format!("writable-{index}"))
    }

    /// Returns where its root is mounted: a folder beside [`SealedFiles::temporary`] that stays empty, since only
    /// its own namespace sees what is mounted there. So all steps have the same one.
    pub(super) fn new_root(&self) -> PathBuf {
        self.temporary.with_file_name("view")
    }

    pub(super) fn own_temporary(&self) -> PathBuf {
        self.temporary.join("tmp")
    }

    /// Returns the folders that its process may change, for Landlock's rules.
    pub fn changed(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let places = (0..self.writable.len()).map(|index| self.place(index));
        places.chain([self.own_temporary()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_step_has_made_lies_in_the_innermost_folder() {
        let files = SealedFiles {
            readable: vec!["/r/a".into(), "/r/src".into()],
            writable: vec!["/r".into(), "/r/src/made".into(), "/r/out".into()],
            root: "/r".into(),
            temporary: "/t".into(),
        };
        for (path, want) in [
            ("/r/new", Some("/t/writable-0/new")),
            ("/r/out/x", Some("/t/writable-2/x")),
            ("/r/out", Some("/t/writable-2")),
            ("/r/src/made/x", Some("/t/writable-1/x")),
            ("/r/src/x", None),
            ("/r/a", None),
            ("/elsewhere", None),
        ] {
            assert_eq!(
                files.made(Path::new(path)).as_deref(),
                want.map(Path::new),
                "{path}"
            );
        }
    }
}
