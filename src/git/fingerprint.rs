//! Fingerprints sets of files, to detect changes.

use crate::{Git, repository};
use std::collections::BTreeMap;
use std::io;
use vplan_base::canon::{Digest, Hasher};
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_os::files::beneath::{Beneath, Kind};
use vplan_os::files::walk;

/// The fingerprint of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitPrint {
    /// A regular file.
    File {
        /// The digest of its content.
        digest: Digest,
        /// Whether it has an executable bit.
        executable: bool,
        /// In bytes.
        size: u64,
    },
    /// A symlink, with the text of its target.
    Symlink(Vec<u8>),
    /// A submodule, or a repository in this one: the commit that is checked out, if it is known, and
    /// a digest of its files.
    Submodule(Option<String>),
    /// Something else, or a file that cannot be read, with the reason.
    Other(String),
}

/// The fingerprints of some files, by path. Equal maps mean equal files.
pub type GitPrints = BTreeMap<RepoPath, GitPrint>;

/// Takes the fingerprints of all selected files: with git those that belong to the tree
/// ([`Git::tree`]); without git all there are.
///
/// # Errors
/// The files cannot be listed.
pub fn fingerprint(
    beneath: &Beneath,
    root: &std::path::Path,
    git: Option<&Git>,
    what: &Selection,
) -> io::Result<GitPrints> {
    let files = match git {
        Some(git) => git.tree().map_err(|e| io::Error::other(e.to_string()))?,
        None => walk(root, &RepoPath::root())?,
    };
    let selected = files.into_iter().filter(|path| what.selects(path));
    Ok(selected
        .filter_map(|path| print(beneath, root, git, &path).map(|print| (path, print)))
        .collect())
}

fn print(
    beneath: &Beneath,
    root: &std::path::Path,
    git: Option<&Git>,
    path: &RepoPath,
) -> Option<GitPrint> {
    use vplan_os::files::beneath::ReadError;
    if let Some(target) = beneath.link(path) {
        return Some(GitPrint::Symlink(target));
    }
    let target = match beneath.inspect(path).target {
        Ok(target) => target,
        Err(ReadError::Missing) => return None,
        Err(e) => return Some(GitPrint::Other(e.to_string())),
    };
    if target.kind == Kind::Dir {
        let head = repository::at(&root.join(path.to_os())).and_then(|layout| layout.head());
        let head = head.map(|id| id.to_string());
        return Some(match git.map(|git| git.nested_content(path)).transpose() {
            Ok(content) => {
                let both = [head, content.map(|digest| digest.to_string())];
                let both: Vec<String> = both.into_iter().flatten().collect();
                GitPrint::Submodule((!both.is_empty()).then(|| both.join(" ")))
            }
            Err(error) => GitPrint::Other(error.to_string()),
        });
    }
    let mut hasher = Hasher::default();
    let copied = beneath.file(path).map_err(|e| e.to_string());
    let copied =
        copied.and_then(|mut file| io::copy(&mut file, &mut hasher).map_err(|e| e.to_string()));
    Some(match copied {
        Ok(size) => GitPrint::File {
            digest: hasher.finish(),
            executable: target.executable,
            size,
        },
        Err(message) => GitPrint::Other(message),
    })
}

/// Returns the first path, in byte order, on which two sets of fingerprints differ.
pub fn first_difference(before: &GitPrints, after: &GitPrints) -> Option<RepoPath> {
    let differs = |path: &&RepoPath| before.get(*path) != after.get(*path);
    before
        .keys()
        .chain(after.keys())
        .filter(differs)
        .min()
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::glob::{Glob, Item, ItemContent};

    #[test]
    fn differences() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |path: &str, text: &str| std::fs::write(root.join(path), text).unwrap();
        write("a", "1");
        write("b", "1");
        std::os::unix::fs::symlink("a", root.join("l")).unwrap();
        let beneath = Beneath::open(root).unwrap();
        let what = Glob::parse("**").map(|g| Selection {
            items: vec![Item {
                not: false,
                what: ItemContent::Glob(g),
            }],
        });
        let what = what.unwrap();
        let take = || fingerprint(&beneath, root, None, &what).unwrap();
        let paths = take();
        assert_eq!(paths.len(), 3);
        assert_eq!(first_difference(&paths, &take()), None);
        write("b", "2");
        let changed = first_difference(&paths, &take()).unwrap();
        assert_eq!(changed.to_string(), "b");
        std::fs::remove_file(root.join("a")).unwrap();
        assert_eq!(first_difference(&paths, &take()).unwrap().to_string(), "a");
        write("a", "1");
        write("b", "1");
        std::fs::remove_file(root.join("l")).unwrap();
        std::os::unix::fs::symlink("b", root.join("l")).unwrap();
        assert_eq!(first_difference(&paths, &take()).unwrap().to_string(), "l");
    }
}
