//! Gives this process a view of the repository: files can be changed in it without changing the
//! repository. It is an overlay over the work tree in a mount namespace, or a checkout in a
//! separate folder if the system has no overlay.
//!
//! For an overlay, vplan executes itself twice. The first new process has one thread, which the
//! system requires; it makes the view, and becomes the second one, which runs the command in the
//! view. For a checkout, it executes itself once, and works in the folder that corresponds to its
//! working directory. Written files are stored in a folder of vplan's state, which is removed at
//! the end. If the process is killed, the next view removes it.

use crate::process::namespace::{map_to_itself, own_mounts};
use crate::retry_eintr::open;
use crate::scratch::{self, Scratch};
use crate::{files, own_program};
use rustix::fd::{AsRawFd as _, IntoRawFd as _, OwnedFd};
use rustix::fs::{CWD, OFlags, fstat, stat};
use rustix::io::FdFlags;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vplan_base::word::visible;

/// The first argument of the process that makes a view. No user types it.
const ARGUMENT: &str = "__view";
/// The first argument of the process that tries whether the system supports an overlay; the others
/// are the repository's root, the state, and the kept folders. Not for users.
const TRY: &str = "__try-view";
/// The longest time that trying may take.
const LIMIT: Duration = Duration::from_secs(20);
/// The work tree of a checkout, in the folder of its view.
const TREE: &str = "tree";
/// The variable that describes the view: the folder of written files, and the descriptor of the
/// repository itself. `FD:FOLDER`.
const VARIABLE: &str = "VPLAN_VIEW";
/// The folder of all views, in vplan's state.
const FOLDER: &str = "views";
const VIEWS: scratch::ScratchKind = scratch::ScratchKind {
    prefix: "view-",
    remove,
};

/// The reason why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The system refuses an operation.
    #[error("{what}: {}", crate::process::program::message_of(.error))]
    Refused {
        what: &'static str,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// Another file system is mounted inside the repository: an overlay does not show it.
    #[error("`{}` is a file system of its own", vplan_base::word::visible_path(.0))]
    Mounted(PathBuf),
}

impl ViewError {
    /// Makes the error of a part that the system refuses.
    pub fn refused(what: &'static str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::Refused { what, error }
    }
}

/// Executes vplan again with the arguments of this process, to make a view and run in it. Returns
/// only if that fails.
pub fn start() -> io::Error {
    own_program::again(None, |words| words.insert(0, ARGUMENT.into()))
}

/// Takes the argument of [`start`] out of a command line. Returns whether it was there.
pub fn is_asked(arguments: &mut Vec<OsString>) -> bool {
    let is_asked = arguments.get(1).is_some_and(|word| word == ARGUMENT);
    if is_asked {
        arguments.remove(1);
    }
    is_asked
}

/// Tries in a separate process whether the system supports a view of the repository at `root`. If
/// an operation failed in this process, it would stay in a namespace.
///
/// # Errors
/// The reason why it is not supported.
pub fn attempt(root: &Path, state: &Path, kept: &[PathBuf]) -> io::Result<()> {
    let mut words: Vec<OsString> = vec![TRY.into(), root.into(), state.into()];
    words.extend(kept.iter().map(OsString::from));
    let tried = own_program::run(&words, LIMIT)?;
    match tried.exit {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(visible(tried.stderr.trim_ascii()))),
    }
}

/// Answers a command line of [`attempt`]: makes the view, and removes it. `None` for every other.
pub fn attempted(arguments: &[OsString]) -> Option<Result<(), ViewError>> {
    let [_, first, root, state, kept @ ..] = arguments else {
        return None;
    };
    (first == TRY).then(|| {
        let kept: Vec<PathBuf> = kept.iter().map(PathBuf::from).collect();
        separate()?;
        View::make(Path::new(root), Path::new(state), &kept).map(View::discard)
    })
}

/// A view that is being made.
#[derive(Debug)]
pub struct View {
    dir: PathBuf,
    lock: OwnedFd,
    /// The repository itself.
    real: OwnedFd,
}

/// Moves this process into a new mount namespace: the first step, which requires a single thread.
///
/// # Errors
/// The system refuses.
pub fn separate() -> Result<(), ViewError> {
    let own = (rustix::process::geteuid(), rustix::process::getegid());
    let refused = |what| move |e: rustix::io::Errno| ViewError::refused(what, e);
    if own_mounts().map_err(refused("no namespace of its own for mounts"))? {
        map_to_itself(own).map_err(|e| ViewError::refused("no user namespace", e))?;
    }
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(refused("the mounts cannot be made private"))
}

