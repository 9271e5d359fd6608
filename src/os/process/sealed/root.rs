//! Builds the root of a sealed step: readable paths, bound read only at their own places, folders
//! of its own, and nothing else.
//!
//! One bind for a folder, one for each file: 10,000 single files take 120 ms of processor time, as much
//! as copies of 6 KiB each would, and need no memory.

use super::not_started::NotStarted;
use crate::process::sealed_files::SealedFiles;
use crate::process::sys;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
    mount_change, unmount,
};
use rustix::process::{chdir, pivot_root};
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links on the way to a file.
const LINKS: usize = 40;
/// The devices that it has, each bound from outside.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// The path of its temporary folder.
const TEMPORARY: &str = "/tmp";
/// The links in `/dev`.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// The entry at a place.
enum Place {
    /// The same as outside, read only.
    Same,
    /// A private folder, which it can change.
    Own(PathBuf),
    /// An empty, unchangeable folder for the places below it.
    Empty,
}

/// Gives this process, which has its own mounts, another root that contains its working directory.
pub(super) fn enter(files: &SealedFiles, dir: &Path) -> Result<(), NotStarted> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    // Everything bound from here is read only, too.
    sys::set_read_only(Path::new("/"), true)?;
    let view = Builder {
        base: files.new_root(),
        folders: BTreeMap::new(),
    };
    view.build(files, dir)?;
    let base = files.new_root();
    chdir(&base)?;
    // The old root covers the new one until it is removed.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    Ok(())
}

struct Builder {
    /// The present path of the new root.
    base: PathBuf,
    /// The folders that are there, by their path outside, without links.
    folders: BTreeMap<PathBuf, PathBuf>,
}

impl Builder {
    fn build(mut self, files: &SealedFiles, dir: &Path) -> Result<(), NotStarted> {
        memory(&self.base, c"mode=755")?;
        let mut places = BTreeMap::from([
            (
                PathBuf::from(TEMPORARY),
                Place::Own(files.temporary.clone()),
            ),
            (files.root.clone(), Place::Empty),
        ]);
        let readable = files
            .readable
            .iter()
            .map(|path| (path.clone(), Place::Same));
        places.extend(readable);
        let writable = files.writable.iter().enumerate();
        places.extend(writable.map(|(index, path)| (path.clone(), Place::Own(files.place(index)))));
        let mut skeletons = vec![self.base.clone()];
        // A folder comes before its content.
        let mut around: Option<PathBuf> = None;
        for (path, place) in &places {
            let is_there = around
                .as_ref()
                .is_some_and(|folder| path.starts_with(folder));
            let put = match place {
                Place::Same if is_there => Ok(()),
                Place::Same => self.same(path).map(|is_folder| {
                    around = is_folder.then(|| path.clone()).or(around.take());
                }),
                Place::Own(folder) => {
                    around = None;
                    self.own(path, folder)
                }
                // If the surroundings cannot be changed, this needs no mount.
                Place::Empty if !path.starts_with(TEMPORARY) => self.folder(path, 0).map(drop),
                Place::Empty => self.mount_point(path).and_then(|at| {
                    memory(&at, c"mode=755")?;
                    skeletons.push(at);
                    Ok(())
                }),
            };
            put.map_err(|error| NotStarted {
                error,
                place: Some(path.clone()),
            })?;
        }
        self.folder(dir, 0)?;
        self.devices()?;
        let proc = self.mount_point(Path::new("/proc"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", &proc, "proc", flags, None::<&CStr>)?;
        skeletons
            .iter()
            .try_for_each(|at| sys::set_read_only(at, false))?;
        Ok(())
    }

    /// Binds a private folder.
    fn own(&mut self, path: &Path, folder: &Path) -> io::Result<()> {
        let at = self.mount_point(path)?;
        mount_bind(folder, &at)?;
        sys::set_writable(&at)
    }

    /// Binds the entry at a path outside. Returns whether it is a folder.
    fn same(&mut self, path: &Path) -> io::Result<bool> {
        let (parent, Some(name)) = (path.parent().unwrap_or(path), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let parent = self.folder(parent, 0)?;
        let outside = parent.join(name);
        let kind = fs::symlink_metadata(&outside)?.file_type();
        if kind.is_symlink() {
            self.link(&outside)?;
            return Ok(false);
        }
        let at = self.at(&outside);
        if kind.is_dir() {
            let at = self.mount_point(&outside)?;
            mount_bind_recursive(&outside, &at)?;
            return Ok(true);
        }
        empty(&at, kind)?;
        mount_bind(&outside, &at)?;
        Ok(false)
    }

    fn devices(&mut self) -> io::Result<()> {
        let dev = self.mount_point(Path::new("/dev"))?;
        memory(&dev, c"mode=755")?;
        for name in DEVICES {
            let (outside, at) = (Path::new("/dev").join(name), dev.join(name));
            if let Ok(found) = outside.symlink_metadata() {
                empty(&at, found.file_type())?;
                mount_bind(&outside, &at)?;
            }
        }
        for (name, target) in DEVICE_LINKS {
            std::os::unix::fs::symlink(target, dev.join(name))?;
        }
        let [terminals, shared] = ["pts", "shm"].map(|name| dev.join(name));
        fs::create_dir(&terminals)?;
        fs::create_dir(&shared)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        mount("devpts", &terminals, "devpts", flags, options)?;
        memory(&shared, c"mode=1777")?;
        sys::set_read_only(&dev, false)
    }

    /// Returns the present place of a path of the step. `path`: absolute, without links.
    fn at(&self, path: &Path) -> PathBuf {
        self.base.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Makes the folder of a mount.
    fn mount_point(&mut self, path: &Path) -> io::Result<PathBuf> {
        let path = self.folder(path, 0)?;
        Ok(self.at(&path))
    }

    /// Makes a folder, and the links and folders on the way to it, like those outside. Returns its
    /// path without links.
    fn folder(&mut self, path: &Path, links: usize) -> io::Result<PathBuf> {
        if let Some(real) = self.folders.get(path) {
            return Ok(real.clone());
        }
        if links > LINKS {
            return Err(Errno::LOOP.into());
        }
        let mut real = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    real.pop();
                }
                Component::Normal(name) => real = self.step(&real, name, links)?,
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        self.folders.insert(path.to_owned(), real.clone());
        Ok(real)
    }

    /// Makes a folder in one that is there.
    fn step(&mut self, parent: &Path, name: &OsStr, links: usize) -> io::Result<PathBuf> {
        let outside = parent.join(name);
        if let Some(real) = self.folders.get(&outside) {
            return Ok(real.clone());
        }
        if let Ok(target) = fs::read_link(&outside) {
            self.link(&outside)?;
            return self.folder(&parent.join(target), links + 1);
        }
        match fs::create_dir(self.at(&outside)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.folders.insert(outside.clone(), outside.clone());
        Ok(outside)
    }

    fn link(&self, outside: &Path) -> io::Result<()> {
        let target = fs::read_link(outside)?;
        match std::os::unix::fs::symlink(target, self.at(outside)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}

/// Mounts an empty file system of memory.
fn memory(at: &Path, options: &CStr) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("vplan", at, "tmpfs", flags, options)?)
}

/// Makes an empty file as a target for a bind mount.
fn empty(at: &Path, kind: FileType) -> io::Result<()> {
    if !(kind.is_file() || kind.is_char_device()) {
        return Err(Errno::INVAL.into());
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(at, flags, Mode::RUSR)?;
    Ok(())
}
