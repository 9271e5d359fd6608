//! Records the references of a repository and the files that decide how git reads it, lists how they differ from an
//! earlier record, and restores them.
//!
//! References are compared by name and value, so packing them and collecting garbage makes no
//! difference.

use super::Git;
use super::error::GitError;
use super::mended::JOURNAL;
use super::refs::Refs;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use vplan_base::word::visible_path;
use vplan_os::files;
use vplan_os::process::input::memory;

/// Files of git's directories that determine where that directory is, which commits and objects
/// exist, and what vplan still must write.
pub(super) const DECIDING: [&str; 7] = [
    "commondir",
    "config.worktree",
    "gitdir",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "shallow",
    JOURNAL,
];
/// References that belong to one work tree, or that a scheduled `git maintenance` writes: none of
/// them can be a base.
const FREE: [&str; 4] = [
    "refs/bisect/",
    "refs/prefetch/",
    "refs/rewritten/",
    "refs/worktree/",
];
const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
const STASH: &str = "refs/stash";
/// Size limit of a restored file, in bytes.
const MOST: u64 = 16 << 20;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileContent {
    Absent,
    Bytes(Vec<u8>),
    /// A folder, a link, or a file that cannot be read.
    Unreadable(ErrorKind),
}

impl FileContent {
    fn read(path: &Path) -> Self {
        match files::read_plain(path, MOST) {
            Ok(bytes) => FileContent::Bytes(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // The target of a link may be missing.
                match path.symlink_metadata() {
                    Ok(_) => FileContent::Unreadable(ErrorKind::InvalidInput),
                    Err(_) => FileContent::Absent,
                }
            }
            Err(error) => FileContent::Unreadable(error.kind()),
        }
    }

    fn restore(&self, path: &Path) -> io::Result<()> {
        let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        match self {
            FileContent::Absent if is_folder => std::fs::remove_dir_all(path),
            FileContent::Absent => std::fs::remove_file(path),
            FileContent::Bytes(bytes) => {
                if is_folder {
                    std::fs::remove_dir_all(path)?;
                }
                files::replace(path, bytes)
            }
            FileContent::Unreadable(kind) => Err((*kind).into()),
        }
    }
}

/// The deciding files of a repository, with their content.
fn deciding_files(git: &Git) -> BTreeMap<PathBuf, FileContent> {
    let layout = git.layout();
    let dirs = BTreeSet::from([&layout.git_dir, &layout.common_dir]);
    let paths = dirs
        .into_iter()
        .flat_map(|dir| DECIDING.map(|name| dir.join(name)));
    let content = |path: PathBuf| (path.clone(), FileContent::read(&path));
    paths.map(content).collect()
}

/// A reference or a file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDifference {
    /// The name of the reference, or the path of the file.
    pub name: String,
    /// The earlier value of a reference; `None` for a new one, and for a file.
    pub before: Option<String>,
    /// Whether the earlier state is restored.
    pub restored: bool,
}

/// A record of the references and deciding files of a repository.
#[derive(Clone, Debug)]
pub struct SharedState {
    files: BTreeMap<PathBuf, FileContent>,
    /// The values of references: an id, or `ref: ` and a name.
    refs: BTreeMap<String, String>,
    /// The branch that is checked out.
    branch: Option<String>,
    /// The directories of the repository's other work trees.
    others: Vec<PathBuf>,
}

impl SharedState {
    /// Records the present state.
    ///
    /// # Errors
    /// Errors of git.
    pub fn record(git: &Git) -> Result<Self, GitError> {
        Ok(Self {
            files: deciding_files(git),
            refs: references(git)?,
            branch: Refs::new(git).head()?,
            others: other_work_trees(git),
        })
    }

