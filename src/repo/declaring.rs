//! Reads the files of a repository in which it may declare how it is verified.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use vplan_base::path::RepoPath;
use vplan_git::Git;
use vplan_git::refs::{RefTarget, Refs};
use vplan_init::tree::{RepositoryTree, is_script, may_declare};
use vplan_os::files::beneath::{Beneath, ReadError};

/// Size limit of a file, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Maximum number of files that are read as declarations, those nearest to the root first.
const MAX_DECLARING: usize = 600;

/// Reads the declarations of the repository at `root`, and its name and branch.
///
/// # Errors
/// The root cannot be opened.
pub fn read(root: &Path, git: Option<&Git>) -> std::io::Result<RepositoryTree> {
    let mut tree = declarations(root, git)?;
    if let Some(git) = git {
        let refs = Refs::new(git);
        tree.default_branch = default_branch(&refs);
        let remotes = refs.remotes().unwrap_or_default();
        let origin = remotes.iter().find(|remote| remote.name == "origin");
        tree.slug = origin.and_then(|remote| slug(&remote.url));
    }
    Ok(tree)
}

/// Reads the files in which a repository may declare how it is verified: those that no `.gitignore`
/// ignores, without git those at the root.
///
/// # Errors
/// The root cannot be opened.
pub fn declarations(root: &Path, git: Option<&Git>) -> std::io::Result<RepositoryTree> {
    let beneath = Beneath::open(root)?;
    let files = match git.and_then(|git| git.present().ok()) {
        Some(files) => files.into_iter().collect(),
        None => at_root(root)?,
    };
    let mut tree = RepositoryTree {
        files,
        ..RepositoryTree::default()
    };
    let wanted = tree.files.iter();
    let wanted = wanted.filter(|file| may_declare(file) || is_script(file));
    let rank = |file: &RepoPath| (!may_declare(file), file.segments().count());
    let mut wanted: Vec<&RepoPath> = wanted.collect();
    wanted.sort_by_key(|file| (rank(file), *file));
    for (index, file) in wanted.into_iter().enumerate() {
        // A script that is not read is known by its name only.
        if !may_declare(file) && index >= MAX_DECLARING {
            break;
        }
        if index >= MAX_DECLARING {
            let why = format!("more than {MAX_DECLARING} files declare something");
            tree.unread.insert(file.clone(), why);
            continue;
        }
        let text = match beneath.read(file, MAX_FILE) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned()),
            // Deleted in the work tree.
            Err(ReadError::Missing) => continue,
            Err(error) => Err(error.to_string()),
        };
        match text {
            Ok(text) => drop(tree.texts.insert(file.clone(), text)),
            Err(why) if may_declare(file) => drop(tree.unread.insert(file.clone(), why)),
            Err(_) => {}
        }
    }
    Ok(tree)
}

fn at_root(root: &Path) -> std::io::Result<BTreeSet<RepoPath>> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.extend(RepoPath::parse(entry.file_name().as_bytes()).ok());
        }
    }
    Ok(files)
}

/// Returns the name of the default branch: that of `origin`, else the one that is checked out.
fn default_branch(refs: &Refs<'_>) -> Option<String> {
    let remote = match refs.get("refs/remotes/origin/HEAD") {
        Ok(Some(RefTarget::Symbolic(name))) => {
            name.strip_prefix("refs/remotes/origin/").map(str::to_owned)
        }
        _ => None,
    };
    remote.or_else(|| {
        let head = refs.head().ok().flatten()?;
        head.strip_prefix("refs/heads/").map(str::to_owned)
    })
}

/// Returns `OWNER/NAME` of a remote's URL.
fn slug(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':')?.1,
    };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    let (owner, name) = path.split_once('/')?;
    (plain(owner) && plain(name)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_of_urls() {
        for (url, want) in [
            ("https://github.com/a/b.git", Some("a/b")),
            ("https://user:token@github.com/a/b", Some("a/b")),
            ("git@github.com:a/b.git", Some("a/b")),
            ("ssh://git@github.com/a/b/", Some("a/b")),
            ("/srv/git/b.git", None),
            ("https://gitlab.com/a/b/c", None),
            ("", None),
        ] {
            assert_eq!(slug(url).as_deref(), want, "{url}");
        }
    }
}
