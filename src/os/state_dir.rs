//! Finds the state directory: outside the work tree, per repository. It holds the ledger and the
//! cached results, which verdicts depend on.
//!
//! A step of the same user can still reach it, which only a sandbox prevents.

use crate::files::{make_folders, sync_folder};
use crate::retry_eintr::open;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fchmod, fstat, mkdirat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::canon::Digest;
use vplan_base::word::visible_path;

/// The state of one repository.
#[derive(Debug)]
pub struct StateDir {
    pub path: PathBuf,
    /// The folder, held open: replacing the path has no effect on vplan.
    pub folder: OwnedFd,
}

/// The reason why there is no state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Neither the command line nor the environment names one.
    #[error("there is no place for vplan's state: neither `XDG_STATE_HOME` nor `HOME` says where")]
    Nowhere,
    /// It belongs to another user, or is not a folder.
    #[error("`{}` is not a directory of this user's own", visible_path(.0))]
    Foreign(PathBuf),
    /// The system refuses.
    #[error("vplan's state cannot be kept in `{}`: {}", visible_path(.0), crate::process::program::message_of(.1))]
    Io(PathBuf, #[source] io::Error),
}

impl StateError {
    /// Returns the help for the message.
    pub fn help(&self) -> &'static str {
        "`--state-dir DIR` keeps it in another place"
    }
}

/// Returns the directory of all repositories' state: `--state-dir`, or `$XDG_STATE_HOME/vplan`, or
/// `~/.local/state/vplan`. Relative values of the environment do not count (XDG Base Directory
/// Specification).
///
/// # Errors
/// None of them is set.
pub fn base(
    explicit: Option<&Path>,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, StateError> {
    if let Some(path) = explicit {
        return Ok(path.to_owned());
    }
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    base.map(|b| b.join("vplan")).ok_or(StateError::Nowhere)
}

impl StateDir {
    /// Opens the state of the repository at `root`, by its real path, below `base`; makes it if
    /// needed. Only its user may enter.
    ///
    /// # Errors
    /// It cannot be made, or belongs to another user.
    pub fn open(base: &Path, root: &Path) -> Result<Self, StateError> {
        let path = place(base, root)?;
        // An existing folder is entered first, so that it can be read even if nothing can be
        // created.
        if let Some(there) = enter(&path)? {
            return Ok(there);
        }
        let failed = |path: &Path, e: io::Error| StateError::Io(path.to_owned(), e);
        make_folders(base).map_err(|e| failed(base, e))?;
        match mkdirat(CWD, &path, Mode::RWXU) {
            Ok(()) => sync_folder(base).map_err(|e| failed(base, e))?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(&path, error.into())),
        }
        enter(&path)?.ok_or_else(|| failed(&path, Errno::NOENT.into()))
    }

    /// Opens the state for reading only, without creating it; `None` if nothing is stored yet.
    ///
    /// # Errors
    /// It cannot be entered, or belongs to another user.
    pub fn find(base: &Path, root: &Path) -> Result<Option<Self>, StateError> {
        enter(&place(base, root)?)
    }
}

fn place(base: &Path, root: &Path) -> Result<PathBuf, StateError> {
    let real = match std::fs::canonicalize(root) {
        Ok(real) => real,
        // The state of a removed repository can still be opened.
        Err(e) if e.kind() == io::ErrorKind::NotFound && root.is_absolute() => root.to_owned(),
        Err(e) => return Err(StateError::Io(root.to_owned(), e)),
    };
    let name = Digest::hash(real.as_os_str().as_bytes()).hex();
    Ok(base.join(name.get(..32).unwrap_or_default()))
}

fn enter(path: &Path) -> Result<Option<StateDir>, StateError> {
    let failed = |e: Errno| StateError::Io(path.to_owned(), e.into());
    let folder = match open(CWD, path, OFlags::DIRECTORY | OFlags::NOFOLLOW) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        // Either the entry is not a folder, or something above it is not.
        Err(Errno::NOTDIR | Errno::LOOP) if path.symlink_metadata().is_ok() => {
            return Err(StateError::Foreign(path.to_owned()));
        }
        Err(error) => return Err(failed(error)),
    };
    let stat = fstat(&folder).map_err(failed)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(StateError::Foreign(path.to_owned()));
    }
    if Mode::from_raw_mode(stat.st_mode) != Mode::RWXU {
        fchmod(&folder, Mode::RWXU).map_err(failed)?;
    }
    Ok(Some(StateDir {
        path: path.to_owned(),
        folder,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is() {
        let of = |pairs: &[(&str, &str)], explicit: Option<&str>| {
            let found = |name: &str| {
                pairs
                    .iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, v)| OsString::from(*v))
            };
            base(explicit.map(Path::new), found).ok()
        };
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], None),
            Some("/s/vplan".into())
        );
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_STATE_HOME", "s")], None),
            Some("/h/.local/state/vplan".into())
        );
        assert_eq!(of(&[("HOME", "h")], None), None);
        assert_eq!(of(&[], Some("x")), Some("x".into()));
    }

    #[test]
    fn one_repository_has_one_and_only_its_user_enters() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (state, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = state.path().join("link");
        symlink(tree.path(), &link).unwrap();
        assert!(
            StateDir::find(&state.path().join("a"), tree.path())
                .unwrap()
                .is_none()
        );
        assert!(!state.path().join("a").exists(), "a look makes nothing");
        let one = StateDir::open(&state.path().join("a"), tree.path()).unwrap();
        assert_eq!(
            StateDir::find(&state.path().join("a"), tree.path())
                .unwrap()
                .unwrap()
                .path,
            one.path
        );
        let two = StateDir::open(&state.path().join("a"), &link).unwrap();
        assert_eq!(one.path, two.path);
        assert_eq!(
            std::fs::metadata(&one.path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        std::fs::remove_dir(&one.path).unwrap();
        symlink(tree.path(), &one.path).unwrap();
        assert!(matches!(
            StateDir::open(&state.path().join("a"), tree.path()),
            Err(StateError::Foreign(_))
        ));
        std::fs::write(state.path().join("file"), "").unwrap();
        assert!(matches!(
            StateDir::open(&state.path().join("file"), tree.path()),
            Err(StateError::Io(..))
        ));
        assert!(matches!(
            StateDir::find(&state.path().join("file"), tree.path()),
            Err(StateError::Io(..))
        ));
    }
}
