//! Reads the state of a work tree that git itself stores and that controls git: HEAD, branches,
//! settings, hooks, and the staged files.

use super::error::GitError;
use super::shared_state::DECIDING;
use super::worktree::read_entries;
use super::{Git, snapshot};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_base::word::visible_path;
use vplan_os::files;

/// Files and folders of the repository's git directory, except the deciding ones.
const OF_REPOSITORY: [&str; 6] = ["config", "packed-refs", "refs", "reftable", "hooks", "info"];

/// The state of git's own files, each with an identifier of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles(BTreeMap<String, String>);

impl OwnFiles {
    /// Returns the files that differ, or are in only one of both, ascending: `.git/hooks/pre-commit`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all = self.0.keys().chain(other.0.keys());
        let differs = |name: &&String| self.0.get(*name) != other.0.get(*name);
        let mut names: Vec<String> = all.filter(differs).cloned().collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Git {
    /// Reads the state of git's own files. Of the index, only the staged content counts, not the
    /// times.
    ///
    /// # Errors
    /// Errors of git.
    pub fn own_files(&self) -> Result<OwnFiles, GitError> {
        let layout = self.layout();
        let mut found = BTreeMap::new();
        for name in OF_REPOSITORY.into_iter().chain(DECIDING) {
            add(&layout.common_dir, name, &mut found);
        }
        // Where the work tree has a git directory of its own, its files come before the repository's.
        for name in DECIDING.into_iter().chain(["HEAD"]) {
            add(&layout.git_dir, name, &mut found);
        }
        let entries = read_entries(self, snapshot::id_length(self)?)?;
        let lines: Vec<u8> = entries
            .iter()
            .flat_map(|e| {
                let head = format!("{:o} {} {} ", e.mode, e.id, e.stage);
                [head.as_bytes(), &e.path, b"\0"].concat()
            })
            .collect();
        found.insert(".git/index".to_owned(), Digest::hash(&lines).to_string());
        Ok(OwnFiles(found))
    }
}

/// Adds a file, or all files of a folder. An unreadable file counts by its kind.
fn add(dir: &Path, name: &str, found: &mut BTreeMap<String, String>) {
    let Ok(path) = RepoPath::parse(name.as_bytes()) else {
        return;
    };
    let is_folder = (dir.join(name).symlink_metadata()).is_ok_and(|meta| meta.is_dir());
    let files = if is_folder {
        files::walk(dir, &path).unwrap_or_default()
    } else {
        vec![path]
    };
    for file in files {
        let place = dir.join(file.to_os());
        let Ok(meta) = place.symlink_metadata() else {
            continue;
        };
        let content = match std::fs::read_link(&place) {
            Ok(target) => format!("-> {}", visible_path(&target)),
            Err(_) if meta.is_file() => match std::fs::read(&place) {
                Ok(bytes) => Digest::hash(&bytes).to_string(),
                Err(error) => error.kind().to_string(),
            },
            Err(_) => "no file".to_owned(),
        };
        let mode = meta.permissions().mode();
        found.insert(format!(".git/{file}"), format!("{mode:o} {content}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let look = || {
            let mut found = BTreeMap::new();
            for name in OF_REPOSITORY {
                add(dir.path(), name, &mut found);
            }
            OwnFiles(found)
        };
        write("config", "a");
        write("refs/heads/main", "1");
        write("objects/x", "1");
        let before = look();
        write("objects/x", "2");
        assert_eq!(look().differences(&before), Vec::<String>::new());
        write("hooks/pre-commit", "evil");
        write("refs/heads/main", "2");
        std::fs::remove_file(dir.path().join("config")).unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join("packed-refs")).unwrap();
        assert_eq!(
            look().differences(&before),
            [
                ".git/config",
                ".git/hooks/pre-commit",
                ".git/packed-refs",
                ".git/refs/heads/main"
            ]
        );
    }
}
