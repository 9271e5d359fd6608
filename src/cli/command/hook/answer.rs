//! Formats the answer to an agent: whether it may stop, and if not, what to do. Foreign text in it
//! is kept inert.

use super::page::{LIST, NAMES, Page, cut, list, list_within};
use crate::command::answer::*;
use crate::render::feedback::{code, markdown_within};
use vplan_base::inert::without_commands;
use vplan_base::word::count;
use vplan_check::outcome::Status;
use vplan_plan::caveat::sorted;
use vplan_run::feedback::Feedback;
use vplan_run::record::StepRecord;
use vplan_run::report::{Decision, Report};

/// The output of a hook: the document that Claude Code reads on standard output.
#[serde_with::skip_serializing_none]
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookOutput {
    /// `block`: the agent goes on.
    decision: Option<&'static str>,
    /// The reason, for the agent.
    reason: Option<String>,
    /// For people; the agent does not read it.
    system_message: Option<String>,
}

impl HookOutput {
    /// The agent may stop.
    pub(super) fn pass() -> Self {
        Self::default()
    }

    /// The agent goes on. People read that, too: an agent may be ended whatever a hook says.
    pub(super) fn block(page: &Page, message: &str) -> Self {
        Self {
            decision: Some("block"),
            reason: Some(page.text()),
            ..Self::let_go(message)
        }
    }

    /// The agent may stop although its change is not verified; people get a message.
    pub(super) fn let_go(message: &str) -> Self {
        Self {
            system_message: Some(without_commands(message)),
            ..Self::default()
        }
    }
}

/// Describes a report to an agent.
pub(super) fn of_report(report: &Report, next: String) -> Page {
    let left = format!("{} left", count(report.retries_remaining, "retry"));
    let head = if report.decision == Decision::Reverify {
        let (counter, required) = (report.counter.unwrap_or(1), report.required.unwrap_or(1));
        format!(
            "Everything passed, {counter} of {required} times. Look over the work once more, and stop again if nothing is left to do."
        )
    } else {
        let attempt = report.attempt;
        format!("The work is not verified (attempt {attempt}, {left}).")
    };
    let mut items = Vec::new();
    let is_failed = |r: &&StepRecord| !r.status.is_pass() && r.status != Status::NotRun;
    let failed = report.steps.iter().filter(is_failed);
    let failed: Vec<String> = failed.map(|r| code(&r.id)).collect();
    if !failed.is_empty() {
        let (checks, names) = (count(failed.len(), "check"), list_within(&failed, NAMES));
        items.push(format!("not passed: {checks}: {names}"));
    }
    if let Some(reason) = report.reason.as_ref().filter(|_| failed.is_empty()) {
        items.push(format!("why: {}", code(cut(reason, LIST / 2))));
    }
    if report.feedback.is_none() {
        // Their help texts are for people.
        let caveats = sorted(&report.caveats).into_iter();
        let caveats: Vec<String> = caveats.map(|c| code(&c.message)).collect();
        if !caveats.is_empty() {
            items.push(format!("note: {}", list(&caveats)));
        }
    }
    let mut page = Page {
        head,
        items,
        body: String::new(),
        next,
    };
    if let Some(told) = &report.feedback {
        // The failing checks are listed above, within the page's own bounds.
        let told = Feedback {
            failing: Vec::new(),
            ..told.clone()
        };
        page.body = markdown_within(&told, page.room());
    }
    page
}

/// Formats the answer for when the hook itself cannot do its work.
pub(super) fn of_failure(failure: &Failure) -> Page {
    Page {
        head: "The work is not verified: the hook could not look at it.".to_owned(),
        items: vec![code(cut(&failure.message, LIST / 2))],
        body: String::new(),
        next: "vplan check".to_owned(),
    }
}
