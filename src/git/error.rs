//! The errors of git queries.

use std::fmt::Display;
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use vplan_base::word::{visible, visible_path};

/// The errors of git, with help for most of them. An error never means "no changes".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// No git on the PATH (entries that are empty, relative or inside the repository do not count).
    #[error("`git` was not found on the PATH")]
    Missing,
    /// No repository here or above.
    #[error("`{}` is not inside a git repository", show(.0))]
    NotARepository(PathBuf),
    /// A repository without a work tree.
    #[error("`{}` is a bare git repository: it has no work tree to verify", show(.0))]
    Bare(PathBuf),
    /// The repository belongs to another user.
    #[error("git refuses the repository `{}`: it belongs to another user", show(.0))]
    DubiousOwnership(PathBuf),
    /// A revision that does not name a commit.
    #[error("`{}` names no commit", visible(.0))]
    UnknownRevision(String),
    /// Several remotes have a branch of this name.
    #[error("several remotes have a branch `{}`: {}", visible(.name), visible(.found.join(", ")))]
    AmbiguousBranch {
        name: String,
        /// The full names of the references.
        found: Vec<String>,
    },
    /// A name that git could take for several things.
    #[error("`{}` means several things here: {}", visible(.name), visible(.found.join(", ")))]
    AmbiguousRevision {
        name: String,
        /// The full names of the references.
        found: Vec<String>,
    },
    /// Two revisions without a common ancestor.
    #[error("`{}` and `HEAD` have no common ancestor here", visible(.revision))]
    NoMergeBase {
        /// The requested revision, as the caller wrote it.
        revision: String,
        /// Whether the history is cut off, which is the usual cause.
        shallow: bool,
    },
    /// Git did not end in time.
    #[error("`git {command}` did not end within {seconds} seconds")]
    TimedOut { command: String, seconds: u64 },
    /// Git wrote more than is read.
    #[error("`git {command}` wrote more than {mib} MiB")]
    TooMuchOutput { command: String, mib: u64 },
    /// Git could not be started.
    #[error("`git` could not be started: {0}")]
    Spawn(String),
    /// A signal ended git.
    #[error("`git {0}` was ended by a signal")]
    Killed(String),
    /// Git failed, with this message, made safe to show.
    #[error("`git {command}` failed: {message}")]
    Failed {
        command: String,
        /// The first line of its standard error.
        message: String,
    },
    /// Git's answer is not of the form that its documentation describes.
    #[error("`git {0}` gave an answer that cannot be read")]
    Unreadable(&'static str),
    /// The content of an object does not have the object's id.
    #[error("the object {0} of this repository is not what its id says")]
    Damaged(String),
    /// A file in a commit is larger than the caller's limit.
    #[error("`{path}` is larger than {}", vplan_base::unit::show_size(*.cap))]
    TooLarge {
        path: String,
        /// The limit, in bytes.
        cap: u64,
    },
    /// A file of the work tree could not be read.
    #[error("`{path}` cannot be read: {message}")]
    File {
        path: String,
        /// The system's message.
        message: String,
    },
    /// vplan's records must not be part of the tree that they record.
    #[error("`{0}` is tracked by git, but `.vplan/` is for vplan's own records")]
    TrackedRecord(String),
    /// The index kept changing under the reader.
    #[error("git's index is being changed by another process")]
    Unsteady,
}

/// Refuses files on which git would block, such as a pipe.
pub(super) fn unread(path: &[u8], found: io::Result<Metadata>) -> Result<(), GitError> {
    let waits = |kind: FileType| !(kind.is_file() || kind.is_dir() || kind.is_symlink());
    match found {
        Ok(found) if waits(found.file_type()) => Err(failed(
            visible(path),
            "it is no regular file, and git would wait for it",
        )),
        _ => Ok(()),
    }
}

/// Returns the error of a file that cannot be read or written.
pub(super) fn failed(path: impl Display, error: impl Display) -> GitError {
    GitError::File {
        path: path.to_string(),
        message: error.to_string(),
    }
}

/// The system's errors that are not the file's: of the device (5), no processes (11), no memory (12),
/// no descriptors (23, 24), no space (28), as git prints them.
const OF_MACHINE: [(&str, &str); 6] = [
    ("5", "Input/output error"),
    ("11", "Resource temporarily unavailable"),
    ("12", "Cannot allocate memory"),
    ("23", "Too many open files in system"),
    ("24", "Too many open files"),
    ("28", "No space left on device"),
];

/// Whether a message of the system, or of git, ends with one of these errors.
fn lacks_resources(message: &str) -> bool {
    let is_it = |(number, text): &(&str, &str)| {
        message.ends_with(&format!("(os error {number})")) || message.ends_with(text)
    };
    OF_MACHINE.iter().any(is_it)
}

fn show(path: &Path) -> String {
    visible_path(path)
}

