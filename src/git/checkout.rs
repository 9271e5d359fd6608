//! Copies the tracked files into a separate folder: an additional work tree, with a git directory
//! that shares the repository's objects and references.

use super::error::{GitError, failed};
use super::index::{IndexEntry, SUBMODULE, SYMLINK};
use super::snapshot::id_length;
use super::staged::put;
use super::{Git, worktree};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_base::word::visible_path;
use vplan_os::files;
use vplan_os::files::beneath::Beneath;

/// The files of a git directory that belong to one work tree. Missing ones are not needed.
const OWN: [&str; 2] = ["HEAD", "config.worktree"];
/// The prefix of the files in which a split index is continued.
const SHARED_INDEX: &str = "sharedindex.";

impl Git {
    /// Makes a work tree at `tree`, with its git directory at `git_dir`, from the tracked files of
    /// this work tree and this index. Neither path may exist.
    ///
    /// # Errors
    /// Files that cannot be read or written; a submodule with files.
    pub fn check_out(&self, tree: &Path, git_dir: &Path) -> Result<(), GitError> {
        let whole = |e: io::Error| failed(visible_path(tree), e);
        self.share(tree, git_dir).map_err(whole)?;
        let length = id_length(self)?;
        let beneath = Beneath::open(self.root()).map_err(whole)?;
        for entry in worktree::read_entries(self, length)?.iter() {
            if let Some(path) = RepoPath::from_exact(&entry.path) {
                copy(&beneath, tree, &path, entry).map_err(|e| failed(&path, e))?;
            }
        }
        Ok(())
    }

    /// Makes a git directory like that of a linked work tree, without registering it in the
    /// repository.
    fn share(&self, tree: &Path, git_dir: &Path) -> io::Result<()> {
        let layout = self.layout();
        std::fs::create_dir(tree)?;
        std::fs::create_dir(git_dir)?;
        let line = |before: &str, path: &Path| {
            [before.as_bytes(), path.as_os_str().as_bytes(), b"\n"].concat()
        };
        let common = layout.common_dir.canonicalize()?;
        std::fs::write(git_dir.join("commondir"), line("", &common))?;
        let dot_git = tree.join(".git");
        std::fs::write(git_dir.join("gitdir"), line("", &dot_git))?;
        std::fs::write(dot_git, line("gitdir: ", git_dir))?;
        // A pipe in the place of one would be waited for.
        let take = |from: &Path, name: &OsStr| match files::open_plain(from) {
            Ok(mut file) => {
                io::copy(&mut file, &mut File::create_new(git_dir.join(name))?).map(drop)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        for name in OWN {
            take(&layout.git_dir.join(name), OsStr::new(name))?;
        }
        take(&layout.index, OsStr::new("index"))?;
        for entry in std::fs::read_dir(&layout.git_dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_bytes().starts_with(SHARED_INDEX.as_bytes()) {
                take(&entry.path(), &name)?;
            }
        }
        Ok(())
    }
}

/// Copies a tracked file unchanged; a missing one is skipped.
fn copy(beneath: &Beneath, tree: &Path, path: &RepoPath, entry: &IndexEntry) -> io::Result<()> {
    if entry.mode == SUBMODULE {
        return match beneath.names(path).as_slice() {
            [] => Ok(()),
            _ => Err(io::Error::other(
                "it is a submodule, which cannot be checked out",
            )),
        };
    }
    let file = tree.join(path.to_os());
    if let Some(target) = beneath.link(path) {
        return put(tree, &file, SYMLINK, target);
    }
    let Ok(mut content) = beneath.file(path) else {
        return Ok(());
    };
    put(tree, &file, entry.mode, Vec::new())?;
    io::copy(&mut content, &mut File::options().write(true).open(&file)?).map(drop)
}
