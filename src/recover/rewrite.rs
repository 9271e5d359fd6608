//! Applies a rule's change to a plan, measures it, and selects the evidence that stays valid.

pub use super::change::PlanChange;
use super::failure::{Failure, sequence};
use super::obstacle::Malformed;
use super::rules::Rule;
use std::collections::BTreeSet;
use vplan_base::command::{Link, Unsupported};
use vplan_plan::{Plan, Rewrite, Step, digest};

/// Returns the plan after the change, sealed if the plan before was, and the trace of the rewrite.
pub fn apply(before: &Plan, rule: &Rule, failure: &Failure, change: PlanChange) -> (Plan, Rewrite) {
    let mut rewrite = Rewrite {
        coverage: rule.coverage,
        dropped: change.dropped,
        evidence: Some(failure.evidence.clone()).filter(|e| !e.is_empty()),
        next_commands: commands(&change.steps),
        next_digest: None,
        previous_commands: commands(&before.steps),
        previous_digest: before.digest.clone(),
        reason: rule.fires_on.adjusted(),
        recovery_rule: rule.name.into(),
    };
    let mut after = before.clone();
    after.steps = change.steps;
    after.rewrites.push(rewrite.clone());
    if before.digest.is_some() {
        after = digest::seal(after);
        rewrite.next_digest.clone_from(&after.digest);
    }
    (after, rewrite)
}

/// Maximum number of commands in all rewrites of a plan together. Each rewrite lists all commands
/// before and after it: a thousand commands can be split, but ten thousand cannot fill the memory.
const MOST_LISTED: usize = 3_000_000;

/// Whether one more rewrite is possible, in addition to these.
pub(super) fn has_room(plan: &Plan, rewrites: &[Rewrite]) -> bool {
    let listed = |r: &Rewrite| r.previous_commands.len() + r.next_commands.len();
    let listed: usize = rewrites.iter().map(listed).sum();
    listed.saturating_add(2 * plan.steps.len()) <= MOST_LISTED
}

fn commands(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|s| s.command.clone()).collect()
}

/// The measure that every rewrite strictly decreases, compared from left to right; so recovery
/// ends.
///
/// A split or a hoist takes parts out of an unsupported command (1), a drop removes a step without
/// adding an unsupported one (2), a reordering changes neither and moves a cleanup from before a
/// check to after it, and none from after to before (3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measure {
    /// Unsupported commands and the parts of their conjunctions.
    pub unsupported: usize,
    /// Steps.
    pub steps: usize,
    /// Pairs of a cleanup and a later check for a file that it removes.
    pub misplaced: usize,
}

/// Measures a plan.
pub fn measure(plan: &Plan) -> Measure {
    let unsupported = plan.steps.iter().filter_map(|s| s.unsupported.as_ref());
    Measure {
        unsupported: unsupported.map(weight).sum(),
        steps: plan.steps.len(),
        misplaced: sequence::pairs(plan),
    }
}

fn weight(unsupported: &Unsupported) -> usize {
    let part = |link: &Link| match link {
        Link::Other { unsupported, .. } => 1 + weight(unsupported),
        Link::ChangeDirectory { .. } | Link::Export { .. } | Link::Run { .. } => 1,
    };
    1 + unsupported.chain.iter().map(part).sum::<usize>()
}

