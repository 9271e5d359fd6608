//! Decides whether one plan does everything that another one does.

use super::{Plan, Step};
use std::collections::{BTreeMap, BTreeSet};
use vplan_check::confine::{NetworkUse, SandboxLevel};

/// Whether a run of `part` does every step of `whole`: a step with the same id and the same
/// definition, confined at least as strongly, after everything that it waits for there. Reasons,
/// places and descriptions are not part of a definition. Every plan contains one without steps.
///
/// Both are compared as compiled: rewrites by recovery are not undone.
pub fn contains(whole: &Plan, part: &Plan) -> bool {
    missing(whole, part).is_empty()
}

/// Returns the steps of `whole` that `part` lacks, has with another definition, or may run before
/// what they wait for, in plan order.
pub fn missing<'a>(whole: &'a Plan, part: &Plan) -> Vec<&'a Step> {
    let there: BTreeMap<&str, &Step> = part.steps.iter().map(|s| (s.id.as_str(), s)).collect();
    let before = predecessors(part);
    let done = |step: &Step| {
        let Some(found) = there.get(step.id.as_str()) else {
            return false;
        };
        let before = before.get(step.id.as_str());
        let waits = |id: &String| before.is_some_and(|all| all.contains(id.as_str()));
        definition(step) == definition(found)
            && found.confinement().and(step.confinement()) == found.confinement()
            && step.needs.iter().all(|id| found.needs.contains(id))
            && step.after.iter().all(waits)
    };
    whole.steps.iter().filter(|step| !done(step)).collect()
}

/// Returns a step without its reasons, places, predecessors and confinement.
fn definition(step: &Step) -> Step {
    let mut definition = Step {
        after: Vec::new(),
        needs: Vec::new(),
        network: NetworkUse::default(),
        prepared_by: Vec::new(),
        reasons: Vec::new(),
        sandbox: SandboxLevel::default(),
        sandbox_from: None,
        source: None,
        ..step.clone()
    };
    definition.forget(|setting| setting.annotation);
    definition
}

/// Returns the steps that each one waits for, directly or not: another plan may have further steps
/// in between.
pub(super) fn predecessors(plan: &Plan) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in &plan.steps {
        let mut before = BTreeSet::new();
        for id in step.after.iter().chain(&step.needs) {
            before.insert(id.as_str());
            before.extend(all.get(id.as_str()).into_iter().flatten());
        }
        all.insert(&step.id, before);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::plan_of_words;
    use crate::{Reason, StepSource};
    use vplan_check::Severity;

    fn plan(words: &[&str]) -> Plan {
        let mut plan = plan_of_words(words);
        for (step, word) in plan.steps.iter_mut().zip(words) {
            step.id = (*word).to_owned();
            step.after = Vec::new();
        }
        plan
    }

    fn step<'a>(plan: &'a mut Plan, id: &str) -> &'a mut Step {
        plan.steps.iter_mut().find(|s| s.id == id).unwrap()
    }

    #[test]
    fn more_contains_less() {
        let (two, three) = (plan(&["a", "b"]), plan(&["c", "a", "b"]));
        assert!(contains(&two, &two));
        assert!(contains(&two, &three));
        assert!(contains(&plan(&[]), &plan(&[])) && contains(&plan(&[]), &two));
        let lacking: Vec<&str> = missing(&three, &two)
            .iter()
            .map(|s| s.id.as_str())
            .collect();
        assert_eq!(lacking, ["c"]);
        assert!(!contains(&two, &plan(&[])));
    }

    #[test]
    fn why_and_where_make_no_difference() {
        let whole = plan(&["a"]);
        let mut part = whole.clone();
        step(&mut part, "a").reasons = vec![Reason {
            condition: "explicit".to_owned(),
            ..Reason::default()
        }];
        step(&mut part, "a").describe = Some("x".to_owned());
        step(&mut part, "a").source = Some(StepSource {
            column: 1,
            file: "f".to_owned(),
            line: 9,
        });
        assert!(contains(&whole, &part) && contains(&part, &whole));
    }

    #[test]
    fn another_definition_is_another_step() {
        let whole = plan(&["a"]);
        let edits: [&dyn Fn(&mut Step); 8] = [
            &|s| s.severity = Severity::Warning,
            &|s| s.timeout_ms += 1,
            &|s| s.min_tests = Some(1),
            &|s| s.skip_exit = vec![1],
            &|s| s.command = "true".to_owned(),
            &|s| s.optional = true,
            &|s| s.setup = true,
            &|s| s.retries = 7,
        ];
        for (index, edit) in edits.iter().enumerate() {
            let mut part = whole.clone();
            edit(step(&mut part, "a"));
            assert!(
                !contains(&whole, &part) && !contains(&part, &whole),
                "{index}"
            );
        }
        let mut renamed = whole.clone();
        step(&mut renamed, "a").id = "b".to_owned();
        assert!(!contains(&whole, &renamed));
    }

    #[test]
    fn a_stronger_confinement_does_all_that_a_weaker_one_does() {
        let whole = plan(&["a"]);
        let mut part = whole.clone();
        step(&mut part, "a").sandbox = SandboxLevel::Guard;
        step(&mut part, "a").sandbox_from = Some(crate::SandboxFrom::Operator);
        assert!(contains(&whole, &part) && !contains(&part, &whole));
        let mut other = whole.clone();
        step(&mut other, "a").network = NetworkUse::Off;
        assert!(contains(&whole, &other) && !contains(&part, &other) && !contains(&other, &part));
    }

    #[test]
    fn what_a_step_waits_for_is_awaited() {
        let mut whole = plan(&["a", "b"]);
        step(&mut whole, "b").after = vec!["a".to_owned()];
        assert!(!contains(&whole, &plan(&["a", "b"])), "side by side");
        assert!(
            contains(&plan(&["a", "b"]), &whole),
            "to wait for more is no harm"
        );
        // After another step that waits for it.
        let mut part = plan(&["a", "m", "b"]);
        step(&mut part, "m").after = vec!["a".to_owned()];
        step(&mut part, "b").after = vec!["m".to_owned()];
        assert!(contains(&whole, &part));
        // Waiting for a step is not needing it.
        step(&mut whole, "b").needs = vec!["a".to_owned()];
        assert!(!contains(&whole, &part));
        step(&mut part, "b").needs = vec!["a".to_owned()];
        assert!(contains(&whole, &part));
    }
}
