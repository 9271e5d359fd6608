//! Environment variables: what a step requests, what the operator grants, what is withheld.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::command::Env;
use vplan_base::path::RepoPath;

/// What a step requests of its environment.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentRequest<'a> {
    /// Names and patterns of variables that the caller's environment may pass.
    pub pass_env: &'a [String],
    /// Variables that the command sets.
    pub env: &'a Env,
    /// Directories of the repository that precede PATH.
    pub tool_path: &'a [RepoPath],
}

/// The variables that the operator passed to steps, and those that were withheld.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvironmentUse {
    /// `--keep-capabilities`: steps of a privileged vplan could reach processes that are not their
    /// own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub capabilities_kept: bool,
    /// The names after `--grant-env`, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// `--inherit-env`: all variables were passed.
    pub inherited: bool,
    /// Variables that steps requested and did not get, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
}

/// A variable that a step requested and that was withheld.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// Its name.
    pub name: String,
    /// One line for people, with the way out.
    pub reason: String,
}

impl EnvironmentUse {
    /// Whether no variable was granted and none was withheld.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