    /// Restores differences, and lists them. Some may stay: the branch that is checked out, new
    /// tags, branches that another work tree has moved itself, and new branches, unless `is_base`
    /// reports that one could be the base of a change.
    ///
    /// A stash is never restored: that would drop the work in the new one.
    ///
    /// # Errors
    /// Errors of git.
    pub fn restore(
        &self,
        git: &Git,
        is_base: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<StateDifference>, GitError> {
        // Before any call of git, since these files determine its answers.
        let mut found: Vec<StateDifference> = self.files.iter().filter_map(restored).collect();
        let now = references(git)?;
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        let differs = |name: &&&String| {
            let (before, now) = (self.refs.get(**name), now.get(**name));
            before != now && !self.is_free(name, before, now, is_base)
        };
        let names: Vec<&String> = names.iter().filter(differs).copied().collect();
        let (stash, others): (Vec<&String>, Vec<&String>) =
            names.into_iter().partition(|name| *name == STASH);
        let is_done = others.is_empty() || self.restore_refs(git, &others, &now);
        let difference = |restored| {
            move |name: &String| StateDifference {
                name: name.clone(),
                before: self.refs.get(name).cloned(),
                restored,
            }
        };
        found.extend(others.into_iter().map(difference(is_done)));
        found.extend(stash.into_iter().map(difference(false)));
        Ok(found)
    }

    fn is_free(
        &self,
        name: &str,
        before: Option<&String>,
        now: Option<&String>,
        is_base: &dyn Fn(&str) -> bool,
    ) -> bool {
        if Some(name) == self.branch.as_deref() || FREE.iter().any(|free| name.starts_with(free)) {
            return true;
        }
        match (name.strip_prefix(BRANCHES), before) {
            (Some(branch), None) => !is_base(branch) && !self.has_name(branch),
            (Some(_), Some(_)) => now.is_some_and(|now| self.was_moved_elsewhere(name, now)),
            (None, None) => name.starts_with(TAGS),
            (None, Some(_)) => false,
        }
    }

    /// Whether a reference could be meant by this name already.
    fn has_name(&self, branch: &str) -> bool {
        let mut names = self.refs.keys();
        names.any(|name| {
            name.strip_suffix(branch)
                .is_some_and(|rest| rest.ends_with('/'))
        })
    }

    /// Whether another work tree has this branch checked out, and its own log shows that it moved
    /// it there.
    fn was_moved_elsewhere(&self, name: &str, now: &str) -> bool {
        self.others.iter().any(|dir| {
            let read = |file: &str| files::read_plain(&dir.join(file), MOST).unwrap_or_default();
            let head = read("HEAD");
            let has_it = head.trim_ascii_end().strip_prefix(b"ref: ") == Some(name.as_bytes());
            let log = read("logs/HEAD");
            let last = log.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
            let id = last.and_then(|line| line.split(|byte| *byte == b' ').nth(1));
            has_it && id == Some(now.as_bytes())
        })
    }

    /// Restores references whose values are now others, given by `now`: all of them, or none.
    fn restore_refs(&self, git: &Git, names: &[&String], now: &BTreeMap<String, String>) -> bool {
        let is_done = || self.update_refs(git, names).is_ok();
        if is_done() {
            return true;
        }
        // A process that was stopped leaves locks, and git updates no reference whose file it
        // cannot read.
        let locks = names.iter().map(|name| format!("{name}.lock"));
        let broken = names.iter().filter(|name| !now.contains_key(**name));
        let broken = broken.map(|name| (*name).clone());
        let common = &git.layout().common_dir;
        for file in locks.chain(["packed-refs.lock".to_owned()]).chain(broken) {
            let _ = std::fs::remove_file(common.join(file));
        }
        is_done()
    }

    fn update_refs(&self, git: &Git, names: &[&String]) -> Result<(), GitError> {
        let mut lines = String::new();
        let mut symbolic = Vec::new();
        for name in names {
            match self.refs.get(*name) {
                None => lines += &format!("delete {name}\n"),
                Some(value) => match value.strip_prefix(SYMBOLIC) {
                    Some(target) => symbolic.push([name.as_str(), target]),
                    None => lines += &format!("update {name} {value}\n"),
                },
            }
        }
        let input = memory(lines.as_bytes()).map_err(|e| GitError::Spawn(e.to_string()))?;
        git.start_with(&["update-ref", "--no-deref", "--stdin"], Stdio::from(input))?
            .answer()?;
        symbolic
            .into_iter()
            .try_for_each(|[name, target]| git.ask(&["symbolic-ref", name, target]).map(drop))
    }
}

/// The beginning of the value of a symbolic reference.
const SYMBOLIC: &str = "ref: ";

/// Restores a file if it differs.
fn restored((path, before): (&PathBuf, &FileContent)) -> Option<StateDifference> {
    (FileContent::read(path) != *before).then(|| StateDifference {
        name: visible_path(path),
        before: None,
        restored: before.restore(path).is_ok(),
    })
}

fn references(git: &Git) -> Result<BTreeMap<String, String>, GitError> {
    let format = "--format=%(refname) %(objectname) %(symref)";
    let output = git.ask(&["for-each-ref", format])?;
    let text = String::from_utf8_lossy(&output);
    let value = |line: &str| {
        let mut fields = line.split(' ');
        let (name, id) = (fields.next()?, fields.next()?);
        let target = fields.next().filter(|target| !target.is_empty());
        let value = target.map_or(id.to_owned(), |target| format!("{SYMBOLIC}{target}"));
        Some((name.to_owned(), value))
    };
    Ok(text.lines().filter_map(value).collect())
}

/// Returns the git directories of the other work trees of a repository.
pub fn other_work_trees(git: &Git) -> Vec<PathBuf> {
    let layout = git.layout();
    let linked = std::fs::read_dir(layout.common_dir.join("worktrees"));
    let linked = linked.into_iter().flatten().flatten().map(|dir| dir.path());
    let own = layout.git_dir.canonicalize().ok();
    let is_other = |dir: &PathBuf| dir.canonicalize().ok() != own;
    let all = std::iter::once(layout.common_dir.clone()).chain(linked);
    all.filter(is_other).collect()
}
