//! Feedback about one check of a report.

use super::feedback::check::{ALONE, FailedCheck};
use super::feedback::{FEEDBACK_BYTES, Feedback, is_failing, json_size};
use super::report::Report;
use vplan_plan::Plan;

/// Makes the feedback about one check of a run that is over, also about one that fails only as a
/// warning. `None` where it did not fail. `plan`: that of the run, for the advice.
pub fn check_feedback(report: &Report, plan: Option<&Plan>, id: &str) -> Option<Feedback> {
    let record = report.steps.iter().find(|r| r.id == id && is_failing(r))?;
    let step = plan.and_then(|plan| plan.steps.iter().find(|step| step.id == id));
    let common = report.feedback.clone().unwrap_or_else(|| Feedback {
        attempt_number: report.attempt,
        retries_remaining: report.retries_remaining,
        run_id: report.run_id.clone(),
        version: 1,
        ..Feedback::default()
    });
    let check = FailedCheck::new(step, record, ALONE);
    let check = match common.get(id) {
        Some(told) => check.with_output_of(&told),
        None => check,
    };
    let others = common.failing.iter().filter(|name| *name != id).count();
    let mut told = Feedback {
        allowed_paths_needed: Vec::new(),
        other_failures: Vec::new(),
        other_failures_count: others,
        outside_scope: Vec::new(),
        outside_scope_count: 0,
        status: Some(record.status),
        ..common
    };
    told.set_first(check);
    Some(told.within(FEEDBACK_BYTES, &json_size))
}
