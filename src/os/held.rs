//! Becomes a program that can change a repository, but not the files that control its verification.
//!
//! Landlock allows no exceptions inside a writable folder. So protected paths are mounted onto
//! themselves, read only, in a mount namespace of this process. For that, vplan executes itself: a
//! new process has a single thread. It makes the mounts, confines itself, and becomes the program.

use crate::process::confine::{Confine, Writable, devices};
use crate::process::namespace::own_shared_memory;
use crate::retry_eintr::{open, openat};
use crate::{own_program, view};
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_bind_recursive, mount_remount};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use vplan_check::confine::SandboxLevel;

/// The first argument of such a process. The second is a [`HeldFiles`] as JSON, the others the
/// program and its arguments. Not for users.
const ARGUMENT: &str = "__held";
/// The exit code if the program was not started.
const UNHELD: u8 = 126;

/// The paths that a program can change, and the protected ones among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldFiles {
    /// The folders in which it may change everything else: absolute paths.
    pub writable: Vec<PathBuf>,
    /// Files and folders below `writable` that must not change. Missing ones are omitted.
    pub kept: BTreeSet<PathBuf>,
}

/// A part of holding a program that the system refuses.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {error}")]
pub(crate) struct Unheld {
    what: String,
    error: io::Error,
}

fn refused(what: impl Into<String>) -> impl FnOnce(io::Error) -> Unheld {
    let what = what.into();
    move |error| Unheld { what, error }
}

/// Handles the command line of such a process: becomes the program, and returns only if that fails.
/// `None` for every other command line.
pub fn held_if_asked(arguments: &[OsString]) -> Option<u8> {
    let [_, first, held, program, words @ ..] = arguments else {
        return None;
    };
    if first != ARGUMENT {
        return None;
    }
    let held = serde_json::from_slice::<HeldFiles>(held.as_bytes());
    let become_it = held
        .map_err(|error| refused("it is not said what it may change")(error.into()))
        .and_then(|held| held.apply())
        .map(|()| Command::new(program).args(words).exec());
    match become_it {
        Ok(error) => eprintln!("vplan: `{}`: {error}", Path::new(program).display()),
        Err(unheld) => eprintln!("vplan: it could not be confined: {unheld}"),
    }
    Some(UNHELD)
}

impl HeldFiles {
    /// Returns the words that run a program so. `program`: an absolute path.
    ///
    /// # Errors
    /// The path of vplan's own program is unknown.
    pub fn words(&self, program: &Path) -> io::Result<[OsString; 4]> {
        Ok([
            own_program::program()?.into_os_string(),
            ARGUMENT.into(),
            serde_json::to_string(self)?.into(),
            program.as_os_str().to_owned(),
        ])
    }

    /// Tries whether this system can restrict a program in this way.
    ///
    /// # Errors
    /// It cannot; the reason, for people.
    pub fn attempt(&self) -> io::Result<()> {
        let [own, words @ ..] = self.words(&own_program::program()?)?;
        let tried = Command::new(own).args(words).arg("--version").output()?;
        if tried.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        Err(io::Error::other(said.trim().trim_start_matches("vplan: ")))
    }

    /// Restricts this process, which must have one thread, and checks that the restrictions hold.
    fn apply(&self) -> Result<(), Unheld> {
        let kept: BTreeSet<&PathBuf> = self.kept.iter().filter(|path| path.exists()).collect();
        // A mount below a protected folder would stay writable.
        let outermost = |path: &&&PathBuf| !kept.iter().any(|o| path.starts_with(o) && o != *path);
        let kept: BTreeSet<&PathBuf> = kept.iter().filter(outermost).copied().collect();
        view::separate()
            .map_err(|error| refused("there are no mounts of its own")(io::Error::other(error)))?;
        own_shared_memory().map_err(refused("there is no shared memory of its own"))?;
        for folder in self.around(&kept) {
            mount_bind_recursive(folder, folder)
                .map_err(io::Error::from)
                .map_err(refused(format!("`{}` cannot be held", folder.display())))?;
        }
        for path in &kept {
            read_only(path).map_err(refused(format!(
                "`{}` cannot be kept as it is",
                path.display()
            )))?;
        }
        let confine = Confine::new(SandboxLevel::Guard.guarantees())
            .map_err(refused("Landlock's rules cannot be made"))?;
        let writable = self.writable.iter().map(|path| Writable::open(path));
        for one in writable.chain(devices().into_iter().map(Ok)) {
            one.map_err(io::Error::from)
                .and_then(|one| confine.let_change(&one))
                .map_err(refused("what it may change cannot be opened"))?;
        }
        confine
            .apply()
            .map_err(|why| refused("it is not confined")(io::Error::other(why)))?;
        // A mount that seems to work and protects nothing would be worse than none.
        match kept.iter().find(|path| !is_kept(path)) {
            Some(path) => {
                let what = format!("`{}` can still be changed", path.display());
                Err(refused(what)(io::ErrorKind::Other.into()))
            }
            None => Ok(()),
        }
    }

    /// Returns the folders around protected paths, below the writable ones, the outermost first.
    /// They are mounts too, so that none can be moved away with its content.
    fn around<'p>(&self, kept: &BTreeSet<&'p PathBuf>) -> BTreeSet<&'p Path> {
        let is_inside = |path: &&Path| {
            let mut writable = self.writable.iter();
            writable.any(|folder| *path != folder && path.starts_with(folder))
        };
        let around = kept.iter().flat_map(|path| path.ancestors().skip(1));
        around.filter(is_inside).collect()
    }
}

/// Mounts a file or folder onto itself, read only.
fn read_only(path: &Path) -> io::Result<()> {
    mount_bind_recursive(path, path)?;
    // Restrictions of an existing mount must stay.
    let had = statvfs(path)?.f_flag;
    let same = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let same = same.into_iter().filter(|(had_it, _)| had.contains(*had_it));
    let flags = same.fold(MountFlags::BIND | MountFlags::RDONLY, |flags, (_, one)| {
        flags | one
    });
    Ok(mount_remount(path, flags, c"")?)
}

/// Whether a file, or the entries of a folder, cannot be changed.
fn is_kept(path: &Path) -> bool {
    let flags = OFlags::CLOEXEC | OFlags::WRONLY;
    let tried = if path.is_dir() {
        let name = path.join(".vplan-tries");
        let flags = flags | OFlags::CREATE | OFlags::EXCL;
        openat(CWD, &name, flags, Mode::RUSR).inspect(|_| drop(std::fs::remove_file(&name)))
    } else {
        open(CWD, path, flags)
    };
    matches!(tried, Err(Errno::ROFS | Errno::ACCESS | Errno::PERM))
}
