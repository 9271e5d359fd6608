//! Lists the files of the work tree that are neither tracked nor ignored by a tracked `.gitignore`.
//!
//! Git itself also believes `.git/info/exclude`, the user's `core.excludesFile`, and any
//! `.gitignore` that lies in the tree, one that ignores itself among them: what only these hide,
//! vplan finds here.

use super::error::{GitError, unread};
use super::index::{IndexEntry, SUBMODULE};
use super::observed::SearchedFolder;
use super::rules::{self, Rules};
use super::{Git, is_record, pattern, repository, split_nul};
use crate::base::path::RepoPath;
use crate::effect::os::files;
use crate::effect::os::process::input::memory;
use crate::effect::os::retry_eintr::{FolderEntries, openat};
use crate::effect::os::stat_cache::{Stamp, now};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, statat};
use rustix::io::Errno;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::rc::Rc;

const COMMAND: &str = "check-ignore";
/// The prefix of every path that git is asked about.
const HERE: &[u8] = b"./";
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A directory that is still to be searched.
struct Open<'e> {
    /// With a slash at its end, unless it is the root.
    path: Vec<u8>,
    rules: Option<Rc<Rules>>,
    /// The entries of the index in it.
    tracked: &'e [IndexEntry],
}

impl<'e> Open<'e> {
    /// Returns the entry of a name in it.
    fn entry(&self, name: &[u8]) -> Option<&'e IndexEntry> {
        let in_it = |entry: &IndexEntry| entry.path.get(self.path.len()..).map(|n| n.cmp(name));
        let order = |entry: &IndexEntry| in_it(entry).unwrap_or(Ordering::Less);
        let at = self.tracked.binary_search_by(order).ok()?;
        self.tracked.get(at)
    }

    /// Returns the entries below a directory in it.
    fn below(&self, dir: &[u8]) -> &'e [IndexEntry] {
        let begin = self.tracked.partition_point(|entry| &*entry.path < dir);
        let rest = self.tracked.get(begin..).unwrap_or_default();
        let end = rest.partition_point(|entry| entry.path.starts_with(dir));
        rest.get(..end).unwrap_or_default()
    }
}

/// What a search of the work tree finds.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// Untracked files, symlinks, and repositories of their own, which end in `/`.
    pub files: Vec<Vec<u8>>,
    /// The folders that were searched.
    pub folders: Vec<SearchedFolder>,
}