/// Checks that a plan may be run. Ids must be unique, every predecessor must exist and come before,
/// and the digest, if there is one, must be right.
///
/// # Errors
/// The violated rule.
pub fn well_formed(plan: &Plan) -> Result<(), Malformed> {
    let mut seen = BTreeSet::new();
    for step in &plan.steps {
        if let Some(late) = step
            .after
            .iter()
            .chain(&step.needs)
            .find(|id| !seen.contains(id.as_str()))
        {
            return Err(Malformed::Order {
                step: step.id.clone(),
                predecessor: late.clone(),
            });
        }
        if !seen.insert(step.id.as_str()) {
            return Err(Malformed::Name(step.id.clone()));
        }
    }
    match &plan.digest {
        Some(sealed) if *sealed != digest::digest(plan) => Err(Malformed::Digest),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{plan_of_words, reported_failure};
    use crate::rules::rule;
    use crate::tests::plan_of_lines;
    use vplan_base::vocabulary::{FailureCode, RewriteRule};

    #[test]
    fn what_is_measured() {
        for (lines, want) in [
            (&["make"][..], (0, 1, 0)),
            (&["a | b"], (1, 1, 0)),
            // The command, `a`, `b`.
            (&["a && b"], (3, 1, 0)),
            // The command, `cd d`, the pipe and that it is one, `c`.
            (&["cd d && a | b && c"], (5, 1, 0)),
            (
                &[
                    "make clean",
                    "test -f build/a",
                    "make clean",
                    "test -f out/b",
                ],
                (0, 4, 3),
            ),
        ] {
            let (unsupported, steps, misplaced) = want;
            assert_eq!(
                measure(&plan_of_lines(lines)),
                Measure {
                    unsupported,
                    steps,
                    misplaced
                },
                "{lines:?}"
            );
        }
    }

    #[test]
    fn a_trace_has_an_end() {
        let plan = plan_of_words(&["a", "b"]);
        let change = PlanChange {
            dropped: Vec::new(),
            steps: plan.steps.clone(),
        };
        let (_, mut long) = apply(
            &plan,
            &rule(RewriteRule::DropMissingMakeTarget),
            &reported_failure(1, FailureCode::MissingMakeTarget),
            change,
        );
        long.previous_commands = vec![String::new(); MOST_LISTED - 6];
        assert!(has_room(&plan, &[]) && has_room(&plan, std::slice::from_ref(&long)));
        long.previous_commands.push(String::new());
        assert!(!has_room(&plan, std::slice::from_ref(&long)));
        let full = Plan {
            rewrites: vec![long],
            ..plan_of_lines(&["make x", "a"])
        };
        let failures = [reported_failure(1, FailureCode::MissingMakeTarget)];
        let refused = crate::recover(&full, &failures, &vplan_plan::facts::Facts::default());
        let crate::Recovery::Refused(refused) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            refused[0].reason.contains("rewritten too often"),
            "{refused:?}"
        );
    }

    #[test]
    fn plans_that_may_be_run() {
        type Edit = fn(&mut Plan);
        for (edit, want) in [
            ((|_| ()) as Edit, None),
            (|p| *p = digest::seal(p.clone()), None),
            (|p| p.steps[1].after = vec!["command-1".into()], None),
            (
                |p| p.steps[0].after = vec!["command-2".into()],
                Some("`command-1` would not stand behind `command-2`"),
            ),
            (
                |p| p.steps[1].needs = vec!["x".into()],
                Some("`command-2` would not stand behind `x`"),
            ),
            (
                |p| p.steps[1].needs = vec!["command-2".into()],
                Some("`command-2` would not stand behind `command-2`"),
            ),
            (
                |p| p.steps[1].id = "command-1".into(),
                Some("two steps would be called `command-1`"),
            ),
            (
                |p| {
                    *p = digest::seal(p.clone());
                    p.steps.truncate(1);
                },
                Some("the digest is another plan's"),
            ),
        ] {
            let mut plan = plan_of_words(&["a", "b"]);
            edit(&mut plan);
            assert_eq!(
                well_formed(&plan).err().map(|e| e.to_string()).as_deref(),
                want
            );
        }
    }

    #[test]
    fn the_trace_has_evidence_where_there_was_some() {
        let before = plan_of_words(&["make x", "make"]);
        for (evidence, want) in [("", None), ("no rule", Some("no rule"))] {
            let failure = Failure {
                evidence: evidence.to_owned(),
                ..reported_failure(1, FailureCode::MissingMakeTarget)
            };
            let change = PlanChange {
                dropped: vec!["command-1".to_owned()],
                steps: before.steps[1..].to_vec(),
            };
            let (after, rewrite) = apply(
                &before,
                &rule(RewriteRule::DropMissingMakeTarget),
                &failure,
                change,
            );
            assert_eq!(rewrite.evidence.as_deref(), want);
            assert_eq!((after.digest, rewrite.next_digest), (None, None));
            assert_eq!(
                (rewrite.previous_commands.len(), rewrite.next_commands),
                (2, vec!["make".to_owned()])
            );
        }
    }
}
