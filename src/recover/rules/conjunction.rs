//! Turns a conjunction `cd a && export B=1 && c` into steps.

use super::carrying;
use super::rule::RepairCase;
use crate::change::{PlanChange, replace_predecessor};
use crate::obstacle::Obstacle;
use std::collections::BTreeSet;
use vplan_base::carried::Carried;
use vplan_base::command::{Link, to_text};
use vplan_base::index::Index as _;
use vplan_base::word::Word;
use vplan_check::verb;
use vplan_plan::{Origin, Step};

/// Splits `a && b` into two steps: each part of a conjunction becomes a separate step that needs the
/// one before. A later `cd` moves into the `dir` of the parts after it.
pub(super) fn split(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    if begins_with_carried(case.step)? {
        return None;
    }
    separate(case)
}

/// Rewrites `cd d && a` to the command `a` with `dir d`: a leading `cd` inside the repository moves
/// into the `dir` of the commands after it, and an `export` into their `env`. Several commands
/// become one step each, as with [`split`]. In a bare list, a `cd` or an `export` alone moves into
/// all commands after it.
pub(super) fn hoist(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    if !begins_with_carried(case.step)? {
        return None;
    }
    carrying::carry(case).or_else(|| separate(case))
}

fn separate(case: &RepairCase<'_>) -> Option<Result<PlanChange, Obstacle>> {
    match carrying::blocked_by_earlier(case) {
        Some(reason) => Some(Err(reason)),
        None => Some(Ok(put_in_place(case, parts(case.step)?))),
    }
}

/// Whether the first part of the step's conjunction is a `cd` or an `export`. `None` for a step
/// without conjunction.
fn begins_with_carried(step: &Step) -> Option<bool> {
    Some(step.unsupported.as_ref()?.chain.first()?.is_carried())
}

/// Returns the steps of the parts, still with the step's own id and constraints. A part of a
/// requested command gets the verb that it would have as a separate command.
///
/// `None` if a `cd` leaves the repository, depends on the shell (`cd`, `cd -`, `cd ~`), or nothing
/// follows it: its own success would no longer be verified. Also `None` if a part changes the shell
/// of the next one (`source .env && pnpm test`): alone, the next one would be another command. And
/// `None` if no part fits the grammar.
pub(super) fn parts(step: &Step) -> Option<Vec<Step>> {
    let chain = step.unsupported.as_ref()?.chain.as_slice();
    if chain.last()?.is_carried() {
        return None;
    }
    let mut carried = Carried {
        dir: step.dir.clone(),
        env: step.env.clone(),
    };
    let mut parts = Vec::new();
    for link in chain {
        match link {
            Link::ChangeDirectory { .. } | Link::Export { .. } => carried.follow(link)?,
            Link::Run { argv, env } => {
                let env = carried.env_of(env);
                let mut part = Step {
                    argv: Some(argv.clone()),
                    command: to_text(&env, argv),
                    dir: carried.dir.clone(),
                    env,
                    unsupported: None,
                    ..step.clone()
                };
                if step.origin != Origin::Contract {
                    let words = argv.iter().map(Word::as_bytes);
                    (part.kind, part.min_tests) = verb::of_words(Some(step.kind), words);
                    part.timeout_ms = part.kind.default_timeout_ms();
                }
                parts.push(part);
            }
            Link::Other { unsupported, .. } if unsupported.changes_shell => return None,
            Link::Other { text, unsupported } => parts.push(Step {
                command: text.clone(),
                dir: carried.dir.clone(),
                env: carried.env.clone(),
                unsupported: Some((**unsupported).clone()),
                ..step.clone()
            }),
        }
    }
    let any = parts.iter().any(|part| part.argv.is_some());
    any.then_some(parts)
}

/// Replaces the step by the parts. A single one keeps its id. Several get `id-1`, `id-2` and so on.
/// Each needs the one before it, and successors of the step follow the last.
fn put_in_place(case: &RepairCase<'_>, parts: Vec<Step>) -> PlanChange {
    let mut steps = case.plan.steps.clone();
    let many = parts.len() > 1;
    let mut taken = taken_ids(case);
    let mut previous: Option<String> = None;
    let mut new = Vec::with_capacity(parts.len());
    for mut part in parts {
        if many {
            part.id = free_id(&case.step.id, &mut taken);
        }
        if let Some(previous) = previous.replace(part.id.clone()) {
            part.after = vec![previous.clone()];
            part.needs = vec![previous];
            part.prepared_by = Vec::new();
        }
        new.push(part);
    }
    let last = previous.unwrap_or_else(|| case.step.id.clone());
    let at = case.index.position();
    steps.splice(at..=at, new);
    if many {
        // The last part takes the place of the step.
        let mut order = case.plan.positions();
        order.insert(&last, case.index);
        for step in &mut steps {
            let ids = [std::slice::from_ref(&last), &[]];
            replace_predecessor(step, &case.step.id, ids, &order);
        }
    }
    PlanChange {
        dropped: Vec::new(),
        steps,
    }
}

/// Returns the ids that are taken: present steps and checks, dropped and omitted ones, and those of
/// failures, which would else be taken for failures of the new steps.
fn taken_ids(case: &RepairCase<'_>) -> BTreeSet<String> {
    let plan = case.plan;
    let steps = plan.steps.iter();
    let steps = steps.flat_map(|s| [s.id.clone(), s.check().to_owned()]);
    let gone = plan.rewrites.iter().flat_map(|r| r.dropped.clone());
    let omitted = plan.omitted.iter().map(|o| o.id.clone());
    let failed = case.failures.iter().map(|f| f.step.clone());
    steps.chain(gone).chain(omitted).chain(failed).collect()
}

