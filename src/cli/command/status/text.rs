//! The end of the latest run, for people and programs.

use crate::command::answer::*;
use crate::history::headline;
use crate::render;
use vplan_engine::tree_status::TreeStatus;
use vplan_plan::caveat::Caveat;
use vplan_run::recorded_answer::VerifiedAnswer;
use vplan_run::run_summary::Summary;
use vplan_runner::tree::Present;
use vplan_store::history::History;

/// A run, with what is wrong with its journal.
pub(super) type Latest = (Summary, Option<String>);

/// The recorded runs that are shown.
pub(super) struct StatusView {
    pub latest: Option<Latest>,
    pub finished: Option<Summary>,
    /// The reason for the verdict, by the report of the latest finished run.
    pub reason: Option<String>,
    pub required: bool,
}

pub(super) fn page(shown: &StatusView, standing: &TreeStatus, terminal: &Terminal) -> String {
    let mut text = framed("compared: ", standing.compared.as_ref().map(visible), "\n");
    text.push_str(&render::caveats(&standing.caveats, terminal.color));
    let Some((latest, trouble)) = &shown.latest else {
        let answers = shown.required || standing.nothing_applies;
        let answer = text_if(answers, || answer(standing, None));
        return text + "no run is recorded yet: `vplan run` makes one\n" + &answer;
    };
    let warn = |what: &str| format!("  {} {what}\n", paint(terminal.color, Tone::Warn, "!"));
    text.push_str(&headline(latest, terminal.color, terminal.columns));
    text.push_str(&trouble.as_ref().map_or_else(String::new, |t| warn(t)));
    if let Some(finished) = &shown.finished {
        if finished.run_id != latest.run_id {
            text.push_str("\nthe latest run that came to its end:\n");
            text.push_str(&headline(finished, terminal.color, terminal.columns));
        }
        text.push_str(&framed("  ", shown.reason.as_ref().map(visible), "\n"));
    }
    if shown.finished.is_some() || shown.required {
        text.push_str(&answer(standing, shown.finished.as_ref()));
    }
    text
}

fn answer(standing: &TreeStatus, finished: Option<&Summary>) -> String {
    let why = standing.why_not.as_deref().unwrap_or_default();
    match (standing.answer, &standing.by) {
        (VerifiedAnswer::Verified, None) => "  verified: nothing applies\n".to_owned(),
        (VerifiedAnswer::Verified, Some(by)) if finished.is_some_and(|run| run.run_id == *by) => {
            "  the work tree is the one that was verified\n".to_owned()
        }
        (VerifiedAnswer::Verified, Some(by)) => {
            let run = short(by);
            format!("  the work tree is the one that the run {run} verified\n")
        }
        (VerifiedAnswer::NotVerified, _) => format!("  not verified: {why}\n"),
        (VerifiedAnswer::Unknown, _) => format!("  unknown: {why}\n"),
    }
}

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

/// Compares the tree of a report with the present one.
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
