//! Reasons why a rule cannot rewrite a plan.

use thiserror::Error;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;

/// Why a rule that fires is refused. Steps are named by their ids.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    #[error("the plan's policy does not allow it")]
    Policy,
    #[error("the plan has been rewritten too often: what its rewrites list is too long")]
    TooManyRewrites,
    #[error("`{0}` needs it")]
    Needed(String),
    #[error("no step that verifies something would remain")]
    NothingRemains,
    #[error("`{0}` is a check of the contract, and not `optional`")]
    InContract(String),
    #[error("`{command}` changes the shell, and with it what the commands behind it mean", command = visible(.0.as_bytes()))]
    ChangesShell(String),
    #[error("`{0}`, which would declare it, is among the changed files")]
    DeclarationChanged(RepoPath),
    #[error("the base revision declares `{name}`", name = visible(.0.as_bytes()))]
    DeclaredAtBase(String),
    #[error("`{0}`, which says where tests are, is among the changed files")]
    TestConfigurationChanged(RepoPath),
    #[error("the change deletes `{0}`")]
    TestDeleted(RepoPath),
    #[error("`{0}` stands before it, and must be carried first")]
    CarriedFirst(String),
    #[error("`{0}` runs in another directory already")]
    OtherDirectory(String),
    #[error("the variables cannot be given to `{0}`, which needs a shell")]
    NeedsShell(String),
    #[error("the contract wants `{step}` behind `{cleanup}`")]
    OrderOfContract { step: String, cleanup: String },
    #[error("`{step}` and `{cleanup}` are of different tiers")]
    Tiers { step: String, cleanup: String },
    #[error("there is no check")]
    NoCheck,
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Why a plan may not be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("`{step}` would not stand behind `{predecessor}`")]
    Order { step: String, predecessor: String },
    #[error("two steps would be called `{0}`")]
    Name(String),
    #[error("the digest is another plan's")]
    Digest,
}
