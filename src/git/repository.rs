//! Finds the repository and the checked-out commit from its files, because each call of git costs a
//! process.
//!
//! Anything unusual is answered with `None` ("call git"), never guessed.

use super::error::{GitError, unread};
use super::object::Oid;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_os::files;

/// A work tree and the directories of its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The work tree's root, absolute, without symlinks.
    pub root: PathBuf,
    /// The directory of HEAD and the index: `.git`, or the target of the file `.git` (linked work
    /// trees, submodules).
    pub git_dir: PathBuf,
    /// The directory of the references, which linked work trees share.
    pub common_dir: PathBuf,
    /// The file of the index.
    pub index: PathBuf,
}

/// The result of walking up from a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// A work tree.
    WorkTree(Layout),
    /// A repository without one.
    Bare(PathBuf),
    /// No repository.
    Nothing,
}

/// Walks up from a directory (absolute, without symlinks) to the first work tree.
pub fn discover(start: &Path) -> Discovery {
    for dir in start.ancestors() {
        if let Some(layout) = at(dir) {
            return Discovery::WorkTree(layout);
        }
        if is_git_dir(dir) {
            return Discovery::Bare(dir.to_owned());
        }
    }
    Discovery::Nothing
}

/// Returns the work tree with exactly this root.
pub fn at(root: &Path) -> Option<Layout> {
    let dot_git = root.join(".git");
    let kind = fs::symlink_metadata(&dot_git).ok()?;
    let git_dir = if kind.is_file() {
        let text = small_file(&dot_git)?;
        let target = text.strip_prefix(b"gitdir: ")?;
        root.join(std::ffi::OsStr::from_bytes(target.trim_ascii_end()))
    } else {
        dot_git
    };
    is_git_dir(&git_dir).then(|| {
        let common = small_file(&git_dir.join("commondir"));
        let common_dir = match common {
            Some(path) => git_dir.join(std::ffi::OsStr::from_bytes(path.trim_ascii_end())),
            None => git_dir.clone(),
        };
        Layout {
            root: root.to_owned(),
            index: git_dir.join("index"),
            git_dir,
            common_dir,
        }
    })
}

/// Applies git's own test: HEAD, and objects and refs, which a linked work tree has elsewhere.
fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").symlink_metadata().is_ok()
        && (dir.join("commondir").is_file()
            || (dir.join("objects").is_dir() && dir.join("refs").is_dir()))
}

/// Reads a file of the repository that is small if it is valid.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    files::read_plain(path, 64 * 1024).ok()
}

/// Whether a file's content is that of a reference.
pub(crate) fn is_reference_file(path: &Path) -> bool {
    small_file(path).is_some_and(|text| {
        text.starts_with(b"ref: ") || Oid::parse(text.trim_ascii_end()).is_some()
    })
}

/// Finds a reference in the text of `packed-refs`; `Some(None)` for one whose id cannot be read.
pub(super) fn find_packed(text: &[u8], name: &[u8]) -> Option<Option<Oid>> {
    text.split(|b| *b == b'\n').find_map(|line| {
        let (id, rest) = line.split_at_checked(line.iter().position(|b| *b == b' ')?)?;
        (rest.strip_prefix(b" ")? == name).then(|| Oid::parse(id))
    })
}

impl Layout {
    /// Returns the commit of HEAD, if the files have the usual form. `None` (an unborn branch,
    /// another form of storage, anything unusual) requires a call of git.
    pub fn head(&self) -> Option<Oid> {
        let mut text = small_file(&self.git_dir.join("HEAD"))?;
        for _ in 0..5 {
            let line = text.strip_suffix(b"\n").unwrap_or(&text);
            let Some(name) = line.strip_prefix(b"ref: ") else {
                return Oid::parse(line);
            };
            let plain = |s: &[u8]| !matches!(s, b"" | b"." | b"..");
            let shared = name.starts_with(b"refs/heads/") || name.starts_with(b"refs/remotes/");
            if !shared || !name.split(|b| *b == b'/').all(plain) {
                return None;
            }
            match small_file(&self.common_dir.join(std::ffi::OsStr::from_bytes(name))) {
                Some(next) => text = next,
                None => return self.packed(name),
            }
        }
        None
    }

    /// Returns the object of a reference that is not a file of its own.
    pub(super) fn packed(&self, name: &[u8]) -> Option<Oid> {
        let path = self.common_dir.join("packed-refs");
        let bytes = files::read_plain(&path, 64 * 1024 * 1024).ok()?;
        find_packed(&bytes, name)?
    }

    /// Checks that git does not wait for one of the repository's own files.
    pub(super) fn is_readable(&self) -> Result<(), GitError> {
        let own = ["HEAD", "index", "config.worktree"].map(|name| self.git_dir.join(name));
        let shared = ["config", "packed-refs", "info/exclude", "shallow"];
        let shared = shared.map(|name| self.common_dir.join(name));
        for file in own.into_iter().chain(shared) {
            let shown = file.strip_prefix(&self.root).unwrap_or(&file);
            unread(shown.as_os_str().as_bytes(), file.metadata())?;
        }
        Ok(())
    }

    /// Whether a file gives commits other parents than their own.
    pub fn has_grafts(&self) -> bool {
        fs::symlink_metadata(self.common_dir.join("info/grafts")).is_ok()
    }

    /// Whether the clone is shallow.
    pub fn is_shallow(&self) -> bool {
        fs::symlink_metadata(self.common_dir.join("shallow")).is_ok_and(|m| m.len() > 0)
    }
}
