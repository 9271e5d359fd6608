//! Resolves a path as a process of the step would: the file, the links that lead to it, and whether
//! it exists.

use crate::retry_eintr::{open, openat2};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, OFlags, ResolveFlags, fstat, readlinkat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;

/// Maximum number of links in a path (path_resolution(7)).
const LINKS: usize = 40;

/// The resolved meaning of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looked {
    /// The absolute path, without links, of the file, even if it does not exist.
    pub path: Vec<u8>,
    /// The links that were followed, by their own paths without links.
    pub links: Vec<Vec<u8>>,
    pub found: FileKind,
}

/// The kind of entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Folder,
    Link,
    File,
    /// Nothing, in a folder that is there.
    Nothing,
    /// Nothing, and no folder for it.
    NoFolder,
}

impl FileKind {
    pub(super) fn is_there(self) -> bool {
        !matches!(self, Self::Nothing | Self::NoFolder)
    }
}

/// The root of a step's paths: that of this process, or a separate one, held open. The system never
/// leaves the latter, whatever links there are.
#[derive(Default)]
pub(super) struct View(Option<OwnedFd>);

impl View {
    /// Makes the view of a step with a separate root.
    pub(super) fn below(root: OwnedFd) -> Self {
        Self(Some(root))
    }

    /// Whether it is another root than that of this process.
    pub(super) fn is_other(&self) -> bool {
        self.0.is_some()
    }

    /// Resolves an absolute path; `follow`: also if the last part is a link. `None` if the target
    /// has no name: a pipe, a file that was removed.
    pub(super) fn resolve(&self, path: &[u8], follow: bool) -> Option<Looked> {
        self.looked(path, follow, kind)
    }

    /// Does the same without checking the kind of file: [`FileKind::File`] means any.
    pub(super) fn exists(&self, path: &[u8], follow: bool) -> Option<Looked> {
        self.looked(path, follow, |_| FileKind::File)
    }

