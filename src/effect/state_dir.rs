//! Where is kept what decides things, the ledger and the results that may be reused? Outside the work tree, per repository.
//!
//! A step of the same user can still reach it, which only a sandbox prevents.

use super::files::{make_folders, sync_folder};
use crate::base::canon::Digest;
use crate::base::word::visible;
use crate::effect::patient::openat;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fchmod, fstat, mkdirat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The state of one repository.
#[derive(Debug)]
pub struct StateDir {
    /// Where it is.
    pub path: PathBuf,
    /// Held open: whoever swaps it for something else does not move us.
    pub folder: OwnedFd,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Nothing says where it is.
    #[error("there is no place for vplan's state: neither `XDG_STATE_HOME` nor `HOME` says where")]
    Nowhere,
    /// It belongs to somebody else, or is something else.
    #[error("`{}` is not a directory of this user's own", visible(.0.as_os_str().as_bytes()))]
    Foreign(PathBuf),
    /// The system refuses.
    #[error("vplan's state cannot be kept in `{}`: {}", visible(.0.as_os_str().as_bytes()), super::process::program::say(.1))]
    Io(PathBuf, #[source] io::Error),
}

impl StateError {
    /// How to mend it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "`--state-dir DIR` keeps it in another place"
    }
}

/// Where the state of all repositories is: `--state-dir`, or `$XDG_STATE_HOME/vplan`, or `~/.local/state/vplan`. Relative values of the
/// environment do not count (XDG Base Directory Specification).
///
/// # Errors
/// When nothing says where.
pub fn base(explicit: Option<&Path>, lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StateError> {
    if let Some(path) = explicit {
        return Ok(path.to_owned());
    }
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    base.map(|b| b.join("vplan")).ok_or(StateError::Nowhere)
}

impl StateDir {
    /// The state of the repository at `root`, by its real path, below `base`; made if it is not there. Only its user may enter.
    ///
    /// # Errors
    /// When it cannot be made, or belongs to somebody else.
    pub fn open(base: &Path, root: &Path) -> Result<Self, StateError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |e: io::Error| StateError::Io(path, e)
        };
        let real = std::fs::canonicalize(root).map_err(failed(root))?;
        let name = Digest::of(real.as_os_str().as_bytes()).hex();
        let path = base.join(name.get(..32).unwrap_or_default());
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let enter = || openat(CWD, &path, flags, Mode::empty());
        // What is there is entered, so that it can be read where nothing can be made.
        let mut entered = enter();
        if matches!(entered, Err(Errno::NOENT | Errno::NOTDIR)) {
            make_folders(base).map_err(failed(base))?;
            match mkdirat(CWD, &path, Mode::RWXU) {
                Ok(()) => sync_folder(base).map_err(failed(base))?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(StateError::Io(path, error.into())),
            }
            entered = enter();
        }
        let folder = match entered {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(StateError::Foreign(path)),
            Err(error) => return Err(StateError::Io(path, error.into())),
        };
        let stat = fstat(&folder).map_err(|e| StateError::Io(path.clone(), e.into()))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(StateError::Foreign(path));
        }
        if Mode::from_raw_mode(stat.st_mode) != Mode::RWXU {
            fchmod(&folder, Mode::RWXU).map_err(|e| StateError::Io(path.clone(), e.into()))?;
        }
        Ok(Self { path, folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is() {
        let of = |pairs: &[(&str, &str)], explicit: Option<&str>| {
            let found = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(*v));
            base(explicit.map(Path::new), found).ok()
        };
        assert_eq!(of(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], None), Some("/s/vplan".into()));
        assert_eq!(of(&[("HOME", "/h"), ("XDG_STATE_HOME", "s")], None), Some("/h/.local/state/vplan".into()));
        assert_eq!(of(&[("HOME", "h")], None), None);
        assert_eq!(of(&[], Some("x")), Some("x".into()));
    }

    #[test]
    fn one_repository_has_one_and_only_its_user_enters() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (state, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = state.path().join("link");
        symlink(tree.path(), &link).unwrap();
        let one = StateDir::open(&state.path().join("a"), tree.path()).unwrap();
        let two = StateDir::open(&state.path().join("a"), &link).unwrap();
        assert_eq!(one.path, two.path);
        assert_eq!(std::fs::metadata(&one.path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::remove_dir(&one.path).unwrap();
        symlink(tree.path(), &one.path).unwrap();
        assert!(matches!(StateDir::open(&state.path().join("a"), tree.path()), Err(StateError::Foreign(_))));
    }
}
