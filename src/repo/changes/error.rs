//! Defines the reasons why changed files cannot be determined.

use super::base::Lacking;
use super::ci::system;
use super::list::{ListError, MAX_CHANGED, Problem};
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_git::error::GitError;

/// The reason why the changed files are not known. All of them are usage errors (exit 2), except a
/// missing commit of a saved plan (exit 4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Git reports an error.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A path on the command line is invalid.
    #[error(transparent)]
    Path(#[from] Problem),
    /// A path on the command line is a glob, and no file has its name.
    #[error("`{0}` is not the name of a file, and globs are not expanded")]
    Glob(String),
    /// A path on the command line could mean two files.
    #[error("`{text}` could mean `{from_root}` or `{from_here}`")]
    Ambiguous {
        /// The path, as written.
        text: String,
        /// From the caller's directory.
        from_here: RepoPath,
        /// From the root.
        from_root: RepoPath,
    },
    /// A list is malformed.
    #[error(transparent)]
    List(#[from] ListError),
    /// `--base auto`, and no variable names a base.
    #[error("no variable of a CI system names a base")]
    NoCiBase,
    /// `--base auto`, and the named commit is not here, or not enough of its history.
    #[error("`{}` ({variable}) is not in this clone, or not enough of its history", visible(.value))]
    CiBaseMissing {
        /// The variable that names it.
        variable: &'static str,
        /// The named value.
        value: String,
        /// The command that fetches it.
        fetch: Option<String>,
    },
    /// `--base auto`, and the target branch contains everything that is checked out.
    #[error("`{}` ({variable}) has all that is checked out: the change is not here", visible(.value))]
    CiNoChange {
        variable: &'static str,
        value: String,
    },
    /// The commit that a saved plan names is not here.
    #[error("the change is compared with the commit {commit}, which is not in this clone")]
    NotFetched {
        commit: String,
        /// The command that fetches it, if a remote is known.
        fetch: Option<String>,
    },
    /// `--base auto`, a branch was pushed, and the default branch is unknown.
    #[error("the CI system does not say which branch is the default, and neither does this clone")]
    CiDefault {
        /// The command that fetches it.
        fetch: Option<String>,
    },
    /// `--base auto`, but a commit is required and everything counts as changed.
    #[error("there is no base to compare with: {}", visible(.why))]
    CiWhole { why: String },
    /// The event file of the job cannot be read.
    #[error("the event file `{}` cannot be read: {}", visible(.path), visible(.message))]
    CiEvent { path: String, message: String },
    /// The commit to compare with is not in this clone.
    #[error("{}", .0.message())]
    Lacking(Box<Lacking>),
    /// More than the cap.
    #[error("more than {MAX_CHANGED} changed files")]
    TooMany,
}

impl ChangeError {
    /// Returns its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            ChangeError::Git(e) => e.code(),
            ChangeError::Path(_) => "vplan::changes::path",
            ChangeError::Glob(_) => "vplan::changes::glob",
            ChangeError::Ambiguous { .. } => "vplan::changes::ambiguous",
            ChangeError::List(_) => "vplan::changes::list",
            ChangeError::NoCiBase => "vplan::changes::no_ci_base",
            ChangeError::CiBaseMissing { .. } => "vplan::changes::ci_base_missing",
            ChangeError::NotFetched { .. } => "vplan::changes::not_fetched",
            ChangeError::CiNoChange { .. } => "vplan::changes::ci_no_change",
            ChangeError::CiDefault { .. } => "vplan::changes::ci_default",
            ChangeError::CiWhole { .. } => "vplan::changes::ci_whole",
            ChangeError::CiEvent { .. } => "vplan::changes::ci_event",
            ChangeError::Lacking(_) => "vplan::changes::base_lacking",
            ChangeError::TooMany => "vplan::changes::too_many",
        }
    }

    /// Returns the help for the message, if there is any.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            ChangeError::Git(e) => return e.help(),
            ChangeError::Path(_) => "paths count from the root of the repository, wherever vplan is started".to_owned(),
            ChangeError::Glob(text) => format!(
                "name the files, or write `:{text}` for a file of this name; `git ls-files '{text}'` prints a list for \
                 `--changed-from -`, `--all` is every tracked file, and `vplan explain --may-change '{text}'` says what a change there may need"
            ),
            ChangeError::Ambiguous { from_here, from_root, .. } => format!(
                "paths are relative to the root: write `:/{from_root}` or `:/{from_here}`"
            ),
            ChangeError::List(_) => {
                "say which form the list has with `--changed-format names|name-status|raw`, and `-z` if it is separated \
                 by NUL"
                    .to_owned()
            }
            ChangeError::NoCiBase => {
                let known: Vec<String> = system::signs().map(|v| format!("`{v}`")).collect();
                format!("name the base yourself with `--base REV`; looked at: {}", known.join(" "))
            }
            ChangeError::CiBaseMissing { fetch: Some(fetch), .. } => format!("fetch it first: `{fetch}`"),
            ChangeError::CiDefault { fetch: Some(fetch) } => format!("`{fetch}`, or name it with `--base REV`"),
            ChangeError::CiBaseMissing { fetch: None, .. } | ChangeError::CiDefault { fetch: None } => {
                "name the base yourself with `--base REV`".to_owned()
            }
            ChangeError::CiNoChange { .. } => {
                "check out the commit of the change; `--base REV` compares with another one".to_owned()
            }
            ChangeError::CiWhole { .. } => "name it yourself with `--base REV`".to_owned(),
            ChangeError::CiEvent { .. } => {
                format!("`{}` names it; `--base REV` does without", system::EVENT_FILE)
            }
            ChangeError::NotFetched { fetch: Some(fetch), .. } => format!("fetch it first: `{fetch}`"),
            ChangeError::NotFetched { fetch: None, .. } => {
                "fetch it from the repository that has it; several remotes, or none, could have it".to_owned()
            }
            ChangeError::Lacking(lacking) => match lacking.commands() {
                Some(commands) => format!("fetch it first: `{commands}`; or name another base with `--base REV`"),
                None => "fetch it first, or name another base with `--base REV`".to_owned(),
            },
            ChangeError::TooMany => "narrow the change, or verify it in parts".to_owned(),
        })
    }
}