    /// Opens a file to read it, without waiting for the other end of a pipe.
    pub(super) fn file(&self, path: &[u8]) -> Option<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.opened(path, flags, ResolveFlags::empty());
        opened.ok().map(File::from)
    }

    fn looked(&self, path: &[u8], follow: bool, kind: fn(&OwnedFd) -> FileKind) -> Option<Looked> {
        let straight = |path, found| {
            Some(Looked {
                path,
                links: Vec::new(),
                found,
            })
        };
        let is_plain = segments(path).all(|segment| segment != b"..");
        // If it stays below a root, the system may be unable to resolve `..` at once.
        if self.is_other() && !is_plain {
            return self.linked(path, follow, kind);
        }
        // Most paths contain no link, so only their dots must be resolved.
        match self.open(path, follow, ResolveFlags::NO_SYMLINKS) {
            Ok(fd) => straight(normal(path), kind(&fd)),
            Err(Errno::NOENT) if is_plain => {
                let path = normal(path);
                let is_in_folder = self.is_there(parent(&path));
                let found = if is_in_folder {
                    FileKind::Nothing
                } else {
                    FileKind::NoFolder
                };
                straight(path, found)
            }
            Err(_) => self.linked(path, follow, kind),
        }
    }

    fn is_there(&self, path: &[u8]) -> bool {
        let (root, path) = self.place(path);
        statat(root, OsStr::from_bytes(path), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Returns the target of a link, to which no other link leads.
    fn link(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let (root, path) = self.place(path);
        let target = readlinkat(root, OsStr::from_bytes(path), Vec::new())?;
        Ok(target.into_bytes())
    }

    /// Returns the folder that a path without links is relative to, and its name there.
    fn place<'p>(&self, path: &'p [u8]) -> (BorrowedFd<'_>, &'p [u8]) {
        let Some(root) = &self.0 else {
            return (CWD, path);
        };
        match path.strip_prefix(b"/") {
            Some(b"") => (root.as_fd(), b"."),
            below => (root.as_fd(), below.unwrap_or(path)),
        }
    }

    fn open(&self, path: &[u8], follow: bool, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
        let last = if follow {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        self.opened(path, OFlags::PATH | last, resolve)
    }

    fn opened(&self, path: &[u8], flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
        let (root, resolve) = match &self.0 {
            None => (CWD, resolve),
            Some(root) => (root.as_fd(), resolve | ResolveFlags::IN_ROOT),
        };
        let path = OsStr::from_bytes(path);
        if resolve.is_empty() {
            open(root, path, flags)
        } else {
            openat2(root, path, flags, resolve)
        }
    }

    /// Resolves a path that leads over links, or does not exist.
    fn linked(&self, path: &[u8], follow: bool, kind: fn(&OwnedFd) -> FileKind) -> Option<Looked> {
        let walked = self.walk(path, follow);
        // Below another root, the resolved place, without links or `..`.
        let end: &[u8] = if path.ends_with(b"/") { b"/" } else { b"" };
        let there = [&walked.path, end].concat();
        let path = if self.is_other() { &there } else { path };
        let (path, found) = match self.open(path, follow, ResolveFlags::empty()) {
            Ok(fd) => (name_of(&fd)?, kind(&fd)),
            // It may be there or not.
            Err(Errno::ACCESS) => (walked.path, FileKind::File),
            Err(_) if walked.found == FileKind::NoFolder => (walked.path, FileKind::NoFolder),
            Err(_) => (walked.path, FileKind::Nothing),
        };
        Some(Looked {
            path,
            links: walked.links,
            found,
        })
    }

    /// Walks a path segment by segment, as the system does.
    fn walk(&self, path: &[u8], follow: bool) -> Looked {
        let mut todo: Vec<Vec<u8>> = segments(path).rev().map(<[u8]>::to_vec).collect();
        let mut looked = Looked {
            path: vec![b'/'],
            links: Vec::new(),
            found: FileKind::Folder,
        };
        while let Some(segment) = todo.pop() {
            match &segment[..] {
                b"." => continue,
                b".." => {
                    pop(&mut looked.path);
                    continue;
                }
                name => append(&mut looked.path, name),
            }
            if !follow && todo.is_empty() {
                break;
            }
            match self.link(&looked.path) {
                Ok(_) if looked.links.len() == LINKS => {
                    looked.found = FileKind::NoFolder;
                    return looked;
                }
                Ok(target) => {
                    let mut at = looked.path.clone();
                    looked.links.push(looked.path.clone());
                    pop(&mut at);
                    looked.path = if target.first() == Some(&b'/') {
                        vec![b'/']
                    } else {
                        at
                    };
                    todo.extend(segments(&target).rev().map(<[u8]>::to_vec));
                }
                Err(Errno::INVAL) => {}
                Err(_) => {
                    looked.found = if todo.is_empty() {
                        FileKind::Nothing
                    } else {
                        FileKind::NoFolder
                    };
                    todo.iter()
                        .rev()
                        .for_each(|rest| append(&mut looked.path, rest));
                    return looked;
                }
            }
        }
        looked
    }
}

fn kind(fd: &OwnedFd) -> FileKind {
    match fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Directory) => FileKind::Folder,
        Ok(FileType::Symlink) => FileKind::Link,
        _ => FileKind::File,
    }
}

/// Returns the path of an open file. `None` if it was deleted.
fn name_of(fd: &OwnedFd) -> Option<Vec<u8>> {
    let real = link(format!("/proc/self/fd/{}", fd.as_raw_fd()).as_bytes()).ok()?;
    let is_gone = || fstat(fd).is_ok_and(|stat| stat.st_nlink == 0);
    if real.first() != Some(&b'/') || (real.ends_with(b" (deleted)") && is_gone()) {
        return None;
    }
    Some(real)
}

/// Returns the target of a link.
pub(super) fn link(path: &[u8]) -> Result<Vec<u8>, Errno> {
    readlinkat(CWD, OsStr::from_bytes(path), Vec::new()).map(|target| target.into_bytes())
}

/// Returns a path without dots and doubled slashes.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut normal = Vec::with_capacity(path.len());
    for segment in segments(path) {
        match segment {
            b"." => {}
            b".." => pop(&mut normal),
            name => append(&mut normal, name),
        }
    }
    if normal.is_empty() {
        normal.push(b'/');
    }
    normal
}

fn segments(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|s| !s.is_empty())
}

fn append(path: &mut Vec<u8>, name: &[u8]) {
    if path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend(name);
}

fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.get(..end.max(1)).unwrap_or_default()
}

