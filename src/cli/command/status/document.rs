//! The end of the latest run, as a document.

use schemars::JsonSchema;
use serde::Serialize;
use vplan_plan::caveat::Caveat;
use vplan_run::ended::VerifiedAnswer;
use vplan_run::past::Summary;
use vplan_run::report::Report;
use vplan_runner::tree::Present;
use vplan_store::history::History;

/// The latest run, and whether what is here is verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusDocument<'a> {
    /// Whether what is here is verified; `unknown`: there is a record, and vplan does not know it
    /// for its own.
    pub answer: VerifiedAnswer,
    /// The caveats: why the answer means less than was requested.
    #[serde(skip_serializing_if = "<[Caveat]>::is_empty")]
    pub caveats: &'a [Caveat],
    /// The comparison that found the change; absent when the request cannot be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<&'a str>,
    /// The latest run that came to its end, when the latest one did not.
    pub latest_finished: Option<&'a Summary>,
    /// No check is asked for by the whole change.
    pub nothing_applies: bool,
    /// The latest run.
    pub run: Option<&'a Summary>,
    /// The tree that the latest finished run verified, by its report, and the one that is here.
    pub tree: Option<Tree>,
    /// Whether all that is asked for now was verified, on the work tree as it is.
    pub verified: bool,
    /// The run that verified it; absent where none did, or nothing applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_by: Option<&'a str>,
    /// The reason why it is not verified, by the newest run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<&'a str>,
}

/// The tree that a run verified, and the one that is here.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tree {
    /// The digest of the present work tree; absent when it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// The digest of the tree that the run verified.
    pub recorded: String,
    /// Whether both are the same.
    pub same: bool,
}

/// The tree of a report beside the present one.
pub(super) fn tree(history: &History, report: &Report, present: &Present) -> Option<Tree> {
    let recorded = report.tree.clone()?;
    let plan = history.plan(&report.run_id).ok()??;
    let present = present.digest(report, &plan);
    let same = present.as_ref() == Some(&recorded);
    Some(Tree {
        present,
        recorded,
        same,
    })
}
