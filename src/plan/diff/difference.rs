//! The differences of two contracts.

use super::acceptance::Accept;
use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::change::ChangedFile;
use vplan_base::path::RepoPath;

/// The version of the output of `vplan diff --format json`.
pub const VERSION: u32 = 1;

vplan_base::vocabulary! {
    /// The effect of a difference on the verification.
    Class {
        /// Some request is asked for less, or a failure counts for less.
        Weakens = "weakens",
        /// It may weaken or not, vplan cannot tell: another command, selections that are too large to
        /// compare.
        Undecided = "undecided",
        /// Some request is asked for more, or a failure counts for more.
        Strengthens = "strengthens",
        /// Something else: how a plan is executed or shown.
        Changes = "changes",
        /// It means the same.
        Cosmetic = "cosmetic",
    }
}

/// A line of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct At {
    /// The file, as a repository path.
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// One difference between two contracts.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// What accepts it, if it is undecided: the value of `--accept`.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub accept: Option<Accept>,
    /// Whether it was accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// Its effect.
    pub class: Class,
    /// The request that shows it: an index into `requests`.
    pub request: Option<usize>,
    /// Its place in the newer contract.
    pub new: Option<At>,
    /// Its place in the older contract.
    pub old: Option<At>,
    /// The part that differs: `check unit`, `risk auth`, `limits`.
    pub subject: String,
    /// The difference, in one line.
    pub what: String,
    /// The reason for its class, when that is not plain.
    pub why: Option<String>,
}

/// A request on which the contracts differ, found by search and confirmed by compiling both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Asked")]
pub struct DifferingRequest {
    /// The changed files.
    pub changed: Vec<ChangedFile>,
    /// Paths that exist, of those that conditions ask for.
    pub exists: Vec<RepoPath>,
    /// It as an `expect` of the language, which the contract that asks for more passes and the
    /// other one fails. Where only `{changed}` hands over fewer files, both pass. None when no
    /// test can name a changed path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// Checks that only the newer contract asks for then: the first of them.
    pub gained: Vec<String>,
    /// Whether the risk is high.
    pub high_risk: bool,
    /// Checks that only the older contract asks for then: the first of them.
    pub lost: Vec<String>,
    /// The role of the change's author.
    pub role: String,
    /// Whether it is the run's end.
    pub run_end: bool,
}

/// The differences between two contracts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractDiff {
    /// The differences, the gravest first, then in the order of the files.
    pub differences: Vec<Difference>,
    /// `contracts`.
    pub kind: &'static str,
    /// The requests that differences refer to.
    pub requests: Vec<DifferingRequest>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

impl ContractDiff {
    /// Counts the differences of a class.
    pub fn count(&self, class: Class) -> usize {
        self.differences.iter().filter(|d| d.class == class).count()
    }
}

pub(super) fn as_text<S: serde::Serializer>(
    accept: &Option<Accept>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match accept {
        Some(accept) => to.collect_str(accept),
        None => to.serialize_none(),
    }
}