impl View {
    /// Makes the view of the repository at `root`, and enters it. `state`: vplan's state directory;
    /// `kept`: folders inside the repository that the view does not replace, so that changes there
    /// persist.
    ///
    /// # Errors
    /// The system refuses.
    pub fn make(root: &Path, state: &Path, kept: &[PathBuf]) -> Result<Self, ViewError> {
        let refused = |what| move |e: io::Error| ViewError::refused(what, e);
        if let Some(inside) = mounted_inside(root, kept).map_err(refused("the mounts"))? {
            return Err(ViewError::Mounted(inside));
        }
        let (dir, lock) = folder(state)?;
        let open = |path: &Path| open(CWD, path, OFlags::PATH);
        let entered = || -> io::Result<OwnedFd> {
            let (upper, work) = (dir.join("upper"), dir.join("work"));
            std::fs::create_dir(&upper)?;
            std::fs::create_dir(&work)?;
            // Programs must find the same permissions as on the repository itself.
            std::fs::set_permissions(&upper, root.metadata()?.permissions())?;
            let real = open(root)?;
            let here = std::env::current_dir()?;
            let under = kept.iter().map(|path| Ok((path, open(path)?)));
            let under: Vec<(&PathBuf, OwnedFd)> = under.collect::<io::Result<_>>()?;
            let (upper, work) = (open(&upper)?, open(&work)?);
            let [lower, over, own] = [&real, &upper, &work].map(descriptor_path);
            let options = format!("lowerdir={lower},upperdir={over},workdir={own},userxattr");
            let options = CString::new(options)?;
            mount(
                "vplan",
                root,
                "overlay",
                MountFlags::empty(),
                options.as_c_str(),
            )?;
            // Only the overlay may be written, never the repository itself.
            if stat(root)?.st_dev == fstat(&real)?.st_dev {
                return Err(io::Error::other("it is not there"));
            }
            for (path, folder) in under {
                mount_bind_recursive(descriptor_path(&folder), path)?;
            }
            // The working directory still is the one below the view.
            std::env::set_current_dir(&here)?;
            Ok(real)
        };
        match entered() {
            Ok(real) => Ok(Self { dir, lock, real }),
            Err(error) => {
                let _ = remove(&dir);
                Err(ViewError::refused("no overlay over the work tree", error))
            }
        }
    }

    /// Makes an empty folder for a checkout of the repository at `root`. `state`: vplan's state
    /// directory.
    ///
    /// # Errors
    /// The system refuses.
    pub fn create(root: &Path, state: &Path) -> Result<Self, ViewError> {
        let real =
            open(CWD, root, OFlags::PATH).map_err(|e| ViewError::refused("the repository", e))?;
        let (dir, lock) = folder(state)?;
        Ok(Self { dir, lock, real })
    }

    /// Returns the place for the work tree of a checkout.
    pub fn tree(&self) -> PathBuf {
        self.dir.join(TREE)
    }

    /// Returns the place for the git directory of a checkout.
    pub fn git_dir(&self) -> PathBuf {
        self.dir.join("git")
    }

    /// Removes the written files of a view that is not used.
    pub fn discard(self) {
        let _ = remove(&self.dir);
    }

    /// Executes vplan in the view, with the arguments of this process. Returns only if that fails.
    pub fn execute(self) -> io::Error {
        let stays = |fd: OwnedFd| {
            rustix::io::fcntl_setfd(&fd, FdFlags::empty())?;
            Ok::<_, io::Error>(fd.into_raw_fd())
        };
        let (real, locked) = (stays(self.real), stays(self.lock));
        let (Ok(real), Ok(_)) = (real, locked) else {
            let _ = remove(&self.dir);
            return io::Error::other("no descriptor for it");
        };
        let mut value = OsString::from(format!("{real}:"));
        value.push(&self.dir);
        let error = own_program::again(Some((VARIABLE, &value)), |words| {
            if words.first().is_some_and(|word| word == ARGUMENT) {
                words.remove(0);
            }
        });
        let _ = remove(&self.dir);
        error
    }
}

/// Whether this process runs in a view of this repository. The variable alone does not suffice: it
/// is ignored for a repository that is not on an overlay.
pub fn is_inside(root: &Path) -> bool {
    places().is_some_and(|(_, dir)| is_tree_of(root, &dir) || files::is_overlay(root))
}

