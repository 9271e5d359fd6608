//! The reasons why it is not known what a step rests on or leaves.

use std::io;
use std::path::PathBuf;
use vplan_base::path::RepoPath;
use vplan_base::word::visible_path;
use vplan_check::difference::Difference;
use vplan_check::evidence::SpawnError;
use vplan_os::files::beneath::ReadError;
use vplan_os::outside::ReadsError;
use vplan_os::process::program::message_of;
use vplan_reuse::decide::NoReuseReason;

/// Maximum number of files that are scanned for one step.
pub(super) const MOST_FILES: usize = 1_000_000;
/// The most `produces` files that are kept with a pass.
pub(super) const MOST_PRODUCTS: usize = 20_000;
/// Maximum number of ignored files that a pass may have changed and still be kept.
pub(super) const MOST_WRITTEN: usize = 40_000;

/// The reason why no earlier pass can replace a step, or why its pass is not kept. Safe to print.
#[derive(Debug, thiserror::Error)]
pub enum Unsteady {
    #[error("its `inputs` select no file")]
    NoFiles,
    #[error("more than {} files are selected", MOST_FILES)]
    TooManyFiles,
    /// A path, and what the system refuses.
    #[error("`{0}` cannot be {1}: {why}", why = message_of(.2))]
    Refused(RepoPath, &'static str, io::Error),
    #[error("`{0}` cannot be read: {1}")]
    Unreadable(RepoPath, ReadError),
    #[error("`{0}` is being written to")]
    BeingWritten(RepoPath),
    #[error("`{0}` holds a name that is none")]
    BadName(RepoPath),
    #[error("`{0}` is no regular file")]
    NotRegular(RepoPath),
    #[error("`{0}` leads out of the repository")]
    LeadsOut(RepoPath),
    #[error("`{0}` leads to something that is no file")]
    LeadsToNoFile(RepoPath),
    #[error("what must stay unchanged cannot be known: {}", message_of(.0))]
    Unchanged(io::Error),
    #[error("it has no command")]
    NoCommand,
    #[error("{}", .0.message)]
    NoProgram(SpawnError),
    #[error("its interpreter is not named")]
    NoInterpreter,
    #[error("its interpreters never end")]
    EndlessInterpreters,
    #[error("its program `{path}` cannot be read: {1}", path = visible_path(.0))]
    UnreadableProgram(PathBuf, io::Error),
    #[error("its program `{}` is being written to", visible_path(.0))]
    ProgramBeingWritten(PathBuf),
    /// What is outside of the repository, and its place.
    #[error("{0} at `{path}` cannot be followed: {why}", path = visible_path(.1), why = message_of(.2))]
    Unfollowed(&'static str, PathBuf, io::Error),
    /// What `reads` or the PATH names, in the words of `os`.
    #[error("{0}")]
    Outside(ReadsError),
    /// An input, and who else may have written it.
    #[error("`{0}`, an input, was written while it ran{1}")]
    InputWritten(RepoPath, &'static str),
    #[error("`{0}` was written while it ran")]
    UnchangedWritten(RepoPath),
    #[error("while it ran, {0}")]
    Differs(Difference),
    #[error("it changed more than {MOST_WRITTEN} ignored files")]
    TooManyWritten,
    #[error("it made nothing of what it `produces`")]
    MadeNothing,
    #[error("it made more than {MOST_PRODUCTS} files")]
    MadeTooMany,
    #[error("it did not end by itself")]
    Ended,
}

impl From<Unsteady> for NoReuseReason {
    fn from(why: Unsteady) -> Self {
        Self::Unsteady(why.to_string())
    }
}
