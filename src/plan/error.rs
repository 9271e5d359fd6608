//! Errors of this crate: why a request cannot be planned, or a plan file cannot be used.

pub use super::soundness::UNFIT;
use super::soundness::Unfit;
use vplan_base::nearest::nearest;
use vplan_base::span::Span;
use vplan_base::word::visible;

/// A request that does not fit the contract. All of them are usage errors (exit 2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// A stable code such as `vplan::plan::unknown_role`.
    pub code: &'static str,
    /// One line, lower case, no full stop, user text in backticks.
    pub message: String,
    /// The next step, for people.
    pub help: Option<String>,
}

/// The contract has no such role.
pub const UNKNOWN_ROLE: &str = "vplan::plan::unknown_role";
/// `--only`, `--skip` or `explain` name no check.
pub const UNKNOWN_CHECK: &str = "vplan::plan::unknown_check";
/// `--only tag:T` with a tag that no check has.
pub(crate) const UNKNOWN_TAG: &str = "vplan::plan::unknown_tag";
/// A waiver without a reason.
pub(crate) const BLANK_REASON: &str = "vplan::plan::blank_reason";
/// A waived check is needed by one that runs.
pub(crate) const SKIPPED_NEED: &str = "vplan::plan::skipped_need";
/// Too many changed files for a check that must run once.
pub(crate) const BATCHED_REPORT: &str = "vplan::plan::batched_report";
/// A plan that cannot be read.
pub const DOCUMENT: &str = "vplan::plan::document";
/// A plan file that is no JSON, or no KDL.
pub const SYNTAX: &str = "vplan::plan::syntax";
/// A plan file with a merge conflict in it.
pub const CONFLICT: &str = "vplan::plan::conflict";
/// A plan file of another version.
pub const VERSION: &str = "vplan::plan::version";
/// A plan that is not the one that its digest names.
pub const TAMPERED: &str = "vplan::plan::tampered";

impl PlanError {
    pub(super) fn new(
        code: &'static str,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            help,
        }
    }

    /// Gives it its place in a plan file.
    pub(super) fn at(self, span: impl Into<Option<Span>>) -> DocumentError {
        let span = span.into();
        DocumentError { error: self, span }
    }

    /// Makes the error for an unknown name, with the nearest one or all known ones as help.
    pub(super) fn unknown<'a>(
        code: &'static str,
        what: &str,
        given: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        const LISTED: usize = 12;
        let help = match nearest(given, known.clone()) {
            Some(name) => Some(format!("did you mean `{}`?", visible(name))),
            None => match known.clone().count() {
                0 => None,
                n if n <= LISTED => {
                    let all: Vec<String> = known.map(|k| format!("`{}`", visible(k))).collect();
                    Some(format!("known are {}", all.join(", ")))
                }
                n => Some(format!("`vplan explain` lists all {n}")),
            },
        };
        Self::new(
            code,
            format!("no {what} is called `{}`", visible(given)),
            help,
        )
    }
}

/// A plan file that cannot be used, and where in its text the fault is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct DocumentError {
    /// The error without its place.
    pub error: PlanError,
    /// Its place, if it has one.
    pub span: Option<Span>,
}

impl From<PlanError> for DocumentError {
    fn from(error: PlanError) -> Self {
        error.at(None)
    }
}

impl From<Unfit> for PlanError {
    fn from(unfit: Unfit) -> Self {
        Self::new(unfit.code, unfit.message, unfit.help)
    }
}
