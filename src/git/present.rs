//! Lists the files that a repository has: those that are tracked, and those that are neither tracked
//! nor ignored by a tracked `.gitignore`.

use super::error::{GitError, failed};
use super::index::SUBMODULE;
use super::observed::Observed;
use super::skipped::HiddenBy;
use super::snapshot::id_length;
use super::worktree::{self, MAX_DEPTH, exact};
use super::{Git, is_record, others, repository};
use vplan_base::path::RepoPath;
use vplan_os::files;

impl Git {
    /// Lists the files of the work tree, with those of submodules and of nested repositories, in
    /// byte order, each once. A tracked one may be missing. While the index is unchanged, the
    /// results of the last comparison with a commit are reused.
    ///
    /// # Errors
    /// Errors of git, and folders that cannot be read.
    pub fn files_present(&self) -> Result<Vec<RepoPath>, GitError> {
        let mut found = PresentFiles::default();
        let index = worktree::index_stamp(self);
        let known = self.memory.with_observed(index, |observed| {
            let Observed {
                entries, others, ..
            } = observed;
            let entries = entries.iter().map(|entry| (&*entry.path, entry.mode));
            found.add(self, entries, others)
        });
        match known {
            Some(added) => added?,
            None => found.read(self)?,
        }
        let mut files = found.files;
        while let Some((git, at, depth)) = found.inside.pop() {
            let mut inside = PresentFiles {
                depth,
                ..PresentFiles::default()
            };
            inside.read(&git)?;
            let whole = |path: &RepoPath| at.join(path.as_bytes()).ok();
            files.extend(inside.files.iter().filter_map(whole));
            let below = inside.inside.into_iter();
            found
                .inside
                .extend(below.filter_map(|(git, path, depth)| Some((git, whole(&path)?, depth))));
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Returns the paths in the index, in byte order; for a submodule, its own paths.
    ///
    /// # Errors
    /// Errors of git.
    pub fn files_indexed(&self) -> Result<Vec<RepoPath>, GitError> {
        let entries = worktree::read_entries(self, id_length(self)?)?;
        entries.iter().map(|entry| exact(&entry.path)).collect()
    }

    /// Lists the paths of the present tree: tracked, or untracked and not ignored by a tracked
    /// `.gitignore`. Nested repositories are one path each. Files left by tools, and those that the
    /// user's own ignore file hides, are excluded ([`HiddenBy`]). In byte order, each once.
    ///
    /// # Errors
    /// Errors of git, and folders that cannot be read.
    pub fn tree(&self) -> Result<Vec<RepoPath>, GitError> {
        let entries = worktree::read_entries(self, id_length(self)?)?;
        let others::Others { files, .. } = others::others_while(self, &entries, || ()).0?;
        // Usually git need not be called.
        let hidden = self.hidden(&files, &entries)?;
        let belongs =
            |path: &&Vec<u8>| matches!(hidden.get(*path), None | Some(HiddenBy::Repository));
        let others = files.iter().filter(belongs);
        let others = others.map(|path| path.strip_suffix(b"/").unwrap_or(path));
        let tracked = entries.iter().map(|entry| &*entry.path);
        let mut paths: Vec<RepoPath> =
            tracked.chain(others).map(exact).collect::<Result<_, _>>()?;
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}

/// The findings in one repository, by paths relative to it.
#[derive(Default)]
struct PresentFiles {
    files: Vec<RepoPath>,
    /// The submodules that are checked out, with their places and depths.
    inside: Vec<(Git, RepoPath, usize)>,
    /// How many submodules are around it.
    depth: usize,
}

impl PresentFiles {
    /// Reads the index and searches the work tree.
    fn read(&mut self, git: &Git) -> Result<(), GitError> {
        let entries = worktree::read_entries(git, id_length(git)?)?;
        let others::Others { files, .. } = others::others_while(git, &entries, || ()).0?;
        let entries = entries.iter().map(|entry| (&*entry.path, entry.mode));
        self.add(git, entries, &files)
    }

    fn add<'e>(
        &mut self,
        git: &Git,
        entries: impl Iterator<Item = (&'e [u8], u32)>,
        others: &[Vec<u8>],
    ) -> Result<(), GitError> {
        for (path, mode) in entries {
            if self.depth == 0 && is_record(path) {
                continue;
            }
            let path = exact(path)?;
            if mode == SUBMODULE {
                self.submodule(git, path)?;
            } else {
                self.files.push(path);
            }
        }
        for path in others {
            match path.strip_suffix(b"/") {
                // A repository in the repository: a file that it hides from git is not hidden from
                // a contract.
                Some(dir) => self.everything_in(git, &exact(dir)?)?,
                None => self.files.push(exact(path)?),
            }
        }
        Ok(())
    }

    fn submodule(&mut self, git: &Git, path: RepoPath) -> Result<(), GitError> {
        match repository::at(&git.root().join(path.to_os())) {
            Some(layout) if self.depth < MAX_DEPTH => {
                self.inside
                    .push((git.nested(layout, &path), path, self.depth + 1));
                Ok(())
            }
            Some(_) => self.everything_in(git, &path),
            // Not checked out: a folder that is empty, or missing.
            None if git.root().join(path.to_os()).is_dir() => self.everything_in(git, &path),
            None => Ok(()),
        }
    }

    fn everything_in(&mut self, git: &Git, dir: &RepoPath) -> Result<(), GitError> {
        let found = files::walk(git.root(), dir).map_err(|error| failed(dir, error))?;
        self.files.extend(found);
        Ok(())
    }
}