fn free_id(base: &str, taken: &mut BTreeSet<String>) -> String {
    let mut number = 1_usize;
    loop {
        let id = format!("{base}-{number}");
        if taken.insert(id.clone()) {
            return id;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{bare_plan, reported_failure};
    use crate::tests::{link, plan_of_lines};
    use crate::{Recovery, recover};
    use vplan_base::command::{Command, Unsupported, UnsupportedReason};
    use vplan_base::vocabulary::FailureCode;

    fn chained(parts: &[&str]) -> Step {
        let chain = parts.iter().map(|part| link(part)).collect();
        let unsupported = Unsupported {
            chain,
            changes_shell: false,
            offset: 0,
            reason: UnsupportedReason::Operator,
            text: "&&".to_owned(),
        };
        bare_plan(&[Command::Unsupported {
            text: parts.join(" && "),
            unsupported,
        }])
        .steps
        .remove(0)
    }

    #[test]
    fn parts_that_stay_unsupported() {
        let other = |text: &str, changes: bool| Link::Other {
            text: text.to_owned(),
            unsupported: Box::new(Unsupported {
                chain: Vec::new(),
                changes_shell: changes,
                offset: 0,
                reason: UnsupportedReason::Operator,
                text: String::new(),
            }),
        };
        for (text, splits) in [
            ("a | b", true),
            ("! a", true),
            ("echo $X > f", true),
            ("source .env", false),
            ("cd $X", false),
            ("'cd' ~", false),
            ("\\cd", false),
            ("X=$(pwd)", false),
            ("export CI=1", false),
        ] {
            let mut step = chained(&["x", "y"]);
            step.unsupported
                .as_mut()
                .unwrap()
                .chain
                .insert(0, other(text, !splits));
            let got = parts(&step);
            assert_eq!(got.is_some(), splits, "{text}");
            let Some(got) = got else { continue };
            assert_eq!(
                (got.len(), got[0].command.as_str(), got[0].argv.as_ref()),
                (3, text, None)
            );
            assert!(got[0].unsupported.is_some() && got[1].unsupported.is_none());
        }
    }

    #[test]
    fn what_a_part_keeps_of_its_own() {
        let plan = plan_of_lines(&["cd d && CI=1 make && a | b"]);
        let got = parts(&plan.steps[0]).unwrap();
        let [first, second] = got.as_slice() else {
            panic!("{got:?}")
        };
        assert_eq!(
            (first.command.as_str(), first.dir.to_string().as_str()),
            ("CI=1 make", "d")
        );
        assert_eq!(first.env.get("CI"), Some(&Word::from("1")));
        assert_eq!(
            (second.command.as_str(), second.dir.to_string().as_str()),
            ("a | b", "d")
        );
        assert_eq!(
            second.unsupported.as_ref().map(|u| u.text.as_str()),
            Some("|")
        );
        assert!(second.env.is_empty() && second.argv.is_none());
    }

    /// Checks that ids of checks that are listed elsewhere, or were dropped, are not reused.
    #[test]
    fn new_ids_mean_nothing_yet() {
        let mut plan = plan_of_lines(&["a && b", "c", "d"]);
        plan.steps[1].id = "command-1-1".to_owned();
        plan.steps[2].batch_of = Some("command-1-2".to_owned());
        plan.omitted.push(vplan_plan::Omitted {
            each: Default::default(),
            file: None,
            id: "command-1-3".to_owned(),
            line: None,
            narrows: false,
            reason: String::new(),
            reasons: Vec::new(),
        });
        let failures = [reported_failure(1, FailureCode::UnsupportedFormat)];
        let Recovery::Rewritten { plan, .. } = recover(&plan, &failures, &Default::default())
        else {
            panic!("not repaired");
        };
        let ids: Vec<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(
            ids,
            ["command-1-4", "command-1-5", "command-1-1", "command-3"]
        );
    }

    #[test]
    fn directories() {
        for (chain, want) in [
            (&["cd d", "a", "b"][..], Some("a@d b@d")),
            (&["a", "cd b", "c"], Some("a@. c@b")),
            (&["cd a", "cd b", "c"], Some("c@a/b")),
            (&["cd a", "x", "cd ../b", "y"], Some("x@a y@b")),
            (&["cd a/..", "x"], Some("x@.")),
            (&["cd .", "x"], Some("x@.")),
            (&["cd ..", "x"], None),
            (&["cd a/../..", "x"], None),
            (&["cd /tmp", "x"], None),
            (&["cd ", "x"], None),
            (&["cd -", "x"], None),
            (&["cd ~", "x"], None),
            (&["x", "cd d"], None),
            (&["cd d"], None),
            (&["export A=1", "x", "B=2 y"], Some("A=1 x@. A=1 B=2 y@.")),
            (&["export A=1", "cd d", "A=2 x"], Some("A=2 x@d")),
            (&["export CDPATH=/", "cd d", "x"], None),
            (&["x", "export A=1"], None),
        ] {
            let got = parts(&chained(chain)).map(|steps| {
                steps
                    .iter()
                    .map(|s| format!("{}@{}", s.command, s.dir))
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            assert_eq!(got.as_deref(), want, "{chain:?}");
        }
    }
}
