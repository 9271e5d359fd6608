//! Finds the rule that hides an untracked file from git, if it is not in a tracked `.gitignore`.
//!
//! Git itself also obeys `.git/info/exclude`, `core.excludesFile`, and any `.gitignore` in the
//! tree, even one that ignores itself. Anyone who can write to the repository can write these,
//! except the ignore file from the user's own configuration.

use super::error::{GitError, unread};
use super::index::IndexEntry;
pub use super::skipped::HiddenBy;
use super::skipped::HiddenFiles;
use super::snapshot::id_length;
use super::worktree::read_entries;
use super::{Git, call, command, rules, split_nul};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::word::{has_word, visible};
use vplan_os::process::input::memory;

const COMMAND: &str = "check-ignore";
/// Number of further attempts while directories are exchanged for links.
const AGAIN: usize = 5;
/// The prefix of every path passed to git.
const HERE: &[u8] = b"./";

/// Folders that known tools make and mostly ignore themselves.
const TOOL_FOLDERS: &str = "\
    .hypothesis .import_linter_cache .ipynb_checkpoints .jj .mypy_cache .nox .pixi .pytest_cache \
    .ruff_cache .tox .venv __pycache__ htmlcov venv";
/// The ends of the names of files that editors and desktops leave, and whole names.
const LEFT_ENDS: [&[u8]; 3] = [b".swp", b".swo", b"~"];
const LEFT_NAMES: [&[u8]; 3] = [b".DS_Store", b"Thumbs.db", b"desktop.ini"];
/// Those of the folders whose names people give, too.
const COMMON_FOLDERS: [&[u8]; 2] = [b"htmlcov", b"venv"];

/// Whether a path is in a folder that a known tool makes, or of a kind that editors and desktops
/// leave.
pub fn is_left_by_tools(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    LEFT_NAMES.contains(&name)
        || LEFT_ENDS.iter().any(|end| name.ends_with(end))
        || tool_folder(path).is_some()
}

/// Whether only tools give a path such a name, so that no rule needs to hide it.
fn is_named_by_tools(path: &[u8]) -> bool {
    let mut names = path.rsplit(|byte| *byte == b'/');
    let name = names.next().unwrap_or_default();
    let is_swap = name.starts_with(b".") && !name.ends_with(b"~");
    LEFT_NAMES.contains(&name)
        || is_swap && LEFT_ENDS.iter().any(|end| name.ends_with(end))
        || names.any(|name| has_word(TOOL_FOLDERS, name) && !COMMON_FOLDERS.contains(&name))
}

/// Returns the line of a `.gitignore` that ignores a path: for files left by tools, anywhere; for
/// others, only there.
pub fn ignoring_line(path: &RepoPath, is_folder: bool) -> String {
    let bytes = path.as_bytes();
    let mut names = bytes.split(|byte| *byte == b'/');
    if let Some(folder) = names.find(|name| has_word(TOOL_FOLDERS, name)) {
        return format!("{}/", visible(folder));
    }
    let name = path.name();
    if !is_folder && LEFT_NAMES.contains(&name) {
        return visible(name);
    }
    match LEFT_ENDS
        .iter()
        .find(|end| !is_folder && name.ends_with(end))
    {
        Some(end) => format!("*{}", visible(end)),
        None if is_folder => format!("/{path}/"),
        None => format!("/{path}"),
    }
}

/// Returns the folder around a path that a known tool made.
fn tool_folder(path: &[u8]) -> Option<&[u8]> {
    let mut from = 0;
    for name in path.split(|byte| *byte == b'/') {
        let end = from + name.len();
        if has_word(TOOL_FOLDERS, name) && end < path.len() {
            return path.get(..=end);
        }
        from = end + 1;
    }
    None
}

/// Whether a path is in a folder with a tool's name and tracked files.
fn has_sources(entries: &[IndexEntry], path: &[u8]) -> bool {
    tool_folder(path).is_some_and(|folder| {
        let first = entries.partition_point(|entry| &*entry.path < folder);
        let entry = entries.get(first);
        entry.is_some_and(|entry| entry.path.starts_with(folder))
    })
}

impl Git {
    /// Returns those of some untracked files that git ignores on this machine, each with the
    /// reason. If git fails, returns none.
    pub fn ignored_here(&self, paths: &[RepoPath]) -> HiddenFiles {
        let names: Vec<Vec<u8>> = paths.iter().map(|p| p.as_bytes().to_vec()).collect();
        if names.is_empty() {
            return HiddenFiles::new();
        }
        let hidden = self.hidden(&names, &self.index_entries());
        let by_path = hidden.unwrap_or_default().into_iter();
        by_path
            .filter_map(|(path, by)| Some((RepoPath::from_exact(&path)?, by)))
            .collect()
    }

    /// Returns those of some untracked files that git ignores on this machine, and those with names
    /// that only a tool, editor or desktop gives.
    pub fn left_or_hidden(&self, paths: &[RepoPath]) -> HiddenFiles {
        let mut hidden = self.ignored_here(paths);
        let named = paths.iter().map(RepoPath::as_bytes);
        if named.clone().any(is_named_by_tools) {
            let entries = self.index_entries();
            let left = named.filter(|path| is_named_by_tools(path) && !has_sources(&entries, path));
            hidden.extend(left.filter_map(|p| Some((RepoPath::from_exact(p)?, HiddenBy::Tool))));
        }
        hidden
    }

    /// Returns the entries of the index; none if it cannot be read.
    fn index_entries(&self) -> Arc<Vec<IndexEntry>> {
        let entries = id_length(self).and_then(|length| read_entries(self, length));
        entries.unwrap_or_default()
    }

