//! Finds out which file a path means, as a process of the step would: where it is, which links led
//! there, and whether it is there at all.

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;

/// The most links that a path may lead over (path_resolution(7)).
const LINKS: usize = 40;

/// What a path was found to mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looked {
    /// The absolute path without links of the file, or of where it would be.
    pub path: Vec<u8>,
    /// The links that were followed, by their own paths without links.
    pub links: Vec<Vec<u8>>,
    pub found: Found,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Folder,
    Link,
    File,
    /// Nothing, in a folder that is there.
    Nothing,
    /// Nothing, and no folder for it.
    NoFolder,
}

impl Found {
    pub(super) fn is_there(self) -> bool {
        !matches!(self, Self::Nothing | Self::NoFolder)
    }
}

/// Looks at an absolute path, whose last link is followed or not. `None` when what it means has no
/// name: a pipe, a file that was removed.
pub(super) fn look(path: &[u8], follow: bool) -> Option<Looked> {
    match open(path, follow) {
        Ok(fd) => {
            let real = name_of(&fd)?;
            let links = if is_plain(path, &real) {
                Vec::new()
            } else {
                walk(path, follow).links
            };
            let found = match fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                Ok(FileType::Directory) => Found::Folder,
                Ok(FileType::Symlink) => Found::Link,
                _ => Found::File,
            };
            Some(Looked {
                path: real,
                links,
                found,
            })
        }
        Err(error) => Some(absent(path, follow, error)),
    }
}

fn open(path: &[u8], follow: bool) -> Result<OwnedFd, Errno> {
    let last = if follow {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC | last;
    openat(CWD, OsStr::from_bytes(path), flags, Mode::empty())
}

/// Returns the path of an open file. `None` when it has none any more.
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

/// Whether a path leads to its file over no link: it is the file's name, but for doubled slashes and
/// dots.
fn is_plain(path: &[u8], real: &[u8]) -> bool {
    let of = |path| segments(path).filter(|s| *s != b".");
    path == real || of(path).eq(of(real))
}

fn segments(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|s| !s.is_empty())
}

/// Looks at a path at which there is nothing.
fn absent(path: &[u8], follow: bool, error: Errno) -> Looked {
    let end = path.iter().rposition(|byte| *byte != b'/');
    let trimmed = path.get(..end.map_or(0, |at| at + 1)).unwrap_or_default();
    let parent = trimmed.iter().rposition(|byte| *byte == b'/');
    let split = trimmed.split_at_checked(parent.map_or(0, |at| at + 1));
    let (folder, name) = split.unwrap_or_default();
    // Most often the folder is there, and no link leads to it.
    if error == Errno::NOENT
        && !matches!(name, b"." | b"..")
        && let Ok(fd) = open(folder, true)
    {
        let is_link = follow && link(trimmed).is_ok();
        if let Some(mut real) = name_of(&fd).filter(|real| !is_link && is_plain(folder, real)) {
            append(&mut real, name);
            return Looked {
                path: real,
                links: Vec::new(),
                found: Found::Nothing,
            };
        }
    }
    let looked = walk(path, follow);
    let found = match looked.found {
        Found::NoFolder => Found::NoFolder,
        // It may be there or not.
        _ if error == Errno::ACCESS => Found::File,
        _ => Found::Nothing,
    };
    Looked { found, ..looked }
}

fn append(path: &mut Vec<u8>, name: &[u8]) {
    if path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend(name);
}

/// Walks a path segment by segment, as the system does.
fn walk(path: &[u8], follow: bool) -> Looked {
    let mut todo: Vec<Vec<u8>> = segments(path).rev().map(<[u8]>::to_vec).collect();
    let mut looked = Looked {
        path: vec![b'/'],
        links: Vec::new(),
        found: Found::Folder,
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
        match link(&looked.path) {
            Ok(_) if looked.links.len() == LINKS => {
                looked.found = Found::NoFolder;
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
                    Found::Nothing
                } else {
                    Found::NoFolder
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

fn pop(path: &mut Vec<u8>) {
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.truncate(end.max(1));
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
            ("real/in/file", true, "real/in/file", &[][..], Found::File),
            ("real//./in/", true, "real/in", &[], Found::Folder),
            ("real/in/../in/file", true, "real/in/file", &[], Found::File),
            ("link", true, "real", &["link"], Found::Folder),
            ("link", false, "link", &[], Found::Link),
            ("link/in", false, "real/in", &["link"], Found::Folder),
            (
                "third",
                true,
                "real/in/file",
                &["third", "second", "link"],
                Found::File,
            ),
            ("third", false, "third", &[], Found::Link),
            ("none", true, "none", &[], Found::Nothing),
            ("none/", true, "none", &[], Found::Nothing),
            ("none/x", true, "none/x", &[], Found::NoFolder),
            ("link/none", true, "real/none", &["link"], Found::Nothing),
            (
                "dangling",
                true,
                "real/none",
                &["dangling", "link"],
                Found::Nothing,
            ),
            ("dangling", false, "dangling", &[], Found::Link),
            (
                "real/in/file/x",
                true,
                "real/in/file/x",
                &[],
                Found::Nothing,
            ),
            ("real/in/file/", true, "real/in/file", &[], Found::Nothing),
            ("../none/../x", true, "", &[], Found::NoFolder),
        ] {
            let looked = look(&at(path), follow).unwrap();
            let links: Vec<Vec<u8>> = links.iter().map(|link| at(link)).collect();
            assert_eq!(looked.found, found, "{path} {follow}");
            assert_eq!(looked.links, links, "{path} {follow}");
            if !real.is_empty() {
                assert_eq!(looked.path, at(real), "{path} {follow}");
            }
        }
        let round = look(&at("round"), true).unwrap();
        assert_eq!((round.found, round.links.len()), (Found::NoFolder, LINKS));
    }

    #[test]
    fn what_has_no_name_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = fs::File::create(dir.path().join("gone")).unwrap();
        fs::remove_file(dir.path().join("gone")).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(look(path.as_bytes(), true), None);
        let (read, _write) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", read.as_raw_fd());
        assert_eq!(look(path.as_bytes(), true), None);
    }
}