/// Searches the work tree. `entries`: the index, in byte order.
pub(super) fn others(git: &Git, entries: &[IndexEntry]) -> Result<Others, GitError> {
    let since = now();
    let failed = |path: &[u8], e: Errno| GitError::File {
        path: crate::base::word::visible(path),
        message: std::io::Error::from(e).to_string(),
    };
    let top = openat(CWD, git.root(), DIRECTORY, Mode::empty()).map_err(|e| failed(b".", e))?;
    let mut found = Others::default();
    let mut open = vec![Open {
        path: Vec::new(),
        rules: None,
        tracked: entries,
    }];
    let mut listed = FolderEntries::default();
    while let Some(dir) = open.pop() {
        match look_into(git, &top, dir, since, &mut listed, &mut found, &mut open) {
            Ok(()) => {}
            // The directory went away, or became something else; a later look-up finds that out.
            Err((path, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {
                found.folders.push(SearchedFolder::unknown(&path));
            }
            // No other process of this user can read it either; only its presence is known.
            Err((path, Errno::ACCESS)) if is_closed(&top, &path) => {
                found.folders.push(SearchedFolder::unknown(&path));
                found
                    .files
                    .push(path.strip_suffix(b"/").unwrap_or(&path).to_vec());
            }
            Err((path, error)) => return Err(failed(&path, error)),
        }
        if found.files.len() > files::MAX_FILES {
            return Err(failed(b".", Errno::TOOBIG));
        }
    }
    Ok(found)
}

impl Git {
    /// Returns those of these files that git ignores on this machine, for whatever reason; none where
    /// that cannot be said.
    #[must_use]
    pub fn hidden_here(&self, paths: &[RepoPath]) -> BTreeSet<RepoPath> {
        let names: Vec<Vec<u8>> = paths.iter().map(|p| p.as_bytes().to_vec()).collect();
        let hidden = self.ignored_by_this_machine(&names).unwrap_or_default();
        (paths.iter().filter(|p| hidden.contains(p.as_bytes())))
            .cloned()
            .collect()
    }

    /// Returns those of these untracked files that rules of this machine ignore:
    /// `.git/info/exclude`, the user's file, or a `.gitignore` that is not tracked.
    pub(super) fn ignored_by_this_machine(
        &self,
        others: &[Vec<u8>],
    ) -> Result<BTreeSet<Vec<u8>>, GitError> {
        if others.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.has_readable_rules(others)?;
        // Git would read a path that begins with a colon as a pathspec with magic.
        let paths: Vec<Vec<u8>> = others.iter().map(|path| [HERE, path].concat()).collect();
        let failed = |e: std::io::Error| GitError::Failed {
            command: COMMAND.to_owned(),
            message: e.to_string(),
        };
        let given = memory(&paths.join(&0)).map_err(failed)?;
        // It knows no literal paths, and needs none: what is on standard input has no wildcards.
        let command = [
            "--no-literal-pathspecs",
            COMMAND,
            "--no-index",
            "--stdin",
            "-z",
            "--verbose",
        ];
        let asked = self.start_with(&command, given.into())?.output()?;
        // 1: none of them.
        if !matches!(asked.exit, Some(0 | 1)) {
            return Err(self.failure(COMMAND, &asked));
        }
        let unreadable = || GitError::Unreadable(COMMAND.to_owned());
        let fields = split_nul(&asked.stdout);
        let mut ignored = BTreeSet::new();
        for record in fields.chunks(4) {
            // Of which file, the line's number, the line, the path.
            let [_, _, pattern, path] = record else {
                return Err(unreadable());
            };
            if !pattern.starts_with(b"!") {
                ignored.insert(path.strip_prefix(HERE).ok_or_else(unreadable)?.to_vec());
            }
        }
        Ok(ignored)
    }
}

impl Git {
    /// Checks that git does not wait for one of the `.gitignore` that it reads for these files.
    fn has_readable_rules(&self, files: &[Vec<u8>]) -> Result<(), GitError> {
        let mut folders = BTreeSet::from([&b""[..]]);
        for file in files {
            let slashes = file.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            for (at, _) in slashes.collect::<Vec<_>>().into_iter().rev() {
                let folder = file.get(..=at).unwrap_or_default();
                if !folders.insert(folder) {
                    break;
                }
            }
        }
        let rules = |folder| [folder, rules::NAME].concat();
        for path in folders.into_iter().map(rules) {
            let file = self.root().join(std::ffi::OsStr::from_bytes(&path));
            // Git follows no symlink there.
            unread(&path, file.symlink_metadata())?;
        }
        Ok(())
    }
}

fn look_into<'e>(
    git: &Git,
    top: &OwnedFd,
    mut dir: Open<'e>,
    since: i128,
    listed: &mut FolderEntries,
    found: &mut Others,
    open: &mut Vec<Open<'e>>,
) -> Result<(), (Vec<u8>, Errno)> {
    let is_root = dir.path.is_empty();
    let path: &[u8] = if is_root { b"." } else { &dir.path };
    let fd = openat(top, path, DIRECTORY, Mode::empty());
    let read = fd.and_then(|fd| {
        let stamp = Stamp::from(&fstat(&fd)?);
        listed.read(&fd)?;
        Ok((stamp, fd))
    });
    let (stamp, fd) = read.map_err(|error| (dir.path.clone(), error))?;
    let has = |wanted: &[u8]| listed.iter().any(|(name, _)| name == wanted);
    if !is_root && has(b".git") && is_repository(git, &dir.path) {
        found.folders.push(SearchedFolder::unknown(&dir.path));
        found.files.push(dir.path);
        return Ok(());
    }
    if has(rules::NAME) {
        dir.rules = with_rules(git, &dir);
    }
    let mut is_whole = true;
    for (name, kind) in listed.iter() {
        if name == b".git" || is_root && is_record(name) {
            continue;
        }
        let tracked = dir.entry(name);
        let kind = match kind {
            FileType::Unknown => statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                }),
            kind => kind,
        };
        let is_file = matches!(kind, FileType::RegularFile | FileType::Symlink);
        if is_file && tracked.is_some() {
            continue;
        }
        let mut path = [&dir.path, name].concat();
        match kind {
            // The content of a submodule is compared with the submodule's own commit.
            FileType::Directory
                if tracked.is_none_or(|entry| entry.mode != SUBMODULE)
                    && Rules::ignores(dir.rules.as_ref(), &path, true).is_none() =>
            {
                path.push(b'/');
                let below = dir.below(&path);
                open.push(Open {
                    path,
                    rules: dir.rules.clone(),
                    tracked: below,
                });
            }
            _ if is_file && Rules::ignores(dir.rules.as_ref(), &path, false).is_none() => {
                found.files.push(path);
            }
            // Ignored, or without content.
            _ => is_whole = false,
        }
    }
    found.folders.push(SearchedFolder {
        stamp: stamp.is_settled(since).then_some(stamp),
        is_whole,
        ..SearchedFolder::unknown(&dir.path)
    });
    Ok(())
}

/// Whether this user may not enter or read a folder below the root: any other refusal is an error,
/// or the files in it would be missed.
fn is_closed(top: &OwnedFd, path: &[u8]) -> bool {
    let inside = [path, b"."].concat();
    !path.is_empty()
        && openat(top, inside.as_slice(), DIRECTORY, Mode::empty()).err() == Some(Errno::ACCESS)
}

fn is_repository(git: &Git, path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    repository::at(&git.root().join(std::ffi::OsStr::from_bytes(path))).is_some()
}

/// Adds the rules of this directory, if its file is tracked, to those above.
fn with_rules(git: &Git, dir: &Open<'_>) -> Option<Rc<Rules>> {
    let path = [&dir.path, rules::NAME].concat();
    let text = dir.entry(rules::NAME).and_then(|_| {
        files::read_plain(
            &git.root().join(std::ffi::OsStr::from_bytes(&path)),
            pattern::MOST,
        )
        .ok()
    });
    let Some(text) = text else {
        return dir.rules.clone();
    };
    Some(Rules::read(dir.rules.clone(), &dir.path, &text))
}
