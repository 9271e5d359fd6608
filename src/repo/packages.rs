//! Reads the packages of workspaces, in the work tree or in a commit.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_base::unit::show_size;
use vplan_base::workspace::{Manifest, WorkspaceQuery};
use vplan_front::workspace::{self, Files, Workspace, WorkspaceFault};
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_os::files::beneath::Beneath;
use vplan_os::files::walk;

/// Size limit of a manifest, in bytes.
const LARGEST: u64 = 4 << 20;

/// The manifests of a work tree.
pub(crate) struct Manifests<'a> {
    root: &'a Path,
    paths: Vec<RepoPath>,
}

impl<'a> Manifests<'a> {
    /// Lists those that git tracks, or neither tracks nor ignores; without git all.
    pub(crate) fn here(root: &'a Path, git: Option<&Git>) -> Result<Self, String> {
        let paths = match git {
            Some(git) => git.files_present().map_err(|e| e.to_string()),
            None => walk(root, &RepoPath::root()).map_err(|e| e.to_string()),
        };
        let mut paths = paths?;
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
            decoded(beneath.read(path, LARGEST).map_err(io::Error::other)?)
        };
        let files = Files {
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
        let content = contents.get(path).cloned();
        decoded(content.ok_or_else(|| io::Error::other("it is no regular file"))?)
    };
    let files = Files {
        paths: &paths,
        text: &text,
    };
    workspace::read(query, files)
}

fn decoded(content: Vec<u8>) -> io::Result<String> {
    if content.len() as u64 > LARGEST {
        let why = format!("it is larger than {}", show_size(LARGEST));
        return Err(io::Error::other(why));
    }
    String::from_utf8(content).map_err(|_| io::Error::other("it is not UTF-8"))
}
