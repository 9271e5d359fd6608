//! When may a step be dropped?
//!
//! Deleting what a check asks for is no repair, dropping what others need breaks them, and a plan that verifies nothing is
//! no plan: each is a refusal.

use super::{ALL, Case};
use crate::base::change::Status;
use crate::base::path::RepoPath;
use crate::plan::facts::{Certainty, Facts};
use crate::plan::{Coverage, Origin, Plan, Step};
use crate::recover::failure::{Asked, AskedKind, asked};
use crate::recover::rewrite::{Change, positions, replace_predecessor};
use crate::recover::{Failure, FailureCode};
use std::collections::{BTreeMap, BTreeSet};

/// Drops the failed step, or says why not.
pub(super) fn drop(case: &Case<'_>, code: FailureCode) -> Result<Change, String> {
    if let Some(reason) = refusal(case.plan, case.step, code, case.facts) {
        return Err(reason);
    }
    let id = &case.step.id;
    if let Some(other) = case.plan.steps.iter().find(|s| s.needs.contains(id)) {
        return Err(format!("`{}` needs it", other.id));
    }
    let gone = together(case);
    let remains = |step: &Step| step.is_effective() && step.id != *id && !gone.contains(step.id.as_str());
    if !case.plan.steps.iter().any(remains) {
        return Err("no step that verifies something would remain".to_owned());
    }
    let mut steps = case.plan.steps.clone();
    steps.remove(case.index);
    let order = positions(&steps);
    for step in &mut steps {
        // What stood behind it stays behind its predecessors.
        replace_predecessor(&mut step.after, id, &case.step.after, &order);
    }
    Ok(Change { dropped: vec![id.clone()], steps })
}

/// The steps that the failures at hand would have dropped, sooner or later. When they are all that verifies something,
/// none of them may go, whichever comes first.
fn together<'a>(case: &Case<'a>) -> BTreeSet<&'a str> {
    let plan = case.plan;
    let by_id: BTreeMap<&str, &Step> = plan.steps.iter().map(|s| (s.id.as_str(), s)).collect();
    let steps = case.failures.iter().filter_map(|failure| Some((by_id.get(failure.step.as_str())?, failure)));
    let droppable = steps.filter(|(step, failure)| is_droppable(plan, step, failure, case.facts));
    let mut gone: BTreeSet<&str> = droppable.map(|(step, _)| step.id.as_str()).collect();
    loop {
        let stays = |step: &&Step| !gone.contains(step.id.as_str());
        let needed: BTreeSet<&str> =
            plan.steps.iter().filter(stays).flat_map(|s| s.needs.iter().map(String::as_str)).collect();
        let before = gone.len();
        gone.retain(|id| !needed.contains(id));
        if gone.len() == before {
            return gone;
        }
    }
}

fn is_droppable(plan: &Plan, step: &Step, failure: &Failure, facts: &Facts) -> bool {
    let rule = ALL.iter().find(|rule| rule.fires_on == failure.code && rule.coverage == Coverage::Narrowed);
    let inexpressible = failure.code != FailureCode::UnsupportedFormat
        || (step.unsupported.is_some() && super::conjunction::parts(step).is_none());
    rule.is_some_and(|rule| plan.policy.recover.iter().any(|name| name == rule.name))
        && inexpressible
        && refusal(plan, step, failure.code, facts).is_none()
}

/// What forbids dropping this step, whatever becomes of the others.
fn refusal(plan: &Plan, step: &Step, code: FailureCode, facts: &Facts) -> Option<String> {
    if step.origin == Origin::Contract && !step.optional && !plan.policy.recover_contract {
        return Some(format!("`{}` is a check of the contract, and not `optional`", step.id));
    }
    match code {
        FailureCode::MissingScript | FailureCode::MissingMakeTarget => {
            let asked = asked(step)?;
            changed_declaration(plan, &asked).or_else(|| declared_before(&asked, facts))
        }
        FailureCode::NoTestFiles => changed_tests(plan, step),
        _ => None,
    }
}

fn changed_declaration(plan: &Plan, asked: &Asked) -> Option<String> {
    let known = asked.paths();
    let declares = |path: &RepoPath| {
        let named = asked.files.iter().any(|file| path.name() == base_name(file));
        let included = asked.kind != AskedKind::Script && path.name().ends_with(b".mk");
        // Without a certain directory any file of this name may be the one.
        included || if known.is_empty() { named } else { known.contains(path) }
    };
    let file = plan.request.changed.files().iter().find(|file| declares(&file.path))?;
    Some(format!("`{}`, which would declare it, is among the changed files", file.path))
}

fn base_name(file: &str) -> &[u8] {
    file.rsplit('/').next().unwrap_or(file).as_bytes()
}

fn declared_before(asked: &Asked, facts: &Facts) -> Option<String> {
    let [_, base] = asked.questions()?;
    let name = asked.names.iter().find(|name| {
        // A goal that still is declared is not the one that is missing.
        facts.holds(&base, name.as_bytes()) == Certainty::Yes && !still_declared(asked, facts, name)
    })?;
    Some(format!("the base revision declares `{}`", crate::base::word::visible(name.as_bytes())))
}

fn still_declared(asked: &Asked, facts: &Facts, name: &str) -> bool {
    let [now, _] = match asked.questions() {
        Some(questions) => questions,
        None => return false,
    };
    asked.names.len() > 1 && facts.holds(&now, name.as_bytes()) == Certainty::Yes
}

/// Files that say which tests a runner takes up.
const TEST_CONFIGURATIONS: &[&str] = &[
    "vitest.config.",
    "vitest.workspace.",
    "jest.config.",
    "playwright.config.",
    ".mocharc.",
    "ava.config.",
    "cypress.config.",
    "pytest.ini",
];

fn changed_tests(plan: &Plan, step: &Step) -> Option<String> {
    if let Some(reason) = asked(step).and_then(|asked| changed_declaration(plan, &asked)) {
        return Some(reason);
    }
    plan.request.changed.files().iter().find_map(|file| {
        let name = String::from_utf8_lossy(file.path.name()).into_owned();
        if TEST_CONFIGURATIONS.iter().any(|c| name.starts_with(c)) {
            Some(format!("`{}`, which says where tests are, is among the changed files", file.path))
        } else if file.status == Status::Deleted && is_test(&file.path, &name) {
            Some(format!("the change deletes `{}`", file.path))
        } else {
            None
        }
    })
}

fn is_test(path: &RepoPath, name: &str) -> bool {
    let folder = |segment: &[u8]| matches!(segment, b"test" | b"tests" | b"__tests__" | b"spec" | b"specs" | b"e2e");
    let stem = name.split('.').next().unwrap_or(name);
    path.segments().any(folder)
        || [".test.", ".spec.", ".cy."].iter().any(|mark| name.contains(mark))
        || ["test_", "test-"].iter().any(|mark| stem.starts_with(mark))
        || ["_test", "-test", "_spec"].iter().any(|mark| stem.ends_with(mark))
}
