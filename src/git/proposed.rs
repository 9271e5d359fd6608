//! An index of HEAD with an additional file, for a trial of uncommitted content.

use super::error::{GitError, failed};
use super::object::Oid;
use super::{Git, words};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use vplan_base::path::RepoPath;

/// An index in addition to the repository's own; removed when it is dropped.
#[derive(Debug)]
pub struct ProposedIndex {
    file: PathBuf,
    /// A commit with this content, which no name leads to.
    commit: Option<Oid>,
}

impl ProposedIndex {
    /// The file, in the git directory: `GIT_INDEX_FILE` may name it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A commit with the index's content, which no name leads to.
    pub fn commit(&self) -> Option<&Oid> {
        self.commit.as_ref()
    }
}

impl Drop for ProposedIndex {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
        let mut lock = self.file.clone().into_os_string();
        lock.push(".lock");
        let _ = std::fs::remove_file(lock);
    }
}

impl Git {
    /// Makes an index of HEAD in which `path` has this content. The content becomes a git object
    /// without a reference, which git removes later.
    ///
    /// # Errors
    /// Errors of git; no commit; a git directory that cannot be written.
    pub fn propose(&self, path: &RepoPath, content: &str) -> Result<ProposedIndex, GitError> {
        let name = format!("vplan-try-{:x}", std::process::id());
        let file = self.layout.git_dir.join(name);
        let mut index = ProposedIndex {
            file: file.clone(),
            commit: None,
        };
        let mut other = self.clone();
        other.layout.index = file;
        let Some(head) = self.head()? else {
            return Err(failed("HEAD", "there is no commit yet"));
        };
        other.ask(&["read-tree".to_owned(), head.to_string()])?;
        let temporary = |e: std::io::Error| failed(path, e);
        let mut written = tempfile::NamedTempFile::new().map_err(temporary)?;
        written.write_all(content.as_bytes()).map_err(temporary)?;
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        let words = words("hash-object -w --no-filters --", [written.path()]);
        let id = line(other.ask(&words)?);
        let entry = format!("100644,{id},{path}");
        other.ask(&["update-index", "--add", "--cacheinfo", &entry])?;
        let tree = line(other.ask(&["write-tree"])?);
        let author = "-c user.name=vplan -c user.email=vplan@localhost";
        let commit = format!("{author} commit-tree -m");
        let words = crate::words(&commit, ["vplan init --try", &tree]);
        index.commit = Oid::parse(line(other.ask(&words)?).as_bytes());
        Ok(index)
    }
}
