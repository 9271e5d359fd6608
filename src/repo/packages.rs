//! Reads the packages of workspaces, in the work tree or in a commit.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::workspace::{Manifest, WorkspaceQuery};
use vplan_front::workspace::{self, Workspace, WorkspaceFault, WorkspaceFiles};
use vplan_git::Git;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_os::files::beneath::{Beneath, ReadError};
use vplan_os::files::walk;

/// Size limit of a manifest, in bytes.
const LARGEST: u64 = 4 << 20;

/// The reason why files cannot be listed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ListError {
    #[error("there is no git")]
    NoGit,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{0}")]
    Walk(Arc<io::Error>),
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> Self {
        Self::Walk(Arc::new(error))
    }
}

/// The manifests of a work tree.
pub(crate) struct Manifests<'a> {
    root: &'a Path,
    paths: Vec<RepoPath>,
}

impl<'a> Manifests<'a> {
    /// Lists those that git tracks, or neither tracks nor ignores; without git all.
    pub(crate) fn list(root: &'a Path, git: Option<&Git>) -> Result<Self, ListError> {
        let mut paths = files_here(root, git)?;
        // The index may list files that no longer exist.
        let is_there = |path: &RepoPath| root.join(path.to_os()).symlink_metadata().is_ok();
        paths.retain(|path| Manifest::is_read(path.name()) && is_there(path));
        Ok(Self { root, paths })
    }

    pub(crate) fn read(&self, query: &WorkspaceQuery) -> Result<Workspace, WorkspaceFault> {
        let beneath = Beneath::open(self.root);
        let text = |path: &RepoPath| {
            let beneath = beneath
                .as_ref()
                .map_err(|e| io::Error::other(e.to_string()))?;
            let read = beneath.read(path, LARGEST).and_then(decoded);
            read.map_err(io::Error::other)
        };
        let files = WorkspaceFiles {
            paths: &self.paths,
            text: &text,
        };
        workspace::read(query, files)
    }
}

/// Reads the packages of a workspace as a commit has them.
pub(crate) fn in_commit(
    git: Option<&Git>,
    commit: &Oid,
    query: &WorkspaceQuery,
) -> Result<Workspace, WorkspaceFault> {
    let broken = |reason: String| WorkspaceFault::Broken(query.dir.clone(), reason);
    let git = git.ok_or_else(|| broken("there is no git".to_owned()))?;
    let failed = |e: vplan_git::error::GitError| broken(e.to_string());
    let mut paths = git.names_at(commit).map_err(failed)?;
    paths.retain(|path| Manifest::is_read(path.name()));
    let contents: BTreeMap<RepoPath, Vec<u8>> = git.contents_at(commit, &paths).map_err(failed)?;
    let text = |path: &RepoPath| {
        let content = contents.get(path).cloned().ok_or(ReadError::NotRegular);
        content.and_then(decoded).map_err(io::Error::other)
    };
    let files = WorkspaceFiles {
        paths: &paths,
        text: &text,
    };
    workspace::read(query, files)
}

fn decoded(content: Vec<u8>) -> Result<String, ReadError> {
    if content.len() as u64 > LARGEST {
        return Err(ReadError::TooLarge(LARGEST));
    }
    String::from_utf8(content).map_err(|_| ReadError::System("it is not UTF-8".to_owned()))
}

/// Lists the files of the work tree that git tracks, or neither tracks nor ignores; without git all.
pub(crate) fn files_here(root: &Path, git: Option<&Git>) -> Result<Vec<RepoPath>, ListError> {
    match git {
        Some(git) => Ok(git.files_present()?),
        None => Ok(walk(root, &RepoPath::root())?),
    }
}
