//! Looks up what earlier runs were seen to do, for the steps that may run beside each other.

use super::open::Session;
use std::collections::BTreeSet;
use std::path::Path;
use vplan_plan::Plan;
use vplan_plan::beside::Beside;
use vplan_plan::beside::known::KnownEffects;
use vplan_store::history::History;

/// The most recorded runs that are looked through.
const LOOKED_AT: usize = 200;

/// Returns which steps of a plan may run beside each other, by the records in a directory.
pub(super) fn beside(session: &Session, records: Option<&Path>, plan: &Plan) -> Beside {
    Beside::of(plan, &known_effects(session, records, plan))
}

/// Returns what the recorded runs of a plan's contract were seen to do. What cannot be read says
/// nothing. Whoever can write records decides by this what runs at the same time, and nothing else.
pub(super) fn known_effects(
    session: &Session,
    records: Option<&Path>,
    plan: &Plan,
) -> KnownEffects {
    let mut known = KnownEffects::new(plan);
    let Ok(history) = History::open(&session.site.home, records) else {
        return known;
    };
    let ids = history.ids().unwrap_or_default();
    for id in ids
        .iter()
        .take(LOOKED_AT)
        .filter(|id| history.is_observed(id))
    {
        if let Some((run, passed)) = recorded(&history, id)
            && is_of(plan, &run)
        {
            add(&mut known, &history, id, &run, &passed);
        }
    }
    known
}

/// Whether two plans are of the same contract.
fn is_of(plan: &Plan, run: &Plan) -> bool {
    let path = |plan: &Plan| plan.contract.as_ref().map(|contract| contract.path.clone());
    path(plan) == path(run)
}

/// Reads the plan of a run that is over, and the ids of the steps that passed.
fn recorded(history: &History, id: &str) -> Option<(Plan, BTreeSet<String>)> {
    let report = history.report(id).ok().flatten()?;
    let steps = report.steps.into_iter();
    let passed = steps
        .filter(|step| step.status.is_pass())
        .map(|step| step.id);
    Some((history.plan(id).ok().flatten()?, passed.collect()))
}

fn add(
    known: &mut KnownEffects,
    history: &History,
    id: &str,
    run: &Plan,
    passed: &BTreeSet<String>,
) {
    let wanted = || run.steps.iter().filter(|step| known.wants(step));
    let mut observed = history.observed(id, wanted().map(|step| step.id.as_str()));
    for step in &run.steps {
        if let Some(observed) = observed.remove(&step.id) {
            known.add(step, passed.contains(&step.id), observed);
        }
    }
}