    /// Returns the untracked files that no tracked rule hides and git does not list, each with the
    /// rule that hides it. A folder ends in `/`. `entries`: the index, in byte order; a folder with
    /// tracked files does not count as a tool's.
    pub(super) fn hidden(
        &self,
        others: &[Vec<u8>],
        entries: &[IndexEntry],
    ) -> Result<BTreeMap<Vec<u8>, HiddenBy>, GitError> {
        let mut hidden = BTreeMap::new();
        if others.is_empty() {
            return Ok(hidden);
        }
        self.has_readable_rules(others)?;
        // While directories are exchanged, some paths are gone; they are not part of the tree.
        let mut asked = self.check_ignore(others);
        for _ in 0..AGAIN {
            let is_exchanged = |error: &GitError| error.to_string().contains("symbolic link");
            if !asked.as_ref().is_err_and(is_exchanged) {
                break;
            }
            let others = others.iter().filter(|path| !self.is_beyond_link(path));
            asked = self.check_ignore(&others.cloned().collect::<Vec<_>>());
        }
        let asked = asked?;
        let unreadable = || GitError::Unreadable(COMMAND);
        let fields = split_nul(&asked.stdout);
        let mut by_users_file = None;
        for record in fields.chunks(4) {
            // Of which file, the line's number, the line, the path.
            let [file, _, pattern, path] = record else {
                return Err(unreadable());
            };
            if pattern.starts_with(b"!") {
                continue;
            }
            let path = path.strip_prefix(HERE).ok_or_else(unreadable)?.to_vec();
            let by = if is_left_by_tools(&path) && !has_sources(entries, &path) {
                HiddenBy::Tool
            } else if self.is_own_rule(file) {
                HiddenBy::Repository
            } else {
                *by_users_file.get_or_insert_with(|| self.named_by())
            };
            hidden.insert(path, by);
        }
        Ok(hidden)
    }

    fn check_ignore(&self, paths: &[Vec<u8>]) -> Result<call::Output, GitError> {
        // Git would read a path that begins with a colon as a pathspec with magic.
        let paths: Vec<Vec<u8>> = paths.iter().map(|path| [HERE, path].concat()).collect();
        let failed = |e: std::io::Error| GitError::Failed {
            command: COMMAND.to_owned(),
            message: e.to_string(),
        };
        let given = memory(&paths.join(&0)).map_err(failed)?;
        // This command does not support literal paths, and needs none: its standard input has no
        // wildcards.
        let words = command("--no-literal-pathspecs check-ignore --no-index --stdin -z --verbose");
        let asked = self.start_with(&words, given.into())?.output()?;
        // 1: no path is ignored.
        match asked.exit {
            Some(0 | 1) => Ok(asked),
            _ => Err(self.failure(COMMAND, &asked)),
        }
    }

    /// Whether a directory of a path has become a link: git refuses to look up paths below it.
    pub(super) fn is_beyond_link(&self, path: &[u8]) -> bool {
        let path = self.root().join(OsStr::from_bytes(path));
        let mut above = path.ancestors().skip(1);
        let is_link = |dir: &Path| dir.symlink_metadata().is_ok_and(|found| found.is_symlink());
        above.any(|dir| dir.starts_with(self.root()) && dir != self.root() && is_link(dir))
    }

    /// Whether a file of rules, as git names it, is a `.gitignore` in the tree or the repository's
    /// `info/exclude`.
    fn is_own_rule(&self, file: &[u8]) -> bool {
        let file = self.root().join(OsStr::from_bytes(file));
        let is_below = file.starts_with(self.root());
        is_below || file.starts_with(&self.layout().common_dir)
    }

    /// Returns whose configuration names `core.excludesFile`. With an old git that does not report
    /// it, and in unusual cases, it counts as the repository's.
    fn named_by(&self) -> HiddenBy {
        let words = command("config --show-scope --includes --get core.excludesFile");
        match self.call(&words) {
            // Git's own default place, in the user's folder of configuration.
            Ok(answer) if answer.exit == Some(1) => HiddenBy::User,
            Ok(call::Output {
                exit: Some(0),
                stdout,
                ..
            }) if stdout.starts_with(b"global\t") || stdout.starts_with(b"system\t") => {
                HiddenBy::User
            }
            _ => HiddenBy::Repository,
        }
    }

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
            let file = self.root().join(OsStr::from_bytes(&path));
            // Git follows no symlink there.
            unread(&path, file.symlink_metadata())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_leave() {
        for (path, is) in [
            (&b".venv/lib/x.py"[..], true),
            (b"src/__pycache__/a.pyc", true),
            (b"src/.DS_Store", true),
            (b"src/.a.py.swp", true),
            (b"a~", true),
            (b".venv", false),
            (b"src/helper", false),
            (b"__pycache__x/a", false),
            (b"a~/b", false),
        ] {
            assert_eq!(is_left_by_tools(path), is, "{path:?}");
        }
        for (path, is) in [
            (&b".venv/x"[..], true),
            (b"src/__pycache__/a.pyc", true),
            (b"src/.DS_Store", true),
            (b"src/.a.swp", true),
            (b"src/a.swp", false),
            (b"src/a~", false),
            (b"src/.a~", false),
            (b"src/venv/a", false),
            (b"htmlcov/a.py", false),
        ] {
            assert_eq!(is_named_by_tools(path), is, "{path:?}");
        }
        for (path, is_folder, line) in [
            ("src/.venv", true, ".venv/"),
            ("src/__pycache__/a.pyc", false, "__pycache__/"),
            ("src/.DS_Store", false, ".DS_Store"),
            ("src/a~", false, "*~"),
            (".idea", true, "/.idea/"),
            ("a/b", false, "/a/b"),
        ] {
            let path = RepoPath::parse(path.as_bytes()).unwrap();
            assert_eq!(ignoring_line(&path, is_folder), line);
        }
    }
}
