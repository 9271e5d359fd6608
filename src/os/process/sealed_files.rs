//! The files that exist for a step that is sealed.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What exists for a step, in addition to its own `/proc` and `/dev`: absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedFiles {
    /// The files and the folders that it can read, with all that is in them.
    #[serde(with = "list")]
    pub readable: Vec<PathBuf>,
    /// The folders that it can change, which begin empty. Inside a readable folder, they must
    /// exist.
    #[serde(with = "list")]
    pub writable: Vec<PathBuf>,
    /// The repository's root, which always exists, even if nothing of it can be read.
    #[serde(with = "bytes")]
    pub root: PathBuf,
    /// A folder for its `/tmp`, outside of all the others. Given without links.
    #[serde(with = "bytes")]
    pub temporary: PathBuf,
    /// Another folder, where [`SealedFiles::prepare`] makes its writable folders, if there are any.
    #[serde(with = "bytes")]
    pub made: PathBuf,
}

impl SealedFiles {
    /// Makes the folders that it can change, except its temporary one.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn prepare(&self) -> io::Result<()> {
        match std::fs::create_dir(self.new_root()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        (0..self.writable.len()).try_for_each(|index| std::fs::create_dir(self.place(index)))
    }

    /// Returns the outside path of a file that the step made in a writable folder; `None` for files
    /// that existed before.
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

    /// Whether a writable folder covers this part of a readable one.
    fn is_over(&self, readable: &Path, path: &Path) -> bool {
        let mut folders = self.writable.iter();
        folders.any(|folder| folder.starts_with(readable) && path.starts_with(folder))
    }

    /// Returns the storage of a writable folder.
    pub(super) fn place(&self, index: usize) -> PathBuf {
        self.made.join(index.to_string())
    }

    /// Returns the mount point of its root: a folder next to [`SealedFiles::temporary`]. It stays
    /// empty, since only the step's own namespace sees the mount. So all steps share it.
    pub(super) fn new_root(&self) -> PathBuf {
        self.temporary.with_file_name("view")
    }

    /// Returns the folders that its process may change, for Landlock's rules.
    pub fn changed(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let places = (0..self.writable.len()).map(|index| self.place(index));
        places.chain([self.temporary.clone()])
    }
}

/// A path as its bytes, which need not be text.
pub(super) mod bytes {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

/// Likewise of several.
mod list {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::ffi::OsString;
    use std::path::PathBuf;

    pub fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| path.as_os_str()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsString>::deserialize(from)?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
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
            made: "/m".into(),
        };
        for (path, want) in [
            ("/r/new", Some("/m/0/new")),
            ("/r/out/x", Some("/m/2/x")),
            ("/r/out", Some("/m/2")),
            ("/r/src/made/x", Some("/m/1/x")),
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