/// Returns the repository that the work tree at `root` was checked out from, if this process runs
/// in such a checkout. `state`: vplan's state directory, which holds every checkout.
pub fn checked_out_from(root: &Path, state: &Path) -> Option<PathBuf> {
    let (real, dir) = places()?;
    let state = std::path::absolute(state).ok()?;
    let is_ours = dir.parent() == Some(&*state.join(FOLDER)) && is_tree_of(root, &dir);
    is_ours.then(|| std::fs::read_link(real).ok()).flatten()
}

/// Returns the path by which the repository itself is reached from the view that this process runs
/// in, and the folder of the view, which is removed at its end.
pub fn places() -> Option<(PathBuf, PathBuf)> {
    let value = std::env::var_os(VARIABLE)?;
    let value = value.as_bytes();
    let (fd, dir) = value.split_at_checked(value.iter().position(|b| *b == b':')?)?;
    let fd: u32 = std::str::from_utf8(fd).ok()?.parse().ok()?;
    let dir = OsStr::from_bytes(dir.get(1..)?);
    Some((format!("/proc/self/fd/{fd}").into(), PathBuf::from(dir)))
}

/// Whether this process is to work in a checkout.
pub fn has_checkout() -> bool {
    places().is_some_and(|(_, dir)| dir.join(TREE).is_dir())
}

/// Enters the folder of the checkout that is the working directory's counterpart, if this process is
/// to work in a checkout of the repository around it.
///
/// # Errors
/// Errors of the system.
pub fn enter_checkout() -> io::Result<()> {
    if let Some((real, dir)) = places()
        && let Ok(below) = std::env::current_dir()?.strip_prefix(std::fs::read_link(real)?)
    {
        let here = dir.join(TREE).join(below);
        std::fs::create_dir_all(&here)?;
        std::env::set_current_dir(here)?;
    }
    Ok(())
}

/// Whether a root is the work tree of the checkout in the folder of a view.
fn is_tree_of(root: &Path, dir: &Path) -> bool {
    dir.join(TREE).canonicalize().is_ok_and(|tree| tree == root)
}

/// If this process runs in a view, removes its written files, as the last step. `state`: vplan's
/// state directory.
pub fn leave(state: &Path) {
    if let Some((_, dir)) = places()
        && dir.parent() == Some(&*state.join(FOLDER))
    {
        let _ = remove(&dir);
    }
}

/// Returns the path for a file that the caller named, which belongs to the repository itself even
/// if this process runs in a view of it.
pub fn outside(path: &Path) -> PathBuf {
    let real = || {
        let (real, dir) = places()?;
        let home = std::fs::read_link(&real).ok()?;
        // In an overlay the descriptor alone leads to the repository itself.
        let (root, real) = match dir.join(TREE).canonicalize() {
            Ok(tree) => (tree, home),
            Err(_) => (home, real),
        };
        is_inside(&root).then_some(())?;
        let file = std::path::absolute(path).ok()?;
        let folder = file.parent()?.canonicalize().ok()?;
        let below = folder.strip_prefix(&root).ok()?;
        Some(real.join(below).join(file.file_name()?))
    };
    real().unwrap_or_else(|| path.to_owned())
}

/// Makes the folder of a view in vplan's state. Returns it with its lock.
fn folder(state: &Path) -> Result<(PathBuf, OwnedFd), ViewError> {
    let views = state.join(FOLDER);
    let made = files::make_folders(&views).and_then(|()| Scratch::below(&views, VIEWS));
    let made = made.map_err(|e| ViewError::refused("no folder for it", e))?;
    Ok(made.keep())
}

/// The path of an open file, which needs no quotes among mount options.
fn descriptor_path(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// Removes the folder of a view. The kernel's own folder in it cannot be entered at first.
fn remove(dir: &Path) -> io::Result<()> {
    let own = dir.join("work/work");
    if own.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o700))?;
    }
    std::fs::remove_dir_all(dir)
}

/// Returns a mount point inside the repository that is not in a kept folder.
fn mounted_inside(root: &Path, kept: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let text = std::fs::read("/proc/self/mountinfo")?;
    let points = text
        .split(|b| *b == b'\n')
        .filter_map(|line| line.split(|b| *b == b' ').nth(4))
        .map(|point| PathBuf::from(OsString::from_vec(unescaped(point))));
    let is_inside = |point: &PathBuf| {
        point.starts_with(root)
            && point != root
            && !kept.iter().any(|folder| point.starts_with(folder))
    };
    Ok(points.into_iter().find(is_inside))
}

/// Undoes the octal escapes of `/proc/PID/mountinfo`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, next)) = rest.split_first() {
        let digits = next.get(..3).filter(|_| *first == b'\\');
        let code = digits
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 8).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = next.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = next;
            }
        }
    }
    bytes
}
