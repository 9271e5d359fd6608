//! Reads the files of a repository in which it may declare how it is verified.

use crate::base::path::RepoPath;
use crate::declared::tree::{Tree, is_prose, is_source, may_declare, mentions};
use crate::effect::git::Git;
use crate::effect::git::refs::{Refs, Target};
use crate::effect::os::files::beneath::{Beneath, ReadError};
use std::collections::BTreeSet;
use std::path::Path;

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The most files that are read as declarations; the shallow ones first.
const MAX_DECLARING: usize = 600;
/// The most source files that are searched for names of prose.
const MAX_SEARCHED: usize = 20_000;
/// The most names of prose that are looked for.
const MAX_NAMES: usize = 100;

/// Reads what the repository at `root` tracks. Without git nothing is tracked.
///
/// # Errors
/// The root cannot be opened.
pub fn read(root: &Path, git: Option<&Git>) -> std::io::Result<Tree> {
    let beneath = Beneath::open(root)?;
    let mut tree = Tree::default();
    let Some(git) = git else {
        return Ok(tree);
    };
    tree.files = git.tracked().unwrap_or_default().into_iter().collect();
    let mut wanted: Vec<&RepoPath> = tree.files.iter().filter(|f| may_declare(f)).collect();
    wanted.sort_by_key(|file| (file.segments().count(), *file));
    for (index, file) in wanted.into_iter().enumerate() {
        if index >= MAX_DECLARING {
            let why = format!("more than {MAX_DECLARING} files declare something");
            tree.unread.insert(file.clone(), why);
            continue;
        }
        match beneath.read(file, MAX_FILE) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => {
                    tree.texts.insert(file.clone(), text);
                }
                Err(_) => {
                    tree.unread
                        .insert(file.clone(), "it is no UTF-8".to_owned());
                }
            },
            // Deleted in the work tree.
            Err(ReadError::Missing) => {}
            Err(error) => {
                tree.unread.insert(file.clone(), error.to_string());
            }
        }
    }
    tree.mentioned = mentioned(&beneath, &tree.files);
    let refs = Refs::new(git);
    tree.default_branch = default_branch(&refs);
    let remotes = refs.remotes().unwrap_or_default();
    let origin = remotes.iter().find(|remote| remote.name == "origin");
    tree.slug = origin.and_then(|remote| slug(&remote.url));
    Ok(tree)
}

/// Returns the names of prose that a source file mentions.
fn mentioned(beneath: &Beneath, files: &BTreeSet<RepoPath>) -> BTreeSet<String> {
    let name = |file: &RepoPath| String::from_utf8(file.name().to_vec()).ok();
    let mut prose: Vec<&RepoPath> = files.iter().filter(|f| is_prose(f)).collect();
    prose.sort_by_key(|file| (file.segments().count(), *file));
    let mut names: BTreeSet<String> = prose.into_iter().filter_map(name).take(MAX_NAMES).collect();
    names.insert("docs".to_owned());
    let mut found = BTreeSet::new();
    let sources: Vec<&RepoPath> = files.iter().filter(|f| is_source(f)).collect();
    if sources.len() > MAX_SEARCHED {
        // Nothing is proven of a file that was not searched.
        return names.into_iter().chain(["*.md".to_owned()]).collect();
    }
    for file in sources {
        match beneath.read(file, MAX_FILE) {
            Ok(bytes) => mentions(&String::from_utf8_lossy(&bytes), &names, &mut found),
            Err(ReadError::Missing) => {}
            Err(_) => return names.into_iter().chain(["*.md".to_owned()]).collect(),
        }
    }
    found
}

/// Returns the name of the default branch: that of `origin`, else the one that is checked out.
fn default_branch(refs: &Refs<'_>) -> Option<String> {
    let remote = match refs.get("refs/remotes/origin/HEAD") {
        Ok(Some(Target::Symbolic(name))) => {
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