fn pop(path: &mut Vec<u8>) {
    let length = parent(path).len();
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn bytes(path: &Path) -> Vec<u8> {
        path.as_os_str().as_bytes().to_vec()
    }

    #[test]
    fn links_are_followed_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |name: &str| bytes(&root.join(name));
        fs::create_dir_all(root.join("real/in")).unwrap();
        fs::write(root.join("real/in/file"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink(root.join("link/in"), root.join("second")).unwrap();
        symlink("second/file", root.join("third")).unwrap();
        symlink("link/none", root.join("dangling")).unwrap();
        symlink("round", root.join("round")).unwrap();
        for (path, follow, real, links, found) in [
            (
                "real/in/file",
                true,
                "real/in/file",
                &[][..],
                FileKind::File,
            ),
            ("real//./in/", true, "real/in", &[], FileKind::Folder),
            (
                "real/in/../in/file",
                true,
                "real/in/file",
                &[],
                FileKind::File,
            ),
            ("link", true, "real", &["link"], FileKind::Folder),
            ("link", false, "link", &[], FileKind::Link),
            ("link/in", false, "real/in", &["link"], FileKind::Folder),
            (
                "third",
                true,
                "real/in/file",
                &["third", "second", "link"],
                FileKind::File,
            ),
            ("third", false, "third", &[], FileKind::Link),
            ("none", true, "none", &[], FileKind::Nothing),
            ("none/", true, "none", &[], FileKind::Nothing),
            ("none/x", true, "none/x", &[], FileKind::NoFolder),
            ("link/none", true, "real/none", &["link"], FileKind::Nothing),
            (
                "dangling",
                true,
                "real/none",
                &["dangling", "link"],
                FileKind::Nothing,
            ),
            ("dangling", false, "dangling", &[], FileKind::Link),
            (
                "real/in/file/x",
                true,
                "real/in/file/x",
                &[],
                FileKind::Nothing,
            ),
            (
                "real/in/file/",
                true,
                "real/in/file",
                &[],
                FileKind::Nothing,
            ),
            ("../none/../x", true, "", &[], FileKind::NoFolder),
        ] {
            let links: Vec<Vec<u8>> = links.iter().map(|link| at(link)).collect();
            let whole = fs::File::open("/").unwrap();
            for view in [View::default(), View::below(whole.into())] {
                let looked = view.resolve(&at(path), follow).unwrap();
                assert_eq!(looked.found, found, "{path} {follow}");
                assert_eq!(looked.links, links, "{path} {follow}");
                if !real.is_empty() {
                    assert_eq!(looked.path, at(real), "{path} {follow}");
                }
            }
        }
        let round = View::default().resolve(&at("round"), true).unwrap();
        assert_eq!(
            (round.found, round.links.len()),
            (FileKind::NoFolder, LINKS)
        );
    }

    #[test]
    fn nothing_leads_out_of_another_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("own/etc")).unwrap();
        fs::write(root.join("own/etc/x"), "").unwrap();
        fs::write(root.join("secret"), "").unwrap();
        symlink("/etc/x", root.join("own/absolute")).unwrap();
        symlink("../../secret", root.join("own/up")).unwrap();
        let view = View::below(fs::File::open(root.join("own")).unwrap().into());
        let named = |name: &str| bytes(&root.join("own").join(name));
        // The names are those that the system has for the files.
        let found = |path: &[u8]| {
            view.resolve(path, true)
                .map(|looked| (looked.found, looked.path))
        };
        for path in [
            "/etc/x",
            "/absolute",
            "/etc/../absolute",
            "/../etc/x",
            "//etc/./x",
        ] {
            let is_through = !path.contains("absolute") && !path.contains("..");
            let (kind, name) = found(path.as_bytes()).unwrap();
            assert_eq!(kind, FileKind::File, "{path}");
            let want = if is_through {
                b"/etc/x".to_vec()
            } else {
                named("etc/x")
            };
            assert_eq!(name, want, "{path}");
        }
        for path in ["/up", "/../secret", "/etc/../../secret"] {
            let kind = found(path.as_bytes()).map(|(kind, _)| kind);
            assert_eq!(kind, Some(FileKind::Nothing), "{path}");
        }
        assert!(view.file(b"/absolute").is_some() && view.file(b"/../secret").is_none());
        assert!(view.file(b"/etc/../../secret").is_none());
    }

    #[test]
    fn what_has_no_name_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = fs::File::create(dir.path().join("gone")).unwrap();
        fs::remove_file(dir.path().join("gone")).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(View::default().resolve(path.as_bytes(), true), None);
        let (read, _write) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", read.as_raw_fd());
        assert_eq!(View::default().resolve(path.as_bytes(), true), None);
    }
}
