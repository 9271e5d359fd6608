//! Writes what to do about changes outside the contract's scope. They are named, each with the list
//! that it is against; for files that a step's own program keeps (a manifest, a lock file), what
//! would have to be allowed.
//!
//! Nothing is allowed here: the owner of the contract decides. And nothing is suggested for a file
//! that is denied, that decides what is verified, or whose name has special characters of a glob.

use super::content::{AllowedPath, Feedback, OutsideScope};
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_base::word::count;
use vplan_check::outcome::{Cause, Status};
use vplan_check::tool::Invocation;
use vplan_check::tool::table::kept;
use vplan_plan::scope::{List, named_outside};
use vplan_plan::{Plan, Step};

/// Makes the feedback for a change that was refused before anything ran.
pub(super) fn violation(plan: &Plan, common: Feedback, most: usize) -> Feedback {
    let (named, total) = named_outside(&plan.notes);
    let needed: Vec<AllowedPath> = named
        .iter()
        .filter_map(|(path, list)| needed(plan, path, *list))
        .collect();
    let changes = count(total, "change");
    let verb = if total == 1 { "is" } else { "are" };
    let suggestion = if needed.is_empty() {
        "take these changes back; if they belong to the work, whoever owns the contract must widen its `scope` first"
    } else {
        "take these changes back, or ask whoever owns the contract to allow the paths that the plan's own programs keep; do not \
         change the contract's `scope` yourself"
    };
    Feedback {
        allowed_paths_needed: needed.into_iter().take(most).collect(),
        detail: format!("{changes} {verb} outside the contract's scope, so nothing was run"),
        failure_code: Some(FailureCode::PolicyViolation.into()),
        outside_scope: named
            .into_iter()
            .take(most)
            .map(|(path, list)| OutsideScope {
                list,
                path: path.clone(),
            })
            .collect(),
        outside_scope_count: total,
        reason: Some(Cause::Policy),
        status: Some(Status::NotRun),
        suggestion: suggestion.to_owned(),
        ..common
    }
}

/// Returns the path as a glob, if a step's program maintains that file and allowing it is harmless.
fn needed(plan: &Plan, path: &RepoPath, list: List) -> Option<AllowedPath> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@'));
    if list == List::Deny
        || !plain
        || text.starts_with(['@', '-'])
        || says_what_is_verified(plan, text)
    {
        return None;
    }
    let step = plan.steps.iter().find(|step| keeps(step, path))?;
    Some(AllowedPath {
        path: text.to_owned(),
        step_id: step.id.clone(),
    })
}

/// Whether the file may decide what is verified: a dotfile, or one whose path begins like that of a
/// contract.
fn says_what_is_verified(plan: &Plan, path: &str) -> bool {
    let contract = plan
        .contract
        .iter()
        .flat_map(|c| std::iter::once(&c.path).chain(c.imports.iter().map(|i| &i.path)));
    let mut contract =
        contract.map(|p| p.split_once(".vplan").map_or(p.as_str(), |(stem, _)| stem));
    path.starts_with('.') || contract.any(|stem| path.starts_with(stem))
}

fn keeps(step: &Step, path: &RepoPath) -> bool {
    let run = step.with_words(Invocation::parse);
    path.below(&step.dir).is_some()
        && run
            .programs()
            .flat_map(kept)
            .any(|file| file.as_bytes() == path.name())
}