impl GitError {
    /// Whether the machine is at fault: git is missing, hangs or was ended, or something fails because
    /// descriptors, memory or space are used up.
    pub fn is_of_machine(&self) -> bool {
        match self {
            GitError::Missing
            | GitError::Spawn(_)
            | GitError::Killed(_)
            | GitError::TimedOut { .. } => true,
            GitError::File { message, .. } | GitError::Failed { message, .. } => {
                lacks_resources(message)
            }
            _ => false,
        }
    }

    /// Returns its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            GitError::Missing => "vplan::git::missing",
            GitError::NotARepository(_) => "vplan::git::not_a_repository",
            GitError::Bare(_) => "vplan::git::bare_repository",
            GitError::DubiousOwnership(_) => "vplan::git::dubious_ownership",
            GitError::UnknownRevision(_) => "vplan::git::unknown_revision",
            GitError::AmbiguousBranch { .. } => "vplan::git::ambiguous_branch",
            GitError::AmbiguousRevision { .. } => "vplan::git::ambiguous_revision",
            GitError::NoMergeBase { .. } => "vplan::git::no_merge_base",
            GitError::TimedOut { .. } => "vplan::git::timed_out",
            GitError::TooMuchOutput { .. } => "vplan::git::too_much_output",
            GitError::Spawn(_) => "vplan::git::spawn",
            GitError::Killed(_) => "vplan::git::killed",
            GitError::Failed { .. } => "vplan::git::failed",
            GitError::Unreadable(_) => "vplan::git::unreadable",
            GitError::Damaged(_) => "vplan::git::damaged",
            GitError::TooLarge { .. } => "vplan::git::too_large",
            GitError::File { .. } => "vplan::git::file",
            GitError::TrackedRecord(_) => "vplan::git::tracked_record",
            GitError::Unsteady => "vplan::git::unsteady",
        }
    }

    /// Returns the help for the message, if there is any.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            GitError::Missing => "install git, or name the changed files with `--changed` or `--changed-from`".to_owned(),
            GitError::NotARepository(_) => {
                "name the changed files with `--changed` or `--changed-from`, or say `--changed-none`".to_owned()
            }
            GitError::Bare(_) => "run vplan in a work tree of it (`git worktree add`)".to_owned(),
            GitError::DubiousOwnership(dir) => {
                format!("if you trust it: git config --global --add safe.directory '{}'", show(dir))
            }
            GitError::UnknownRevision(revision) if is_branch_name(revision) => {
                let (remote, branch) = of_remote(revision);
                format!("if it is a branch of the remote: git fetch {remote} {branch}")
            }
            GitError::AmbiguousBranch { found, .. } | GitError::AmbiguousRevision { found, .. } => {
                // A branch is meant more often than a tag.
                let full = |name: &&String| name.starts_with("refs/");
                let branch = |name: &&String| full(name) && !name.starts_with("refs/tags/");
                let full = found.iter().find(branch).or_else(|| found.iter().find(full))?;
                format!("write the full name, for example `{}`", visible(full))
            }
            GitError::NoMergeBase { shallow: true, .. } => {
                "the clone is shallow: `git fetch --deepen=100` (again, if that is not enough) or `git fetch --unshallow`"
                    .to_owned()
            }
            GitError::NoMergeBase { shallow: false, .. } => {
                "their histories are unrelated: name a revision that `HEAD` descends from".to_owned()
            }
            GitError::Damaged(_) => "`git fsck` says what else is damaged; a new clone has it whole".to_owned(),
            GitError::TrackedRecord(_) => "git rm -r --cached .vplan".to_owned(),
            GitError::Killed(_) | GitError::TimedOut { .. } => {
                "run `git status` by itself: what ends or stops it there is to be found first".to_owned()
            }
            GitError::Unsteady => "wait until the other git command has ended".to_owned(),
            _ => return None,
        })
    }
}

/// Splits a name into a remote and a branch.
fn of_remote(name: &str) -> (&str, &str) {
    let tracking = name
        .strip_prefix("refs/remotes/")
        .and_then(|rest| rest.split_once('/'));
    let origin = || {
        Some((
            "origin",
            name.strip_prefix("origin/")
                .or(name.strip_prefix("refs/heads/"))?,
        ))
    };
    tracking
        .or_else(origin)
        .filter(|(_, branch)| !branch.is_empty())
        .unwrap_or(("origin", name))
}

/// Whether a text can be used in a proposed command line as a branch, unquoted.
pub fn is_branch_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b'-');
    !text.is_empty() && !text.starts_with('-') && !text.contains("..") && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_fetch_is_a_branch_of_the_remote() {
        for (name, want) in [
            ("main", "git fetch origin main"),
            ("origin/main", "git fetch origin main"),
            ("refs/remotes/origin/a/b", "git fetch origin a/b"),
            ("refs/remotes/fork/main", "git fetch fork main"),
            ("refs/heads/main", "git fetch origin main"),
            ("origin/", "git fetch origin origin/"),
        ] {
            let help = GitError::UnknownRevision(name.to_owned()).help().unwrap();
            assert_eq!(help, format!("if it is a branch of the remote: {want}"));
        }
    }
}
