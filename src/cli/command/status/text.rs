//! The end of the latest run, for people.

use crate::history::headline;
use crate::render;
use crate::render::style::{Tone, paint};
use crate::terminal::Terminal;
use vplan_base::word::visible;
use vplan_engine::tree_status::TreeStatus;
use vplan_run::ended::VerifiedAnswer;
use vplan_run::past::{Summary, short};

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
    let mut text = String::new();
    if let Some(compared) = &standing.compared {
        text.push_str(&format!("compared: {}\n", visible(compared)));
    }
    text.push_str(&render::caveats(&standing.caveats, terminal.color));
    let Some((latest, trouble)) = &shown.latest else {
        let answer = if shown.required || standing.nothing_applies {
            answer(standing, None)
        } else {
            String::new()
        };
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
        if let Some(reason) = &shown.reason {
            text.push_str(&format!("  {}\n", visible(reason)));
        }
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
        (VerifiedAnswer::Verified, Some(by)) => format!(
            "  the work tree is the one that the run {} verified\n",
            short(by)
        ),
        (VerifiedAnswer::NotVerified, _) => format!("  not verified: {why}\n"),
        (VerifiedAnswer::Unknown, _) => format!("  unknown: {why}\n"),
    }
}
